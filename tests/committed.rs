//! Do both verifiers agree on every committed run, and is the README's table current?

mod rig;

use rig::rigel;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Committed runs, relative to the project.
fn runs() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let list =
        |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    for device in list(&root().join("data")) {
        found.extend(list(&device).into_iter().filter(|run| run.join("MANIFEST").exists()));
    }
    found.sort();
    if found.is_empty() {
        println!("nothing to verify: no run is committed under data/ yet, so this test checks nothing");
    }
    found.iter().map(|run| run.strip_prefix(root()).unwrap().to_owned()).collect()
}

#[test]
fn committed_runs_verify_and_their_pages_and_figures_are_current() {
    for run in runs() {
        rigel().current_dir(root()).arg("verify").arg(&run).assert().success();
        rigel().current_dir(root()).arg("figures").arg(&run).arg("--check").assert().success();
        rigel().current_dir(root()).arg("report").arg(&run).arg("--check").assert().success();
        let readme = run.join("README.md");
        let text = std::fs::read_to_string(root().join(&readme)).unwrap_or_default();
        if text.contains("<!-- rigel findings: begin -->") {
            let mut check = rigel();
            check.current_dir(root()).arg("report").arg(&run).arg("--readme").arg(&readme).arg("--check");
            check.assert().success();
        }
    }
}

#[test]
fn pages_of_devices_hold_what_their_runs_say() {
    let pages = std::fs::read_dir(root().join("docs/devices")).unwrap().flatten().map(|entry| entry.path());
    let pages = pages.filter(|page| page.is_file());
    let pages: Vec<(PathBuf, String)> =
        pages.map(|page| (page.clone(), std::fs::read_to_string(page).unwrap())).collect();
    let mut held = 0;
    for run in runs() {
        let marker = format!("<!-- rigel findings of {}: begin -->", run.display());
        for (page, _) in pages.iter().filter(|(_, text)| text.contains(&marker)) {
            let mut check = rigel();
            check.current_dir(root()).arg("report").arg(&run).arg("--readme").arg(page).arg("--check");
            check.assert().success();
            held += 1;
        }
    }
    let named: usize = pages.iter().map(|(_, text)| text.matches("<!-- rigel findings of ").count() / 2).sum();
    assert_eq!(held, named, "a page names a run that is not committed");
}

#[test]
fn the_calibration_in_the_readme_is_that_of_its_files() {
    let list =
        |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect::<Vec<_>>();
    let made: Vec<_> =
        list(&root().join("data/sim")).into_iter().filter(|d| d.join("calibration.json").exists()).collect();
    if made.is_empty() {
        println!("no calibration is committed under data/sim yet, so this test checks nothing");
    }
    for dir in made {
        let dir = dir.strip_prefix(root()).unwrap().to_owned();
        let arguments = ["--readme", "README.md", "--check"];
        rigel().current_dir(root()).arg("calibrate").arg("--from").arg(dir).args(arguments).assert().success();
    }
}

#[test]
fn the_python_verifier_agrees_on_every_committed_run() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 here");
        return;
    }
    for run in runs() {
        let mut python = Command::new("python3");
        let output = python.current_dir(root()).arg("integrations/python/verify.py").arg(&run).output().unwrap();
        assert!(output.status.success(), "{}: {}", run.display(), String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn the_findings_of_the_readme_are_those_of_the_run_that_it_names() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let of = |run: &PathBuf| readme.contains(&format!("Written by the tool from the files in {};", run.display()));
    let named: Vec<PathBuf> = runs().into_iter().filter(of).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    let check = ["--readme", "README.md", "--check"];
    rigel().current_dir(root()).arg("report").arg(&named[0]).args(check).assert().success();
}
