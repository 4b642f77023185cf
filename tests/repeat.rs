//! Does the command that `explain` prints measure exactly the block of the cell, whatever its kind?
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
        let block = all.iter().filter(|other| other["block"] == row["block"]);
        assert_eq!(keys(rows(&out).iter()), keys(block), "{shell}");
        assert_eq!(file(&out, "plan.toml"), file(&run, "plan.toml"));
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["ceiling", "gemm", "rung"]);
    let unknown = rigel().args(SMALL).args(["--block", "gemm/1"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(4), "{}", rig::stderr(&unknown));
}
