//! Does verify pass what is right, and does each check fail what it is for, with file and line?

mod planted;

use planted::{Planted, files, forge};
use rigel_ledger::provenance::RunKind;
use rigel_ledger::verify::{CheckName, Report, verify};
use std::path::Path;
use tempfile::tempdir;

fn failures(report: &Report, name: CheckName) -> Vec<(String, Option<u64>, String)> {
    let check = report.checks.iter().find(|check| check.name == name).unwrap();
    assert_eq!(check.failed, check.failures.len());
    let file = |path: &Path| path.file_name().map(|f| f.to_str().unwrap().to_owned()).unwrap_or_default();
    check.failures.iter().map(|f| (file(&f.path), f.line, f.what.clone())).collect()
}

/// Replaces a field of a line of a CSV file without quoted fields before it.
fn set(text: String, line: usize, column: &str, value: &str) -> String {
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let index = header.iter().position(|&name| name == column).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut fields: Vec<String> = lines[line - 1].split(',').map(str::to_owned).collect();
    // The triple holds commas, so it is quoted and makes three fields of one.
    let quoted = fields.iter().take(index + 3).filter(|f| f.starts_with('"') && !f.ends_with('"')).count();
    let index = if column == header[0] || index < 10 { index } else { index + quoted };
    fields[index] = value.to_owned();
    lines[line - 1] = fields.join(",");
    lines.join("\n") + "\n"
}

/// The line of the first cell row that holds all these texts.
fn line_of(dir: &Path, file: &str, with: &[&str]) -> usize {
    let text = std::fs::read_to_string(dir.join(file)).unwrap();
    1 + text.lines().position(|line| with.iter().all(|w| line.contains(w))).unwrap()
}

#[test]
fn a_right_run_passes_every_check_and_nothing_is_written() {
    let dir = tempdir().unwrap();
    Planted::new("run-1").sealed(dir.path());
    let before = files(dir.path());
    let report = verify(dir.path()).unwrap();
    for check in &report.checks {
        let all: Vec<String> = check.failures.iter().map(ToString::to_string).collect();
        assert_eq!(check.failed, 0, "{}: {}", check.name, all.join("\n"));
    }
    assert_eq!(report.checks.len(), 8);
    assert!(report.passed());
    assert_eq!(files(dir.path()), before);
}

#[test]
fn an_unsealed_run_says_what_is_missing() {
    let dir = tempdir().unwrap();
    Planted::new("run-1").unsealed(dir.path(), 5);
    let report = verify(dir.path()).unwrap();
    let files = failures(&report, CheckName::Files);
    assert_eq!((files[0].0.as_str(), files[0].1), ("MANIFEST", None));
    assert!(files[0].2.contains("never sealed, 5 cells are whole"), "{}", files[0].2);
    assert!(!report.passed());
}

#[test]
fn a_changed_column_is_found_by_the_check_that_derives_it() {
    let cases: &[(&str, &str, CheckName, &str)] = &[
        ("median_ns", "5.0", CheckName::Statistics, "median_ns is `5.0`"),
        ("warmup", "3", CheckName::Statistics, "warmup is `3`"),
        ("operations", "77", CheckName::Statistics, "operations is `77`"),
        ("clock_mhz", "1.0", CheckName::Statistics, "clock_mhz is `1.0`"),
        ("gate_error", "1e-9", CheckName::Gates, "gate_error is `1e-9`"),
        ("gate_ulps", "0.1", CheckName::Gates, "gate_ulps is `0.1`"),
        ("gate_tolerance", "0.5", CheckName::Gates, "gate_tolerance is `0.5`"),
        ("outcome", "wrong", CheckName::Gates, "the witness says `right`"),
        ("evidence", &"0".repeat(64), CheckName::Evidence, "one of these rows was changed"),
    ];
    let whole = tempdir().unwrap();
    Planted::new("run-1").sealed(whole.path());
    let line = line_of(whole.path(), "cells.csv", &["tiled", "bf16", "9x4x17", ",near-normal,"]);
    for &(column, value, name, says) in cases {
        let dir = tempdir().unwrap();
        planted::copy(whole.path(), dir.path());
        forge(dir.path(), "cells.csv", |text| set(text, line, column, value));
        let report = verify(dir.path()).unwrap();
        assert_eq!(failures(&report, CheckName::Files), [], "{column}");
        let found = failures(&report, name);
        assert_eq!((found[0].0.as_str(), found[0].1), ("cells.csv", Some(line as u64)), "{column}");
        assert!(found[0].2.contains(says), "{column}: {}", found[0].2);
    }
}

#[test]
fn an_identity_that_was_changed_is_no_longer_its_cell() {
    let dir = tempdir().unwrap();
    Planted::new("run-1").sealed(dir.path());
    let line = line_of(dir.path(), "cells.csv", &["tiled", ",near-normal,"]);
    forge(dir.path(), "cells.csv", |text| set(text, line, "path", "scalar"));
    let report = verify(dir.path()).unwrap();
    let found = failures(&report, CheckName::Files);
    assert_eq!((found[0].0.as_str(), found[0].1), ("cells.csv", Some(line as u64)));
    assert!(found[0].2.contains("the axes of this row make cell"), "{}", found[0].2);
}

#[test]
fn a_changed_sample_or_witness_is_found_with_the_lines_it_may_be_on() {
    for (file, column, value) in [("samples.csv", "time_ns", "1"), ("witness.csv", "bits", "00000001")] {
        let dir = tempdir().unwrap();
        Planted::new("run-1").sealed(dir.path());
        forge(dir.path(), file, |text| set(text, 5, column, value));
        let report = verify(dir.path()).unwrap();
        let found = failures(&report, CheckName::Evidence);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "cells.csv");
        assert!(found[0].2.contains(&format!("of {file}")), "{}", found[0].2);
        assert!(!report.passed());
    }
}

#[test]
fn a_forged_witness_value_contradicts_the_stored_error_even_with_digests_forged() {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    let cell = planted.cells.iter_mut().find(|(row, _, w)| !w.is_empty() && row.gate_error != Some(0.0)).unwrap();
    cell.2[3].bits.code ^= 1 << 12;
    let id = cell.0.cell.to_string();
    planted.sealed(dir.path());
    let report = verify(dir.path()).unwrap();
    assert_eq!(failures(&report, CheckName::Evidence), []);
    let found = failures(&report, CheckName::Gates);
    let line = line_of(dir.path(), "cells.csv", &[&id]) as u64;
    assert_eq!((found[0].0.as_str(), found[0].1), ("cells.csv", Some(line)));
    assert!(found[0].2.starts_with("gate_error is"), "{}", found[0].2);
}

#[test]
fn an_inherited_outcome_must_be_a_siblings() {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    for (row, _, _) in &mut planted.cells {
        if row.recipe == Some(rigel_numerics::Recipe::Zeros) && row.path == "tiled" && row.process == 1 {
            row.outcome = rigel_ledger::Outcome::Imprecise;
            row.reason = "so they say".to_owned();
        }
    }
    planted.sealed(dir.path());
    let found = failures(&verify(dir.path()).unwrap(), CheckName::Gates);
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|f| f.2.contains("witness and siblings say `right`")), "{found:?}");
}

#[test]
fn a_wrong_product_of_zeros_is_not_right_because_its_sibling_is() {
    for (code, says) in [(0x3F80_0000, "`wrong` because"), (0xA5A5_A5A5, "was not written")] {
        let dir = tempdir().unwrap();
        let mut planted = Planted::new("run-1");
        let zeros = |row: &rigel_ledger::CellRow| row.recipe == Some(rigel_numerics::Recipe::Zeros);
        let cell = planted
            .cells
            .iter_mut()
            .find(|(row, _, w)| zeros(row) && row.triple.c == rigel_numerics::Format::F32 && !w.is_empty())
            .unwrap();
        assert_eq!(cell.0.outcome, rigel_ledger::Outcome::Right);
        cell.2[3].bits.code = code;
        let id = cell.0.cell.to_string();
        planted.sealed(dir.path());
        let found = failures(&verify(dir.path()).unwrap(), CheckName::Gates);
        let line = line_of(dir.path(), "cells.csv", &[&id]) as u64;
        let of_cell: Vec<_> =
            found.iter().filter(|f| f.1 == Some(line) && f.2.contains("outcome is `right`")).collect();
        assert!(of_cell.len() == 1 && of_cell[0].2.contains(says), "{found:?}");
    }
}

#[test]
fn a_product_of_zeros_that_inherits_nothing_is_not_right() {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    let zeros = |row: &rigel_ledger::CellRow| row.recipe == Some(rigel_numerics::Recipe::Zeros);
    let cell = planted.cells.iter_mut().find(|(row, _, w)| zeros(row) && !w.is_empty()).unwrap();
    cell.0.gate = Some(rigel_ledger::rows::GateMethod::Full);
    planted.sealed(dir.path());
    let found = failures(&verify(dir.path()).unwrap(), CheckName::Gates);
    assert!(found.len() == 1 && found[0].2.contains("no random sibling"), "{found:?}");
}

#[test]
fn sums_that_stay_unexplained_are_believed_of_a_sampled_check_only() {
    for (visible, believed) in [(Some(1e-6), true), (None, false)] {
        let dir = tempdir().unwrap();
        let mut planted = Planted::new("run-1");
        let random = |row: &rigel_ledger::CellRow| row.recipe == Some(rigel_numerics::Recipe::NearNormal);
        let full = Some(rigel_ledger::rows::GateMethod::Full);
        let right = rigel_ledger::Outcome::Right;
        let lone = |row: &rigel_ledger::CellRow| random(row) && row.gate == full && row.outcome == right;
        let cell = planted.cells.iter_mut().find(|(row, ..)| lone(row)).unwrap();
        cell.0.gate = if believed { Some(rigel_ledger::rows::GateMethod::Sampled) } else { full };
        // Sampled is what is too large to be checked whole.
        planted.plan.thresholds.full_check = if believed { 0 } else { 1_000_000 };
        planted.provenance.plan_hash = planted.plan.hash();
        cell.0.gate_visible = visible;
        cell.0.outcome = rigel_ledger::Outcome::Mistrusted;
        cell.0.reason = rigel_ledger::gate::Suspicious { rows: 9, columns: 0 }.to_string();
        let id = cell.0.cell.to_string();
        planted.sealed(dir.path());
        let line = line_of(dir.path(), "cells.csv", &[&id]) as u64;
        let found = failures(&verify(dir.path()).unwrap(), CheckName::Gates);
        assert_eq!(found.iter().all(|f| f.1 != Some(line)), believed, "{found:?}");
    }
}

#[test]
fn a_fact_that_does_not_follow_is_found_on_its_line() {
    let whole = tempdir().unwrap();
    Planted::new("run-1").sealed(whole.path());
    let facts = std::fs::read_to_string(whole.path().join("facts.csv")).unwrap();
    assert!(facts.lines().count() > 4, "{facts}");
    type Edit = fn(Vec<String>) -> Vec<String>;
    let edits: [(&str, Edit); 3] = [
        ("is missing here", |mut lines| {
            lines.remove(2);
            lines
        }),
        ("an added row", |mut lines| {
            lines.insert(2, lines[1].replacen("types", "power", 1).replacen("throughput", "power", 1));
            lines
        }),
        ("derived is", |mut lines| {
            lines[2] = lines[2].replacen("types", "power", 1).replacen("throughput", "power", 1);
            lines
        }),
    ];
    for (says, edit) in edits {
        let dir = tempdir().unwrap();
        planted::copy(whole.path(), dir.path());
        forge(dir.path(), "facts.csv", |text| edit(text.lines().map(str::to_owned).collect()).join("\n") + "\n");
        let found = failures(&verify(dir.path()).unwrap(), CheckName::Facts);
        assert_eq!(found.len(), 1, "{says}: {found:?}");
        assert_eq!((found[0].0.as_str(), found[0].1), ("facts.csv", Some(3)), "{says}");
        assert!(found[0].2.contains(says), "{}", found[0].2);
    }
}

#[test]
fn recipes_of_another_text_and_incomplete_provenance_are_told() {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    planted.provenance.recipe_hash = "other".to_owned();
    planted.provenance.commit.clear();
    planted.sealed(dir.path());
    let report = verify(dir.path()).unwrap();
    let found = failures(&report, CheckName::Provenance);
    assert_eq!(found[0].0, "run.json");
    let check = report.checks.iter().find(|check| check.name == CheckName::Provenance).unwrap();
    assert!(check.notes[0].contains("incomplete") && check.notes[0].contains("commit"), "{:?}", check.notes);
}

#[test]
fn a_directory_without_a_run_is_an_error() {
    let dir = tempdir().unwrap();
    assert!(verify(dir.path()).is_err());
    assert!(verify(&dir.path().join("nowhere")).is_err());
}

#[test]
fn a_run_is_of_the_kind_of_its_backend_and_of_a_known_one() {
    let said = |kind, backend: &str, selector: &str| {
        let dir = tempdir().unwrap();
        let mut planted = Planted::new("run-1");
        planted.provenance.kind = kind;
        planted.provenance.device.backend = backend.to_owned();
        planted.provenance.device.selector = selector.to_owned();
        planted.sealed(dir.path());
        failures(&verify(dir.path()).unwrap(), CheckName::Provenance)
    };
    let (measured, simulated) = (RunKind::Measured, RunKind::Simulated);
    for (backend, kind) in
        [("cpu", measured), ("cuda", measured), ("metal", measured), ("metal-sim", simulated), ("sim", simulated)]
    {
        let other = if kind == measured { simulated } else { measured };
        assert!(said(kind, backend, backend).is_empty() && said(kind, backend, &format!("{backend}:0")).is_empty());
        assert!(said(other, backend, backend)[0].2.starts_with("kind is"), "{backend}");
        assert!(said(kind, backend, "none:0")[0].2.starts_with("device.selector is"), "{backend}");
    }
    for unknown in ["", "gpu", "Sim", "sim:x"] {
        assert!(said(measured, unknown, unknown)[0].2.starts_with("device.backend is"), "{unknown}");
    }
}
