//! What does a run directory say?

use crate::facts::Evidence;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::{CellId, CellRow, FactRow, PowerRow, SampleRow, WitnessRow};
use crate::store::directory::{self, CELLS, FACTS, Listing, PLAN, POWER, RUN, SAMPLES, WITNESS};
use crate::store::error::{FileFault, RowFault, StoreError};
use crate::store::grouped::{GroupedRow, Key};
use crate::store::manifest::Manifest;
use crate::store::row_text::{self, TextRow};
use crate::store::samples::{Samples, Witness};
use crate::store::scan::{self, Expected, Scanned};
use crate::store::survey::{self, Torn};
use crate::store::text_file::{self, TextFile};
use crate::units::{UnitRecord, files_of};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A run as it lies on disk: all of it but samples and witness, which are read when asked for.
#[derive(Debug)]
pub struct Run {
    dir: PathBuf,
    manifest: Option<Manifest>,
    plan: Plan,
    provenance: Vec<Provenance>,
    cells: Vec<CellRow>,
    lines: Vec<u64>,
    facts: Vec<FactRow>,
    power: Vec<PowerRow>,
    units: Vec<UnitRecord>,
    torn: Vec<Torn>,
    /// Digests that differ from MANIFEST, where reading was asked to go on.
    pub(crate) complaints: Vec<StoreError>,
}

impl Run {
    /// Whether a run has begun in a directory: provenance is there.
    pub fn is_one(dir: &Path) -> bool {
        dir.is_dir() && directory::list(dir).is_ok_and(|listing| listing.has_begun())
    }

    /// Reads a sealed or unsealed run.
    ///
    /// A sealed run must agree with its MANIFEST; `samples.csv` and `witness.csv` are held against it when they are read.
    /// Of an unsealed run the cells with whole evidence are given; others are named by [`Run::torn`]. Nothing is written.
    ///
    /// # Errors
    /// The first file and line that is not as a run writes it.
    pub fn open(dir: &Path) -> Result<Run, StoreError> {
        let mut run = Run::read(dir)?;
        if run.complaints.is_empty() { Ok(run) } else { Err(run.complaints.swap_remove(0)) }
    }

    /// Reads a run; where a digest differs from MANIFEST, notes it and goes on, so that `verify` can name the row.
    pub(crate) fn read(dir: &Path) -> Result<Run, StoreError> {
        if !dir.is_dir() {
            return Err(StoreError::file(dir, FileFault::NotARun));
        }
        let listing = directory::list(dir)?;
        if !listing.has_begun() {
            return Err(StoreError::file(dir, FileFault::NotARun));
        }
        let manifest = listing.sealed.then(|| Manifest::read(dir)).transpose()?;
        let mut complaints = manifest.as_ref().map_or(Vec::new(), |manifest| manifest.compare(dir, &listing));
        let provenance = read_provenance(dir, &listing)?;
        let plan = read_plan(dir, &provenance)?;
        let sealed = manifest.is_some();
        let mut check = |name: &str, digest, rows| {
            if let Some(Err(error)) = manifest.as_ref().map(|manifest| manifest.check(dir, name, digest, rows)) {
                complaints.push(error);
            }
        };
        let small = listing.record.iter().filter(|name| [PLAN, RUN].contains(&name.as_str()) || name.contains('/'));
        for name in small.filter(|_| sealed) {
            let (digest, lines) = crate::store::manifest::digest_file(&dir.join(name))?;
            check(name, digest, name.ends_with(".csv").then(|| lines.saturating_sub(1)));
        }
        let mut file = read_rows::<CellRow>(dir, CELLS, sealed, &mut check)?;
        let power = read_rows::<PowerRow>(dir, POWER, sealed, &mut check)?.rows;
        let facts = if sealed { read_rows::<FactRow>(dir, FACTS, sealed, &mut check)?.rows } else { Vec::new() };
        check_keys(&dir.join(CELLS), &file, &provenance, sealed)?;
        let mut torn = Vec::new();
        if !sealed {
            let survey = survey::survey(dir, &file.rows, &file.places)?;
            let mut kept = survey.kept.iter().peekable();
            let mut keep = (0..file.rows.len()).map(|i| kept.next_if_eq(&&i).is_some()).collect::<Vec<_>>().into_iter();
            let mut again = keep.clone();
            file.rows.retain(|_| keep.next().unwrap_or(false));
            file.places.retain(|_| again.next().unwrap_or(false));
            torn = survey.torn;
        }
        let mut units = Vec::new();
        for row in &file.rows {
            match UnitRecord::read(dir, row) {
                Ok(record) => units.extend(record),
                Err(error) => complaints.push(error),
            }
        }
        if sealed {
            let named: HashSet<String> = file.rows.iter().flat_map(files_of).collect();
            let of_cells = |name: &&String| name.contains('/') && !name.starts_with("runs/");
            let strange = listing.record.iter().filter(of_cells).find(|name| !named.contains(*name));
            complaints.extend(strange.map(|name| StoreError::file(&dir.join(name), FileFault::NoCell)));
        }
        let lines = file.places.iter().map(|place| place.line).collect();
        let (dir, cells) = (dir.to_owned(), file.rows);
        Ok(Run { dir, manifest, plan, provenance, cells, lines, facts, power, units, torn, complaints })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether MANIFEST is there. An unsealed run is unfinished: it has no facts.
    pub fn is_sealed(&self) -> bool {
        self.manifest.is_some()
    }

    /// MANIFEST of a sealed run.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// What was asked.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where and with what: one record, or one a run after `merge`, sorted by run id.
    pub fn provenance(&self) -> &[Provenance] {
        &self.provenance
    }

    /// Cell rows: sorted by (cell, process) in a sealed run, in the order of finishing in an unsealed one.
    pub fn cells(&self) -> &[CellRow] {
        &self.cells
    }

    /// The line of `cells.csv` on which [`Run::cells`]`[index]` stands; 0 past the end.
    pub fn line(&self, index: usize) -> u64 {
        self.lines.get(index).copied().unwrap_or(0)
    }

    /// Facts of a sealed run, as stored.
    pub fn facts(&self) -> &[FactRow] {
        &self.facts
    }

    /// Meter readings.
    pub fn power(&self) -> &[PowerRow] {
        &self.power
    }

    /// What was found of units, in the order of their cell rows.
    pub fn units(&self) -> &[UnitRecord] {
        &self.units
    }

    /// What facts are derived from.
    pub fn evidence<'r>(&'r self, samples: &'r Samples) -> Evidence<'r> {
        Evidence {
            plan: &self.plan,
            provenance: &self.provenance,
            cells: &self.cells,
            samples,
            power: &self.power,
            units: &self.units,
        }
    }

    /// Cell rows of an unsealed run whose evidence is not whole: a resume measures them again.
    pub fn torn(&self) -> &[Torn] {
        &self.torn
    }

    /// Every repetition behind the cells.
    ///
    /// # Errors
    /// The first line that is not as a run writes it, a cell with more or fewer rows than it states, or another digest
    /// than MANIFEST states.
    pub fn samples(&self) -> Result<Samples, StoreError> {
        let (samples, scanned) = self.read_samples()?;
        self.check(SAMPLES, &scanned)?;
        for (row, line) in self.cells.iter().zip(&self.lines) {
            let found = scanned.groups.get(&survey::key(row)).map_or(0, |span| span.rows);
            if found != row.repetitions.unwrap_or(0) {
                return Err(StoreError::row(&self.dir.join(CELLS), *line, repetitions_fault(row, found)));
            }
        }
        Ok(samples)
    }

    /// Every witness element behind the cells; errors as for [`Run::samples`].
    pub fn witness(&self) -> Result<Witness, StoreError> {
        let (witness, scanned) = self.read_witness()?;
        self.check(WITNESS, &scanned)?;
        Ok(witness)
    }

    pub(crate) fn read_samples(&self) -> Result<(Samples, Scanned), StoreError> {
        let mut samples = Samples::default();
        let scanned = self.scan::<SampleRow>(SAMPLES, &mut |rows| samples.extend(rows))?;
        samples.shrink();
        Ok((samples, scanned))
    }

    pub(crate) fn read_witness(&self) -> Result<(Witness, Scanned), StoreError> {
        let mut witness = Witness::default();
        let scanned = self.scan::<WitnessRow>(WITNESS, &mut |rows| witness.extend(rows))?;
        Ok((witness, scanned))
    }

    fn scan<T: GroupedRow>(&self, name: &str, sink: &mut dyn FnMut(&[T])) -> Result<Scanned, StoreError> {
        let keys: Vec<Key> = self.cells.iter().map(survey::key).collect();
        let path = self.dir.join(name);
        if self.is_sealed() {
            return scan::scan(&path, Expected::Sealed(&keys), sink);
        }
        scan::scan(&path, Expected::Unsealed(&keys.into_iter().collect()), sink)
    }

    /// Holds a scanned file against MANIFEST.
    pub(crate) fn check(&self, name: &str, scanned: &Scanned) -> Result<(), StoreError> {
        match &self.manifest {
            Some(manifest) => manifest.check(&self.dir, name, scanned.digest, Some(scanned.rows)),
            None => Ok(()),
        }
    }
}

/// What is wrong with a row that states another number of repetitions than it has.
pub(crate) fn repetitions_fault(row: &CellRow, found: u32) -> RowFault {
    RowFault::Field {
        column: "repetitions",
        found: row.repetitions.map(|n| n.to_string()).unwrap_or_default(),
        allowed: format!("{found}, the rows that samples.csv holds for it"),
    }
}

/// Every provenance of a run, sorted by run id.
pub(crate) fn read_provenance(dir: &Path, listing: &Listing) -> Result<Vec<Provenance>, StoreError> {
    let names = listing.record.iter().filter(|name| *name == RUN || name.starts_with("runs/"));
    let mut all = Vec::new();
    for name in names {
        let path = dir.join(name);
        let text = directory::read_text(&path)?;
        let provenance: Provenance = serde_json::from_str(&text)
            .map_err(|error| StoreError::row(&path, error.line() as u64, RowFault::Json(error.to_string())))?;
        if provenance.schema != Provenance::SCHEMA {
            return Err(StoreError::file(&path, FileFault::Schema(provenance.schema)));
        }
        let stem = name.strip_prefix("runs/").and_then(|file| file.strip_suffix(".json"));
        if !is_run_id(&provenance.run) || stem.is_some_and(|stem| stem != provenance.run) {
            return Err(StoreError::file(&path, FileFault::RunId(provenance.run)));
        }
        all.push(provenance);
    }
    if listing.record.contains(RUN) && all.len() > 1 {
        return Err(StoreError::file(&dir.join(RUN), FileFault::Added));
    }
    all.sort_by(|a, b| a.run.cmp(&b.run));
    Ok(all)
}

/// Whether a run id can be a file name everywhere.
pub(crate) fn is_run_id(id: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    (1..=100).contains(&id.len()) && id.bytes().all(fine) && !id.starts_with('.')
}

/// The plan, which must be the one that every provenance names, byte for byte.
pub(crate) fn read_plan(dir: &Path, provenance: &[Provenance]) -> Result<Plan, StoreError> {
    let path = dir.join(PLAN);
    let text = directory::read_text(&path)?;
    let plan = Plan::parse(&text, &path.display().to_string())?;
    let found = blake3::hash(text.as_bytes()).to_hex().to_string();
    match provenance.iter().find(|record| record.plan_hash != found) {
        None if plan.to_toml() == text => Ok(plan),
        None => Err(StoreError::file(&path, FileFault::PlanText)),
        Some(record) => Err(StoreError::file(&path, FileFault::PlanHash { stated: record.plan_hash.clone(), found })),
    }
}

type Check<'a> = dyn FnMut(&str, blake3::Hash, Option<u64>) + 'a;

fn read_rows<T: TextRow>(
    dir: &Path,
    name: &str,
    sealed: bool,
    check: &mut Check<'_>,
) -> Result<TextFile<T>, StoreError> {
    let file = text_file::read::<T>(&dir.join(name), row_text::read_line, !sealed)?;
    check(name, file.digest, Some(file.rows.len() as u64));
    Ok(file)
}

/// Ids, order and origin of cell rows.
pub(crate) fn check_keys(
    path: &Path,
    file: &TextFile<CellRow>,
    provenance: &[Provenance],
    sealed: bool,
) -> Result<(), StoreError> {
    let mut last: Option<Key> = None;
    for (row, place) in file.rows.iter().zip(&file.places) {
        let refuse = |fault| Err(StoreError::row(path, place.line, fault));
        let expected = CellId::of(&row.identity());
        if row.cell != expected {
            return refuse(RowFault::Identity { expected });
        }
        let Some(origin) = provenance.iter().find(|record| record.run == row.run) else {
            return refuse(RowFault::Unknown { column: "run", found: row.run.clone() });
        };
        if row.device != origin.device.id {
            return refuse(RowFault::Unknown { column: "device", found: row.device.clone() });
        }
        if row.driver != origin.device.driver {
            return refuse(RowFault::Unknown { column: "driver", found: row.driver.clone() });
        }
        let key = survey::key(row);
        match last.map(|last| last.cmp(&key)).filter(|_| sealed) {
            Some(std::cmp::Ordering::Equal) => return refuse(RowFault::Duplicate),
            Some(std::cmp::Ordering::Greater) => return refuse(RowFault::Unsorted),
            _ => last = Some(key),
        }
    }
    Ok(())
}
