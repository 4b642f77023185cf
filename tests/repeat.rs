//! Does the command that `explain` prints measure exactly the block of the cell, whatever its kind, and do its verdicts come out again?
#![cfg(unix)]

mod rig;

use rig::{SMALL, file, rigel, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn rows(dir: &Path) -> Vec<Value> {
    let text = stdout(&rigel().args(["export", "--to", "jsonl"]).arg(dir).output().unwrap());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Cell and process of rows.
fn keys<'a>(rows: impl Iterator<Item = &'a Value>) -> BTreeSet<String> {
    rows.map(|row| format!("{} {}", row["cell"], row["process"])).collect()
}

#[test]
fn each_kind_of_block_is_repeated_alone() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("my run");
    rigel().args(SMALL).arg("--out").arg(&run).assert().success();
    let all = rows(&run);
    let mut kinds = BTreeSet::new();
    for row in &all {
        if !kinds.insert(row["work"].as_str().unwrap()) {
            continue;
        }
        let cell = row["cell"].as_str().unwrap();
        let explained = stdout(&rigel().current_dir(&dir).args(["explain", "my run", cell]).output().unwrap());
        let command = explained.lines().find_map(|line| line.trim().strip_prefix("repeat: rigel ")).unwrap();
        let out = dir.path().join(command.split(" --out ").nth(1).unwrap());
        let shell = format!("'{}' {command}", assert_cmd::cargo::cargo_bin!("rigel").display());
        let mut again = std::process::Command::new("sh");
        let output = again.current_dir(&dir).args(["-c", &shell]).output().unwrap();
        assert!(output.status.success(), "{shell}: {}", rig::stderr(&output));
        let ceilings = row["work"] == "gemm";
        let block =
            all.iter().filter(|other| other["block"] == row["block"] || (ceilings && other["work"] == "ceiling"));
        assert_eq!(keys(rows(&out).iter()), keys(block), "{shell}");
        assert_eq!(file(&out, "plan.toml"), file(&run, "plan.toml"));
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["ceiling", "gemm", "rung"]);
    let unknown = rigel().args(SMALL).args(["--block", "gemm/1"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(4), "{}", rig::stderr(&unknown));
}

/// Name and value of every verdict about a path and triple.
fn verdicts(dir: &Path, path: &str, triple: &str) -> BTreeSet<String> {
    let mut facts = csv::Reader::from_path(dir.join("facts.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = facts.records().map(Result::unwrap).collect();
    let mine = rows.iter().filter(|row| &row[1] == path && &row[2] == triple && row[6].starts_with("verdict."));
    mine.map(|row| format!("{} {}", &row[6], &row[7])).collect()
}

#[test]
fn the_verdict_comes_out_again() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let plan = ["run", "--device", "sim:m4max", "--axis", "shape=96,128", "--axis", "types-shape=8"];
    rigel().args(plan).arg("--out").arg(&run).assert().success();
    for (path, triple) in [("matmul2d", "e4m3,e4m3->f32"), ("simdgroup_matrix", "f16,f16->f32")] {
        let before = verdicts(&run, path, triple);
        assert!(!before.is_empty(), "no verdict of {path} {triple}");
        let words = format!("{path} {triple}");
        let explained = stdout(&rigel().current_dir(&dir).args(["explain", "run", &words]).output().unwrap());
        let command = explained.lines().find_map(|line| line.trim().strip_prefix("repeat: rigel ")).unwrap();
        assert_eq!(command.matches("--block").count(), 3, "two sizes and the ceilings: {command}");
        let out = dir.path().join(command.split(" --out ").nth(1).unwrap());
        let shell = format!("'{}' {command}", assert_cmd::cargo::cargo_bin!("rigel").display());
        let output = std::process::Command::new("sh").current_dir(&dir).args(["-c", &shell]).output().unwrap();
        assert!(output.status.success(), "{shell}: {}", rig::stderr(&output));
        assert_eq!(verdicts(&out, path, triple), before, "{shell}");
    }
}
