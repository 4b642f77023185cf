//! Do emitted programs compile, and do they compute what the evaluator computes?
//!
//! Every program reads lines of codes and prints codes; a compiler or interpreter that is not on the machine is said to be
//! missing, and nothing is claimed for its language.

use rigel_numerics::arithmetic::emit::{self, About, MOST_K, Target};
use rigel_numerics::arithmetic::*;
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Triple};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inputs of a model in one language: over all models at least 10⁵.
const INPUTS: u64 = 3_000;

fn published(name: &str) -> Model {
    library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name}")).model.clone()
}

/// Aligned fused sums, trees, two-stage sums, FMA chains, compositions, block-scaled forms, integers.
const NAMES: [&str; 13] = [
    "hopper wgmma f16 to f32",
    "hopper wgmma e4m3 to f32, floored",
    "volta f16 to f16",
    "hopper mma e4m3 to f16, emulated",
    "f32 fma ascending",
    "f64 fma ascending",
    "vdpbf16ps",
    "vpdpbusds",
    "vpdpbusd",
    "vpdpwssds",
    "cdna2 f16 to f32",
    "cdna3 f16 to f32",
    "cdna3 fp8 to f32",
];

/// Models that are drawn: rules that no published hardware has, alone and together.
fn drawn() -> Vec<(String, Model)> {
    let triples = [
        "f16,f16->f32",
        "e4m3,e5m2->f16",
        "bf16,bf16->bf16",
        "e2m1,e2m1->f32",
        "u8,i8->i32",
        "tf32,tf32->f32",
        "e4m3_fnuz,e4m3_fnuz->f32",
        "f32,f32->f32",
    ];
    let model = |i: usize, triple: &str| {
        let triple: Triple = triple.parse().unwrap();
        // Some draws are too wide for long rows: the next one takes their place.
        (0..)
            .find_map(|n| {
                draw_model(1000 * n + i as u64, triple).filter(|m| Evaluator::new(m, MOST_K).is_ok() && m.k <= 64)
            })
            .unwrap()
    };
    (0..24).map(|i| (format!("drawn_{i}"), model(i, triples[i % triples.len()]))).collect()
}

fn models() -> Vec<(String, Model)> {
    let named = library().iter().filter(|p| NAMES.contains(&p.name.as_str()));
    let scaled = library().iter().filter(|p| p.model.scales.is_some()).take(3);
    let mut all: Vec<_> =
        named.chain(scaled).map(|p| (p.name.replace(", ", "_").replace(' ', "_"), p.model.clone())).collect();
    all.extend(drawn());
    all
}

fn about(name: &str) -> About {
    About { name: name.to_owned(), source: "a test".to_owned(), validation: "none".to_owned() }
}

/// Rows of one instruction, of a part of one, and of several with a rest.
fn lengths(model: &Model) -> [usize; 3] {
    let group = model.scales.map_or(1, |s| s.group);
    [model.k.next_multiple_of(group), (model.k / 2 + 1), model.k * 2 + 1]
}

/// Lines of codes, and the codes that the evaluator gives.
fn cases(model: &Model, count: u64) -> (String, String) {
    let (mut lines, mut expected) = (String::new(), String::new());
    for (i, k) in lengths(model).into_iter().enumerate() {
        let evaluator = Evaluator::new(model, k).unwrap();
        let mut scratch = evaluator.scratch();
        for index in 0..count / 3 {
            let distribution = Distribution::ALL[index as usize % Distribution::ALL.len()];
            let x = distribution.inputs(model, k, stream(11, i as u64), index);
            let codes = |codes: &[u64]| codes.iter().map(|c| format!("{c:x} ")).collect::<String>();
            let groups = x.a_scales.len();
            writeln!(
                lines,
                "{k} {groups} {}{}{}{}{:x}",
                codes(&x.a),
                codes(&x.b),
                codes(&x.a_scales),
                codes(&x.b_scales),
                x.c
            )
            .unwrap();
            writeln!(expected, "{:x}", evaluator.dot(&mut scratch, x.codes())).unwrap();
        }
    }
    (lines, expected)
}

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success())
}

fn run(command: &mut Command) -> String {
    let said = command.output().unwrap();
    assert!(said.status.success(), "{command:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// The first line in which two texts differ, with its inputs.
fn compare(name: &str, target: Target, lines: &str, expected: &str, got: &str) {
    let mut differ = expected.lines().zip(got.lines()).zip(lines.lines()).filter(|((x, y), _)| x != y);
    let first = differ.next();
    let count = differ.count() + usize::from(first.is_some());
    assert!(first.is_none(), "{name} in {target}: {count} differ, first {first:?}");
    assert_eq!(expected.lines().count(), got.lines().count(), "{name} in {target}");
}

const RUST_MAIN: &str = r#"
fn main() {
    use std::io::BufRead;
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let (k, groups): (usize, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
        let codes: Vec<u64> = words[2..].iter().map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let (a, rest) = codes.split_at(k);
        let (b, rest) = rest.split_at(k);
        let (x, rest) = rest.split_at(groups);
        let (y, rest) = rest.split_at(groups);
        let _ = (x, y);
        println!("{:x}", dot(a, b, SCALES rest[0]));
    }
}
"#;

const C_MAIN: &str = r#"
#include <inttypes.h>
#include <stdio.h>
int main(void) {
    static uint64_t a[MOST_K], b[MOST_K], x[MOST_K], y[MOST_K];
    size_t k, groups;
    while (scanf("%zu %zu", &k, &groups) == 2) {
        uint64_t c;
        for (size_t i = 0; i < k; i++) if (scanf("%" SCNx64, &a[i]) != 1) return 1;
        for (size_t i = 0; i < k; i++) if (scanf("%" SCNx64, &b[i]) != 1) return 1;
        for (size_t i = 0; i < groups; i++) if (scanf("%" SCNx64, &x[i]) != 1) return 1;
        for (size_t i = 0; i < groups; i++) if (scanf("%" SCNx64, &y[i]) != 1) return 1;
        if (scanf("%" SCNx64, &c) != 1) return 1;
        printf("%" PRIx64 "\n", dot(a, b, k, SCALES c));
    }
    return 0;
}
"#;

const PYTHON_MAIN: &str = r#"
import importlib.util, sys
for name in sys.argv[2:]:
    spec = importlib.util.spec_from_file_location(name, f"{sys.argv[1]}/{name}.py")
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    with open(f"{sys.argv[1]}/{name}.in") as lines, open(f"{sys.argv[1]}/{name}.out", "w") as out:
        for line in lines:
            k, groups, *codes = line.split()
            k, groups, codes = int(k), int(groups), [int(code, 16) for code in codes]
            scales = [codes[2 * k:2 * k + groups], codes[2 * k + groups:2 * k + 2 * groups]] if groups else []
            out.write(f"{model.dot(codes[:k], codes[k:2 * k], *scales, codes[-1]):x}\n")
"#;

fn with_input(program: &Path, dir: &Path, name: &str, lines: &str) -> String {
    let input = dir.join(format!("{name}.in"));
    std::fs::write(&input, lines).unwrap();
    run(Command::new(program).stdin(std::fs::File::open(input).unwrap()))
}

#[test]
fn rust_programs_compute_the_model() {
    if !is_there("rustc") {
        eprintln!("skipped: no `rustc` on this machine, so emitted Rust is not compiled here");
        return;
    }
    let dir = scratch("model_rust");
    // One crate of all programs: a compiler that starts once.
    let (mut source, mut arms) = ("#![deny(warnings)]\n".to_owned(), String::new());
    let models = models();
    for (name, model) in &models {
        let text = emit::model(model, Target::Rust, &about(name), MOST_K).unwrap();
        let main = RUST_MAIN
            .replace("SCALES", if model.scales.is_some() { "x, y," } else { "" })
            .replace("fn main", "pub fn main");
        std::fs::write(dir.join(format!("{name}.rs")), text + &main).unwrap();
        source += &format!("mod {name};\n");
        arms += &format!("        \"{name}\" => {name}::main(),\n");
    }
    source += &format!(
        "fn main() {{\n    match std::env::args().nth(1).unwrap().as_str() {{\n{arms}        _ => {{}}\n    }}\n}}\n"
    );
    let (file, program) = (dir.join("all.rs"), dir.join("all.out"));
    std::fs::write(&file, source).unwrap();
    run(Command::new("rustc")
        .args(["--edition", "2021", "-C", "opt-level=1", "-C", "debug-assertions=yes", "-o"])
        .arg(&program)
        .arg(&file));
    for (name, model) in &models {
        let (lines, expected) = cases(model, INPUTS);
        let input = dir.join(format!("{name}.in"));
        std::fs::write(&input, &lines).unwrap();
        let got = run(Command::new(&program).arg(name).stdin(std::fs::File::open(input).unwrap()));
        compare(name, Target::Rust, &lines, &expected, &got);
    }
    // What every program carries, and the command that its reader is told.
    let one = dir.join("one.rs");
    std::fs::write(&one, emit::model(&models[0].1, Target::Rust, &about("one"), MOST_K).unwrap()).unwrap();
    let tests = dir.join("one.out");
    run(Command::new("rustc").args(["--edition", "2021", "--test", "-D", "warnings", "-o"]).arg(&tests).arg(&one));
    assert!(run(&mut Command::new(&tests)).contains("1 passed"));
}

#[test]
fn c_programs_compute_the_model() {
    if !is_there("cc") {
        eprintln!("skipped: no `cc` on this machine, so emitted C is not compiled here");
        return;
    }
    let dir = scratch("model_c");
    for (name, model) in models() {
        let text = emit::model(&model, Target::C, &about(&name), MOST_K).unwrap();
        let (check, checked) = (dir.join("check.c"), dir.join("check.out"));
        let warnings =
            ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-fno-sanitize-recover", "-o"];
        let main = C_MAIN.replace("SCALES", if model.scales.is_some() { "x, y," } else { "" });
        let (file, program) = (dir.join(format!("{name}.c")), dir.join(format!("{name}.out")));
        std::fs::write(&file, format!("{text}\n#ifndef CHECK{main}#endif\n")).unwrap();
        run(Command::new("cc").args(warnings).arg(&program).arg(&file));
        let (lines, expected) = cases(&model, INPUTS);
        compare(&name, Target::C, &lines, &expected, &with_input(&program, &dir, &name, &lines));
        if name.starts_with("hopper") {
            std::fs::write(&check, &text).unwrap();
            run(Command::new("cc").args(warnings).arg(&checked).arg("-DCHECK").arg(&check));
            assert_eq!(run(&mut Command::new(&checked)), "0 wrong\n");
        }
    }
}

#[test]
fn python_programs_compute_the_model() {
    if !is_there("python3") {
        eprintln!("skipped: no `python3` on this machine, so emitted Python is not run here");
        return;
    }
    let dir = scratch("model_python");
    // Python takes most of a millisecond for a dot product: long rows get fewer inputs.
    let models = models();
    let mut cases_of = Vec::new();
    for (name, model) in &models {
        std::fs::write(
            dir.join(format!("{name}.py")),
            emit::model(model, Target::Python, &about(name), MOST_K).unwrap(),
        )
        .unwrap();
        let (lines, expected) = cases(model, if model.k <= 16 { INPUTS } else { INPUTS / 3 });
        std::fs::write(dir.join(format!("{name}.in")), &lines).unwrap();
        cases_of.push((name, lines, expected));
    }
    let main = dir.join("main_of_all.py");
    std::fs::write(&main, PYTHON_MAIN).unwrap();
    run(Command::new("python3").arg(&main).arg(&dir).args(cases_of.iter().map(|(name, ..)| name)));
    for (name, lines, expected) in &cases_of {
        let got = std::fs::read_to_string(dir.join(format!("{name}.out"))).unwrap();
        compare(name, Target::Python, lines, expected, &got);
    }
    assert_eq!(run(Command::new("python3").arg(dir.join(format!("{}.py", models[0].0)))), "0 wrong\n");
}

/// Every published model in every language: no rule is left without words.
#[test]
fn every_published_model_is_emitted() {
    for p in library() {
        for target in Target::ALL {
            let text =
                emit::model(&p.model, target, &about(&p.name), 1024).unwrap_or_else(|e| panic!("{}: {e}", p.name));
            match target {
                Target::Json => assert_eq!(Model::from_json(&text).as_ref(), Ok(&p.model)),
                _ => assert!(text.contains("MOST_K") && text.contains(&p.model.k.to_string()), "{}", p.name),
            }
        }
    }
}

/// A model without a rule has no branch for it.
#[test]
fn programs_hold_only_what_their_model_needs() {
    let text = |name: &str, target| emit::model(&published(name), target, &about(name), MOST_K).unwrap();
    let hopper = text("hopper wgmma f16 to f32", Target::Rust);
    assert!(
        !hopper.contains("sticky")
            && !hopper.contains("LIMBS")
            && !hopper.contains("u128")
            && !hopper.contains("order")
    );
    assert!(2 * text("vpdpbusd", Target::C).len() < text("hopper wgmma f16 to f32", Target::C).len());
    assert!(!text("vpdpbusd", Target::Rust).contains("NAN"));
    let fma = text("f32 fma ascending", Target::C);
    assert!(fma.contains("LIMBS") && !text("f32 fma ascending", Target::Python).contains("LIMBS"));
}

#[test]
fn what_cannot_be_evaluated_is_not_emitted() {
    let mut model = published("hopper wgmma f16 to f32");
    model.k = 0;
    assert!(emit::model(&model, Target::Rust, &about("none"), MOST_K).is_err());
    let model = published("hopper wgmma f16 to f32");
    assert_eq!(emit::model(&model, Target::C, &about("none"), 0), Err(ModelError::K(0)));
    assert!("fortran".parse::<Target>().unwrap_err().to_string().contains("known: json rust c python"));
    assert_eq!(model.triple.c, Format::F32);
}

#[test]
fn foreign_text_ends_no_comment_and_no_docstring() {
    let plain = "a name";
    let hostile = "x\"\"\"\nimport os #*/ \\ \u{1b}[2J\r\u{202e}??/\u{2028}\\";
    let model = published(NAMES[0]);
    let code = |text: &str, target| -> String {
        text.lines()
            .filter(|line| target == Target::Python || !line.starts_with("//"))
            .map(|l| format!("{l}\n"))
            .collect()
    };
    for target in [Target::Rust, Target::C, Target::Python] {
        let written = |at: usize| {
            let text = |i| (if i == at { hostile } else { plain }).to_owned();
            let about = About { name: text(0), source: text(1), validation: text(2) };
            emit::model(&model, target, &about, 64).unwrap()
        };
        let safe = written(3);
        for at in 0..3 {
            let spoiled = written(at);
            for held in ["\u{1b}", "\r", "\u{202e}", "\u{2028}", "*/ ", "??/"] {
                assert!(!spoiled.contains(held), "{target} {at} {held:?}");
            }
            if target == Target::Python {
                let body = |text: &str| text.splitn(3, "\"\"\"").nth(2).unwrap().to_owned();
                assert_eq!(body(&spoiled), body(&safe), "{at}");
                assert!(!spoiled.split("\"\"\"").nth(1).unwrap().contains('\\'));
            } else {
                assert_eq!(code(&spoiled, target), code(&safe, target), "{at}");
                let ends = |text: &str| text.lines().filter(|l| l.starts_with("//")).any(|l| l.ends_with('\\'));
                assert!(!ends(&spoiled), "{target} {at}");
            }
        }
    }
}
