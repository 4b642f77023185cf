//! Does verify find what was edited by somebody who made every digest again?

mod planted;

use planted::Planted;
use rigel_ledger::gate::places;
use rigel_ledger::rows::{Bits, GateMethod, Stop, Work};
use rigel_ledger::store::{Run, StoreError, merge};
use rigel_ledger::verify::{CheckName, Report, verify};
use rigel_ledger::{CellRow, Outcome, WitnessRow};
use rigel_numerics::Recipe;
use tempfile::tempdir;

/// Whether a row is a product that is checked by itself.
fn seeing(row: &CellRow) -> bool {
    row.recipe == Some(Recipe::NearNormal) && row.gate == Some(GateMethod::Full)
}

/// The report on a run whose planted rows were changed before they were sealed, so that digests and facts fit.
fn sealed_with(change: impl FnOnce(&mut Planted)) -> Report {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    change(&mut planted);
    planted.provenance.plan_hash = planted.plan.hash();
    planted.sealed(dir.path());
    verify(dir.path()).unwrap()
}

/// What the only check that says no says.
fn said(report: &Report, name: CheckName) -> Vec<String> {
    for check in &report.checks {
        let all: Vec<String> = check.failures.iter().map(ToString::to_string).collect();
        assert_eq!(check.failed > 0, check.name == name, "{}: {all:?}", check.name);
    }
    let check = report.checks.iter().find(|check| check.name == name).unwrap();
    check.failures.iter().map(|failure| failure.what.clone()).collect()
}

fn product(planted: &mut Planted) -> &mut planted::Cell {
    planted.cells.iter_mut().find(|(row, ..)| seeing(row) && row.shape.is_some_and(|s| s.m * s.n > 30)).unwrap()
}

#[test]
fn witness_rows_that_were_dropped_moved_or_added_are_missed() {
    let dropped = sealed_with(|planted| {
        product(planted).2.remove(5);
    });
    assert!(said(&dropped, CheckName::Gates)[0].contains("which the seed prescribes"));
    let moved = sealed_with(|planted| {
        let (row, _, witness) = product(planted);
        let (places, shape) = (places::of_row(row), row.shape.unwrap());
        let all = (0..shape.m).flat_map(|r| (0..shape.n).map(move |c| (r, c)));
        let free = all.into_iter().find(|place| !places.contains(place)).unwrap();
        (witness[7].row, witness[7].column) = (free.0 as u32, free.1 as u32);
        witness.sort_by_key(|element| (element.row, element.column));
    });
    assert!(said(&moved, CheckName::Gates)[0].contains("witness.csv lacks element"));
    let added = sealed_with(|planted| {
        let (row, _, witness) = product(planted);
        let (places, shape) = (places::of_row(row), row.shape.unwrap());
        let all = (0..shape.m).flat_map(|r| (0..shape.n).map(move |c| (r, c)));
        let free: Vec<_> = all.into_iter().filter(|place| !places.contains(place)).take(2).collect();
        for (r, c) in free {
            let bits = Bits::new(row.triple.c, 0);
            witness.push(WitnessRow { cell: row.cell, process: row.process, row: r as u32, column: c as u32, bits });
        }
        witness.sort_by_key(|element| (element.row, element.column));
    });
    assert!(said(&added, CheckName::Gates)[0].contains("the gate looks at 1 at most"));
}

#[test]
fn a_run_that_lacks_rows_says_so_and_one_that_claims_them_is_refused() {
    let dir = tempdir().unwrap();
    let mut planted = Planted::new("run-1");
    let before = planted.cells.len();
    planted.cells.retain(|(row, ..)| row.work != Work::Ceiling || row.process == 0 || row.path == "tiled");
    let gone = before - planted.cells.len();
    assert!(gone > 0);
    planted.sealed(dir.path());
    let report = verify(dir.path()).unwrap();
    assert!(report.passed());
    let plan = report.checks.iter().find(|check| check.name == CheckName::Plan).unwrap();
    let note = &plan.notes[0];
    assert!(
        note.contains("rows that the plan asks for are not here") && note.contains(&format!("ceilings: {gone}")),
        "{note}"
    );
    let facts = std::fs::read_to_string(dir.path().join("facts.csv")).unwrap();
    let stated = facts.lines().find(|line| line.contains(",incomplete.rows,")).unwrap();
    assert!(stated.contains(&format!("ceilings: {gone}")), "{stated}");

    // The same rows are gone and the facts are those of the whole run.
    let whole = tempdir().unwrap();
    Planted::new("run-1").sealed(whole.path());
    planted::forge(dir.path(), "facts.csv", |_| std::fs::read_to_string(whole.path().join("facts.csv")).unwrap());
    let report = verify(dir.path()).unwrap();
    let facts = report.checks.iter().find(|check| check.name == CheckName::Facts).unwrap();
    assert!(facts.failures.iter().any(|failure| failure.what.contains("rows that the plan asks for")), "{facts:?}");
}

#[test]
fn rows_that_nobody_asked_for_are_strangers() {
    type Change = fn(&mut Planted);
    let cases: [(&str, Change); 5] = [
        ("the plan asks for 2, from 0", |planted| planted.plan.sampling.processes = 2),
        ("it is no row that the plan asks for", |planted| planted.plan.throughput.shapes.truncate(1)),
        ("it is no row that the plan asks for", |planted| planted.plan.select.paths = vec!["scalar".into()]),
        ("it is no row that the plan asks for", |planted| {
            planted.provenance.device.offers.retain(|offer| offer.path == "scalar");
        }),
        ("its axes are those of `gemm/8x8x8/near-normal/warm`", |planted| {
            for (row, ..) in &mut planted.cells {
                row.block = row.block.replace("gemm/8x8x8/", "gemm/4x4x4/");
            }
        }),
    ];
    for (says, change) in &cases[1..] {
        let report = sealed_with(change);
        let plan = report.checks.iter().find(|check| check.name == CheckName::Plan).unwrap();
        assert!(plan.failures.iter().any(|failure| failure.what.contains(says)), "{says}: {:?}", plan.failures);
    }
    let report = sealed_with(|planted| {
        cases[0].1(planted);
        for (row, samples, witness) in
            planted.cells.iter_mut().filter(|(row, ..)| row.work == Work::Ceiling && row.process == 1)
        {
            row.process = 7;
            samples.iter_mut().for_each(|sample| sample.process = 7);
            witness.clear();
        }
    });
    let plan = report.checks.iter().find(|check| check.name == CheckName::Plan).unwrap();
    assert!(plan.failures.iter().any(|failure| failure.what.contains(cases[0].0)), "{:?}", plan.failures);
}

#[test]
fn names_of_blocks_that_were_measured_again_need_their_culprits() {
    let again = |planted: &mut Planted, shape: &str| {
        let block = format!("gemm/{shape}/near-normal/warm");
        let rows = planted.cells.iter_mut().map(|(row, ..)| row);
        rows.filter(|row| row.block == block && row.process == 1).for_each(|row| row.block = format!("{block}~1"));
    };
    // The planted run has a cell that crashed at 8x8x8.
    assert!(sealed_with(|planted| again(planted, "8x8x8")).passed());
    let report = sealed_with(|planted| again(planted, "9x4x17"));
    assert!(said(&report, CheckName::Plan)[0].contains("with 0 cells left out that died"));
    let report = sealed_with(|planted| {
        let row = planted.cells.iter_mut().map(|(row, ..)| row).find(|row| seeing(row)).unwrap();
        row.block.push_str("~1");
    });
    assert!(!report.passed());
    let report = sealed_with(|planted| {
        let row = planted.cells.iter_mut().map(|(row, ..)| row).find(|row| seeing(row)).unwrap();
        row.block.push('!');
    });
    let plan = report.checks.iter().find(|check| check.name == CheckName::Plan).unwrap();
    assert!(plan.failures[0].what.contains("where no cell has repetitions"), "{plan:?}");
}

#[test]
fn gate_stop_and_operations_follow_from_plan_shape_and_samples() {
    let report = sealed_with(|planted| product(planted).0.gate = Some(GateMethod::Sampled));
    assert!(said(&report, CheckName::Gates)[0].contains("make it `full`"));
    let report = sealed_with(|planted| product(planted).0.gate_visible = Some(1e-6));
    assert!(said(&report, CheckName::Gates)[0].contains("which only a sampled check has"));
    let report = sealed_with(|planted| product(planted).0.stop = Some(Stop::Budget));
    assert!(said(&report, CheckName::Statistics)[0].contains("stop is `budget`, derived is `repetitions`"));
    let report = sealed_with(|planted| {
        let row =
            planted.cells.iter_mut().map(|(row, ..)| row).find(|row| row.work == Work::Ceiling && row.process == 1);
        row.unwrap().operations = Some(1 << 21);
    });
    assert!(said(&report, CheckName::Statistics)[0].contains("operations is `2097152`, derived is `1048576`"));
}

#[test]
fn readings_stand_once_in_order_under_a_phase_of_the_run() {
    let lines = |text: String| text.lines().map(str::to_owned).collect::<Vec<String>>();
    type Edit = fn(Vec<String>) -> Vec<String>;
    let edits: [(&str, Edit); 5] = [
        ("the meter's reading above has `J`", |mut lines| {
            lines[2] = lines[2].replace(",J,", ",W,");
            lines
        }),
        ("a counter of energy never falls", |mut lines| {
            lines[2] = lines[2].replacen(".5,J", "00.5,J", 1);
            lines
        }),
        ("a duplicate: the meter has a reading of this time", |mut lines| {
            lines.insert(2, lines[1].clone());
            lines
        }),
        ("stands before the row above", |mut lines| {
            lines.swap(1, 2);
            lines
        }),
        ("phase is `0123456789ab`", |mut lines| {
            let (rest, _) = lines[1].rsplit_once(',').unwrap();
            lines[1] = format!("{rest},0123456789ab");
            lines
        }),
    ];
    for (says, edit) in edits {
        let dir = tempdir().unwrap();
        Planted::new("run-1").sealed(dir.path());
        planted::forge(dir.path(), "power.csv", |text| edit(lines(text)).join("\n") + "\n");
        let report = verify(dir.path()).unwrap();
        let check = report.checks.iter().find(|check| check.name == CheckName::Power).unwrap();
        assert!(check.failures.iter().any(|failure| failure.what.contains(says)), "{says}: {:?}", check.failures);
    }
}

#[test]
fn nothing_rests_on_a_sealed_run_that_verify_refuses() {
    let dir = tempdir().unwrap();
    let (run, out) = (dir.path().join("run"), dir.path().join("out"));
    let planted = Planted::new("run-1");
    planted.sealed(&run);
    planted::forge(&run, "facts.csv", |text| text.replacen("accelerated", "emulated", 1).replacen(",yes,", ",no,", 1));
    let before = planted::files(&run);
    let refused = |error: StoreError, why: &str| {
        assert!(matches!(error, StoreError::Rejected { .. }), "{error}");
        assert!(error.to_string().contains("verify says no") && error.to_string().contains(why), "{error}");
    };
    refused(planted.resumed(&run).unwrap_err(), "derived is");
    assert_eq!(planted::files(&run), before);
    // A merge derives facts again, so nothing of it rests on edited ones.
    let honest = dir.path().join("honest");
    Planted::new("run-1").sealed(&honest);
    assert_eq!(merge(&out, &[&run]).unwrap().facts(), Run::open(&honest).unwrap().facts());
    let doubled = dir.path().join("doubled");
    Planted::new("run-1").sealed(&doubled);
    planted::forge(&doubled, "power.csv", |text| format!("{text}{}\n", text.lines().last().unwrap_or_default()));
    let other = dir.path().join("other");
    refused(merge(&other, &[&doubled]).unwrap_err(), "duplicate");
    assert!(!other.exists());
}

#[test]
fn an_outcome_that_is_not_judged_is_taken_as_stated() {
    let report = sealed_with(|planted| {
        let crashed = planted.cells.iter_mut().map(|(row, ..)| row).filter(|row| row.outcome == Outcome::Crashed);
        crashed.for_each(|row| row.reason = "cosmic rays".to_owned());
    });
    assert!(report.passed(), "docs/verifying.md says that no file tells why a process died");
}
