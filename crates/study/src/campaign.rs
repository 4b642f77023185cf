//! How does a plan become a sealed run, through crashes, hangs, interrupts and resumes?

mod instruction;
mod metered;
mod placed;

use crate::deaths::{culprit_row, no_result};
use crate::missing::missing;
use crate::pieces::Piece;
use crate::protocol::{Event, Job, Measured, MeterReading, Request, SOLO, Stage};
use crate::resume;
use crate::spent::Spent;
use crate::supervisor::{End, SupervisorError, Workers};
use rigel_ledger::block_name;
use rigel_ledger::gate::places;
use rigel_ledger::plan::{Limits, Plan};
use rigel_ledger::rows::{CellId, CellRow, Identity, Outcome, SampleRow, WitnessRow};
use rigel_ledger::store::{RunWriter, StoreError};
use rigel_ledger::units::UnitRecord;

/// Who watches.
pub trait Observer {
    /// The campaign is about to begin with so many rows to come, so many of which are there already.
    fn begin(&mut self, rows: usize, there: usize);
    /// A piece is worked on.
    fn piece(&mut self, name: &str);
    /// A row is on disk.
    fn row(&mut self, row: &CellRow);
    /// Something that a user should know and that no row says.
    fn note(&mut self, text: &str);
    /// The campaign ended, for now: how long it took and what its workers spent their time on.
    fn spent(&mut self, wall: std::time::Duration, spent: &Spent);
}

/// A campaign that cannot go on; what was measured is on disk.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The run directory cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Workers cannot be started.
    #[error(transparent)]
    Worker(#[from] SupervisorError),
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every cell has a row.
    Complete,
    /// The user asked to stop.
    Interrupted,
    /// The device stopped answering; later cells have no rows.
    DeviceLost,
    /// So many cells have no row although every piece was worked on.
    Incomplete(usize),
}

/// One campaign.
pub struct Campaign<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Device selector, for workers.
    pub selector: &'a str,
    /// Device id and driver, for rows.
    pub device: (String, String),
    /// Run id, for rows.
    pub run: String,
    /// Pieces of this shard, in order.
    pub pieces: Vec<Piece>,
    /// Worker processes.
    pub workers: Workers<'a>,
    /// Whether the user asked to stop after the process in hand.
    pub stop_soon: &'a dyn Fn() -> bool,
    /// Where rows go.
    pub writer: RunWriter,
    /// What workers spent their time on so far.
    pub spent: Spent,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

/// A row with its samples and witness.
type Row = (CellRow, Vec<SampleRow>, Vec<WitnessRow>);

/// What one worker process left.
struct Attempt {
    end: End,
    measured: Vec<Measured>,
    last: Option<(usize, Stage)>,
    tile: Option<String>,
    found: Option<(CellRow, UnitRecord)>,
    readings: Vec<MeterReading>,
    health: Option<Result<(), String>>,
}

impl Attempt {
    /// The cell that a process was at when it ended badly.
    fn culprit(&self) -> usize {
        match self.end {
            End::DeviceLost { cell, .. } => cell,
            _ => self.last.map_or(0, |(cell, _)| cell),
        }
    }
}

impl Campaign<'_> {
    /// Runs every piece that has rows missing.
    pub fn run(mut self) -> Result<(Ended, RunWriter), CampaignError> {
        let begun = std::time::Instant::now();
        let ended = self.pieces_in_order();
        self.observer.spent(begun.elapsed(), &self.spent);
        Ok((ended?, self.writer))
    }

    fn pieces_in_order(&mut self) -> Result<Ended, CampaignError> {
        let processes = self.plan.sampling.processes;
        let pieces = std::mem::take(&mut self.pieces);
        let total = pieces.iter().map(|piece| piece.rows(processes)).sum();
        self.observer.begin(total, self.writer.cells().len());
        for piece in &pieces {
            if (self.stop_soon)() {
                return Ok(Ended::Interrupted);
            }
            let ended = match piece {
                Piece::Absent { cell, reason } => self.absent(piece, cell, reason)?,
                Piece::Climb { cells } => self.climb(piece, cells)?,
                Piece::Block { id, cells } => self.block(id, cells)?,
                Piece::Meters { cells, window_s, energy } => self.meters(cells, *window_s, *energy)?,
                Piece::Instruction { cell } => self.instruction(&piece.name(), cell)?,
            };
            if ended != Ended::Complete {
                return Ok(ended);
            }
        }
        let missing = missing(&pieces, self.writer.cells(), processes).total();
        Ok(if missing == 0 { Ended::Complete } else { Ended::Incomplete(missing) })
    }

    fn absent(&mut self, piece: &Piece, cell: &Identity, reason: &str) -> Result<Ended, CampaignError> {
        if !self.has_row(cell, 0) {
            let mut row = CellRow::blank(cell, 0);
            (row.outcome, row.reason) = (Outcome::Absent, reason.to_owned());
            self.append_all(&piece.name(), vec![(row, vec![], vec![])])?;
        }
        Ok(Ended::Complete)
    }

    fn climb(&mut self, piece: &Piece, cells: &[Identity]) -> Result<Ended, CampaignError> {
        let name = piece.name();
        let mut left: Vec<Identity> = cells.iter().filter(|c| !self.has_row(c, 0)).cloned().collect();
        while !left.is_empty() {
            if (self.stop_soon)() {
                return Ok(Ended::Interrupted);
            }
            self.observer.piece(&name);
            let attempt = self.attempt(SOLO, Job::Climb(left.clone()))?;
            let mut done: Vec<usize> = attempt.measured.iter().map(|m| m.cell).collect();
            let at = attempt.culprit();
            for measured in attempt.measured {
                self.append_measured(&name, vec![measured])?;
            }
            match attempt.end {
                End::Done => {
                    let silent = (0..left.len()).filter(|i| !done.contains(i));
                    let rows = silent.map(|i| (no_result(&left[i], 0), vec![], vec![])).collect();
                    self.append_all(&name, rows)?;
                    return Ok(Ended::Complete);
                }
                End::Interrupted => return Ok(Ended::Interrupted),
                End::Died(_) | End::Silent | End::DeviceLost { .. } => {
                    let culprit = at.min(left.len() - 1);
                    if !done.contains(&culprit) {
                        let row = culprit_row(&left[culprit], 0, &attempt.end, attempt.last, &self.plan.limits);
                        self.append_all(&name, vec![(row, vec![], vec![])])?;
                        done.push(culprit);
                    }
                    if !self.healthy()? {
                        return Ok(Ended::DeviceLost);
                    }
                }
            }
            let mut index = 0;
            left.retain(|_| {
                index += 1;
                !done.contains(&(index - 1))
            });
        }
        Ok(Ended::Complete)
    }

    /// Pilots each product alone, then measures what is left together, in every process.
    fn block(&mut self, id: &str, cells: &[Identity]) -> Result<Ended, CampaignError> {
        let processes = self.plan.sampling.processes;
        resume::drop_partial(&mut self.writer, id, cells, processes)?;
        self.complete_left_out(id, cells)?;
        let placed = cells.iter().any(|cell| cell.work.names_its_tile());
        let mut cells = match if placed { self.placements(id, cells)? } else { self.pilot(id, cells)? } {
            Ok(cells) => cells,
            Err(ended) => return Ok(ended),
        };
        let mut block = resume::current(self.writer.cells(), id);
        for process in 0..processes {
            loop {
                let missing: Vec<Identity> = cells.iter().filter(|c| !self.has_row(c, process)).cloned().collect();
                if missing.is_empty() {
                    break;
                }
                if (self.stop_soon)() {
                    return Ok(Ended::Interrupted);
                }
                self.observer.piece(&format!("{block} process {}/{processes}", process + 1));
                let attempt = self.attempt(process, Job::Block { block: block.clone(), cells: missing.clone() })?;
                match attempt.end {
                    End::Done => {
                        let silent: Vec<Row> = (0..missing.len())
                            .filter(|i| attempt.measured.iter().all(|m| m.cell != *i))
                            .map(|i| (no_result(&missing[i], process), vec![], vec![]))
                            .collect();
                        self.append_measured(&block, attempt.measured)?;
                        self.append_all(&block, silent)?;
                        break;
                    }
                    End::Interrupted => return Ok(Ended::Interrupted),
                    End::Died(_) | End::Silent | End::DeviceLost { .. } => {
                        let identity = missing[attempt.culprit().min(missing.len() - 1)].clone();
                        let row = culprit_row(&identity, process, &attempt.end, attempt.last, &self.plan.limits);
                        self.leave_out(id, row)?;
                        cells.retain(|c| *c != identity);
                        if !self.healthy()? {
                            return Ok(Ended::DeviceLost);
                        }
                        block = block_name::again(id, &block);
                        self.observer.note(&format!("{block}: again without {} {}", identity.path, identity.triple));
                    }
                }
            }
        }
        Ok(Ended::Complete)
    }

    /// The cells that take part, with their launch tiles; those that do not get their rows here.
    fn pilot(&mut self, id: &str, cells: &[Identity]) -> Result<Result<Vec<Identity>, Ended>, CampaignError> {
        let mut ready: Vec<Identity> = Vec::new();
        for cell in cells {
            if let Some(row) = resume::left_out(self.writer.cells(), id, cell) {
                // Left out in a later process, it has its rows for the earlier ones.
                debug_assert!(row.process == 0 || resume::tile(self.writer.cells(), id, cell).is_some());
                continue;
            }
            if !cell.work.is_product() {
                ready.push(cell.clone());
                continue;
            }
            if let Some(tile) = resume::tile(self.writer.cells(), id, cell) {
                ready.push(Identity { tile, ..cell.clone() });
                continue;
            }
            let alike = |r: &&Identity| {
                let place = |of: &Identity| (of.path.clone(), of.triple, of.shape, of.cache, of.work.piloted_as());
                place(r) == place(cell)
            };
            let sibling = ready.iter().find(alike);
            if let Some(sibling) = sibling {
                ready.push(Identity { tile: sibling.tile.clone(), ..cell.clone() });
                continue;
            }
            if (self.stop_soon)() {
                return Ok(Err(Ended::Interrupted));
            }
            self.observer.piece(&format!("{id} pilot {} {}", cell.path, cell.triple));
            let attempt = self.attempt(SOLO, Job::Pilot { cell: cell.clone() })?;
            let identity = Identity { tile: attempt.tile.clone().unwrap_or_default(), ..cell.clone() };
            match attempt.end {
                End::Interrupted => return Ok(Err(Ended::Interrupted)),
                End::Done => {
                    let climbed = attempt.measured.into_iter().next();
                    match climbed {
                        Some(m) if may_take_part(&m.row) => ready.push(identity),
                        Some(m) => {
                            let row = CellRow { process: 0, ..m.row.clone() };
                            self.append_measured(&block_name::left_out(id), vec![m])?;
                            self.leave_out(id, row)?;
                        }
                        None => self.leave_out(id, no_result(&identity, 0))?,
                    }
                }
                End::Died(_) | End::Silent | End::DeviceLost { .. } => {
                    let row = culprit_row(&identity, 0, &attempt.end, attempt.last, &self.plan.limits);
                    self.leave_out(id, row)?;
                    if !self.healthy()? {
                        return Ok(Err(Ended::DeviceLost));
                    }
                }
            }
        }
        Ok(Ok(ready))
    }

    /// Writes the rows of a cell that is left out: the one that says why and, since it stays out, the later processes'.
    fn leave_out(&mut self, id: &str, first: CellRow) -> Result<(), CampaignError> {
        let cell = first.identity();
        let later = (first.process + 1..self.plan.sampling.processes).map(|process| {
            let mut row = CellRow::blank(&cell, process);
            row.outcome = match first.outcome {
                // Nothing was gated in a process that never ran it.
                Outcome::Wrong | Outcome::Mistrusted => Outcome::Absent,
                outcome => outcome,
            };
            let why = if first.reason.is_empty() {
                rigel_ledger::rows::name_of(&first.outcome)
            } else {
                first.reason.clone()
            };
            row.reason = format!("left out after process {}: {why}", first.process);
            row
        });
        let rows: Vec<Row> = std::iter::once(first.clone()).chain(later).map(|row| (row, vec![], vec![])).collect();
        self.append_fresh(&block_name::left_out(id), rows)
    }

    /// A run that was killed while rows of a left-out cell were written gets the rest of them.
    fn complete_left_out(&mut self, id: &str, cells: &[Identity]) -> Result<(), CampaignError> {
        let firsts: Vec<CellRow> =
            cells.iter().filter_map(|cell| resume::left_out(self.writer.cells(), id, cell).cloned()).collect();
        firsts.into_iter().try_for_each(|first| self.leave_out(id, first))
    }

    fn attempt(&mut self, process: u32, job: Job) -> Result<Attempt, CampaignError> {
        let request = Request {
            device: self.selector.to_owned(),
            process,
            seed: places::seed(self.plan.seed, process),
            sampling: self.plan.sampling.clone(),
            thresholds: self.plan.thresholds.clone(),
            limits: limits_of(&job, &self.plan.limits),
            job,
        };
        let mut attempt = Attempt {
            end: End::Silent,
            measured: vec![],
            last: None,
            tile: None,
            found: None,
            readings: vec![],
            health: None,
        };
        let begun = std::time::Instant::now();
        let spent = &mut self.spent;
        attempt.end = self.workers.run(&request, |event| match event {
            Event::At { cell, stage } => attempt.last = Some((cell, stage)),
            Event::Tile(tile) => attempt.tile = Some(tile),
            Event::Cell(measured) => attempt.measured.push(*measured),
            Event::Found { row, record } => attempt.found = Some((*row, *record)),
            Event::Readings(readings) => attempt.readings = readings,
            Event::Spent(time) => *spent += time,
            Event::Health(health) => attempt.health = Some(health),
            Event::Asks { .. } | Event::Rule(_) | Event::Done | Event::DeviceLost { .. } => {}
        })?;
        if matches!(attempt.end, End::Died(_) | End::Silent | End::Interrupted) {
            self.spent.lost += begun.elapsed();
        }
        Ok(attempt)
    }

    /// After a crash or a hang: does the device still answer, asked by a fresh process?
    fn healthy(&mut self) -> Result<bool, CampaignError> {
        let attempt = self.attempt(SOLO, Job::Health)?;
        match (attempt.end, attempt.health) {
            (End::Done, Some(Ok(()))) => Ok(true),
            (_, Some(Err(why))) => {
                self.observer.note(&format!("the device does not answer any more: {why}"));
                Ok(false)
            }
            (end, _) => {
                self.observer.note(&format!("the device's health check did not finish: {end:?}"));
                Ok(false)
            }
        }
    }

    fn has_row(&self, cell: &Identity, process: u32) -> bool {
        self.writer.has(CellId::of(cell), process)
    }

    fn append_measured(&mut self, block: &str, measured: Vec<Measured>) -> Result<(), CampaignError> {
        self.append_all(block, measured.into_iter().map(Measured::rows).collect())
    }

    /// Appends the rows that are not there yet.
    fn append_fresh(&mut self, block: &str, rows: Vec<Row>) -> Result<(), CampaignError> {
        let fresh = rows.into_iter().filter(|(row, ..)| !self.writer.has(row.cell, row.process)).collect();
        self.append_all(block, fresh)
    }

    fn append_all(&mut self, block: &str, rows: Vec<Row>) -> Result<(), CampaignError> {
        for (mut row, samples, witness) in rows {
            (row.device, row.driver) = self.device.clone();
            (row.run, row.block) = (self.run.clone(), block.to_owned());
            let row = self.writer.append(row, &samples, &witness)?;
            self.observer.row(&row);
        }
        Ok(())
    }
}

/// Seconds that a device has at least to say that it is well.
const HEALTH_S: f64 = 10.0;

/// What the worker of a job may take. Whether the device answers is no question of the plan's limits: under limits in which no
/// worker can start, every cell gets its row instead of the device being taken for lost.
fn limits_of(job: &Job, limits: &Limits) -> Limits {
    match job {
        Job::Health => Limits { timeout_s: limits.timeout_s.max(HEALTH_S), memory_mib: 0 },
        _ => limits.clone(),
    }
}

/// Whether a pilot's outcome lets a cell into the block. A blind recipe is judged there, by its sibling.
fn may_take_part(row: &CellRow) -> bool {
    row.outcome.counts()
        || (row.outcome == Outcome::Mistrusted && row.recipe.is_some_and(rigel_numerics::Recipe::is_blind))
}
