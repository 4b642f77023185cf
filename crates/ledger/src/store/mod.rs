//! How does a run lie on disk, so that nothing measured is lost and nothing changed goes unseen?
//!
//! **Write order.** `plan.toml`, the CSV headers and `run.json` are put there whole and synced before the first cell. Then,
//! for each cell, its lines of `samples.csv` and `witness.csv` are written first and its line of `cells.csv` last, with the
//! digest over the others: that line is the commit record. A process that dies leaves at most lines without a commit
//! record, which [`RunWriter::resume`] drops. A write that fails (a full disk) is taken back, and the writer can go on.
//! `power.csv` is a log: readings stay, whatever becomes of their cell. What was found of a unit lies in files of its own
//! ([`crate::units`]), which are put there whole before their cell row and covered by the digest in it.
//!
//! **Sealing.** [`RunWriter::seal`] sorts every file, adds `facts.csv` and puts MANIFEST there last. Each file takes its
//! name only when it is whole, so a run is unsealed and readable until the moment it is sealed.
//!
//! **Reading.** [`Run::open`] holds everything but samples and witness; [`Run::samples`] takes 12 bytes a repetition. Lines,
//! rows and files have limits, so garbage of any size ends with a message that names file and line.
//!
//! **Merging.** [`merge`] joins runs of one plan, made under the same conditions on one device: `run.json` becomes `runs/<run id>.json`, facts are derived
//! again, and the order of the inputs does not matter. A cell may stand in two runs only as the same row: `samples.csv`
//! has no column for the run and `facts.csv` none for the device, so two measurements of one cell stay two runs, which
//! `compare` reads side by side.
//!
//! All this is integrity, not authenticity: whoever can write the directory can write a consistent lie.

mod admit;
mod blocks;
mod columns;
mod directory;
mod error;
mod evidence;
mod grouped;
mod intact;
mod journal;
mod lock;
mod manifest;
mod merge;
mod reopen;
mod rewrite;
mod row_text;
mod run;
mod samples;
mod scan;
mod seal;
mod survey;
mod text_file;
mod writer;

pub use directory::{CELLS, CONVERSIONS, FACTS, LAYOUTS, MANIFEST, MODELS, PLAN, POWER, RUN, RUNS, SAMPLES, WITNESS};
pub use directory::{enclosing_run, put_bytes};
pub use error::{FileFault, RowFault, StoreError};
pub use evidence::digest;
pub use intact::{Integrity, integrity};
pub use manifest::{Manifest, ManifestRow};
pub use merge::merge;
pub use run::Run;
pub use samples::{SampleSlice, Samples, Witness};
pub use survey::Torn;
pub use writer::RunWriter;

pub(crate) use directory::read_text;
pub(crate) use evidence::digests as evidence_digests;
pub(crate) use row_text::TextRow;
pub(crate) use run::repetitions_fault;
pub(crate) use scan::{Scanned, Span};
pub(crate) use survey::key;
