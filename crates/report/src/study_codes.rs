//! What do units of the matrix path make of every code of fp8 and fp4?
//!
//! From the records of probe `specials`, in which each code of an operand is multiplied by 1. What the formats' standard says of a code is
//! a control; what a unit makes of the others is beyond it. The study's own values are not known, so nothing is compared.

use crate::reading::Reading;
use rigel_ledger::units::{ConversionRecord, UnitRecord};
use rigel_numerics::Format;

/// Formats of the claim.
const FORMATS: [Format; 3] = [Format::E4m3, Format::E5m2, Format::E2m1];

/// What the operands of a path are seen to do; empty where none was asked.
pub(crate) fn semantics(reading: &Reading<'_>, path: &str) -> String {
    let records = reading.source.units.iter().filter_map(|record| match record {
        UnitRecord::Conversion(record) if record.unit.path == path && FORMATS.contains(&record.from) => Some(record),
        _ => None,
    });
    let mut words: Vec<String> = records.map(|record| of_record(record)).collect();
    words.sort();
    words.dedup();
    words.join("; ")
}

/// `e4m3 into f32: 256 of 256 codes as the standard has them; NaN as 7fc00000`.
fn of_record(record: &ConversionRecord) -> String {
    let ConversionRecord { from, to, .. } = record;
    let codes = record.sample.0.iter().zip(&record.converted.0);
    let same = codes.filter(|&(&code, &found)| is_same(from.decode(code), to.decode(found))).count();
    let nan = match record.nan_words.0.as_slice() {
        [] => "no code gives NaN".to_owned(),
        words => {
            let digits = to.bits().div_ceil(4) as usize;
            let words: Vec<String> = words.iter().map(|word| format!("{word:0digits$x}")).collect();
            format!("NaN as {}", words.join(", "))
        }
    };
    let all = record.sample.0.len();
    let more = if same == all { String::new() } else { format!(" ({})", record.words) };
    format!("{from} into {to}: {same} of {all} codes as the standard has them{more}, {nan}")
}

/// Whether two numbers are the same, zeros with their signs and any NaN as any other.
fn is_same(x: f64, y: f64) -> bool {
    x.is_nan() && y.is_nan() || x.to_bits() == y.to_bits()
}
