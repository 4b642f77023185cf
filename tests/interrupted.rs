//! Does a run that was killed, at any moment, end like one that was not?

mod rig;

use rig::{SMALL, cells, file, rigel};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts the same run and kills it, with all its workers, after a while.
fn killed(out: &std::path::Path, after: Duration) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("rigel"))
        .args(SMALL)
        .arg("--out")
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
}

#[test]
fn a_run_killed_at_many_points_resumes_to_the_undisturbed_one() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, hurt) = (dir.path().join("whole"), dir.path().join("hurt"));
    rigel().args(SMALL).arg("--out").arg(&whole).assert().success();
    for ms in [1, 40, 90, 150, 220, 300, 400, 500, 700, 900, 30, 60, 120, 250] {
        killed(&hurt, Duration::from_millis(ms));
        if hurt.join("MANIFEST").exists() {
            break;
        }
    }
    rigel().args(SMALL).arg("--out").arg(&hurt).assert().success();
    assert_eq!(cells(&whole), cells(&hurt));
    for name in ["samples.csv", "witness.csv", "facts.csv", "plan.toml"] {
        assert_eq!(file(&whole, name), file(&hurt, name), "{name}");
    }
    rigel().arg("verify").arg(&hurt).assert().success();
}

#[test]
fn a_finished_run_is_left_as_it_is_and_another_plan_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    let before = file(&out, "MANIFEST");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    assert_eq!(before, file(&out, "MANIFEST"));
    let other = rigel().args(SMALL).args(["--seed", "7"]).arg("--out").arg(&out).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(rig::stderr(&other).contains("plan"), "{}", rig::stderr(&other));
    assert_eq!(before, file(&out, "MANIFEST"));
}
