//! How often is a planted conversion named, and how often is a name given to one that has codes of its own?
//!
//! Conversions are drawn at random ([`draw_conversion`]). Which of them have a name is not decided by what was planted but by
//! what they do: every code of a format of at most 16 bits, or 10⁵ fresh ones of a wider format, is converted once more and
//! held against the rule that was named. A NaN may become any NaN.

use super::drawn::{Bounds, Drawn, drawn, line, timed};
use super::{Family, Limit, Table};
use crate::recovery::name_conversion;
use rigel_device::sim::conversion_truth::{NanTo, Nibbles};
use rigel_device::sim::{PlantedConversion, SimConversion, draw_conversion};
use rigel_device::unit::Conversion;
use rigel_numerics::arithmetic::{Flush, Subnormals};
use rigel_numerics::conversion::NamedConversion;
use rigel_numerics::random::{draw, stream};

/// Fresh codes of a format of more than 16 bits.
const FRESH: u64 = 100_000;

/// Calibrates the naming of conversions with `n` devices.
pub fn conversions(seed: u64, n: u32, bounds: Bounds<'_>) -> Table {
    let first = stream(seed, 0xc0) >> 8;
    let devices = drawn((0..).map(|i| first + i), n, bounds, one);
    let of = |name: &str| devices.iter().filter(|d| d.planted == name).cloned().collect::<Vec<_>>();
    let (plain, quirks) = (of(PLAIN), of(QUIRKS));
    let lines = vec![
        line(&plain, "named", |d| d.claimed && d.same, Limit::AtLeast(0.99)),
        line(&plain, "false name", |d| d.claimed && !d.same, Limit::Never),
        line(&quirks, "false name", |d| d.claimed && !d.same, Limit::Never),
        line(&quirks, "deviating codes listed", |d| !d.claimed, Limit::Shown),
    ];
    Table { family: Family::Conversions, seed, lines, devices }
}

const PLAIN: &str = "a rounding, flushes and saturation";
const QUIRKS: &str = "the same, with quirks";

/// Whether nothing was planted but what a rule can say.
fn is_plain(planted: &PlantedConversion) -> bool {
    let flushed = matches!(planted.subnormals_out, Subnormals::Keep | Subnormals::FlushStored)
        && planted.subnormals_in != Flush::ToPositiveZero;
    let nan = !matches!(planted.nan, NanTo::Word(word) if !planted.to.is_nan(word));
    planted.exceptions.is_empty() && planted.nibbles == Nibbles::LowFirst && flushed && nan
}

fn one(seed: u64) -> Option<Drawn> {
    let (mut conversion, planted) = draw_conversion(seed).ok()?;
    let (named, seconds) = timed(|| name_conversion(&mut conversion));
    let name = if is_plain(&planted) { PLAIN } else { QUIRKS };
    let mut device = Drawn {
        planted: name.to_owned(),
        seed,
        k: None,
        claimed: false,
        same: false,
        listed: None,
        probes: 0,
        seconds,
        words: String::new(),
    };
    match named {
        Ok(named) => {
            device.claimed = named.deviating == 0;
            device.probes = named.codes;
            device.same = agrees(&named.rule, &mut conversion, seed)?;
            device.words = format!("{} of {} codes deviate", named.deviating, named.codes);
        }
        Err(error) => device.words = error.to_string(),
    }
    Some(device)
}

/// Whether a rule gives what a conversion gives, on codes that are chosen apart from how the rule was found.
fn agrees(rule: &NamedConversion, conversion: &mut SimConversion, seed: u64) -> Option<bool> {
    let spec = conversion.spec().clone();
    let key = stream(!seed, 0xf5e5);
    let codes: Vec<u64> = match spec.from.bits() {
        bits @ ..=16 => (0..1 << bits).collect(),
        _ => (0..FRESH).map(|i| draw(key, i) & spec.from.code_mask()).collect(),
    };
    let found = conversion.convert(&codes).ok()?;
    Some(codes.iter().zip(&found).all(|(&code, &d)| rule.explains(code, d)))
}
