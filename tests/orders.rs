//! Are orders of sums recorded, verified by both verifiers, drawn on the page, and refused when edited?

mod rig;

use rig::{rigel, stderr, stdout};
use std::path::Path;
use std::process::Command;

const PLAN: [&str; 8] = ["run", "--preset", "orders", "--device", "cpu", "--filter", "tiled", "--axis"];

fn python(run: &Path) -> Option<bool> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let said = Command::new("python3").arg(script).arg(run).output();
    said.ok().map(|said| said.status.success())
}

#[test]
fn orders_are_recorded_and_checked_by_both_verifiers() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let name = out.display().to_string();
    let done = rigel().args(PLAN).args(["order-shape=40x4x48", "--out", &name]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let said = stdout(&done);
    assert!(
        said.contains("order of the sum") && said.contains("k ascending") && said.contains("independent"),
        "{said}"
    );
    assert!(said.contains("exact sums of integers"), "{said}");
    assert!(rigel().args(["verify", &name]).output().unwrap().status.success());
    assert_ne!(python(&out), Some(false));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("Orders of sums") && page.contains("id=\"orders\""));
}

/// Fused sums of sixteen are planted in the path; beyond 128 a software device sums otherwise, so nothing is asked there.
#[test]
fn a_planted_order_is_recovered_and_no_other_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let name = out.display().to_string();
    let plan = ["run", "--preset", "orders", "--device", "sim:narrow", "--filter", "mma.sync f16", "--axis"];
    let done = rigel().args(plan).args(["order-shape=24x4x64,256x4x64", "--out", &name]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let facts = std::fs::read_to_string(out.join("facts.csv")).unwrap();
    let planted = "\"64 products in fused sums of 16 and what came before, k ascending\"";
    let told = |line: &&str| line.starts_with("order,") && line.contains(",order,exact,");
    let told: Vec<&str> = facts.lines().filter(told).collect();
    assert_eq!(told.len(), 1, "{facts}");
    assert!(told[0].contains(planted) && told[0].contains("24x4x64"), "{}", told[0]);
    assert!(!facts.contains("order.batch,dependent"), "{facts}");
    let cells = std::fs::read_to_string(out.join("cells.csv")).unwrap();
    assert!(cells.contains("a software device sums products beyond 128"), "{cells}");
}

#[test]
fn block_scaled_operands_are_not_asked_and_the_row_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let name = out.display().to_string();
    let plan =
        ["run", "--preset", "orders", "--device", "sim:scaled", "--filter", "nve2m1", "--axis", "order-shape=4x4x48"];
    let done = rigel().args(plan).args(["--out", &name]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let cells = std::fs::read_to_string(out.join("cells.csv")).unwrap();
    assert!(cells.contains("absent") && cells.contains("elements of nve2m1 share scales"), "{cells}");
    assert!(rigel().args(["verify", &name]).output().unwrap().status.success());
    assert_ne!(python(&out), Some(false));
}
