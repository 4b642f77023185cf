//! Does a device that crashes, hangs, lies and runs out of memory leave rows instead of ending the run?

mod rig;

use rig::{file, rigel};

#[test]
fn every_disaster_becomes_a_row() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let arguments =
        ["run", "--device", "sim:hostile", "--timeout", "2", "--axis", "shape=512", "--axis", "types-shape=8,9"];
    rigel().args(arguments).arg("--out").arg(&out).assert().success();
    let cells = file(&out, "cells.csv");
    for outcome in ["right", "refused-compile", "refused-load", "crashed", "hung", "wrong", "out-of-memory"] {
        assert!(cells.contains(&format!(",{outcome},")), "no row says {outcome}");
    }
    let exhausted = cells.lines().filter(|row| row.contains("i8,i8->i32") && row.contains(",512x512x512,"));
    assert!(exhausted.clone().count() > 0 && exhausted.clone().all(|row| row.contains(",out-of-memory,")), "{cells}");
    let meter =
        cells.lines().find(|row| row.contains(",dispatch,meter,")).expect("the meter that cannot be read has its row");
    assert!(meter.contains("package") && meter.contains("permission denied"), "{meter}");
    rigel().arg("verify").arg(&out).assert().success();
    let fails = rigel().args(arguments).args(["--fail-on", "crashed"]).arg("--out").arg(&out).output().unwrap();
    assert_eq!(fails.status.code(), Some(1), "{}", rig::stderr(&fails));
}

#[test]
fn a_worker_over_its_memory_limit_leaves_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("first"), dir.path().join("second"));
    rigel().args(rig::SMALL).arg("--out").arg(&first).assert().success();
    let plan = file(&first, "plan.toml").replace("[\"32x32x32\", \"48x48x48\"]", "[\"32x32x32\", \"4000x4000x200\"]");
    // Every thread's stack counts.
    let limit = format!("memory_mib = {}", 64 + 4 * std::thread::available_parallelism().map_or(1, |n| n.get()));
    let limited = plan.lines().map(|line| if line.starts_with("memory_mib") { limit.as_str() } else { line });
    let path = dir.path().join("plan.toml");
    std::fs::write(&path, limited.collect::<Vec<_>>().join("\n")).unwrap();
    let run = || {
        let mut command = rigel();
        command.args(["run", "--device", "sim:plain"]).arg("--plan").arg(&path).arg("--out").arg(&second);
        command.output().unwrap()
    };
    let output = run();
    assert!(output.status.success(), "{}", rig::stderr(&output));
    let cells = file(&second, "cells.csv");
    let of = |shape: &str, outcome: &str| {
        cells
            .lines()
            .filter(|line| line.contains(&format!(",{shape},")) && line.contains(&format!(",{outcome},")))
            .count()
    };
    assert!(of("4000x4000x200", "out-of-memory") > 0 && of("4000x4000x200", "right") == 0, "{cells}");
    assert!(of("32x32x32", "right") > 0 && of("32x32x32", "out-of-memory") == 0, "{cells}");
    rigel().arg("verify").arg(&second).assert().success();
}
