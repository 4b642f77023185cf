//! How does a plan become a sealed run, through crashes, hangs, interrupts and resumes?

use crate::order::{Event, Job, Measured, Order, SOLO, Stage, blank_row};
use crate::resume;
use crate::supervisor::{End, SupervisorError, Workers};
use crate::units::Unit;
use rigel_ledger::plan::Plan;
use rigel_ledger::rows::{Bits, CellId, CellRow, Identity, Outcome, SampleRow, WitnessRow, Work};
use rigel_ledger::store::{RunWriter, StoreError};
use rigel_numerics::{Megahertz, Time, random};

/// Who watches.
pub trait Observer {
    /// The campaign is about to begin with so many rows to come, so many of which are there already.
    fn begin(&mut self, rows: usize, there: usize);
    /// A unit is worked on.
    fn unit(&mut self, name: &str);
    /// A row is on disk.
    fn row(&mut self, row: &CellRow);
    /// Something that a user should know and that no row says.
    fn note(&mut self, text: &str);
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
    /// Units of this shard, in order.
    pub units: Vec<Unit>,
    /// Worker processes.
    pub workers: Workers<'a>,
    /// Whether the user asked to stop after the process in hand.
    pub stop_soon: &'a dyn Fn() -> bool,
    /// Where rows go.
    pub writer: RunWriter,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
}

/// What one worker process left.
struct Attempt {
    end: End,
    measured: Vec<Measured>,
    last: Option<(usize, Stage)>,
    tile: Option<String>,
    health: Option<Result<(), String>>,
}

impl Campaign<'_> {
    /// Runs every unit that has rows missing.
    pub fn run(mut self) -> Result<(Ended, RunWriter), CampaignError> {
        let processes = self.plan.sampling.processes;
        let units = std::mem::take(&mut self.units);
        let total = units.iter().map(|u| u.rows(processes)).sum();
        self.observer.begin(total, self.writer.cells().len());
        for unit in &units {
            if (self.stop_soon)() {
                return Ok((Ended::Interrupted, self.writer));
            }
            let ended = match unit {
                Unit::Absent { cell, reason } => self.absent(unit, cell, reason)?,
                Unit::Climb { cells } => self.climb(unit, cells)?,
                Unit::Block { id, cells } => self.block(id, cells)?,
            };
            if ended != Ended::Complete {
                return Ok((ended, self.writer));
            }
        }
        Ok((Ended::Complete, self.writer))
    }

    fn absent(&mut self, unit: &Unit, cell: &Identity, reason: &str) -> Result<Ended, CampaignError> {
        if !self.has_row(cell, 0) {
            let mut row = blank_row(cell, 0);
            (row.outcome, row.reason) = (Outcome::Absent, reason.to_owned());
            self.append_all(&unit.name(), vec![(row, vec![], vec![])])?;
        }
        Ok(Ended::Complete)
    }

    fn climb(&mut self, unit: &Unit, cells: &[Identity]) -> Result<Ended, CampaignError> {
        let name = unit.name();
        let mut left: Vec<Identity> = cells.iter().filter(|c| !self.has_row(c, 0)).cloned().collect();
        while !left.is_empty() {
            if (self.stop_soon)() {
                return Ok(Ended::Interrupted);
            }
            self.observer.unit(&name);
            let attempt = self.attempt(SOLO, Job::Climb(left.clone()))?;
            let mut done: Vec<usize> = attempt.measured.iter().map(|m| m.cell).collect();
            for measured in attempt.measured {
                self.append_measured(&name, vec![measured])?;
            }
            match attempt.end {
                End::Done => return Ok(Ended::Complete),
                End::Interrupted => return Ok(Ended::Interrupted),
                End::Died(_) | End::Silent => {
                    let culprit = attempt.last.map_or(0, |(cell, _)| cell).min(left.len() - 1);
                    if !done.contains(&culprit) {
                        let row = self.culprit_row(&left[culprit], 0, &attempt.end, attempt.last);
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
        let mut cells = match self.pilot(id, cells)? {
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
                self.observer.unit(&format!("{block} process {}/{processes}", process + 1));
                let attempt = self.attempt(process, Job::Block { block: block.clone(), cells: missing.clone() })?;
                match attempt.end {
                    End::Done => {
                        self.append_measured(&block, attempt.measured)?;
                        break;
                    }
                    End::Interrupted => return Ok(Ended::Interrupted),
                    End::Died(_) | End::Silent => {
                        let culprit = attempt.last.map_or(0, |(cell, _)| cell).min(missing.len() - 1);
                        let identity = missing[culprit].clone();
                        let rows = self.culprit_rows(&identity, process, &attempt.end, attempt.last);
                        self.append_all(&block, rows)?;
                        cells.retain(|c| *c != identity);
                        if !self.healthy()? {
                            return Ok(Ended::DeviceLost);
                        }
                        block = resume::without(id, &block);
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
            if cell.work != Work::Gemm {
                ready.push(cell.clone());
                continue;
            }
            if let Some(known) = resume::known(self.writer.cells(), cell) {
                if known.takes_part {
                    ready.push(Identity { tile: known.tile, ..cell.clone() });
                }
                continue;
            }
            let sibling = ready
                .iter()
                .find(|r| (&r.path, r.triple, r.shape, r.cache) == (&cell.path, cell.triple, cell.shape, cell.cache));
            if let Some(sibling) = sibling {
                ready.push(Identity { tile: sibling.tile.clone(), ..cell.clone() });
                continue;
            }
            if (self.stop_soon)() {
                return Ok(Err(Ended::Interrupted));
            }
            self.observer.unit(&format!("{id} pilot {} {}", cell.path, cell.triple));
            let attempt = self.attempt(SOLO, Job::Pilot { cell: cell.clone() })?;
            let tile = attempt.tile.clone().unwrap_or_default();
            let identity = Identity { tile, ..cell.clone() };
            match attempt.end {
                End::Interrupted => return Ok(Err(Ended::Interrupted)),
                End::Done => {
                    let climbed = attempt.measured.into_iter().next();
                    match climbed {
                        Some(m) if may_take_part(&m.row) => ready.push(identity),
                        Some(m) => self.append_measured(id, vec![m])?,
                        None => {
                            let mut row = blank_row(&identity, 0);
                            row.reason = "the pilot said nothing".into();
                            self.append_all(id, vec![(row, vec![], vec![])])?;
                        }
                    }
                }
                End::Died(_) | End::Silent => {
                    let rows = self.culprit_rows(&identity, 0, &attempt.end, attempt.last);
                    self.append_all(id, rows)?;
                    if !self.healthy()? {
                        return Ok(Err(Ended::DeviceLost));
                    }
                }
            }
        }
        Ok(Ok(ready))
    }

    fn attempt(&mut self, process: u32, job: Job) -> Result<Attempt, CampaignError> {
        let order = Order {
            device: self.selector.to_owned(),
            process,
            seed: random::stream(self.plan.seed, u64::from(process)),
            sampling: self.plan.sampling.clone(),
            thresholds: self.plan.thresholds.clone(),
            limits: self.plan.limits.clone(),
            job,
        };
        let mut attempt = Attempt { end: End::Silent, measured: vec![], last: None, tile: None, health: None };
        attempt.end = self.workers.run(&order, |event| match event {
            Event::At { cell, stage } => attempt.last = Some((cell, stage)),
            Event::Tile(tile) => attempt.tile = Some(tile),
            Event::Cell(measured) => attempt.measured.push(*measured),
            Event::Health(health) => attempt.health = Some(health),
            Event::Done => {}
        })?;
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

    fn culprit_row(&self, identity: &Identity, process: u32, end: &End, last: Option<(usize, Stage)>) -> CellRow {
        let mut row = blank_row(identity, process);
        let when = last.map_or("before it began", |(_, stage)| stage.words());
        (row.outcome, row.reason) = match end {
            End::Died(why) if out_of_memory(why) => (Outcome::OutOfMemory, format!("{why}; {when}")),
            End::Died(why) => (Outcome::Crashed, format!("{why}; {when}")),
            _ => (Outcome::Hung, format!("no sign of life for {} s {when}; killed", self.plan.limits.timeout_s)),
        };
        row
    }

    /// Rows for this process and, since it is left out of them, the later ones.
    fn culprit_rows(
        &self,
        identity: &Identity,
        process: u32,
        end: &End,
        last: Option<(usize, Stage)>,
    ) -> Vec<(CellRow, Vec<SampleRow>, Vec<WitnessRow>)> {
        let first = self.culprit_row(identity, process, end, last);
        let later = (process + 1..self.plan.sampling.processes).map(|later| {
            let mut row = blank_row(identity, later);
            (row.outcome, row.reason) = (first.outcome, format!("left out after process {process}: {}", first.reason));
            row
        });
        std::iter::once(first.clone()).chain(later).map(|row| (row, vec![], vec![])).collect()
    }

    fn has_row(&self, cell: &Identity, process: u32) -> bool {
        self.writer.has(CellId::of(cell), process)
    }

    fn append_measured(&mut self, block: &str, measured: Vec<Measured>) -> Result<(), CampaignError> {
        let rows = measured.into_iter().map(|m| {
            let (cell, process) = (m.row.cell, m.row.process);
            let sample = |(index, (ps, mhz)): (usize, (u64, Option<u32>))| SampleRow {
                cell,
                process,
                index: index as u32,
                time_ns: Time(ps),
                clock_mhz: mhz.map(Megahertz),
            };
            let format = m.row.triple.c;
            let witness =
                |(row, column, code)| WitnessRow { cell, process, row, column, bits: Bits::new(format, code) };
            let samples = m.samples.into_iter().enumerate().map(sample).collect();
            (m.row, samples, m.witness.into_iter().map(witness).collect())
        });
        self.append_all(block, rows.collect())
    }

    fn append_all(
        &mut self,
        block: &str,
        rows: Vec<(CellRow, Vec<SampleRow>, Vec<WitnessRow>)>,
    ) -> Result<(), CampaignError> {
        for (mut row, samples, witness) in rows {
            (row.device, row.driver) = self.device.clone();
            (row.run, row.block) = (self.run.clone(), block.to_owned());
            let row = self.writer.append(row, &samples, &witness)?;
            self.observer.row(&row);
        }
        Ok(())
    }
}

/// Whether a pilot's outcome lets a cell into the block. A blind recipe is judged there, by its sibling.
fn may_take_part(row: &CellRow) -> bool {
    row.outcome.counts() || (row.outcome == Outcome::Mistrusted && crate::gate::blind(row.recipe))
}

/// Whether a dead worker says that its memory ran out.
fn out_of_memory(why: &str) -> bool {
    let why = why.to_lowercase();
    why.contains("memory allocation of") || why.contains("out of memory") || why.contains("cannot allocate memory")
}
