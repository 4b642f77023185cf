//! Do models and layouts leave by the command line, and are they found, compared and bounded there?

mod rig;

use rig::{rigel, stderr, stdout};
use std::process::Output;

fn ran(arguments: &[&str]) -> Output {
    rigel().args(arguments).output().unwrap()
}

fn code(arguments: &[&str]) -> Option<i32> {
    ran(arguments).status.code()
}

#[test]
fn models_are_listed_named_by_words_and_written() {
    let listed = stdout(&ran(&["emit", "model"]));
    assert!(listed.contains("vdpbf16ps") && listed.contains("hopper wgmma f16 to f32"));
    let json = ran(&["emit", "model", "vdpbf16ps"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("model.json");
    std::fs::write(&file, &json.stdout).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(ran(&["emit", "model", file]).stdout, json.stdout, "what was written is read back");
    let python = stdout(&ran(&["emit", "model", file, "--as", "python", "--most-k", "64"]));
    assert!(python.contains("MOST_K = 64") && python.contains(&format!("Source: file {file}")), "{python}");
    assert_eq!(code(&["compare", "vdpbf16ps", file]), Some(0));
}

#[test]
fn what_is_no_model_is_said_plainly() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let says = |arguments: &[&str], words: &str| {
        let output = ran(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    };
    says(&["emit", "model", "no such unit"], "`rigel emit model` lists the models");
    says(&["emit", "model", "hopper"], "name one");
    says(&["emit", "model", "vdpbf16ps", "--as", "fortran"], "known: json rust c python");
    says(&["emit", "model", "vdpbf16ps", "--as", "c", "--most-k", "0"], "try another --most-k");
    says(&["emit", "model", &write("text.json", b"no json")], "no JSON");
    says(&["emit", "model", &write("bytes.json", &[0xff, 0xfe])], "UTF-8");
    let model = stdout(&ran(&["emit", "model", "vdpbf16ps"]));
    says(
        &["emit", "model", &write("more.json", model.replacen('{', "{\"more\": 1,", 1).as_bytes())],
        "unknown field `more`",
    );
    says(&["emit", "model", &write("k.json", model.replace("\"k\": 2", "\"k\": 0").as_bytes())], "k is 0");
    let large = dir.path().join("large.json");
    std::fs::File::create(&large).unwrap().set_len(1 << 34).unwrap();
    says(&["emit", "model", large.to_str().unwrap()], "longer than 16777216 bytes");
    says(&["emit", "model", dir.path().to_str().unwrap()], "without recovered models");
    says(&["emit", "layout", "no such layout"], "`rigel emit layout` lists the layouts");
    says(&["emit", "layout", &write("layout.csv", b"lane,slot\n")], "line 1");
}

#[test]
fn layouts_are_written_by_name_and_by_file() {
    assert!(stdout(&ran(&["emit", "layout"])).contains("mma.sync.m16n8k16.f16"));
    let csv = ran(&["emit", "layout", "mma.sync.m16n8k16.f16"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("unit.csv");
    std::fs::write(&file, &csv.stdout).unwrap();
    let file = file.to_str().unwrap();
    for target in ["msl", "cuda", "rust", "csv", "cute", "f2"] {
        let named = ran(&["emit", "layout", "mma.sync.m16n8k16.f16", "--as", target, "--function", "unit"]);
        assert_eq!(named.stdout, ran(&["emit", "layout", file, "--as", target]).stdout, "{target}");
    }
    let one = stdout(&ran(&["emit", "layout", "wgmma.m64n24.c", "--as", "cute"]));
    assert!(one.starts_with("C ((4,8,4),(2,2,3))"), "{one}");
}

#[test]
fn two_models_are_compared_by_what_they_do() {
    let output = ran(&["compare", "hopper mma f16 to f32, floored", "hopper mma f16 to f32"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("shown by one input") && text.contains("in words:") && text.contains("2^-126"), "{text}");
    assert_eq!(code(&["compare", "vdpbusd", "vdpbf16ps"]), Some(2));
    let same = ran(&["compare", "vdpbf16ps", "vdpbf16ps", "--format", "csv"]);
    assert!(stdout(&same).contains(",none,") && same.status.success());
}

#[test]
fn a_tolerance_is_above_the_error_beside_it() {
    let output = ran(&["explain", "--tolerance", "hopper wgmma e4m3 to f32", "--k", "32,256", "--format", "csv"]);
    let text = stdout(&output);
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.rsplitn(7, ',').collect();
        let number = |i: usize| fields[i].parse::<f64>().unwrap();
        assert!(number(5) >= number(4) && number(4) >= number(3), "{line}");
    }
    assert_eq!(text.lines().count(), 3);
    assert!(stderr(&output).contains("overflows"));
    let refused = ran(&["explain", "--tolerance", "vdpbf16ps", "--inputs", "nice"]);
    assert!(stderr(&refused).contains("allowed: normal"));
}

#[test]
fn a_calibration_is_kept_and_becomes_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("made");
    let out = out.to_str().unwrap();
    let small = ["calibrate", "conversions", "layout", "--devices", "8", "--out", out];
    assert_eq!(code(&small), Some(0));
    let again = ran(&small);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("holds a calibration"));
    let table = stdout(&ran(&["calibrate", "--from", out]));
    assert!(
        table.starts_with("Simulated: seed 1") && table.contains("| layout | drawn layouts | recovered |"),
        "{table}"
    );
    let readme = dir.path().join("README.md");
    std::fs::write(&readme, "a\n<!-- rigel calibration: begin -->\n<!-- rigel calibration: end -->\nb\n").unwrap();
    let name = readme.to_str().unwrap();
    assert_eq!(code(&["calibrate", "--from", out, "--readme", name, "--check"]), Some(1));
    assert_eq!(code(&["calibrate", "--from", out, "--readme", name]), Some(0));
    assert_eq!(code(&["calibrate", "--from", out, "--readme", name, "--check"]), Some(0));
    let text = std::fs::read_to_string(&readme).unwrap();
    assert!(text.starts_with("a\n") && text.ends_with("b\n") && text.contains("| family | planted |"), "{text}");
}
