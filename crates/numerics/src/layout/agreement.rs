//! Is a recovered layout the published one?

use super::{Difference, Fragment, FragmentOperand, Layout, Relabelling};

/// A recovered layout beside a published one, compared modulo one relabelling each of m, n and k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Agreement {
    /// The same in every slot.
    Same(Relabelling),
    /// The same in every slot that a product reads; the published layout has copies in slots that none does.
    SameWhereRead {
        /// The renumbering.
        by: Relabelling,
        /// Published copies of A and B that no product reads.
        unread: usize,
    },
    /// Another layout: the first place that speaks against it.
    Different(Difference),
}

impl Fragment {
    /// Compares A, B and D with a published fragment. Where the unit falls into parts, recover it with the numbers of that very
    /// fragment first: a relabelling of each part alone is not tried here.
    pub fn agreement(&self, published: &Fragment) -> Agreement {
        let extents = |f: &Fragment| {
            FragmentOperand::ALL.map(|o| (f.of(o).rows(), f.of(o).cols(), f.of(o).lanes(), f.of(o).slots()))
        };
        let mut masked = published.clone();
        let mut unread = 0;
        if extents(published) == extents(self) {
            masked.a = mask(&published.a, &self.a, &mut unread);
            masked.b = mask(&published.b, &self.b, &mut unread);
        }
        match self.same_up_to_relabelling(&masked) {
            Ok(by) if unread == 0 => Agreement::Same(by),
            Ok(by) => Agreement::SameWhereRead { by, unread },
            Err(difference) => Agreement::Different(difference),
        }
    }
}

/// The published layout without slots that nothing reads and that are copies of slots that are read.
fn mask(published: &Layout, recovered: &Layout, unread: &mut usize) -> Layout {
    let mut read = vec![false; published.rows() * published.cols()];
    let at = |(row, col): (u32, u32)| row as usize * published.cols() + col as usize;
    for ((_, _, element), (_, _, seen)) in published.entries().zip(recovered.entries()) {
        if let (Some(element), Some(_)) = (element, seen) {
            read[at(element)] = true;
        }
    }
    let keep = |element: Option<(u32, u32)>, seen: Option<(u32, u32)>| match (element, seen) {
        (Some(element), None) if read[at(element)] => None,
        (element, _) => element,
    };
    let table: Vec<_> =
        published.entries().zip(recovered.entries()).map(|((_, _, e), (_, _, seen))| keep(e, seen)).collect();
    *unread += published.table().iter().zip(&table).filter(|(before, after)| before != after).count();
    Layout::from_table(published.rows(), published.cols(), published.lanes(), published.slots(), table)
        .unwrap_or_else(|_| published.clone())
}
