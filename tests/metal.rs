//! Do the Metal kernels go through a whole run, on the device in software that runs their very text?
//!
//! They need clang 19 or newer and say that they were skipped without it.

mod rig;

use rig::{file, rigel, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether there is a compiler; a line says so when not.
fn skipped() -> bool {
    let found = ["clang++-22", "clang++-21", "clang++-20", "clang++-19"]
        .map(|name| Command::new(name).arg("--version").output());
    let none = found.iter().all(Result::is_err);
    if none {
        println!("skipped: no clang++ of version 19 or newer");
    }
    none
}

/// A run of the device in software; kernels stay compiled between runs and between tests.
fn run(out: &Path, arguments: &[&str]) -> std::process::Output {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-runs");
    let output = rigel().env("RIGEL_CACHE", cache).arg("run").args(arguments).arg("--out").arg(out).output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn both_verifiers_agree(run: &Path) {
    rigel().arg("verify").arg(run).assert().success();
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let python = Command::new("python3").arg(script).arg(run).output();
    if let Ok(python) = python {
        assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stdout));
    }
}

/// Facts of a run: path, type triple, name and value.
fn facts(run: &Path) -> Vec<[String; 4]> {
    let text = file(run, "facts.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|h| h == name).unwrap();
    let places = ["path", "triple", "name", "value"].map(place);
    reader.records().map(|row| row.map(|row| places.map(|place| row[place].to_owned())).unwrap()).collect()
}

#[test]
fn a_quick_run_climbs_times_and_judges_the_kernels_and_says_that_it_is_simulated() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let some = "simdgroup_matrix f16,f16->f32|matmul2d e4m3,e4m3->f32";
    let axes =
        ["--axis", "shape=64", "--axis", "types-shape=9", "--axis", "path=scalar,tiled,simdgroup_matrix,matmul2d"];
    let axes =
        [&["--device", "metal-sim", "--preset", "quick", "--axis", "triple=f16,f16->f32;e4m3,e4m3->f32"], &axes[..]]
            .concat();
    let output = run(&out, &axes);
    assert!(output.status.success(), "{some}: {}", stdout(&output));
    both_verifiers_agree(&out);
    let facts = facts(&out);
    let value = |path: &str, triple: &str, name: &str| {
        let of = facts.iter().find(|[p, t, n, _]| p == path && t == triple && n == name);
        of.map_or_else(String::new, |[.., value]| value.clone())
    };
    let (half, fp8) = ("f16,f16->f32", "e4m3,e4m3->f32");
    for (path, triple) in
        [("scalar", half), ("tiled", half), ("simdgroup_matrix", half), ("matmul2d", half), ("matmul2d", fp8)]
    {
        for rung in ["advertised", "compiles", "loads", "runs", "right"] {
            assert_eq!(value(path, triple, &format!("rung.{rung}")), "yes", "{path} {triple} {rung}");
        }
    }
    // Planted: narrow types at 0.94 of f16, on a plateau of their own.
    let word = value("matmul2d", fp8, "verdict.acceleration");
    assert!(word.starts_with("not accelerated") || word.starts_with("same rate"), "{word}: {facts:?}");
    // Two signals of three point to the shader cores: no rail is there.
    assert!(value("matmul2d", "", "verdict.where").starts_with("shader cores"), "{facts:?}");
    let page = file(&out, "report.html");
    assert!(page.contains("Simulated.") && page.contains("watermark"), "the page says what it is");
    let record = file(&out, "run.json");
    assert!(record.contains("\"simulated\""));
    // What no product shows was asked before the first cell, and stands on the page.
    for rule in ["language", "trap", "mode", "slice", "tail of k", "row distance"] {
        assert!(record.contains(&format!("\"rule\": \"{rule}\"")), "{rule}");
    }
    assert!(page.contains("Rules that no product shows") && page.contains("refused: shape, as expected"));
}

#[test]
#[cfg(not(target_vendor = "apple"))]
fn where_metal_cannot_be_one_message_says_so_and_nothing_is_begun() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let done = rigel().args(["run", "--device", "metal", "--preset", "study", "--out"]).arg(&out).output().unwrap();
    let words = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && words.contains("Metal exists on Apple's systems only"), "{words}");
    assert!(!out.exists(), "nothing was begun");
}

#[test]
fn fused_products_and_single_units_go_through_runs() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("fusion");
    let arguments =
        ["--device", "metal-sim", "--preset", "fusion", "--axis", "shape=64", "--axis", "triple=f16,f16->f32"];
    let output = run(&out, &arguments);
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(&out);
    let gains = facts(&out).into_iter().filter(|[_, _, name, _]| name == "fusion.gain.gelu-tanh").count();
    assert_eq!(gains, 2, "simdgroup_matrix and matmul2d.cooperative");

    let out = dir.path().join("units");
    let filter = ["--filter", "simdgroup_matrix m8n8k8.f16.f16.f32", "--axis", "validation=6000"];
    let arguments = [&["--device", "metal-sim", "--preset", "units"], &filter[..]].concat();
    let output = run(&out, &arguments);
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(&out);
    let cells = file(&out, "cells.csv");
    // Arithmetic, layout, and what is kept of both operands.
    assert_eq!(cells.lines().filter(|line| line.contains(",exact,")).count(), 4, "{cells}");
    // The planted map is the one that others read off the devices.
    assert!(file(&out, "facts.csv").contains("simdgroup_matrix.8x8"), "the layout is a published one");
}

/// A run of one unit of a path: of each cell its probe, its outcome and its whole line.
fn unit(out: &Path, path: &str, name: &str) -> Vec<[String; 3]> {
    let path = format!("path={path}");
    let some = ["--axis", &path, "--filter", name, "--axis", "validation=3000"];
    let output = run(out, &[&["--device", "metal-sim", "--preset", "units"], &some[..]].concat());
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(out);
    let text = file(out, "cells.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let place = |name: &str| headers.iter().position(|h| h == name).unwrap();
    let (probe, outcome) = (place("probe"), place("outcome"));
    let row = |row: csv::StringRecord| {
        [row[probe].to_owned(), row[outcome].to_owned(), row.iter().collect::<Vec<_>>().join(",")]
    };
    reader.records().map(|record| row(record.unwrap())).collect()
}

#[test]
fn units_of_the_hosts_tensors_with_scales_and_of_mixed_types_go_through_runs() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let outcomes = |rows: &[[String; 3]], probe: &str| -> Vec<String> {
        rows.iter().filter(|[p, ..]| p == probe).map(|[_, outcome, _]| outcome.clone()).collect()
    };
    // Arithmetic, and what is made of every code of both operands.
    for (path, name) in [("matmul2d.handle", "m16n32k32.f16.f16.f32"), ("matmul2d", "m16n32k64.mxe4m3.mxe4m3.f32.tr")] {
        let rows = unit(&dir.path().join(name), path, name);
        assert_eq!(outcomes(&rows, "arithmetic"), ["exact"], "{rows:?}");
        assert_eq!(outcomes(&rows, "specials"), ["exact", "exact"], "{rows:?}");
        assert_eq!(outcomes(&rows, "layout").len(), 0, "neither can be reached by registers");
    }
    // Integers beside floating operands: no model takes them, registers and codes are asked all the same.
    let rows = unit(&dir.path().join("mixed"), "matmul2d", "m16n32k32.f16.i8.f32");
    assert_eq!(outcomes(&rows, "arithmetic"), ["absent"], "{rows:?}");
    assert_eq!(outcomes(&rows, "layout"), ["exact"], "{rows:?}");
    assert_eq!(outcomes(&rows, "specials"), ["exact", "exact"], "{rows:?}");
    assert!(rows.iter().any(|[.., line]| line.contains("all be integers or all be floating")), "{rows:?}");
}

#[test]
fn attention_goes_through_runs_and_is_held_against_the_study() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("attention");
    let arguments = ["--device", "metal-sim", "--preset", "attention", "--axis", "shape=64x32x32"];
    let output = run(&out, &arguments);
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(&out);
    let facts = facts(&out);
    let has = |path: &str, name: &str| facts.iter().any(|[p, _, n, _]| p == path && n == name);
    assert!(has("matmul2d.cooperative", "attention.gain") && has("scalar", "attention.over_fused"), "{facts:?}");
    let beside = rigel().arg("report").arg(&out).args(["--published", "rigel-m4max", "--format", "jsonl"]).output();
    let beside = stdout(&beside.unwrap());
    let line = beside.lines().find(|line| line.contains("\"attention\"")).unwrap();
    assert!(line.contains("32×32") && line.contains("the run is simulated"), "{line}");
}

#[test]
fn energy_is_metered_and_a_frozen_channel_is_unavailable() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let some = ["--axis", "shape=64", "--axis", "triple=f16,f16->f32", "--axis", "path=matmul2d"];
    for (device, frozen) in [("metal-sim:26.5", false), ("metal-sim:27.0", true)] {
        let out = dir.path().join(device);
        let output = run(&out, &[&["--device", device, "--preset", "power"], &some[..]].concat());
        assert!(output.status.success(), "{}", stdout(&output));
        both_verifiers_agree(&out);
        let facts = facts(&out);
        let of = |name: &str| facts.iter().find(|[_, _, n, _]| n == name).map(|[.., value]| value.clone());
        // Planted: 5.2 pJ a multiply-add, which is two operations.
        let energy: f64 = of("energy.operation.GPU Energy").unwrap().parse().unwrap();
        assert!((energy / 2.6 - 1.0).abs() < 0.01, "{energy}");
        assert_eq!(of("power.idle.GPU Energy").as_deref(), Some("unavailable"), "it stands at idle, which is not 0 W");
        let cpu = of("power.idle.CPU Energy").map(|watts| watts.parse::<f64>().unwrap());
        assert_eq!(cpu.is_none(), frozen, "{cpu:?}");
        assert!(cpu.is_none_or(|watts| (watts / 3.0 - 1.0).abs() < 0.1), "{cpu:?}");
        assert_eq!(file(&out, "run.json").contains("has not moved for 8 s"), frozen);
        assert_eq!(file(&out, "power.csv").contains("CPU Energy"), !frozen);
    }
}

#[test]
fn presets_that_are_committed_stay_small() {
    if skipped() {
        return;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-runs");
    for preset in ["quick", "paper", "study", "units"] {
        let mut command = rigel();
        command.env("RIGEL_CACHE", &cache).args(["list", "--device", "metal-sim", "--preset", preset]);
        let lines = stdout(&command.args(["--estimate", "--format", "csv"]).output().unwrap());
        let mut blocks = csv::Reader::from_reader(lines.as_bytes());
        let bytes: u64 = blocks.records().map(|block| block.unwrap()[3].parse::<u64>().unwrap()).sum();
        assert!((1..12 << 20).contains(&bytes), "{preset}: {bytes} bytes");
    }
}

#[test]
fn rules_are_asked_and_refusals_are_answers() {
    if skipped() {
        return;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-runs");
    let asked = |device: &str| {
        let mut command = rigel();
        command.env("RIGEL_CACHE", &cache).args(["devices", "--device", device, "--rules", "--format", "csv"]);
        stdout(&command.output().unwrap())
    };
    let plain = asked("metal-sim:26.5");
    assert!(plain.contains("language,4.1,refused: unknown language"), "{plain}");
    assert!(plain.contains("multiply into a cooperative tensor,overwrites"), "{plain}");
    assert!(plain.contains("begins at its origin"), "{plain}");
    // A drawn device answers otherwise: number 17 of the family, whatever is planted there, and says so.
    let drawn = asked("metal-sim:27.0:17");
    assert_ne!(plain, drawn);
    let kinds: Vec<String> = csv::Reader::from_reader(drawn.as_bytes())
        .records()
        .map(|row| row.unwrap().iter().next_back().unwrap_or_default().to_owned())
        .collect();
    assert!(kinds.len() > 60 && kinds.iter().all(|kind| kind == "simulated"), "{drawn}");
}

#[test]
fn block_scaled_operands_go_through_runs_and_older_headers_have_none() {
    if skipped() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let triples = "triple=f16,f16->f32;mxe4m3,mxe4m3->f32;f16,mxe2m1->f32";
    let axes =
        [triples, "path=scalar,simdgroup_matrix,matmul2d,matmul2d.cooperative", "shape=64", "types-shape=9,33x31x65"];
    let axes: Vec<&str> = axes.iter().flat_map(|axis| ["--axis", axis]).collect();
    let out = dir.path().join("27.0");
    let output = run(&out, &[&["--device", "metal-sim", "--preset", "quick"], axes.as_slice()].concat());
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(&out);
    let cells = file(&out, "cells.csv");
    for triple in ["mxe4m3,mxe4m3->f32", "f16,mxe2m1->f32"] {
        let mine: Vec<&str> = cells.lines().filter(|line| line.contains(triple)).collect();
        assert!(mine.len() > 10 && mine.iter().all(|line| line.contains(",right,")), "{triple}: {mine:#?}");
        assert!(mine.iter().any(|line| line.contains(",accumulators,")), "{triple} has a ceiling");
        for path in ["matmul2d", "matmul2d.cooperative"] {
            let is_it = |[p, t, n, _]: &&[String; 4]| p == path && t == triple && n == "verdict.acceleration";
            let facts = facts(&out);
            let [.., word] = facts.iter().find(is_it).unwrap();
            // Planted: narrow operands at 0.94 of half ones, on a plateau of their own.
            assert!(
                ["not accelerated", "same rate", "slower"].iter().any(|w| word.starts_with(w)),
                "{path} {triple}: {word}"
            );
        }
    }
    let out = dir.path().join("26.5");
    let output = run(&out, &[&["types", "--device", "metal-sim:26.5"], axes.as_slice()].concat());
    assert!(output.status.success(), "{}", stdout(&output));
    both_verifiers_agree(&out);
    let cells = file(&out, "cells.csv");
    let mine: Vec<&str> = cells.lines().filter(|line| line.contains("mxe")).collect();
    let said = "this system's header is 26.5; 27.0 is the first that lists these types";
    assert!(!mine.is_empty() && mine.iter().all(|line| line.contains(",absent,") && line.contains(said)), "{mine:#?}");
}
