//! What can go wrong with the files of a run, and where?

use crate::plan::PlanError;
use crate::rows::CellId;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run cannot be read or written. Every message names the file, and the line where there is one.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}{}", path.display(), advice(source))]
    Io {
        /// File or directory.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// A line is not what its file may hold.
    #[error("{}:{line}: {fault}", path.display())]
    Row {
        /// File.
        path: PathBuf,
        /// Line, from 1; the header is line 1.
        line: u64,
        /// What is wrong with it.
        fault: RowFault,
    },
    /// A file as a whole is not what it must be.
    #[error("{}: {fault}", path.display())]
    File {
        /// File or directory.
        path: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// Another process is writing this run.
    #[error("{}: another process is writing this run; wait for it or stop it", dir.display())]
    Busy {
        /// Run directory.
        dir: PathBuf,
    },
    /// `plan.toml` does not read.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A resume under other conditions than those of the run.
    #[error(
        "{}: cannot resume: {field} was `{recorded}` and is now `{now}`; restore it, or start over elsewhere or with --fresh",
        dir.display()
    )]
    Changed {
        /// Run directory.
        dir: PathBuf,
        /// Dotted field of `run.json`.
        field: &'static str,
        /// As recorded.
        recorded: String,
        /// As it is now.
        now: String,
    },
    /// A row that the writer was given and that no run may hold.
    #[error("cell {cell}, process {process}: {why}")]
    Refused {
        /// Cell.
        cell: CellId,
        /// Process.
        process: u32,
        /// What is wrong with it.
        why: String,
    },
    /// `verify` says no to a sealed run that more was to rest on.
    #[error("{}: verify says no: {first}{}", dir.display(), further(*failures))]
    Rejected {
        /// Run directory.
        dir: PathBuf,
        /// What it says first, with file and line.
        first: String,
        /// How often it says no.
        failures: usize,
    },
    /// Runs that cannot be one.
    #[error("cannot merge {} and {}: {why}", first.display(), second.display())]
    Merge {
        /// One file or directory.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// What keeps them apart.
        why: String,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { path, action, source }
    }

    pub(crate) fn row(path: &Path, line: u64, fault: RowFault) -> StoreError {
        StoreError::Row { path: path.to_owned(), line, fault }
    }

    pub(crate) fn file(path: &Path, fault: FileFault) -> StoreError {
        StoreError::File { path: path.to_owned(), fault }
    }
}

fn further(failures: usize) -> String {
    if failures > 1 { format!("; {} failures in all", failures) } else { String::new() }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "; every finished cell is kept: free some space and run again to resume"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; give a directory that you may write with --out"
        }
        _ => "",
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFault {
    /// It does not end with a line feed: a torn row.
    Torn,
    /// It is longer than any row of this file.
    TooLong {
        /// Most bytes of a line.
        limit: usize,
    },
    /// A byte that no row may hold.
    Byte(u8),
    /// It is not UTF-8.
    NotUtf8,
    /// The header is another one.
    Header {
        /// Columns that must stand there, in order.
        expected: String,
        /// The first one that does not.
        column: String,
    },
    /// The number of fields is another one.
    Fields {
        /// Columns of the file.
        expected: usize,
        /// Fields of the row.
        found: usize,
    },
    /// A field holds something that its column may not.
    Field {
        /// Column.
        column: &'static str,
        /// As written.
        found: String,
        /// What is allowed.
        allowed: String,
    },
    /// The values read, yet they are not written as a run writes them.
    Spelling {
        /// As a run writes them.
        expected: String,
    },
    /// The row must stand before the one above it.
    Unsorted,
    /// The row stands in the file already.
    Duplicate,
    /// Repetitions are not numbered without a gap.
    Gap {
        /// The index that must stand here.
        expected: u32,
    },
    /// The row belongs to a cell that has no row in `cells.csv`, or stands in another order than there.
    Stray,
    /// The cell id is not that of the row's own axes.
    Identity {
        /// The id of its axes.
        expected: CellId,
    },
    /// The row names a device, driver or run that no `run.json` here has.
    Unknown {
        /// Column.
        column: &'static str,
        /// As written.
        found: String,
    },
    /// Not the JSON of this file.
    Json(String),
    /// The rows behind this one are not those that its digest was taken over.
    Evidence,
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowFault::Torn => write!(f, "a torn row: the line does not end with a line feed"),
            RowFault::TooLong { limit } => write!(f, "the line is longer than {limit} bytes; this is no file of a run"),
            RowFault::Byte(b'\r') => {
                write!(
                    f,
                    "a carriage return; lines of a run end with a line feed alone (was the file checked out as text?)"
                )
            }
            RowFault::Byte(byte) => write!(f, "byte 0x{byte:02x}, which no row may hold"),
            RowFault::NotUtf8 => write!(f, "bytes that are not UTF-8"),
            RowFault::Header { expected, column } => {
                write!(f, "the header lacks column `{column}` in its place; it must read `{expected}`")
            }
            RowFault::Fields { expected, found } => write!(f, "{found} fields where the header has {expected}"),
            RowFault::Field { column, found, allowed } => write!(f, "{column} is `{found}`; allowed: {allowed}"),
            RowFault::Spelling { expected } => write!(f, "not as a run writes it, which is `{expected}`"),
            RowFault::Unsorted => write!(f, "out of order: this row must stand before the one above it"),
            RowFault::Duplicate => write!(f, "a duplicate: a row with this key stands above"),
            RowFault::Gap { expected } => write!(f, "a row is missing: repetition {expected} must stand here"),
            RowFault::Stray => write!(f, "belongs to no row of cells.csv that may come here"),
            RowFault::Identity { expected } => write!(f, "the axes of this row make cell {expected}"),
            RowFault::Unknown { column, found } => write!(f, "{column} `{found}` is in no run.json of this run"),
            RowFault::Json(message) => write!(f, "{message}"),
            RowFault::Evidence => {
                write!(
                    f,
                    "the rows of samples.csv and witness.csv, or the files, behind this cell do not have the digest that it states"
                )
            }
        }
    }
}

/// What is wrong with a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFault {
    /// There is no run here.
    NotARun,
    /// There is a run here already.
    AlreadyARun,
    /// Something is here already, where nothing or an empty directory was asked for.
    NotEmpty,
    /// It lies inside a run.
    InsideARun(PathBuf),
    /// The file has another name, so that writing would change what that name means.
    HardLink,
    /// Something here is not a run's, so the directory is left alone.
    Foreign(String),
    /// A symbolic link, which could lead out of the run.
    Link,
    /// Neither a file nor a directory that a run may hold.
    NotAFile,
    /// A name that leads out of the run.
    Escapes(String),
    /// A file that a run must hold is not there.
    Missing,
    /// The file is not in MANIFEST.
    Added,
    /// A record of a unit that no cell row names.
    NoCell,
    /// Its digest is not the one in MANIFEST.
    Digest {
        /// As MANIFEST states.
        stated: String,
        /// As it is.
        found: String,
    },
    /// It has another number of rows than MANIFEST states.
    Rows {
        /// As MANIFEST states.
        stated: u64,
        /// As it is.
        found: u64,
    },
    /// It is larger than any such file.
    TooLarge {
        /// Most bytes, or rows.
        limit: u64,
        /// `bytes` or `rows`.
        unit: &'static str,
    },
    /// The plan's hash is not the one in `run.json`.
    PlanHash {
        /// As `run.json` states.
        stated: String,
        /// As it is.
        found: String,
    },
    /// The plan says what it says in other words than a run writes.
    PlanText,
    /// File formats of another version of Rigel.
    Schema(u32),
    /// A run id that cannot be a file name.
    RunId(String),
    /// The run was never sealed.
    Unsealed,
    /// Several runs were merged here; it cannot be resumed.
    Merged,
    /// A write failed before, and what it left could not be taken back.
    Poisoned,
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileFault::NotARun => write!(f, "no run here: it has neither run.json nor runs/*.json"),
            FileFault::AlreadyARun => write!(f, "a run is here already; resume it, or start over with --fresh"),
            FileFault::NotEmpty => {
                write!(f, "is there already and is not empty; nothing was touched: name another directory")
            }
            FileFault::InsideARun(run) => {
                write!(f, "lies inside the run {}, which takes no other files; name a directory outside", run.display())
            }
            FileFault::HardLink => {
                write!(
                    f,
                    "has another name (a hard link), which writing would change too; nothing was touched: copy it"
                )
            }
            FileFault::Foreign(name) => {
                write!(f, "holds `{name}`, which is no file of a run; nothing was touched: name an empty directory")
            }
            FileFault::Link => write!(f, "a symbolic link; a run holds its own files only"),
            FileFault::NotAFile => write!(f, "not a regular file"),
            FileFault::Escapes(name) => write!(f, "names `{name}`, which is not a plain path inside the run"),
            FileFault::Missing => write!(f, "is missing"),
            FileFault::Added => write!(f, "is not in MANIFEST; a sealed run takes no further files"),
            FileFault::NoCell => write!(f, "belongs to no row of cells.csv"),
            FileFault::Digest { stated, found } => {
                write!(f, "was changed after sealing: MANIFEST states BLAKE3 {stated}, the file has {found}")
            }
            FileFault::Rows { stated, found } => {
                write!(f, "has {found} rows, MANIFEST states {stated}: rows were added or are missing")
            }
            FileFault::TooLarge { limit, unit } => write!(f, "has more than {limit} {unit}; this is no file of a run"),
            FileFault::PlanHash { stated, found } => {
                write!(f, "is not the plan of this run: run.json states {stated}, the file has {found}")
            }
            FileFault::PlanText => {
                write!(f, "is not written as a run writes its plan, so it was edited: restore it")
            }
            FileFault::Schema(found) => {
                let ours = crate::Provenance::SCHEMA;
                write!(f, "has file formats of version {found}; this rigel reads version {ours}")
            }
            FileFault::RunId(id) => {
                write!(
                    f,
                    "run id `{id}`: allowed are 1 to 100 letters, digits, `.`, `_` or `-`, not beginning with `.`"
                )
            }
            FileFault::Unsealed => write!(f, "was never sealed: resume the run first, so that it ends"),
            FileFault::Merged => write!(f, "was merged from several runs; resume its shards, then merge again"),
            FileFault::Poisoned => {
                write!(f, "an earlier write failed half way and could not be taken back; run again to resume")
            }
        }
    }
}
