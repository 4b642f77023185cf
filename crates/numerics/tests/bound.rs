//! Is a right output always inside the tolerance, and a stored error never below the error?

use proptest::prelude::*;
use rigel_numerics::bound::{Tolerance, round_up_3, tolerance, unit_roundoff};
use rigel_numerics::words::further;
use rigel_numerics::{Format, Operand, Overflow, Recipe, Rounding, Triple};

fn triple(text: &str) -> Triple {
    text.parse().unwrap()
}

/// Sums rounded products in the accumulate type in the given order, then stores: what the declaration means.
fn declared(triple: Triple, terms: &[(f64, f64)], order: &[usize]) -> f64 {
    let round = |format: Format, x: f64| format.decode(format.encode(x, Rounding::NearestEven, Overflow::Ieee));
    let sum = order.iter().fold(0.0, |sum, &i| round(triple.acc, sum + round(triple.acc, terms[i].0 * terms[i].1)));
    round(triple.c, sum)
}

/// f64 holds sums of f16 or bf16 values exactly, and those of f32 values here to far below the tolerance.
#[test]
fn declared_arithmetic_in_any_order_is_inside() {
    let mut word = 3;
    for text in ["f16,f16->f32", "bf16,bf16->f32", "f16,f16->f16", "f16,f16->f16+f32", "e4m3,e4m3->f32", "f32,f32->f32"]
    {
        let t = triple(text);
        for recipe in [Recipe::NearNormal, Recipe::HostileLadder, Recipe::SmallIntegers, Recipe::Constant] {
            for k in [1, 7, 100, 700] {
                let bound = tolerance(t, k, recipe);
                for row in 0..6 {
                    let element = |format, operand, r, c| format_decode(recipe, format, operand, r, c);
                    let terms: Vec<(f64, f64)> = (0..k as u64)
                        .map(|l| (element(t.a, Operand::A, row, l), element(t.b, Operand::B, l, 5)))
                        .collect();
                    let exact: f64 = terms.iter().map(|(a, b)| a * b).sum();
                    let magnitudes: f64 = terms.iter().map(|(a, b)| (a * b).abs()).sum();
                    let mut order: Vec<usize> = (0..k).collect();
                    for i in (1..k).rev() {
                        word = further(word);
                        order.swap(i, (word % (i as u64 + 1)) as usize);
                    }
                    let error = (declared(t, &terms, &order) - exact).abs();
                    assert!(error <= bound.allowed(magnitudes), "{text} {recipe} K = {k}: {error:e} against {bound:?}");
                }
            }
        }
    }
}

fn format_decode(recipe: Recipe, format: Format, operand: Operand, row: u64, col: u64) -> f64 {
    format.decode(recipe.element(format, 21, operand, row, col))
}

/// The bound is no looser than a small factor: a planted worst case comes within it of the allowed error.
#[test]
fn the_bound_is_not_idle() {
    // 1, then K − 1 terms of just under half a unit in the last place: all lost, K·u of the sum.
    let t = triple("f32,f32->f32");
    let k = 4096;
    let tiny = f64::from(f32::EPSILON) / 2.0 * 0.999_999;
    let terms: Vec<(f64, f64)> = (0..k).map(|i| (if i == 0 { 1.0 } else { tiny }, 1.0)).collect();
    let order: Vec<usize> = (0..k).collect();
    let exact = 1.0 + tiny * (k - 1) as f64;
    let error = (declared(t, &terms, &order) - exact).abs();
    let allowed = tolerance(t, k, Recipe::NearNormal).allowed(exact);
    assert!(error <= allowed && error > 0.99 * allowed, "{error:e} of {allowed:e}");
}

#[test]
fn the_rule_as_written() {
    let u = 2f64.powi(-24);
    let f32_bound = tolerance(triple("f16,f16->f32"), 512, Recipe::Uniform);
    assert_eq!(f32_bound.relative, 512.0 * u / (1.0 - 512.0 * u));
    assert_eq!(f32_bound.absolute, 513.0 * f64::from(f32::MIN_POSITIVE));
    let stored = tolerance(triple("f16,f16->f16+f32"), 512, Recipe::Uniform);
    assert_eq!(stored.relative, f32_bound.relative + 2f64.powi(-11) * (1.0 + f32_bound.relative));
    assert_eq!(unit_roundoff(Format::Bf16), 2f64.powi(-8));
    let vacuous = tolerance(triple("f16,f16->f16"), 2048, Recipe::Uniform);
    assert!(vacuous.relative.is_infinite() && vacuous.is_vacuous() && !f32_bound.is_vacuous());
}

#[test]
fn exactness_ends_where_sums_leave_the_significand() {
    assert_eq!(tolerance(triple("i8,i8->i32"), 1 << 20, Recipe::Uniform), Tolerance::EXACT);
    let f16 = triple("f16,f16->f16+f32");
    // 16·K ≤ 2^11.
    assert!(tolerance(f16, 128, Recipe::SmallIntegers).exact);
    assert!(!tolerance(f16, 129, Recipe::SmallIntegers).exact);
    assert!(tolerance(f16, 2048, Recipe::Constant).exact && !tolerance(f16, 2049, Recipe::Constant).exact);
    assert!(tolerance(f16, 1 << 20, Recipe::Zeros).exact);
    assert_eq!(Tolerance::EXACT.allowed(1e300), 0.0);
    // And there every order really is exact.
    let terms: Vec<(f64, f64)> = (0..128)
        .map(|l| {
            let a = format_decode(Recipe::SmallIntegers, Format::F16, Operand::A, 2, l);
            (a, format_decode(Recipe::SmallIntegers, Format::F16, Operand::B, l, 2))
        })
        .collect();
    let backwards: Vec<usize> = (0..128).rev().collect();
    assert_eq!(declared(f16, &terms, &backwards), terms.iter().map(|(a, b)| a * b).sum::<f64>());
}

/// The three-digit decimals d·10^e with 100 ≤ d ≤ 999, as text.
fn decimal(digits: u32, exponent: i32) -> f64 {
    format!("{digits}e{exponent}").parse().unwrap()
}

proptest! {
    #[test]
    fn storing_takes_the_smallest_decimal_not_below(bits in 1u64..0x7FEF_FFFF_FFFF_FFFF) {
        let x = f64::from_bits(bits);
        let stored = round_up_3(x);
        prop_assert!(stored >= x);
        prop_assert_eq!(round_up_3(stored), stored, "idempotent");
        let text = format!("{stored:.2e}");
        prop_assert_eq!(text.parse::<f64>().unwrap(), stored, "three digits");
        if stored.is_finite() {
            let (digits, exponent) = text.split_once('e').unwrap();
            let digits: u32 = digits.replace('.', "").parse().unwrap();
            let exponent: i32 = exponent.parse::<i32>().unwrap() - 2;
            let before = if digits == 100 { decimal(999, exponent - 1) } else { decimal(digits - 1, exponent) };
            prop_assert!(before < x || before == stored, "{} lies between {} and {}", before, x, stored);
        }
    }

    /// Against integer arithmetic alone, where x is an integer: three digits by division.
    #[test]
    fn storing_integers_agrees_with_integer_division(n in 1u64..1 << 53) {
        let scale = 10u64.pow(n.ilog10().saturating_sub(2));
        let expected = n.div_ceil(scale) * scale;
        prop_assert_eq!(round_up_3(n as f64), expected as f64);
    }
}

#[test]
fn storing_leaves_what_is_no_error_alone() {
    for x in [0.0, -1.5, f64::INFINITY] {
        assert_eq!(round_up_3(x), x);
    }
    assert!(round_up_3(f64::NAN).is_nan());
    assert_eq!([9.991, 1.001, 0.1, 5e-324].map(round_up_3), [10.0, 1.01, 0.1, 5e-324]);
    assert_eq!(round_up_3(f64::MAX), f64::INFINITY);
}
