//! Which findings did the study of the M4 Max publish, and how sure is each part of what is known of them?
//!
//! `published/arxiv-2606.12765/findings.csv` holds them. The rows of the study's table were never seen in full: only that there are
//! eleven, eight hidden and three contradicted, is published. Which they are was put together from its text, its abstract, its
//! page and its readers, so every row is drawn as `reconstruction` and agrees or differs with nothing.

use crate::published_file::{PublishedError, rows};

/// The file, as errors name it.
const FILE: &str = "published/arxiv-2606.12765/findings.csv";
const TEXT: &str = include_str!("../../../published/arxiv-2606.12765/findings.csv");

/// Its columns.
const COLUMNS: [&str; 11] = [
    "number",
    "claim",
    "claim_mark",
    "class",
    "class_mark",
    "specification",
    "rule",
    "value",
    "value_mark",
    "row_mark",
    "source",
];

/// Where a part of a finding was read.
pub(crate) const MARKS: [&str; 5] = ["paper", "abstract", "page", "third party", "inferred"];

/// What a finding says of the vendor's document.
const CLASSES: [&str; 3] = ["hidden", "contradicted", "control"];

/// What is known of the study by itself: how many findings there are.
pub const PUBLISHED_COUNTS: (usize, usize) = (8, 3);

/// A finding that others published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueRow {
    /// Its number here; the study's own is not known.
    pub number: u32,
    /// What is claimed, and where that was read.
    pub claim: (String, String),
    /// `hidden`, `contradicted` or `control`, and where that was read.
    pub class: (String, String),
    /// What the vendor's document says of it.
    pub specification: String,
    /// The rule by which it is decided.
    pub rule: String,
    /// The study's value and where it was read; `None` where none is known.
    pub value: Option<(String, String)>,
    /// Who, where.
    pub source: String,
}

/// The findings that are built in.
///
/// # Errors
/// [`PublishedError`]; a test reads the file, so none is expected.
pub fn findings() -> Result<Vec<CatalogueRow>, PublishedError> {
    read(TEXT)
}

/// Reads the text of a catalogue.
///
/// # Errors
/// [`PublishedError`], for the first line that is not as documented.
pub fn read(text: &str) -> Result<Vec<CatalogueRow>, PublishedError> {
    rows(FILE, text, &COLUMNS, |line| {
        line.one_of("row_mark", &["reconstruction"])?;
        let value = match (line.text("value").is_empty(), line.text("value_mark").is_empty()) {
            (true, true) => None,
            (false, false) => Some((line.text("value").to_owned(), line.one_of("value_mark", &MARKS)?)),
            _ => return Err(line.bad("value_mark", "a value and its mark, or neither")),
        };
        Ok(CatalogueRow {
            number: line.parsed("number", |text| text.parse().ok(), "a whole number")?,
            claim: (line.words("claim")?, line.one_of("claim_mark", &MARKS)?),
            class: (line.one_of("class", &CLASSES)?, line.one_of("class_mark", &MARKS)?),
            specification: line.words("specification")?,
            rule: line.words("rule")?,
            value,
            source: line.words("source")?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_has_the_published_counts() {
        let rows = read(TEXT).unwrap_or_else(|e| panic!("{e}"));
        let of = |class: &str| rows.iter().filter(|r| r.class.0 == class).count();
        assert_eq!((of("hidden"), of("contradicted")), PUBLISHED_COUNTS);
        assert!(rows.iter().map(|r| r.number).eq(1..=11));
    }

    #[test]
    fn what_is_not_as_documented_is_named() {
        let good = TEXT.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(read(&good).map(|rows| rows.len()).ok(), Some(1));
        for (from, to, wanted) in [
            ("number,claim", "count,claim", "columns are `count,"),
            ("\n1,", "\none,", ":2: number is `one`"),
            (",hidden,", ",secret,", ":2: class is `secret`; one of hidden, contradicted, control"),
            (",paper,reconstruction", ",,reconstruction", "a value and its mark, or neither"),
            ("reconstruction", "measured", ":2: row_mark is `measured`; one of reconstruction"),
        ] {
            let said = read(&good.replacen(from, to, 1)).expect_err(wanted).to_string();
            assert!(said.contains(wanted), "{said}");
        }
    }
}
