//! Does a compiler that hangs, dies or takes its process along leave a row with a reason, and lose nothing else?
//!
//! It is planted in place of clang: a program that hands every text on but those of one kernel and type.
#![cfg(unix)]

mod rig;

use rig::{file, rigel, stderr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A text that no other test compiles, so that none is found ready made: products of E5M2 by `matmul2d`.
const CLANG: &str = r#"#!/bin/sh
for word in "$@"; do file="$word"; done
if [ -f "$file" ] && grep -q 'define LEFT metal_fp8_e5m2_format' "$file" && grep -q matmul2d_gemm "$file"; then
  echo $$ >>"FOLDER/seen"
  DOES
fi
exec COMPILER "$@"
"#;

/// The first clang that is new enough; a line says so when there is none.
fn clang() -> Option<&'static str> {
    let known = ["clang++-22", "clang++-21", "clang++-20", "clang++-19"];
    let found = known.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        println!("skipped: no clang++ of version 19 or newer");
    }
    found
}

/// A compiler that does this over the text, in a folder.
fn planted(folder: &Path, clang: &str, does: &str) -> PathBuf {
    let program = folder.join("clang");
    let text = CLANG.replace("COMPILER", clang).replace("DOES", does).replace("FOLDER", &folder.display().to_string());
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// A run whose compiler does this over the text, and what its row says.
struct Case {
    name: &'static str,
    does: &'static str,
    timeout: &'static str,
    outcome: &'static str,
    words: &'static str,
}

#[test]
fn a_compiler_that_hangs_or_dies_is_a_row_and_the_run_goes_on() {
    let Some(clang) = clang() else { return };
    // The first case leaves every other text of the run compiled, so the others may wait for a sign of life only briefly.
    let dies = Case {
        name: "dies",
        does: "kill -SEGV $$",
        timeout: "60",
        outcome: "refused-compile",
        words: "the compiler ended and refused nothing",
    };
    let hangs = Case {
        name: "hangs",
        does: "exec sleep 86399",
        timeout: "15",
        outcome: "hung",
        words: "no sign of life for 15 s while compiling; killed",
    };
    let takes_along = Case {
        name: "takes its process along",
        does: "kill -ABRT $PPID; exec sleep 86399",
        timeout: "15",
        outcome: "crashed",
        words: "while compiling",
    };
    leaves_a_row(clang, &dies);
    std::thread::scope(|scope| {
        scope.spawn(|| leaves_a_row(clang, &hangs));
        scope.spawn(|| leaves_a_row(clang, &takes_along));
    });
}

#[test]
fn a_compiler_that_hangs_when_asked_for_its_version_is_one_message_and_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("clang");
    std::fs::write(&program, "#!/bin/sh\nexec sleep 86399\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let out = dir.path().join("run");
    let said = "asked for --version: ";
    let killed = "has not ended within 10 s and was killed";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let run = ["run", "--device", "metal-sim", "--preset", "quick", "--out"];
            let done = rigel().env("RIGEL_CLANG", &program).args(run).arg(&out).output().unwrap();
            let words = stderr(&done);
            assert!(!done.status.success() && words.contains(said) && words.contains(killed), "{words}");
            assert!(words.contains("must be clang of version 19 or newer"), "{words}");
        });
        scope.spawn(|| {
            // The list of devices goes on to the others and has the reason in its row.
            let list = ["devices", "--format", "csv"];
            let done = rigel().env("RIGEL_CLANG", &program).args(list).output().unwrap();
            let rows = String::from_utf8_lossy(&done.stdout).into_owned();
            let row = rows.lines().find(|row| row.starts_with("metal-sim,")).unwrap_or_default();
            assert!(done.status.success() && row.contains(killed), "{rows}");
            assert!(rows.lines().any(|row| row.starts_with("cpu,")), "{rows}");
        });
    });
    assert!(!out.exists(), "nothing was begun");
}

fn leaves_a_row(clang: &str, &Case { name, does, timeout, outcome, words }: &Case) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let program = planted(dir.path(), clang, does);
    let mut command = rigel();
    command.env("RIGEL_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal-runs"));
    command.env("RIGEL_CLANG", program).args(["run", "types", "throughput", "--device", "metal-sim"]);
    let axes = ["triple=e5m2,e5m2->f32;f16,f16->f32", "path=matmul2d", "types-shape=9", "shape=64"];
    for axis in axes {
        command.args(["--axis", axis]);
    }
    let done = command.args(["--timeout", timeout, "--out"]).arg(&out).output().unwrap();
    assert!(done.status.success(), "{name}: {}", stderr(&done));
    let cells = file(&out, "cells.csv");
    let of = |triple: &str| cells.lines().filter(move |line| line.contains(triple)).collect::<Vec<_>>();
    let hit = of("e5m2,e5m2->f32");
    let is_told = |line: &&&str| line.contains(&format!(",{outcome},")) && line.contains(words);
    assert!(hit.iter().any(|line| is_told(&line)), "{name}: {cells}");
    assert!(of("f16,f16->f32").iter().all(|line| line.contains(",right,")), "{name}: {cells}");
    assert!(of("f16,f16->f32").len() > 1, "{name}: {cells}");
    rigel().arg("verify").arg(&out).assert().success();
    // What hung is gone with the process that waited for it.
    for seen in file(dir.path(), "seen").lines() {
        let left = Path::new("/proc").join(seen).join("cmdline");
        let left = std::fs::read_to_string(left).unwrap_or_default();
        assert!(!cfg!(target_os = "linux") || !left.contains("86399"), "{name}: process {seen} is left");
    }
}
