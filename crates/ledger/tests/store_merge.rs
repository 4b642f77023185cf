//! Do shards become the run that was never divided, and is everything refused that cannot be one run?

mod planted;

use planted::{Planted, files};
use rigel_ledger::Provenance;
use rigel_ledger::block_name::LEFT_OUT;
use rigel_ledger::store::{FileFault, Run, StoreError, merge};
use rigel_ledger::verify::verify;
use std::collections::BTreeSet;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

/// Writes the blocks of a plan as shards: block i goes to shard i modulo n.
fn shards(n: usize) -> Vec<TempDir> {
    (0..n)
        .map(|shard| {
            let dir = tempdir().unwrap();
            let mut planted = Planted::new(&format!("shard-{shard}"));
            planted.provenance.partition = format!("slice:{}/{n}", shard + 1);
            let name = |row: &rigel_ledger::CellRow| row.block.trim_end_matches(LEFT_OUT).to_owned();
            let blocks: BTreeSet<String> = planted.cells.iter().map(|(row, ..)| name(row)).collect();
            planted.cells.retain(|(row, ..)| blocks.iter().position(|block| *block == name(row)).unwrap() % n == shard);
            planted.power.truncate(usize::from(shard == 0) * 4);
            planted.sealed(dir.path());
            dir
        })
        .collect()
}

fn paths(dirs: &[TempDir]) -> Vec<PathBuf> {
    dirs.iter().map(|dir| dir.path().to_owned()).collect()
}

#[test]
fn shards_merge_to_the_undivided_run_in_any_order() {
    let (whole, out) = (tempdir().unwrap(), tempdir().unwrap());
    Planted::new("run-1").sealed(whole.path());
    let shards = shards(5);
    let mut inputs = paths(&shards);
    let forward = out.path().join("forward");
    let merged = merge(&forward, &inputs).unwrap();
    inputs.reverse();
    inputs.push(inputs[1].clone());
    let backward = out.path().join("deeper").join("backward");
    std::fs::create_dir_all(&backward).unwrap();
    merge(&backward, &inputs).unwrap();
    assert_eq!(files(&forward), files(&backward));
    assert_eq!(files(&forward.join("runs")), files(&backward.join("runs")));

    let undivided = Run::open(whole.path()).unwrap();
    assert_eq!(merged.provenance().len(), 5);
    assert_eq!(merged.facts(), undivided.facts());
    assert_eq!(merged.power(), undivided.power());
    let same = |run: &Run| -> Vec<_> {
        let blank = |row: &rigel_ledger::CellRow| rigel_ledger::CellRow { run: String::new(), ..row.clone() };
        run.cells().iter().map(blank).collect()
    };
    assert_eq!(same(&merged), same(&undivided));
    for file in ["samples.csv", "witness.csv", "facts.csv", "power.csv", "plan.toml"] {
        assert_eq!(std::fs::read(forward.join(file)).unwrap(), std::fs::read(whole.path().join(file)).unwrap());
    }
    let report = verify(&forward).unwrap();
    let all: Vec<String> = report.checks.iter().flat_map(|c| &c.failures).map(ToString::to_string).collect();
    assert!(report.passed(), "{all:?}");
    // What was merged can be merged again with a part of itself, and is the same.
    let again = out.path().join("again");
    merge(&again, &[forward.clone(), inputs[0].clone()]).unwrap();
    assert_eq!(files(&again), files(&forward));
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 3, "nothing unfinished is left");
}

#[test]
fn one_run_merges_to_itself() {
    let (whole, out) = (tempdir().unwrap(), tempdir().unwrap());
    Planted::new("run-1").sealed(whole.path());
    let target = out.path().join("run");
    merge(&target, &[whole.path(), whole.path()]).unwrap();
    assert_eq!(files(&target), files(whole.path()));
}

#[test]
fn what_cannot_be_one_run_is_refused_with_both_names() {
    let out = tempdir().unwrap();
    let target = out.path().join("run");
    let first = tempdir().unwrap();
    Planted::new("run-1").sealed(first.path());
    let other = |change: &dyn Fn(&mut Planted)| {
        let dir = tempdir().unwrap();
        let mut planted = Planted::new("run-1");
        change(&mut planted);
        planted.sealed(dir.path());
        dir
    };
    let rename = |planted: &mut Planted, run: &str| {
        planted.provenance.run = run.to_owned();
        planted.cells.iter_mut().for_each(|(row, _, _)| row.run = run.to_owned());
    };
    let cases: Vec<(&str, TempDir)> = vec![
        ("of run `run-1` has other content", other(&|p| p.cells[0].0.block = "another".into())),
        ("was measured by runs `run-1` and `run-2`", other(&|p| rename(p, "run-2"))),
        ("run id `run-1` has two records", other(&|p| p.provenance.started = "later".into())),
        (
            "device.id is `sim-1` in one and `sim-2`",
            other(&|p| {
                rename(p, "run-2");
                p.provenance.device.id = "sim-2".into();
                p.cells.iter_mut().for_each(|(row, _, _)| row.device = "sim-2".into());
            }),
        ),
        (
            "plan_hash is",
            other(&|p| {
                p.plan.thresholds.win = 1.2;
                p.provenance = planted::provenance(&p.plan, "run-2");
                rename(p, "run-2");
            }),
        ),
    ];
    for (says, dir) in &cases {
        let refused = merge(&target, &[first.path(), dir.path()]).unwrap_err();
        assert!(matches!(refused, StoreError::Merge { .. }), "{says}: {refused}");
        let text = refused.to_string();
        assert!(text.contains(says), "{says}: {text}");
        for path in [first.path(), dir.path()] {
            assert!(text.contains(&path.display().to_string()), "{text}");
        }
        if says.contains("content") {
            assert_eq!(text.matches("cells.csv:").count(), 2, "{text}");
        }
    }
    assert!(!target.exists());
}

#[test]
fn shards_made_under_other_conditions_are_refused_with_the_field() {
    let out = tempdir().unwrap();
    let first = tempdir().unwrap();
    Planted::new("run-1").sealed(first.path());
    type Change<'a> = &'a dyn Fn(&mut Provenance);
    let cases: Vec<(&str, Change<'_>)> = vec![
        ("binary_hash is `planted` in one and `another`", &|p| p.binary_hash = "another".into()),
        ("commit is `planted` in one and `another`", &|p| p.commit = "another".into()),
        ("dirty is `false` in one and `true`", &|p| p.dirty = Some(true)),
        ("recipe_hash is", &|p| p.recipe_hash = "another".into()),
        ("device.driver is", &|p| p.device.driver = "another".into()),
        ("device.firmware is", &|p| p.device.firmware = "another".into()),
        ("device.toolchain is", &|p| p.device.toolchain = "another".into()),
        ("device.os is", &|p| p.device.os = "another".into()),
        ("device.kernels is", &|p| p.device.kernels = "another".into()),
        ("device.cores is", &|p| p.device.cores += 1),
        ("host.cpu is", &|p| p.host.cpu = "another".into()),
        ("concurrent_cells is `1` in one and `2`", &|p| p.concurrent_cells = 2),
    ];
    for (says, change) in cases {
        let dir = tempdir().unwrap();
        let mut planted = Planted::new("run-2");
        change(&mut planted.provenance);
        let driver = planted.provenance.device.driver.clone();
        planted.cells.iter_mut().for_each(|(row, _, _)| row.driver = driver.clone());
        planted.sealed(dir.path());
        let refused = merge(&out.path().join("run"), &[first.path(), dir.path()]).unwrap_err();
        assert!(matches!(refused, StoreError::Merge { .. }), "{says}: {refused}");
        assert!(refused.to_string().contains(says), "{says}: {refused}");
    }
}

#[test]
fn unsealed_inputs_and_full_targets_are_refused() {
    let out = tempdir().unwrap();
    let target = out.path().join("run");
    let (unsealed, sealed) = (tempdir().unwrap(), tempdir().unwrap());
    Planted::new("run-1").unsealed(unsealed.path(), 3);
    Planted::new("run-1").sealed(sealed.path());
    let refused = merge(&target, &[unsealed.path()]).unwrap_err();
    assert!(matches!(refused, StoreError::File { fault: FileFault::Unsealed, .. }), "{refused}");
    let none: [PathBuf; 0] = [];
    assert!(merge(&target, &none).is_err());
    std::fs::create_dir(&target).unwrap();
    std::fs::write(target.join("thesis.tex"), "x").unwrap();
    assert!(merge(&target, &[sealed.path()]).is_err());
    assert_eq!(files(&target).len(), 1);
    // A merged run cannot be resumed.
    let shards = shards(2);
    let merged = out.path().join("merged");
    merge(&merged, &paths(&shards)).unwrap();
    let planted = Planted::new("shard-0");
    let refused = rigel_ledger::store::RunWriter::resume(&merged, &planted.plan, &planted.provenance).unwrap_err();
    assert!(matches!(refused, StoreError::File { fault: FileFault::Merged, .. }), "{refused}");
}

#[test]
fn what_has_the_name_of_an_unfinished_merge_is_left_alone_unless_a_merge_left_it() {
    let out = tempdir().unwrap();
    let (target, beside) = (out.path().join("run"), out.path().join("run.unfinished"));
    Planted::new("run-1").sealed(&beside);
    let before = files(&beside);
    let refused = merge(&target, &[&beside]).unwrap_err();
    assert!(matches!(refused, StoreError::File { fault: FileFault::NotEmpty, .. }), "{refused}");
    assert_eq!(files(&beside), before);
    // What a killed merge left is taken over.
    let run = out.path().join("one");
    std::fs::rename(&beside, &run).unwrap();
    std::fs::create_dir_all(beside.join("joined")).unwrap();
    std::fs::write(beside.join("joined").join("cells.csv.unfinished"), "half").unwrap();
    merge(&target, &[&run]).unwrap();
    assert_eq!(files(&target), files(&run));
    assert!(!beside.exists());
}

#[test]
fn a_target_may_end_in_a_slash_be_there_empty_or_lie_in_no_run() {
    let out = tempdir().unwrap();
    let run = out.path().join("one");
    Planted::new("run-1").sealed(&run);
    for (name, exists) in [("absent/", false), ("empty/", true), ("plain", true)] {
        let target = out.path().join(name);
        if exists {
            std::fs::create_dir(&target).unwrap();
        }
        merge(&target, &[&run]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(files(&target), files(&run), "{name}");
    }
    let refused = merge(&run.join("inside"), &[&run]).unwrap_err();
    assert!(matches!(refused, StoreError::File { fault: FileFault::InsideARun(_), .. }), "{refused}");
    assert!(verify(&run).unwrap().passed());
}
