//! Are planted rules of addresses, and a list of toolchains that lies, recovered by whole runs that both verifiers accept?

mod rig;

use rig::{file, rigel, stderr, stdout};
use std::path::Path;
use std::process::Command;

fn python_agrees(run: &Path) -> Option<bool> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    let said = Command::new("python3").arg(script).arg(run).output().ok()?;
    println!("{}", String::from_utf8_lossy(&said.stdout));
    Some(said.status.success())
}

fn both_agree(run: &Path) {
    rigel().arg("verify").arg(run).assert().success();
    assert_ne!(python_agrees(run), Some(false));
}

fn both_refuse(run: &Path) {
    rigel().arg("verify").arg(run).assert().failure();
    assert_ne!(python_agrees(run), Some(true));
}

/// Value and words of a fact of a path and triple.
fn fact(run: &Path, path: &str, triple: &str, name: &str) -> (String, String) {
    let text = file(run, "facts.csv");
    let found = text
        .lines()
        .find(|line| line.contains(&format!(",{path},\"{triple}\",")) && line.contains(&format!(",{name},")));
    let line = found.unwrap_or_else(|| panic!("no fact {name} of {path} {triple} in\n{text}"));
    let behind = line.split_once(&format!(",{name},")).unwrap().1;
    let fields: Vec<&str> = behind.splitn(5, ',').collect();
    (fields[0].to_owned(), fields[4].to_owned())
}

const F16: &str = "f16,f16->f32";
const E4M3: &str = "e4m3,e4m3->f32";

#[test]
fn planted_rules_of_addresses_are_recovered_and_rows_cannot_be_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let asked = ["run", "alignment", "--device", "sim:placed", "--preset", "alignment", "--axis", "shape=64"];
    let done = rigel().args(asked).args(["--axis", "offset=0,1,2,4,8,16", "--out"]).arg(&run).output().unwrap();
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    both_agree(&run);
    let word = |path: &str, triple: &str, place: &str| fact(&run, path, triple, &format!("alignment.{place}"));
    // Everything is taken; what is not on 16 bytes, or rows a page apart, costs half as much again.
    for (place, expected) in [
        ("32x32@0/*256", "fine"),
        ("32x32@16/+16", "fine"),
        ("32x32@2/*256", "slow"),
        ("32x32@0/+8", "slow"),
        ("32x32@0/*4096", "slow"),
    ] {
        let (word, words) = word("tiled", F16, place);
        assert_eq!(word, expected, "{place}: {words}");
    }
    let ratio: f64 = fact(&run, "tiled", F16, "alignment.ratio.32x32@2/*256").0.parse().unwrap();
    assert!((ratio - 1.5).abs() < 0.02, "{ratio}");
    assert_eq!(fact(&run, "tiled", F16, "alignment.offset.32x32").0, "1");
    // The compiler refuses, in its own words.
    let (refused, words) = word("engine", F16, "64x64@8/*256");
    assert_eq!(refused, "refused");
    assert!(words.contains("base address 0x...8 is not a multiple of 16"), "{words}");
    assert_eq!(fact(&run, "engine", F16, "alignment.offset.64x64").0, "16");
    assert_eq!(fact(&run, "engine", F16, "alignment.stride.64x64").0, "16");
    // Nobody says so, and the gate sees it.
    assert_eq!(word("engine", E4M3, "64x64@2/*256").0, "wrong");
    assert_eq!(word("engine", E4M3, "64x64@16/+8").0, "fine");
    assert_eq!(fact(&run, "engine", E4M3, "alignment.offset.64x64").0, "4");
    // A kernel that ends the process is a row, and so is every placement behind it.
    let (refused, words) = word("loads", F16, "16x16@2/+16");
    assert!(refused == "refused" && words.contains("misaligned address, at the first load"), "{words}");
    assert_eq!(word("loads", F16, "16x16@16/*4096").0, "fine");
    assert_eq!(fact(&run, "loads", F16, "alignment.offset.16x16").0, "8");
    // The faces tell it.
    let said = stdout(&done);
    assert!(said.contains("Addresses of operands") && said.contains("row distance, B"), "{said}");
    let page = file(&run, "report.html");
    assert!(page.contains("id=\"alignment\"") && page.contains("offset 16 B"));
    // A placement that is gone is missed, and one that nobody asked for is a stranger.
    let cells = file(&run, "cells.csv");
    let fewer: String =
        cells.lines().filter(|line| !line.contains("64x64@16/+8,")).map(|line| format!("{line}\n")).collect();
    std::fs::write(run.join("cells.csv"), fewer).unwrap();
    both_refuse(&run);
    std::fs::write(run.join("cells.csv"), cells.replace("@16/+8,", "@16/+9,")).unwrap();
    both_refuse(&run);
}

#[test]
fn a_list_of_toolchains_that_lies_is_found_and_bits_that_depend_on_one() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let asked = ["run", "--preset", "versions", "--device", "sim:placed", "--out"];
    let done = rigel().args(asked).arg(&run).output().unwrap();
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    both_agree(&run);
    let said = |path: &str, triple: &str, name: &str| fact(&run, path, triple, &format!("version.{name}"));
    assert_eq!(said("tiled", F16, "placedc-2.0:any").0, "accepted");
    assert!(said("tiled", F16, "placedc-2.0:any").1.contains("placedc 2.0 for any"));
    let (value, words) = said("engine", F16, "placedc-3.0:any");
    assert!(value == "refused: load" && words.contains("no such language here") && words.contains("pipeline creation"));
    let (value, words) = said("engine", F16, "placedc-2.0:next");
    assert!(value == "refused: compile" && words.contains("the compiler knows no such target"), "{value}: {words}");
    assert_eq!(said("engine", F16, "bits").0, "same");
    let (value, words) = said("engine", E4M3, "bits");
    assert!(value == "differ" && words.contains("by placedc-0.9:any"), "{value}: {words}");
    assert!(stdout(&done).contains("Output bits by toolchain") && stdout(&done).contains("refused: load"));
    // An output that was edited, and a digest that was, are seen by both.
    let witness = file(&run, "witness.csv");
    let line = witness.lines().nth(1).unwrap();
    let (head, code) = line.rsplit_once(',').unwrap();
    let other = if code.ends_with('0') { "1" } else { "0" };
    let edited = format!("{head},{}{other}", &code[..code.len() - 1]);
    std::fs::write(run.join("witness.csv"), witness.replacen(line, &edited, 1)).unwrap();
    both_refuse(&run);
    std::fs::write(run.join("witness.csv"), &witness).unwrap();
    let cells = file(&run, "cells.csv");
    let at = cells.find("; output ").unwrap() + "; output ".len();
    let mut changed = cells.clone();
    changed.replace_range(at..at + 1, if &cells[at..at + 1] == "0" { "1" } else { "0" });
    std::fs::write(run.join("cells.csv"), changed).unwrap();
    both_refuse(&run);
}

#[test]
fn the_processor_takes_every_address_and_says_by_what_it_was_compiled() {
    let dir = tempfile::tempdir().unwrap();
    let (placed, versions) = (dir.path().join("placed"), dir.path().join("versions"));
    let asked =
        ["run", "--preset", "alignment", "--device", "cpu", "--filter", "tiled f16", "--axis", "shape=33x40x64"];
    let done = rigel()
        .args(asked)
        .args(["--axis", "offset=0,1,64", "--axis", "stride=*128,+2,+1", "--out"])
        .arg(&placed)
        .output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    both_agree(&placed);
    let facts = file(&placed, "facts.csv");
    let refused: Vec<&str> = facts.lines().filter(|line| line.contains(",refused,")).collect();
    assert!(
        refused.len() == 3
            && refused.iter().all(|line| line.contains("/+1,refused") && line.contains("counts elements of f16")),
        "{facts}"
    );
    assert!(!facts.contains(",wrong,"), "{facts}");
    assert_eq!(fact(&placed, "tiled", F16, "alignment.offset.mc112kc2048nc256").0, "1");
    let asked = ["run", "--preset", "versions", "--device", "cpu", "--out"];
    let done = rigel().args(asked).arg(&versions).output().unwrap();
    assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
    both_agree(&versions);
    let facts = file(&versions, "facts.csv");
    let told = facts.lines().filter(|line| line.contains(",version.rustc-")).count();
    let accepted = facts.lines().filter(|line| line.contains(",accepted,") && line.contains("compiled in: ")).count();
    let refused =
        facts.lines().filter(|line| line.contains(",refused: load,") && line.contains("does not offer")).count();
    assert!(told > 0 && accepted > 0 && accepted + refused == told, "{facts}");
}

#[test]
fn bad_axes_are_refused_with_what_is_allowed() {
    for (axis, words) in [
        ("offset=1,2", "begins with 0"),
        ("offset=0,5000", "0 to 4095"),
        ("stride=16", "+N"),
        ("version-shape=64x64x16", "1024 elements"),
    ] {
        let probe = if axis.starts_with("version") { "versions" } else { "alignment" };
        let asked = ["run", "--preset", probe, "--device", "sim:placed", "--dry-run", "--axis", axis];
        let output = rigel().args(asked).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{axis}");
        assert!(stderr(&output).contains(words), "{axis}: {}", stderr(&output));
    }
}
