//! Are units and conversions in a truth read back as they were written, and impossible ones refused in clear words?

mod batches;
mod planted;

use batches::Batch;
use proptest::prelude::*;
use rigel_device::sim::{BUILT_IN, SimDevice, Truth, names_file};
use rigel_device::{Device, backends};
use rigel_numerics::arithmetic::library;
use std::path::PathBuf;

/// A unit of f16, 16 × 8 × 16, in the registers of `mma.sync`, and more.
fn unit(more: &str) -> String {
    planted::text(&format!(
        r#"
[[unit]]
name = "u"
path = "p"
triple = "f16,f16->f32"
shape = "16x8x16"
model = {{ library = "hopper mma f16 to f32" }}
layout = {{ library = "mma.sync.m16n8k16.f16" }}
{more}
"#
    ))
}

fn refused(text: &str, words: &[&str]) {
    let said = match Truth::parse(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(e) => e.to_string(),
    };
    assert!(!said.contains('\n'), "{said}");
    for word in words {
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
}

#[test]
fn impossible_units_name_the_key_and_what_is_allowed() {
    assert!(Truth::parse(&unit("")).is_ok());
    for (from, to, words) in [
        ("shape = \"16x8x16\"", "shape = \"16x8x0\"", &["not a shape"][..]),
        ("shape = \"16x8x16\"", "shape = \"16x8x8\"", &["unit[0].layout", "16x8x16", "layouts of a unit of 16x8x8"]),
        (
            "triple = \"f16,f16->f32\"\nshape",
            "triple = \"f16,f16->f16\"\nshape",
            &["unit[0].triple", "allowed: the formats"],
        ),
        (
            "hopper mma f16 to f32",
            "hopper mma f17",
            &["unit[0].model.library", "`hopper mma f17`", "`hopper mma f16 to f32`"],
        ),
        ("mma.sync.m16n8k16.f16", "mma.sync.m7", &["unit[0].layout.library", "`mma.sync.m7`", "mma.sync.m8n8k4"]),
        ("model = { library", "model = { books", &["unknown variant `books`", "library", "json", "file"]),
        ("name = \"u\"", "nam = \"u\"", &["unknown field `nam`", "deviation"]),
        ("path = \"p\"", "path = \"\"", &["unit[0].path", "not empty"]),
        (
            "model = { library = \"hopper mma f16 to f32\" }",
            "model = { json = '{\"triple\": \"f16,f16->f32\", \"bodi\": 1}' }",
            &["unit[0].model.json", "unknown field `bodi`", "line 1"],
        ),
        (
            "model = { library = \"hopper mma f16 to f32\" }",
            "model = { file = \"no-such-model.json\" }",
            &["unit[0].model.file", "no-such-model.json", "cannot be read", "allowed"],
        ),
        (
            "layout = { library = \"mma.sync.m16n8k16.f16\" }",
            "layout = { csv = \"operand,lane,slot,row,column\\na,0,0,0,0\\n\" }",
            &["unit[0].layout.csv", "no row of operand B"],
        ),
        (
            "layout = { library = \"mma.sync.m16n8k16.f16\" }",
            "layout = { file = \"no-such-layout.csv\" }",
            &["unit[0].layout.file", "no-such-layout.csv", "cannot be read"],
        ),
    ] {
        let bad = unit("").replacen(from, to, 1);
        assert_ne!(bad, unit(""), "{from}");
        refused(&bad, words);
    }
    refused(&unit("evaluator = \"magic\""), &["unknown variant `magic`", "slow"]);
    refused(&unit("copies = \"last\""), &["unknown variant `last`", "nearest"]);
    let gap = "operand,lane,slot,row,column\\na,0,0,0,0\\na,0,1,0,0\\nb,0,0,0,0\\nb,0,1,1,0\\nc,0,0,0,0\\n";
    let gap = unit("").replacen("16x8x16", "1x1x2", 1).replacen(
        "layout = { library = \"mma.sync.m16n8k16.f16\" }",
        &format!("layout = {{ csv = \"{gap}\" }}"),
        1,
    );
    refused(&gap, &["unit[0].layout", "(0, 1) of A", "a lane holds every element"]);
    let second = &unit("")[planted::text("").len()..];
    let twice = format!("{}\n{}", unit(""), &second[second.find("[[unit]]").unwrap_or(0)..]);
    refused(&twice, &["unit[1].name", "each name once"]);
    let scaled = library().iter().find(|p| p.model.scales.is_some_and(|s| s.a == s.b && s.group == 32)).unwrap();
    let t = scaled.model.triple;
    let text = format!(
        "[[unit]]\nname = \"s\"\npath = \"p\"\ntriple = \"{t}\"\nshape = \"4x4x48\"\nmodel = {{ library = \"{}\" }}",
        scaled.name
    );
    refused(&planted::text(&text), &["unit[0].shape", "a k that 32 divides"]);
}

#[test]
fn impossible_deviations_name_the_key_and_what_is_allowed() {
    let flip = "effect = { flip = { bit = 0 } }";
    assert!(Truth::parse(&unit(&format!("[[unit.deviation]]\n{flip}"))).is_ok());
    for (lines, words) in [
        (format!("rate = 0.0\n{flip}"), &["unit[0].deviation[0].rate", "above 0 to 1"][..]),
        (format!("rate = 1.5\n{flip}"), &["deviation[0].rate", "1.5"]),
        (format!("rate = nan\n{flip}"), &["deviation[0].rate", "NaN"]),
        (format!("by = \"whim\"\n{flip}"), &["unknown variant `whim`", "chance", "neighbour"]),
        (format!("at = {{ lane = 32 }}\n{flip}"), &["deviation[0].at.lane", "0 to 31"]),
        (format!("at = {{ element = {{ row = 16, column = 0 }} }}\n{flip}"), &["at.element", "(16, 0)", "16 × 8"]),
        ("rate = 0.5".into(), &["missing field `effect`"]),
        ("effect = { flip = { bit = 32 } }".into(), &["effect.flip.bit", "0 to 31"]),
        ("effect = { flip = { bits = 3 } }".into(), &["`effect`", "bits", "available keys: bit"]),
        ("effect = { low-bits = { table = [0, 1, 2] } }".into(), &["low-bits.table", "2, 4, … 256"]),
        ("effect = { low-bits = { table = [0, 1] } }".into(), &["low-bits.table", "not all in their own place"]),
        ("effect = { low-bits = { table = [0, 2] } }".into(), &["low-bits.table", "below their number"]),
        (
            "effect = { model = { library = \"ampere f16 to f16\" } }".into(),
            &["effect.model", "f16,f16->f16", "a model of f16,f16->f32"],
        ),
        (
            "effect = { beyond = { k = 16, model = { library = \"ampere f16 to f32\" } } }".into(),
            &["effect.beyond.k", "1 to 15"],
        ),
        (
            "effect = { beyond = { k = 8, model = { library = \"nobody\" } } }".into(),
            &["effect.beyond.model.library", "`nobody`"],
        ),
    ] {
        refused(&unit(&format!("[[unit.deviation]]\n{lines}")), words);
    }
    let bare = unit("[[unit.deviation]]\nat = { lane = 0 }\neffect = { flip = { bit = 0 } }").replacen(
        "layout = { library = \"mma.sync.m16n8k16.f16\" }",
        "",
        1,
    );
    refused(&bare, &["deviation[0].at", "a unit that has a layout"]);
}

/// A folder of its own that is gone when this is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("rigel-units-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap_or(());
    }
}

#[test]
fn a_model_and_a_layout_in_files_beside_the_truth_become_part_of_it() {
    let folder = Folder::new("files");
    let published = library().iter().find(|p| p.name == "ampere f16 to f32").unwrap();
    let layout = rigel_numerics::layout::fragments().iter().find(|f| f.name == "mma.sync.m16n8k16.f16").unwrap();
    std::fs::write(folder.0.join("model.json"), published.model.to_json()).unwrap();
    std::fs::write(folder.0.join("layout.csv"), rigel_numerics::layout::csv::write(&layout.fragment)).unwrap();
    let text = unit("")
        .replacen("model = { library = \"hopper mma f16 to f32\" }", "model = { file = \"model.json\" }", 1)
        .replacen("layout = { library = \"mma.sync.m16n8k16.f16\" }", "layout = { file = \"layout.csv\" }", 1);
    std::fs::write(folder.0.join("truth.toml"), &text).unwrap();
    let selector = format!("sim:{}", folder.0.join("truth.toml").display());
    let truth = Truth::select(&selector).unwrap();
    // What the files hold is part of the truth, so that its text, and the hash of it in the provenance, tell all.
    let again = Truth::parse(&truth.to_toml()).unwrap();
    assert_eq!(again, truth);
    let mut device = SimDevice::new(again).unwrap();
    let mut by_files = device.unit("u").unwrap();
    let by_name = unit("").replacen("hopper mma", "ampere", 1);
    let mut by_name = SimDevice::new(Truth::parse(&by_name).unwrap()).unwrap().unit("u").unwrap();
    assert_eq!(by_files.spec(), by_name.spec());
    let batch = Batch::drawn(by_name.spec(), 10, 1);
    assert_eq!(batch.ask(&mut *by_files), batch.ask(&mut *by_name));

    // Flaws are told with the truth's file and line.
    std::fs::write(folder.0.join("model.json"), published.model.to_json().replace("\"k\"", "\"kay\"")).unwrap();
    let said = backends::open(&selector).err().unwrap();
    let line = 1 + text.lines().position(|line| line.starts_with("model = ")).unwrap();
    let place = format!("{}:{line}: `unit[0].model.json` is flawed", folder.0.join("truth.toml").display());
    assert!(said.starts_with(&place) && said.contains("unknown field `kay`") && names_file(&selector), "{said}");
    std::fs::remove_file(folder.0.join("model.json")).unwrap();
    let said = backends::open(&selector).err().unwrap();
    assert!(said.contains(&format!(":{line}: `unit[0].model.file`")) && said.contains("cannot be read"), "{said}");
}

#[test]
fn truths_without_units_keep_their_text() {
    // The hash of a truth's text is provenance: new keys must not appear where nothing is planted.
    let plants = |text: &str| text.contains("[[unit") || text.contains("published_units");
    for (name, text) in BUILT_IN.iter().filter(|(_, text)| !plants(text)) {
        let text = Truth::parse(text).unwrap().to_toml();
        let keys = ["published_units", "[[unit", "[[conversion", "unit = []", "conversion = []"];
        assert!(keys.iter().all(|key| !text.contains(key)), "{name}: {text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The truth `units` with one piece replaced is refused or works; it never panics.
    #[test]
    fn damaged_units_never_panic(
        at in any::<prop::sample::Index>(), cut in 0usize..12,
        put in prop_oneof![
            "[ -~\n]{0,8}", Just("-1".to_owned()), Just("nan".into()), Just("65536".into()), Just("[[".into())
        ],
    ) {
        let text = BUILT_IN.iter().find(|(name, _)| *name == "units").unwrap().1;
        let start = at.index(text.len());
        let end = (start + cut).min(text.len());
        if text.is_char_boundary(start) && text.is_char_boundary(end) {
            let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
            if let Ok(truth) = Truth::parse(&damaged) {
                prop_assert_eq!(Truth::parse(&truth.to_toml()), Ok(truth.clone()));
                let planted: Vec<String> = truth.units.iter().map(|unit| unit.name.clone()).collect();
                let mut device = SimDevice::new(truth).unwrap();
                for name in planted {
                    let Ok(mut unit) = device.unit(&name) else { continue };
                    let shape = unit.spec().shape;
                    if shape.m.max(shape.n).max(shape.k) <= 256 {
                        let batch = Batch::drawn(unit.spec(), 1, 1);
                        rigel_device::unit::execute(&mut *unit, batch.operands()).unwrap();
                    }
                }
            }
        }
    }
}
