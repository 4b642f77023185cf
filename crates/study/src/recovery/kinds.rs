//! Of which kinds can the sums of a tree be, and how does each begin?

use rigel_numerics::arithmetic::*;
use rigel_numerics::{Rounding, Triple};

/// What kind a sum is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// Whether all bits of its terms are kept; else they are aligned and cut.
    pub exact: bool,
    /// Whether what leaves it is rounded.
    pub rounded: bool,
}

impl Kind {
    pub(super) fn of(sum: &Sum) -> Kind {
        Kind { exact: sum.align == Align::Exact, rounded: sum.output != Output::Unrounded }
    }

    /// A sum as it begins: exact and rounded to nearest even, or aligned to 24 bits, cut and rounded toward zero.
    pub(super) fn sum(self, triple: Triple) -> Sum {
        let toward = if self.exact { Rounding::NearestEven } else { Rounding::TowardZero };
        let align = if self.exact { Align::Exact } else { Align::Largest(Alignment::new(24, Rounding::TowardZero)) };
        let zero = if self.exact { ZeroSign::Ieee } else { ZeroSign::Positive };
        let output = if self.rounded { Output::Rounded(Rounded::to(triple.c, toward)) } else { Output::Unrounded };
        Sum { align, zero, output }
    }
}

/// The kinds that the sums of a model may have, and what scales multiply where it is scaled. The last sum is rounded.
pub(super) fn kinds(count: usize, scaled: bool) -> Vec<(Vec<Kind>, Option<ScaledPart>)> {
    let kind = |exact, rounded| Kind { exact, rounded };
    let last = [kind(true, true), kind(false, true)];
    let first = [last[0], last[1], kind(true, false), kind(false, false)];
    // Of more than three sums all kinds would be too many.
    let plain: Vec<Vec<Kind>> = if count > 3 {
        last.map(|last| vec![last; count]).to_vec()
    } else {
        let before = (1..count).fold(vec![Vec::new()], |all, _| with_each(&all, &first));
        with_each(&before, &last)
    };
    let parts = if scaled { vec![Some(ScaledPart::Products), Some(ScaledPart::Sums)] } else { vec![None] };
    plain.into_iter().flat_map(|kinds| parts.iter().map(move |&part| (kinds.clone(), part))).collect()
}

/// Every list with every item behind it.
pub(super) fn with_each<T: Copy>(lists: &[Vec<T>], items: &[T]) -> Vec<Vec<T>> {
    lists.iter().flat_map(|list| items.iter().map(move |&item| [list.as_slice(), &[item]].concat())).collect()
}
