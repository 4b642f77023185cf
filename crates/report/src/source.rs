//! What are figures, pages and tables made from?

use crate::published::{self, Published};
use rigel_ledger::facts::SampleSource;
use rigel_ledger::provenance::RunKind;
use rigel_ledger::store::{Run, Samples};
use rigel_ledger::units::UnitRecord;
use rigel_ledger::{CellRow, FactRow, Plan, PowerRow, Probe, Provenance};

/// The files of one run (or of several merged ones), already read. Every figure, page and table is a pure function of
/// it: equal sources give equal bytes on every machine.
///
/// Rows may come in any order. Nothing here is checked again: `verify` is what decides whether the files can be trusted.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// Where and with what: one record, or several after `merge`.
    pub provenance: &'a [Provenance],
    /// Every cell row of every process.
    pub cells: &'a [CellRow],
    /// What was derived from the cells.
    pub facts: &'a [FactRow],
    /// The repetitions behind the cells.
    pub samples: &'a dyn SampleSource,
    /// Readings of meters, in windows at idle and under a load.
    pub power: &'a [PowerRow],
    /// What was found of single units.
    pub units: &'a [UnitRecord],
    /// What others published about the device, drawn apart from ours and never mixed with it.
    pub published: &'a [Published],
    /// Which files all this was read from.
    pub files: &'a Files,
}

/// Where a source was read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// The run directory as commands should name it, relative to the project (`data/cpu/paper`).
    pub directory: String,
    /// Its files, in the order of MANIFEST; empty for a run that is not sealed.
    pub files: Vec<FileRecord>,
}

/// One file of a sealed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// Name inside the run directory.
    pub name: String,
    /// Rows, where the file has rows.
    pub rows: Option<u64>,
    /// BLAKE3, hex.
    pub digest: String,
}

impl Files {
    /// The files of a run that was opened; `directory` is how commands in figures and pages name it.
    pub fn of(run: &Run, directory: &str) -> Self {
        let record = |row: &rigel_ledger::store::ManifestRow| FileRecord {
            name: row.file.clone(),
            rows: row.rows,
            digest: row.digest.clone(),
        };
        let files = run.manifest().map(|m| m.rows().map(record).collect()).unwrap_or_default();
        Files { directory: directory.to_owned(), files }
    }
}

impl<'a> Source<'a> {
    /// The source of a run that was opened, with its repetitions ([`Run::samples`]), its files ([`Files::of`]) and what
    /// others published about its device.
    pub fn open(run: &'a Run, samples: &'a Samples, files: &'a Files) -> Self {
        Source {
            plan: run.plan(),
            provenance: run.provenance(),
            cells: run.cells(),
            facts: run.facts(),
            samples,
            power: run.power(),
            units: run.units(),
            published: published::about(run.provenance()),
            files,
        }
    }
}

impl Source<'_> {
    /// Whether any of the runs came from a device with planted facts. Then everything drawn is marked.
    pub fn simulated(&self) -> bool {
        self.provenance.iter().any(|p| p.kind == RunKind::Simulated)
    }

    /// Whether the plan measures products, and not single units alone.
    pub fn asks_products(&self) -> bool {
        let products = [Probe::Types, Probe::Throughput, Probe::Clocks, Probe::Dispatch];
        self.plan.probes.iter().any(|probe| products.contains(probe))
    }

    /// Whether the run is sealed: only then it has facts, and digests that vouch for its files.
    pub fn sealed(&self) -> bool {
        !self.files.files.is_empty()
    }

    /// `measured` or `simulated`.
    pub fn kind(&self) -> &'static str {
        if self.simulated() { "simulated" } else { "measured" }
    }

    /// Names of the devices, each once, joined by commas; `unknown device` without provenance.
    pub fn devices(&self) -> String {
        distinct(self.provenance.iter().map(|p| p.device.name.as_str()), "unknown device")
    }

    /// Run ids, each once, joined by commas.
    pub fn runs(&self) -> String {
        distinct(self.provenance.iter().map(|p| p.run.as_str()), "unknown run")
    }

    /// Code commits, each once, with `-dirty` where the code differed from the commit.
    pub fn commits(&self) -> String {
        let commit = |p: &Provenance| {
            let short: String = p.commit.chars().take(12).collect();
            if p.dirty == Some(true) { format!("{short}-dirty") } else { short }
        };
        let all: Vec<String> = self.provenance.iter().map(commit).filter(|c| !c.is_empty()).collect();
        distinct(all.iter().map(String::as_str), "unknown commit")
    }

    /// Required fields of provenance that are missing, each with the run that lacks it. A run with any gives no verdict.
    pub fn incomplete(&self) -> Vec<String> {
        if self.provenance.is_empty() {
            return vec!["run.json".to_owned()];
        }
        let fields = |p: &Provenance| p.missing().into_iter().map(|f| format!("{f} of {}", p.run)).collect::<Vec<_>>();
        self.provenance.iter().flat_map(fields).collect()
    }

    /// The command that draws every figure of this run again.
    pub fn figures_command(&self) -> String {
        format!("rigel figures {}", self.directory())
    }

    /// The command that writes this run's page again.
    pub fn report_command(&self) -> String {
        format!("rigel report {}", self.directory())
    }

    /// The run directory as a shell word.
    pub fn directory(&self) -> String {
        let name = if self.files.directory.is_empty() { "." } else { self.files.directory.as_str() };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | ':');
        if name.chars().all(plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
    }
}

/// Texts in order of first appearance, each once, joined by commas.
fn distinct<'t>(texts: impl Iterator<Item = &'t str>, none: &str) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for text in texts.filter(|t| !t.is_empty()) {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    match seen.len() {
        0 => none.to_owned(),
        1..=4 => seen.join(", "),
        n => format!("{} and {} more", seen[..3].join(", "), n - 3),
    }
}
