//! Which conversions does a calibration draw at random?

use super::check::BadTruth;
use super::conversion::SimConversion;
use super::conversion_truth::{NanTo, Nibbles, PlantedConversion};
use super::random::{Stream, key};
use super::unit_draw::of;
use rigel_numerics::arithmetic::{Flush, Subnormals};
use rigel_numerics::{Format, Overflow, Rounding};

/// A conversion that `seed` draws, and what is planted in it: two formats, a rounding, saturation, flushed subnormals,
/// NaN words and payloads, the order of nibbles, codes that are none of the conversion's, each in some seeds.
///
/// # Errors
/// [`BadTruth`] if the draw were no possible conversion, which no seed has done yet.
pub fn draw_conversion(seed: u64) -> Result<(SimConversion, PlantedConversion), BadTruth> {
    use Format::*;
    let mut s = Stream::new(&[seed, key("conversions")]);
    let narrow = [F16, Bf16, E4m3, E5m2, E4m3Fnuz, E5m2Fnuz, E2m1, E2m3, E3m2];
    let from = if s.below(4) == 0 { F32 } else { of(&mut s, &narrow) };
    let to = loop {
        let to = of(&mut s, &[F32, F16, Bf16, E4m3, E5m2, E4m3Fnuz, E5m2Fnuz, E2m1, E2m3, E3m2]);
        if to != from {
            break to;
        }
    };
    let one_in = |s: &mut Stream, n| s.below(n) == 0;
    let nan = match (from.nan_code(), to.infinity_code(false), from.infinity_code(false)) {
        (None, ..) => NanTo::Canonical,
        (_, Some(_), Some(_)) if one_in(&mut s, 3) => NanTo::Payload,
        _ if one_in(&mut s, 3) => NanTo::Word(s.word() & to.code_mask()),
        _ => NanTo::Canonical,
    };
    let nibbles = (from.bits() == 4 || to.bits() == 4) && one_in(&mut s, 3);
    let exceptions =
        if one_in(&mut s, 6) { vec![(s.word() & from.code_mask(), s.word() & to.code_mask())] } else { Vec::new() };
    let planted = PlantedConversion {
        name: format!("drawn {seed}"),
        from,
        to,
        source: "drawn at random".into(),
        absent: String::new(),
        subnormals_in: if one_in(&mut s, 4) { of(&mut s, &Flush::ALL) } else { Flush::Keep },
        rounding: if one_in(&mut s, 3) { of(&mut s, &Rounding::ALL) } else { Rounding::NearestEven },
        overflow: of(&mut s, &Overflow::ALL),
        subnormals_out: if one_in(&mut s, 4) { of(&mut s, &Subnormals::ALL) } else { Subnormals::Keep },
        nan,
        nibbles: if nibbles { Nibbles::HighFirst } else { Nibbles::LowFirst },
        exceptions,
    };
    Ok((SimConversion::new(&planted)?, planted))
}
