//! What does a software conversion give?

use super::check::{BadTruth, refused};
use super::conversion_truth::{NanTo, Nibbles, PlantedConversion};
use crate::contract::Fault;
use crate::unit::{Conversion, ConversionSpec};
use rigel_numerics::arithmetic::{Flush, Subnormals};
use rigel_numerics::{Format, Rounding};

/// A software conversion.
#[derive(Debug, Clone)]
pub struct SimConversion {
    planted: PlantedConversion,
    spec: ConversionSpec,
}

impl SimConversion {
    /// The conversion that a truth plants.
    ///
    /// # Errors
    /// [`BadTruth::Value`] with a key from `conversion` on.
    pub fn new(planted: &PlantedConversion) -> Result<SimConversion, BadTruth> {
        SimConversion::at("conversion", planted)
    }

    /// As [`SimConversion::new`], for one that stands under `at` in its truth.
    pub(super) fn at(at: &str, planted: &PlantedConversion) -> Result<SimConversion, BadTruth> {
        let PlantedConversion { from, to, nan, nibbles, .. } = *planted;
        let within = |key: &str, code: u64, format: Format| {
            // TOML has no integers beyond.
            let most = format.code_mask().min(i64::MAX as u64);
            if code <= most {
                return Ok(());
            }
            Err(refused(format!("{at}.{key}"), code, format!("a code of {format}, 0 to {most}")))
        };
        for (i, &(code, becomes)) in planted.exceptions.iter().enumerate() {
            within(&format!("exceptions[{i}]"), code, from)?;
            within(&format!("exceptions[{i}]"), becomes, to)?;
        }
        for (key, format) in [("from", from), ("to", to)] {
            if format.scale_groups().is_some() {
                return Err(refused(format!("{at}.{key}"), format, "a format without scale groups"));
            }
        }
        let has_nan = from.floating().is_some() && from.nan_code().is_some();
        match nan {
            NanTo::Canonical => {}
            _ if !has_nan => return Err(refused(format!("{at}.nan"), "set", format!("nothing: {from} has no NaN"))),
            NanTo::Word(word) => within("nan.word", word, to)?,
            NanTo::Payload if payload_bits(from).is_none() || payload_bits(to).is_none() => {
                return Err(refused(format!("{at}.nan"), "`payload`", "formats whose NaN have a fraction"));
            }
            NanTo::Payload => {}
        }
        let flushes = planted.subnormals_in != Flush::Keep || planted.subnormals_out != Subnormals::Keep;
        if flushes && (from.is_integer() || to.is_integer()) {
            return Err(refused(format!("{at}.subnormals_in"), "a flush", "floating formats, or `keep`"));
        }
        if nibbles == Nibbles::HighFirst && from.bits() != 4 && to.bits() != 4 {
            return Err(refused(format!("{at}.nibbles"), "`high-first`", "a format of 4 bits on one side"));
        }
        let spec = ConversionSpec { name: planted.name.clone(), from, to, source: planted.source.clone() };
        Ok(SimConversion { planted: planted.clone(), spec })
    }

    /// What one code becomes, before the order of nibbles.
    fn code(&self, code: u64) -> u64 {
        let PlantedConversion { from, to, rounding, overflow, .. } = self.planted;
        let code = code & from.code_mask();
        if let Some(&(_, becomes)) = self.planted.exceptions.iter().find(|(exception, _)| *exception == code) {
            return becomes;
        }
        if from.is_nan(code) {
            return match self.planted.nan {
                NanTo::Canonical => to.encode(f64::NAN, rounding, overflow),
                NanTo::Word(word) => word,
                NanTo::Payload => payload(from, to, code),
            };
        }
        let value = from.decode(code);
        let value = match self.planted.subnormals_in {
            Flush::ToSignedZero if is_subnormal(from, value) => 0f64.copysign(value),
            Flush::ToPositiveZero if is_subnormal(from, value) => 0.0,
            _ => value,
        };
        let becomes = to.encode(value, rounding, overflow);
        let flushed = match self.planted.subnormals_out {
            Subnormals::Keep => false,
            Subnormals::FlushBefore => value.abs() < to.min_normal(),
            Subnormals::FlushAfter => below_after_rounding(value, to, rounding),
            Subnormals::FlushStored => is_subnormal(to, to.decode(becomes)),
        };
        if flushed { to.encode(0f64.copysign(value), rounding, overflow) } else { becomes }
    }
}

impl Conversion for SimConversion {
    fn spec(&self) -> &ConversionSpec {
        &self.spec
    }

    fn convert(&mut self, codes: &[u64]) -> Result<Vec<u64>, Fault> {
        let mut converted: Vec<u64> = codes.iter().map(|&code| self.code(code)).collect();
        if self.planted.nibbles == Nibbles::HighFirst {
            converted.as_chunks_mut::<2>().0.iter_mut().for_each(|pair| pair.swap(0, 1));
        }
        Ok(converted)
    }
}

fn is_subnormal(format: Format, value: f64) -> bool {
    value != 0.0 && value.abs() < format.min_normal()
}

/// Whether a value, rounded to the format's precision as if exponents had no lower end, lies below its least normal
/// value.
fn below_after_rounding(value: f64, format: Format, rounding: Rounding) -> bool {
    let (size, least) = (value.abs(), format.min_normal());
    // Just below the least normal value its neighbour in that precision is this far away.
    let gap = least * 0.5f64.powi(format.precision() as i32);
    let away = match rounding {
        Rounding::NearestEven | Rounding::NearestAway => return size < least - gap / 2.0,
        Rounding::TowardZero | Rounding::Odd => false,
        Rounding::Up => value > 0.0,
        Rounding::Down => value < 0.0,
    };
    if away { size <= least - gap } else { size < least }
}

/// Fraction bits of a NaN that has some to tell it from others.
fn payload_bits(format: Format) -> Option<u32> {
    format.infinity_code(false).and(format.floating()).map(|fields| fields.fraction_bits).filter(|&bits| bits > 1)
}

/// The NaN whose fraction starts as that of a NaN of another format.
fn payload(from: Format, to: Format, code: u64) -> u64 {
    let (Some(narrow), Some(wide)) = (payload_bits(from), payload_bits(to)) else { return to.nan_code().unwrap_or(0) };
    let ignored = |format| if format == Format::Tf32 { 13 } else { 0 };
    let negative = code >> (from.bits() - 1) & 1 == 1;
    let aligned = code >> ignored(from) << (64 - narrow) | 1 << 63;
    to.infinity_code(negative).unwrap_or(0) | aligned >> (64 - wide) << ignored(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::Overflow;

    fn plain(from: Format, to: Format) -> PlantedConversion {
        PlantedConversion {
            name: "c".into(),
            from,
            to,
            source: "planted".into(),
            absent: String::new(),
            subnormals_in: Flush::Keep,
            rounding: Rounding::NearestEven,
            overflow: Overflow::Ieee,
            subnormals_out: Subnormals::Keep,
            nan: NanTo::Canonical,
            nibbles: Nibbles::LowFirst,
            exceptions: Vec::new(),
        }
    }

    fn convert(planted: PlantedConversion, codes: &[u64]) -> Vec<u64> {
        SimConversion::new(&planted).unwrap().convert(codes).unwrap()
    }

    #[test]
    fn every_quirk_shows_where_it_should_and_nowhere_else() {
        let single = |x: f32| u64::from(x.to_bits());
        let to_e4m3 = plain(Format::F32, Format::E4m3);
        assert_eq!(convert(to_e4m3.clone(), &[single(1e9), single(448.0)]), [0x7F, 0x7E]);
        let saturating = PlantedConversion { overflow: Overflow::Saturate, ..to_e4m3.clone() };
        assert_eq!(convert(saturating, &[single(1e9), single(f32::NEG_INFINITY)]), [0x7E, 0xFE]);
        let word = PlantedConversion { nan: NanTo::Word(0x80), ..to_e4m3.clone() };
        assert_eq!(convert(word, &[single(f32::NAN), single(1.0)]), [0x80, 0x38]);
        let exception = PlantedConversion { exceptions: vec![(single(1.0), 0x11)], ..to_e4m3 };
        assert_eq!(convert(exception, &[single(1.0), single(2.0)]), [0x11, 0x40]);
        let swapped = PlantedConversion { nibbles: Nibbles::HighFirst, ..plain(Format::E2m1, Format::F16) };
        assert_eq!(convert(swapped, &[2, 4, 2]), [0x4000, 0x3C00, 0x3C00]);
        let payload = PlantedConversion { nan: NanTo::Payload, ..plain(Format::F16, Format::F32) };
        assert_eq!(convert(payload, &[0xFC01, 0x7E00]), [0xFFC0_2000, 0x7FC0_0000]);
        let flushed = PlantedConversion { subnormals_in: Flush::ToSignedZero, ..plain(Format::F16, Format::F32) };
        assert_eq!(convert(flushed, &[0x83FF, 0x0400]), [0x8000_0000, single(2f32.powi(-14))]);
    }

    #[test]
    fn tininess_before_and_after_rounding_differ_just_below_the_least_normal_value() {
        // The value with the largest 24-bit significand below 2^-14 rounds up to it.
        let below = u64::from(2f32.powi(-14).to_bits()) - 1;
        let with = |subnormals_out| {
            convert(PlantedConversion { subnormals_out, ..plain(Format::F32, Format::F16) }, &[below])[0]
        };
        assert_eq!([Subnormals::Keep, Subnormals::FlushStored].map(with), [0x400, 0x400]);
        assert_eq!([Subnormals::FlushAfter, Subnormals::FlushBefore].map(with), [0x400, 0]);
        // A quarter of the last subnormal place below it: rounded to 11 bits it stays below, stored it reaches it.
        let quarter = u64::from((2f32.powi(-14) * (1.0 - 2f32.powi(-12) * 1.5)).to_bits());
        let with = |subnormals_out| {
            convert(PlantedConversion { subnormals_out, ..plain(Format::F32, Format::F16) }, &[quarter])[0]
        };
        assert_eq!([Subnormals::FlushStored, Subnormals::FlushAfter].map(with), [0x400, 0]);
    }

    #[test]
    fn impossible_conversions_name_their_key() {
        for (planted, key) in [
            (PlantedConversion { nan: NanTo::Word(256), ..plain(Format::F32, Format::E4m3) }, "conversion.nan.word"),
            (PlantedConversion { nan: NanTo::Word(0), ..plain(Format::E2m1, Format::F16) }, "conversion.nan"),
            (PlantedConversion { nan: NanTo::Payload, ..plain(Format::F32, Format::E4m3) }, "conversion.nan"),
            (PlantedConversion { nibbles: Nibbles::HighFirst, ..plain(Format::F32, Format::E4m3) }, "nibbles"),
            (PlantedConversion { exceptions: vec![(16, 0)], ..plain(Format::E2m1, Format::F16) }, "exceptions[0]"),
            (PlantedConversion { subnormals_in: Flush::ToSignedZero, ..plain(Format::F32, Format::I8) }, "subnormals"),
        ] {
            let said = SimConversion::new(&planted).unwrap_err().to_string();
            assert!(said.contains(key) && said.contains("allowed"), "{said}");
        }
    }
}
