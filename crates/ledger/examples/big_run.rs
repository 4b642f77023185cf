//! How long do reading and verifying take on a run of 10⁵ cell rows, 3·10⁷ samples and 1.6·10⁶ witness elements?
//!
//! `cargo run --release -p rigel-ledger --example big_run -- DIRECTORY [CELLS]` writes a run marked `simulated` there
//! (about 1.2 GB; a run that is there already is taken), then prints seconds and peak memory of each step.

use rayon::prelude::*;
use rigel_ledger::facts::{Evidence, derive};
use rigel_ledger::plan::{Baselines, Limits, Match, Sampling, Select, Thresholds, ThroughputAxes, TypesAxes};
use rigel_ledger::provenance::{DeviceRecord, Host, RunKind};
use rigel_ledger::rows::{Bits, CacheState, GateMethod, Identity, Outcome, Stop, Work};
use rigel_ledger::statistics::summary;
use rigel_ledger::store::{Run, RunWriter};
use rigel_ledger::{CellId, CellRow, Plan, Probe, Provenance, SampleRow, WitnessRow, verify};
use rigel_numerics::bound::{round_up_3, tolerance};
use rigel_numerics::{Format, Megahertz, Operand, Overflow, Recipe, Rounding, Shape, Time, Triple, exact, random};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const PROCESSES: u32 = 6;
const REPETITIONS: u32 = 300;
const K: usize = 256;
const WITNESS: u32 = 16;
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
    let plan = plan();
    let provenance = provenance(&plan);
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

/// Cell row `i`: every cell has its own inputs, and stands in each of the processes.
fn cell(provenance: &Provenance, i: u32) -> (CellRow, Vec<SampleRow>, Vec<WitnessRow>) {
    let (index, process) = (i / PROCESSES, i % PROCESSES);
    let shape = Shape::new(64, 64, K);
    let (recipe, seed) = (Recipe::NearNormal, u64::from(index / 8));
    let identity = Identity {
        probe: Probe::Throughput,
        work: Work::Gemm,
        path: format!("path-{}", index % 8),
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
    for w in 0..WITNESS {
        let (row, column) = (w * 4, (w * 37) % 64);
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
    let summary = summary(&times, &clocks);
    let Identity { probe, work, path, triple, tile, cache, .. } = identity;
    let row = CellRow {
        cell,
        device: provenance.device.id.clone(),
        driver: provenance.device.driver.clone(),
        run: provenance.run.clone(),
        process,
        block: format!("block-{}", index / 8),
        probe,
        work,
        path,
        triple,
        shape: Some(shape),
        tile,
        recipe: Some(recipe),
        seed,
        cache,
        outcome: Outcome::Right,
        reason: String::new(),
        gate: Some(GateMethod::Full),
        gate_error: Some(round_up_3(error)),
        gate_ulps: Some(round_up_3(ulps)),
        gate_tolerance: Some(tolerance(TRIPLE, K, recipe).relative),
        gate_visible: None,
        operations: Some(shape.operations()),
        repetitions: Some(REPETITIONS),
        warmup: Some(summary.warmup),
        stop: Some(Stop::Repetitions),
        median_ns: summary.median_ns,
        ci_low_ns: summary.interval.map(|interval| interval.low),
        ci_high_ns: summary.interval.map(|interval| interval.high),
        bootstrap_low_ns: summary.bootstrap.map(|interval| interval.low),
        bootstrap_high_ns: summary.bootstrap.map(|interval| interval.high),
        autocorrelation: summary.autocorrelation,
        effective_n: summary.effective_n,
        modes: summary.modality.column(),
        clock_mhz: summary.clock_mhz,
        evidence: String::new(),
    };
    (row, samples, witness)
}

fn plan() -> Plan {
    Plan {
        name: "big".to_owned(),
        seed: 1,
        probes: vec![Probe::Throughput],
        sampling: Sampling {
            processes: PROCESSES,
            repetitions: PROCESSES * REPETITIONS,
            minimum_repetitions: 30,
            budget_s: 60.0,
            precision: 0.0,
            burst: 5,
            pilot: 5,
            bootstrap_resamples: 0,
            meter_window_s: 0.0,
        },
        thresholds: Thresholds {
            accelerated: 1.5,
            win: 1.1,
            same: [0.9, 1.1],
            ceiling_share: 0.6,
            plateau: 0.02,
            coarse_cap: 0.01,
            full_check: 1 << 33,
        },
        limits: Limits { timeout_s: 60.0, memory_mib: 0 },
        matches: Match { triple: TRIPLE, judged: vec![] },
        baselines: Baselines { a: String::new(), b: "path-0".into(), c: "path-1".into(), d: String::new() },
        select: Select { paths: vec![], triples: vec![], filter: String::new() },
        types: TypesAxes { shapes: vec![Shape::cube(8)], recipes: vec![Recipe::NearNormal] },
        throughput: ThroughputAxes {
            shapes: vec![Shape::new(64, 64, K)],
            recipes: vec![Recipe::NearNormal],
            caches: vec![CacheState::Warm],
            ceilings: false,
        },
    }
}

fn provenance(plan: &Plan) -> Provenance {
    let planted = || "planted".to_owned();
    Provenance {
        schema: Provenance::SCHEMA,
        run: "big".to_owned(),
        kind: RunKind::Simulated,
        plan_hash: plan.hash(),
        plan: plan.name.clone(),
        commit: planted(),
        dirty: Some(true),
        binary_hash: planted(),
        recipe_hash: blake3::hash(rigel_numerics::recipe::RECIPE_TEXT.as_bytes()).to_hex().to_string(),
        seed: plan.seed,
        device: DeviceRecord {
            id: "sim-big".to_owned(),
            name: planted(),
            backend: "sim".to_owned(),
            selector: "sim".to_owned(),
            cores: 1,
            memory_bytes: 0,
            driver: planted(),
            firmware: planted(),
            toolchain: planted(),
            os: planted(),
            kernels: planted(),
            clocks: planted(),
            features: vec![],
            offers: vec![],
            missing_meters: vec![],
        },
        host: Host { cpu: planted(), logical_cpus: 1, load: None, environment: planted() },
        command: vec![planted()],
        partition: String::new(),
        concurrent_cells: 1,
        started: "2026-01-01T00:00:00Z".to_owned(),
    }
}
