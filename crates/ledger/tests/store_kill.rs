//! Is a run that was killed, cut short or half sealed resumed to exactly what it would have been?

mod planted;

use planted::{Planted, copy, files};
use rigel_ledger::store::{FileFault, Run, RunWriter, StoreError};
use std::path::Path;
use tempfile::tempdir;

const CELLS: usize = 6;

/// A short planted run: the first cells of each process.
fn short() -> Planted {
    let mut planted = Planted::new("run-1");
    let crash = planted.cells.iter().position(|(row, _, _)| row.repetitions.is_none()).unwrap();
    planted.cells.swap(2, crash);
    planted.cells.truncate(CELLS);
    for (row, samples, _) in &mut planted.cells {
        if row.repetitions.is_some() {
            samples.truncate(8);
            row.repetitions = Some(8);
        }
    }
    planted
}

fn cut(path: &Path, length: usize) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_len(length as u64).unwrap();
}

#[test]
fn cut_at_any_byte_of_any_file_it_is_resumed_to_the_undisturbed_run() {
    let (whole, unsealed) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = short();
    planted.sealed(whole.path());
    let undisturbed = files(whole.path());
    planted.unsealed(unsealed.path(), CELLS);
    for file in ["cells.csv", "samples.csv", "witness.csv"] {
        let length = std::fs::metadata(unsealed.path().join(file)).unwrap().len() as usize;
        // The last bytes, the end of the header, and a stride that is prime to all row lengths between.
        let header = std::fs::read(unsealed.path().join(file)).unwrap().iter().position(|&b| b == b'\n').unwrap();
        let near = |at: usize| at + 12 > length || at.abs_diff(header) < 3 || at.is_multiple_of(101);
        for at in (0..length).filter(|&at| near(at)) {
            let dir = tempdir().unwrap();
            copy(unsealed.path(), dir.path());
            cut(&dir.path().join(file), at);
            let whole_cells = Run::open(dir.path()).unwrap_or_else(|e| panic!("{file} cut at {at}: {e}"));
            assert!(whole_cells.cells().len() <= CELLS);
            planted.resumed(dir.path()).unwrap_or_else(|e| panic!("{file} cut at {at}: {e}"));
            assert!(files(dir.path()) == undisturbed, "{file} cut at {at}");
        }
    }
}

#[test]
fn killed_between_any_two_writes_of_a_cell_it_is_resumed_to_the_undisturbed_run() {
    let whole = tempdir().unwrap();
    let planted = short();
    planted.sealed(whole.path());
    for cells in 0..CELLS {
        let (before, after) = (tempdir().unwrap(), tempdir().unwrap());
        planted.unsealed(before.path(), cells);
        planted.unsealed(after.path(), cells + 1);
        // Samples come first, then witness, then the cell row: each prefix of that, cut at some bytes of the last one.
        for written in 0..3 {
            let names = ["samples.csv", "witness.csv", "cells.csv"];
            let old = std::fs::read(before.path().join(names[written])).unwrap().len();
            let new = std::fs::read(after.path().join(names[written])).unwrap();
            for at in (old..=new.len()).step_by(61).chain([new.len()]) {
                let dir = tempdir().unwrap();
                copy(before.path(), dir.path());
                for name in &names[..written] {
                    std::fs::copy(after.path().join(name), dir.path().join(name)).unwrap();
                }
                std::fs::write(dir.path().join(names[written]), &new[..at]).unwrap();
                planted.resumed(dir.path()).unwrap();
                assert!(files(dir.path()) == files(whole.path()), "cell {cells}, file {written}, byte {at}");
            }
        }
    }
}

#[test]
fn killed_at_any_step_of_sealing_it_is_resumed_to_the_undisturbed_run() {
    let (whole, unsealed) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = short();
    planted.sealed(whole.path());
    planted.unsealed(unsealed.path(), CELLS);
    // The order in which sealing replaces files; MANIFEST is the last.
    let steps = ["samples.csv", "witness.csv", "cells.csv", "power.csv", "facts.csv"];
    for done in 0..=steps.len() {
        let dir = tempdir().unwrap();
        copy(unsealed.path(), dir.path());
        for name in &steps[..done] {
            std::fs::copy(whole.path().join(name), dir.path().join(name)).unwrap();
        }
        let next = steps.get(done).copied().unwrap_or("MANIFEST");
        std::fs::write(dir.path().join(format!("{next}.unfinished")), "half of it").unwrap();
        assert_eq!(Run::open(dir.path()).unwrap().cells().len(), CELLS);
        planted.resumed(dir.path()).unwrap();
        assert!(files(dir.path()) == files(whole.path()), "after {done} steps");
    }
}

#[test]
fn killed_before_run_json_is_there_it_is_begun_again() {
    let (whole, begun) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = short();
    planted.sealed(whole.path());
    let mut bare = short();
    bare.power.clear();
    bare.unsealed(begun.path(), 0);
    let steps = ["plan.toml", "samples.csv", "witness.csv", "cells.csv", "power.csv"];
    for done in 0..=steps.len() {
        let dir = tempdir().unwrap();
        for name in &steps[..done] {
            std::fs::copy(begun.path().join(name), dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("run.json.unfinished"), "{").unwrap();
        assert!(!Run::is_one(dir.path()));
        drop(RunWriter::open(dir.path(), &planted.plan, &planted.provenance).unwrap());
        let mut writer = RunWriter::open(dir.path(), &planted.plan, &planted.provenance).unwrap();
        writer.append_power(&planted.power).unwrap();
        drop(writer);
        planted.resumed(dir.path()).unwrap();
        assert!(files(dir.path()) == files(whole.path()), "after {done} steps");
    }
}

#[test]
fn a_tail_of_zeros_that_a_power_cut_left_is_dropped() {
    let (whole, unsealed) = (tempdir().unwrap(), tempdir().unwrap());
    let planted = short();
    planted.sealed(whole.path());
    planted.unsealed(unsealed.path(), CELLS);
    for (file, zeros) in [("samples.csv", 40), ("samples.csv", 4096), ("witness.csv", 4096)] {
        let dir = tempdir().unwrap();
        copy(unsealed.path(), dir.path());
        let path = dir.path().join(file);
        let mut bytes = std::fs::read(&path).unwrap();
        let length = bytes.len();
        bytes.truncate(length - 50);
        bytes.resize(length - 50 + zeros, 0);
        std::fs::write(&path, bytes).unwrap();
        let run = Run::open(dir.path()).unwrap();
        assert_eq!((run.cells().len(), run.torn().len()), (CELLS - 1, 1), "{file}");
        drop(run);
        planted.resumed(dir.path()).unwrap();
        assert!(files(dir.path()) == files(whole.path()), "{file}");
    }
}

#[test]
fn evidence_that_was_edited_is_not_taken_for_torn() {
    let unsealed = tempdir().unwrap();
    let planted = short();
    planted.unsealed(unsealed.path(), CELLS);
    for (file, line) in [("samples.csv", 4), ("witness.csv", 4)] {
        let dir = tempdir().unwrap();
        copy(unsealed.path(), dir.path());
        let path = dir.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let edited = lines[line - 1].replacen('5', "6", 1).replacen(",1", ",2", 1);
        assert_ne!(edited, lines[line - 1]);
        lines[line - 1] = edited;
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let before = files(dir.path());
        let refused = planted.resumed(dir.path()).unwrap_err();
        let StoreError::Row { path, .. } = &refused else { panic!("{refused}") };
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(name == file || name == "cells.csv", "{refused}");
        assert_eq!(files(dir.path()), before, "nothing may be written");
    }
}

/// Loops have samples alone, crashed products neither: what a row has no lines of cannot have lost any.
#[test]
fn an_edited_line_is_refused_whatever_kind_of_row_it_belongs_to() {
    let unsealed = tempdir().unwrap();
    let planted = Planted::new("run-1");
    planted.unsealed(unsealed.path(), planted.cells.len());
    let last = ["samples.csv", "witness.csv"].map(|file| {
        let text = std::fs::read_to_string(unsealed.path().join(file)).unwrap();
        text.lines().last().unwrap().splitn(3, ',').take(2).map(|field| format!("{field},")).collect::<String>()
    });
    let ends = |edited: &[&str], row: &str| edited.iter().rposition(|line| line.starts_with(row)).unwrap();
    for (file, has) in [("samples.csv", 0), ("witness.csv", 1)] {
        let text = std::fs::read_to_string(unsealed.path().join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let rows = planted.cells.iter().filter(|(_, samples, witness)| [!samples.is_empty(), !witness.is_empty()][has]);
        let rows: Vec<String> = rows.map(|(row, ..)| format!("{},{},", row.cell, row.process)).collect();
        // Of a row that ends either file a power cut could have taken lines: nobody can tell that from an edit.
        for row in rows.iter().filter(|row| !last.contains(row)) {
            let at = ends(&lines, row);
            let digit = lines[at].rfind(|c: char| c.is_ascii_digit()).unwrap();
            let other = if lines[at].as_bytes()[digit] == b'1' { "2" } else { "1" };
            let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
            edited[at].replace_range(digit..=digit, other);
            let dir = tempdir().unwrap();
            copy(unsealed.path(), dir.path());
            std::fs::write(dir.path().join(file), edited.join("\n") + "\n").unwrap();
            let before = files(dir.path());
            let refused = planted.resumed(dir.path()).unwrap_err();
            assert!(matches!(refused, StoreError::Row { .. }), "{file} {row}: {refused}");
            assert_eq!(files(dir.path()), before, "{file} {row}: nothing may be written");
        }
    }
}

#[test]
fn files_that_are_no_runs_own_are_left_alone_whatever_their_ending() {
    let planted = short();
    for name in ["thesis.unfinished", "runs.unfinished", "my-cells.csv.unfinished"] {
        let (begun, empty) = (tempdir().unwrap(), tempdir().unwrap());
        planted.unsealed(begun.path(), 2);
        for dir in [begun.path(), empty.path()] {
            std::fs::write(dir.join(name), "precious").unwrap();
            let before = files(dir);
            for refused in [
                RunWriter::open(dir, &planted.plan, &planted.provenance).unwrap_err(),
                RunWriter::fresh(dir, &planted.plan, &planted.provenance).unwrap_err(),
            ] {
                assert!(matches!(refused, StoreError::File { fault: FileFault::Foreign(_), .. }), "{name}: {refused}");
            }
            assert_eq!(files(dir), before, "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_has_another_name_is_not_written_to() {
    let planted = short();
    for name in ["samples.csv", "witness.csv", "cells.csv", ".lock"] {
        let (dir, other) = (tempdir().unwrap(), tempdir().unwrap());
        planted.unsealed(dir.path(), 2);
        if name == ".lock" {
            std::fs::write(dir.path().join(name), "precious").unwrap();
        }
        let copy = other.path().join("copy");
        std::fs::hard_link(dir.path().join(name), &copy).unwrap();
        let before = std::fs::read(&copy).unwrap();
        let refused = planted.resumed(dir.path()).unwrap_err();
        assert!(matches!(refused, StoreError::File { fault: FileFault::HardLink, .. }), "{name}: {refused}");
        assert_eq!(std::fs::read(&copy).unwrap(), before, "{name}");
    }
}

#[test]
fn no_run_begins_inside_another() {
    let dir = tempdir().unwrap();
    let planted = short();
    planted.sealed(dir.path());
    let before = files(dir.path());
    let refused = RunWriter::open(&dir.path().join("deeper/still"), &planted.plan, &planted.provenance).unwrap_err();
    assert!(matches!(refused, StoreError::File { fault: FileFault::InsideARun(_), .. }), "{refused}");
    assert_eq!(files(dir.path()), before);
}

#[test]
fn run_json_or_plan_cut_short_are_named() {
    let unsealed = tempdir().unwrap();
    let planted = short();
    planted.unsealed(unsealed.path(), 2);
    for file in ["run.json", "plan.toml"] {
        let length = std::fs::metadata(unsealed.path().join(file)).unwrap().len() as usize;
        for at in (0..length - 1).step_by(7) {
            let dir = tempdir().unwrap();
            copy(unsealed.path(), dir.path());
            cut(&dir.path().join(file), at);
            let refused = planted.resumed(dir.path()).unwrap_err().to_string();
            assert!(refused.contains(file), "{file} cut at {at}: {refused}");
        }
    }
}

#[test]
fn measured_rows_without_run_json_are_kept() {
    let dir = tempdir().unwrap();
    let planted = short();
    planted.unsealed(dir.path(), 0);
    let readings = std::fs::read_to_string(dir.path().join("power.csv")).unwrap();
    assert!(readings.lines().count() > 1);
    std::fs::remove_file(dir.path().join("run.json")).unwrap();
    let refused = RunWriter::open(dir.path(), &planted.plan, &planted.provenance).unwrap_err();
    assert!(refused.to_string().contains("run.json"), "{refused}");
    assert_eq!(std::fs::read_to_string(dir.path().join("power.csv")).unwrap(), readings);
}
