//! Do single units come out of a run as they were planted, through kills, shards, crashes and hangs, and does nobody edit them?

mod rig;

use rig::{cells, file, rigel, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Units and conversions that are what they seem, on path `well`, and others on path `ill`.
const TRUTH: &str = include_str!("units.toml");

/// The truth in a file, and the arguments that run a part of it.
fn truth(dir: &Path) -> String {
    let path = dir.join("truth.toml");
    std::fs::write(&path, TRUTH).unwrap();
    format!("sim:{}", path.display())
}

fn arguments<'a>(device: &'a str, filter: &'a str) -> Vec<&'a str> {
    vec!["run", "--preset", "units", "--device", device, "--filter", filter, "--axis", "validation=6000"]
}

/// Every record of a run by name, with its bytes.
fn records(run: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in ["models", "layouts", "conversions"] {
        for entry in std::fs::read_dir(run.join(folder)).into_iter().flatten().flatten() {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            found.push((name, std::fs::read(entry.path()).unwrap()));
        }
    }
    found.sort();
    found
}

fn outcomes(run: &Path) -> Vec<(String, String)> {
    let text = file(run, "cells.csv");
    let mut reader = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let mut found = Vec::new();
    for fields in reader.by_ref() {
        // Triples and names may hold commas between quotation marks; outcomes stand alone.
        let known = ["exact", "inexact", "crashed", "hung", "failed", "absent"];
        let outcome = fields.iter().find(|field| known.contains(&field.as_str())).unwrap();
        found.push((fields.join(","), outcome.clone()));
    }
    found
}

fn python_agrees(run: &Path) -> Option<bool> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let output = Command::new("python3").arg(script).arg(run).output().ok()?;
    println!("{}", String::from_utf8_lossy(&output.stdout));
    Some(output.status.success())
}

#[test]
fn planted_units_come_out_exact_and_killed_or_sharded_runs_are_the_undisturbed_one() {
    let dir = tempfile::tempdir().unwrap();
    let device = truth(dir.path());
    let arguments = arguments(&device, "well");
    let [whole, hurt, one, two, joined] = ["whole", "hurt", "one", "two", "joined"].map(|name| dir.path().join(name));
    rigel().args(&arguments).arg("--out").arg(&whole).assert().success();
    let found = outcomes(&whole);
    // Two models, one layout, two operands of each unit, one conversion.
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|(_, outcome)| outcome == "exact"), "{found:?}");
    rigel().arg("verify").arg(&whole).assert().success();
    assert_ne!(python_agrees(&whole), Some(false));
    let facts = file(&whole, "facts.csv");
    assert!(facts.contains("layout.published") && facts.contains("mma.sync.m16n8k32.s8"), "{facts}");
    let page = file(&whole, "report.html");
    assert!(
        page.contains("Simulated.") && page.contains("fma: one") && page.contains("lane 31"),
        "the page tells units"
    );

    for ms in [100, 400, 900, 200, 1500] {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("rigel"));
        child.args(&arguments).arg("--out").arg(&hurt).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(ms));
        let _ = child.kill();
        child.wait().unwrap();
        if hurt.join("MANIFEST").exists() {
            break;
        }
    }
    rigel().args(&arguments).arg("--out").arg(&hurt).assert().success();
    for (shard, out) in [("slice:1/2", &one), ("slice:2/2", &two)] {
        rigel().args(&arguments).args(["--partition", shard, "--out"]).arg(out).assert().success();
    }
    rigel().arg("merge").arg(&joined).args([&two, &one]).assert().success();
    for other in [&hurt, &joined] {
        assert_eq!(cells(&whole), cells(other));
        assert_eq!(records(&whole), records(other));
        assert_eq!(facts, file(other, "facts.csv"));
        rigel().arg("verify").arg(other).assert().success();
    }

    let explained = rigel().arg("explain").arg(&whole).arg("fma").output().unwrap();
    let text = stdout(&explained);
    assert!(text.contains("well/fma: one") && text.contains("arithmetic.deviation.ladder"), "{text}");
    assert!(text.contains("models/fma__one-") && text.contains("96 sampled inputs and outputs"), "{text}");
    let figures = dir.path().join("figures");
    rigel().arg("figures").arg(&whole).arg("--out").arg(&figures).assert().success();
    rigel().arg("figures").arg(&whole).arg("--out").arg(&figures).arg("--check").assert().success();
    let drawn = std::fs::read_dir(&figures).unwrap().count();
    assert_eq!(drawn, 3, "A, B and C of one unit");
    let listed = stdout(&rigel().args(["devices", "--units", "--device", &device]).output().unwrap());
    assert!(listed.contains("integers") && listed.contains("32 lanes of 16, 8 and 4"), "{listed}");

    refuses_edits(&whole, dir.path());
}

/// Both verifiers name a record that was edited.
fn refuses_edits(whole: &Path, dir: &Path) {
    let edits: [(&str, &str, &str); 6] = [
        ("models/fma", "\"nearest_even\"", "\"toward_zero\""),
        ("models/integers", "\"wrap\"", "\"saturate\""),
        ("models/fma", "\"mismatches\": 0", "\"mismatches\": 1"),
        ("models/fma", "\"bound\": ", "\"bound\": 1"),
        ("conversions/well", "\"overflow\": \"saturate\"", "\"overflow\": \"ieee\""),
        ("layouts/integers", "a,0,1,0,1", "a,0,1,0,2"),
    ];
    for (number, (start, from, to)) in edits.into_iter().enumerate() {
        let records = records(whole);
        let ending = if from.starts_with("a,") { ".csv" } else { ".json" };
        let (name, bytes) = records.iter().find(|(name, _)| name.starts_with(start) && name.ends_with(ending)).unwrap();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{name} has no {from}");
        let copy = dir.join(format!("edited-{number}"));
        copy_run(whole, &copy);
        std::fs::write(copy.join(name), edited).unwrap();
        let said = stdout(&rigel().arg("verify").arg(&copy).assert().code(1).get_output().clone());
        assert!(said.contains(name.rsplit('/').next().unwrap()), "{said}");
        assert_ne!(python_agrees(&copy), Some(true), "{name}");
    }
}

fn copy_run(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_run(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn units_that_crash_hang_refuse_or_dice_end_as_rows_with_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let (device, out) = (truth(dir.path()), dir.path().join("ill"));
    let mut arguments = arguments(&device, "ill");
    arguments.splice(1..1, ["arithmetic"]);
    rigel().args(&arguments).args(["--timeout", "6", "--out"]).arg(&out).assert().success();
    let found = outcomes(&out);
    let ended = |name: &str| {
        let row = found.iter().find(|(line, _)| line.contains(&format!("arithmetic/ill/{name},"))).unwrap();
        (row.1.clone(), row.0.clone())
    };
    assert_eq!(ended("chance").0, "inexact");
    assert!(ended("chance").1.contains("different bits when it is repeated"), "{:?}", ended("chance"));
    assert_eq!(ended("crash").0, "crashed");
    assert_eq!(ended("hang").0, "hung");
    assert!(ended("hang").1.contains("while the unit was asked"), "{:?}", ended("hang"));
    assert_eq!(ended("refuses").0, "failed");
    assert!(ended("refuses").1.contains("not legal here"));
    assert_eq!(ended("elsewhere").0, "absent");
    rigel().arg("verify").arg(&out).assert().success();
    assert_ne!(python_agrees(&out), Some(false));
    let page = file(&out, "report.html");
    assert!(page.contains("Two answers") && page.contains("Asked without an answer"), "the page tells reasons");
}

#[test]
fn a_conversion_with_a_wrong_code_is_named_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (device, out) = (truth(dir.path()), dir.path().join("conversions"));
    let mut arguments = arguments(&device, "conversions e5m2");
    arguments.splice(1..1, ["specials"]);
    rigel().args(&arguments).arg("--out").arg(&out).assert().success();
    let facts = file(&out, "facts.csv");
    assert!(facts.contains("conversion,inexact") && facts.contains("3c gives"), "{facts}");
    rigel().arg("verify").arg(&out).assert().success();
    assert_ne!(python_agrees(&out), Some(false));
}
