//! Pages of a run's units: as many as units, the same bytes every time, and what no longer belongs there is told.

use assert_cmd::Command;
use std::path::Path;

const UNITS: &str = "data/epyc-zen5-2core/units";

fn rigel(pages: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("rigel").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["report", UNITS, "--out"]).arg(pages.join("report.html"));
    command.arg("--units").arg(pages.join("pages")).args(more).assert()
}

#[test]
fn every_unit_has_a_page_with_its_model_and_its_layouts() {
    let dir = tempfile::tempdir().unwrap();
    rigel(dir.path(), &["--beside", "data/epyc-zen5-2core/paper"]).success();
    let pages = dir.path().join("pages");
    let read = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    let index = read("README.md");
    let names: Vec<&str> = index
        .lines()
        .filter_map(|line| line.split_once("]("))
        .filter_map(|(_, rest)| Some(rest.split_once(')')?.0))
        .collect();
    assert!(names.len() >= 11 && names.contains(&"vdpbf16ps.md"), "{names:?}");
    assert!(names.iter().all(|name| pages.join(name).is_file()));
    let page = read("vdpbf16ps.md");
    for part in ["**exact**: bf16 → f32", "| specials |", "CuTe `", "operations per cycle and core", "rigel emit model"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    rigel(dir.path(), &["--beside", "data/epyc-zen5-2core/paper", "--check"]).success();
}

#[test]
fn a_page_that_differs_or_belongs_to_nothing_fails_a_check() {
    let dir = tempfile::tempdir().unwrap();
    rigel(dir.path(), &[]).success();
    let pages = dir.path().join("pages");
    std::fs::write(pages.join("gone.md"), "of a unit that was").unwrap();
    let told = rigel(dir.path(), &["--check"]).code(1).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&told).contains("gone.md is of no unit of data/epyc-zen5-2core/units"));
    std::fs::remove_file(pages.join("gone.md")).unwrap();
    rigel(dir.path(), &["--check"]).success();
    std::fs::write(pages.join("vdpbf16ps.md"), "edited").unwrap();
    rigel(dir.path(), &["--check"]).code(1);
}

#[test]
fn runs_of_another_device_and_runs_without_units_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    rigel(dir.path(), &["--beside", "data/nvidia-h200/paper"]).code(2);
    let mut command = Command::cargo_bin("rigel").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["report", "data/epyc-zen5-2core/paper", "--units"]);
    command.arg(dir.path()).arg("--out").arg(dir.path().join("report.html")).assert().code(4);
}
