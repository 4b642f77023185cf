//! How does a planted unit add up a dot product?
//!
//! Products whose extents are all at most [`SMALL`] are summed by the planted arithmetic, element by element. Larger
//! ones are the float64 product, rounded once to C, with the planted arithmetic applied as far as it is cheap:
//! [`Arithmetic::OperandsCut`] exactly; [`Arithmetic::AlignedBlocks`] that keep fewer bits than C holds, block by block
//! without the cut of single products inside a block (so a large product errs a little less than the small model says);
//! everything else as one rounding.

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
#[inline]
pub fn truncated(value: f64, bits: u32) -> f64 {
    f64::from_bits(value.to_bits() & (u64::MAX << (53 - bits.clamp(1, 53))))
}

/// Exponent of a value: floor(log2 |value|) for normal ones, −1023 for zero and subnormals.
#[inline]
pub fn exponent(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7FF) as i32 - 1023
}

/// The exact sum, rounded once. It shares no code with the gate's exact sum, so that neither can hide the other's
/// mistakes. Products or sums beyond f64 fall back to plain f64 addition.
fn exact(triple: Triple, a: &[u64], b: &[u64], cut: impl Fn(f64) -> f64) -> u64 {
    let mut sum = Expansion::default();
    for (&x, &y) in a.iter().zip(b) {
        let (x, y) = (cut(triple.a.decode(x)), cut(triple.b.decode(y)));
        let product = x * y;
        sum.add(product);
        sum.add(x.mul_add(y, -product));
    }
    let (nearest, rest) = sum.total();
    if !nearest.is_finite() {
        return rounded(
            triple.c,
            a.iter().zip(b).map(|(&x, &y)| cut(triple.a.decode(x)) * cut(triple.b.decode(y))).sum(),
        );
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOPPER: Arithmetic = Arithmetic::AlignedBlocks { terms: 32, fraction_bits: 13, output_bits: 14 };
    const HOPPER_HALF: Arithmetic = Arithmetic::AlignedBlocks { terms: 16, fraction_bits: 25, output_bits: 24 };

    fn triple(text: &str) -> Triple {
        text.parse().unwrap()
    }

    fn codes(format: Format, values: &[f64]) -> Vec<u64> {
        let code = |&v: &f64| {
            let code = rounded(format, v);
            assert_eq!(format.decode(code), v, "{v} is no {format}");
            code
        };
        values.iter().map(code).collect()
    }

    /// The value of a dot product of representable values.
    fn sum(arithmetic: Arithmetic, triple: Triple, a: &[f64], b: &[f64]) -> f64 {
        triple.c.decode(dot(arithmetic, triple, &codes(triple.a, a), &codes(triple.b, b)))
    }

    fn two_to(e: i32) -> f64 {
        2f64.powi(e)
    }

    /// The hostile cell of arXiv 2606.12765: 448 + 127/16, with the large term first, in the middle, or last.
    #[test]
    fn hostile_cell_tells_narrow_chains_from_wide_ones() {
        let at = |place: usize| {
            let mut a = [1.0 / 16.0; 128];
            a[place] = 448.0;
            a
        };
        let fp8 = triple("e4m3,e4m3->f32");
        let half = triple("f16,f16->f16");
        for place in [0, 63, 127] {
            for arithmetic in [Arithmetic::Exact, Arithmetic::Chain, HOPPER] {
                assert_eq!(sum(arithmetic, fp8, &at(place), &[1.0; 128]), 455.9375, "{arithmetic:?}");
            }
        }
        let chain = [0, 63, 127].map(|place| sum(Arithmetic::Chain, half, &at(place), &[1.0; 128]));
        assert_eq!(chain, [448.0, 452.0, 456.0]);
    }

    /// The ladder that goes on where the cell above stops: 2^16 + 127 terms of 2^(17−s) spans s bits.
    #[test]
    fn ladder_ends_at_the_planted_width() {
        let fp8 = triple("e4m3,e4m3->f32");
        let survives = |arithmetic, s: i32| {
            let tiny = two_to(17 - s);
            let split = two_to((17 - s) / 2);
            let (mut a, mut b) = (vec![split; 128], vec![tiny / split; 128]);
            (a[0], b[0]) = (256.0, 256.0);
            sum(arithmetic, fp8, &a, &b) == 65536.0 + 127.0 * tiny
        };
        for s in 10..=23 {
            assert_eq!(survives(HOPPER, s), s <= 14, "{s} bits in aligned blocks");
            assert!(survives(Arithmetic::Chain, s), "{s} bits in an f32 chain");
        }
    }

    /// Probes P1 to P5 of published descriptions of Hopper's units, with the words they predict.
    #[test]
    fn aligned_blocks_answer_the_published_probes() {
        let fp8 = triple("e4m3,e4m3->f32");
        for e in 4..=18 {
            let got = sum(HOPPER, fp8, &[1.0, 1.0, two_to(-9)], &[1.0, -1.0, two_to(9 - e)]);
            assert_eq!(got, if e <= 13 { two_to(-e) } else { 0.0 }, "fp8, e = {e}");
        }
        let half = triple("f16,f16->f32");
        for e in 20..=28 {
            let got = sum(HOPPER_HALF, half, &[1.0, 1.0, two_to(-12)], &[1.0, -1.0, two_to(12 - e)]);
            assert_eq!(got, if e <= 25 { two_to(-e) } else { 0.0 }, "f16, e = {e}");
        }
        let p2 = sum(HOPPER_HALF, half, &[1.0, 1.0, -two_to(-12)], &[1.0, -1.0, two_to(-14)]);
        assert_eq!(p2, 0.0, "truncation, not floor");
        let p3a = sum(HOPPER_HALF, half, &[1.5, -1.5, two_to(-12)], &[1.5, 1.5, two_to(-13)]);
        let p3b = sum(HOPPER_HALF, half, &[1.0, -1.0, two_to(-12)], &[2.25, 2.25, two_to(-13)]);
        assert_eq!((p3a, p3b), (two_to(-25), 0.0), "products are not renormalised");
        let p4 = sum(HOPPER_HALF, half, &[1.0, two_to(-12), two_to(-12)], &[1.0, two_to(-12), two_to(-13)]);
        assert_eq!(p4, 1.0, "the sum is truncated to 24 bits");
        // A first block makes c; sixteen products of 2^-26 follow. The smaller c gives the larger result.
        let after = |c: &[(f64, f64)]| {
            let mut terms = c.to_vec();
            terms.resize(16, (0.0, 0.0));
            terms.resize(32, (two_to(-12), two_to(-14)));
            let (a, b): (Vec<f64>, Vec<f64>) = terms.into_iter().unzip();
            sum(HOPPER_HALF, half, &a, &b)
        };
        assert_eq!(after(&[(1.0, 1.0)]), 1.0);
        assert_eq!(after(&[(1.0, 1.0), (-two_to(-12), two_to(-12))]), 1.0 + two_to(-23));
    }

    #[test]
    fn cut_operands_lose_their_low_bits_and_nothing_else() {
        let f32s = triple("f32,f32->f32");
        let a = [1.0 + two_to(-10) + two_to(-11), -3.0];
        let cut = sum(Arithmetic::OperandsCut { bits: 11 }, f32s, &a, &[1.0, 1.0]);
        assert_eq!(cut, 1.0 + two_to(-10) - 3.0);
        assert_eq!(sum(Arithmetic::OperandsCut { bits: 12 }, f32s, &a, &[1.0, 1.0]), a[0] + a[1]);
    }

    #[test]
    fn integers_wrap_and_special_values_spread() {
        let bytes = triple("u8,i8->i32");
        let n = 1 << 17;
        let wrapped = dot(Arithmetic::Exact, bytes, &vec![255; n], &vec![0x80; n]);
        assert_eq!(wrapped as u32 as i32, (-(255i64 * 128 * n as i64)) as i32);
        let half = triple("f16,f16->f32");
        for arithmetic in [Arithmetic::Exact, Arithmetic::Chain, HOPPER, Arithmetic::OperandsCut { bits: 5 }] {
            let one = rounded(Format::F16, 1.0);
            let infinity = dot(arithmetic, half, &[0x7C00, one], &[one, one]);
            assert_eq!(half.c.decode(infinity), f64::INFINITY);
            assert!(half.c.is_nan(dot(arithmetic, half, &[0x7C00, 0xFC00], &[one, one])));
            assert!(half.c.is_nan(dot(arithmetic, half, &[0x7E00, 0], &[one, one])));
            assert_eq!(dot(arithmetic, half, &[], &[]), 0);
        }
    }

    fn finite(format: Format, n: usize) -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
        let code = any::<u64>().prop_map(move |c| c & format.code_mask()).prop_filter("finite", move |&c| {
            // Beyond 2^±400 the squares of f64 leave f64.
            format.is_finite(c) && (format != Format::F64 || format.decode(c).abs().log2().abs() < 400.0)
        });
        (prop::collection::vec(code.clone(), n), prop::collection::vec(code, n))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// The device's exact sum against the gate's, which shares no code with it.
        #[test]
        fn exact_is_the_correctly_rounded_sum((a, b) in prop_oneof![
            finite(Format::F16, 40), finite(Format::F16, 1), finite(Format::F16, 7)
        ], (x, y) in finite(Format::F64, 9), (p, q) in finite(Format::Bf16, 33)) {
            for (text, a, b) in [("f16,f16->f32", &a, &b), ("f16,f16->f16", &a, &b), ("f64,f64->f64", &x, &y),
                ("bf16,bf16->f32", &p, &q), ("bf16,bf16->bf16", &p, &q)] {
                let t = triple(text);
                let code = dot(Arithmetic::Exact, t, a, b);
                let pairs = a.iter().copied().zip(b.iter().copied());
                let truth = rigel_numerics::exact::dot(t.a, t.b, pairs).unwrap();
                if t.c.is_finite(code) {
                    prop_assert!(truth.residual(t.c, code).ulps <= 0.5, "{text}: {:?}", truth.residual(t.c, code));
                } else {
                    prop_assert!(truth.sum.to_f64().abs() >= t.c.max_finite(), "{text}");
                }
                if t.c == Format::F64 {
                    prop_assert_eq!(f64::from_bits(code), truth.sum.to_f64());
                }
            }
        }

        /// A chain in f32 is the processor's own fused multiply-add, and in f16 an exact step rounded once.
        #[test]
        fn chain_is_a_chain_of_fused_steps((a, b) in finite(Format::F32, 20), (x, y) in finite(Format::F16, 20)) {
            let single = dot(Arithmetic::Chain, triple("f32,f32->f32"), &a, &b);
            let steps = a.iter().zip(&b).map(|(&x, &y)| (f32::from_bits(x as u32), f32::from_bits(y as u32)));
            let expected = steps.fold(0f32, |c, (x, y)| x.mul_add(y, c));
            prop_assert!(expected.is_nan() && Format::F32.is_nan(single) || expected.to_bits() == single as u32);

            let half = dot(Arithmetic::Chain, triple("f16,f16->f16"), &x, &y);
            let mut sum = 0u64;
            for (&x, &y) in x.iter().zip(&y) {
                let part = |code, least: i32| Format::F16.parts(code).map(|(s, e)| i128::from(s) << (e - least));
                let (Some(p), Some(q), Some(c)) = (part(x, -24), part(y, -24), part(sum, -24)) else { break };
                sum = Format::F16.encode_scaled(p * q + (c << 24), -48, Rounding::NearestEven, Overflow::Ieee);
            }
            let same = half == sum || Format::F16.decode(half) == Format::F16.decode(sum);
            prop_assert!(same || !Format::F16.is_finite(sum), "{half:#x} {sum:#x}");
        }
    }
}
