//! What does a conversion do with every code, and what is that called?

use rigel_device::Fault;
use rigel_device::unit::Conversion;
use rigel_numerics::conversion::NamedConversion;
use rigel_numerics::random::{draw, stream};
use rigel_numerics::{Format, Overflow, Rounding};
use serde::{Deserialize, Serialize};

/// What a conversion turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Converted {
    /// The conversion's name.
    pub name: String,
    /// The rule that explains most codes.
    pub rule: NamedConversion,
    /// Other rules that explain as many: no code that was tried tells them apart.
    pub alike: Vec<NamedConversion>,
    /// Words that NaN codes became, at most 8.
    pub nan_words: Vec<u64>,
    /// Codes that were converted.
    pub codes: u64,
    /// Whether these were all codes of the format.
    pub all: bool,
    /// Codes that the rule does not explain.
    pub deviating: u64,
    /// The first of them.
    pub deviations: Vec<Deviation>,
}

/// A code that a rule does not explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The code.
    pub code: u64,
    /// What the rule makes of it.
    pub rule: u64,
    /// What came out.
    pub found: u64,
}

/// Deviations that are listed.
const LISTED: usize = 32;

/// Converts every code of a format of at most 16 bits, or the values and midpoints of the target and random codes of a wider one,
/// and names the rule that explains most.
///
/// # Errors
/// The conversion's own fault; [`Fault::Failed`] where it gives another number of codes than it was given.
pub fn name_conversion(conversion: &mut dyn Conversion) -> Result<Converted, Fault> {
    let spec = conversion.spec().clone();
    let all = spec.from.bits() <= 16;
    let codes: Vec<u64> = if all { (0..1 << spec.from.bits()).collect() } else { chosen(spec.from, spec.to) };
    let found = conversion.convert(&codes)?;
    if found.len() != codes.len() {
        let said = format!("conversion {} gave {} codes for {}", spec.name, found.len(), codes.len());
        return Err(Fault::Failed(said));
    }
    let mut best: Vec<NamedConversion> = Vec::new();
    let mut least = usize::MAX;
    for rule in rules(spec.from, spec.to) {
        let mut wrong = 0;
        for (&code, &d) in codes.iter().zip(&found) {
            wrong += usize::from(!rule.explains(code, d));
            if wrong > least {
                break;
            }
        }
        if wrong < least {
            best.clear();
            least = wrong;
        }
        if wrong == least {
            best.push(rule);
        }
    }
    let Some((&rule, alike)) = best.split_first() else {
        return Err(Fault::Failed(format!("conversion {}: no rule for {} to {}", spec.name, spec.from, spec.to)));
    };
    let pairs = || codes.iter().copied().zip(found.iter().copied());
    let wrong = pairs().filter(|&(code, d)| !rule.explains(code, d));
    let deviations = wrong.take(LISTED).map(|(code, found)| Deviation { code, rule: rule.of(code), found }).collect();
    let mut nan_words: Vec<u64> = pairs().filter(|&(code, _)| rule.from.is_nan(code)).map(|(_, d)| d).collect();
    nan_words.sort_unstable();
    nan_words.dedup();
    nan_words.truncate(8);
    let (codes, deviating, alike) = (codes.len() as u64, least as u64, alike.to_vec());
    Ok(Converted { name: spec.name, rule, alike, nan_words, codes, all, deviating, deviations })
}

/// The rules that are tried, the declared formats and the plainest rules first.
fn rules(from: Format, to: Format) -> Vec<NamedConversion> {
    let twins = |format: Format| {
        let others = Format::ALL.into_iter().filter(move |&f| f != format && f.bits() == format.bits());
        let kind = others.filter(move |f| f.is_integer() == format.is_integer() && f.is_signed() == format.is_signed());
        std::iter::once(format).chain(kind.filter(move |_| format.bits() <= 8)).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    for from in twins(from) {
        for to in twins(to) {
            for (flushes_in, flushes_out) in [(false, false), (true, false), (false, true), (true, true)] {
                for overflow in [Overflow::Ieee, Overflow::Saturate] {
                    let rule = |rounding| NamedConversion { from, to, rounding, overflow, flushes_in, flushes_out };
                    all.extend(Rounding::ALL.map(rule));
                }
            }
        }
    }
    all
}

/// Codes of a wide format around every value of a narrow one and around the midpoints, the ends of both formats, and random ones.
fn chosen(from: Format, to: Format) -> Vec<u64> {
    let mut values: Vec<f64> = (0..1u64 << to.bits().min(16))
        .map(|code| to.decode(if to.bits() > 16 { code << (to.bits() - 16) } else { code }))
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f64::total_cmp);
    let middles: Vec<f64> = values.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0).collect();
    values.extend(middles);
    let mut codes = Vec::new();
    for value in values {
        let code = from.encode(value, Rounding::NearestEven, Overflow::Saturate);
        codes.extend([code, code.wrapping_add(1), code.wrapping_sub(1)].map(|code| code & from.code_mask()));
    }
    let key = stream(0x636f_6e76, u64::from(from.bits()));
    codes.extend((0..1 << 16).map(|i| draw(key, i) & from.code_mask()));
    codes.extend([0, from.max_finite_code(), from.min_finite_code(), from.code_mask()]);
    codes.extend([from.infinity_code(false), from.infinity_code(true), from.nan_code()].into_iter().flatten());
    codes.sort_unstable();
    codes.dedup();
    codes
}
