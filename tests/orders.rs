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

    // A tree that the counts contradict, however well the run is sealed again.
    let record = std::fs::read_dir(out.join("orders")).unwrap().map(|entry| entry.unwrap().path());
    let record = record.filter(|path| std::fs::read_to_string(path).unwrap().contains("+2")).min().unwrap();
    let text = std::fs::read_to_string(&record).unwrap();
    let edited = text.replacen("0 1 +2 2 +2", "0 1 2 +3", 1);
    assert_ne!(text, edited, "{text}");
    std::fs::write(&record, edited).unwrap();
    std::fs::remove_file(out.join("MANIFEST")).unwrap();
    let said = rigel().args(["verify", &name]).output().unwrap();
    assert_eq!(said.status.code(), Some(1), "{}", stdout(&said));
    assert_ne!(python(&out), Some(true));
}
