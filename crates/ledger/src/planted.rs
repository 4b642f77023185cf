//! What do the plan and the provenance of planted rows look like?
//!
//! Calibration, examples and tests make rows whose truth is known. Their plans have the design's thresholds, and their
//! provenance says `simulated` and lacks nothing, since without it no rule gives a word.

use crate::plan::{Baselines, Limits, Match, Plan, Sampling, Select, Thresholds, ThroughputAxes, TypesAxes};
use crate::provenance::{DeviceRecord, Host, Provenance, RunKind};
use crate::rows::{CacheState, Probe};
use rigel_numerics::{Format, Recipe, Shape, Triple};

impl Plan {
    /// A small plan with the design's thresholds: six processes of thirty repetitions, no baselines, f16 to f32 as match.
    pub fn planted(name: &str) -> Plan {
        Plan {
            name: name.to_owned(),
            seed: 1,
            probes: vec![Probe::Throughput],
            sampling: Sampling {
                processes: 6,
                repetitions: 180,
                minimum_repetitions: 30,
                budget_s: 1.0,
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
            matches: Match { triple: Triple::new(Format::F16, Format::F16, Format::F32), judged: Vec::new() },
            baselines: Baselines { a: String::new(), b: String::new(), c: String::new(), d: String::new() },
            select: Select { paths: Vec::new(), triples: Vec::new(), filter: String::new() },
            types: TypesAxes { shapes: vec![Shape::cube(8)], recipes: vec![Recipe::NearNormal] },
            throughput: ThroughputAxes {
                shapes: vec![Shape::cube(64)],
                recipes: vec![Recipe::NearNormal],
                caches: vec![CacheState::Warm],
                ceilings: true,
            },
            units: None,
            fusion: None,
            power: None,
            attention: None,
            order: None,
            alignment: None,
            versions: None,
        }
    }
}

impl Provenance {
    /// A complete record of a simulated run of `plan` on a device without offers.
    pub fn planted(plan: &Plan, run: &str) -> Provenance {
        let text = || "planted".to_owned();
        Provenance {
            schema: Provenance::SCHEMA,
            run: run.to_owned(),
            kind: RunKind::Simulated,
            plan_hash: plan.hash(),
            plan: plan.name.clone(),
            commit: text(),
            dirty: Some(false),
            binary_hash: text(),
            recipe_hash: blake3::hash(rigel_numerics::recipe::RECIPE_TEXT.as_bytes()).to_hex().to_string(),
            seed: plan.seed,
            device: DeviceRecord {
                id: format!("sim-{run}"),
                name: text(),
                backend: "sim".to_owned(),
                selector: format!("sim:{run}"),
                cores: 1,
                memory_bytes: 1 << 30,
                driver: "1".to_owned(),
                firmware: text(),
                toolchain: text(),
                os: text(),
                kernels: text(),
                clocks: text(),
                features: Vec::new(),
                offers: Vec::new(),
                missing_meters: Vec::new(),
                rules: Vec::new(),
                meters: Vec::new(),
            },
            host: Host { cpu: text(), logical_cpus: 1, load: Some(0.0), environment: String::new() },
            command: vec!["rigel".to_owned(), "run".to_owned()],
            partition: String::new(),
            concurrent_cells: 1,
            started: "2026-01-02T03:04:05Z".to_owned(),
        }
    }
}
