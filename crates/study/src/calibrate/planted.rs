//! How does a planted device become the evidence of a run?

use rigel_device::contract::{CeilingSpec, GemmSpec, Sample};
use rigel_device::sim::{Timeline, Truth};
use rigel_ledger::Provenance;
use rigel_ledger::facts::{Evidence, SampleSource, derive};
use rigel_ledger::plan::Plan;
use rigel_ledger::rows::{CacheState, CellId, CellRow, Identity, Work};
use rigel_ledger::{FactRow, Outcome, Probe, statistics};
use rigel_numerics::{Megahertz, Recipe, Shape, Time, Triple};
use std::collections::HashMap;

/// Fresh processes of a block: the fewest that a verdict may rest on.
const PROCESSES: u32 = 6;

/// Repetitions in each, so that a cell has 300 over its processes.
const REPETITIONS: usize = 50;

/// The product that is timed: large enough for every planted rate to be reached.
pub(super) const SHAPE: Shape = Shape::cube(1024);

/// The rows of a planted device, as a study would have written them.
pub(super) struct PlantedRun<'a> {
    truth: &'a Truth,
    cells: Vec<CellRow>,
    samples: Memory,
}

/// Times of one cell in one process, and the clocks where they can be read.
type Taken = (Vec<Time>, Option<Vec<Megahertz>>);

#[derive(Default)]
struct Memory(HashMap<(CellId, u32), Taken>);

impl SampleSource for Memory {
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]> {
        self.0.get(&(cell, process)).map(|(times, _)| times.as_slice())
    }

    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]> {
        self.0.get(&(cell, process)).and_then(|(_, clocks)| clocks.as_deref())
    }
}

impl<'a> PlantedRun<'a> {
    pub(super) fn new(truth: &'a Truth) -> Self {
        PlantedRun { truth, cells: Vec::new(), samples: Memory::default() }
    }

    /// Times a product with the path's first launch tile.
    pub(super) fn product(&mut self, path: &str, triple: Triple) {
        let Some(found) = self.truth.find(path, triple) else { return };
        let Some(tile) = found.path.tiles.first().map(|tile| tile.name.clone()) else { return };
        let spec = GemmSpec { path: path.to_owned(), triple, shape: SHAPE, tile: tile.clone() };
        let truth = self.truth;
        let identity = identity(Work::Gemm, path, triple, tile);
        self.measure(&identity, SHAPE.operations(), |process| truth.timeline(&spec, process));
    }

    /// Times every variant of a ceiling loop.
    pub(super) fn ceiling(&mut self, path: &str, triple: Triple) {
        let truth = self.truth;
        let Some(ceiling) = truth.find(path, triple).and_then(|found| found.triple.ceiling.as_ref()) else { return };
        for variant in &ceiling.variants {
            let spec = CeilingSpec { path: path.to_owned(), triple, variant: variant.name.clone() };
            let identity = identity(Work::Ceiling, path, triple, variant.name.clone());
            self.measure(&identity, ceiling.operations, |process| truth.ceiling_timeline(&spec, process));
        }
    }

    /// Only the columns that facts read are filled: the others follow from the same repetitions.
    fn measure(&mut self, identity: &Identity, operations: u64, series: impl Fn(u32) -> Option<Timeline>) {
        for process in 0..PROCESSES {
            let Some(mut timeline) = series(process) else { return };
            let taken = timeline.take(REPETITIONS);
            let times: Vec<Time> = taken.iter().map(|sample| sample.time).collect();
            let clocks: Option<Vec<Megahertz>> = taken.iter().map(|sample: &Sample| sample.clock).collect();
            let mut row = row(identity, &self.truth.id, process);
            let warmup = statistics::warmup(&times);
            row.operations = Some(operations);
            row.repetitions = Some(times.len() as u32);
            row.warmup = Some(warmup as u32);
            row.median_ns = statistics::median(&times[warmup..]);
            row.clock_mhz = clocks.as_ref().map(|clocks| middle_clock(&clocks[warmup..]));
            self.samples.0.insert((row.cell, process), (times, clocks));
            self.cells.push(row);
        }
    }

    /// The facts of the run.
    pub(super) fn facts(&self, plan: &Plan, provenance: &Provenance) -> Vec<FactRow> {
        derive(&Evidence {
            plan,
            provenance: std::slice::from_ref(provenance),
            cells: &self.cells,
            samples: &self.samples,
            power: &[],
            units: &[],
        })
    }
}

fn middle_clock(clocks: &[Megahertz]) -> f64 {
    let mut sorted: Vec<u32> = clocks.iter().map(|clock| clock.0).collect();
    sorted.sort_unstable();
    let middle = sorted.len() / 2;
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[middle]);
    (f64::from(low) + f64::from(high)) / 2.0
}

fn identity(work: Work, path: &str, triple: Triple, tile: String) -> Identity {
    let product = work == Work::Gemm;
    Identity {
        probe: Probe::Throughput,
        work,
        path: path.to_owned(),
        triple,
        shape: product.then_some(SHAPE),
        tile,
        recipe: product.then_some(Recipe::NearNormal),
        seed: 0,
        cache: if product { CacheState::Warm } else { CacheState::None },
    }
}

fn row(identity: &Identity, device: &str, process: u32) -> CellRow {
    CellRow {
        device: device.to_owned(),
        driver: "1".to_owned(),
        run: "calibrate".to_owned(),
        block: "planted".to_owned(),
        outcome: Outcome::Right,
        ..CellRow::blank(identity, process)
    }
}

/// A plan with the design's thresholds.
pub(super) fn plan(matched: Triple) -> Plan {
    let mut plan = Plan::planted("calibrate");
    plan.sampling.processes = PROCESSES;
    plan.sampling.repetitions = PROCESSES * REPETITIONS as u32;
    plan.matches.triple = matched;
    plan.baselines.b = "tiled".to_owned();
    plan.baselines.c = "simdgroup_matrix".to_owned();
    plan.baselines.d = "matmul2d".to_owned();
    plan.throughput.shapes = vec![SHAPE];
    plan
}
