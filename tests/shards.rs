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

#[test]
fn a_merge_of_some_shards_says_what_is_missing_and_ends_with_code_5() {
    let dir = tempfile::tempdir().unwrap();
    let shards: Vec<_> = [1, 3]
        .into_iter()
        .map(|m| {
            let out = dir.path().join(format!("shard{m}"));
            rigel()
                .args(SMALL)
                .args(["--partition", &format!("slice:{m}/4")])
                .arg("--out")
                .arg(&out)
                .assert()
                .success();
            out
        })
        .collect();
    let merged = dir.path().join("merged");
    let output = rigel().arg("merge").arg(&merged).args(&shards).output().unwrap();
    let said = rig::stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    let whole = dir.path().join("whole");
    rigel().args(SMALL).arg("--out").arg(&whole).assert().success();
    let (all, some) = (cells(&whole), cells(&merged));
    let missing: Vec<&String> = all.iter().filter(|row| !some.contains(row)).collect();
    let (total, missing_rows) = (all.len() - 1, missing.len());
    assert!(said.contains("2 of 4 shards are not here: slice:2/4, slice:4/4"), "{said}");
    assert!(said.contains(&format!("{missing_rows} of {total} rows of the plan are missing")), "{said}");
    for process in ["process 0: ", "process 5: "] {
        assert!(said.contains(process), "{said}");
    }
    let facts = file(&merged, "facts.csv");
    assert!(facts.contains(",incomplete.parts,yes,"), "{facts}");
    let verdicts: Vec<&str> = facts.lines().filter(|fact| fact.contains(",verdict.")).collect();
    assert!(!verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.contains("slice:2/4, slice:4/4")), "{facts}");
    assert!(file(&merged, "report.html").contains("Not the whole plan: 2 of 4 shards"));
    rigel().arg("verify").arg(&merged).assert().success();
    std::fs::write(shards[0].join("cells.csv"), "edited").unwrap();
    let edited = rigel().arg("merge").arg(dir.path().join("again")).args(&shards).output().unwrap();
    assert_eq!(edited.status.code(), Some(1));
    assert!(rig::stderr(&edited).contains("shard1/cells.csv") && !dir.path().join("again").exists());
}
