//! Which small run, planted by hand, are facts derived from?

use rigel_ledger::facts::{Evidence, SampleSource, derive};
use rigel_ledger::plan::{Baselines, Match, Plan, ThroughputAxes, TypesAxes};
use rigel_ledger::provenance::{MissingMeterRecord, OfferRecord, Provenance};
use rigel_ledger::rows::{CacheState, CellId, CellRow, Identity, Work};
use rigel_ledger::{FactRow, Outcome, PowerRow, Probe};
use rigel_numerics::{Format, Megahertz, Recipe, Shape, Time, Triple};
use std::collections::HashMap;

pub const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
pub const NARROW: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
pub const BIG: Shape = Shape::cube(1024);
pub const SMALL: Shape = Shape::cube(64);

#[derive(Default, Clone)]
pub struct Memory(pub HashMap<(CellId, u32), (Vec<Time>, Vec<Megahertz>)>);

impl SampleSource for Memory {
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]> {
        self.0.get(&(cell, process)).map(|(times, _)| times.as_slice())
    }

    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]> {
        self.0.get(&(cell, process)).map(|(_, clocks)| clocks.as_slice()).filter(|clocks| !clocks.is_empty())
    }
}

#[derive(Clone)]
pub struct Run {
    pub plan: Plan,
    pub provenance: Provenance,
    pub cells: Vec<CellRow>,
    pub samples: Memory,
    pub power: Vec<PowerRow>,
}

impl Run {
    pub fn facts(&self) -> Vec<FactRow> {
        derive(&Evidence {
            plan: &self.plan,
            provenance: std::slice::from_ref(&self.provenance),
            cells: &self.cells,
            samples: &self.samples,
            power: &self.power,
            units: &[],
        })
    }

    pub fn value(&self, path: &str, triple: Option<Triple>, name: &str) -> String {
        let facts = self.facts();
        let found: Vec<&FactRow> =
            facts.iter().filter(|fact| fact.path == path && fact.triple == triple && fact.name == name).collect();
        assert_eq!(found.len(), 1, "{path} {triple:?} {name}");
        found[0].value.clone()
    }

    /// A cell in every process: `picoseconds` gives the time of a repetition from process and index.
    pub fn measure(&mut self, identity: &Identity, operations: u64, picoseconds: impl Fn(u32, u64) -> u64) {
        for process in 0..self.plan.sampling.processes {
            let times: Vec<Time> = (0..30).map(|i| Time(picoseconds(process, i))).collect();
            let clocks = vec![Megahertz(1000); times.len()];
            let mut row = blank(identity, process);
            row.operations = Some(operations);
            row.summarise(&times, &clocks.iter().copied().map(Some).collect::<Vec<_>>(), 0);
            self.samples.0.insert((row.cell, process), (times, clocks));
            self.cells.push(row);
        }
    }

    /// `rate` in operations per microsecond.
    pub fn product(&mut self, path: &str, triple: Triple, shape: Shape, rate: u64) {
        let identity = identity(Work::Gemm, path, triple, Some(shape), "64x64");
        // One process after another is 0.1 % slower; repetitions differ by ± 0.02 %.
        let time = shape.operations() * 1_000_000 / rate;
        self.measure(&identity, shape.operations(), |process, i| {
            time + time * u64::from(process) / 1000 + i % 3 * time / 5000
        });
    }

    /// `rate` in operations per microsecond.
    pub fn ceiling(&mut self, path: &str, triple: Triple, rate: u64) {
        for (variant, share) in [("ilp1x2", 40), ("ilp4x2", 99), ("ilp8x2", 100)] {
            let identity = identity(Work::Ceiling, path, triple, None, variant);
            let time = 1_000_000_000 / (rate * share / 100);
            self.measure(&identity, 1_000, |process, i| time + time * u64::from(process) / 1000 + i % 3);
        }
    }

    pub fn rung(&mut self, path: &str, triple: Triple, shape: Shape, outcome: Outcome, reason: &str) {
        let mut row = blank(&identity(Work::Rung, path, triple, Some(shape), "64x64"), 0);
        (row.outcome, row.reason, row.probe) = (outcome, reason.to_owned(), Probe::Types);
        self.cells.push(row);
    }
}

pub fn identity(work: Work, path: &str, triple: Triple, shape: Option<Shape>, tile: &str) -> Identity {
    let ceiling = work == Work::Ceiling;
    Identity {
        probe: if work == Work::Rung { Probe::Types } else { Probe::Throughput },
        work,
        path: path.to_owned(),
        triple,
        shape,
        tile: tile.to_owned(),
        recipe: (!ceiling).then_some(Recipe::NearNormal),
        seed: 1,
        cache: if ceiling { CacheState::None } else { CacheState::Warm },
    }
}

pub fn blank(identity: &Identity, process: u32) -> CellRow {
    CellRow {
        device: "sim-golden".into(),
        driver: "1".into(),
        run: "golden".into(),
        block: format!("{:?}", identity.shape),
        outcome: Outcome::Right,
        ..CellRow::blank(identity, process)
    }
}

pub fn plan() -> Plan {
    Plan {
        probes: vec![Probe::Types, Probe::Throughput],
        matches: Match { triple: HALF, judged: vec![] },
        baselines: Baselines { a: "scalar".into(), b: "tiled".into(), c: "older".into(), d: "matrix".into() },
        types: TypesAxes { shapes: vec![Shape::cube(8), Shape::cube(9)], recipes: vec![Recipe::NearNormal] },
        throughput: ThroughputAxes {
            shapes: vec![BIG, SMALL],
            recipes: vec![Recipe::NearNormal],
            caches: vec![CacheState::Warm],
            ceilings: true,
        },
        units: None,
        fusion: None,
        attention: None,
        power: None,
        ..Plan::planted("golden")
    }
}

pub fn offer(path: &str, triple: Triple, absent: &str) -> OfferRecord {
    OfferRecord {
        path: path.into(),
        triple,
        advertised: absent.is_empty(),
        source: "planted document, section 1".into(),
        absent: absent.into(),
        stated_operations_per_cycle_per_core: (path == "matrix").then_some(if triple == HALF { 500.0 } else { 1250.0 }),
        stated_source: "planted document, section 2".into(),
        conversion: String::new(),
    }
}

pub fn provenance() -> Provenance {
    let mut provenance = Provenance::planted(&plan(), "golden");
    provenance.device.cores = 2;
    provenance.device.offers = vec![
        offer("matrix", HALF, ""),
        offer("matrix", NARROW, ""),
        offer("older", HALF, ""),
        offer("older", NARROW, "no such instruction"),
    ];
    provenance.device.missing_meters =
        vec![MissingMeterRecord { name: "board".into(), reason: "not readable here".into() }];
    provenance
}

/// Two paths, a match and a narrow triple at twice its rate; baselines A and B absent.
pub fn golden() -> Run {
    let mut run =
        Run { plan: plan(), provenance: provenance(), cells: vec![], samples: Memory::default(), power: vec![] };
    for shape in [Shape::cube(8), Shape::cube(9)] {
        run.rung("matrix", HALF, shape, Outcome::Right, "");
        run.rung("older", HALF, shape, Outcome::Right, "");
    }
    run.rung("matrix", NARROW, Shape::cube(8), Outcome::Right, "");
    run.rung("matrix", NARROW, Shape::cube(9), Outcome::RefusedCompile, "K must be a multiple of 8");
    run.rung("older", NARROW, Shape::cube(8), Outcome::Absent, "no such instruction");
    for (path, triple, ceiling, rate) in
        [("matrix", HALF, 1000, 800), ("matrix", NARROW, 2000, 1600), ("older", HALF, 500, 450)]
    {
        run.ceiling(path, triple, ceiling);
        run.product(path, triple, BIG, rate);
        run.product(path, triple, SMALL, rate / 10);
    }
    run
}
