//! Which layouts are planted for a seed?

use super::{Copies, Flaw, Planted};
use rigel_numerics::layout::{Fragment, Layout, MixedRadix, Mode};
use rigel_numerics::random::{below, shuffle, stream};
use rigel_numerics::{Format, Triple};

/// How a planted layout is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Linear over F2, as an order of bits.
    Bits,
    /// Linear over F2, any bases.
    Bases,
    /// Mixed radix with digits of 2, 3 and 5.
    Digits,
    /// Any table, with unused slots.
    Shuffled,
}

pub const FAMILIES: [Family; 4] = [Family::Bits, Family::Bases, Family::Digits, Family::Shuffled];

/// Draws one after the other.
struct Dice(u64, u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.1 += 1;
        below(self.0, self.1, bound as u64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        self.1 += 1;
        shuffle(items, stream(self.0, self.1));
    }
}

/// A planted unit of a family. `large` ones have 128 lanes of 128 slots of A, B and C.
pub fn draw(family: Family, large: bool, seed: u64) -> Planted {
    let mut dice = Dice(stream(seed, 0x706c_616e), 0);
    let fragment = match family {
        Family::Bits | Family::Bases => linear(&mut dice, family == Family::Bases, large),
        Family::Digits => digits(&mut dice, large),
        Family::Shuffled => shuffled(&mut dice, large),
    };
    let fragment = sub_words(&mut dice, fragment);
    // Copies that only some elements have are never read in turn: that would make parts which share a half of their rows.
    let even = |layout: &Layout| layout.coverage().fewest == layout.coverage().most;
    let linear = matches!(family, Family::Bits | Family::Bases);
    let copies = match dice.below(4) {
        0 if linear && !large => Copies::Nearest,
        1 if even(&fragment.a) => Copies::OfAByColumn,
        2 if even(&fragment.b) => Copies::OfBByRow,
        _ => Copies::First,
    };
    const NARROW: [(Format, Format, Format); 10] = [
        (Format::F16, Format::F16, Format::F32),
        (Format::Bf16, Format::Bf16, Format::F32),
        (Format::E4m3, Format::E5m2, Format::F32),
        (Format::E5m2, Format::E4m3, Format::F16),
        (Format::I8, Format::U8, Format::I32),
        (Format::I4, Format::I4, Format::I32),
        (Format::E2m1, Format::E2m1, Format::F32),
        (Format::E3m2, Format::E2m3, Format::Bf16),
        (Format::F64, Format::F64, Format::F64),
        (Format::Tf32, Format::Tf32, Format::F32),
    ];
    let (a, b, c) = NARROW[dice.below(NARROW.len())];
    Planted::new(fragment, Triple::new(a, b, c), copies, Flaw::None)
}

/// Every bit of lane and slot has an image; images span the operand, the rest are copies.
fn linear(dice: &mut Dice, mixed: bool, large: bool) -> Fragment {
    let bits = |dice: &mut Dice| if large { 7 } else { dice.below(6) as u32 };
    let (m, n, k) = (bits(dice), bits(dice), bits(dice));
    let lanes = if large { 7 } else { dice.below(7) as u32 };
    let mut layout = |rows: u32, cols: u32| {
        let more = if large { 0 } else { [0, 0, 1, 2][dice.below(4)] };
        let slots = (rows + cols).saturating_sub(lanes) + more;
        let mut images: Vec<(u32, u32)> =
            (0..rows).map(|b| (1 << b, 0)).chain((0..cols).map(|b| (0, 1 << b))).collect();
        while images.len() < (lanes + slots) as usize {
            let copied = if mixed { (dice.below(1 << rows) as u32, dice.below(1 << cols) as u32) } else { (0, 0) };
            images.push(copied);
        }
        dice.shuffle(&mut images);
        if mixed {
            for _ in 0..4 * images.len() {
                let (i, j) = (dice.below(images.len()), dice.below(images.len()));
                if i != j {
                    images[i] = (images[i].0 ^ images[j].0, images[i].1 ^ images[j].1);
                }
            }
        }
        Layout::from_fn((1 << rows, 1 << cols), (1 << lanes, 1 << slots), |lane, slot| {
            let number = (lane << slots | slot) as usize;
            let set = images.iter().enumerate().filter(|(b, _)| number >> b & 1 == 1);
            Some(set.fold((0, 0), |sum, (_, image)| (sum.0 ^ image.0, sum.1 ^ image.1)))
        })
        .unwrap()
    };
    let (a, b, c) = (layout(m, k), layout(k, n), layout(m, n));
    Fragment::new(a, b, c).unwrap()
}

/// Digits of row and column in any order; lanes that an operand has no digit for hold copies.
fn digits(dice: &mut Dice, large: bool) -> Fragment {
    let mut product = |most: usize| {
        let mut primes = Vec::new();
        while primes.iter().product::<usize>() * 5 <= most && dice.below(6) > 0 {
            primes.push([2, 2, 2, 3, 3, 5][dice.below(6)]);
        }
        primes
    };
    let (m, n, k, lanes) = if large {
        (vec![2, 2, 2, 3, 5], vec![5, 5, 5], vec![3, 2, 5, 2, 2], vec![2, 5, 3, 2, 2])
    } else {
        (product(48), product(48), product(48), product(64))
    };
    let mut layout = |rows: &[usize], cols: &[usize]| {
        let strided = |dice: &mut Dice, primes: &[usize], along_rows: bool| {
            let mut primes = primes.to_vec();
            dice.shuffle(&mut primes);
            let mut stride = 1i64;
            primes
                .into_iter()
                .map(|extent| {
                    let (row, col) = if along_rows { (stride, 0) } else { (0, stride) };
                    stride *= extent as i64;
                    Mode { extent, row, col }
                })
                .collect::<Vec<_>>()
        };
        let mut left = strided(dice, rows, true);
        left.extend(strided(dice, cols, false));
        dice.shuffle(&mut left);
        let mut of_lanes: Vec<Mode> = lanes
            .iter()
            .map(|&prime| match left.iter().position(|mode| mode.extent == prime) {
                Some(at) => left.swap_remove(at),
                None => Mode { extent: prime, row: 0, col: 0 },
            })
            .collect();
        dice.shuffle(&mut of_lanes);
        if !large && dice.below(4) == 0 {
            left.push(Mode { extent: 2, row: 0, col: 0 });
            dice.shuffle(&mut left);
        }
        let count = |modes: &[Mode]| modes.iter().map(|mode| mode.extent).product::<usize>();
        let held = (count(&of_lanes), count(&left));
        let extents = (rows.iter().product(), cols.iter().product());
        Layout::from_digits(extents, held, &MixedRadix { offset: (0, 0), lanes: of_lanes, slots: left }).unwrap()
    };
    let (a, b, c) = (layout(&m, &k), layout(&k, &n), layout(&m, &n));
    Fragment::new(a, b, c).unwrap()
}

/// Every element once or more, some slots unused, in any order.
fn shuffled(dice: &mut Dice, large: bool) -> Fragment {
    let mut extent = |most: usize| if large { 120 + dice.below(9) } else { 1 + dice.below(most) };
    let (m, n, k, lanes) = (extent(20), extent(20), extent(20), if large { 128 } else { extent(40) });
    let mut layout = |rows: usize, cols: usize| {
        let slots = if large { 128 } else { (rows * cols).div_ceil(lanes) + dice.below(3) };
        let mut table: Vec<_> = (0..lanes * slots)
            .map(|i| match (i < rows * cols, dice.below(2)) {
                (true, _) => Some(i),
                (false, 0) => Some(dice.below(rows * cols)),
                _ => None,
            })
            .map(|element| element.map(|i| ((i / cols) as u32, (i % cols) as u32)))
            .collect();
        dice.shuffle(&mut table);
        Layout::from_table(rows, cols, lanes, slots, table).unwrap()
    };
    let (a, b, c) = (layout(m, k), layout(k, n), layout(m, n));
    Fragment::new(a, b, c).unwrap()
}

/// Elements inside a register word in another order, the same in every word.
fn sub_words(dice: &mut Dice, fragment: Fragment) -> Fragment {
    let mut permuted = |layout: Layout| {
        let word = [1, 2, 4, 8][dice.below(4)];
        if !layout.slots().is_multiple_of(word) {
            return layout;
        }
        let mut order: Vec<usize> = (0..word).collect();
        dice.shuffle(&mut order);
        let table: Vec<_> =
            (0..layout.lanes() * layout.slots()).map(|i| layout.table()[i / word * word + order[i % word]]).collect();
        Layout::from_table(layout.rows(), layout.cols(), layout.lanes(), layout.slots(), table).unwrap()
    };
    let Fragment { a, b, c } = fragment;
    Fragment::new(permuted(a), permuted(b), permuted(c)).unwrap()
}
