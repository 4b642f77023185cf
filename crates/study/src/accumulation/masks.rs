//! Which codes make a unit, and which a mask that swallows all units?

use super::black_box::DotProducts;
use rigel_device::contract::Fault;
use rigel_numerics::{Format, Overflow, Rounding, Triple};

/// Formats that leave no room for units beside a mask.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{triple} has no order that masks could show: {why}")]
pub struct Unmaskable {
    /// The element types.
    pub triple: String,
    /// Why.
    pub why: String,
}

/// Places between a mask and a unit: more than any sum of floats keeps, and well inside the range of f32.
const APART: i32 = 110;

/// Exponents of the factors of a mask and of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Masks {
    triple: Triple,
    k: usize,
    mask: (i32, i32),
    unit: (i32, i32),
}

impl Masks {
    /// # Errors
    /// [`Unmaskable`] for integers and block-scaled operands, and where a mask would not swallow `k` units.
    pub(super) fn new(triple: Triple, k: usize) -> Result<Masks, Unmaskable> {
        let refuse = |why: &str| Unmaskable { triple: triple.to_string(), why: why.to_owned() };
        if triple.is_integer() {
            return Err(refuse("sums of integers are exact in any order"));
        }
        if triple.is_mixed() {
            return Err(refuse("an operand of integers has no room for a mask and units"));
        }
        if [triple.a, triple.b].iter().any(|operand| Format::SCALED.contains(operand)) {
            return Err(refuse("elements of a scale group share their scale, so a mask has no units beside it"));
        }
        let (a, b, c) = (Range::of(triple.a), Range::of(triple.b), Range::of(triple.c));
        // Half of the range of the result above the mask, so that sums of masks stay finite.
        let mask = (a.top + b.top).min(c.top - 2).min(APART / 2);
        // With one column for all rows where A's range is wide enough alone.
        let alone = a.top - a.least >= APART && b.top >= 0 && b.least <= 0;
        let least = if alone { a.least } else { a.least + b.least };
        let unit = (mask - APART).max(least).max(c.least);
        let needed = triple.c.precision().max(24) as i32 + 1 + (usize::BITS - k.leading_zeros()) as i32;
        if mask - unit < needed.min(APART) {
            return Err(refuse(&format!("a mask is {} places above a unit, and {k} units need {needed}", mask - unit)));
        }
        let split = |e: i32| {
            let first = if alone { e } else { e.clamp((a.least).max(e - b.top), a.top) };
            (first, e - first)
        };
        Ok(Masks { triple, k, mask: split(mask), unit: split(unit) })
    }

    /// Row and column with +M in place i and −M in place j (or the other way round) and units elsewhere.
    fn inputs(&self, i: usize, j: usize, turned: bool) -> (Vec<u64>, Vec<u64>) {
        let power =
            |format: Format, e: i32, sign: i128| format.encode_scaled(sign, e, Rounding::NearestEven, Overflow::Ieee);
        let mut row = vec![power(self.triple.a, self.unit.0, 1); self.k];
        let mut column = vec![power(self.triple.b, self.unit.1, 1); self.k];
        for (place, sign) in [(i, 1), (j, -1)] {
            row[place] = power(self.triple.a, self.mask.0, if turned { -sign } else { sign });
            column[place] = power(self.triple.b, self.mask.1, 1);
        }
        (row, column)
    }

    /// Units that a result counts; `None` where it is no number of them.
    fn count(&self, code: u64) -> Option<usize> {
        let units = self.triple.c.decode(code) / f64::powi(2.0, self.unit.0 + self.unit.1);
        let most = self.k.saturating_sub(2) as f64;
        ((0.0..=most).contains(&units) && units.fract() == 0.0).then_some(units as usize)
    }

    /// Of every pair of places the leaves below the lowest node that has both below it; `None` where no number came out.
    pub(super) fn sizes(
        &self,
        box_: &mut dyn DotProducts,
        pairs: &[(usize, usize)],
    ) -> Result<Vec<Option<usize>>, Fault> {
        let mut sizes = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(1024) {
            let each = pairs.iter().flat_map(|&(i, j)| [self.inputs(i, j, false), self.inputs(i, j, true)]);
            let (rows, columns): (Vec<_>, Vec<_>) = each.unzip();
            let codes = box_.dots(&rows, &columns)?;
            sizes.extend(codes.chunks(2).map(|both| {
                // A sum toward zero swallows units under a mask of one sign only; the other sign then gives no small number.
                match [self.count(both[0]), self.count(both[1])] {
                    [Some(x), Some(y)] if x == y => Some(self.k - x),
                    [Some(x), None] | [None, Some(x)] => Some(self.k - x),
                    _ => None,
                }
            }));
        }
        Ok(sizes)
    }
}

/// Powers of two that a format holds.
struct Range {
    top: i32,
    least: i32,
}

impl Range {
    fn of(format: Format) -> Range {
        let log = |value: f64| value.log2().floor() as i32;
        let normal = log(format.min_normal());
        Range { top: log(format.max_finite()), least: normal - format.precision() as i32 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_units_are_codes_of_their_formats() {
        for triple in [
            "f32,f32->f32",
            "f64,f64->f64",
            "f16,f16->f32",
            "f16,f16->f16",
            "bf16,bf16->f32",
            "e5m2,e5m2->f32",
            "e4m3,e4m3->f32",
        ] {
            let triple: Triple = triple.parse().expect("a triple");
            let masks = Masks::new(triple, 64).expect("room for masks");
            let (row, column) = masks.inputs(3, 5, false);
            let value = |i: usize| triple.a.decode(row[i]) * triple.b.decode(column[i]);
            assert_eq!(value(3), -value(5), "{triple}");
            assert!(value(0) > 0.0 && value(3) / value(0) > 64.0 * f64::powi(2.0, 24), "{triple}");
            assert_eq!(value(0), value(7), "{triple}");
            assert_eq!(masks.count(triple.c.encode(62.0 * value(0), Rounding::NearestEven, Overflow::Ieee)), Some(62));
        }
        assert!(Masks::new("u8,i8->i32".parse().expect("a triple"), 64).is_err());
        assert!(Masks::new("e2m1,e2m1->f32".parse().expect("a triple"), 64).is_err());
    }
}
