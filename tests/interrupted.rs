//! Does a run that was killed, at any moment, end like one that was not?

mod rig;

use rig::{SMALL, cells, file, rigel};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A run in which cells crash, hang, run out of memory and lose the device, each once.
const HOSTILE: &[&str] =
    &["run", "--device", "sim:hostile", "--timeout", "3", "--axis", "shape=512", "--axis", "types-shape=8"];

/// Starts a run and kills the campaign after a while; its worker must end by itself.
fn killed(arguments: &[&str], out: &std::path::Path, after: Duration) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("rigel"))
        .args(arguments)
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
    let mut met = 0;
    for ms in [1, 40, 90, 150, 220, 300, 400, 500, 700, 900, 30, 60, 120, 250] {
        killed(SMALL, &hurt, Duration::from_millis(ms));
        if hurt.join("MANIFEST").exists() {
            break;
        }
        met += usize::from(hurt.join("cells.csv").exists());
    }
    assert!(met > 0, "no kill met a run that had begun and was not sealed");
    rigel().args(SMALL).arg("--out").arg(&hurt).assert().success();
    assert_eq!(cells(&whole), cells(&hurt));
    for name in ["samples.csv", "witness.csv", "facts.csv", "plan.toml"] {
        assert_eq!(file(&whole, name), file(&hurt, name), "{name}");
    }
    rigel().arg("verify").arg(&hurt).assert().success();
}

#[test]
fn a_hostile_run_killed_at_many_points_loses_no_row() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, hurt) = (dir.path().join("whole"), dir.path().join("hurt"));
    rigel().args(HOSTILE).arg("--out").arg(&whole).assert().success();
    let mut met = 0;
    for ms in [300, 900, 1500, 2100, 2700, 400, 700] {
        killed(HOSTILE, &hurt, Duration::from_millis(ms));
        if hurt.join("MANIFEST").exists() {
            break;
        }
        met += usize::from(hurt.join("cells.csv").exists());
    }
    assert!(met > 0, "no kill met a run that had begun and was not sealed");
    rigel().args(HOSTILE).arg("--out").arg(&hurt).assert().success();
    assert_eq!(cells(&whole), cells(&hurt));
    assert_eq!(file(&whole, "facts.csv"), file(&hurt, "facts.csv"));
}

/// Workers of this binary whose campaign is gone.
#[cfg(target_os = "linux")]
fn orphans() -> usize {
    let binary = std::fs::canonicalize(assert_cmd::cargo::cargo_bin!("rigel")).unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let orphan = |process: std::path::PathBuf| {
        let exe = std::fs::read_link(process.join("exe")).ok();
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let command = std::fs::read(process.join("cmdline")).unwrap_or_default();
        exe == Some(binary.clone()) && parent == Some(1) && command.ends_with(b"worker\0")
    };
    processes.filter(|process| orphan(process.clone())).count()
}

#[test]
#[cfg(target_os = "linux")]
fn workers_end_with_their_campaign_even_while_they_hang() {
    let dir = tempfile::tempdir().unwrap();
    let hang = ["run", "--device", "sim:hostile", "--timeout", "60", "--filter", "e5m2", "--axis", "shape=512"];
    killed(&hang, &dir.path().join("run"), Duration::from_millis(1500));
    let begun = std::time::Instant::now();
    while orphans() > 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "a worker outlives its campaign");
        std::thread::sleep(Duration::from_millis(50));
    }
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
