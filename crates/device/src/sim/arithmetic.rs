//! How does a planted unit add up a dot product?
//!
//! Products whose extents are all at most [`SMALL`] are summed by the planted arithmetic, element by element. Larger
//! ones are the float64 product, rounded once to C, with the planted arithmetic applied as far as it is cheap:
//! [`Arithmetic::OperandsCut`] exactly, [`Arithmetic::AlignedBlocks`] block by block without the cut of single products
//! inside a block (so a large product errs a little less than the small model says), and the other two as one rounding.

use rigel_numerics::{Format, Overflow, Rounding, Triple};
use serde::{Deserialize, Serialize};

/// The largest extent at which every element goes through the planted arithmetic.
pub const SMALL: usize = 128;

/// How a unit sums. Integer triples ignore it: they are exact and wrap modulo 2^bits of C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arithmetic {
    /// The exact sum, rounded once to C, to nearest even.
    #[default]
    Exact,
    /// Fused multiply-adds in the declared accumulate type, in ascending k from +0, each rounded to nearest even; then
    /// one rounding to C.
    Chain,
    /// Blocks of `terms` products. In a block the products, not renormalised, and the running sum are aligned to the
    /// largest exponent among them and truncated toward zero to `fraction_bits` below it, added exactly, and truncated
    /// toward zero to `output_bits`. Hopper's fp8 `wgmma` is (32, 13, 14): a significand of 14 bits, hidden one
    /// included, which DeepSeek-V3 (arXiv 2412.19437, §3.3.2) and MMA-Sim (arXiv 2511.10909) describe.
    AlignedBlocks {
        /// Products of a block, 1 to 4096.
        terms: usize,
        /// Fraction bits kept below the largest exponent, 1 to 52.
        fraction_bits: u32,
        /// Significant bits of the running sum, 1 to 53.
        output_bits: u32,
    },
    /// Operands truncated toward zero to `bits` significant bits, then as [`Arithmetic::Exact`].
    OperandsCut {
        /// Significant bits kept, 1 to 53.
        bits: u32,
    },
}

/// The code of one output element: the dot product of a row of A and a column of B by the planted arithmetic.
///
/// `a` and `b` are codes of the triple's operand formats, of equal length.
pub fn dot(arithmetic: Arithmetic, triple: Triple, a: &[u64], b: &[u64]) -> u64 {
    if triple.is_integer() {
        let value = |format: Format, code| format.parts(code).map_or(0, |(s, _)| i128::from(s));
        let sum: i128 = a.iter().zip(b).map(|(&x, &y)| value(triple.a, x) * value(triple.b, y)).sum();
        return triple.c.encode_scaled(sum, 0, Rounding::NearestEven, Overflow::Ieee);
    }
    let finite = a.iter().all(|&x| triple.a.is_finite(x)) && b.iter().all(|&y| triple.b.is_finite(y));
    if !finite {
        let sum: f64 = a.iter().zip(b).map(|(&x, &y)| triple.a.decode(x) * triple.b.decode(y)).sum();
        return rounded(triple.c, sum);
    }
    match arithmetic {
        Arithmetic::Exact => exact(triple, a, b, |x| x),
        Arithmetic::OperandsCut { bits } => exact(triple, a, b, |x| truncated(x, bits)),
        Arithmetic::Chain => {
            let mut sum = 0.0;
            for (&x, &y) in a.iter().zip(b) {
                sum = fused(triple.acc, triple.a.decode(x), triple.b.decode(y), sum);
            }
            rounded(triple.c, sum)
        }
        Arithmetic::AlignedBlocks { terms, fraction_bits, output_bits } => {
            let mut sum = 0.0;
            for (a, b) in a.chunks(terms).zip(b.chunks(terms)) {
                sum = block(triple, a, b, sum, fraction_bits, output_bits);
            }
            rounded(triple.c, sum)
        }
    }
}

/// A value in C's format, to nearest even; beyond the largest finite code an infinity where there is one.
pub fn rounded(format: Format, value: f64) -> u64 {
    format.encode(value, Rounding::NearestEven, Overflow::Ieee)
}

/// A finite value truncated toward zero to `bits` significant bits (its subnormals in f64 keep their bits).
pub fn truncated(value: f64, bits: u32) -> f64 {
    f64::from_bits(value.to_bits() & (u64::MAX << (53 - bits.clamp(1, 53))))
}

/// Exponent of a value: floor(log2 |value|) for normal ones, −1023 for zero and subnormals.
pub fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7FF) as i32 - 1023
}

fn exact(triple: Triple, a: &[u64], b: &[u64], cut: impl Fn(f64) -> f64) -> u64 {
    let mut sum = Expansion::default();
    for (&x, &y) in a.iter().zip(b) {
        let (x, y) = (cut(triple.a.decode(x)), cut(triple.b.decode(y)));
        let product = x * y;
        sum.add(product);
        sum.add(x.mul_add(y, -product));
    }
    let (nearest, rest) = sum.total();
    if triple.c == Format::F64 { nearest.to_bits() } else { rounded(triple.c, odd(nearest, rest)) }
}

/// x·y + c in `format`, rounded once to nearest even. For formats narrower than f64 it goes through f64 rounded to odd,
/// after which the second rounding is the only one that shows; the product of two operands narrower than f64 is exact.
fn fused(format: Format, x: f64, y: f64, c: f64) -> f64 {
    if format == Format::F64 {
        return x.mul_add(y, c);
    }
    let (sum, rest) = two_sum(x * y, c);
    format.decode(rounded(format, odd(sum, rest)))
}

/// `nearest` moved to the neighbour with an odd last bit when something is left over: rounding to odd.
fn odd(nearest: f64, rest: f64) -> f64 {
    if rest == 0.0 || !nearest.is_finite() || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    if rest > 0.0 { nearest.next_up() } else { nearest.next_down() }
}

/// The rounded sum of two values and, exactly, what the rounding left over (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// An exact sum as values that do not overlap, in growing order (Shewchuk, 1997).
#[derive(Debug, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    fn add(&mut self, value: f64) {
        let mut carry = value;
        let mut kept = 0;
        for i in 0..self.0.len() {
            let (sum, rest) = two_sum(self.0[i], carry);
            if rest != 0.0 {
                self.0[kept] = rest;
                kept += 1;
            }
            carry = sum;
        }
        self.0.truncate(kept);
        if carry != 0.0 {
            self.0.push(carry);
        }
    }

    /// The sum rounded to nearest even, and a value with the sign of what is left over.
    fn total(&self) -> (f64, f64) {
        let mut parts = self.0.iter().rev().copied();
        let mut sum = parts.next().unwrap_or(0.0);
        for part in parts.by_ref() {
            let (next, rest) = two_sum(sum, part);
            sum = next;
            if rest != 0.0 {
                let below = parts.next().unwrap_or(0.0);
                // A tie went to even; what lies below the tie decides it after all.
                let doubled = sum + 2.0 * rest;
                if below * rest > 0.0 && doubled - sum == 2.0 * rest {
                    return (doubled, -rest);
                }
                return (sum, rest);
            }
        }
        (sum, 0.0)
    }
}

/// One step of the aligned-truncated model: the running sum after a block.
fn block(triple: Triple, a: &[u64], b: &[u64], sum: f64, fraction_bits: u32, output_bits: u32) -> f64 {
    let raw = |format: Format, code| format.parts(code).filter(|&(s, _)| s != 0);
    // Exponent of the leading place that the operand's format gives its significand: subnormals keep the least one.
    let lead = |format: Format, e: i32| e + format.precision() as i32 - 1;
    let products: Vec<(i128, i32, i32)> = a
        .iter()
        .zip(b)
        .filter_map(|(&x, &y)| {
            let ((sx, ex), (sy, ey)) = (raw(triple.a, x)?, raw(triple.b, y)?);
            Some((i128::from(sx) * i128::from(sy), ex + ey, lead(triple.a, ex) + lead(triple.b, ey)))
        })
        .collect();
    let carried = (sum != 0.0).then(|| exponent(sum));
    let Some(top) = products.iter().map(|p| p.2).chain(carried).max() else { return sum };
    let grid = top - fraction_bits as i32;
    let mut total: i128 = products.iter().map(|&(s, e, _)| shifted(s, e - grid)).sum();
    if let Some((s, e)) = Format::F64.parts(sum.to_bits()) {
        total += shifted(i128::from(s), e - grid);
    }
    let code = Format::F64.encode_scaled(total, grid, Rounding::TowardZero, Overflow::Ieee);
    truncated(f64::from_bits(code), output_bits)
}

/// significand · 2^places, truncated toward zero. Places above 0 stay small: no term lies above the largest exponent.
fn shifted(significand: i128, places: i32) -> i128 {
    match places {
        0.. => significand << places.min(60),
        -126..=-1 => significand / (1i128 << -places),
        _ => 0,
    }
}
