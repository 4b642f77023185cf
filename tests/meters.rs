//! Does a run read the meters that are there, once, and say of the others why not?
#![cfg(unix)]

mod rig;

use rig::{file, rigel, stderr, stdout};
use std::collections::BTreeMap;
use std::path::Path;

/// A plan of little more than ceilings, whose loads the meters are read under.
fn measure(device: &str, out: &Path) -> std::process::Output {
    let few = ["--axis", "shape=32", "--axis", "types-shape=8", "--filter", "f16"];
    rigel().args(["run", "--device", device]).args(few).arg("--out").arg(out).output().unwrap()
}

/// Readings as (meter, phase) → values in order of time.
fn readings(dir: &Path) -> BTreeMap<(String, String), Vec<f64>> {
    let mut all: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    let text = file(dir, "power.csv");
    let mut rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    rows.sort_by(|a, b| a[1].parse::<f64>().unwrap().total_cmp(&b[1].parse().unwrap()));
    for row in rows {
        all.entry((row[0].to_owned(), row[4].to_owned())).or_default().push(row[2].parse().unwrap());
    }
    all
}

/// The fact `signal.energy` of a path.
fn energy(dir: &Path, path: &str) -> String {
    let facts = file(dir, "facts.csv");
    facts
        .lines()
        .find(|line| line.starts_with(&format!("dispatch,{path},")) && line.contains("signal.energy"))
        .unwrap()
        .to_owned()
}

#[test]
fn a_counter_moves_under_load_and_a_frozen_one_is_blind() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let output = measure("sim:m4max", &run);
    assert!(output.status.success(), "{}", stderr(&output));
    let readings = readings(&run);
    let span = |meter: &str, phase: &str| {
        let values = &readings[&(meter.to_owned(), phase.to_owned())];
        values.last().unwrap() - values.first().unwrap()
    };
    let loads: Vec<&str> = readings
        .keys()
        .filter(|(meter, phase)| meter == "GPU energy" && phase != "idle")
        .map(|k| k.1.as_str())
        .collect();
    assert!(!loads.is_empty());
    for load in loads {
        assert!(span("GPU energy", load) > 20.0 * span("GPU energy", "idle"), "{load}");
        assert_eq!(span("CPU energy", load), 0.0);
    }
    let said = energy(&run, "matmul2d");
    assert!(said.contains("CPU energy is blind") && said.contains("GPU energy moved"), "{said}");
    assert!(rigel().arg("verify").arg(&run).output().unwrap().status.success());
}

#[test]
fn meters_are_read_once_and_a_resumed_run_keeps_what_they_said() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    assert!(measure("sim:m4max", &run).status.success());
    let (power, manifest) = (file(&run, "power.csv"), file(&run, "MANIFEST"));
    assert!(measure("sim:m4max", &run).status.success());
    assert_eq!((file(&run, "power.csv"), file(&run, "MANIFEST")), (power.clone(), manifest));
    // Killed before they were read: an unsealed run whose log is empty.
    std::fs::remove_file(run.join("MANIFEST")).unwrap();
    let header = power.lines().next().unwrap();
    std::fs::write(run.join("power.csv"), format!("{header}\n")).unwrap();
    assert!(measure("sim:m4max", &run).status.success());
    assert_eq!(file(&run, "power.csv"), power);
}

#[test]
fn a_finished_run_without_meters_keeps_its_seal() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let sealed = || std::fs::metadata(run.join("MANIFEST")).unwrap().modified().unwrap();
    assert!(measure("sim:two-clocks", &run).status.success());
    let first = sealed();
    assert!(measure("sim:two-clocks", &run).status.success());
    assert_eq!(sealed(), first);
}

#[test]
fn what_cannot_be_read_has_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("hostile");
    let _ = measure("sim:hostile", &run);
    let record = file(&run, "run.json");
    assert!(record.contains("permission denied") && record.contains("meters no accelerator"), "{record}");
    assert!(readings(&run).keys().all(|(meter, _)| meter == "rail"));
    // A clock is read and is no rail.
    let run = dir.path().join("plain");
    assert!(measure("sim:plain", &run).status.success());
    assert!(readings(&run).contains_key(&("core clock".to_owned(), "idle".to_owned())));
    let said = energy(&run, "matmul2d");
    assert!(said.contains("board") && !said.contains("core clock"), "{said}");
    let run = dir.path().join("none");
    let _ = measure("sim:two-clocks", &run);
    assert!(readings(&run).is_empty());
    let said = energy(&run, "matmul2d");
    assert!(said.contains("no meter of energy or power was read"), "{said}");
}

#[test]
fn a_run_says_where_its_time_went() {
    let dir = tempfile::tempdir().unwrap();
    let output = measure("sim:plain", &dir.path().join("run"));
    let said = stderr(&output);
    let line = said.lines().find(|line| line.contains("the tool itself")).unwrap_or_else(|| panic!("{said}"));
    assert!(["kernels", "gate"].iter().all(|part| line.contains(part)), "{line}");
    assert!(!stdout(&output).contains("the tool itself"));
}

/// A software device of one path whose loop would run for longer than its clock can count, so that its meter tells one time again and again.
const SLOW: &str = r#"
name = "Slow"
id = "sim-slow"
version = "1"
note = "invented"
cores = 1
memory_bytes = 1073741824
[clock]
reference_mhz = 1000
[[path]]
name = "scalar"
[[path.triple]]
triple = "f16,f16->f32"
advertised = true
source = "invented"
rate = 1e9
ceiling = { rate = 1.0, variants = [{ name = "ilp1x1", factor = 0.99 }, { name = "ilp4x1", factor = 1.0 }] }
[[meter]]
name = "board"
reads = { energy = { idle_w = 20.0, load_w = 120.0 } }
"#;

#[test]
fn a_meter_that_contradicts_itself_is_a_row_and_the_run_verifies() {
    let dir = tempfile::tempdir().unwrap();
    let (truth, run) = (dir.path().join("slow.toml"), dir.path().join("run"));
    std::fs::write(&truth, SLOW).unwrap();
    let few = ["--axis", "shape=64", "--axis", "types-shape=1"];
    let device = format!("sim:{}", truth.display());
    let output = rigel().args(["run", "--device", &device]).args(few).arg("--out").arg(&run).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(file(&run, "cells.csv").contains("the readings of meters contradict themselves"), "{}", stderr(&output));
    rigel().arg("verify").arg(&run).assert().success();
}
