//! Do emitted index functions compile, and do they give the table at every lane and slot?

use rigel_numerics::layout::emit::{self, EmitError, Target};
use rigel_numerics::layout::{Fragment, FragmentOperand, Layout, fragments, library};
use rigel_numerics::random::{shuffle, stream};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Layouts of every form: digits, bases only, table only, with unused slots, with copies.
fn layouts() -> Vec<(String, FragmentOperand, Layout)> {
    let mut all: Vec<_> =
        library().iter().map(|l| (l.name.replace(['.', ' '], "_"), l.operand, l.layout.clone())).collect();
    let swizzled = Layout::from_fn((8, 8), (8, 8), |lane, slot| Some((lane, slot ^ lane ^ 3))).unwrap();
    all.push(("swizzled".into(), FragmentOperand::A, swizzled));
    let reversed = Layout::from_fn((6, 4), (6, 4), |lane, slot| Some((5 - lane, slot))).unwrap();
    all.push(("reversed".into(), FragmentOperand::B, reversed));
    let mut table: Vec<_> = (0..40u32).map(|i| (i < 35).then_some((i / 7, i % 7))).collect();
    shuffle(&mut table, stream(7, 7));
    all.push(("shuffled".into(), FragmentOperand::C, Layout::from_table(5, 7, 10, 4, table).unwrap()));
    all
}

/// The table as the compiled programs print it.
fn expected() -> String {
    let mut text = String::new();
    for (name, operand, layout) in layouts() {
        for lane in 0..layout.lanes() + 1 {
            for slot in 0..layout.slots() + 1 {
                let held = layout.at(lane, slot).map_or_else(|| "-".to_owned(), |(row, col)| format!("{row} {col}"));
                text.push_str(&format!("{name}_{} {lane} {slot} {held}\n", operand.name()));
            }
        }
    }
    text
}

fn compile_and_run(dir: &Path, compiler: &str, arguments: &[&str], source: &Path) -> String {
    let program: PathBuf = dir.join(source.file_stem().unwrap()).with_extension("out");
    let compiled = Command::new(compiler).args(arguments).arg("-o").arg(&program).arg(source).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap()
}

fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|said| said.status.success())
}

#[test]
fn rust_functions_give_the_table() {
    let dir = scratch("layout_rust");
    let mut source = "#![deny(warnings)]\n#![allow(clippy::all)]\n".to_owned();
    let mut calls = String::new();
    for (name, operand, layout) in layouts() {
        source.push_str(&emit::layout(&layout, operand, Target::Rust, &name).unwrap());
        let function = format!("{name}_{}", operand.name());
        calls.push_str(&format!("    print(\"{function}\", {function}, {}, {});\n", layout.lanes(), layout.slots()));
    }
    source.push_str(
        "fn print(name: &str, f: fn(u32, u32) -> Option<(u32, u32)>, lanes: u32, slots: u32) {\n    for lane in 0..=lanes {\n        for slot in 0..=slots {\n            match f(lane, slot) {\n                Some((row, col)) => println!(\"{name} {lane} {slot} {row} {col}\"),\n                None => println!(\"{name} {lane} {slot} -\"),\n            }\n        }\n    }\n}\n",
    );
    source.push_str(&format!("fn main() {{\n{calls}}}\n"));
    let file = dir.join("layouts.rs");
    std::fs::write(&file, source).unwrap();
    assert_eq!(compile_and_run(&dir, "rustc", &["--edition", "2024", "-A", "non_snake_case"], &file), expected());
}

/// CUDA C++ as plain C++, and MSL with the few words that C++ lacks defined away.
#[test]
fn functions_of_the_c_family_give_the_table() {
    if !is_there("c++") {
        eprintln!("skipped: no `c++` on this machine, so emitted CUDA C++ and MSL are not compiled here");
        return;
    }
    for (target, words) in [
        (Target::Cuda, ""),
        (Target::Msl, "typedef unsigned int uint;\n#define thread\n#define constant static const\n"),
    ] {
        let dir = scratch(&format!("layout_{target}"));
        std::fs::write(dir.join("metal_stdlib"), "").unwrap();
        let mut source = format!("#include <cstdio>\n{words}");
        let mut calls = String::new();
        for (i, (name, operand, layout)) in layouts().into_iter().enumerate() {
            let text = emit::layout(&layout, operand, target, &name).unwrap();
            // The head stands once in a file of several functions.
            source.push_str(if i == 0 { &text } else { text.split_once("\n\n").unwrap().1 });
            let function = format!("{name}_{}", operand.name());
            calls.push_str(&format!(
                "    print(\"{function}\", {function}, {}, {});\n",
                layout.lanes(),
                layout.slots()
            ));
        }
        source.push_str(
            "typedef bool (*Function)(unsigned, unsigned, unsigned &, unsigned &);\nstatic void print(const char *name, Function f, unsigned lanes, unsigned slots) {\n    for (unsigned lane = 0; lane <= lanes; ++lane)\n        for (unsigned slot = 0; slot <= slots; ++slot) {\n            unsigned row = 0, col = 0;\n            if (f(lane, slot, row, col)) std::printf(\"%s %u %u %u %u\\n\", name, lane, slot, row, col);\n            else std::printf(\"%s %u %u -\\n\", name, lane, slot);\n        }\n}\n",
        );
        source.push_str(&format!("int main() {{\n{calls}    return 0;\n}}\n"));
        let file = dir.join("layouts.cpp");
        std::fs::write(&file, source).unwrap();
        let include = format!("-I{}", dir.display());
        // A table inside a constexpr function needs C++23; CUDA accepts it as a local constant there too.
        let arguments = ["-std=c++23", "-Wall", "-Wextra", "-Werror", "-Wno-parentheses", include.as_str()];
        assert_eq!(compile_and_run(&dir, "c++", &arguments, &file), expected(), "{target}");
    }
}

#[test]
fn texts_are_golden() {
    let mma = &fragments().iter().find(|f| f.name == "mma.sync.m16n8k16.f16").unwrap().fragment;
    let text = |target| emit::fragment(mma, target, "mma").unwrap();
    assert_eq!(
        text(Target::Cute),
        "A ((4,8),(2,2,2)):((32,1),(16,8,128))\nB ((4,8),(2,2)):((16,1),(8,64))\nC ((4,8),(2,2)):((32,1),(16,8))\n"
    );
    assert_eq!(
        text(Target::F2),
        "A L1 (0,2) L2 (0,4) L4 (1,0) L8 (2,0) L16 (4,0) | R1 (0,1) R2 (8,0) R4 (0,8) | offset (0,0) | rank 8 | kernel none\n\
         B L1 (2,0) L2 (4,0) L4 (0,1) L8 (0,2) L16 (0,4) | R1 (1,0) R2 (8,0) | offset (0,0) | rank 7 | kernel none\n\
         C L1 (0,2) L2 (0,4) L4 (1,0) L8 (2,0) L16 (4,0) | R1 (0,1) R2 (8,0) | offset (0,0) | rank 7 | kernel none\n"
    );
    assert!(text(Target::Rust).starts_with(
        "/// Element of A (16 x 16) that a lane holds in a slot: 32 lanes of 8 slots.\n\
         /// `None` for an unused slot and for a lane or slot that there is not.\n\
         pub const fn mma_a(lane: u32, slot: u32) -> Option<(u32, u32)> {\n    \
             if lane >= 32 || slot >= 8 {\n        return None;\n    }\n    \
             Some((lane/4 + slot/2%2*8, lane%4*2 + slot%2 + slot/4*8))\n}\n"
    ));
    assert!(text(Target::Msl).contains(
        "inline bool mma_b(uint lane, uint slot, thread uint &row, thread uint &col) {\n    \
             if (lane >= 32u || slot >= 4u) return false;\n    \
             row = lane%4*2 + slot%2 + slot/2*8;\n    col = lane/4;\n    return true;\n}\n"
    ));
    assert!(text(Target::Csv).starts_with("operand,lane,slot,row,column\na,0,0,0,0\na,0,1,0,1\na,0,2,8,0\n"));
}

#[test]
fn what_a_notation_cannot_express_is_an_error_with_the_place() {
    let wgmma = &library().iter().find(|l| l.name == "wgmma.m64n24.c").unwrap().layout;
    let said = |target| emit::layout(wgmma, FragmentOperand::C, target, "d").map_err(|e| e.to_string());
    assert!(said(Target::F2).unwrap_err().contains("128 lanes of 12 slots: both would have to be powers of two"));
    assert_eq!(said(Target::Cute).unwrap(), "C ((4,8,4),(2,2,3)):((128,1,16),(64,8,512))\n");
    let swizzled = Layout::from_fn((8, 8), (8, 8), |lane, slot| Some((lane, slot ^ lane))).unwrap();
    let said = emit::layout(&swizzled, FragmentOperand::A, Target::Cute, "s").unwrap_err();
    assert!(matches!(said, EmitError::Cute { .. }) && said.to_string().contains("lane 1, slot 1"), "{said}");
    let fragment: &Fragment = &fragments()[0].fragment;
    for name in ["", "1x", "a b", "é", "x;y"] {
        assert!(matches!(emit::fragment(fragment, Target::Rust, name), Err(EmitError::Name(_))), "{name}");
    }
}
