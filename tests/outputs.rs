//! Do outputs keep their marks, harm no file, and leave the exit code to what was found?

mod rig;

use rig::{SMALL, file, rigel, stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

fn run_in(dir: &Path) -> std::path::PathBuf {
    let run = dir.join("run");
    rigel().args(SMALL).arg("--out").arg(&run).assert().success();
    run
}

#[test]
fn a_closed_pipe_does_not_turn_no_into_yes() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let facts = file(&run, "facts.csv").replacen("yes", "no", 1);
    fs::write(run.join("facts.csv"), facts).unwrap();
    let code = |stdout: Stdio| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("rigel"));
        command.arg("verify").arg(&run).stdout(stdout).stderr(Stdio::null()).status().unwrap().code()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!((code(Stdio::null()), code(writer.into())), (Some(1), Some(1)));
}

#[test]
fn no_output_replaces_a_file_of_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    for name in
        ["cells.csv", "MANIFEST", "samples.csv", "note.txt", "notes.md", "deeper/page.html", "figures/deeper/page.html"]
    {
        let before = fs::read(run.join(name)).ok();
        for words in [&["export", "--to", "jsonl"][..], &["export", "--to", "bmf"], &["report"]] {
            let said = rigel().args(words).arg(&run).arg("--out").arg(run.join(name)).output().unwrap();
            assert_eq!(said.status.code(), Some(2), "{words:?} {name}");
            assert!(stderr(&said).contains("lies inside the run"), "{}", stderr(&said));
        }
        assert_eq!(fs::read(run.join(name)).ok(), before, "{name}");
    }
    for name in ["", "pictures"] {
        let figures = rigel().arg("figures").arg(&run).arg("--out").arg(run.join(name)).output().unwrap();
        assert_eq!(figures.status.code(), Some(2), "{name}");
    }
    let inside = rigel().args(SMALL).arg("--out").arg(run.join("nested")).output().unwrap();
    assert_eq!(inside.status.code(), Some(2), "{}", stderr(&inside));
    rigel().arg("verify").arg(&run).assert().success();
}

#[test]
fn a_path_that_leads_out_of_a_run_again_is_outside() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    rigel().current_dir(&run).args(["report", ".", "--out", "../page.html"]).assert().success();
    assert!(dir.path().join("page.html").exists());
    rigel().current_dir(&run).args(SMALL).args(["--out", "../beside"]).assert().success();
    let back = rigel().current_dir(&run).args(["report", ".", "--out", "../run/notes.md"]).output().unwrap();
    assert_eq!(back.status.code(), Some(2), "{}", stderr(&back));
}

/// A check reads no more than it compares: ten gigabytes of nothing differ at once.
#[test]
fn a_check_says_what_is_there_however_large() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let check = || rigel().args(["report", "--check"]).arg(&run).output().unwrap();
    assert_eq!(check().status.code(), Some(0));
    let page = fs::File::options().write(true).open(run.join("report.html")).unwrap();
    page.set_len(10 << 30).unwrap();
    let said = check();
    assert!(said.status.code() == Some(1) && stderr(&said).contains("differs"), "{}", stderr(&said));
    fs::remove_file(run.join("report.html")).unwrap();
    let said = check();
    assert!(said.status.code() == Some(1) && stderr(&said).contains("is missing"), "{}", stderr(&said));
}

#[test]
fn what_is_measured_is_thrown_away_by_fresh_alone_and_another_plan_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let before = file(&run, "cells.csv");
    let again = rigel().args(SMALL).args(["--fresh", "--resume", "--out"]).arg(&run).output().unwrap();
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(file(&run, "cells.csv"), before);
    let other = rigel().args(SMALL).args(["--seed", "9", "--out"]).arg(&run).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("another plan") && stderr(&other).contains("--out"), "{}", stderr(&other));
    assert!(stderr(&other).contains(" there and 9 here"), "{}", stderr(&other));
    let other = rigel().args(SMALL).args(["--timeout", "7", "--out"]).arg(&run).output().unwrap();
    assert!(stderr(&other).contains("limits.timeout_s is "), "{}", stderr(&other));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_text_is_taken() {
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join(std::ffi::OsStr::from_bytes(b"run-\xff"));
    rigel().args(SMALL).arg("--out").arg(&run).assert().success();
    rigel().arg("verify").arg(&run).assert().success();
}

#[cfg(unix)]
#[test]
fn a_run_may_be_reached_by_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let (place, link) = (dir.path().join("place"), dir.path().join("link"));
    std::os::unix::fs::symlink(&place, &link).unwrap();
    let early = rigel().args(SMALL).arg("--out").arg(&link).output().unwrap();
    assert_eq!(early.status.code(), Some(2));
    assert!(stderr(&early).contains("a link to a place that is not there"), "{}", stderr(&early));
    assert!(!place.exists());
    fs::create_dir(&place).unwrap();
    rigel().args(SMALL).arg("--out").arg(&link).assert().success();
    for command in ["verify", "report", "figures"] {
        rigel().arg(command).arg(&link).assert().success();
    }
    assert!(place.join("report.html").is_file());
}

#[cfg(unix)]
#[test]
fn no_output_goes_through_a_link() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let victim = dir.path().join("victim.txt");
    fs::write(&victim, "mine").unwrap();
    fs::create_dir_all(run.join("figures")).unwrap();
    for name in ["figures/distribution.svg", "report.html"] {
        let _ = fs::remove_file(run.join(name));
        std::os::unix::fs::symlink(&victim, run.join(name)).unwrap();
        let command = if name == "report.html" { "report" } else { "figures" };
        let said = rigel().arg(command).arg(&run).output().unwrap();
        assert_eq!((said.status.code(), file(dir.path(), "victim.txt").as_str()), (Some(2), "mine"), "{name}");
        assert!(stderr(&said).contains("link"), "{}", stderr(&said));
    }
}

#[test]
fn what_leaves_a_simulated_run_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let run = run_in(dir.path());
    let jsonl = stdout(&rigel().args(["export", "--to", "jsonl"]).arg(&run).output().unwrap());
    assert!(!jsonl.is_empty() && jsonl.lines().all(|line| line.contains("\"kind\":\"simulated\"")));
    let bmf = stdout(&rigel().args(["export", "--to", "bmf"]).arg(&run).output().unwrap());
    let benchmarks: serde_json::Value = serde_json::from_str(&bmf).unwrap();
    assert!(benchmarks.as_object().unwrap().keys().all(|name| name.starts_with("simulated: ")));
    let explained = rigel().arg("explain").arg(&run).arg("f16").output().unwrap();
    assert!(stdout(&explained).starts_with("simulated"), "{}", stdout(&explained));
    let compared = rigel().arg("compare").arg(&run).arg(&run).output().unwrap();
    assert!(stderr(&compared).contains("is simulated"));
}
