//! Is every way to spoil a sealed run found, with the right file and line, by whoever reads it?

mod planted;

use planted::{Planted, copy};
use rigel_ledger::store::{FileFault, RowFault, Run, StoreError};
use rigel_ledger::verify::verify;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::{TempDir, tempdir};

/// One sealed run, written once.
fn sealed() -> &'static Path {
    static DIR: OnceLock<TempDir> = OnceLock::new();
    DIR.get_or_init(|| {
        let dir = tempdir().unwrap();
        Planted::new("run-1").sealed(dir.path());
        dir
    })
    .path()
}

/// Reads all of a run, as a report does.
fn read(dir: &Path) -> Result<(), StoreError> {
    let run = Run::open(dir)?;
    run.samples()?;
    run.witness()?;
    Ok(())
}

/// Spoils a file's lines, reads the run, and gives the error with its file name and line.
fn spoil(file: &str, change: impl FnOnce(&mut Vec<String>)) -> (String, Option<u64>, String) {
    let dir = tempdir().unwrap();
    copy(sealed(), dir.path());
    let path = dir.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    change(&mut lines);
    std::fs::write(&path, lines.concat()).unwrap();
    found(dir.path())
}

fn found(dir: &Path) -> (String, Option<u64>, String) {
    let error = read(dir).unwrap_err();
    let report = verify(dir).unwrap();
    assert!(!report.passed(), "read says {error}, verify passes");
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let (file, line) = match &error {
        StoreError::Row { path, line, .. } => (name(path), Some(*line)),
        StoreError::File { path, .. } => (name(path), None),
        StoreError::Plan(error) => (name(&PathBuf::from(&error.file)), Some(error.line as u64)),
        other => panic!("{other}"),
    };
    let text = error.to_string();
    assert!(text.contains(&file), "{text}");
    // What stops a reader stops verify at the same place; what is only another digest is told among other things.
    let all: Vec<String> = report.checks.iter().flat_map(|c| &c.failures).map(ToString::to_string).collect();
    assert!(all.iter().any(|failure| failure.contains(&file)), "{all:?}");
    (file, line, text)
}

const ROWS: [&str; 4] = ["cells.csv", "samples.csv", "witness.csv", "power.csv"];

#[test]
fn a_torn_last_row() {
    for file in ROWS.into_iter().chain(["facts.csv", "MANIFEST"]) {
        let mut last = 0;
        let (name, line, text) = spoil(file, |lines| {
            last = lines.len() as u64;
            lines.last_mut().unwrap().pop();
        });
        assert_eq!((name.as_str(), line), (file, Some(last)), "{text}");
        assert!(text.contains("torn"), "{text}");
    }
}

#[test]
fn a_duplicated_row() {
    for file in ["cells.csv", "samples.csv", "witness.csv"] {
        let (name, line, text) = spoil(file, |lines| lines.insert(5, lines[4].clone()));
        assert_eq!((name.as_str(), line), (file, Some(6)), "{text}");
        assert!(text.contains("duplicate"), "{text}");
    }
    let (name, line, _) = spoil("MANIFEST", |lines| lines.insert(3, lines[2].clone()));
    assert_eq!((name.as_str(), line), ("MANIFEST", Some(4)));
    let (name, _, text) = spoil("power.csv", |lines| lines.insert(2, lines[1].clone()));
    assert!(name == "power.csv" && text.contains("5 rows, MANIFEST states 4"), "{text}");
}

#[test]
fn reordered_rows() {
    for (file, at) in [("cells.csv", 5), ("samples.csv", 3), ("witness.csv", 3)] {
        let (name, line, text) = spoil(file, |lines| lines.swap(at, at + 1));
        assert_eq!(name, file);
        assert!(line == Some(at as u64 + 1) || line == Some(at as u64 + 2), "{text}");
    }
    let (name, line, text) = spoil("MANIFEST", |lines| lines.swap(2, 3));
    assert_eq!((name.as_str(), line), ("MANIFEST", Some(4)), "{text}");
    // Whole groups in another order: each row is fine, their places are not.
    let (name, _, text) = spoil("samples.csv", |lines| {
        let cell = lines[1][..12].to_owned();
        let end = lines.iter().skip(1).take_while(|line| line.starts_with(&cell)).count();
        let group: Vec<String> = lines.drain(1..=end).collect();
        lines.extend(group);
    });
    assert!(name == "samples.csv" && text.contains("out of order"), "{text}");
}

#[test]
fn a_missing_row() {
    let (name, line, text) = spoil("samples.csv", |lines| drop(lines.remove(4)));
    assert_eq!((name.as_str(), line), ("samples.csv", Some(5)), "{text}");
    assert!(text.contains("a row is missing: repetition 3"), "{text}");
    for file in ["cells.csv", "witness.csv", "power.csv", "facts.csv"] {
        let (name, _, text) = spoil(file, |lines| drop(lines.pop()));
        assert!(name == file && text.contains("rows were added or are missing"), "{text}");
    }
    // Without its cell row, evidence belongs to nobody.
    let dir = tempdir().unwrap();
    copy(sealed(), dir.path());
    let samples = std::fs::read_to_string(dir.path().join("samples.csv")).unwrap();
    let cell = samples.lines().nth(1).unwrap().split(',').next().unwrap();
    let cells = std::fs::read_to_string(dir.path().join("cells.csv")).unwrap();
    let kept: Vec<&str> = cells.lines().filter(|line| !line.starts_with(cell)).collect();
    std::fs::write(dir.path().join("cells.csv"), kept.join("\n") + "\n").unwrap();
    let all = verify(dir.path()).unwrap().checks[0].failures.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert!(all.iter().any(|f| f.contains("samples.csv:2: belongs to no row of cells.csv")), "{all:?}");
}

#[test]
fn an_edited_row() {
    for file in ROWS {
        let (name, _, text) = spoil(file, |lines| {
            let edited = lines[2].replacen("tiled", "scalar", 1).replacen("scalar", "tiled", 0);
            let last = edited.trim_end().chars().last().unwrap();
            let other = if last == '1' { '2' } else { '1' };
            lines[2] = format!("{}{other}\n", edited.trim_end().strip_suffix(last).unwrap());
        });
        assert_eq!(name, file, "{text}");
    }
}

#[test]
fn a_missing_column() {
    for file in ROWS.into_iter().chain(["facts.csv", "MANIFEST"]) {
        let (name, line, text) = spoil(file, |lines| {
            let (first, rest) = lines[0].split_once(',').unwrap();
            let (_, rest) = rest.split_once(',').unwrap();
            lines[0] = format!("{first},{rest}");
        });
        assert_eq!((name.as_str(), line), (file, Some(1)), "{text}");
        assert!(text.contains("the header lacks column"), "{text}");
    }
    for file in ["cells.csv", "samples.csv", "witness.csv"] {
        let (name, line, text) = spoil(file, |lines| lines[3] = lines[3].replacen(',', "", 1));
        assert_eq!((name.as_str(), line), (file, Some(4)), "{text}");
    }
}

#[test]
fn a_number_that_is_none() {
    let bad = ["NaN", "inf", "-inf", "1e999", "0x10", "+1", "01", "1.50", " 1", "", "1_000", "١"];
    for value in bad {
        let (name, line, text) = spoil("samples.csv", |lines| {
            let fields: Vec<&str> = lines[3].trim_end().split(',').collect();
            lines[3] = format!("{},{},{},{value},{}\n", fields[0], fields[1], fields[2], fields[4]);
        });
        assert_eq!((name.as_str(), line), ("samples.csv", Some(4)), "{value}: {text}");
        assert!(text.contains("time_ns"), "{text}");
    }
    for value in ["NaN", "inf", "1e999", "+1.0", "1.50", "one"] {
        let (name, line, text) = spoil("power.csv", |lines| {
            let fields: Vec<&str> = lines[2].trim_end().split(',').collect();
            lines[2] = format!("{},{},{value},{},{}\n", fields[0], fields[1], fields[3], fields[4]);
        });
        assert_eq!((name.as_str(), line), ("power.csv", Some(3)), "{value}: {text}");
    }
    let (name, line, text) = spoil("cells.csv", |lines| {
        let at = lines.iter().position(|line| line.contains(",right,,full,")).unwrap();
        lines.swap(1, at);
        lines[1] = lines[1].replacen(",right,,full,", ",right,,full,NaN,", 1);
        let (head, tail) = lines[1].split_once("NaN,").unwrap();
        let (_, tail) = tail.split_once(',').unwrap();
        lines[1] = format!("{head}NaN,{tail}");
    });
    assert_eq!((name.as_str(), line), ("cells.csv", Some(2)), "{text}");
    assert!(text.contains("gate_error is `NaN`"), "{text}");
}

#[test]
fn line_ends_of_another_system() {
    for file in ROWS.into_iter().chain(["facts.csv", "MANIFEST"]) {
        let (name, line, text) = spoil(file, |lines| lines.iter_mut().for_each(|l| *l = l.replace('\n', "\r\n")));
        assert_eq!((name.as_str(), line), (file, Some(1)), "{text}");
        assert!(text.contains("carriage return"), "{text}");
        let (name, line, text) = spoil(file, |lines| lines[2] = lines[2].replace('\n', "\r\n"));
        assert_eq!((name.as_str(), line), (file, Some(3)), "{text}");
        assert!(text.contains("carriage return"), "{text}");
    }
}

#[test]
fn garbage_at_the_end() {
    for file in ROWS {
        let mut last = 0;
        let (name, line, text) = spoil(file, |lines| {
            last = lines.len() as u64 + 1;
            lines.push("\u{0}\u{0}\u{0}\n".to_owned());
        });
        assert_eq!((name.as_str(), line), (file, Some(last)), "{text}");
        let (name, line, text) = spoil(file, |lines| lines.push("x".repeat(100_000) + "\n"));
        assert_eq!((name.as_str(), line), (file, Some(last)), "{text}");
    }
}

#[test]
fn much_garbage_ends_at_its_first_line_in_bounded_memory() {
    // A sparse file of 64 GiB takes no room on disk; reading it whole would take more than any machine has.
    for file in ["cells.csv", "samples.csv", "witness.csv", "power.csv", "facts.csv", "MANIFEST"] {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        let path = dir.path().join(file);
        let lines = std::fs::read_to_string(&path).unwrap().lines().count() as u64;
        let grown = std::fs::File::options().write(true).open(&path).unwrap();
        if grown.set_len(64 << 30).is_err() {
            continue;
        }
        let error = read(dir.path()).unwrap_err();
        let StoreError::Row { line, fault, .. } = &error else { panic!("{error}") };
        assert_eq!(*line, lines + 1, "{error}");
        assert!(matches!(fault, RowFault::TooLong { .. }), "{error}");
        assert!(error.to_string().contains(file), "{error}");
    }
    for file in ["plan.toml", "run.json"] {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        let grown = std::fs::File::options().write(true).open(dir.path().join(file)).unwrap();
        if grown.set_len(64 << 30).is_ok() {
            let error = read(dir.path()).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("more than 16777216 bytes"), "{error}");
        }
    }
}

#[test]
fn a_missing_file() {
    for (file, _) in planted::files(sealed()) {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        std::fs::remove_file(dir.path().join(&file)).unwrap();
        match file.as_str() {
            // Without MANIFEST the run is unsealed, which verify says.
            "MANIFEST" => assert!(!verify(dir.path()).unwrap().passed()),
            "run.json" => assert!(read(dir.path()).unwrap_err().to_string().contains("no run here")),
            _ => {
                let (name, _, text) = found(dir.path());
                assert!(name == file && text.contains("is missing"), "{text}");
            }
        }
    }
}

#[test]
fn an_added_file_and_what_may_lie_beside_a_run() {
    for file in ["extra.csv", "cells.csv.unfinished", "run2.json"] {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        std::fs::write(dir.path().join(file), "x").unwrap();
        let (name, _, text) = found(dir.path());
        assert!(name == file && text.contains("not in MANIFEST"), "{text}");
    }
    let dir = tempdir().unwrap();
    copy(sealed(), dir.path());
    std::fs::create_dir(dir.path().join("figures")).unwrap();
    for file in ["README.md", "report.html", "figures/a.svg"] {
        std::fs::write(dir.path().join(file), "x").unwrap();
    }
    read(dir.path()).unwrap();
    assert!(verify(dir.path()).unwrap().passed());
}

#[test]
fn a_wrong_digest_or_count_in_manifest() {
    let (name, _, text) = spoil("MANIFEST", |lines| {
        let row = lines[1].trim_end();
        let last = if row.ends_with('0') { '1' } else { '0' };
        lines[1] = format!("{}{last}\n", &row[..row.len() - 1]);
    });
    assert!(name == "cells.csv" && text.contains("was changed after sealing"), "{text}");
    let (name, line, text) = spoil("MANIFEST", |lines| lines[1] = lines[1].replacen('f', "g", 1));
    assert!(name == "MANIFEST" || (name == "cells.csv" && line.is_none()), "{text}");
    let (name, line, text) = spoil("MANIFEST", |lines| lines[1] = "cells.csv,1,abc\n".to_owned());
    assert_eq!((name.as_str(), line), ("MANIFEST", Some(2)), "{text}");
}

#[test]
fn a_manifest_that_was_cut_short() {
    let bytes = std::fs::read(sealed().join("MANIFEST")).unwrap();
    for at in 0..bytes.len() {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        std::fs::write(dir.path().join("MANIFEST"), &bytes[..at]).unwrap();
        assert!(read(dir.path()).is_err(), "cut at {at}");
        assert!(!verify(dir.path()).unwrap().passed(), "cut at {at}");
    }
}

#[test]
fn names_that_lead_out_of_the_run() {
    for name in ["../cells.csv", "/etc/passwd", "layouts/../../x", "./cells.csv", "a\\b", "C:x", "layouts//a.csv", ""] {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        let path = dir.path().join("MANIFEST");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("cells.csv", name, 1)).unwrap();
        let error = read(dir.path()).unwrap_err();
        let escapes = matches!(&error, StoreError::File { fault: FileFault::Escapes(n), .. } if n == name);
        assert!(escapes && error.to_string().contains("MANIFEST"), "{error}");
        assert!(!verify(dir.path()).unwrap().passed());
    }
}

#[cfg(unix)]
#[test]
fn links_and_special_files() {
    let elsewhere = tempdir().unwrap();
    for (file, _) in planted::files(sealed()) {
        let dir = tempdir().unwrap();
        copy(sealed(), dir.path());
        std::fs::rename(dir.path().join(&file), elsewhere.path().join(&file)).unwrap();
        std::os::unix::fs::symlink(elsewhere.path().join(&file), dir.path().join(&file)).unwrap();
        let error = read(dir.path()).unwrap_err();
        assert!(matches!(error, StoreError::File { fault: FileFault::Link, .. }), "{error}");
        assert!(error.to_string().contains(&file), "{error}");
    }
    let dir = tempdir().unwrap();
    copy(sealed(), dir.path());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("layouts")).unwrap();
    let error = read(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::File { fault: FileFault::NotAFile, .. }), "{error}");
}

#[test]
fn another_plan_or_provenance() {
    let (name, _, text) = spoil("plan.toml", |lines| {
        let at = lines.iter().position(|line| line.starts_with("seed")).unwrap();
        lines[at] = "seed = 8\n".to_owned();
    });
    assert!(name == "plan.toml" && text.contains("is not the plan of this run"), "{text}");
    let (name, line, text) = spoil("plan.toml", |lines| lines.insert(0, "sede = 7\n".to_owned()));
    assert_eq!((name.as_str(), line), ("plan.toml", Some(1)), "{text}");
    let (name, line, text) = spoil("run.json", |lines| lines[2] = lines[2].replace("run-1", "../run-1"));
    assert!(name == "run.json" && line.is_none() && text.contains("run id"), "{text}");
    let (name, line, text) = spoil("run.json", |lines| lines[3] = "  \"kind\": \"guessed\",\n".to_owned());
    assert_eq!((name.as_str(), line), ("run.json", Some(4)), "{text}");
    let (name, _, text) = spoil("run.json", |lines| lines[1] = "  \"schema\": 99,\n".to_owned());
    assert!(name == "run.json" && text.contains("version 99"), "{text}");
    let (name, line, text) = spoil("run.json", |lines| lines[2] = "  \"run\": \"run-9\",\n".to_owned());
    assert!((name == "cells.csv" && line == Some(2)) || name == "run.json", "{text}");
}
