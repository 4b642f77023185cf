//! Does cutting the operands to a narrower format explain an output that is out of tolerance?

use super::can_be_cut;
use rigel_numerics::bound::Tolerance;
use rigel_numerics::{Format, Overflow, Rounding, Triple, exact};

/// Formats to which hardware is known to cut wider operands, the widest first.
const CUTS: [Format; 5] = [Format::Tf32, Format::F16, Format::Bf16, Format::E4m3, Format::E5m2];

/// How hardware cuts: to nearest, ties to even, or by dropping bits.
const ROUNDINGS: [Rounding; 2] = [Rounding::NearestEven, Rounding::TowardZero];

/// The widest format such that every witness element lies inside the tolerance of the product of operands that were first
/// rounded, or truncated, to it. `None` when no format does, when the triple does not declare f32, or without a witness.
///
/// `witness` holds (row, column, output code); `a(row, k)` and `b(k, column)` give the codes that the device consumed.
/// Pure: `verify` calls it with elements remade from the seed. Misleads when an accumulator happens to err like cut
/// operands on every witness element, which needs an error near the tolerance.
pub fn operands_cut(
    triple: Triple,
    tolerance: Tolerance,
    witness: &[(u32, u32, u64)],
    a: impl Fn(usize, usize) -> u64,
    b: impl Fn(usize, usize) -> u64,
    k: usize,
) -> Option<Format> {
    if witness.is_empty() {
        return None;
    }
    let candidates = CUTS.into_iter().filter(|&to| can_be_cut(triple, to));
    let mut ways = candidates.flat_map(|to| ROUNDINGS.map(|rounding| (to, rounding)));
    let explained = |(to, rounding): (Format, Rounding)| {
        let (left, right) = (Cut::of(triple.a, to, rounding), Cut::of(triple.b, to, rounding));
        witness.iter().all(|&(row, column, code)| {
            let terms = (0..k).map(|k| (left.code(a(row as usize, k)), right.code(b(k, column as usize))));
            exact::dot(left.to, right.to, terms)
                .is_ok_and(|dot| dot.sum.difference(triple.c, code) <= tolerance.allowed(dot.magnitude.to_f64()))
        })
    };
    ways.find(|&way| explained(way)).map(|(format, _)| format)
}

/// What becomes of the codes of one operand.
struct Cut {
    from: Format,
    to: Format,
    rounding: Rounding,
}

impl Cut {
    /// An operand of integers, or one that is no wider than the cut, keeps its codes.
    fn of(from: Format, to: Format, rounding: Rounding) -> Self {
        let to = if !from.is_integer() && to.precision() < from.precision() { to } else { from };
        Cut { from, to, rounding }
    }

    fn code(&self, code: u64) -> u64 {
        if self.to == self.from {
            return code;
        }
        self.to.encode(self.from.decode(code), self.rounding, Overflow::Ieee)
    }
}
