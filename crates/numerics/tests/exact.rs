//! Are exact sums exact, and are they rounded once?
//!
//! The judge is schoolbook arithmetic on big integers, slow and plain: every element becomes an integer multiple of
//! 2^-1074, every product one of 2^-2148, and rounding is done by comparing with the midpoints of neighbouring f64s.

mod rational;

use proptest::prelude::*;
use rational::{Rational, nearest};
use rigel_numerics::Format;
use rigel_numerics::exact::{Residual, dot};

fn floats() -> impl Strategy<Value = Format> {
    prop::sample::select(Format::ALL.iter().copied().filter(|f| !f.is_integer()).collect::<Vec<_>>())
}

/// Codes of a format, finite, from random bits; `narrow` keeps exponents of wide formats near 1.
fn code(format: Format, bits: u64, narrow: bool) -> u64 {
    let fields = format.floating().expect("a floating format");
    let mut code = bits & format.code_mask();
    if narrow && fields.exponent_bits >= 8 && fields.sign_bits == 1 {
        let place = format.bits() - 1 - fields.exponent_bits;
        let window = (fields.bias as u64 - 12 + (bits >> 7) % 24) << place;
        code = code & !(((1 << fields.exponent_bits) - 1) << place) | window;
    }
    if format.is_finite(code) { code } else { 0x11 & format.code_mask() }
}

fn value(format: Format, code: u64) -> Rational {
    let (significand, exponent) = format.parts(code).expect("a finite code");
    Rational::new(significand, exponent)
}

/// The definition in the documentation, with rationals.
fn expected(a: Format, b: Format, pairs: &[(u64, u64)], output: Format, device: u64) -> (f64, f64, f64, f64) {
    let mut sum = Rational::new(0, 0);
    let mut magnitude = Rational::new(0, 0);
    for &(x, y) in pairs {
        let product = value(a, x).times(&value(b, y));
        magnitude = magnitude.plus(&product.abs());
        sum = sum.plus(&product);
    }
    let difference = value(output, device).minus(&sum).abs();
    let fields = output.floating().expect("a floating format");
    let least = output.min_normal().log2() as i32;
    let place = sum.floor_log2().map_or(least, |top| top.max(least)) - fields.fraction_bits as i32;
    let ulps = nearest(&difference.times_power(-place));
    (nearest(&sum), nearest(&magnitude), nearest(&difference), ulps)
}

fn check(a: Format, b: Format, pairs: &[(u64, u64)], output: Format, device: u64) -> Result<(), TestCaseError> {
    let exact = dot(a, b, pairs.iter().copied()).expect("finite codes");
    let (sum, magnitude, difference, ulps) = expected(a, b, pairs, output, device);
    prop_assert_eq!(exact.sum.to_f64().to_bits(), sum.to_bits());
    prop_assert_eq!(exact.magnitude.to_f64().to_bits(), magnitude.to_bits());
    prop_assert_eq!(exact.sum.difference(output, device).to_bits(), difference.to_bits());
    let residual = exact.residual(output, device);
    // A distance below the least f64 rounds to 0 by itself and still is a share of the last place.
    let (relative, ulps) = if difference == 0.0 {
        (0.0, ulps)
    } else if difference.is_infinite() {
        (f64::INFINITY, f64::INFINITY)
    } else if magnitude.is_infinite() {
        (f64::INFINITY, ulps)
    } else {
        (difference / magnitude, ulps)
    };
    prop_assert_eq!(residual.relative.to_bits(), relative.to_bits());
    prop_assert_eq!(residual.ulps.to_bits(), ulps.to_bits());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pair_of_formats_agrees_with_rationals(
        a in floats(), b in floats(), output in floats(), narrow: bool, device: u64,
        pairs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..24),
    ) {
        let pairs: Vec<_> = pairs.iter().map(|&(x, y)| (code(a, x, narrow), code(b, y, narrow))).collect();
        check(a, b, &pairs, output, code(output, device, narrow))?;
    }

    #[test]
    fn f64_products_agree_with_rationals(
        pairs in prop::collection::vec((any::<u64>(), any::<u64>()), 0..12), device: u64, narrow: bool,
    ) {
        let pairs: Vec<_> =
            pairs.iter().map(|&(x, y)| (code(Format::F64, x, narrow), code(Format::F64, y, narrow))).collect();
        check(Format::F64, Format::F64, &pairs, Format::F64, code(Format::F64, device, narrow))?;
    }

    /// Terms that cancel but for a last one: the sum is far below every term.
    #[test]
    fn cancellation_loses_nothing(x: u64, y: u64, z: u64, narrow: bool) {
        let f = |bits| code(Format::F32, bits, narrow);
        let minus = |c: u64| c ^ 1 << 31;
        let pairs = [(f(x), f(y)), (f(z), 0x0000_0001), (minus(f(x)), f(y))];
        check(Format::F32, Format::F32, &pairs, Format::F32, f(z))?;
    }

    /// Sums that lie at or next to the midpoint of two f64s.
    #[test]
    fn ties_go_to_even(significand in 0u64..1 << 52, exponent in 1u64..2046, nudge in -1i8..=1) {
        let x = exponent << 52 | significand;
        let one = 1.0f64.to_bits();
        // Half of the last place of x, as a product of two powers of two.
        let half = f64::from_bits(x) - f64::from_bits(x - 1);
        prop_assume!(half >= f64::from_bits(1) && exponent < 2040);
        let mut pairs = vec![(x, one), (half.to_bits(), 0.5f64.to_bits())];
        match nudge {
            1 => pairs.push((1, 1)),
            -1 => pairs.push((1 << 63 | 1, 1)),
            _ => {}
        }
        check(Format::F64, Format::F64, &pairs, Format::F64, x)?;
    }

    #[test]
    fn integers_are_equal_modulo_the_width(
        pairs in prop::collection::vec((any::<u8>(), any::<i8>()), 1..64), flip in 0u32..32, other: u32,
    ) {
        let sum = pairs.iter().fold(0i64, |s, &(a, b)| s + i64::from(a) * i64::from(b));
        let magnitude: i64 = pairs.iter().map(|&(a, b)| (i64::from(a) * i64::from(b)).abs()).sum();
        let codes = pairs.iter().map(|&(a, b)| (u64::from(a), b as u8 as u64));
        let exact = dot(Format::U8, Format::I8, codes).expect("integers are finite");
        prop_assert_eq!(exact.sum.to_f64(), sum as f64);
        prop_assert_eq!(exact.magnitude.to_f64(), magnitude as f64);
        let right = sum as i32 as u32;
        prop_assert_eq!(exact.residual(Format::I32, u64::from(right)), Residual { relative: 0.0, ulps: 0.0 });
        let wrong = u64::from(right ^ 1 << flip);
        prop_assert_eq!(exact.residual(Format::I32, wrong), Residual { relative: 1.0, ulps: 1.0 });
        prop_assert_eq!(exact.residual(Format::I8, u64::from(sum as u8)).relative, 0.0);
        prop_assert_eq!(exact.residual(Format::I32, u64::from(other)).relative == 0.0, other == right);
    }
}

#[test]
fn i32_sums_beyond_64_bits_keep_their_low_bits() {
    let least = u64::from(i32::MIN as u32);
    let exact = dot(Format::I32, Format::I32, std::iter::repeat_n((least, least), 9)).expect("integers are finite");
    assert_eq!(exact.sum.to_f64(), 9.0 * 2f64.powi(62));
    assert_eq!(exact.residual(Format::I32, 0).relative, 0.0);
    assert_eq!(exact.residual(Format::I32, 1).relative, 1.0);
}

#[test]
fn infinities_and_nans_are_refused_as_inputs_and_infinitely_far_as_outputs() {
    let (one, infinity, nan) = (0x3C00, 0x7C00, 0x7E00);
    for bad in [infinity, nan, infinity | 0x8000] {
        let error = dot(Format::F16, Format::F16, [(one, one), (one, bad)]).expect_err("not finite");
        assert_eq!((error.index, error.b_code), (1, bad));
        let exact = dot(Format::F16, Format::F16, [(one, one)]).expect("finite");
        assert_eq!(exact.residual(Format::F16, bad), Residual::INFINITE);
    }
    assert!(dot(Format::E4m3Fnuz, Format::E4m3, [(0x80, 0x38)]).is_err());
    assert!(dot(Format::E4m3, Format::E4m3, [(0x7F, 0x38)]).is_err());
}

#[test]
fn empty_and_zero_sums_have_residual_zero_over_zero() {
    let empty = dot(Format::F32, Format::F32, []).expect("nothing to refuse");
    assert_eq!(empty.residual(Format::F32, 0x8000_0000), Residual { relative: 0.0, ulps: 0.0 });
    assert_eq!(empty.residual(Format::F32, 1), Residual { relative: f64::INFINITY, ulps: 1.0 });
}

#[test]
fn the_longest_f64_sums_do_not_overflow_the_accumulator() {
    let max = f64::MAX.to_bits();
    let exact = dot(Format::F64, Format::F64, std::iter::repeat_n((max, max), 1 << 16)).expect("finite");
    assert_eq!(exact.sum.to_f64(), f64::INFINITY);
    assert_eq!(exact.residual(Format::F64, max), Residual::INFINITE);
    let minus = max | 1 << 63;
    let pairs = (0..1 << 10).flat_map(|_| [(max, max), (minus, max)]).chain([(1, 1.0f64.to_bits())]);
    assert_eq!(dot(Format::F64, Format::F64, pairs).expect("finite").sum.to_f64(), f64::from_bits(1));
}

/// A tie at the least normal f64: |ĉ − c| = 2^-1075 rounds to 0, and half a unit in the last place stays half a unit.
#[test]
fn a_distance_below_the_least_f64_is_still_counted_in_ulps() {
    let least = f64::MIN_POSITIVE.to_bits();
    let pairs = [(least, 1.0f64.to_bits()), (1, 0.5f64.to_bits())];
    check(Format::F64, Format::F64, &pairs, Format::F64, least).unwrap();
    let dot = dot(Format::F64, Format::F64, pairs).unwrap();
    assert_eq!(dot.residual(Format::F64, least).ulps, 0.5);
}
