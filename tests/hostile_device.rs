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
    for outcome in ["right", "refused-compile", "refused-load", "crashed", "hung", "wrong"] {
        assert!(cells.contains(&format!(",{outcome},")), "no row says {outcome}");
    }
    rigel().arg("verify").arg(&out).assert().success();
    let fails = rigel().args(arguments).args(["--fail-on", "crashed"]).arg("--out").arg(&out).output().unwrap();
    assert_eq!(fails.status.code(), Some(1), "{}", rig::stderr(&fails));
}
