//! Does encoding agree with a search over the table of all values, in every rounding mode?

use proptest::prelude::*;
use rigel_numerics::{Format, Overflow, Rounding};

/// Codes of all finite values of a format in ascending order of value; of the two zeros only +0.
struct Table {
    format: Format,
    entries: Vec<(f64, u64)>,
    /// The value that would follow the largest one if the exponent range had no end.
    after_last: f64,
}

impl Table {
    fn of(format: Format) -> Table {
        let mut entries: Vec<(f64, u64)> = (0..=format.code_mask())
            .filter(|&c| format.is_finite(c))
            .map(|c| (format.decode(c), c))
            .filter(|&(v, _)| v != 0.0 || v.is_sign_positive())
            .collect();
        entries.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        entries.dedup_by(|later, first| later.0 == first.0);
        let n = entries.len();
        let (before, last) = (entries[n - 2].0, entries[n - 1].0);
        let after_last = if format == Format::E8m0 { 2.0 * last } else { last + (last - before) };
        Table { format, entries, after_last }
    }

    /// Every value, every midpoint of neighbours, the points next to these, and points beyond both ends.
    fn grid(&self) -> Vec<f64> {
        let values = self.entries.iter().map(|e| e.0);
        let midpoints = self.entries.windows(2).map(|w| w[0].0 / 2.0 + w[1].0 / 2.0);
        let last = self.entries.last().unwrap().0;
        let beyond =
            [last / 2.0 + self.after_last / 2.0, self.after_last, 2.0 * self.after_last, 1e300, 1e-300, 5e-324];
        let points: Vec<f64> = values.chain(midpoints).chain(beyond).chain(beyond.map(|x| -x)).collect();
        points.iter().flat_map(|x| [x.next_down(), *x, x.next_up()]).collect()
    }

    /// The rule in words of the documentation, by search. `x` is finite.
    fn encode(&self, x: f64, rounding: Rounding, overflow: Overflow) -> u64 {
        let negative_zero = Format::E8m0 != self.format && self.format.decode(self.zero(true)).is_sign_negative();
        let signed = |code: u64| {
            let is_zero = self.format.decode(code) == 0.0;
            if is_zero { self.zero(x.is_sign_negative() && negative_zero) } else { code }
        };
        let next = self.entries.partition_point(|e| e.0 < x);
        if next < self.entries.len() && self.entries[next].0 == x {
            return signed(self.entries[next].1);
        }
        let (first, last) = (self.entries[0], self.entries[self.entries.len() - 1]);
        let signed_format = first.0 < 0.0;
        if next == 0 && !signed_format {
            return first.1;
        }
        if next == 0 || next == self.entries.len() {
            let (limit, nan_or_infinity) = if next == 0 {
                (first, self.format.infinity_code(true).or(self.format.nan_code()))
            } else {
                (last, self.format.infinity_code(false).or(self.format.nan_code()))
            };
            let midpoint = last.0 / 2.0 + self.after_last / 2.0;
            let to_limit = match rounding {
                Rounding::NearestEven => x.abs() < midpoint || x.abs() == midpoint && limit.1 & 1 == 0,
                Rounding::NearestAway => x.abs() < midpoint,
                Rounding::TowardZero => true,
                Rounding::Up => x < 0.0,
                Rounding::Down => x > 0.0,
                Rounding::Odd => limit.1 & 1 == 1,
            };
            let saturates = to_limit || overflow == Overflow::Saturate;
            return if saturates { limit.1 } else { nan_or_infinity.unwrap_or(limit.1) };
        }
        let (below, above) = (self.entries[next - 1], self.entries[next]);
        let midpoint = below.0 / 2.0 + above.0 / 2.0;
        let take_above = match rounding {
            _ if x != midpoint && matches!(rounding, Rounding::NearestEven | Rounding::NearestAway) => x > midpoint,
            Rounding::NearestEven => above.1 & 1 == 0,
            Rounding::NearestAway => x > 0.0,
            Rounding::TowardZero => x < 0.0,
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::Odd => above.1 & 1 == 1,
        };
        signed(if take_above { above.1 } else { below.1 })
    }

    fn zero(&self, negative: bool) -> u64 {
        if negative { 1 << (self.format.bits() - 1) } else { 0 }
    }
}

#[test]
fn narrow_floats_encode_as_a_search_over_all_values_does() {
    for format in Format::ALL.into_iter().filter(|f| f.bits() <= 16 && !f.is_integer()) {
        let table = Table::of(format);
        for x in table.grid() {
            for rounding in Rounding::ALL {
                for overflow in Overflow::ALL {
                    let (ours, searched) = (format.encode(x, rounding, overflow), table.encode(x, rounding, overflow));
                    assert_eq!(ours, searched, "{format} {x:e} {rounding:?} {overflow:?}");
                }
            }
        }
    }
}

#[test]
fn integers_round_then_clamp_or_wrap() {
    for format in Format::ALL.into_iter().filter(|f| f.is_integer()) {
        let (least, most) = (format.decode(format.min_finite_code()), format.max_finite());
        let quarters = |centre: f64| (-40..=40).map(move |q| centre + f64::from(q) / 4.0);
        let far = [1e300, -1e300, 3e10 + 0.5, -3e10 - 0.5, 2f64.powi(70) + 2f64.powi(30), 1e-300];
        for x in quarters(0.0).chain(quarters(least)).chain(quarters(most)).chain(quarters(2.0 * most)).chain(far) {
            for rounding in Rounding::ALL {
                let rounded = match rounding {
                    Rounding::NearestEven => x.round_ties_even(),
                    Rounding::NearestAway => x.round(),
                    Rounding::TowardZero => x.trunc(),
                    Rounding::Up => x.ceil(),
                    Rounding::Down => x.floor(),
                    Rounding::Odd if x.floor().rem_euclid(2.0) == 1.0 => x.floor(),
                    Rounding::Odd => x.ceil(),
                };
                let code = |v: f64| v as i64 as u64 & format.code_mask();
                let clamped = code(rounded.clamp(least, most));
                let wrapped = code(rounded.rem_euclid(2f64.powi(format.bits() as i32)));
                assert_eq!(format.encode(x, rounding, Overflow::Saturate), clamped, "{format} {x:e} {rounding:?}");
                assert_eq!(format.encode(x, rounding, Overflow::Ieee), wrapped, "{format} {x:e} {rounding:?}");
            }
        }
    }
}

#[test]
fn special_values_follow_the_stated_rules() {
    let rne = Rounding::NearestEven;
    for format in Format::ALL {
        let nan = format.encode(f64::NAN, rne, Overflow::Ieee);
        match format.nan_code() {
            Some(code) => assert!(format.is_nan(code) && nan == code, "{format}"),
            None if format.is_integer() => assert_eq!(nan, 0, "{format}"),
            None => assert_eq!(nan, format.max_finite_code(), "{format}"),
        }
        for (x, limit) in [(f64::INFINITY, format.max_finite_code()), (f64::NEG_INFINITY, format.min_finite_code())] {
            assert_eq!(format.encode(x, rne, Overflow::Saturate), limit, "{format} {x}");
            let free = format.encode(x, Rounding::TowardZero, Overflow::Ieee);
            let keeps = format.infinity_code(x < 0.0);
            let expected = match keeps.or(format.nan_code()) {
                Some(code) if format.is_signed() || x > 0.0 => code,
                _ => limit,
            };
            assert_eq!(free, expected, "{format} {x}");
        }
    }
    assert_eq!(Format::E8m0.encode(0.0, rne, Overflow::Ieee), 0, "no zero: the least scale");
    assert_eq!(Format::E8m0.encode(-3.0, rne, Overflow::Ieee), 0, "no sign: the least scale");
    assert_eq!(Format::E8m0.encode(1.9, Rounding::TowardZero, Overflow::Saturate), 127, "the floor rule of OCP MX");
    assert_eq!(Format::Ue4m3.encode(-3.0, rne, Overflow::Saturate), 0);
    assert_eq!(Format::E4m3.encode(464.0, rne, Overflow::Ieee), 0x7E, "the tie goes to the even code, 448");
    assert_eq!(Format::E4m3.encode(464.0f64.next_up(), rne, Overflow::Ieee), 0x7F);
    assert_eq!(Format::E4m3Fnuz.encode(-0.0, rne, Overflow::Ieee), 0, "FNUZ has no negative zero");
    assert_eq!(Format::E4m3Fnuz.encode(-1e-9, rne, Overflow::Ieee), 0, "nor by underflow");
    assert_eq!(Format::F16.encode(-1e-9, rne, Overflow::Ieee), 0x8000);
}

/// The non-saturating policy of `microfloat` for 8-bit floats is `Ieee`; its 4- and 6-bit floats saturate either way.
/// It lets the tie at the end of the range overflow even where the largest finite code is even: 464 in E4M3.
#[test]
fn nearest_even_agrees_with_microfloat() {
    macro_rules! check {
        ($($format:ident $theirs:ident),*) => {$(
            for x in Table::of(Format::$format).grid() {
                if f64::from(x as f32) != x || Format::$format == Format::E4m3 && x.abs() == 464.0 {
                    continue;
                }
                let theirs = u64::from(microfloat::$theirs::from_f32(x as f32).to_bits());
                let ours = Format::$format.encode(x, Rounding::NearestEven, Overflow::Ieee);
                let both_nan = Format::$format.is_nan(ours) && Format::$format.is_nan(theirs);
                assert!(ours == theirs || both_nan, "{} {x:e}: {ours:#x} against {theirs:#x}", Format::$format);
            }
        )*};
    }
    check!(E4m3 f8e4m3fn, E5m2 f8e5m2, E4m3Fnuz f8e4m3fnuz, E5m2Fnuz f8e5m2fnuz);
    check!(E2m1 f4e2m1fn, E2m3 f6e2m3fn, E3m2 f6e3m2fn);
}

/// `float8` saturates, infinities included.
#[test]
fn nearest_even_agrees_with_float8() {
    for x in Table::of(Format::E4m3).grid() {
        let theirs = u64::from(float8::F8E4M3::from_f64(x).to_bits());
        assert_eq!(Format::E4m3.encode(x, Rounding::NearestEven, Overflow::Saturate), theirs, "e4m3 {x:e}");
    }
    for x in Table::of(Format::E5m2).grid() {
        let theirs = u64::from(float8::F8E5M2::from_f64(x).to_bits());
        assert_eq!(Format::E5m2.encode(x, Rounding::NearestEven, Overflow::Saturate), theirs, "e5m2 {x:e}");
    }
}

proptest! {
    #[test]
    fn f32_agrees_with_the_processor(bits: u64) {
        let x = f64::from_bits(bits);
        prop_assume!(!x.is_nan());
        let code = Format::F32.encode(x, Rounding::NearestEven, Overflow::Ieee);
        prop_assert_eq!(code, u64::from((x as f32).to_bits()));
    }

    #[test]
    fn f32_agrees_with_the_processor_in_range(x in -1e39f64..1e39, tiny in -1e-37f64..1e-37) {
        for x in [x, tiny] {
            let code = Format::F32.encode(x, Rounding::NearestEven, Overflow::Ieee);
            prop_assert_eq!(code, u64::from((x as f32).to_bits()));
        }
    }

    #[test]
    fn directed_modes_enclose_the_value(x in -1e38f64..1e38, tf32: bool) {
        let format = if tf32 { Format::Tf32 } else { Format::F32 };
        let encode = |rounding| format.decode(format.encode(x, rounding, Overflow::Saturate));
        let (down, up) = (encode(Rounding::Down), encode(Rounding::Up));
        prop_assert!(down <= x && x <= up);
        let step = 1 << if tf32 { 13 } else { 0 };
        let towards_up = f64::from(f32::from_bits((down as f32).to_bits().wrapping_add_signed(if down < 0.0 { -step } else { step })));
        prop_assert!(down == up || towards_up == up, "neighbours");
        prop_assert_eq!(encode(Rounding::TowardZero), if x < 0.0 { up } else { down });
        let nearest = encode(Rounding::NearestEven);
        prop_assert!((nearest - x).abs() <= (up - x).min(x - down));
    }

    #[test]
    fn f64_keeps_every_value(bits: u64) {
        prop_assume!(!f64::from_bits(bits).is_nan());
        for rounding in Rounding::ALL {
            prop_assert_eq!(Format::F64.encode(f64::from_bits(bits), rounding, Overflow::Ieee), bits);
        }
    }

    #[test]
    fn wide_integers_round_as_the_processor_does(s: i128, small: i64) {
        for s in [s, i128::from(small)] {
            let f64_code = Format::F64.encode_scaled(s, 0, Rounding::NearestEven, Overflow::Ieee);
            let f32_code = Format::F32.encode_scaled(s, 0, Rounding::NearestEven, Overflow::Ieee);
            prop_assert_eq!(f64_code, (s as f64).to_bits());
            prop_assert_eq!(f32_code, u64::from((s as f32).to_bits()));
        }
    }

    #[test]
    fn only_the_value_counts(s in -(1i128 << 60)..1 << 60, shift in 0u32..60, e in -200i32..200) {
        for format in Format::ALL {
            for rounding in Rounding::ALL {
                for overflow in Overflow::ALL {
                    let a = format.encode_scaled(s, e, rounding, overflow);
                    let b = format.encode_scaled(s << shift, e - shift as i32, rounding, overflow);
                    prop_assert_eq!(a, b, "{} {:?} {:?}", format, rounding, overflow);
                }
            }
        }
    }

    #[test]
    fn no_argument_panics(s: i128, e: i32) {
        for format in Format::ALL {
            for rounding in Rounding::ALL {
                for overflow in Overflow::ALL {
                    for (s, e) in [(s, e), (i128::MIN, e), (s, i32::MAX), (s, i32::MIN), (1, e)] {
                        let code = format.encode_scaled(s, e, rounding, overflow);
                        prop_assert_eq!(code & !format.code_mask(), 0);
                    }
                }
            }
        }
    }
}
