//! A run that never was: rows, facts and samples made by hand, so that what is drawn can be compared byte for byte.
#![allow(dead_code, reason = "each test file uses its own part")]

use rigel_ledger::facts::SampleSource;
use rigel_ledger::provenance::{DeviceRecord, Host, MissingMeterRecord, OfferRecord, RunKind};
use rigel_ledger::rows::{CacheState, GateMethod, Identity, Stop, Work};
use rigel_ledger::{CellId, CellRow, FactRow, Outcome, Plan, Probe, Provenance};
use rigel_numerics::{Megahertz, Recipe, Shape, Time, Triple};
use rigel_report::{FileRecord, Files, Published, Source};
use std::collections::BTreeMap;

/// Repetitions by cell and process.
#[derive(Default)]
pub struct Held(BTreeMap<(CellId, u32), (Vec<Time>, Vec<Megahertz>)>);

impl SampleSource for Held {
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]> {
        self.0.get(&(cell, process)).map(|held| held.0.as_slice())
    }

    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]> {
        self.0.get(&(cell, process)).map(|held| held.1.as_slice()).filter(|clocks| !clocks.is_empty())
    }
}

/// Everything a [`Source`] borrows.
pub struct Synthetic {
    pub plan: Plan,
    pub provenance: Vec<Provenance>,
    pub cells: Vec<CellRow>,
    pub facts: Vec<FactRow>,
    pub samples: Held,
    pub published: Vec<Published>,
    pub files: Files,
}

const PROCESSES: u32 = 6;
const REPETITIONS: u32 = 50;

/// Path, triple, rate at the largest size in Gop/s, ceiling in Gop/s, stated ÷ measured ceiling.
const LANES: [(&str, &str, f64, f64, Option<f64>); 11] = [
    ("scalar", "f32,f32->f32", 2.1, 7.3, None),
    ("scalar", "bf16,bf16->f32", 1.2, 7.3, None),
    ("tiled", "f64,f64->f64", 31.0, 55.2, None),
    ("tiled", "f32,f32->f32", 60.4, 110.0, None),
    ("tiled", "e4m3,e4m3->f32", 8.9, 110.0, None),
    ("avx512-fma", "f64,f64->f64", 104.0, 113.5, Some(1.02)),
    ("avx512-fma", "f32,f32->f32", 209.0, 226.6, Some(1.02)),
    ("avx512-fma", "f16,f16->f32", 171.0, 226.6, Some(1.02)),
    ("avx512-bf16", "bf16,bf16->f32", 371.0, 452.0, Some(1.01)),
    ("avx512-vnni", "u8,i8->i32", 688.0, 905.0, Some(1.01)),
    ("avx512-vnni", "i8,i8->i32", 655.0, 905.0, Some(1.01)),
];

impl Synthetic {
    /// A small run over all figures: `clock_states` of the core decide whether repetitions fall into one mode or two.
    pub fn new(kind: RunKind, clock_states: usize) -> Self {
        let mut run = Synthetic::empty();
        run.provenance = vec![provenance(kind)];
        run.files = files();
        for (lane, (path, triple, rate, ceiling, stated)) in LANES.into_iter().enumerate() {
            let triple = parse(triple);
            run.ceiling(path, triple, ceiling * 1e9, stated);
            for (i, n) in [512, 1024, 2048].into_iter().enumerate() {
                let rate = rate * 1e9 * [0.71, 0.93, 1.0][i];
                run.product(lane, path, triple, n, rate, ceiling * 1e9, clock_states);
            }
            run.ladder(path, triple, lane);
        }
        run.not_counted();
        run.verdicts();
        run
    }

    /// A plan and nothing else.
    pub fn empty() -> Self {
        Synthetic {
            plan: plan(),
            provenance: Vec::new(),
            cells: Vec::new(),
            facts: Vec::new(),
            samples: Held::default(),
            published: Vec::new(),
            files: Files::default(),
        }
    }

    pub fn source(&self) -> Source<'_> {
        Source {
            plan: &self.plan,
            provenance: &self.provenance,
            cells: &self.cells,
            facts: &self.facts,
            samples: &self.samples,
            power: &[],
            units: &[],
            published: &self.published,
            files: &self.files,
        }
    }

    fn ceiling(&mut self, path: &str, triple: Triple, rate: f64, stated: Option<f64>) {
        let id = CellId::of(&identity(Work::Ceiling, path, triple, None, "ilp8x2"));
        let mut fact = fact("ceiling", path, triple, &format!("{rate}"), "op/s");
        (fact.low, fact.high, fact.evidence) = (Some(rate * 0.998), Some(rate * 1.001), id.to_string());
        self.facts.push(fact);
        if let Some(times) = stated {
            let mut share = self::fact("ceiling.of_stated", path, triple, &format!("{}", 1.0 / times), "");
            share.evidence = id.to_string();
            self.facts.push(share);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a row has many columns")]
    fn product(&mut self, lane: usize, path: &str, triple: Triple, n: usize, rate: f64, ceiling: f64, states: usize) {
        let shape = Shape::cube(n);
        let identity = identity(Work::Gemm, path, triple, Some(shape), "64x32");
        let id = CellId::of(&identity);
        let operations = shape.operations();
        let time_ns = operations as f64 / rate * 1e9;
        for process in 0..PROCESSES {
            let mut row = cell(&identity, process);
            let (times, clocks) = repetitions(time_ns, lane as u64 * 97 + n as u64 + u64::from(process) * 7919, states);
            row.operations = Some(operations);
            row.stop = Some(Stop::Repetitions);
            row.summarise(&times, &clocks.iter().map(|c| Some(*c)).collect::<Vec<_>>(), 0);
            row.gate = Some(GateMethod::Sampled);
            row.gate_error =
                Some(if triple.is_integer() { 0.0 } else { 3.1e-9 * (1.0 + lane as f64 * 0.2) * (n as f64).sqrt() });
            row.gate_tolerance = (!triple.is_integer()).then_some(6e-8 * (n as f64).sqrt());
            if path == "avx512-fma" && triple == parse("f16,f16->f32") {
                row.outcome = Outcome::Imprecise;
                row.reason = "imprecise: operands".to_owned();
            }
            self.cells.push(row);
            self.samples.0.insert((id, process), (times, clocks));
        }
        let mut add = |name: &str, value: f64, spread: f64, unit: &str| {
            let mut row = fact(name, path, triple, &format!("{value}"), unit);
            (row.shape, row.recipe, row.cache) = (Some(shape), Some(Recipe::Uniform), Some(CacheState::Warm));
            (row.low, row.high) = (Some(value * (1.0 - spread)), Some(value * (1.0 + spread)));
            row.evidence = id.to_string();
            self.facts.push(row);
        };
        add("rate", rate, 0.004 + 0.02 * 512.0 / n as f64, "op/s");
        add("rate.of_ceiling", rate / ceiling, 0.004, "");
        let f32s =
            |path: &str| LANES.iter().find(|l| l.0 == path && parse(l.1) == parse("f32,f32->f32")).map(|l| l.2 * 1e9);
        if triple != parse("f32,f32->f32") {
            if let Some(base) = f32s(path) {
                add("ratio.match_path", rate / base, 0.012, "");
            }
            add("ratio.match_device", rate / 209e9, 0.015, "");
        }
        if path.starts_with("avx512") {
            add("ratio.baseline_b", rate / 60.4e9, 0.02, "");
            add("ratio.baseline_c", rate / 196e9, 0.02, "");
        }
        self.facts.push(FactRow { shape: Some(shape), ..fact("modes", path, triple, &states.to_string(), "") });
    }

    fn ladder(&mut self, path: &str, triple: Triple, lane: usize) {
        let advertised = if path == "scalar" { "no" } else { "yes" };
        for (name, value, words) in [
            ("rung.advertised", advertised, "Vendor manual, volume 1, table 4."),
            ("rung.compiles", "yes", "The compiler accepted every shape."),
            ("rung.loads", "yes", "Ahead of time: nothing to load."),
            ("rung.runs", "yes", "Every repetition ended."),
            ("rung.right", if lane == 7 { "no" } else { "yes" }, "11 of 11 shapes against the float64 reference."),
            (
                "rung.faster",
                if lane >= 8 {
                    "yes"
                } else if lane < 2 {
                    "not tried"
                } else {
                    "no"
                },
                "By the ratio to the match.",
            ),
        ] {
            self.facts.push(FactRow { words: words.to_owned(), ..fact(name, path, triple, value, "") });
        }
    }

    fn not_counted(&mut self) {
        let wrong = identity(Work::Rung, "tiled", parse("e5m2,e5m2->f32"), Some(Shape::new(9, 9, 65)), "32x32");
        let mut row = cell(&wrong, 0);
        row.outcome = Outcome::Wrong;
        row.reason = "worst element (8, 3): error 0.31 against a tolerance of 4.9e-7".to_owned();
        (row.gate, row.gate_error, row.gate_tolerance) = (Some(GateMethod::Full), Some(0.31), Some(4.9e-7));
        self.cells.push(row);
        let hung = identity(Work::Rung, "avx512-vnni", parse("i8,i8->i32"), Some(Shape::new(1, 1, 1)), "16x64");
        let mut row = cell(&hung, 0);
        row.outcome = Outcome::Hung;
        row.reason = "no message from the worker for 20 s".to_owned();
        self.cells.push(row);
    }

    fn verdicts(&mut self) {
        let verdicts = [
            (
                "tiled",
                "e4m3,e4m3->f32",
                "emulated",
                "Slower than f32 on the same path, and conversion instructions are seen in the loop.",
            ),
            ("avx512-fma", "f64,f64->f64", "slower", "The whole interval lies below 0.90."),
            ("avx512-fma", "f16,f16->f32", "slower", "The whole interval lies below 0.90; outcome imprecise."),
            (
                "avx512-bf16",
                "bf16,bf16->f32",
                "accelerated",
                "The whole interval lies above 1.50 at every deciding size.",
            ),
            ("avx512-vnni", "u8,i8->i32", "accelerated", "The whole interval lies above 1.50 at every deciding size."),
            (
                "avx512-vnni",
                "i8,i8->i32",
                "undecided: clock states",
                "Pairs of modes give different words, and no clock tells them apart.",
            ),
        ];
        for (path, triple, value, words) in verdicts {
            let triple = parse(triple);
            let mut row = fact("verdict.acceleration", path, triple, value, "");
            row.words = words.to_owned();
            row.evidence = [512, 1024, 2048]
                .map(|n| CellId::of(&identity(Work::Gemm, path, triple, Some(Shape::cube(n)), "64x32")).to_string())
                .join(" ");
            self.facts.push(row);
        }
        for path in ["avx512-bf16", "avx512-vnni"] {
            let triple = if path == "avx512-bf16" { parse("bf16,bf16->f32") } else { parse("u8,i8->i32") };
            let mut row = fact("verdict.win", path, triple, "win over B, C", "");
            row.words = "Baseline D is not present on this device.".to_owned();
            self.facts.push(row);
            let words = "Ceiling 2.0 times that of the vector unit; energy is blind: no meter.";
            let mut place = fact("verdict.where", path, triple, "undetermined, 1 of 3 signals", "");
            (place.triple, place.words) = (None, words.to_owned());
            self.facts.push(place);
        }
    }
}

/// Times around `time_ns`: one state, or two whose rates stand as 1 to 1.4, with their clocks.
fn repetitions(time_ns: f64, seed: u64, states: usize) -> (Vec<Time>, Vec<Megahertz>) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / 9_007_199_254_740_992.0
    };
    let one = |_| {
        let noise = (draw() + draw() + draw() + draw() - 2.0) * 0.008;
        let slow = states > 1 && draw() < 0.483;
        let factor = if slow { 1.4 } else { 1.0 };
        let late = if draw() < 0.01 { 1.012 } else { 1.0 };
        (Time((time_ns * 1000.0 * factor * late * (1.0 + noise)) as u64), Megahertz(if slow { 2500 } else { 3500 }))
    };
    (0..REPETITIONS).map(one).unzip()
}

pub fn parse(triple: &str) -> Triple {
    triple.parse().expect("a type triple of this test")
}

pub fn identity(work: Work, path: &str, triple: Triple, shape: Option<Shape>, tile: &str) -> Identity {
    let probe = if work == Work::Rung { Probe::Types } else { Probe::Throughput };
    let ceiling = work == Work::Ceiling;
    Identity {
        probe,
        work,
        path: path.to_owned(),
        triple,
        shape,
        tile: tile.to_owned(),
        recipe: (!ceiling).then_some(Recipe::Uniform),
        seed: 1,
        cache: if ceiling { CacheState::None } else { CacheState::Warm },
    }
}

pub fn cell(identity: &Identity, process: u32) -> CellRow {
    CellRow {
        device: "example-cpu-2".to_owned(),
        driver: "6.1".to_owned(),
        run: "example".to_owned(),
        block: "0".to_owned(),
        outcome: Outcome::Right,
        evidence: "0".repeat(64),
        ..CellRow::blank(identity, process)
    }
}

pub fn fact(name: &str, path: &str, triple: Triple, value: &str, unit: &str) -> FactRow {
    FactRow {
        probe: Probe::Throughput,
        path: path.to_owned(),
        triple: Some(triple),
        shape: None,
        recipe: None,
        cache: None,
        name: name.to_owned(),
        value: value.to_owned(),
        unit: unit.to_owned(),
        low: None,
        high: None,
        words: String::new(),
        evidence: String::new(),
    }
}

pub fn plan() -> Plan {
    let mut plan = Plan::planted("example");
    plan.probes = vec![Probe::Types, Probe::Throughput];
    plan.sampling.processes = PROCESSES;
    plan.sampling.repetitions = 300;
    plan.sampling.budget_s = 5.0;
    plan.sampling.pilot = 3;
    plan.thresholds.full_check = 1 << 21;
    plan.limits.timeout_s = 20.0;
    plan.matches.triple = parse("f32,f32->f32");
    plan.baselines.a = "scalar".to_owned();
    plan.baselines.b = "tiled".to_owned();
    plan.baselines.c = "avx2-fma".to_owned();
    plan.types.recipes = vec![Recipe::Uniform];
    plan.throughput.shapes = [512, 1024, 2048].map(Shape::cube).to_vec();
    plan.throughput.recipes = vec![Recipe::Uniform];
    plan
}

pub fn provenance(kind: RunKind) -> Provenance {
    let offer = |(path, triple, ..): (&str, &str, f64, f64, Option<f64>)| OfferRecord {
        path: path.to_owned(),
        triple: parse(triple),
        advertised: path != "scalar",
        source: "Vendor manual, volume 1, table 4".to_owned(),
        absent: String::new(),
        stated_operations_per_cycle_per_core: None,
        stated_source: String::new(),
        conversion: String::new(),
    };
    let mut offers: Vec<OfferRecord> = LANES.into_iter().map(offer).collect();
    let mut absent = offer(("amx", "bf16,bf16->f32", 0.0, 0.0, None));
    absent.absent = "this processor has no tile registers (CPUID leaf 7, EDX bit 24)".to_owned();
    offers.push(absent);
    Provenance {
        run: "example".to_owned(),
        kind,
        plan_hash: "1b".repeat(32),
        plan: "example".to_owned(),
        commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
        binary_hash: "2c".repeat(32),
        recipe_hash: "3d".repeat(32),
        device: DeviceRecord {
            id: "example-cpu-2".to_owned(),
            name: "Example processor, 2 cores".to_owned(),
            backend: "cpu".to_owned(),
            selector: "cpu".to_owned(),
            cores: 2,
            memory_bytes: 8 << 30,
            driver: "6.1".to_owned(),
            firmware: "0x1".to_owned(),
            toolchain: "rustc 1.89.0, target-cpu generic".to_owned(),
            os: "Example 1".to_owned(),
            kernels: "4e".repeat(32),
            clocks: "2500 to 3500 MHz".to_owned(),
            features: ["avx2", "avx512bf16", "avx512f", "avx512vnni", "fma"].map(str::to_owned).to_vec(),
            offers,
            meters: Vec::new(),
            rules: Vec::new(),
            missing_meters: vec![MissingMeterRecord {
                name: "package energy".to_owned(),
                reason: "unavailable: the power capping interface is not readable here".to_owned(),
            }],
        },
        host: Host {
            cpu: "Example processor".to_owned(),
            logical_cpus: 2,
            load: Some(0.04),
            environment: "no hypervisor seen".to_owned(),
        },
        command: ["rigel", "run", "--preset", "paper"].map(str::to_owned).to_vec(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        ..Provenance::planted(&plan(), "example")
    }
}

fn files() -> Files {
    let file =
        |name: &str, rows: Option<u64>, byte: &str| FileRecord { name: name.to_owned(), rows, digest: byte.repeat(32) };
    Files {
        directory: "data/example/paper".to_owned(),
        files: vec![
            file("cells.csv", Some(200), "aa"),
            file("facts.csv", Some(300), "bb"),
            file("run.json", None, "cc"),
            file("samples.csv", Some(9900), "dd"),
        ],
    }
}
