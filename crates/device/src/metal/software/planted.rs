//! What is planted in a simulated Metal device, and how are such devices drawn?

use rigel_numerics::random::draw;

/// One fused step of a chain over k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arithmetic {
    /// Products of a step.
    pub group: i32,
    /// Bits below the largest exponent that a term keeps; `None`: all, and one product at a time.
    pub fraction_bits: Option<i32>,
    /// Cut downward, and not toward zero.
    pub cut_down: bool,
    /// Significant bits of what leaves a step.
    pub bits: i32,
    /// Rounded toward zero on leaving, and not to nearest even.
    pub toward_zero: bool,
}

impl Arithmetic {
    /// Fused multiply-adds of single precision.
    pub const FMA: Arithmetic =
        Arithmetic { group: 1, fraction_bits: None, cut_down: false, bits: 24, toward_zero: false };
}

/// What a row stride that is not aligned comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misaligned {
    /// Nothing.
    Fine,
    /// A refusal.
    Refused,
    /// Other rows are read.
    Wrong,
    /// The launch takes three times as long.
    Slow,
}

/// A rule on row strides in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alignment {
    /// What a stride must be a multiple of; 0: no rule.
    pub bytes: i32,
    /// What becomes of another one.
    pub outcome: Misaligned,
}

/// A base tile over 32 lanes: bit i of (lane, slot) is bit `of[i]` of (row, column), the row lowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaseTile {
    /// Bits of a row and of a column: 3 and 3, or 4 and 4.
    pub bits: (i32, i32),
    /// Where each bit goes.
    pub of: [i32; 8],
    /// Base tiles follow one another down columns first.
    pub along_rows: bool,
}

/// What a slice of a tensor that the kernel made is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// It ends where the whole ends.
    Remaining,
    /// It reports the extents of the whole.
    Original,
    /// It begins where the whole begins.
    Unmoved,
}

/// Everything that is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planted {
    /// How products are added.
    pub arithmetic: Arithmetic,
    /// Significant bits of float operands under relaxed precision.
    pub relaxed_bits: i32,
    /// Whether `multiply` adds to a tensor, and to a cooperative tensor.
    pub accumulates: (bool, bool),
    /// What a slice is.
    pub slice: Slice,
    /// Bytes from which on a slice lands so many too low; 0: never.
    pub slice_limit: i32,
    /// The rule for tensors that the host makes.
    pub handle: Alignment,
    /// The rule that tensors of the host have besides where they are made for machine learning.
    pub machine_learning: Alignment,
    /// The rule for tensors that the kernel makes.
    pub inlined: Alignment,
    /// Coordinates come as (row, column), and not as (column, row).
    pub row_first: bool,
    /// Left inputs.
    pub left: BaseTile,
    /// Right inputs.
    pub right: BaseTile,
    /// Destinations.
    pub destination: BaseTile,
    /// `simdgroup_matrix`.
    pub matrix: BaseTile,
    /// Scales stay where they are when a slice of their elements moves.
    pub scales_stay: bool,
    /// Rows of scales are as far apart as rows of elements are, and not as these are long.
    pub scales_by_stride: bool,
}

impl Alignment {
    /// What becomes of rows so many bytes apart.
    pub fn at(self, bytes: i64) -> Misaligned {
        if self.bytes == 0 || bytes % i64::from(self.bytes) == 0 { Misaligned::Fine } else { self.outcome }
    }
}

impl BaseTile {
    /// The map that others read off `simdgroup_matrix`: two neighbouring columns a lane.
    pub const MORTON: BaseTile = BaseTile { bits: (3, 3), of: [4, 0, 1, 5, 2, 3, 0, 0], along_rows: false };

    fn words(&self) -> Vec<i32> {
        [&[self.bits.0, self.bits.1], self.of.as_slice(), &[i32::from(self.along_rows)]].concat()
    }

    /// (row, column) of a slot of a lane, inside the base tile.
    pub fn at(&self, lane: usize, slot: usize) -> (usize, usize) {
        let inside = lane | slot << 5;
        let (mut row, mut col) = (0, 0);
        for bit in 0..(self.bits.0 + self.bits.1) as usize {
            let (to, set) = (self.of[bit], inside >> bit & 1);
            if to < self.bits.0 { row |= set << to } else { col |= set << (to - self.bits.0) }
        }
        (row, col)
    }

    fn drawn(dice: &mut impl FnMut(u64) -> u64, small: bool) -> BaseTile {
        let bits = if small || dice(2) == 0 { 3 } else { 4 };
        let mut of = [0; 8];
        let count = 2 * bits as usize;
        for (i, to) in of.iter_mut().enumerate().take(count) {
            *to = i as i32;
        }
        for i in (1..count).rev() {
            of.swap(i, dice(i as u64 + 1) as usize);
        }
        BaseTile { bits: (bits, bits), of, along_rows: dice(2) == 1 }
    }
}

impl Planted {
    /// Nothing strange: fused multiply-adds, one map everywhere, no rule on alignment.
    pub const PLAIN: Planted = Planted {
        arithmetic: Arithmetic::FMA,
        relaxed_bits: 24,
        accumulates: (false, false),
        slice: Slice::Remaining,
        slice_limit: 0,
        handle: Alignment { bytes: 0, outcome: Misaligned::Fine },
        machine_learning: Alignment { bytes: 0, outcome: Misaligned::Fine },
        inlined: Alignment { bytes: 0, outcome: Misaligned::Fine },
        row_first: false,
        left: BaseTile::MORTON,
        right: BaseTile::MORTON,
        destination: BaseTile::MORTON,
        matrix: BaseTile::MORTON,
        scales_stay: false,
        scales_by_stride: false,
    };

    /// The words that the device reads, in its order.
    pub fn words(&self) -> Vec<i32> {
        let a = self.arithmetic;
        let mut words =
            vec![a.group, a.fraction_bits.unwrap_or(-1), i32::from(a.cut_down), a.bits, i32::from(a.toward_zero)];
        words.extend([self.relaxed_bits, i32::from(self.accumulates.0), i32::from(self.accumulates.1)]);
        words.extend([self.slice as i32, self.slice_limit]);
        words.extend([self.handle, self.inlined].iter().flat_map(|rule| [rule.bytes, rule.outcome as i32]));
        words.push(i32::from(self.row_first));
        for base in [&self.left, &self.right, &self.destination, &self.matrix] {
            words.extend(base.words());
        }
        words.extend([self.scales_stay, self.scales_by_stride].map(i32::from));
        words
    }

    /// Device number `index` of a seed.
    pub fn drawn(seed: u64, index: u64) -> Planted {
        let mut count = 0;
        let mut dice = |below: u64| {
            count += 1;
            draw(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15), count) % below
        };
        let arithmetic = match dice(4) {
            0 => Arithmetic::FMA,
            1 => Arithmetic { toward_zero: true, ..Arithmetic::FMA },
            _ => Arithmetic {
                group: [4, 8, 16][dice(3) as usize],
                fraction_bits: Some([13, 24, 25, 26][dice(4) as usize]),
                cut_down: false,
                bits: 24,
                toward_zero: dice(2) == 0,
            },
        };
        let rule = |dice: &mut dyn FnMut(u64) -> u64| Alignment {
            bytes: [16, 32, 64, 128][dice(4) as usize],
            outcome: [Misaligned::Fine, Misaligned::Refused, Misaligned::Wrong, Misaligned::Slow][dice(4) as usize],
        };
        Planted {
            arithmetic,
            relaxed_bits: [24, 11, 8][dice(3) as usize],
            accumulates: (dice(2) == 1, dice(2) == 1),
            slice: [Slice::Remaining, Slice::Original, Slice::Unmoved][dice(3) as usize],
            slice_limit: [0, 1 << 16, 1 << 18][dice(3) as usize],
            handle: rule(&mut dice),
            inlined: rule(&mut dice),
            row_first: dice(2) == 1,
            left: BaseTile::drawn(&mut dice, false),
            right: BaseTile::drawn(&mut dice, false),
            destination: BaseTile::drawn(&mut dice, false),
            matrix: BaseTile::drawn(&mut dice, true),
            scales_stay: dice(2) == 1,
            scales_by_stride: dice(2) == 1,
            machine_learning: rule(&mut dice),
        }
    }
}
