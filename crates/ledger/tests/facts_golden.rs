//! Do facts follow from rows as documented, whatever the order of the rows and however odd they are?

use proptest::prelude::*;
use rigel_ledger::facts::{Evidence, SampleSource, derive};
use rigel_ledger::plan::{Baselines, Limits, Match, Plan, Sampling, Select, Thresholds, ThroughputAxes, TypesAxes};
use rigel_ledger::provenance::{DeviceRecord, Host, MissingMeterRecord, OfferRecord, Provenance, RunKind};
use rigel_ledger::rows::{CacheState, CellId, CellRow, Identity, Work};
use rigel_ledger::{FactRow, Outcome, PowerRow, Probe};
use rigel_numerics::{Format, Megahertz, Recipe, Shape, Time, Triple};
use std::collections::HashMap;
use std::fmt::Write;

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
const NARROW: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
const BIG: Shape = Shape::cube(1024);
const SMALL: Shape = Shape::cube(64);

#[derive(Default, Clone)]
struct Memory(HashMap<(CellId, u32), (Vec<Time>, Vec<Megahertz>)>);

impl SampleSource for Memory {
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]> {
        self.0.get(&(cell, process)).map(|(times, _)| times.as_slice())
    }

    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]> {
        self.0.get(&(cell, process)).map(|(_, clocks)| clocks.as_slice()).filter(|clocks| !clocks.is_empty())
    }
}

#[derive(Clone)]
struct Run {
    plan: Plan,
    provenance: Provenance,
    cells: Vec<CellRow>,
    samples: Memory,
    power: Vec<PowerRow>,
}

impl Run {
    fn facts(&self) -> Vec<FactRow> {
        derive(&Evidence {
            plan: &self.plan,
            provenance: std::slice::from_ref(&self.provenance),
            cells: &self.cells,
            samples: &self.samples,
            power: &self.power,
        })
    }

    fn value(&self, path: &str, triple: Option<Triple>, name: &str) -> String {
        let facts = self.facts();
        let found: Vec<&FactRow> =
            facts.iter().filter(|fact| fact.path == path && fact.triple == triple && fact.name == name).collect();
        assert_eq!(found.len(), 1, "{path} {triple:?} {name}");
        found[0].value.clone()
    }

    /// A cell in every process: `picoseconds` gives the time of a repetition from process and index.
    fn measure(&mut self, identity: &Identity, operations: u64, picoseconds: impl Fn(u32, u64) -> u64) {
        for process in 0..self.plan.sampling.processes {
            let times: Vec<Time> = (0..30).map(|i| Time(picoseconds(process, i))).collect();
            let clocks = vec![Megahertz(1000); times.len()];
            let mut row = blank(identity, process);
            row.operations = Some(operations);
            row.summarise(&times, &clocks.iter().copied().map(Some).collect::<Vec<_>>());
            self.samples.0.insert((row.cell, process), (times, clocks));
            self.cells.push(row);
        }
    }

    /// `rate` in operations per microsecond.
    fn product(&mut self, path: &str, triple: Triple, shape: Shape, rate: u64) {
        let identity = identity(Work::Gemm, path, triple, Some(shape), "64x64");
        // One process after another is 0.1 % slower; repetitions differ by ± 0.02 %.
        let time = shape.operations() * 1_000_000 / rate;
        self.measure(&identity, shape.operations(), |process, i| {
            time + time * u64::from(process) / 1000 + i % 3 * time / 5000
        });
    }

    /// `rate` in operations per microsecond.
    fn ceiling(&mut self, path: &str, triple: Triple, rate: u64) {
        for (variant, share) in [("ilp1x2", 40), ("ilp4x2", 99), ("ilp8x2", 100)] {
            let identity = identity(Work::Ceiling, path, triple, None, variant);
            let time = 1_000_000_000 / (rate * share / 100);
            self.measure(&identity, 1_000, |process, i| time + time * u64::from(process) / 1000 + i % 3);
        }
    }

    fn rung(&mut self, path: &str, triple: Triple, shape: Shape, outcome: Outcome, reason: &str) {
        let mut row = blank(&identity(Work::Rung, path, triple, Some(shape), "64x64"), 0);
        (row.outcome, row.reason, row.probe) = (outcome, reason.to_owned(), Probe::Types);
        self.cells.push(row);
    }
}

fn identity(work: Work, path: &str, triple: Triple, shape: Option<Shape>, tile: &str) -> Identity {
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

fn blank(identity: &Identity, process: u32) -> CellRow {
    CellRow {
        cell: CellId::of(identity),
        device: "sim-golden".into(),
        driver: "1".into(),
        run: "golden".into(),
        process,
        block: format!("{:?}", identity.shape),
        probe: identity.probe,
        work: identity.work,
        path: identity.path.clone(),
        triple: identity.triple,
        shape: identity.shape,
        tile: identity.tile.clone(),
        recipe: identity.recipe,
        seed: identity.seed,
        cache: identity.cache,
        outcome: Outcome::Right,
        reason: String::new(),
        gate: None,
        gate_error: None,
        gate_ulps: None,
        gate_tolerance: None,
        gate_visible: None,
        operations: None,
        repetitions: None,
        warmup: None,
        stop: None,
        median_ns: None,
        ci_low_ns: None,
        ci_high_ns: None,
        bootstrap_low_ns: None,
        bootstrap_high_ns: None,
        autocorrelation: None,
        effective_n: None,
        modes: String::new(),
        clock_mhz: None,
        evidence: String::new(),
    }
}

fn plan() -> Plan {
    Plan {
        name: "golden".into(),
        seed: 1,
        probes: vec![Probe::Types, Probe::Throughput],
        sampling: Sampling {
            processes: 6,
            repetitions: 180,
            minimum_repetitions: 30,
            budget_s: 1.0,
            precision: 0.0,
            burst: 5,
            pilot: 5,
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
        matches: Match { triple: HALF, judged: vec![] },
        baselines: Baselines { a: "scalar".into(), b: "tiled".into(), c: "older".into(), d: "matrix".into() },
        select: Select { paths: vec![], triples: vec![], filter: String::new() },
        types: TypesAxes { shapes: vec![Shape::cube(8), Shape::cube(9)], recipes: vec![Recipe::NearNormal] },
        throughput: ThroughputAxes {
            shapes: vec![BIG, SMALL],
            recipes: vec![Recipe::NearNormal],
            caches: vec![CacheState::Warm],
            ceilings: true,
        },
    }
}

fn offer(path: &str, triple: Triple, absent: &str) -> OfferRecord {
    OfferRecord {
        path: path.into(),
        triple,
        advertised: absent.is_empty(),
        source: "planted document, section 1".into(),
        absent: absent.into(),
        stated_operations_per_cycle_per_core: (path == "matrix").then_some(if triple == HALF { 500.0 } else { 1250.0 }),
        stated_source: "planted document, section 2".into(),
    }
}

fn provenance() -> Provenance {
    let text = || "known".to_owned();
    Provenance {
        schema: Provenance::SCHEMA,
        run: "golden".into(),
        kind: RunKind::Simulated,
        plan_hash: text(),
        plan: "golden".into(),
        commit: text(),
        dirty: Some(false),
        binary_hash: text(),
        recipe_hash: text(),
        seed: 1,
        device: DeviceRecord {
            id: "sim-golden".into(),
            name: text(),
            backend: "sim".into(),
            selector: "sim:golden".into(),
            cores: 2,
            memory_bytes: 1 << 30,
            driver: "1".into(),
            firmware: text(),
            toolchain: text(),
            os: text(),
            kernels: text(),
            clocks: String::new(),
            features: vec![],
            offers: vec![
                offer("matrix", HALF, ""),
                offer("matrix", NARROW, ""),
                offer("older", HALF, ""),
                offer("older", NARROW, "no such instruction"),
            ],
            missing_meters: vec![MissingMeterRecord { name: "board".into(), reason: "not readable here".into() }],
        },
        host: Host { cpu: text(), logical_cpus: 2, load: None, environment: String::new() },
        command: vec!["rigel".into(), "run".into()],
        partition: String::new(),
        concurrent_cells: 1,
        started: "2026-01-01T00:00:00Z".into(),
    }
}

/// Two paths, a match and a narrow triple at twice its rate; baselines A and B absent.
fn golden() -> Run {
    let mut run =
        Run { plan: plan(), provenance: provenance(), cells: vec![], samples: Memory::default(), power: vec![] };
    for shape in [Shape::cube(8), Shape::cube(9)] {
        run.rung("matrix", HALF, shape, Outcome::Right, "");
        run.rung("older", HALF, shape, Outcome::Right, "");
    }
    run.rung("matrix", NARROW, Shape::cube(8), Outcome::Right, "");
    run.rung("matrix", NARROW, Shape::cube(9), Outcome::RefusedCompile, "K must be a multiple of 8");
    for (path, triple, ceiling, rate) in
        [("matrix", HALF, 1000, 800), ("matrix", NARROW, 2000, 1600), ("older", HALF, 500, 450)]
    {
        run.ceiling(path, triple, ceiling);
        run.product(path, triple, BIG, rate);
        run.product(path, triple, SMALL, rate / 10);
    }
    run
}

fn text(facts: &[FactRow]) -> String {
    let mut text = String::new();
    for fact in facts {
        let option = |value: Option<String>| value.unwrap_or_default();
        let subject = [
            fact.path.clone(),
            option(fact.triple.map(|t| t.to_string())),
            option(fact.shape.map(|s| s.to_string())),
            option(fact.recipe.map(|r| r.name().to_owned())),
        ];
        let subject: Vec<String> = subject.into_iter().filter(|part| !part.is_empty()).collect();
        let probe = rigel_ledger::rows::name_of(&fact.probe);
        let interval = fact.low.zip(fact.high).map(|(low, high)| format!("[{low}, {high}]")).unwrap_or_default();
        let head =
            [probe, subject.join(" "), format!("{} = {} {} {interval}", fact.name, fact.value, fact.unit)].join(" | ");
        for line in [head.as_str(), &format!("    {}", fact.words), &format!("    {}", fact.evidence)] {
            if !line.trim().is_empty() {
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
    }
    text
}

#[test]
fn a_small_run_gives_these_facts() {
    insta::assert_snapshot!(text(&golden().facts()));
}

#[test]
fn verdicts_of_the_golden_run() {
    let run = golden();
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "accelerated");
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.win"), "win over C, D");
    assert_eq!(run.value("matrix", Some(HALF), "verdict.win"), "win over C");
    assert_eq!(run.value("matrix", None, "verdict.where"), "undetermined");
}

#[test]
fn order_of_rows_and_scale_of_time_change_nothing_that_they_should_not() {
    let run = golden();
    let mut shuffled = run.clone();
    shuffled.cells.reverse();
    shuffled.cells.rotate_left(7);
    assert_eq!(run.facts(), shuffled.facts());

    let mut slower = run.clone();
    slower.cells.iter_mut().for_each(|row| row.median_ns = row.median_ns.map(|median| median * 8.0));
    for (times, _) in slower.samples.0.values_mut() {
        times.iter_mut().for_each(|time| time.0 *= 8);
    }
    let verdicts = |run: &Run| {
        let facts =
            run.facts().into_iter().filter(|fact| fact.name.starts_with("verdict") || fact.name.starts_with("ratio"));
        facts.map(|fact| (fact.path, fact.triple, fact.name, fact.value)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&run), verdicts(&slower));
}

#[test]
fn wrong_cells_enter_nothing_and_crashed_processes_are_left_out() {
    let mut run = golden();
    let narrow = |row: &&mut CellRow| row.work == Work::Gemm && row.triple == NARROW && row.shape == Some(BIG);
    run.cells.iter_mut().filter(narrow).take(1).for_each(|row| row.outcome = Outcome::Wrong);
    let facts = run.facts();
    assert!(!facts.iter().any(|f| f.name == "rate" && f.triple == Some(NARROW) && f.shape == Some(BIG)));
    let verdict = facts.iter().find(|f| f.name == "verdict.acceleration").expect("a verdict");
    assert!(verdict.words.contains("left out: 1024x1024x1024 near-normal warm launch tile 64x64: wrong in process 0"));
    assert!(verdict.words.contains("the ceiling speaks alone"), "{}", verdict.words);

    let mut run = golden();
    run.cells.iter_mut().filter(narrow).take(1).for_each(|row| (row.outcome, row.median_ns) = (Outcome::Crashed, None));
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: fewer than 6 processes");

    let mut run = golden();
    run.cells.iter_mut().filter(|row| row.triple == NARROW).for_each(|row| row.outcome = Outcome::Mistrusted);
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: no cell counts");
    assert!(!run.facts().iter().any(|f| f.name.starts_with("ratio") && f.triple == Some(NARROW)));
}

#[test]
fn a_match_that_is_missing_on_the_path_is_replaced_by_the_fastest_and_named() {
    let mut run = golden();
    run.cells.retain(|row| row.path != "matrix" || row.triple != HALF || row.work == Work::Rung);
    let facts = run.facts();
    let verdict = facts.iter().find(|f| f.name == "verdict.acceleration").expect("a verdict");
    assert_eq!(verdict.value, "accelerated");
    assert!(verdict.words.contains("no match on the same path: compared with the match on older"), "{}", verdict.words);
}

#[test]
fn incomplete_provenance_gives_no_verdict_and_names_the_fields() {
    let mut run = golden();
    run.provenance.commit.clear();
    run.provenance.dirty = None;
    let facts = run.facts();
    assert!(!facts.iter().any(|fact| fact.name.starts_with("verdict")));
    assert!(facts.iter().any(|fact| fact.name == "rate"));
    let incomplete = facts.iter().find(|fact| fact.name == "incomplete").expect("the fact that says so");
    assert_eq!(incomplete.value, "provenance");
    assert!(incomplete.words.contains("commit, dirty"), "{}", incomplete.words);

    let run = golden();
    let none =
        derive(&Evidence { plan: &run.plan, provenance: &[], cells: &run.cells, samples: &run.samples, power: &[] });
    assert!(none.iter().all(|fact| !fact.name.starts_with("verdict")) && none.iter().any(|f| f.name == "incomplete"));

    let mut run = golden();
    run.cells[0].device = "another".into();
    let facts = run.facts();
    assert_eq!((facts.len(), facts[0].name.as_str(), facts[0].value.as_str()), (1, "incomplete", "devices"));
}

#[test]
fn a_ceiling_off_its_plateau_is_not_accepted() {
    let mut run = golden();
    let slow = CellId::of(&identity(Work::Ceiling, "matrix", HALF, None, "ilp4x2"));
    for ((cell, _), (times, _)) in &mut run.samples.0 {
        if *cell == slow {
            times.iter_mut().for_each(|time| time.0 += time.0 / 20);
        }
    }
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "no");
    let accepted = |fact: &FactRow| fact.name == "ceiling" && fact.path == "matrix" && fact.triple == Some(HALF);
    assert!(!run.facts().iter().any(accepted));
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: no ceiling");

    // Without clocks the same step is seen in time.
    let slow = |row: &&mut CellRow| row.work == Work::Ceiling && row.triple == HALF && row.tile == "ilp4x2";
    let mut run = golden();
    run.samples.0.values_mut().for_each(|(_, clocks)| clocks.clear());
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "yes");
    run.cells.iter_mut().filter(slow).for_each(|row| row.median_ns = row.median_ns.map(|median| median * 1.05));
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "no");
}

#[test]
fn a_lucky_edge_of_a_plateau_does_not_hide_it() {
    // Were the fastest variant asked alone, noise that lifts ilp4 over ilp8 would make ilp1 its neighbour, a step.
    let mut run = golden();
    let edge = CellId::of(&identity(Work::Ceiling, "matrix", HALF, None, "ilp4x2"));
    for ((cell, _), (times, _)) in &mut run.samples.0 {
        if *cell == edge {
            times.iter_mut().for_each(|time| time.0 -= time.0 / 50);
        }
    }
    let facts = run.facts();
    let ceiling = facts.iter().find(|f| f.name == "ceiling" && f.path == "matrix" && f.triple == Some(HALF));
    assert_eq!(ceiling.map(|fact| fact.words.as_str()), Some("variant ilp8x2 over 6 processes"));
}

#[test]
fn two_clock_states_are_compared_inside_matched_ones() {
    // Both triples run 10 of 30 repetitions at half the clock, but the narrow one is there half of the time.
    let states = |with_clock: bool| {
        let mut run = golden();
        for (triple, rate, slow) in [(HALF, 800, 10), (NARROW, 1600, 15)] {
            let cell = identity(Work::Gemm, "matrix", triple, Some(BIG), "64x64");
            run.cells.retain(|row| row.cell != CellId::of(&cell));
            let time = BIG.operations() * 1_000_000 / rate;
            for process in 0..6 {
                let low = |i: u64| i * 7 % 30 < slow;
                let times: Vec<Time> =
                    (0..30).map(|i| Time(if low(i) { 2 * time } else { time } + i * time / 10_000)).collect();
                let clocks: Vec<Megahertz> = (0..30).map(|i| Megahertz(if low(i) { 500 } else { 1000 })).collect();
                let mut row = blank(&cell, process);
                row.operations = Some(BIG.operations());
                let read: Vec<Option<Megahertz>> = clocks.iter().map(|&clock| with_clock.then_some(clock)).collect();
                row.summarise(&times, &read);
                let clocks = if with_clock { clocks } else { vec![] };
                run.samples.0.insert((row.cell, process), (times, clocks));
                run.cells.push(row);
            }
        }
        run
    };
    let run = states(true);
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "accelerated");
    let modes = run.facts().into_iter().find(|f| f.name == "modes" && f.triple == Some(NARROW) && f.shape == Some(BIG));
    assert_eq!(modes.map(|fact| fact.value), Some("2".to_owned()));
    let run = states(false);
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: clock states");
}

#[test]
fn energy_says_what_it_could_not_see() {
    let mut run = golden();
    assert_eq!(run.value("matrix", None, "signal.energy"), "unmeasured");
    let cell = run.cells.iter().find(|row| row.path == "matrix" && row.work == Work::Gemm).expect("a product").cell;
    let reading = |time, value, phase: String| PowerRow {
        meter: "board".into(),
        time_ns: Time::from_ns(time),
        value,
        unit: "J".into(),
        phase,
    };
    run.power = vec![
        reading(0, 0.0, "idle".into()),
        reading(1_000_000_000, 10.0, "idle".into()),
        reading(2_000_000_000, 10.0, cell.to_string()),
        reading(3_000_000_000, 60.0, cell.to_string()),
    ];
    let facts = run.facts();
    let energy = facts.iter().find(|f| f.name == "signal.energy" && f.path == "matrix").expect("the signal");
    assert_eq!(
        (energy.value.as_str(), energy.words.as_str()),
        ("unmeasured", "board is blind: no known load was tried")
    );
}

#[test]
fn the_ladder_tells_refusals_from_what_was_never_tried() {
    let run = golden();
    let of = |path: &str, triple, name: &str| run.value(path, Some(triple), name);
    assert_eq!(of("matrix", NARROW, "rung.compiles"), "yes");
    assert_eq!(of("matrix", NARROW, "rung.right"), "no");
    assert_eq!(of("matrix", NARROW, "rung.faster"), "yes");
    assert_eq!(of("matrix", HALF, "rung.faster"), "not tried");
    assert_eq!(of("older", NARROW, "rung.advertised"), "no");
    assert_eq!(of("older", NARROW, "rung.compiles"), "not tried");
    let mut run = golden();
    run.rung("dying", HALF, Shape::cube(8), Outcome::Crashed, "signal 11");
    assert_eq!(run.value("dying", Some(HALF), "rung.compiles"), "not tried");
    assert_eq!(run.value("dying", Some(HALF), "rung.runs"), "no");
    assert_eq!(run.value("dying", Some(HALF), "rung.right"), "no");
}

#[test]
fn empty_and_odd_input_gives_facts_and_no_panic() {
    let mut run = golden();
    run.cells.clear();
    assert!(run.facts().iter().all(|fact| fact.name.starts_with("rung")));
    let mut run = golden();
    run.samples = Memory::default();
    assert!(!run.facts().iter().any(|fact| fact.name == "modes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn odd_rows_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..9u8, prop::num::f64::ANY), 1..40),
    ) {
        let mut run = golden();
        for (index, what, number) in edits {
            let i = index.index(run.cells.len());
            let row = &mut run.cells[i];
            match what {
                0 => row.median_ns = Some(number),
                1 => row.operations = Some(number as u64),
                2 => row.clock_mhz = Some(number),
                3 => row.tile = format!("ilp{}x{}", number as u64, number),
                4 => row.process = number as u32,
                5 => row.outcome = Outcome::Hung,
                6 => row.shape = None,
                7 => row.warmup = Some(number as u32),
                _ => { run.cells.remove(i); }
            }
            if run.cells.is_empty() { break; }
        }
        let facts = run.facts();
        prop_assert!(facts.iter().all(|fact| fact.value != "NaN" && fact.low.is_none_or(|low| !low.is_nan())));
        run.cells.reverse();
        prop_assert_eq!(facts, run.facts());
    }
}
