//! What does a worker process do with its one request?

use crate::climb::{Compiled, Prepared, Stopped};
use crate::gate::{Gatekeeper, View};
use crate::protocol::{Event, Job, Measured, Request, Stage};
use crate::sampling;
use crate::spent::Spent;
use rigel_device::Device;
use rigel_ledger::Outcome;
use rigel_ledger::effect;
use rigel_ledger::gate::{Judgement, judge_accumulators};
use rigel_ledger::rows::{CellRow, GateMethod, Identity, Work, name_of};
use rigel_ledger::share::Share;
use rigel_numerics::{Calculation, Time};
use std::io::{BufRead, Read, Write};

/// A worker that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Its request does not read.
    #[error("the request does not read: {0}; `rigel worker` is started by `rigel run`, not by hand")]
    Request(String),
    /// The device does not open.
    #[error("{0}")]
    Device(String),
    /// Its memory limit cannot be set.
    #[error("cannot set the memory limit of {mib} MiB: {error}")]
    Limit {
        /// The limit.
        mib: u64,
        /// Why.
        error: std::io::Error,
    },
    /// Nobody listens any more.
    #[error("cannot write an event: {0}")]
    Output(std::io::Error),
}

/// Reads one request.
pub fn read_request(mut input: impl BufRead) -> Result<Request, WorkerError> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|e| WorkerError::Request(e.to_string()))?;
    serde_json::from_str(&line).map_err(|e| WorkerError::Request(e.to_string()))
}

/// Ends this process when its standard input ends: the campaign that started it is gone, and nobody needs its rows.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let mut ignored = [0u8; 64];
        while matches!(std::io::stdin().read(&mut ignored), Ok(n) if n > 0) {}
        std::process::exit(0);
    });
}

/// Does one request, writes events.
pub fn serve(request: &Request, output: impl Write) -> Result<(), WorkerError> {
    limit_memory(request.limits.memory_mib)?;
    let mut device = rigel_device::backends::open(&request.device).map_err(WorkerError::Device)?;
    device.enter_process(request.process);
    let mut worker = Worker { request, output, broken: None, spent: Spent::default() };
    let done = match &request.job {
        Job::Climb(cells) => worker.climb(device.as_mut(), cells),
        Job::Pilot { cell } => worker.pilot(device.as_mut(), cell),
        Job::Block { cells, .. } => worker.block(device.as_mut(), cells),
        Job::Meters { cells, window_s, energy } => {
            worker.meters(device.as_mut(), cells, Time::from_seconds(*window_s), *energy)
        }
        Job::Unit { cell, validation } => worker.unit(device.as_mut(), cell, *validation),
        Job::Rules { libraries, from } => {
            for (number, question) in device.rules(libraries).into_iter().enumerate().skip(*from) {
                worker.say(&Event::Asks { number, question });
                device.rule(libraries, number).into_iter().for_each(|answer| worker.say(&Event::Rule(answer)));
            }
            Ok(())
        }
        Job::Health => {
            worker.say(&Event::Health(device.health()));
            Ok(())
        }
    };
    worker.say(&Event::Spent(worker.spent));
    match done {
        Ok(()) => worker.say(&Event::Done),
        Err(Lost { cell, reason }) => worker.say(&Event::DeviceLost { cell, reason }),
    }
    worker.broken.map_or(Ok(()), |e| Err(WorkerError::Output(e)))
}

fn limit_memory(mib: u64) -> Result<(), WorkerError> {
    if mib == 0 {
        return Ok(());
    }
    let bytes = mib.saturating_mul(1 << 20);
    // Private writable mappings, touched or not; not the address space that allocators and drivers reserve.
    rlimit::setrlimit(rlimit::Resource::DATA, bytes, bytes).map_err(|error| WorkerError::Limit { mib, error })
}

/// The device stopped answering: nothing that follows in this process could be believed.
struct Lost {
    cell: usize,
    reason: String,
}

/// A stop that ends the worker, or one that is the cell's own.
fn lost(cell: usize, stopped: Stopped) -> Result<Stopped, Lost> {
    match stopped.outcome {
        Outcome::DeviceLost => Err(Lost { cell, reason: stopped.reason }),
        _ => Ok(stopped),
    }
}

/// The launch tiles that a cell may have.
pub(crate) fn launch_tiles(device: &dyn Device, cell: &Identity) -> Vec<String> {
    match cell.work.calculation() {
        Calculation::Attention => device.attention_tiles(&cell.path, cell.triple, cell.work.is_fused()),
        _ => device.tiles(&cell.path, cell.triple),
    }
}

struct Worker<'a, W: Write> {
    request: &'a Request,
    output: W,
    broken: Option<std::io::Error>,
    spent: Spent,
}

impl<W: Write> Worker<'_, W> {
    fn say(&mut self, event: &Event) {
        if self.broken.is_some() {
            return;
        }
        let line = serde_json::to_string(event).map_err(std::io::Error::other);
        let written = line.and_then(|line| writeln!(self.output, "{line}").and_then(|()| self.output.flush()));
        self.broken = written.err();
    }

    fn at(&mut self, cell: usize, stage: Stage) {
        self.say(&Event::At { cell, stage });
    }

    fn finish(&mut self, cell: usize, row: CellRow, samples: &[rigel_device::Sample], view: Option<&View>) {
        let samples = samples.iter().map(|s| (s.time.0, s.clock.map(|c| c.0))).collect();
        let witness = view.map(|v| v.witness.clone()).unwrap_or_default();
        self.say(&Event::Cell(Box::new(Measured { cell, row, samples, witness })));
    }

    fn gatekeeper(&self) -> Gatekeeper {
        Gatekeeper::new(self.request.seed, self.request.thresholds.clone())
    }

    /// A row for a cell that stopped before it could be judged.
    fn stopped(&self, identity: &Identity, stopped: Stopped) -> CellRow {
        let mut row = CellRow::blank(identity, self.row_process());
        row.outcome = stopped.outcome;
        row.reason = stopped.reason;
        row
    }

    fn row_process(&self) -> u32 {
        if self.request.process == crate::protocol::SOLO { 0 } else { self.request.process }
    }

    fn climb(&mut self, device: &mut dyn Device, cells: &[Identity]) -> Result<(), Lost> {
        let mut gatekeeper = self.gatekeeper();
        for (index, identity) in cells.iter().enumerate() {
            self.climb_one(device, &mut gatekeeper, index, identity)?;
            gatekeeper.forget();
        }
        Ok(())
    }

    fn climb_one(
        &mut self,
        device: &mut dyn Device,
        gatekeeper: &mut Gatekeeper,
        index: usize,
        identity: &Identity,
    ) -> Result<(), Lost> {
        match self.look(device, gatekeeper, index, identity) {
            Err(stopped) => {
                let row = self.stopped(identity, lost(index, stopped)?);
                self.finish(index, row, &[], None);
            }
            Ok(cell) => {
                let (row, view) = self.judged_alone(gatekeeper, &cell);
                self.finish(index, row, &[], view.as_ref());
            }
        }
        Ok(())
    }

    /// The row of a cell that was looked at once, by itself.
    fn judged_alone(&mut self, gatekeeper: &Gatekeeper, cell: &Prepared) -> (CellRow, Option<View>) {
        self.at(cell.index, Stage::Judge);
        let identity = &cell.identity;
        let mut row = CellRow::blank(identity, self.row_process());
        let view = self.spent.gate(|| judge_product(gatekeeper, cell, None, &mut row));
        if gatekeeper.is_blind(identity) {
            // A climb is alone: nobody to inherit from.
            let own = Judgement { outcome: row.outcome, reason: row.reason.clone(), error: row.gate_error };
            let alone = rigel_ledger::gate::inherit(&own, None);
            (row.outcome, row.reason) = (alone.outcome, alone.reason);
        }
        if let (Work::Version, Compiled::Product { gemm, .. }, Some(view)) = (identity.work, &cell.compiled, &view) {
            let codes = view.witness.iter().map(|&(_, _, code)| code);
            row.reason = effect::written(&row.reason, &gemm.took_effect(), codes);
        }
        (row, view)
    }

    /// Compiles, loads and binds one cell, runs it once and looks at its output.
    fn look(
        &mut self,
        device: &mut dyn Device,
        gatekeeper: &mut Gatekeeper,
        index: usize,
        identity: &Identity,
    ) -> Result<Prepared, Stopped> {
        let mut spent = Spent::default();
        let prepared = Prepared::new(device, gatekeeper, index, identity, &mut |c, s| self.at(c, s), &mut spent);
        self.spent += spent;
        let mut cell = prepared?;
        let looked = cell.gate_before(gatekeeper, &mut |c, s| self.at(c, s));
        self.spent += std::mem::take(&mut cell.spent);
        looked.map(|()| cell)
    }

    /// Chooses the fastest launch tile whose product counts, then climbs with it.
    ///
    /// Each is timed by itself, after its gate: in turns, all tiles would be held at once and share what a board may draw.
    fn pilot(&mut self, device: &mut dyn Device, cell: &Identity) -> Result<(), Lost> {
        let mut gatekeeper = self.gatekeeper();
        let tiles = launch_tiles(device, cell);
        let mut best: Option<(Time, String)> = None;
        if tiles.len() > 1 {
            for tile in &tiles {
                let identity = Identity { tile: tile.clone(), ..cell.clone() };
                let time = match self.pilot_time(device, &mut gatekeeper, &identity) {
                    Ok(time) => time,
                    Err(stopped) => {
                        lost(0, stopped)?;
                        None
                    }
                };
                if let Some(time) = time
                    && best.as_ref().is_none_or(|(fastest, _)| time < *fastest)
                {
                    best = Some((time, tile.clone()));
                }
            }
        }
        let tile = best.map(|(_, tile)| tile).or_else(|| tiles.into_iter().next()).unwrap_or_default();
        self.say(&Event::Tile(tile.clone()));
        let identity = Identity { tile, ..cell.clone() };
        self.climb_one(device, &mut gatekeeper, 0, &identity)
    }

    /// The median pilot time of a launch tile; none when its product does not count, for a tile that skips work is fast.
    fn pilot_time(
        &mut self,
        device: &mut dyn Device,
        gatekeeper: &mut Gatekeeper,
        identity: &Identity,
    ) -> Result<Option<Time>, Stopped> {
        let mut prepared = self.look(device, gatekeeper, 0, identity)?;
        self.at(0, Stage::Judge);
        let mut row = CellRow::blank(identity, 0);
        self.spent.gate(|| judge_product(gatekeeper, &prepared, None, &mut row));
        if !(row.outcome.counts() || gatekeeper.is_blind(identity)) {
            return Ok(None);
        }
        self.at(0, Stage::Time);
        let samples = sampling::pilot(&mut prepared, self.request.sampling.pilot.max(1) as usize);
        self.spent += prepared.spent;
        let mut times = sampling::times(&samples?);
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    }

    fn block(&mut self, device: &mut dyn Device, cells: &[Identity]) -> Result<(), Lost> {
        let mut gatekeeper = self.gatekeeper();
        let mut running = Vec::new();
        for (index, identity) in cells.iter().enumerate() {
            match self.look(device, &mut gatekeeper, index, identity) {
                Ok(cell) => running.push(cell),
                Err(stopped) => {
                    let row = self.stopped(identity, lost(index, stopped)?);
                    self.finish(index, row, &[], None);
                }
            }
        }
        let turn_seed = rigel_numerics::random::stream(self.request.seed, u64::from(self.request.process));
        let indices: Vec<usize> = running.iter().map(|c| c.index).collect();
        let share = Share::of(&self.request.sampling);
        sampling::interleave(&mut running, share, turn_seed, |i| self.at(indices[i], Stage::Time));
        running.iter_mut().for_each(|cell| self.spent += std::mem::take(&mut cell.spent));
        let gone = running.iter().find_map(|cell| match &cell.end {
            Some(Err(stopped)) if stopped.outcome == Outcome::DeviceLost => Some((cell.index, stopped.reason.clone())),
            _ => None,
        });
        if let Some((cell, reason)) = gone {
            return Err(Lost { cell, reason });
        }
        let (mut ceilings, mut products): (Vec<Prepared>, Vec<Prepared>) = (Vec::new(), Vec::new());
        for cell in running {
            match cell.compiled {
                Compiled::Ceiling(_) => ceilings.push(cell),
                Compiled::Product { .. } => products.push(cell),
            }
        }
        for cell in ceilings {
            self.finish_ceiling(cell);
        }
        self.finish_products(&mut gatekeeper, products)
    }

    /// Asks one unit or conversion and says what was found.
    fn unit(&mut self, device: &mut dyn Device, cell: &Identity, validation: u64) -> Result<(), Lost> {
        let found = crate::instruction::find(device, cell, validation, &mut || self.at(0, Stage::Ask));
        match found {
            Ok(record) => {
                let mut row = CellRow::blank(cell, self.row_process());
                row.outcome = record.claim().outcome();
                record.why().clone_into(&mut row.reason);
                self.say(&Event::Found { row: Box::new(row), record: Box::new(record) });
            }
            Err(stopped) => {
                let row = self.stopped(cell, lost(0, stopped)?);
                self.finish(0, row, &[], None);
            }
        }
        Ok(())
    }

    /// Reads meters at idle and under load.
    fn meters(&mut self, device: &mut dyn Device, cells: &[Identity], window: Time, energy: bool) -> Result<(), Lost> {
        let mut spent = Spent::default();
        let mut loads = crate::meters::Loads { device, gatekeeper: self.gatekeeper(), energy };
        let read = crate::meters::read(&mut loads, cells, window, &mut spent, &mut |event| self.say(&event));
        self.spent += spent;
        read.map_err(|(cell, stopped)| Lost { cell, reason: stopped.reason })
    }

    fn finish_ceiling(&mut self, cell: Prepared) {
        let stop = match cell.end {
            Some(Err(stopped)) => {
                let row = self.stopped(&cell.identity, stopped);
                return self.finish(cell.index, row, &[], None);
            }
            Some(Ok(stop)) => Some(stop),
            None => None,
        };
        let Compiled::Ceiling(ceiling) = &cell.compiled else { return };
        self.at(cell.index, Stage::Judge);
        let check = ceiling.check();
        let Judgement { outcome, reason, .. } = judge_accumulators(check.as_ref().map(|_| ()).map_err(String::as_str));
        let mut row = CellRow::blank(&cell.identity, self.row_process());
        (row.outcome, row.reason, row.gate) = (outcome, reason, Some(GateMethod::Accumulators));
        row.operations = cell.operations();
        row.stop = stop;
        self.summarise(&mut row, &cell.samples);
        self.finish(cell.index, row, &cell.samples, None);
    }

    /// Judges products after timing; zeros and constants inherit from a seeded sibling of the same path, triple and shape.
    fn finish_products(&mut self, gatekeeper: &mut Gatekeeper, cells: Vec<Prepared>) -> Result<(), Lost> {
        let mut judged: Vec<(Prepared, CellRow, Option<View>)> = Vec::new();
        for mut cell in cells {
            let stop = match cell.end.take() {
                Some(Err(stopped)) => {
                    let row = self.stopped(&cell.identity, stopped);
                    self.finish(cell.index, row, &[], None);
                    continue;
                }
                Some(Ok(stop)) => Some(stop),
                None => None,
            };
            self.at(cell.index, Stage::Judge);
            let after = cell.look_again(gatekeeper);
            self.spent += cell.spent;
            let after = match after {
                Ok(after) => after,
                Err(stopped) => {
                    let row = self.stopped(&cell.identity, lost(cell.index, stopped)?);
                    self.finish(cell.index, row, &[], None);
                    continue;
                }
            };
            let mut row = CellRow::blank(&cell.identity, self.row_process());
            let view = self.spent.gate(|| judge_product(gatekeeper, &cell, after, &mut row));
            row.operations = cell.operations();
            row.stop = stop;
            self.summarise(&mut row, &cell.samples);
            judged.push((cell, row, view));
        }
        for i in 0..judged.len() {
            if gatekeeper.is_blind(&judged[i].0.identity) {
                self.inherit(&mut judged, i);
            }
        }
        for (cell, row, view) in judged {
            self.finish(cell.index, row, &cell.samples, view.as_ref());
        }
        Ok(())
    }

    fn summarise(&self, row: &mut CellRow, samples: &[rigel_device::Sample]) {
        if samples.is_empty() {
            return;
        }
        let times = sampling::times(samples);
        let clocks: Vec<_> = samples.iter().map(|s| s.clock).collect();
        row.summarise(&times, &clocks, self.request.sampling.bootstrap_resamples);
    }

    fn inherit(&self, judged: &mut [(Prepared, CellRow, Option<View>)], i: usize) {
        let me = judged[i].0.identity.clone();
        let siblings: Vec<usize> = (0..judged.len())
            .filter(|&j| {
                let (other, row) = (&judged[j].0.identity, &judged[j].1);
                row.gate != Some(GateMethod::Inherited)
                    && !other.recipe.is_some_and(rigel_numerics::Recipe::is_blind)
                    && (&other.path, other.triple, other.shape) == (&me.path, me.triple, me.shape)
            })
            .collect();
        let pick = rigel_numerics::random::below(self.request.seed, i as u64, siblings.len() as u64) as usize;
        let sibling = siblings.get(pick).map(|&j| {
            let row = &judged[j].1;
            let judgement = Judgement { outcome: row.outcome, reason: row.reason.clone(), error: row.gate_error };
            (judgement, row.recipe.map(|r| name_of(&r)).unwrap_or_default())
        });
        let row = &mut judged[i].1;
        let own = Judgement { outcome: row.outcome, reason: row.reason.clone(), error: row.gate_error };
        let inherited = rigel_ledger::gate::inherit(&own, sibling.as_ref().map(|(j, name)| (j, name.as_str())));
        (row.outcome, row.reason, row.gate) = (inherited.outcome, inherited.reason, Some(GateMethod::Inherited));
    }
}

/// Fills the gate columns of a row and returns the view that stands in the witness: the worse of the two.
fn judge_product(gatekeeper: &Gatekeeper, cell: &Prepared, after: Option<View>, row: &mut CellRow) -> Option<View> {
    let (Compiled::Product { inputs, .. }, Some(before)) = (&cell.compiled, &cell.before) else { return None };
    let judgement = gatekeeper.judge(&cell.identity, inputs, before, after.as_ref());
    let worse = match after {
        Some(after) if after.worse_than(before) => after,
        _ => before.clone(),
    };
    row.outcome = judgement.outcome;
    row.reason = judgement.reason;
    row.gate = Some(worse.method);
    row.gate_error = judgement.error;
    row.gate_ulps = judgement.error.and(worse.ulps);
    // Empty where the declared types promise nothing at this K: files know no infinity.
    row.gate_tolerance = Some(inputs.tolerance.relative).filter(|bound| bound.is_finite());
    row.gate_visible = worse.visible;
    Some(worse)
}
