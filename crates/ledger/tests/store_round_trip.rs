//! Does a run come back as it was written, and is nothing ever overwritten or lost?

mod planted;

use planted::{Planted, files};
use rigel_ledger::facts::{SampleSource, derive};
use rigel_ledger::rows::Outcome;
use rigel_ledger::store::{self, FileFault, Run, RunWriter, StoreError};
use std::path::Path;
use tempfile::tempdir;

#[test]
fn what_is_written_comes_back_sorted_and_whole() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.sealed(dir.path());
    let run = Run::open(dir.path()).unwrap();
    assert!(run.is_sealed() && run.torn().is_empty());
    assert_eq!(run.plan(), &planted.plan);
    assert_eq!(run.provenance(), std::slice::from_ref(&planted.provenance));
    let (samples, witness) = (run.samples().unwrap(), run.witness().unwrap());
    let mut expected = planted.cells.clone();
    expected.sort_by_key(|(row, _, _)| (row.cell, row.process));
    assert_eq!(run.cells().len(), expected.len());
    for (i, ((row, repetitions, elements), read)) in expected.iter().zip(run.cells()).enumerate() {
        assert_eq!(run.line(i), i as u64 + 2);
        assert_eq!(read.evidence, store::digest(repetitions, elements));
        let tamed = read.reason.replace('\u{240a}', "\n").replace('\u{2409}', "\t");
        assert_eq!(&planted_row(read, &tamed), row);
        let times: Vec<_> = repetitions.iter().map(|s| s.time_ns).collect();
        assert_eq!(samples.times(row.cell, row.process).unwrap_or_default(), times);
        let clocks: Option<Vec<_>> = repetitions.iter().map(|s| s.clock_mhz).collect();
        assert_eq!(samples.clocks(row.cell, row.process).unwrap_or_default(), clocks.unwrap_or_default());
        assert_eq!(witness.of(row.cell, row.process), elements.as_slice());
    }
    let power: Vec<_> = run.power().iter().map(|p| p.time_ns).collect();
    assert!(power.is_sorted() && power.len() == 4);
}

fn planted_row(read: &rigel_ledger::CellRow, reason: &str) -> rigel_ledger::CellRow {
    rigel_ledger::CellRow { reason: reason.to_owned(), evidence: String::new(), ..read.clone() }
}

#[test]
fn the_sealed_bytes_do_not_depend_on_the_order_of_measuring() {
    let (first, second) = (tempdir().unwrap(), tempdir().unwrap());
    let mut planted = Planted::new("run-1");
    planted.sealed(first.path());
    planted.cells.reverse();
    planted.power.reverse();
    for (_, samples, witness) in &mut planted.cells {
        samples.reverse();
        witness.reverse();
    }
    planted.sealed(second.path());
    assert_eq!(files(first.path()), files(second.path()));
}

#[test]
fn an_unsealed_run_can_be_read_while_it_is_written() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    let mut writer = planted.begin(dir.path());
    for n in 0..planted.cells.len() {
        let run = Run::open(dir.path()).unwrap();
        assert_eq!(run.cells().len(), n);
        assert_eq!(run.samples().unwrap().len(), planted.cells[..n].iter().map(|c| c.1.len()).sum::<usize>());
        assert_eq!(run.witness().unwrap().len(), planted.cells[..n].iter().map(|c| c.2.len()).sum::<usize>());
        planted.append(&mut writer, n..n + 1).unwrap();
    }
    assert_eq!(writer.cells().len(), writer.finished().len());
}

#[test]
fn one_writer_at_a_time() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    let writer = planted.begin(dir.path());
    let second = RunWriter::resume(dir.path(), &planted.plan, &planted.provenance);
    assert!(matches!(second, Err(StoreError::Busy { .. })), "{second:?}");
    drop(writer);
    std::fs::write(dir.path().join(".lock"), "what a killed process left").unwrap();
    RunWriter::resume(dir.path(), &planted.plan, &planted.provenance).unwrap();
}

#[test]
fn nothing_that_is_there_is_overwritten() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.unsealed(dir.path(), 3);
    let before = files(dir.path());
    let again = RunWriter::create(dir.path(), &planted.plan, &planted.provenance);
    assert!(matches!(again, Err(StoreError::File { fault: FileFault::AlreadyARun, .. })), "{again:?}");
    assert_eq!(files(dir.path()), before);
    // Somebody removed run.json: the rows are still somebody's measurement.
    std::fs::remove_file(dir.path().join("run.json")).unwrap();
    let again = RunWriter::create(dir.path(), &planted.plan, &planted.provenance).unwrap_err();
    assert!(again.to_string().contains("run.json: is missing"), "{again}");

    let other = tempdir().unwrap();
    std::fs::write(other.path().join("thesis.tex"), "years of work").unwrap();
    for open in [RunWriter::create, RunWriter::fresh] {
        let refused = open(other.path(), &planted.plan, &planted.provenance).unwrap_err();
        assert!(refused.to_string().contains("thesis.tex"), "{refused}");
    }
    assert_eq!(files(other.path()).len(), 1);
}

#[test]
fn fresh_starts_over_and_keeps_what_is_written_about_a_run() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.sealed(dir.path());
    std::fs::write(dir.path().join("README.md"), "mine").unwrap();
    let writer = RunWriter::fresh(dir.path(), &planted.plan, &Planted::new("run-2").provenance).unwrap();
    assert!(writer.cells().is_empty());
    drop(writer);
    let run = Run::open(dir.path()).unwrap();
    assert!(!run.is_sealed() && run.cells().is_empty() && run.provenance()[0].run == "run-2");
    assert_eq!(std::fs::read_to_string(dir.path().join("README.md")).unwrap(), "mine");
}

#[test]
fn resume_refuses_other_conditions_and_names_the_field() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.unsealed(dir.path(), 3);
    let change = |field: &str| {
        let mut now = planted.provenance.clone();
        match field {
            "device.id" => now.device.id = "sim-2".into(),
            "device.driver" => now.device.driver = "2".into(),
            "binary_hash" => now.binary_hash = "c".into(),
            "partition" => now.partition = "slice:1/2".into(),
            _ => now.device.toolchain = "u".into(),
        }
        now
    };
    for field in ["device.id", "device.driver", "binary_hash", "partition", "device.toolchain"] {
        let refused = RunWriter::resume(dir.path(), &planted.plan, &change(field)).unwrap_err();
        assert!(matches!(&refused, StoreError::Changed { field: f, .. } if *f == field), "{refused}");
        assert!(refused.to_string().contains(&format!("{field} was `")), "{refused}");
    }
    let mut plan = planted.plan.clone();
    plan.seed = 8;
    let provenance = planted::provenance(&plan, "run-1");
    let refused = RunWriter::resume(dir.path(), &plan, &provenance).unwrap_err();
    assert!(matches!(refused, StoreError::Changed { field: "plan_hash", .. }), "{refused}");
    // Time, load, command line and run id belong to the start, not to the rows.
    let mut now = Planted::new("run-2").provenance;
    (now.started, now.host.load, now.command) = ("later".into(), None, vec!["rigel".into()]);
    let writer = RunWriter::resume(dir.path(), &planted.plan, &now).unwrap();
    assert_eq!(writer.provenance(), &planted.provenance);
}

#[test]
fn rows_that_no_run_may_hold_are_refused_and_leave_no_trace() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    let mut writer = planted.begin(dir.path());
    planted.append(&mut writer, 0..2).unwrap();
    let before = files(dir.path());
    type Change = fn(&mut planted::Cell);
    let cases: [(&str, Change); 11] = [
        ("axes of this row", |c| c.0.path = "other".into()),
        ("run is `x`", |c| c.0.run = "x".into()),
        ("device is `x`", |c| c.0.device = "x".into()),
        ("30 samples", |c| c.0.repetitions = Some(29)),
        ("repetition 3 must stand here", |c| c.1[3].index = 30),
        ("repetition 3 must stand here", |c| c.1[3].index = 4),
        ("a duplicate", |c| c.1[29].index = 28),
        ("is among its own", |c| c.1[3].process = 9),
        ("a duplicate", |c| c.2[1] = c.2[0]),
        ("clock_mhz is `0`", |c| c.1[0].clock_mhz = Some(rigel_numerics::Megahertz(0))),
        ("median_ns is `NaN`", |c| c.0.median_ns = Some(f64::NAN)),
    ];
    for (says, change) in cases {
        let mut cell = planted.cells[2].clone();
        change(&mut cell);
        let refused = writer.append(cell.0, &cell.1, &cell.2).unwrap_err();
        assert!(
            matches!(refused, StoreError::Refused { .. }) && refused.to_string().contains(says),
            "{says}: {refused}"
        );
    }
    let (row, samples, witness) = &planted.cells[0];
    let refused = writer.append(row.clone(), samples, witness).unwrap_err();
    assert!(refused.to_string().contains("has its row already"), "{refused}");
    assert_eq!(files(dir.path()), before);
}

#[test]
fn a_gate_error_may_be_infinite_and_a_reason_may_be_long() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    let mut writer = planted.begin(dir.path());
    let (mut row, samples, witness) = planted.cells[0].clone();
    row.gate_error = Some(f64::INFINITY);
    row.outcome = Outcome::Wrong;
    row.reason = "é\r\n\u{0}".repeat(10_000);
    let written = writer.append(row, &samples, &witness).unwrap();
    assert!(written.reason.len() < 9000 && written.reason.ends_with("bytes cut)"), "{}", written.reason.len());
    drop(writer);
    let read = Run::open(dir.path()).unwrap();
    assert_eq!(read.cells(), [written]);
}

#[test]
fn a_sealed_run_takes_what_it_lacks_and_is_sealed_again() {
    let (dir, whole) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = Planted::new("run-1");
    planted.sealed(whole.path());
    let mut writer = planted.begin(dir.path());
    writer.append_power(&planted.power).unwrap();
    planted.append(&mut writer, 0..20).unwrap();
    writer.seal_with(derive).unwrap();
    let sealed = files(dir.path());
    // Opened and closed, or sealed again as it is, nothing changes.
    drop(RunWriter::resume(dir.path(), &planted.plan, &planted.provenance).unwrap());
    assert_eq!(files(dir.path()), sealed);
    RunWriter::resume(dir.path(), &planted.plan, &planted.provenance).unwrap().seal_with(derive).unwrap();
    assert_eq!(files(dir.path()), sealed);
    planted.resumed(dir.path()).unwrap();
    assert_eq!(files(dir.path()), files(whole.path()));
}

#[test]
fn discarded_cells_can_be_measured_again() {
    let (dir, whole) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = Planted::new("run-1");
    planted.sealed(whole.path());
    let mut writer = planted.begin(dir.path());
    writer.append_power(&planted.power).unwrap();
    planted.append(&mut writer, 0..20).unwrap();
    writer.discard(|row| row.path == "tiled" && row.repetitions == Some(30)).unwrap();
    assert!(writer.cells().iter().all(|row| row.path != "tiled" || row.repetitions != Some(30)));
    let left = writer.cells().len();
    assert!(left > 0 && left < 20);
    planted.append(&mut writer, 0..1).unwrap();
    drop(writer);
    assert_eq!(Run::open(dir.path()).unwrap().cells().len(), left + 1);
    planted.resumed(dir.path()).unwrap();
    assert_eq!(files(dir.path()), files(whole.path()));
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let below = file.join("run");
    let mut places = vec![below.as_path()];
    if cfg!(target_os = "linux") {
        places.push(Path::new("/proc/self/rigel"));
    }
    for place in places {
        let refused = RunWriter::create(place, &planted.plan, &planted.provenance).unwrap_err();
        assert!(matches!(refused, StoreError::Io { .. }), "{refused}");
        assert!(refused.to_string().contains(&place.display().to_string()), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
}

#[cfg(unix)]
#[test]
fn a_read_only_directory_can_be_read_and_is_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.unsealed(dir.path(), 4);
    let mode = |mode| std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let read = Run::open(dir.path()).map(|run| run.cells().len());
    let before = files(dir.path());
    let resumed = RunWriter::resume(dir.path(), &planted.plan, &planted.provenance);
    // An administrator may write everywhere; everybody else is told where and why not.
    match resumed {
        Ok(writer) => assert_eq!(writer.cells().len(), 4),
        Err(error) => {
            assert!(matches!(error, StoreError::Io { .. }), "{error}");
            assert!(error.to_string().contains("--out"), "{error}");
            assert_eq!(files(dir.path()), before);
        }
    }
    mode(0o755);
    assert_eq!(read.unwrap(), 4);
}
