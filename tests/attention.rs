//! Do planted times of attention come out of a run, and do both verifiers compute its outputs again?

mod rig;

use rig::{file, rigel, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn python_agrees(run: &Path) -> Option<bool> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let output = Command::new("python3").arg(script).arg(run).output().ok()?;
    println!("{}", String::from_utf8_lossy(&output.stdout));
    Some(output.status.success())
}

/// Value and words of a fact.
fn fact(run: &Path, starts: &str, name: &str) -> (f64, String) {
    let text = file(run, "facts.csv");
    let found = text.lines().find(|line| line.starts_with(starts) && line.contains(&format!(",{name},")));
    let line = found.unwrap_or_else(|| panic!("no fact {name} of {starts} in\n{text}"));
    let behind = line.split_once(&format!(",{name},")).unwrap().1;
    let fields: Vec<&str> = behind.splitn(5, ',').collect();
    (fields[0].parse().unwrap(), fields[4].to_owned())
}

fn attention(device: &str, out: &Path) -> Output {
    let arguments = ["run", "--preset", "attention", "--device", device, "--axis", "shape=128x16x32,96x8x48", "--out"];
    rigel().args(arguments).arg(out).output().unwrap()
}

#[test]
fn planted_times_are_recovered_and_both_verifiers_agree() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let output = attention("sim:plain", &run);
    assert!(output.status.success(), "{}{}", stdout(&output), String::from_utf8_lossy(&output.stderr));
    rigel().arg("verify").arg(&run).assert().success();
    assert_ne!(python_agrees(&run), Some(false));
    // Planted on matmul2d: 2 us of launch, a pass over scores at 2e11 a second, of which a fused kernel pays a tenth. Each decomposed
    // attention has three launches, each fused one has one.
    let on = |path: &str| format!("attention,{path},\"f16,f16->f32\",128x16x32");
    let time = |path: &str, work: &str| fact(&run, &on(path), &format!("attention.time.{work}-attention")).0 * 1e-6;
    let (fused, decomposed) = (time("matmul2d", "fused"), time("matmul2d", "decomposed"));
    let pass = 128.0 * 32.0 / 2e11;
    assert!((decomposed - fused - (4e-6 + 0.9 * pass)).abs() < 0.05 * fused, "{decomposed} {fused}");
    let (gain, words) = fact(&run, &on("matmul2d"), "attention.gain");
    assert!((gain / (decomposed / fused) - 1.0).abs() < 0.02 && words.contains("win: over matmul2d"), "{gain} {words}");
    // Without the matrix unit it loses: a path of slower products that has nothing but the fused form.
    let (over, words) = fact(&run, &on("tiled"), "attention.over_fused");
    assert!((over / (fused / time("tiled", "fused")) - 1.0).abs() < 0.02, "{over}");
    assert!(over < 1.0 && words.contains("no gain: over matmul2d fused"), "{words}");
    let page = file(&run, "report.html");
    assert!(page.contains("<h2>Attention</h2>") && page.contains("128x16x32"), "the page tells no attention");
    // An output that was edited is seen by both.
    let witness = run.join("witness.csv");
    let text = std::fs::read_to_string(&witness).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let (head, _) = lines[1].rsplit_once(',').unwrap();
    let edited = format!("{head},40490fdb");
    lines[1] = &edited;
    std::fs::write(&witness, lines.join("\n") + "\n").unwrap();
    rigel().arg("verify").arg(&run).assert().failure();
    assert_ne!(python_agrees(&run), Some(true));
}

#[test]
fn a_kernel_that_forgets_the_scale_of_its_scores_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let truth = include_str!("../crates/device/src/sim/truths/plain.toml");
    let planted = truth.replace(
        "fused_share = 0.1, fused_only = true }",
        "fused_share = 0.1, fused_only = true, forgets_scale = true }",
    );
    assert_ne!(truth, planted);
    let path = dir.path().join("truth.toml");
    std::fs::write(&path, planted).unwrap();
    let run = dir.path().join("run");
    attention(&format!("sim:{}", path.display()), &run);
    rigel().arg("verify").arg(&run).assert().success();
    assert_ne!(python_agrees(&run), Some(false));
    let cells = file(&run, "cells.csv");
    let of =
        |path: &str| cells.lines().filter(|line| line.contains(&format!("-attention,{path},"))).collect::<Vec<_>>();
    let (tiled, matrix) = (of("tiled"), of("matmul2d"));
    assert!(
        !tiled.is_empty() && tiled.iter().all(|line| line.contains(",wrong,") || line.contains(",absent,")),
        "{cells}"
    );
    assert!(!matrix.is_empty() && matrix.iter().all(|line| line.contains(",right,")), "{cells}");
}

#[test]
fn shapes_that_are_no_whole_heads_are_refused_with_what_is_allowed() {
    let arguments = ["run", "--preset", "attention", "--device", "sim:plain", "--axis", "shape=100x16x32", "--dry-run"];
    let output = rigel().args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("M a multiple of K"), "{said}");
}
