//! How does a run come to disk, cell by cell, and go on after it was interrupted?

use crate::facts::Evidence;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::{CellId, CellRow, FactRow, PowerRow, SampleRow, WitnessRow};
use crate::store::directory::{self, CELLS, MANIFEST, PLAN, POWER, RUN, SAMPLES, WITNESS};
use crate::store::error::{FileFault, StoreError};
use crate::store::grouped::Key;
use crate::store::journal::Journal;
use crate::store::lock::Lock;
use crate::store::manifest::Manifest;
use crate::store::row_text::{self, TextRow};
use crate::store::scan::Span;
use crate::store::survey::{self, Torn};
use crate::store::{admit, reopen, run, seal};
use crate::units::{Origin, UnitRecord};
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The one process that writes a run. Dropping it leaves the run unsealed and resumable.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    plan: Plan,
    provenance: Provenance,
    /// Samples, witness, cells: the commit record last.
    journal: Journal<File>,
    power: Vec<PowerRow>,
    rows: Vec<CellRow>,
    committed: Vec<Committed>,
    finished: HashSet<(CellId, u32)>,
    torn: Vec<Torn>,
    sealed: bool,
    _lock: Lock,
}

/// A cell on disk and where its lines stand: samples, witness, cells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed {
    pub(crate) key: Key,
    pub(crate) spans: [Option<Span>; 3],
}

/// The files of [`Committed::spans`] with their headers.
pub(crate) fn journal_files() -> [(&'static str, String); 3] {
    [
        (SAMPLES, row_text::header::<SampleRow>()),
        (WITNESS, row_text::header::<WitnessRow>()),
        (CELLS, row_text::header::<CellRow>()),
    ]
}

impl RunWriter {
    /// Begins a run in a directory that does not exist or holds no run. What already lies there is never overwritten.
    ///
    /// # Errors
    /// A run or anything else is there ([`FileFault::AlreadyARun`], [`FileFault::Foreign`]), another process writes
    /// there, the provenance names another plan, or the system refuses.
    pub fn create(dir: &Path, plan: &Plan, provenance: &Provenance) -> Result<RunWriter, StoreError> {
        Self::check_provenance(dir, plan, provenance)?;
        directory::refuse_inside_a_run(dir)?;
        fs::create_dir_all(dir).map_err(StoreError::io(dir, "create"))?;
        let lock = Lock::take(dir)?;
        Self::begin(dir, plan, provenance, lock)
    }

    /// Begins a run where one was: its record is removed first. Refused unless the directory is empty or a run.
    ///
    /// # Errors
    /// As [`RunWriter::create`], save that a run may be there.
    pub fn fresh(dir: &Path, plan: &Plan, provenance: &Provenance) -> Result<RunWriter, StoreError> {
        Self::check_provenance(dir, plan, provenance)?;
        directory::refuse_inside_a_run(dir)?;
        fs::create_dir_all(dir).map_err(StoreError::io(dir, "create"))?;
        let lock = Lock::take(dir)?;
        directory::clear(dir)?;
        Self::begin(dir, plan, provenance, lock)
    }

    /// Goes on with an unfinished run, or opens a sealed one again to add what it lacks (the seal is broken by the first
    /// append only). Lines without a commit record are dropped; [`RunWriter::torn`] names cells that must be measured again.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when plan, device, driver, binary or anything else that rows depend on is not what it was;
    /// a line that was changed; another process that writes there; or the system refuses.
    pub fn resume(dir: &Path, plan: &Plan, provenance: &Provenance) -> Result<RunWriter, StoreError> {
        Self::check_provenance(dir, plan, provenance)?;
        if !dir.is_dir() {
            return Err(StoreError::file(dir, FileFault::NotARun));
        }
        let lock = Lock::take(dir)?;
        let found = reopen::reopen(dir, plan, provenance)?;
        let journal = open_journal(dir, found.lengths)?;
        let finished = found.committed.iter().map(|cell| (cell.key.cell, cell.key.process)).collect();
        let (rows, committed, power, torn, sealed) =
            (found.rows, found.committed, found.power, found.torn, found.sealed);
        let (dir, plan, provenance) = (dir.to_owned(), plan.clone(), found.provenance);
        Ok(RunWriter { dir, plan, provenance, journal, power, rows, committed, finished, torn, sealed, _lock: lock })
    }

    /// [`RunWriter::resume`] where a run has begun, else [`RunWriter::create`].
    ///
    /// # Errors
    /// As these two.
    pub fn open(dir: &Path, plan: &Plan, provenance: &Provenance) -> Result<RunWriter, StoreError> {
        if run::Run::is_one(dir) { Self::resume(dir, plan, provenance) } else { Self::create(dir, plan, provenance) }
    }

    fn check_provenance(dir: &Path, plan: &Plan, provenance: &Provenance) -> Result<(), StoreError> {
        if !run::is_run_id(&provenance.run) {
            return Err(StoreError::file(dir, FileFault::RunId(provenance.run.clone())));
        }
        let (stated, found) = (provenance.plan_hash.clone(), plan.hash());
        if stated != found {
            return Err(StoreError::file(&dir.join(PLAN), FileFault::PlanHash { stated, found }));
        }
        plan.check()?;
        Ok(())
    }

    fn begin(dir: &Path, plan: &Plan, provenance: &Provenance, lock: Lock) -> Result<RunWriter, StoreError> {
        let listing = directory::list(dir)?;
        if let Some(name) = listing.foreign {
            return Err(StoreError::file(dir, FileFault::Foreign(name)));
        }
        if listing.has_begun() || listing.sealed {
            return Err(StoreError::file(dir, FileFault::AlreadyARun));
        }
        // Without run.json nothing was measured here, unless somebody removed it: then the rows are kept.
        let power = (POWER, row_text::header::<PowerRow>());
        for (name, header) in journal_files().into_iter().chain([power]) {
            if fs::metadata(dir.join(name)).is_ok_and(|meta| meta.len() > header.len() as u64) {
                return Err(StoreError::file(&dir.join(RUN), FileFault::Missing));
            }
        }
        directory::put_bytes(&dir.join(PLAN), plan.to_toml().as_bytes())?;
        let mut journal = Journal::new();
        for (name, header) in journal_files() {
            directory::put_bytes(&dir.join(name), header.as_bytes())?;
            journal.open(&dir.join(name), header.len() as u64, 1)?;
        }
        directory::put_bytes(&dir.join(POWER), row_text::header::<PowerRow>().as_bytes())?;
        directory::put_bytes(&dir.join(RUN), provenance_text(provenance)?.as_bytes())?;
        directory::sync_parent(dir)?;
        let (committed, finished, torn) = (Vec::new(), HashSet::new(), Vec::new());
        let (dir, plan, provenance) = (dir.to_owned(), plan.clone(), provenance.clone());
        Ok(RunWriter {
            dir,
            plan,
            provenance,
            journal,
            power: Vec::new(),
            rows: Vec::new(),
            committed,
            finished,
            torn,
            sealed: false,
            _lock: lock,
        })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Provenance as it stands in `run.json`: that of the first start, whose run id rows must carry.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Cell rows on disk, in the order in which they were finished.
    pub fn cells(&self) -> &[CellRow] {
        &self.rows
    }

    /// Whether a cell has its row in a process.
    pub fn has(&self, cell: CellId, process: u32) -> bool {
        self.finished.contains(&(cell, process))
    }

    /// Cells that have their row, with the process.
    pub fn finished(&self) -> &HashSet<(CellId, u32)> {
        &self.finished
    }

    /// Cell rows whose evidence was not whole when this writer opened the run; they were dropped.
    pub fn torn(&self) -> &[Torn] {
        &self.torn
    }

    /// Adds a cell with its evidence: all of it or, after an error, none. Rows are sorted here and [`CellRow::evidence`]
    /// is filled in; free texts are made to fit in a line. Gives the row as it stands in the file.
    ///
    /// # Errors
    /// [`StoreError::Refused`] for a row that no run may hold; [`StoreError::Io`] when the system refuses: then the run is
    /// as it was and the call may be repeated.
    pub fn append(
        &mut self,
        row: CellRow,
        samples: &[SampleRow],
        witness: &[WitnessRow],
    ) -> Result<CellRow, StoreError> {
        self.append_with(row, samples, witness, None)
    }

    /// Adds a cell of one unit with what was found of it: the record's files are there, whole, before the row is. The record's
    /// origin is filled in here.
    ///
    /// # Errors
    /// As [`RunWriter::append`]; also a record that is not this row's.
    pub fn append_unit(&mut self, row: CellRow, mut record: UnitRecord) -> Result<CellRow, StoreError> {
        let device = &self.provenance.device;
        *record.origin_mut() = Origin {
            kind: self.provenance.kind,
            device: device.id.clone(),
            driver: device.driver.clone(),
            toolchain: device.toolchain.clone(),
        };
        self.append_with(row, &[], &[], Some(record))
    }

    fn append_with(
        &mut self,
        mut row: CellRow,
        samples: &[SampleRow],
        witness: &[WitnessRow],
        record: Option<UnitRecord>,
    ) -> Result<CellRow, StoreError> {
        self.break_seal()?;
        let (cell, process) = (row.cell, row.process);
        let refuse = |why: String| StoreError::Refused { cell, process, why };
        if self.has(cell, process) {
            return Err(refuse("it has its row already".to_owned()));
        }
        let files = record.map_or(Vec::new(), |record| record.files(&row));
        let lines = admit::lines(&mut row, samples, witness, &files, &self.provenance);
        let [samples, witness, line] = lines.map_err(refuse)?;
        for (name, bytes) in files {
            directory::put_inside(&self.dir, &name, &bytes)?;
        }
        let spans = self.journal.commit(&[&samples, &witness, &line])?;
        self.committed.push(Committed { key: survey::key(&row), spans: [spans[0], spans[1], spans[2]] });
        self.finished.insert((cell, process));
        self.rows.push(row.clone());
        Ok(row)
    }

    /// Takes cells out of the run, with their evidence: a block that was not finished in one process is measured again.
    ///
    /// # Errors
    /// The system refuses: then the run is whole, with or without these cells, and must be resumed.
    pub fn discard(&mut self, unwanted: impl Fn(&CellRow) -> bool) -> Result<(), StoreError> {
        if !self.rows.iter().any(&unwanted) {
            return Ok(());
        }
        self.break_seal()?;
        let mut keep = self.rows.iter().map(|row| !unwanted(row)).collect::<Vec<_>>().into_iter();
        let mut again = keep.clone();
        self.committed.retain(|_| keep.next().unwrap_or(true));
        self.rows.retain(|_| again.next().unwrap_or(true));
        self.finished = self.committed.iter().map(|cell| (cell.key.cell, cell.key.process)).collect();
        self.journal.poison();
        let lengths = reopen::compact(&self.dir, &mut self.committed)?;
        self.journal = open_journal(&self.dir, lengths)?;
        Ok(())
    }

    /// The meter readings so far.
    pub fn power(&self) -> &[PowerRow] {
        &self.power
    }

    /// Adds meter readings: all of these or, when killed, none.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the system refuses; a reading that is no number is refused as a row.
    pub fn append_power(&mut self, readings: &[PowerRow]) -> Result<(), StoreError> {
        if readings.is_empty() {
            return Ok(());
        }
        self.break_seal()?;
        let path = self.dir.join(POWER);
        let mut bytes = row_text::header::<PowerRow>().into_bytes();
        let mut all = self.power.clone();
        all.extend_from_slice(readings);
        for reading in &mut all {
            reading.tame();
            let start = bytes.len();
            let line = row_text::write_line(reading, &mut bytes);
            line.and_then(|()| row_text::read_line::<PowerRow>(&bytes[start..bytes.len() - 1]))
                .map_err(|fault| StoreError::row(&path, 0, fault))?;
        }
        directory::put_bytes(&path, &bytes)?;
        self.power = all;
        Ok(())
    }

    fn break_seal(&mut self) -> Result<(), StoreError> {
        if self.sealed {
            let path = self.dir.join(MANIFEST);
            fs::remove_file(&path).map_err(StoreError::io(&path, "remove"))?;
            directory::sync_parent(&path)?;
            self.sealed = false;
        }
        Ok(())
    }

    /// Sorts every file, writes the facts and then MANIFEST.
    ///
    /// The facts must be those that [`crate::facts::derive`] gives for the run as it lies on disk (read it with
    /// [`super::Run::open`]); `verify` compares.
    ///
    /// # Errors
    /// The system refuses: then the run is unsealed, whole, and can be resumed.
    pub fn seal(mut self, facts: &[FactRow]) -> Result<Manifest, StoreError> {
        self.break_seal()?;
        self.committed.sort_by_key(|cell| cell.key);
        let mut manifest = Manifest::default();
        for (i, (name, header)) in journal_files().iter().enumerate() {
            let path = self.dir.join(name);
            let spans = self.committed.iter().map(|cell| (0, cell.spans[i]));
            let written = super::rewrite::rewrite(&path, header, &[&path], spans)?;
            manifest.add(name, Some(written.rows), written.digest);
        }
        seal::put_power(&self.dir, &[&self.dir])?;
        seal::finish(&self.dir, facts, manifest)
    }

    /// Derives the facts from the run as it lies on disk, and seals it with them. A sealed run to which nothing was added
    /// stays as it is when its facts are derived again to the same rows.
    ///
    /// # Errors
    /// As [`RunWriter::seal`], and a run that does not read.
    pub fn seal_with(self, derive: impl FnOnce(&Evidence<'_>) -> Vec<FactRow>) -> Result<Manifest, StoreError> {
        let run = run::Run::open(&self.dir)?;
        let samples = run.samples()?;
        let facts = derive(&run.evidence(&samples));
        match run.manifest() {
            Some(manifest) if facts == run.facts() => Ok(manifest.clone()),
            _ => self.seal(&facts),
        }
    }

    /// The plan of this run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}

fn open_journal(dir: &Path, lengths: [(u64, u64); 3]) -> Result<Journal<File>, StoreError> {
    let mut journal = Journal::new();
    for ((name, _), (bytes, lines)) in journal_files().iter().zip(lengths) {
        journal.open(&dir.join(name), bytes, lines)?;
    }
    Ok(journal)
}

/// `run.json`: pretty JSON with a line feed at its end.
pub(crate) fn provenance_text(provenance: &Provenance) -> Result<String, StoreError> {
    let text = serde_json::to_string_pretty(provenance).map_err(std::io::Error::other);
    text.map(|text| text + "\n").map_err(StoreError::io(Path::new(RUN), "write"))
}
