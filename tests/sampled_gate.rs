//! Does the sampled check tell right, narrow and wrong devices apart over a whole campaign?

mod rig;

use rig::{rigel, stderr, stdout};
use serde_json::Value;
use std::path::Path;

/// A device whose fp8 path accumulates narrowly, and which is wrong in another way at every shape but 160x144x256.
const TRUTH: &str = r#"
name = "Wrong at chosen shapes"
id = "sim-chosen"
version = "1"
note = "published: the arithmetic of Hopper's fp8 (arXiv 2412.19437 section 3.3.2); invented: everything else"
seed = 5
cores = 4
memory_bytes = 1073741824

[clock]
reference_mhz = 1000

[[path]]
name = "wgmma"
tile = [{ name = "large", extents = "48x96x16", factor = 1.0 }]
[[path.triple]]
triple = "f16,f16->f32"
advertised = true
source = "invented"
rate = 1e12
arithmetic = "chain"
[[path.triple]]
triple = "e4m3,e4m3->f32"
advertised = true
source = "invented"
rate = 2e12
arithmetic = { aligned-blocks = { terms = 32, fraction_bits = 13, output_bits = 14 } }
[[path.triple]]
triple = "i8,i8->i32"
advertised = true
source = "invented"
rate = 2e12
"#;

/// Shapes at which every triple of the device is wrong, and how.
const WRONG: [(&str, &str); 7] = [
    ("96x80x64", r#"{ wrong = "zeros" }"#),
    ("80x96x64", r#"{ wrong = { dropped-step = { step = 1 } } }"#),
    ("96x96x96", r#"{ wrong = "transposed-b" }"#),
    ("144x112x64", r#"{ wrong = { perturbed = { by = 0.25 } } }"#),
    ("100x112x64", r#"{ wrong = { tile-edge = { tile = 48 } } }"#),
    ("112x100x64", r#"{ wrong = { unwritten = { rows = 1 } } }"#),
    ("130x100x64", r#"{ wrong = "not-a-number" }"#),
];
const RIGHT: &str = "160x144x256";
const RECIPES: &str = r#"["near-normal", "constant", "zeros"]"#;

/// Two paths of the same device that are narrower than they declare, so that all elements lie outside the tolerance.
const NARROW: &str = r#"
[[path.triple]]
triple = "f32,f32->f32"
advertised = true
source = "invented"
rate = 1e12
arithmetic = { operands-cut = { bits = 11 } }
[[path.triple]]
triple = "e5m2,e5m2->f32"
advertised = true
source = "invented"
rate = 2e12
arithmetic = { aligned-blocks = { terms = 32, fraction_bits = 9, output_bits = 10 } }
"#;

/// Shapes at which one element or two are wrong among those of a narrow path.
const HIDDEN: [(&str, &str); 5] = [
    ("144x112x64", r#"{ wrong = { perturbed = { by = 0.25 } } }"#),
    ("300x260x64", r#"{ wrong = { perturbed = { by = 0.25 } } }"#),
    ("512x512x64", r#"{ wrong = { perturbed = { by = 0.25 } } }"#),
    ("512x500x64", r#"{ wrong = "not-a-number" }"#),
    ("500x512x64", r#"{ wrong = "swapped" }"#),
];

/// What a preset takes from its backend. The device has one path, so no baseline is there.
const RIVALS: &str = r#"
[match]
triple = "f16,f16->f32"
judged = []

[baselines]
a = "scalar"
b = "tiled"
c = "simdgroup_matrix"
d = "mma.sync"
"#;

/// Every product of a campaign over the wrong shapes and the right one whose full check ends at so many
/// multiplications; verified.
fn products(dir: &Path, truth: &str, wrong: &[(&str, &str)], recipes: &str, full_check: u64) -> Vec<Value> {
    let mut truth = truth.to_owned();
    for (shape, effect) in wrong {
        truth.push_str(&format!("\n[[fault]]\nshape = \"{shape}\"\neffect = {effect}\n"));
    }
    std::fs::write(dir.join("truth.toml"), truth).unwrap();
    let shapes: Vec<String> = wrong.iter().map(|(shape, _)| *shape).chain([RIGHT]).map(|s| format!("{s:?}")).collect();
    let mut plan = include_str!("../crates/study/src/presets/quick.toml").to_owned();
    for (key, value) in [
        ("probes = ", "[\"throughput\"]".to_owned()),
        ("full_check = ", full_check.to_string()),
        ("ceilings = ", "false".to_owned()),
        ("repetitions = ", "30".to_owned()),
    ] {
        let line = plan.lines().find(|line| line.starts_with(key)).unwrap_or_else(|| panic!("no {key}")).to_owned();
        plan = plan.replacen(&line, &format!("{key}{value}"), 1);
    }
    let (before, throughput) = plan.split_once("[throughput]").expect("a section");
    let throughput = throughput
        .replace("[\"384x384x384\"]", &format!("[{}]", shapes.join(", ")))
        .replace("[\"near-normal\"]", recipes);
    std::fs::write(dir.join("plan.toml"), format!("{before}[throughput]{throughput}{RIVALS}")).unwrap();
    let out = dir.join("run");
    let run = rigel()
        .current_dir(dir)
        .args(["run", "--device", "sim:truth.toml", "--plan", "plan.toml", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", stderr(&run));
    let verified = rigel().arg("verify").arg(&out).output().unwrap();
    assert!(verified.status.success(), "{}{}", stdout(&verified), stderr(&verified));
    let rows = stdout(&rigel().args(["export", "--to", "jsonl"]).arg(&out).output().unwrap());
    let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["work"] == "gemm").collect()
}

#[test]
fn either_check_gives_every_device_its_due() {
    for (full_check, method) in [(0, "sampled"), (1 << 33, "full")] {
        let dir = tempfile::tempdir().unwrap();
        let rows = products(dir.path(), TRUTH, &WRONG, RECIPES, full_check);
        let mut counts = [0; 4];
        for row in &rows {
            let (shape, outcome) = (row["shape"].as_str().unwrap(), row["outcome"].as_str().unwrap());
            let narrow = row["triple"].as_str().unwrap().starts_with("e4m3");
            if outcome == "absent" {
                // Its pilot was wrong, so it takes no part in the block.
                assert_ne!(shape, RIGHT, "{row}");
                continue;
            }
            let blind = row["recipe"] != "near-normal";
            if blind {
                // Right by itself where the fault does not show, but nobody right to inherit from.
                let allowed: &[&str] = match (shape == RIGHT, narrow) {
                    (true, false) => &["right"],
                    (true, true) => &["imprecise"],
                    (false, _) => &["wrong", "mistrusted"],
                };
                assert!(allowed.contains(&outcome), "{row}");
                counts[0] += usize::from(row["gate"] == "inherited");
                continue;
            }
            assert_eq!(row["gate"], method, "{row}");
            let visible = row["gate_visible"].as_f64();
            // Of a wrong output a sampled check may have seen enough before it knew what it would have seen.
            assert!(visible.is_none() || method == "sampled", "{row}");
            assert!(visible.is_some() || method == "full" || outcome == "wrong", "{row}");
            if shape != RIGHT {
                assert_eq!(outcome, "wrong", "{row}");
                counts[1] += 1;
            } else if narrow {
                assert_eq!(outcome, "imprecise", "{row}");
                counts[2] += 1;
            } else {
                assert_eq!(outcome, "right", "{row}");
                assert!(visible.is_none_or(|visible| visible > 0.0 && visible.is_finite()), "{row}");
                counts[3] += 1;
            }
        }
        // Six processes each of what takes part in its block; a wrong product stops at its pilot.
        assert_eq!((counts[1], counts[2], counts[3]), (3 * WRONG.len(), 6, 12), "{method}");
        assert!(counts[0] >= 2 * 3 * 6, "{method}: {counts:?}");
    }
}

#[test]
fn no_check_takes_a_wrong_element_for_one_of_a_narrow_path() {
    for full_check in [0, 1 << 33] {
        let dir = tempfile::tempdir().unwrap();
        let truth = format!("{TRUTH}{NARROW}");
        let rows = products(dir.path(), &truth, &HIDDEN, r#"["near-normal"]"#, full_check);
        let (mut caught, mut narrow) = (0, 0);
        for row in rows.iter().filter(|row| row["outcome"] != "absent") {
            let (shape, outcome) = (row["shape"].as_str().unwrap(), row["outcome"].as_str().unwrap());
            if shape == RIGHT {
                let exact =
                    row["triple"].as_str().unwrap().starts_with(['f', 'u', 'i']) && row["triple"] != "f32,f32->f32";
                assert_eq!(outcome, if exact { "right" } else { "imprecise" }, "{row}");
                narrow += usize::from(!exact);
                continue;
            }
            assert!(["wrong", "mistrusted"].contains(&outcome), "{full_check}: {row}");
            caught += 1;
        }
        assert_eq!((caught, narrow), (5 * HIDDEN.len(), 3 * 6), "{full_check}");
    }
}
