//! Do planted gains of an epilogue and planted energies come out of a run, and do both verifiers find what was edited?

mod rig;

use rig::{file, rigel, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;

fn python_agrees(run: &Path) -> Option<bool> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let output = Command::new("python3").arg(script).arg(run).output().ok()?;
    println!("{}", String::from_utf8_lossy(&output.stdout));
    Some(output.status.success())
}

/// Value, low and high of a fact, and its words.
fn fact(run: &Path, starts: &str, name: &str) -> (f64, f64, f64, String) {
    let text = file(run, "facts.csv");
    let found = text.lines().find(|line| line.starts_with(starts) && line.contains(&format!(",{name},")));
    let line = found.unwrap_or_else(|| panic!("no fact {name} of {starts} in\n{text}"));
    let behind = line.split_once(&format!(",{name},")).unwrap().1;
    let fields: Vec<&str> = behind.splitn(5, ',').collect();
    let number = |i: usize| fields[i].parse().unwrap_or(f64::NAN);
    (number(0), number(2), number(3), fields[4].to_owned())
}

/// A plan of the probe `fusion` on two shapes.
fn fusion(device: &str, out: &Path) -> std::process::Output {
    let arguments = ["run", "--preset", "fusion", "--device", device, "--filter", "matmul2d f16"];
    rigel().args(arguments).args(["--axis", "shape=64,96x96x40", "--out"]).arg(out).output().unwrap()
}

#[test]
fn a_planted_gain_is_recovered_and_both_verifiers_agree() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let output = fusion("sim:plain", &run);
    assert!(output.status.success(), "{}{}", stdout(&output), String::from_utf8_lossy(&output.stderr));
    rigel().arg("verify").arg(&run).assert().success();
    assert_ne!(python_agrees(&run), Some(false));
    // Planted: 2 us of launch, a pass over C at 2e11 elements a second, of which a fused epilogue costs a tenth.
    let (m, n) = (64.0, 64.0);
    let pass = m * n / 2e11;
    let fused = fact(&run, "fusion,matmul2d,\"f16,f16->f32\",64x64x64", "fusion.time.fused-tanh").0 * 1e-6;
    let planted = (fused + 2e-6 + 0.9 * pass) / fused;
    for activation in ["gelu-tanh", "gelu-erf"] {
        let name = format!("fusion.gain.{activation}");
        let (gain, low, high, words) = fact(&run, "fusion,matmul2d,\"f16,f16->f32\",64x64x64", &name);
        assert!((gain / planted - 1.0).abs() < 0.05, "{gain} for {planted}");
        assert!(low <= gain && gain <= high && low > 1.1, "[{low}, {high}]");
        assert!(words.contains("win: over matmul2d decomposed"), "{words}");
    }
    let page = file(&run, "report.html");
    assert!(page.contains("<h2>Epilogues</h2>") && page.contains("gelu-erf"), "the page tells no gains");
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
fn a_fused_kernel_that_forgets_its_bias_is_wrong_and_gains_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let truth = include_str!("../crates/device/src/sim/truths/plain.toml");
    let path = dir.path().join("truth.toml");
    let epilogue = "epilogue = { pass_rate = 2e11, fused_share = 0.1";
    assert!(truth.contains(epilogue));
    std::fs::write(&path, truth.replace(epilogue, &format!("{epilogue}, forgets_bias = true"))).unwrap();
    let run = dir.path().join("run");
    fusion(&format!("sim:{}", path.display()), &run);
    rigel().arg("verify").arg(&run).assert().success();
    assert_ne!(python_agrees(&run), Some(false));
    let cells = file(&run, "cells.csv");
    let of = |work: &str| cells.lines().filter(|line| line.contains(&format!(",fusion,{work},"))).collect::<Vec<_>>();
    assert!(!of("fused-tanh").is_empty() && !of("decomposed-tanh").is_empty(), "{cells}");
    let wrong = |line: &&str| line.contains(",wrong,") || line.contains(",absent,");
    assert!(of("fused-tanh").iter().all(wrong), "{cells}");
    assert!(of("decomposed-erf").iter().all(|line| line.contains(",right,")), "{cells}");
    assert!(!file(&run, "facts.csv").contains("fusion.gain"));
}

#[test]
fn a_planted_energy_is_recovered_by_path_and_type() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let arguments = ["run", "--preset", "power", "--device", "sim:plain", "--filter", "matmul2d f16"];
    rigel().args(arguments).args(["--axis", "shape=64", "--out"]).arg(&run).assert().success();
    rigel().arg("verify").arg(&run).assert().success();
    assert_ne!(python_agrees(&run), Some(false));
    let (idle, ..) = fact(&run, "power,", "power.idle.board");
    assert!((idle - 20.0).abs() < 0.5, "{idle}");
    // Planted: 100 W above idle while the device computes at 4.05e12 operations a second.
    let (ceiling, low, high, words) = fact(&run, "power,matmul2d,\"f16,f16->f32\",,", "energy.operation.board");
    assert!((ceiling / (100.0 / 4.05e12 * 1e12) - 1.0).abs() < 0.05, "{ceiling} pJ");
    assert!(
        low <= ceiling * 1.01 && ceiling <= high * 1.01 && words.contains("20.0 W of idling subtracted"),
        "{words}"
    );
    let (zeros, ..) = fact(&run, "power,matmul2d,\"f16,f16->f32\",64x64x64,zeros", "energy.zeros.board");
    assert!((zeros - 1.0).abs() < 0.05, "{zeros}");
    // The planted counter updates every 10 ms of virtual time.
    let (period, ..) = fact(&run, "power,", "meter.period.board");
    assert!((period - 10.0).abs() < 1.0, "{period} ms");
}
