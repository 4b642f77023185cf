//! What is the exact sum of the terms of a step, ready to be rounded?

use super::aligned::Term;
use super::operand::Row;
use super::round::shift_cut;
use super::value::{Class, NO_EXPONENT, Total};
use crate::Rounding;
use crate::superaccumulator::Superaccumulator;
use std::ops::Range;

/// One nonzero term: ±magnitude · 2^place.
#[derive(Debug, Clone, Copy)]
struct Piece {
    negative: bool,
    magnitude: u128,
    place: i32,
}

impl Piece {
    fn top(&self) -> i32 {
        self.place + 127 - self.magnitude.leading_zeros() as i32
    }
}

/// Σ of products and values. Its sign is false where it is zero; its exponent is the largest of the terms'.
///
/// `product_places`: places of a product below its leading one.
pub(super) fn sum(a: &Row, b: &Row, at: Range<usize>, terms: &[Term], product_places: i32) -> Total {
    if let (1, [c]) = (at.len(), terms)
        && c.value.class == Class::Finite
    {
        return fused(a, b, at.start, c, product_places);
    }
    let products = at.clone().map(|i| {
        let product = i128::from(a.significand[i]) * i128::from(b.significand[i]);
        let place = a.exponent[i] + b.exponent[i] - product_places;
        Piece { negative: product < 0, magnitude: product.unsigned_abs(), place }
    });
    let values = terms.iter().map(|Term { value, .. }| Piece {
        negative: value.negative,
        magnitude: u128::from(value.magnitude),
        place: value.place,
    });
    let pieces = products.chain(values).filter(|piece| piece.magnitude != 0);

    let mut exponent = 2 * NO_EXPONENT;
    for i in at {
        exponent = exponent.max(a.exponent[i] + b.exponent[i]);
    }
    for Term { value, .. } in terms {
        if value.magnitude != 0 || value.class == Class::Unrounded {
            exponent = exponent.max(value.exponent);
        }
    }
    let exponent = if exponent <= NO_EXPONENT / 2 { NO_EXPONENT } else { exponent };

    let (mut count, mut top, mut least) = (0u32, i32::MIN, i32::MAX);
    let mut first = [None; 2];
    for piece in pieces.clone() {
        if let Some(kept) = first.get_mut(count as usize) {
            *kept = Some(piece);
        }
        count += 1;
        top = top.max(piece.top());
        least = least.min(piece.place);
    }
    if count == 0 {
        return Total { negative: false, magnitude: 0, place: 0, sticky: false, exponent };
    }
    let growth = (32 - count.leading_zeros()) as i32;
    if top - least + growth <= 125 {
        let sum: i128 = pieces
            .map(|piece| {
                let units = (piece.magnitude << (piece.place - least)) as i128;
                if piece.negative { -units } else { units }
            })
            .sum();
        return Total { negative: sum < 0, magnitude: sum.unsigned_abs(), place: least, sticky: false, exponent };
    }
    match (count, first) {
        (2, [Some(x), Some(y)]) => sum_of_two(x, y, exponent),
        _ => sum_of_many(pieces, exponent),
    }
}

/// One product and a value: a fused multiply-add before its rounding.
#[inline]
fn fused(a: &Row, b: &Row, i: usize, c: &Term, product_places: i32) -> Total {
    let product = i128::from(a.significand[i]) * i128::from(b.significand[i]);
    let exponent = a.exponent[i] + b.exponent[i];
    let x = Piece { negative: product < 0, magnitude: product.unsigned_abs(), place: exponent - product_places };
    let c = &c.value;
    let y = Piece { negative: c.negative, magnitude: u128::from(c.magnitude), place: c.place };
    if x.magnitude == 0 || y.magnitude == 0 {
        let (only, exponent) = match (x.magnitude, y.magnitude) {
            (0, 0) => (y, NO_EXPONENT),
            (0, _) => (y, c.exponent),
            _ => (x, exponent),
        };
        let negative = only.negative && only.magnitude != 0;
        return Total { negative, magnitude: only.magnitude, place: only.place, sticky: false, exponent };
    }
    let exponent = exponent.max(c.exponent);
    let (high, low) = if x.place >= y.place { (x, y) } else { (y, x) };
    let distance = (high.place - low.place) as u32;
    if high.magnitude.leading_zeros() > distance + 2 && low.magnitude >> 125 == 0 {
        let units = |piece: Piece, shift: u32| {
            let units = (piece.magnitude << shift) as i128;
            if piece.negative { -units } else { units }
        };
        let sum = units(high, distance) + units(low, 0);
        return Total { negative: sum < 0, magnitude: sum.unsigned_abs(), place: low.place, sticky: false, exponent };
    }
    sum_of_two(x, y, exponent)
}

/// Two terms that do not fit 126 bits together, so that their leading places are far apart: the smaller one is cut,
/// to odd, where the larger one has only zeros.
fn sum_of_two(x: Piece, y: Piece, exponent: i32) -> Total {
    let (large, small) = if x.top() >= y.top() { (x, y) } else { (y, x) };
    let place = large.top() - 124;
    let units = |piece: Piece| {
        let shift = place - piece.place;
        let magnitude = if shift <= 0 {
            piece.magnitude << -shift
        } else {
            shift_cut(piece.magnitude, shift as u32, false, piece.negative, Rounding::Odd)
        };
        if piece.negative { -(magnitude as i128) } else { magnitude as i128 }
    };
    let sum = units(large) + units(small);
    Total { negative: sum < 0, magnitude: sum.unsigned_abs(), place, sticky: false, exponent }
}

#[cold]
fn sum_of_many(pieces: impl Iterator<Item = Piece>, exponent: i32) -> Total {
    let mut wide = Superaccumulator::ZERO;
    for piece in pieces {
        wide.add(piece.negative, piece.magnitude, piece.place);
    }
    let (magnitude, sticky, place) = wide.leading();
    Total { negative: magnitude != 0 && wide.is_negative(), magnitude, place, sticky, exponent }
}
