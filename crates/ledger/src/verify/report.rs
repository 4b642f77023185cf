//! What did a verification find?

use crate::store::StoreError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Failures that a check keeps; it counts all.
const KEPT: usize = 1000;

/// What a verification found, check by check, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The checks that could be made.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.failed == 0)
    }
}

/// Which check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckName {
    /// Files, rows and digests against MANIFEST.
    Files,
    /// Provenance against the plan and this build.
    Provenance,
    /// Cell rows against what plan and offers ask for.
    Plan,
    /// Evidence behind each cell row against its digest.
    Evidence,
    /// Summary columns against samples.
    Statistics,
    /// Gate columns against the witness.
    Gates,
    /// Records of units against what their own models, maps and rules give.
    Units,
    /// Meter readings: order and phases.
    Power,
    /// Facts against what follows from all the rest.
    Facts,
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            CheckName::Files => "files",
            CheckName::Provenance => "provenance",
            CheckName::Plan => "plan",
            CheckName::Evidence => "evidence",
            CheckName::Statistics => "statistics",
            CheckName::Gates => "gates",
            CheckName::Units => "units",
            CheckName::Power => "power",
            CheckName::Facts => "facts",
        })
    }
}

/// One check over many items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Which.
    pub name: CheckName,
    /// How many files, rows or facts were looked at.
    pub items: usize,
    /// How many failures there are.
    pub failed: usize,
    /// The first thousand of them, in the order of the files.
    pub failures: Vec<Failure>,
    /// What a reader should know though nothing failed.
    pub notes: Vec<String>,
}

impl Check {
    pub(crate) fn of(name: CheckName, items: usize, mut failures: Vec<Failure>) -> Check {
        let failed = failures.len();
        failures.truncate(KEPT);
        Check { name, items, failed, failures, notes: Vec::new() }
    }
}

/// One thing that does not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// File.
    pub path: PathBuf,
    /// Line, from 1; none for the file as a whole.
    pub line: Option<u64>,
    /// What differs.
    pub what: String,
}

impl Failure {
    pub(crate) fn file(path: &Path, what: String) -> Failure {
        Failure { path: path.to_owned(), line: None, what }
    }

    pub(crate) fn line(path: &Path, line: u64, what: String) -> Failure {
        Failure { path: path.to_owned(), line: Some(line), what }
    }
}

impl From<&StoreError> for Failure {
    fn from(error: &StoreError) -> Failure {
        match error {
            StoreError::Row { path, line, fault } => Failure::line(path, *line, fault.to_string()),
            StoreError::File { path, fault } => Failure::file(path, fault.to_string()),
            StoreError::Io { path, action, source } => Failure::file(path, format!("cannot {action}: {source}")),
            StoreError::Plan(error) => {
                Failure::line(Path::new(&error.file), error.line as u64, error.fault.to_string())
            }
            other => Failure::file(Path::new(""), other.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.what),
            None => write!(f, "{}: {}", self.path.display(), self.what),
        }
    }
}
