//! How long do reading and verifying take on a run of 10⁵ cell rows, 3·10⁷ samples and 2.4·10⁶ witness elements?
//!
//! `cargo run --release -p rigel-ledger --example big_run -- DIRECTORY [CELLS]` writes a run marked `simulated` there
//! (about 1.2 GB; a run that is there already is taken), then prints seconds and peak memory of each step.

use rayon::prelude::*;
use rigel_ledger::block_name;
use rigel_ledger::facts::{Evidence, derive};
use rigel_ledger::gate::places;
use rigel_ledger::provenance::OfferRecord;
use rigel_ledger::rows::{Bits, CacheState, GateMethod, Identity, Outcome, Stop, Work};
use rigel_ledger::store::{Run, RunWriter};
use rigel_ledger::{CellId, CellRow, Plan, Probe, Provenance, SampleRow, WitnessRow, verify};
use rigel_numerics::bound::{round_up_3, tolerance};
use rigel_numerics::{Format, Megahertz, Operand, Overflow, Recipe, Rounding, Shape, Time, Triple, exact, random};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const PROCESSES: u32 = 6;
const PATHS: u32 = 8;
const REPETITIONS: u32 = 300;
const K: usize = 256;
const TRIPLE: Triple = Triple::new(Format::F32, Format::F32, Format::F32);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = args.next().ok_or("name a directory")?;
    let cells: u32 = args.next().map_or(Ok(100_000), |n| n.parse())?;
    let dir = Path::new(&dir);
    if !Run::is_one(dir) {
        timed("write and seal", || write(dir, cells))?;
    }
    let run = timed("open", || Run::open(dir))?;
    let samples = timed("samples", || run.samples())?;
    let witness = timed("witness", || run.witness())?;
    println!("{} cell rows, {} samples, {} witness elements", run.cells().len(), samples.len(), witness.len());
    drop((run, samples, witness));
    let report = timed("verify", || verify::verify(dir))?;
    for check in &report.checks {
        let first = check.failures.first().map(ToString::to_string).unwrap_or_default();
        println!("  {:<12} {:>9} items, {} failures {first}", check.name, check.items, check.failed);
    }
    Ok(())
}

/// Runs a step and prints how long it took, and the most memory that the process has had so far.
fn timed<T>(step: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    let seconds = start.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!("{step:<16} {seconds:>8.2} s, peak memory {peak}");
    result
}

fn write(dir: &Path, cells: u32) -> Result<(), Box<dyn Error>> {
    let plan = plan(cells);
    let mut provenance = Provenance::planted(&plan, "big");
    provenance.device.offers = (0..PATHS).map(offer).collect();
    let mut writer = RunWriter::create(dir, &plan, &provenance)?;
    for start in (0..cells).step_by(1200) {
        let batch: Vec<_> = (start..(start + 1200).min(cells)).into_par_iter().map(|i| cell(&provenance, i)).collect();
        for (row, samples, witness) in batch {
            writer.append(row, &samples, &witness)?;
        }
    }
    writer.seal_with(|evidence: &Evidence<'_>| derive(evidence))?;
    Ok(())
}

/// Cell row `i`: every block has its own inputs, and each cell stands in each of the processes.
fn cell(provenance: &Provenance, i: u32) -> (CellRow, Vec<SampleRow>, Vec<WitnessRow>) {
    let (index, process) = (i / PROCESSES, i % PROCESSES);
    let shape = shape(index / PATHS);
    let (recipe, seed) = (Recipe::NearNormal, provenance.seed);
    let identity = Identity {
        probe: Probe::Throughput,
        work: Work::Gemm,
        path: format!("path-{}", index % PATHS),
        triple: TRIPLE,
        shape: Some(shape),
        tile: "64x64".to_owned(),
        recipe: Some(recipe),
        seed,
        cache: CacheState::Warm,
    };
    let cell = CellId::of(&identity);
    let key = random::stream(cell.0, u64::from(process));
    let noise = |n: u64| random::below(key, n, 1 << 16) + random::below(key, n + 1000, 1 << 16);
    let samples: Vec<SampleRow> = (0..REPETITIONS)
        .map(|index| SampleRow {
            cell,
            process,
            index,
            time_ns: Time(57_730_000 + 100 * noise(u64::from(index))),
            clock_mhz: Some(Megahertz(3690 + (noise(u64::from(index)) >> 14) as u32)),
        })
        .collect();
    let (mut error, mut ulps, mut witness) = (0.0, 0.0, Vec::new());
    let blank = CellRow { gate: Some(GateMethod::Full), ..CellRow::blank(&identity, process) };
    for (row, column) in places::of_row(&blank) {
        let (row, column) = (row as u32, column as u32);
        let pair = |k| {
            let a = recipe.element(TRIPLE.a, seed, Operand::A, row.into(), k);
            (a, recipe.element(TRIPLE.b, seed, Operand::B, k, column.into()))
        };
        // Recipes give finite codes only, which always have an exact sum.
        let Ok(dot) = exact::dot(TRIPLE.a, TRIPLE.b, (0..K as u64).map(pair)) else { continue };
        let code = TRIPLE.c.encode(dot.sum.to_f64(), Rounding::NearestEven, Overflow::Ieee);
        let residual = dot.residual(TRIPLE.c, code);
        if residual.relative > error {
            (error, ulps) = (residual.relative, residual.ulps);
        }
        witness.push(WitnessRow { cell, process, row, column, bits: Bits::new(TRIPLE.c, code) });
    }
    let times: Vec<Time> = samples.iter().map(|s| s.time_ns).collect();
    let clocks: Vec<Option<Megahertz>> = samples.iter().map(|s| s.clock_mhz).collect();
    let mut row = CellRow {
        device: provenance.device.id.clone(),
        driver: provenance.device.driver.clone(),
        run: provenance.run.clone(),
        block: block_name::products(shape, recipe, CacheState::Warm),
        outcome: Outcome::Right,
        gate_error: Some(round_up_3(error)),
        gate_ulps: Some(round_up_3(ulps)),
        gate_tolerance: Some(tolerance(TRIPLE, K, recipe).relative),
        operations: Some(shape.operations()),
        stop: Some(Stop::Repetitions),
        ..blank
    };
    row.summarise(&times, &clocks, 0);
    (row, samples, witness)
}

/// A shape of its own for each block, so that each has its own inputs.
fn shape(block: u32) -> Shape {
    Shape::new(64 + block as usize, 64, K)
}

fn offer(path: u32) -> OfferRecord {
    OfferRecord {
        path: format!("path-{path}"),
        triple: TRIPLE,
        advertised: true,
        source: "planted".to_owned(),
        absent: String::new(),
        stated_operations_per_cycle_per_core: None,
        stated_source: String::new(),
        conversion: String::new(),
    }
}

fn plan(cells: u32) -> Plan {
    let mut plan = Plan::planted("big");
    plan.sampling.processes = PROCESSES;
    plan.sampling.repetitions = PROCESSES * REPETITIONS;
    plan.matches.triple = TRIPLE;
    plan.baselines.b = "path-0".into();
    plan.baselines.c = "path-1".into();
    plan.throughput.shapes = (0..cells.div_ceil(PROCESSES * PATHS)).map(shape).collect();
    plan.throughput.ceilings = false;
    plan
}
