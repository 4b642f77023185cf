//! Do two fragments multiply alike, up to how m, n and k are numbered?

use super::{Fragment, FragmentOperand};
use std::fmt;

/// A renumbering of m, n and k that turns one fragment into another: index i of the first is index `m[i]` of the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relabelling {
    /// Of m.
    pub m: Vec<u32>,
    /// Of n.
    pub n: Vec<u32>,
    /// Of k.
    pub k: Vec<u32>,
}

/// Why no renumbering turns one fragment into the other: the first place that speaks against it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Extents, lanes or slots differ.
    #[error("{operand} is {} × {} in {} lanes of {} slots against {} × {} in {} lanes of {} slots",
        one.0, one.1, one.2, one.3, other.0, other.1, other.2, other.3)]
    Extents {
        /// Which operand.
        operand: FragmentOperand,
        /// Rows, columns, lanes and slots of the first.
        one: (usize, usize, usize, usize),
        /// Of the second.
        other: (usize, usize, usize, usize),
    },
    /// A slot is used in one and not in the other.
    #[error("lane {lane}, slot {slot} of {operand} is unused in one of the two")]
    Unused {
        /// Which operand.
        operand: FragmentOperand,
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
    },
    /// An index would need two numbers, or two indices the same.
    #[error(
        "lane {lane}, slot {slot} of {operand} holds {axis} = {one} against {other}, which other slots contradict: no renumbering of {axis} does"
    )]
    Conflict {
        /// Which operand.
        operand: FragmentOperand,
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
        /// `m`, `n` or `k`.
        axis: char,
        /// Index in the first.
        one: u32,
        /// Index in the second.
        other: u32,
    },
}

/// A renumbering in the making, one axis.
struct Axis {
    name: char,
    to: Vec<Option<u32>>,
    from: Vec<Option<u32>>,
}

impl Axis {
    fn new(name: char, extent: usize) -> Axis {
        Axis { name, to: vec![None; extent], from: vec![None; extent] }
    }

    fn joins(&mut self, one: u32, other: u32) -> bool {
        let to = *self.to[one as usize].get_or_insert(other);
        let from = *self.from[other as usize].get_or_insert(one);
        to == other && from == one
    }

    /// Indices that no slot holds take the free numbers in ascending order.
    fn finish(self) -> Vec<u32> {
        let mut free = self.from.iter().enumerate().filter(|(_, one)| one.is_none()).map(|(i, _)| i as u32);
        self.to.into_iter().map(|to| to.unwrap_or_else(|| free.next().unwrap_or_default())).collect()
    }
}

impl Fragment {
    /// The renumbering of m, n and k that turns this fragment into another.
    ///
    /// # Errors
    /// [`Difference`]: the first place, in the order C, A, B, that no renumbering explains.
    pub fn same_up_to_relabelling(&self, other: &Fragment) -> Result<Relabelling, Difference> {
        use FragmentOperand::{A, B, C};
        for operand in [C, A, B] {
            let extents = |f: &Fragment| {
                let layout = f.of(operand);
                (layout.rows(), layout.cols(), layout.lanes(), layout.slots())
            };
            if extents(self) != extents(other) {
                return Err(Difference::Extents { operand, one: extents(self), other: extents(other) });
            }
        }
        let shape = self.shape();
        let (mut m, mut n, mut k) = (Axis::new('m', shape.m), Axis::new('n', shape.n), Axis::new('k', shape.k));
        for operand in [C, A, B] {
            let (rows, cols) = match operand {
                A => (&mut m, &mut k),
                B => (&mut k, &mut n),
                C => (&mut m, &mut n),
            };
            for ((lane, slot, one), (_, _, two)) in self.of(operand).entries().zip(other.of(operand).entries()) {
                let (one, two) = match (one, two) {
                    (Some(one), Some(two)) => (one, two),
                    (None, None) => continue,
                    _ => return Err(Difference::Unused { operand, lane, slot }),
                };
                let conflict =
                    |axis: &Axis, one, other| Difference::Conflict { operand, lane, slot, axis: axis.name, one, other };
                if !rows.joins(one.0, two.0) {
                    return Err(conflict(rows, one.0, two.0));
                }
                if !cols.joins(one.1, two.1) {
                    return Err(conflict(cols, one.1, two.1));
                }
            }
        }
        Ok(Relabelling { m: m.finish(), n: n.finish(), k: k.finish() })
    }

    /// The fragment under another numbering.
    ///
    /// # Panics
    /// When a list is no renumbering of its axis.
    pub fn relabelled(&self, by: &Relabelling) -> Fragment {
        let turn = |layout: &super::Layout, rows: &[u32], cols: &[u32]| {
            let element = |lane: u32, slot: u32| {
                layout.at(lane as usize, slot as usize).map(|(r, c)| (rows[r as usize], cols[c as usize]))
            };
            let extents = (layout.rows(), layout.cols());
            super::Layout::from_fn(extents, (layout.lanes(), layout.slots()), element)
                .expect("a renumbering keeps every index inside its axis")
        };
        Fragment { a: turn(&self.a, &by.m, &by.k), b: turn(&self.b, &by.k, &by.n), c: turn(&self.c, &by.m, &by.n) }
    }
}

impl Relabelling {
    /// Whether every index keeps its number.
    pub fn is_identity(&self) -> bool {
        [&self.m, &self.n, &self.k].into_iter().all(|axis| is_identity(axis))
    }
}

fn is_identity(axis: &[u32]) -> bool {
    axis.iter().enumerate().all(|(i, &to)| i as u32 == to)
}

impl fmt::Display for Relabelling {
    /// For each axis `unchanged`, `bits 1→2 2→4 4→1` when it acts on bits by exclusive or, or the list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, axis)) in [("m", &self.m), ("n", &self.n), ("k", &self.k)].into_iter().enumerate() {
            write!(f, "{}{name} {}", if i == 0 { "" } else { "; " }, words(axis))?;
        }
        Ok(())
    }
}

fn words(axis: &[u32]) -> String {
    if is_identity(axis) {
        return "unchanged".to_owned();
    }
    let offset = axis[0];
    let image = |i: usize| {
        (0..usize::BITS).filter(|bit| i >> bit & 1 == 1).fold(offset, |sum, bit| sum ^ axis[1 << bit] ^ offset)
    };
    if axis.len().is_power_of_two() && axis.iter().enumerate().all(|(i, &to)| to == image(i)) {
        let bits: Vec<_> =
            (0..axis.len().ilog2()).map(|bit| format!("{}→{}", 1u64 << bit, axis[1 << bit] ^ offset)).collect();
        let offset = if offset == 0 { String::new() } else { format!(", then ⊕ {offset}") };
        return format!("bits {}{offset}", bits.join(" "));
    }
    let list: Vec<_> = axis.iter().map(u32::to_string).collect();
    format!("0, 1, … → {}", list.join(" "))
}
