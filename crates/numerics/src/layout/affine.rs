//! Do the bits of lane and slot act by exclusive or, and with which bases, rank and kernel?

use super::Layout;
use std::fmt;

/// A layout as an affine map over F2: the element of (lane, slot) is the exclusive or of an offset and the bases of the set bits.
///
/// Linear maps (offset 0) are the form that Triton's linear layouts take (arXiv 2505.23819).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affine {
    /// Element of lane 0, slot 0.
    pub offset: (u32, u32),
    /// Image of each bit of the lane, lowest first.
    pub lanes: Vec<(u32, u32)>,
    /// Image of each bit of the slot, lowest first.
    pub slots: Vec<(u32, u32)>,
}

/// Why a layout is no affine map over F2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAffine {
    /// Bits do not number the lanes or slots.
    #[error("{lanes} lanes of {slots} slots: both would have to be powers of two")]
    Count {
        /// Lanes.
        lanes: usize,
        /// Slots of a lane.
        slots: usize,
    },
    /// The first (lane, slot) that the bases do not predict.
    #[error("lane {lane}, slot {slot} holds {}, the bases say ({}, {})", held(*.found), predicted.0, predicted.1)]
    Counterexample {
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
        /// What is held.
        found: Option<(u32, u32)>,
        /// What the bases say.
        predicted: (u32, u32),
    },
    /// Lane 0, slot 0 or a slot that a basis is read from is unused.
    #[error("lane {lane}, slot {slot} is unused, so a basis is missing")]
    Unused {
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
    },
}

fn held(element: Option<(u32, u32)>) -> String {
    element.map_or_else(|| "nothing".to_owned(), |(row, col)| format!("({row}, {col})"))
}

impl Layout {
    /// The layout as an affine map over F2, checked at every lane and slot.
    ///
    /// # Errors
    /// [`NotAffine`] with the first counterexample.
    pub fn affine(&self) -> Result<Affine, NotAffine> {
        let (lanes, slots) = (self.lanes(), self.slots());
        if !lanes.is_power_of_two() || !slots.is_power_of_two() {
            return Err(NotAffine::Count { lanes, slots });
        }
        let read = |lane, slot| self.at(lane, slot).ok_or(NotAffine::Unused { lane, slot });
        let offset = read(0, 0)?;
        let basis = |(row, col): (u32, u32)| (row ^ offset.0, col ^ offset.1);
        let lane_bases = (0..lanes.ilog2()).map(|bit| read(1 << bit, 0).map(basis)).collect::<Result<_, _>>()?;
        let slot_bases = (0..slots.ilog2()).map(|bit| read(0, 1 << bit).map(basis)).collect::<Result<_, _>>()?;
        let map = Affine { offset, lanes: lane_bases, slots: slot_bases };
        for (lane, slot, found) in self.entries() {
            let predicted = map.at(lane, slot);
            if found != Some(predicted) {
                return Err(NotAffine::Counterexample { lane, slot, found, predicted });
            }
        }
        Ok(map)
    }
}

impl Affine {
    /// The element of (lane, slot).
    pub fn at(&self, lane: usize, slot: usize) -> (u32, u32) {
        let fold = |from, bases: &[(u32, u32)], index: usize| {
            bases
                .iter()
                .enumerate()
                .filter(|(bit, _)| index >> bit & 1 == 1)
                .fold(from, |(row, col): (u32, u32), (_, basis)| (row ^ basis.0, col ^ basis.1))
        };
        fold(fold(self.offset, &self.lanes, lane), &self.slots, slot)
    }

    /// Whether the offset is 0.
    pub fn is_linear(&self) -> bool {
        self.offset == (0, 0)
    }

    /// Dimension of the image: 2^rank elements are held.
    pub fn rank(&self) -> usize {
        self.lanes.len() + self.slots.len() - self.kernel().len()
    }

    /// A basis of the (lane, slot) patterns that change nothing: each makes copies. Empty when the map is one-to-one.
    pub fn kernel(&self) -> Vec<(usize, usize)> {
        let bits = (0..self.lanes.len()).map(|bit| (1usize << bit, 0usize));
        let inputs = bits.chain((0..self.slots.len()).map(|bit| (0, 1 << bit)));
        // Elimination: each kept image has a leading bit of its own; what is reduced to zero gives a kernel vector.
        let mut kept: Vec<(u64, (usize, usize))> = Vec::new();
        let mut kernel = Vec::new();
        for (input, &(row, col)) in inputs.zip(self.lanes.iter().chain(&self.slots)) {
            let mut image = u64::from(row) << 32 | u64::from(col);
            let mut from = input;
            for &(other, source) in &kept {
                if image ^ other < image {
                    image ^= other;
                    from = (from.0 ^ source.0, from.1 ^ source.1);
                }
            }
            if image == 0 {
                kernel.push(from);
            } else {
                kept.push((image, from));
                kept.sort_unstable_by_key(|&(image, _)| std::cmp::Reverse(image));
            }
        }
        kernel
    }
}

impl fmt::Display for Affine {
    /// `L1 (0,2) L2 (0,4) … | R1 (0,1) … | offset (0,0) | rank 8 | kernel none`: L are bits of the lane, R of the slot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |letter: char, bases: &[(u32, u32)]| {
            let terms: Vec<_> =
                bases.iter().enumerate().map(|(bit, (r, c))| format!("{letter}{} ({r},{c})", 1u64 << bit)).collect();
            if terms.is_empty() { format!("{letter} none") } else { terms.join(" ") }
        };
        let kernel: Vec<_> = self.kernel().iter().map(|(lane, slot)| format!("(lane {lane}, slot {slot})")).collect();
        let kernel = if kernel.is_empty() { "none".to_owned() } else { kernel.join(" ") };
        let ((row, col), rank) = (self.offset, self.rank());
        let (lanes, slots) = (line('L', &self.lanes), line('R', &self.slots));
        write!(f, "{lanes} | {slots} | offset ({row},{col}) | rank {rank} | kernel {kernel}")
    }
}
