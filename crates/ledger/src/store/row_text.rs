//! How is a row of `cells.csv`, `facts.csv`, `power.csv` or `MANIFEST` written and read?
//!
//! One row is one line: control characters in texts (a compiler's diagnostic has line feeds) are written as the
//! pictures that Unicode has for them (U+2400 …), and a text is cut after 8 KiB. A line is accepted only if writing
//! its values again gives the same bytes, so a value has one spelling and digests mean what they seem to mean.

use crate::rows::{CellRow, FactRow, PowerRow};
use crate::store::columns::columns;
use crate::store::error::RowFault;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most bytes of any line: a verdict names every cell it rests on, thirteen bytes each.
pub(crate) const LINE_LIMIT: usize = 4 << 20;
/// Most bytes of a text in a row, with the words that say how much was cut.
const TEXT_LIMIT: usize = 8 << 10;
/// Room for those words.
const CUT_ROOM: usize = 64;

/// A row of a file that is small enough to be held as values.
pub(crate) trait TextRow: Serialize + DeserializeOwned + Send {
    /// Numbers of the row with their columns and whether infinity is allowed.
    fn numbers(&self) -> Vec<(&'static str, Option<f64>, bool)>;
    /// Makes its free texts fit in a line.
    fn tame(&mut self);
    /// Most bytes of its line: texts, and what else a line may hold.
    const LIMIT: usize = 64 << 10;
}

impl TextRow for CellRow {
    fn numbers(&self) -> Vec<(&'static str, Option<f64>, bool)> {
        vec![
            ("gate_error", self.gate_error, true),
            ("gate_ulps", self.gate_ulps, true),
            ("gate_tolerance", self.gate_tolerance, true),
            ("gate_visible", self.gate_visible, true),
            ("median_ns", self.median_ns, false),
            ("ci_low_ns", self.ci_low_ns, false),
            ("ci_high_ns", self.ci_high_ns, false),
            ("bootstrap_low_ns", self.bootstrap_low_ns, false),
            ("bootstrap_high_ns", self.bootstrap_high_ns, false),
            ("autocorrelation", self.autocorrelation, false),
            ("clock_mhz", self.clock_mhz, false),
        ]
    }

    fn tame(&mut self) {
        for text in [&mut self.device, &mut self.driver, &mut self.block, &mut self.path, &mut self.tile] {
            tame(text);
        }
        tame(&mut self.reason);
        tame(&mut self.modes);
    }
}

impl TextRow for FactRow {
    const LIMIT: usize = LINE_LIMIT;

    fn numbers(&self) -> Vec<(&'static str, Option<f64>, bool)> {
        vec![("low", self.low, true), ("high", self.high, true)]
    }

    fn tame(&mut self) {
        tame(&mut self.value);
        tame(&mut self.words);
    }
}

impl TextRow for PowerRow {
    fn numbers(&self) -> Vec<(&'static str, Option<f64>, bool)> {
        vec![("value", Some(self.value), false)]
    }

    fn tame(&mut self) {
        tame(&mut self.meter);
        tame(&mut self.unit);
        tame(&mut self.phase);
    }
}

/// Replaces control characters by their pictures and cuts what is too long. What is tame already stays as it is.
pub(crate) fn tame(text: &mut String) {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        let picture = |c: char| match u32::from(c) {
            code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(c),
            0x7f => '\u{2421}',
            _ => c,
        };
        *text = text.chars().map(picture).collect();
    }
    if text.len() > TEXT_LIMIT {
        let cut = (0..=TEXT_LIMIT - CUT_ROOM).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let rest = text.len() - cut;
        text.truncate(cut);
        text.push_str(&format!(" … ({rest} bytes cut)"));
    }
}

/// The header line of a row type, line feed included.
pub(crate) fn header<T: DeserializeOwned>() -> String {
    columns::<T>().join(",") + "\n"
}

/// Appends the line of a row, line feed included.
pub(crate) fn write_line<T: Serialize>(row: &T, out: &mut Vec<u8>) -> Result<(), RowFault> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).buffer_capacity(1 << 10).from_writer(Vec::new());
    let unwritable =
        |error: String| RowFault::Field { column: "row", found: error, allowed: "plain values".to_owned() };
    writer.serialize(row).map_err(|error| unwritable(error.to_string()))?;
    let line = writer.into_inner().map_err(|error| unwritable(error.to_string()))?;
    out.extend_from_slice(&line);
    Ok(())
}

/// Reads one line without its line feed.
pub(crate) fn read_line<T: TextRow>(line: &[u8]) -> Result<T, RowFault> {
    if line.len() > T::LIMIT {
        return Err(RowFault::TooLong { limit: T::LIMIT });
    }
    let row = read_values::<T>(line)?;
    for (column, value, infinite) in row.numbers() {
        let fine = value.is_none_or(|v| v.is_finite() || (infinite && v == f64::INFINITY));
        if !fine {
            let allowed = if infinite { "a number, inf, or empty" } else { "a finite number, or empty" };
            let found = value.map(|v| v.to_string()).unwrap_or_default();
            return Err(RowFault::Field { column, found, allowed: allowed.to_owned() });
        }
    }
    Ok(row)
}

/// Reads one line into values whose only spelling it is.
pub(crate) fn read_values<T: Serialize + DeserializeOwned>(line: &[u8]) -> Result<T, RowFault> {
    if let Some(&byte) = line.iter().find(|&&b| b < 0x20 || b == 0x7f) {
        return Err(RowFault::Byte(byte));
    }
    let text = std::str::from_utf8(line).map_err(|_| RowFault::NotUtf8)?;
    let names = columns::<T>();
    let record = fields(text)?;
    if record.len() != names.len() {
        return Err(RowFault::Fields { expected: names.len(), found: record.len() });
    }
    let row: T = record.deserialize(None).map_err(|error| match error.kind() {
        csv::ErrorKind::Deserialize { err, .. } => {
            let field = err.field().unwrap_or(0) as usize;
            let found = record.get(field).unwrap_or_default().chars().take(60).collect();
            RowFault::Field { column: names[field.min(names.len() - 1)], found, allowed: err.kind().to_string() }
        }
        other => RowFault::Field { column: "row", found: String::new(), allowed: format!("{other:?}") },
    })?;
    let mut written = Vec::with_capacity(line.len() + 1);
    write_line(&row, &mut written)?;
    if written.strip_suffix(b"\n") != Some(line) {
        let expected = String::from_utf8_lossy(&written).trim_end().chars().take(200).collect();
        return Err(RowFault::Spelling { expected });
    }
    Ok(row)
}

/// The fields of a line. A reader of the csv crate costs more to build than a line to split, so it gets only what is not written as this
/// crate writes: quotes inside a field, a mark of the byte order, nothing.
fn fields(line: &str) -> Result<csv::StringRecord, RowFault> {
    if let Some(record) = split(line) {
        return Ok(record);
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(line.len().max(1))
        .from_reader(line.as_bytes());
    let mut record = csv::StringRecord::new();
    reader.read_record(&mut record).map_err(|_| RowFault::NotUtf8)?;
    Ok(record)
}

/// The fields of a line each of which is quoted as a whole or not at all.
fn split(line: &str) -> Option<csv::StringRecord> {
    if line.is_empty() || line.contains('\u{feff}') {
        return None;
    }
    let mut record = csv::StringRecord::with_capacity(line.len(), 40);
    let mut rest = Some(line);
    while let Some(text) = rest {
        if let Some(quoted) = text.strip_prefix('"') {
            let mut field = String::new();
            let mut behind = quoted;
            loop {
                let (part, after) = behind.split_once('"')?;
                field.push_str(part);
                match after.strip_prefix('"') {
                    Some(more) => {
                        field.push('"');
                        behind = more;
                    }
                    None => {
                        behind = after;
                        break;
                    }
                }
            }
            record.push_field(&field);
            rest = match behind.strip_prefix(',') {
                None if behind.is_empty() => None,
                next => Some(next?),
            };
        } else {
            let (field, next) = text.split_once(',').map_or((text, None), |(field, next)| (field, Some(next)));
            if field.contains('"') {
                return None;
            }
            record.push_field(field);
            rest = next;
        }
    }
    Some(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of a fact that rests on `cells` cells.
    fn fact(cells: u64) -> Vec<u8> {
        let ids: Vec<String> = (0..cells).map(|id| format!("{id:012x}")).collect();
        let row = FactRow {
            probe: crate::rows::Probe::Throughput,
            path: "tiled".to_owned(),
            triple: None,
            shape: None,
            recipe: None,
            cache: None,
            name: "verdict.win".to_owned(),
            value: "no win".to_owned(),
            unit: String::new(),
            low: None,
            high: None,
            words: String::new(),
            evidence: ids.join(" "),
        };
        let mut line = Vec::new();
        write_line(&row, &mut line).unwrap();
        line.pop();
        line
    }

    #[test]
    fn a_fact_names_as_many_cells_as_a_large_run_has_and_no_line_is_endless() {
        let large = fact(100_000);
        assert!(large.len() > CellRow::LIMIT, "longer than any other row's line");
        assert_eq!(read_line::<FactRow>(&large).unwrap().evidence.split(' ').count(), 100_000);
        assert!(matches!(read_line::<FactRow>(&fact(400_000)), Err(RowFault::TooLong { limit: LINE_LIMIT })));
        let cell = vec![b'x'; CellRow::LIMIT + 1];
        assert!(matches!(read_line::<CellRow>(&cell), Err(RowFault::TooLong { limit }) if limit == CellRow::LIMIT));
    }

    proptest::proptest! {
        #[test]
        fn a_split_line_has_the_fields_that_the_csv_crate_finds(line in "[^\r\n]{0,30}|([a-z0-9,\" é]{0,40})|((\"[a,]{0,3}(\"\"){0,2}\"|[a-z]{0,3}),){0,6}(x|\"\")?|\u{feff}?[a,\"]{0,9}") {
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
            let mut record = csv::StringRecord::new();
            reader.read_record(&mut record).unwrap();
            proptest::prop_assert_eq!(fields(&line).unwrap(), record);
        }
    }

    #[test]
    fn what_is_tame_stays_as_it_is_however_long_it_was() {
        for length in [0, 10, TEXT_LIMIT - 1, TEXT_LIMIT, TEXT_LIMIT + 1, 3 * TEXT_LIMIT] {
            for unit in ["a", "é", "\n"] {
                let mut text = unit.repeat(length.div_ceil(unit.len()));
                tame(&mut text);
                let once = text.clone();
                tame(&mut text);
                assert_eq!(text, once);
                assert!(text.len() <= TEXT_LIMIT, "{}", text.len());
            }
        }
    }
}
