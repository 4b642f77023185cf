//! Does every code decode as independent implementations say, and come back when encoded?

use rigel_numerics::decode_row::{decode_row, decode_row_abs, decode_span};
use rigel_numerics::{Format, Matrix, Overflow, Rounding};

/// Every code of a format of at most 16 bits.
fn codes(format: Format) -> std::ops::RangeInclusive<u64> {
    assert!(format.bits() <= 16);
    0..=format.code_mask()
}

/// Equal as values, NaN equal to NaN, zeros with their sign.
fn same(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

#[test]
fn narrow_floats_decode_as_microfloat_says() {
    macro_rules! check {
        ($($format:ident $theirs:ident),*) => {$(
            for code in codes(Format::$format) {
                let theirs = microfloat::$theirs::from_bits(code as u8).to_f64();
                let ours = Format::$format.decode(code);
                assert!(same(ours, theirs), "{} {code:#x}: {ours} against {theirs}", Format::$format);
            }
        )*};
    }
    check!(E4m3 f8e4m3fn, E5m2 f8e5m2, E4m3Fnuz f8e4m3fnuz, E5m2Fnuz f8e5m2fnuz);
    check!(E2m1 f4e2m1fn, E2m3 f6e2m3fn, E3m2 f6e3m2fn, E8m0 f8e8m0fnu);
    for code in codes(Format::Ue4m3) {
        let theirs = microfloat::f8e4m3fn::from_bits(code as u8 & 0x7F).to_f64();
        assert!(same(Format::Ue4m3.decode(code), theirs), "ue4m3 {code:#x}");
    }
}

#[test]
fn ocp_eight_bit_floats_decode_as_float8_says() {
    for code in 0..=255u8 {
        let (e4m3, e5m2) = (float8::F8E4M3::from_bits(code).to_f64(), float8::F8E5M2::from_bits(code).to_f64());
        assert!(same(Format::E4m3.decode(code.into()), e4m3), "e4m3 {code:#x}");
        assert!(same(Format::E5m2.decode(code.into()), e5m2), "e5m2 {code:#x}");
    }
}

#[test]
fn half_precision_decodes_as_half_says() {
    for code in 0..=u16::MAX {
        assert!(same(Format::F16.decode(code.into()), half::f16::from_bits(code).to_f64()), "f16 {code:#x}");
        assert!(same(Format::Bf16.decode(code.into()), half::bf16::from_bits(code).to_f64()), "bf16 {code:#x}");
    }
}

#[test]
fn integers_decode_as_their_types_say() {
    for code in 0..=255u64 {
        assert_eq!(Format::I8.decode(code), f64::from(code as u8 as i8));
        assert_eq!(Format::U8.decode(code), code as f64);
        assert_eq!(Format::I4.decode(code), f64::from((code << 4) as u8 as i8 >> 4), "the upper nibble is ignored");
        assert_eq!(Format::U4.decode(code), (code & 15) as f64);
        assert_eq!(Format::I2.decode(code), f64::from((code << 6) as u8 as i8 >> 6));
        assert_eq!(Format::U2.decode(code), (code & 3) as f64);
    }
    for value in [i32::MIN, -1, 0, 1, i32::MAX] {
        assert_eq!(Format::I32.decode(value as u32 as u64), f64::from(value));
    }
}

#[test]
fn ignored_bits_are_ignored() {
    for code in [0u64, 0x3F80_0000, 0xC049_0FDB, 0x7F80_0001, 0x0000_1FFF] {
        assert!(same(Format::Tf32.decode(code), Format::F32.decode(code & 0xFFFF_E000)));
    }
    for format in Format::ALL.into_iter().filter(|f| f.bits() < 64) {
        let high = u64::MAX << format.bits();
        for code in [0, 1, format.max_finite_code(), format.min_finite_code()] {
            assert!(same(format.decode(code | high), format.decode(code)), "{format} {code:#x}");
            assert_eq!(format.parts(code | high), format.parts(code), "{format} {code:#x}");
        }
    }
}

#[test]
fn every_narrow_code_comes_back() {
    for format in Format::ALL.into_iter().filter(|f| f.bits() <= 16) {
        for code in codes(format) {
            let value = format.decode(code);
            for rounding in Rounding::ALL {
                for overflow in Overflow::ALL {
                    let again = format.encode(value, rounding, overflow);
                    if format.is_nan(code) {
                        assert_eq!(Some(again), format.nan_code(), "{format} {code:#x}");
                    } else if format.is_infinite(code) && overflow == Overflow::Saturate {
                        let limit = if value > 0.0 { format.max_finite_code() } else { format.min_finite_code() };
                        assert_eq!(again, limit, "{format} {code:#x}");
                    } else {
                        let code = if format == Format::Ue4m3 { code & 0x7F } else { code };
                        assert_eq!(again, code, "{format} {code:#x} {rounding:?} {overflow:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn parts_and_classes_agree_with_values() {
    for format in Format::ALL.into_iter().filter(|f| f.bits() <= 16) {
        for code in codes(format) {
            let value = format.decode(code);
            assert_eq!(format.is_nan(code), value.is_nan(), "{format} {code:#x}");
            assert_eq!(format.is_infinite(code), value.is_infinite(), "{format} {code:#x}");
            assert_eq!(format.is_finite(code), value.is_finite(), "{format} {code:#x}");
            match format.parts(code) {
                Some((s, e)) => assert_eq!(s as f64 * 2f64.powi(e), value, "{format} {code:#x}"),
                None => assert!(!value.is_finite(), "{format} {code:#x}"),
            }
        }
    }
    assert_eq!(Format::F32.parts(1.0f32.to_bits().into()), Some((1 << 23, -23)));
    assert_eq!(Format::F64.parts((-5e-324f64).to_bits()), Some((-1, -1074)));
    assert_eq!(Format::F64.parts(f64::INFINITY.to_bits()), None);
}

#[test]
fn limits_are_those_of_the_code_table() {
    for format in Format::ALL.into_iter().filter(|f| f.bits() <= 16) {
        let finite = || codes(format).filter(|&c| format.is_finite(c)).map(|c| format.decode(c));
        assert_eq!(format.max_finite(), finite().fold(f64::MIN, f64::max), "{format}");
        assert_eq!(format.decode(format.min_finite_code()), finite().fold(f64::MAX, f64::min), "{format}");
        assert_eq!(format.min_positive(), finite().filter(|&v| v > 0.0).fold(f64::MAX, f64::min), "{format}");
    }
    // The table of OCP OFP8 1.0, OCP MX 1.0 and the CDNA3 ISA: largest, smallest normal, smallest positive.
    for (format, max, normal, positive) in [
        (Format::E4m3, 448.0, 2f64.powi(-6), 2f64.powi(-9)),
        (Format::E5m2, 57344.0, 2f64.powi(-14), 2f64.powi(-16)),
        (Format::E4m3Fnuz, 240.0, 2f64.powi(-7), 2f64.powi(-10)),
        (Format::E5m2Fnuz, 57344.0, 2f64.powi(-15), 2f64.powi(-17)),
        (Format::E2m1, 6.0, 1.0, 0.5),
        (Format::E2m3, 7.5, 1.0, 0.125),
        (Format::E3m2, 28.0, 0.25, 0.0625),
        (Format::E8m0, 2f64.powi(127), 2f64.powi(-127), 2f64.powi(-127)),
        (Format::Ue4m3, 448.0, 2f64.powi(-6), 2f64.powi(-9)),
        (Format::F32, f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE), f64::from(f32::from_bits(1))),
        (Format::F64, f64::MAX, f64::MIN_POSITIVE, 5e-324),
    ] {
        assert_eq!(
            (format.max_finite(), format.min_normal(), format.min_positive()),
            (max, normal, positive),
            "{format}"
        );
    }
}

#[test]
fn rows_decode_as_single_codes_do() {
    for format in Format::ALL {
        let cols = if format.bits() <= 16 { format.code_mask() as usize + 1 } else { 2000 };
        let mut matrix = Matrix::zeroed(format, 1, cols);
        for c in 0..cols {
            let code = if format.bits() <= 16 { c as u64 } else { (c as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) };
            matrix.set(0, c, code);
        }
        let (mut all, mut magnitudes) = (vec![0.5; cols], vec![0.5; cols]);
        decode_row(format, matrix.row(0), &mut all);
        decode_row_abs(format, matrix.row(0), &mut magnitudes);
        for c in 0..cols {
            assert!(same(all[c], matrix.value(0, c)), "{format} column {c}");
            assert!(same(magnitudes[c], matrix.value(0, c).abs()), "{format} column {c}");
        }
        for first in 0..cols.min(9) {
            for len in 0..(cols - first).min(9) {
                let mut span = vec![0.5; len];
                decode_span(format, matrix.row(0), first, &mut span);
                assert!(span.iter().zip(&all[first..]).all(|(&a, &b)| same(a, b)), "{format} {first}..+{len}");
            }
        }
    }
}
