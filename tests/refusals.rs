//! Is what can never work refused at once, with what is allowed, by a code that no scheduler repeats?
#![cfg(unix)]

mod rig;

use rig::{SMALL, file, rigel, stderr};
use std::path::Path;
use std::process::{Command, Output};

fn list(option: &[&str], path: &Path) -> Output {
    rigel().arg("list").args(option).arg(path).timeout(std::time::Duration::from_secs(20)).output().unwrap()
}

#[test]
fn a_plan_that_is_no_regular_file_is_refused_before_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, what) in
        [(pipe.as_path(), "a named pipe"), (dir.path(), "a directory"), (Path::new("/dev/zero"), "a device")]
    {
        let output = list(&["--device", "sim:plain", "--plan"], path);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what) && said.contains("name a regular file"), "{said}");
    }
    let output = rigel().args(["list", "--device", &format!("sim:{}", pipe.display())]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("no regular file"), "{}", stderr(&output));
}

#[test]
fn a_limit_in_which_no_worker_can_start_is_refused_or_leaves_rows() {
    let dir = tempfile::tempdir().unwrap();
    let (first, path) = (dir.path().join("first"), dir.path().join("plan.toml"));
    rigel().args(SMALL).arg("--out").arg(&first).assert().success();
    let plan = file(&first, "plan.toml");
    let old = plan.lines().find(|line| line.starts_with("memory_mib")).unwrap();
    std::fs::write(&path, plan.replace(old, "memory_mib = 1")).unwrap();
    let output = list(&["--device", "sim:plain", "--plan"], &path);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let line = 1 + plan.lines().position(|line| line == old).unwrap();
    for part in [&format!("plan.toml:{line}"), "limits.memory_mib", "or 0 for none"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // A worker says nothing while it makes its inputs, 134 million here: all are hung, and none is asked for again.
    let old = plan.lines().find(|line| line.starts_with("timeout_s")).unwrap();
    let window = plan.lines().find(|line| line.starts_with("meter_window_s")).unwrap();
    let shape = plan.lines().find(|line| line.starts_with("shapes") && line.contains("8x8x8")).unwrap();
    let hopeless = plan
        .replace(old, "timeout_s = 0.1")
        .replace(window, "meter_window_s = 0.0")
        .replace(shape, "shapes = [\"8192x8192x8192\"]");
    std::fs::write(&path, hopeless).unwrap();
    let out = dir.path().join("hung");
    let run = || {
        rigel()
            .args(["run", "types", "--device", "sim:plain", "--filter", "matmul2d f16", "--plan"])
            .arg(&path)
            .arg("--out")
            .arg(&out)
            .output()
    };
    let output = run().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = file(&out, "cells.csv");
    assert!(rows.contains(",hung,"));
    assert_eq!(run().unwrap().status.code(), Some(0));
    assert_eq!(file(&out, "cells.csv"), rows);
    rigel().arg("verify").arg(&out).assert().success();
}
