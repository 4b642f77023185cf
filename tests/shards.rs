//! Do shards, one of them killed and resumed, merge to the same cells and verdicts as the undivided run?

mod rig;

use rig::{SMALL, cells, file, rigel};
use std::process::{Command, Stdio};

#[test]
fn eight_shards_merge_to_the_undivided_run() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    rigel().args(SMALL).arg("--out").arg(&whole).assert().success();
    let mut shards = Vec::new();
    for m in 1..=8 {
        let out = dir.path().join(format!("shard{m}"));
        let partition = format!("slice:{m}/8");
        let arguments = SMALL.iter().copied().chain(["--partition", &partition, "--out"]);
        if m == 3 {
            let mut child = Command::new(assert_cmd::cargo::cargo_bin!("rigel"))
                .args(arguments.clone())
                .arg(&out)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(std::time::Duration::from_millis(120));
            let _ = child.kill();
            child.wait().unwrap();
        }
        rigel().args(arguments).arg(&out).assert().success();
        shards.push(out);
    }
    let merged = dir.path().join("merged");
    rigel().arg("merge").arg(&merged).args(shards.iter().rev()).assert().success();
    let sorted = |dir| {
        let mut rows = cells(dir);
        rows.sort();
        rows
    };
    assert_eq!(sorted(&whole), sorted(&merged));
    assert_eq!(file(&whole, "facts.csv"), file(&merged, "facts.csv"));
    rigel().arg("verify").arg(&merged).assert().success();
    let again = rigel().arg("compare").arg(&whole).arg(&merged).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", rig::stdout(&again));
}
