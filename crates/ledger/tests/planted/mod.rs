//! Which small run do the tests of store and verify write? Its device is right to the last bit, save where a cell is not.
#![allow(dead_code)]

use rigel_ledger::block_name;
use rigel_ledger::facts::derive;
use rigel_ledger::gate::places;
use rigel_ledger::provenance::OfferRecord;
use rigel_ledger::rows::{Bits, CacheState, GateMethod, Identity, Outcome, Stop, Work};
use rigel_ledger::store::{RunWriter, StoreError};
use rigel_ledger::{CellRow, Plan, PowerRow, Probe, Provenance, SampleRow, WitnessRow};
use rigel_numerics::bound::{round_up_3, tolerance};
use rigel_numerics::{Megahertz, Operand, Overflow, Recipe, Rounding, Shape, Time, Triple, exact};
use std::path::Path;

/// The plan of the planted run.
pub const PLAN: &str = r#"# a small plan
name = "planted"
seed = 7
probes = ["types", "throughput"]

[sampling]
processes = 2
repetitions = 60
minimum_repetitions = 30
budget_s = 5
precision = 0.0
burst = 5
pilot = 5
bootstrap_resamples = 0
meter_window_s = 0.0

[thresholds]
accelerated = 1.5
win = 1.1
same = [0.9, 1.1]
ceiling_share = 0.6
plateau = 0.02
coarse_cap = 0.01
full_check = 1000000

[limits]
timeout_s = 10.0
memory_mib = 0

[match]
triple = "f32,f32->f32"
judged = []

[baselines]
a = "scalar"
b = "tiled"
c = ""
d = ""

[select]
paths = []
triples = []

[types]
shapes = ["8x8x8"]
recipes = ["near-normal"]

[throughput]
shapes = ["8x8x8", "9x4x17"]
recipes = ["near-normal", "zeros"]
caches = ["warm"]
ceilings = true
"#;

/// The triples that both paths have.
pub const TRIPLES: [&str; 3] = ["f32,f32->f32", "bf16,bf16->f32", "i8,i8->i32"];
/// The triple whose only product crashes.
const CRASHES: &str = "e4m3,e4m3->f32";

/// A cell with its evidence, as a worker hands it over.
pub type Cell = (CellRow, Vec<SampleRow>, Vec<WitnessRow>);

/// What a run is made from.
pub struct Planted {
    pub plan: Plan,
    pub provenance: Provenance,
    pub cells: Vec<Cell>,
    pub power: Vec<PowerRow>,
}

impl Planted {
    /// The planted run, cells in the order of measuring.
    pub fn new(run: &str) -> Planted {
        let plan = Plan::parse(PLAN, "planted.toml").unwrap();
        let provenance = provenance(&plan, run);
        let mut cells = Vec::new();
        for process in 0..2 {
            for path in ["tiled", "scalar"] {
                for triple in TRIPLES {
                    let triple: Triple = triple.parse().unwrap();
                    for shape in [Shape::cube(8), Shape::new(9, 4, 17)] {
                        for recipe in [Recipe::NearNormal, Recipe::Zeros] {
                            cells.push(product(&provenance, path, triple, shape, recipe, process));
                        }
                    }
                    cells.push(ceiling(&provenance, path, triple, process));
                }
            }
            cells.push(crashed(&provenance, process));
        }
        for (row, ..) in &mut cells {
            let block = block_name::of_row(&plan, row).unwrap();
            row.block = if row.outcome == Outcome::Crashed { block_name::left_out(&block) } else { block };
        }
        let loops: Vec<&Cell> = cells.iter().filter(|(row, ..)| row.work == Work::Ceiling).collect();
        let power = (0..4).map(|i| reading(&loops[i].0, i as u64)).collect();
        Planted { plan, provenance, cells, power }
    }

    pub fn begin(&self, dir: &Path) -> RunWriter {
        RunWriter::create(dir, &self.plan, &self.provenance).unwrap()
    }

    pub fn append(&self, writer: &mut RunWriter, cells: std::ops::Range<usize>) -> Result<(), StoreError> {
        for (row, samples, witness) in &self.cells[cells] {
            writer.append(row.clone(), samples, witness)?;
        }
        Ok(())
    }

    /// Writes an unsealed run of the first cells.
    pub fn unsealed(&self, dir: &Path, cells: usize) {
        let mut writer = self.begin(dir);
        writer.append_power(&self.power).unwrap();
        self.append(&mut writer, 0..cells).unwrap();
    }

    /// Writes the whole run and seals it.
    pub fn sealed(&self, dir: &Path) {
        let mut writer = self.begin(dir);
        writer.append_power(&self.power).unwrap();
        self.append(&mut writer, 0..self.cells.len()).unwrap();
        writer.seal_with(derive).unwrap();
    }

    /// Goes on with an interrupted run and seals it.
    pub fn resumed(&self, dir: &Path) -> Result<(), StoreError> {
        let mut writer = RunWriter::resume(dir, &self.plan, &self.provenance)?;
        let missing = self.cells.iter().filter(|(row, _, _)| !writer.has(row.cell, row.process)).cloned();
        for (row, samples, witness) in missing.collect::<Vec<_>>() {
            writer.append(row, &samples, &witness)?;
        }
        writer.seal_with(derive).map(drop)
    }
}

pub fn provenance(plan: &Plan, run: &str) -> Provenance {
    let offer = |(path, triple): (&str, &str)| OfferRecord {
        path: path.to_owned(),
        triple: triple.parse().unwrap(),
        advertised: true,
        source: "planted".to_owned(),
        absent: String::new(),
        stated_operations_per_cycle_per_core: None,
        stated_source: String::new(),
        conversion: String::new(),
    };
    let mut provenance = Provenance::planted(plan, run);
    provenance.device.id = "sim-1".to_owned();
    provenance.device.name = "planted, \"device\"".to_owned();
    provenance.device.firmware = "unknown".to_owned();
    let pairs = ["tiled", "scalar"].into_iter().flat_map(|path| TRIPLES.map(|triple| (path, triple)));
    provenance.device.offers = pairs.chain([("tiled", CRASHES)]).map(offer).collect();
    provenance
}

pub fn blank(provenance: &Provenance, identity: &Identity, process: u32) -> CellRow {
    CellRow {
        device: provenance.device.id.clone(),
        driver: provenance.device.driver.clone(),
        run: provenance.run.clone(),
        outcome: Outcome::Right,
        ..CellRow::blank(identity, process)
    }
}

fn product(provenance: &Provenance, path: &str, triple: Triple, shape: Shape, recipe: Recipe, process: u32) -> Cell {
    let identity = Identity {
        probe: Probe::Throughput,
        work: Work::Gemm,
        path: path.to_owned(),
        triple,
        shape: Some(shape),
        tile: "8x8".to_owned(),
        recipe: Some(recipe),
        seed: 7,
        cache: CacheState::Warm,
    };
    let mut row = blank(provenance, &identity, process);
    let (mut error, mut ulps) = (0.0, 0.0);
    let mut witness = Vec::new();
    row.gate = Some(if recipe == Recipe::Zeros { GateMethod::Inherited } else { GateMethod::Full });
    for (r, c) in places::of_row(&row) {
        let pair = |k| {
            let a = recipe.element(triple.a, 7, Operand::A, r as u64, k as u64);
            (a, recipe.element(triple.b, 7, Operand::B, k as u64, c as u64))
        };
        let dot = exact::dot(triple.a, triple.b, (0..shape.k).map(pair)).unwrap();
        let code = if triple.is_integer() {
            u64::from(dot.sum.to_f64() as i32 as u32)
        } else {
            triple.c.encode(dot.sum.to_f64(), Rounding::NearestEven, Overflow::Ieee)
        };
        let bits = Bits::new(triple.c, code);
        witness.push(WitnessRow { cell: row.cell, process, row: r as u32, column: c as u32, bits });
    }
    for w in &witness {
        let pair = |k| {
            let a = recipe.element(triple.a, 7, Operand::A, w.row.into(), k as u64);
            (a, recipe.element(triple.b, 7, Operand::B, k as u64, w.column.into()))
        };
        let residual = exact::dot(triple.a, triple.b, (0..shape.k).map(pair)).unwrap().residual(triple.c, w.bits.code);
        if residual.relative > error {
            (error, ulps) = (residual.relative, residual.ulps);
        }
    }
    (row.gate_error, row.gate_ulps) = (Some(round_up_3(error)), Some(round_up_3(ulps)));
    row.gate_tolerance = Some(tolerance(triple, shape.k, recipe).relative);
    row.operations = Some(shape.operations());
    let samples = repetitions(&mut row, process, 30);
    (row, samples, witness)
}

fn ceiling(provenance: &Provenance, path: &str, triple: Triple, process: u32) -> Cell {
    let identity = Identity {
        probe: Probe::Throughput,
        work: Work::Ceiling,
        path: path.to_owned(),
        triple,
        shape: None,
        tile: "ilp8x1".to_owned(),
        recipe: None,
        seed: 7,
        cache: CacheState::None,
    };
    let mut row = blank(provenance, &identity, process);
    row.gate = Some(GateMethod::Accumulators);
    row.operations = Some(1 << 20);
    let samples = repetitions(&mut row, process, 30);
    (row, samples, vec![])
}

fn crashed(provenance: &Provenance, process: u32) -> Cell {
    let identity = Identity {
        probe: Probe::Throughput,
        work: Work::Gemm,
        path: "tiled".to_owned(),
        triple: CRASHES.parse().unwrap(),
        shape: Some(Shape::cube(8)),
        tile: "8x8".to_owned(),
        recipe: Some(Recipe::NearNormal),
        seed: 7,
        cache: CacheState::Warm,
    };
    let mut row = blank(provenance, &identity, process);
    row.outcome = Outcome::Crashed;
    row.reason = "signal 11, \"segmentation\"\nfault, at\tonce".to_owned();
    (row, vec![], vec![])
}

/// Fills the summary columns from planted times.
fn repetitions(row: &mut CellRow, process: u32, n: u32) -> Vec<SampleRow> {
    let clock = |i: u32| (row.path == "tiled" || i > 0).then_some(Megahertz(3000 + process));
    let time = |i: u32| Time(1_000_000 + u64::from(i * 7919 % 997) * 37 + row.cell.0 % 500_000);
    let samples: Vec<SampleRow> = (0..n)
        .map(|index| SampleRow { cell: row.cell, process, index, time_ns: time(index), clock_mhz: clock(index) })
        .collect();
    let times: Vec<Time> = samples.iter().map(|s| s.time_ns).collect();
    let clocks: Vec<Option<Megahertz>> = samples.iter().map(|s| s.clock_mhz).collect();
    row.summarise(&times, &clocks, 0);
    row.stop = Some(Stop::Repetitions);
    samples
}

fn reading(row: &CellRow, i: u64) -> PowerRow {
    PowerRow {
        meter: "package".to_owned(),
        time_ns: Time::from_ns(1000 * (4 - i)),
        value: 9.5 - i as f64,
        unit: "J".to_owned(),
        phase: row.cell.to_string(),
    }
}

/// Every file of a directory with its bytes, in order of name.
pub fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

/// Copies the files of a run.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for (name, bytes) in files(from) {
        std::fs::write(to.join(name), bytes).unwrap();
    }
}

/// Changes a file of a sealed run and writes MANIFEST anew, so that only derivation can tell.
pub fn forge(dir: &Path, file: &str, change: impl FnOnce(String) -> String) {
    let path = dir.join(file);
    let text = change(std::fs::read_to_string(&path).unwrap());
    std::fs::write(&path, &text).unwrap();
    let manifest = dir.join("MANIFEST");
    let lines: Vec<String> = std::fs::read_to_string(&manifest)
        .unwrap()
        .lines()
        .map(|line| match line.starts_with(&format!("{file},")) {
            true => {
                let rows = if file.ends_with(".csv") { (text.lines().count() - 1).to_string() } else { String::new() };
                format!("{file},{rows},{}", blake3::hash(text.as_bytes()).to_hex())
            }
            false => line.to_owned(),
        })
        .collect();
    std::fs::write(&manifest, lines.join("\n") + "\n").unwrap();
}
