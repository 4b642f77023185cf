//! What does the tool make of Xcodes that are not here: of programs in their place, with texts as the real ones say them?
#![cfg(unix)]

mod rig;

use rig::{file, rigel, stderr, stdout};
use rigel_device::metal::metallib::built;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Copies the library that the developer folder has for a combination, or says what it has to say.
const XCRUN: &str = r#"#!/bin/sh
if [ -f "$DEVELOPER_DIR/hangs" ]; then exec sleep 86399; fi
case "$*" in
  *xcodebuild*) cat "$DEVELOPER_DIR/version"; exit 0;;
  *--version*) cat "$DEVELOPER_DIR/compiler" 2>/dev/null || { echo 'xcrun: error: unable to find utility "metal", not a developer tool or in PATH' >&2; exit 72; }; exit 0;;
esac
for word in "$@"; do
  case "$word" in
    -std=*) language="${word#-std=}";;
    -mmacosx-version-min=*) system="${word#-mmacosx-version-min=}";;
    *.metallib) out="$word";;
    *.metal) grep -q __METAL_VERSION__ "$word" || exit 99;;
  esac
done
if [ -f "$DEVELOPER_DIR/$language-$system" ]; then cp "$DEVELOPER_DIR/$language-$system" "$out"; exit 0; fi
if [ -f "$DEVELOPER_DIR/words" ]; then cat "$DEVELOPER_DIR/words" >&2; exit 1; fi
echo "error: invalid value '$language' in '-std=$language'" >&2
exit 1
"#;

struct Mac {
    dir: tempfile::TempDir,
}

impl Mac {
    fn new() -> Mac {
        let dir = tempfile::tempdir().unwrap();
        let xcrun = dir.path().join("xcrun");
        fs::write(&xcrun, XCRUN).unwrap();
        fs::set_permissions(&xcrun, fs::Permissions::from_mode(0o755)).unwrap();
        Mac { dir }
    }

    /// An Xcode with a version and, for some combinations, libraries.
    fn xcode(&self, name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let app = self.dir.path().join(format!("{name}.app"));
        let folder = app.join("Contents/Developer");
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(file, bytes)| fs::write(folder.join(file), bytes).unwrap());
        app
    }

    fn emit(&self, xcodes: &[&Path], out: &Path) -> std::process::Output {
        let mut command = rigel();
        command.args(["emit", "metallibs", "--xcrun"]).arg(self.dir.path().join("xcrun"));
        for xcode in xcodes {
            command.arg("--xcode").arg(xcode);
        }
        command.arg("--out").arg(out).output().unwrap()
    }
}

/// Rows of the table: language, oldest system, outcome, library and words.
fn rows(out: &Path) -> Vec<[String; 6]> {
    let text = file(out, "metallibs.csv");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let places = ["xcode", "language", "minimum_os", "outcome", "library_language", "words"]
        .map(|name| headers.iter().position(|h| h == name).unwrap());
    reader.records().map(|row| row.map(|row| places.map(|place| row[place].to_owned())).unwrap()).collect()
}

#[test]
fn every_xcode_is_tried_in_every_combination_and_refusals_are_kept_word_for_word() {
    let mac = Mac::new();
    let (old, new) = (built((26, 0), "versions", (4, 0)), built((27, 0), "versions", (4, 1)));
    let older = mac.xcode(
        "Xcode-26.5",
        &[
            ("version", b"Xcode 26.5\nBuild version 17F"),
            ("compiler", b"Apple metal version 32023.883"),
            ("metal4.0-26.0", &old),
        ],
    );
    let newer = mac.xcode(
        "Xcode-27",
        &[
            ("version", b"Xcode 27.0"),
            ("compiler", b"Apple metal version 32023.921"),
            ("metal4.1-27.0", &new),
            ("metal4.0-26.0", &old),
        ],
    );
    let bare = mac.xcode("Xcode-bare", &[("version", b"Xcode 26.0"), ("words", b"error: cannot execute tool 'metal' due to missing Metal Toolchain; use: xcodebuild -downloadComponent MetalToolchain")]);
    let out = mac.dir.path().join("libraries");
    let output = mac.emit(&[&older, &newer, &bare], &out);
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = rows(&out);
    assert_eq!(rows.len(), 3 * 4 * 5, "three Xcodes, four languages, five systems");
    let of = |xcode: &str, language: &str, os: &str| {
        rows.iter().find(|row| row[0] == xcode && row[1] == language && row[2] == os).unwrap().clone()
    };
    assert_eq!(of("Xcode 27.0", "4.1", "27.0")[3..5], ["made", "4.1"]);
    let refused = of("Xcode 26.5", "4.1", "27.0");
    assert_eq!(refused[3], "refused: unknown language");
    assert_eq!(refused[5], "error: invalid value 'metal4.1' in '-std=metal4.1'");
    assert_eq!(of("Xcode 26.0", "4.0", "26.0")[3], "refused: no toolchain");
    assert!(stdout(&output).contains("library of language 4.1 for 27.0"), "{}", stdout(&output));

    // What the study contradicts: a library of the newer language does not load on the older system.
    let library = |number: usize, language: &str, os: &str| {
        out.join(format!("xcode{number}-metal{language}-macos{os}.metallib")).display().to_string()
    };
    let (new, old) = (library(2, "4.1", "27.0"), library(1, "4.0", "26.0"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-runs");
    let asked = |device: &str| {
        let mut command = rigel();
        command.env("RIGEL_CACHE", &cache).args([
            "devices",
            "--device",
            device,
            "--format",
            "csv",
            "--rules",
            "--libraries",
            &new,
            &old,
        ]);
        command.output().unwrap()
    };
    let before = asked("metal-sim:26.5");
    if stderr(&before).contains("needs clang") {
        println!("skipped: no clang++ of version 19 or newer");
        return;
    }
    let line = |output: &std::process::Output, file: &str| {
        let text = stdout(output);
        text.lines()
            .find(|line| line.contains(file))
            .unwrap_or_else(|| panic!("{file}: {text}{}", stderr(output)))
            .to_owned()
    };
    assert!(line(&before, &new).contains("refused: language not on this system"), "{}", line(&before, &new));
    assert!(line(&before, &new).contains("language version 4.1 is not supported on this OS"));
    assert!(line(&before, &old).contains("__METAL_VERSION__ 400"), "{}", line(&before, &old));
    let after = asked("metal-sim:27.0");
    assert!(line(&after, &new).contains("__METAL_VERSION__ 410"), "{}", line(&after, &new));
    // In a run they are rows, of libraries and of the Xcodes that made them, and answer two of the study's findings.
    let torn = mac.dir.path().join("torn.metallib");
    fs::write(&torn, &built((27, 0), "versions", (4, 1))[..60]).unwrap();
    let run = mac.dir.path().join("run");
    let mut command = rigel();
    command.env("RIGEL_CACHE", &cache).args(["run", "types", "--device", "metal-sim:26.5"]);
    let axes = ["triple=f16,f16->f32", "path=scalar", "types-shape=9"];
    for axis in axes {
        command.args(["--axis", axis]);
    }
    let done = command.arg("--out").arg(&run).args(["--libraries", &new, &old]).arg(&torn).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let record: serde_json::Value = serde_json::from_str(&file(&run, "run.json")).unwrap();
    let rules = record["device"]["rules"].as_array().unwrap();
    let of = |rule: &str| rules.iter().filter(|r| r["rule"] == rule).collect::<Vec<_>>();
    assert_eq!((of("toolchain").len(), of("library").len()), (3 * 4 * 5, 3));
    let has = |rule: &str, asked: &str, answer: &str| {
        let said = |r: &&serde_json::Value, key: &str, words: &str| r[key].as_str().unwrap().contains(words);
        assert!(
            of(rule).iter().any(|r| said(r, "asked", asked) && said(r, "answer", answer)),
            "{rule}, {asked}: {rules:?}"
        );
    };
    has("library", "language 4.1, oldest system 27.0", "refused: language not on this system");
    has("library", "torn.metallib, which does not read", "refused");
    has("toolchain", "Xcode 27.0, language 4.1, for 27.0", "library of language 4.1 for 27.0");
    has("toolchain", "Xcode 26.5, language 4.1, for 27.0", "refused: unknown language");
    rigel().arg("verify").arg(&run).assert().success();
    let beside = rigel().arg("report").arg(&run).args(["--published", "rigel-m4max", "--format", "jsonl"]).output();
    let beside = stdout(&beside.unwrap());
    let line = |key: &str| beside.lines().find(|line| line.contains(&format!("\"key\":\"{key}\""))).unwrap();
    assert!(line("xcode").contains("what is planted would agree"), "{}", line("xcode"));
    assert!(line("6").contains("does not know 4.1") && line("6").contains("reconstruction"), "{}", line("6"));
    assert!(line("7").contains("language not on this system"), "{}", line("7"));
    let late = rigel().args(["run", "types", "--device", "cpu", "--libraries", &new]).output().unwrap();
    assert_eq!(late.status.code(), Some(2), "{}", stderr(&late));

    // Words of compilers have several lines.
    let text = stdout(&after);
    let kinds: Vec<String> = csv::Reader::from_reader(text.as_bytes())
        .records()
        .map(|row| row.unwrap().iter().next_back().unwrap().to_owned())
        .collect();
    assert!(kinds.len() > 6 && kinds.iter().all(|kind| kind == "simulated"), "{text}");
}

#[test]
fn an_xcode_whose_tools_hang_is_asked_once_and_the_others_are_tried() {
    let mac = Mac::new();
    let library = built((26, 0), "versions", (4, 0));
    let fine = mac.xcode("Xcode-26.5", &[("version", b"Xcode 26.5"), ("metal4.0-26.0", &library)]);
    let hung = mac.xcode("Xcode-hung", &[("version", b"Xcode 26.1"), ("hangs", b"")]);
    let out = mac.dir.path().join("libraries");
    let output = mac.emit(&[&fine, &hung], &out);
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = rows(&out);
    let (said, made): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row[0].is_empty());
    assert_eq!((said.len(), made.len()), (20, 20), "{rows:?}");
    assert!(
        said.iter().all(|row| row[3] == "refused: other" && row[5].contains("has not ended within 20 s")),
        "{said:?}"
    );
    assert_eq!(made.iter().filter(|row| row[3] == "made").count(), 1);
}

#[test]
fn without_an_xcode_it_says_what_to_do() {
    let mac = Mac::new();
    let out = mac.dir.path().join("libraries");
    let output = rigel().args(["emit", "metallibs", "--out"]).arg(&out).env_remove("DEVELOPER_DIR").output().unwrap();
    if !Path::new("/Applications").exists() {
        assert_eq!(output.status.code(), Some(3));
        assert!(stderr(&output).contains("--xcode"), "{}", stderr(&output));
        assert!(!out.exists());
    }
    // A program that is not there is a refusal of every combination, not the end.
    let app = mac.xcode("Xcode-none", &[]);
    let mut command = rigel();
    command.args(["emit", "metallibs", "--xcrun", "/no/such/xcrun", "--xcode"]).arg(&app).arg("--out").arg(&out);
    assert!(command.output().unwrap().status.success());
    assert!(rows(&out).iter().all(|row| row[3] == "refused: no toolchain" && row[5].contains("/no/such/xcrun")));
}
