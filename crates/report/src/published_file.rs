//! How is a file under `published/` read, and what is said of one that does not read?

/// Why a file under `published/` does not read.
#[derive(Debug, thiserror::Error)]
pub enum PublishedError {
    /// Other columns, or none.
    #[error("{file}:1: columns are `{found}`; expected `{expected}`")]
    Columns {
        /// File.
        file: String,
        /// What the first line says.
        found: String,
        /// What it must say.
        expected: String,
    },
    /// A field that cannot be what its column holds.
    #[error("{file}:{line}: {column} is `{found}`; {allowed}")]
    Field {
        /// File.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What may stand there.
        allowed: String,
    },
    /// Lines that are no CSV, or have too few or too many fields.
    #[error("{file}: {source}")]
    Csv {
        /// File.
        file: String,
        /// What the reader of CSV says, with the line.
        source: csv::Error,
    },
}

/// What `row` makes of each line of a file of these columns.
pub(crate) fn rows<T>(
    file: &str,
    text: &str,
    columns: &[&str],
    row: impl Fn(&Line<'_>) -> Result<T, PublishedError>,
) -> Result<Vec<T>, PublishedError> {
    let broken = |source| PublishedError::Csv { file: file.to_owned(), source };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(broken)?.clone();
    if !header.iter().eq(columns.iter().copied()) {
        let found = header.iter().collect::<Vec<_>>().join(",");
        return Err(PublishedError::Columns { file: file.to_owned(), found, expected: columns.join(",") });
    }
    reader.records().map(|record| row(&Line { file, header: &header, record: &record.map_err(broken)? })).collect()
}

/// A line of a file.
pub(crate) struct Line<'a> {
    file: &'a str,
    header: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
}

impl Line<'_> {
    /// What stands in a column.
    pub(crate) fn text(&self, column: &'static str) -> &str {
        let at = self.header.iter().position(|name| name == column);
        at.and_then(|at| self.record.get(at)).unwrap_or_default()
    }

    /// The error that names a column and what may stand in it.
    pub(crate) fn bad(&self, column: &'static str, allowed: impl Into<String>) -> PublishedError {
        let line = self.record.position().map_or(0, csv::Position::line);
        let (file, found) = (self.file.to_owned(), self.text(column).to_owned());
        PublishedError::Field { file, line, column, found, allowed: allowed.into() }
    }

    /// A column as what it holds.
    pub(crate) fn parsed<T>(
        &self,
        column: &'static str,
        read: impl Fn(&str) -> Option<T>,
        allowed: &str,
    ) -> Result<T, PublishedError> {
        read(self.text(column)).ok_or_else(|| self.bad(column, allowed))
    }

    /// A text that is not empty.
    pub(crate) fn words(&self, column: &'static str) -> Result<String, PublishedError> {
        self.parsed(column, |text| (!text.trim().is_empty()).then(|| text.to_owned()), "must not be empty")
    }

    /// One of some words.
    pub(crate) fn one_of(&self, column: &'static str, known: &[&str]) -> Result<String, PublishedError> {
        let read = |text: &str| known.contains(&text).then(|| text.to_owned());
        self.parsed(column, read, &format!("one of {}", known.join(", ")))
    }

    /// A finite number above zero.
    pub(crate) fn positive(&self, column: &'static str, what: &str) -> Result<f64, PublishedError> {
        let read = |text: &str| text.parse::<f64>().ok().filter(|x| x.is_finite() && *x > 0.0);
        self.parsed(column, read, what)
    }

    /// A finite number above zero, or nothing.
    pub(crate) fn optional(&self, column: &'static str, what: &str) -> Result<Option<f64>, PublishedError> {
        if self.text(column).is_empty() { Ok(None) } else { self.positive(column, what).map(Some) }
    }
}
