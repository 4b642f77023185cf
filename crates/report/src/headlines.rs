//! Which numbers and words did the study of the M4 Max publish besides its findings?
//!
//! `published/arxiv-2606.12765/headlines.csv` holds them. Unlike the rows of its Table 1 these were read as they were printed,
//! so ours may agree or differ ([`crate::answers`]).

use crate::catalogue::MARKS;
use crate::published_file::{PublishedError, rows};

/// The file, as errors name it.
const FILE: &str = "published/arxiv-2606.12765/headlines.csv";
const TEXT: &str = include_str!("../../../published/arxiv-2606.12765/headlines.csv");

/// Its columns.
const COLUMNS: [&str; 8] = ["key", "claim", "value", "low", "high", "mark", "note", "source"];

/// A number or word that the study published.
#[derive(Debug, Clone, PartialEq)]
pub struct Headline {
    /// Its name, by which [`crate::answers`] has a rule.
    pub key: String,
    /// What it says.
    pub claim: String,
    /// The value as printed.
    pub value: String,
    /// What a value of ours must overlap to agree: the printed interval or range, else half a unit of the last printed digit to
    /// either side. Operations per second, or a ratio.
    pub range: Option<(f64, f64)>,
    /// Where it was read: `paper`, `abstract`, `page`, `third party`, or `inferred`.
    pub mark: String,
    /// What is disputed or not known of it; may be empty.
    pub note: String,
    /// Who, where.
    pub source: String,
}

/// The headlines that are built in.
///
/// # Errors
/// [`PublishedError`]; a test reads the file, so none is expected.
pub fn headlines() -> Result<Vec<Headline>, PublishedError> {
    read(TEXT)
}

/// Reads the text of a `headlines.csv`.
///
/// # Errors
/// [`PublishedError`], for the first line that is not as documented.
pub fn read(text: &str) -> Result<Vec<Headline>, PublishedError> {
    rows(FILE, text, &COLUMNS, |line| {
        let number = |column| line.optional(column, "a positive number, or empty");
        let range = match (number("low")?, number("high")?) {
            (Some(low), Some(high)) if low <= high => Some((low, high)),
            (None, None) => None,
            _ => return Err(line.bad("low", "both ends of a range, the smaller first, or neither")),
        };
        Ok(Headline {
            key: line.words("key")?,
            claim: line.words("claim")?,
            value: line.words("value")?,
            range,
            mark: line.one_of("mark", &MARKS)?,
            note: line.text("note").to_owned(),
            source: line.words("source")?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_reads_and_its_keys_are_distinct() {
        let rows = headlines().unwrap_or_else(|e| panic!("{e}"));
        let keys: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(keys.len(), rows.len());
    }

    #[test]
    fn what_is_not_as_documented_is_named() {
        let good = TEXT.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(read(&good).map(|rows| rows.len()).ok(), Some(2));
        for (from, to, wanted) in [
            ("key,claim", "name,claim", "columns are `name,claim"),
            ("12.65e12", "-1", ":3: low is `-1`; a positive number"),
            ("12.65e12", "13e12", ":3: low is `13e12`; both ends of a range, the smaller first"),
            ("12.65e12", "", ":3: low is ``; both ends"),
            (",paper,", ",rumour,", ":2: mark is `rumour`; one of paper"),
            ("states-512", "", ":2: key is ``; must not be empty"),
        ] {
            let said = read(&good.replacen(from, to, 1)).expect_err(wanted).to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
