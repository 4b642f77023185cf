//! Which layouts does a drawn unit have?

use super::random::Stream;
use super::unit_registers::without_unread_copies;
use rigel_numerics::Shape;
use rigel_numerics::layout::{Fragment, Layout, LayoutError, MixedRadix, Mode};

/// Random layouts of a unit's operands, on a number of lanes that is a power of two.
pub(super) fn draw_fragment(s: &mut Stream, shape: Shape, lanes: usize) -> Result<Fragment, LayoutError> {
    let Shape { m, n, k } = shape;
    let fragment = Fragment::new(draw(s, m, k, lanes)?, draw(s, k, n, lanes)?, draw(s, m, n, lanes)?)?;
    without_unread_copies(&fragment)
}

fn draw(s: &mut Stream, rows: usize, cols: usize, lanes: usize) -> Result<Layout, LayoutError> {
    let digits = digits(s, rows, cols);
    let (in_lanes, in_slots) = deal(s, digits, lanes.ilog2() as usize);
    let slots = in_slots.iter().map(|mode| mode.extent).product();
    let plain = MixedRadix { offset: (0, 0), lanes: in_lanes, slots: in_slots };
    let layout = Layout::from_digits((rows, cols), (lanes, slots), &plain)?;
    let swizzled = cols.is_power_of_two() && s.below(4) == 0;
    let order = word_order(s, slots);
    let spare = (s.below(6) == 0).then(|| s.below(slots as u64 + 1) as usize);
    let mut table = Vec::with_capacity(lanes * (slots + 1));
    for lane in 0..lanes {
        let mut held: Vec<Option<(u32, u32)>> = order.iter().map(|&slot| layout.at(lane, slot)).collect();
        if swizzled {
            held.iter_mut().flatten().for_each(|(row, col)| *col ^= *row & (cols as u32 - 1));
        }
        if let Some(at) = spare {
            held.insert(at, None);
        }
        table.extend(held);
    }
    Layout::from_table(rows, cols, lanes, slots + usize::from(spare.is_some()), table)
}

/// One digit for each prime factor of rows and columns, with the strides that number them.
fn digits(s: &mut Stream, rows: usize, cols: usize) -> Vec<Mode> {
    let mut modes = Vec::new();
    for (extent, is_row) in [(rows, true), (cols, false)] {
        let mut factors = factors(extent);
        shuffle(s, &mut factors);
        let mut stride = 1;
        for factor in factors {
            let (row, col) = if is_row { (stride, 0) } else { (0, stride) };
            modes.push(Mode { extent: factor, row, col });
            stride *= factor as i64;
        }
    }
    modes
}

/// Digits of lanes, as many binary ones as there are bits, and digits of slots, each in a random order. Bits that no
/// digit is left for, and now and then one more, are broadcast.
fn deal(s: &mut Stream, mut digits: Vec<Mode>, bits: usize) -> (Vec<Mode>, Vec<Mode>) {
    shuffle(s, &mut digits);
    let wanted = bits - usize::from(bits > 0 && s.below(5) == 0);
    let mut in_lanes = Vec::new();
    let mut in_slots = Vec::new();
    for mode in digits {
        if mode.extent == 2 && in_lanes.len() < wanted { in_lanes.push(mode) } else { in_slots.push(mode) }
    }
    in_lanes.resize(bits, Mode { extent: 2, row: 0, col: 0 });
    shuffle(s, &mut in_lanes);
    (in_lanes, in_slots)
}

/// An order of slots: as they are, or permuted alike inside each word of 2, 4 or 8.
fn word_order(s: &mut Stream, slots: usize) -> Vec<usize> {
    let word = [2, 4, 8][s.below(3) as usize];
    let mut inside: Vec<usize> = (0..word).collect();
    if !slots.is_multiple_of(word) || s.below(3) != 0 {
        return (0..slots).collect();
    }
    shuffle(s, &mut inside);
    (0..slots).map(|slot| slot / word * word + inside[slot % word]).collect()
}

fn factors(mut n: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut p = 2;
    while n > 1 {
        while n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        }
        p += 1;
    }
    factors
}

fn shuffle<T>(s: &mut Stream, items: &mut [T]) {
    rigel_numerics::random::shuffle(items, s.word());
}
