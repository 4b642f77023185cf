//! Does every kernel compile for the targets that it declares, and is it refused in known words for the others?
//!
//! `ptxas` is looked for in RIGEL_PTXAS (the program, or a folder that holds it somewhere below, such as the one into
//! which the PyPI package `nvidia-cuda-nvcc` was installed), then on PATH. Without it these tests say that they were
//! skipped.

use rayon::prelude::*;
use rigel_device::cuda::instruction::Instruction;
use rigel_device::cuda::target::{PtxVersion, Target};
use rigel_device::cuda::text;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Targets of the table: Ampere, Ada, Hopper, and two of Blackwell.
const TARGETS: [Target; 5] = [Target(80), Target(89), Target(90), Target(100), Target(120)];

/// The oldest target that the compiler of CUDA 13 still assembles for.
const OLDEST: Target = Target(75);

fn ptxas() -> Option<PathBuf> {
    let asked = std::env::var_os("RIGEL_PTXAS").map(PathBuf::from);
    let found = asked.as_deref().and_then(|at| if at.is_dir() { below(at, 6) } else { Some(at.to_owned()) });
    if asked.is_some() && found.is_none() {
        panic!("RIGEL_PTXAS is a folder without ptxas in it");
    }
    let on_path = || std::env::split_paths(&std::env::var_os("PATH")?).map(|p| p.join("ptxas")).find(|p| p.is_file());
    let program = found.or_else(on_path);
    if program.is_none() {
        println!("skipped: no ptxas on PATH nor in RIGEL_PTXAS, so no kernel was compiled");
    }
    program
}

fn below(folder: &Path, depth: usize) -> Option<PathBuf> {
    let program = folder.join("ptxas");
    if program.is_file() {
        return Some(program);
    }
    let folders = std::fs::read_dir(folder).ok()?.filter_map(Result::ok).map(|e| e.path()).filter(|p| p.is_dir());
    if depth == 0 { None } else { folders.filter_map(|p| below(&p, depth - 1)).next() }
}

/// Compiles a text for a target; the compiler's words when it refuses.
fn compile(ptxas: &Path, ptx: &str, target: Target) -> Result<(), String> {
    let mut file = tempfile::Builder::new().suffix(".ptx").tempfile().unwrap();
    file.write_all(ptx.as_bytes()).unwrap();
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={target}")).args(["--output-file", "/dev/null"]).arg(file.path());
    let output = command.output().unwrap_or_else(|e| panic!("{}: {e}", ptxas.display()));
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn kernels_compile_for_their_targets_and_no_others() {
    let Some(ptxas) = ptxas() else { return };
    let all = Instruction::all();
    let pairs: Vec<(&Instruction, Target)> = all.iter().flat_map(|i| TARGETS.map(|target| (i, target))).collect();
    let wrong: Vec<String> = pairs
        .par_iter()
        .filter_map(|&(instruction, target)| {
            let outcome = compile(&ptxas, &text::unit(instruction, target), target);
            let name = instruction.name();
            match (target >= instruction.target, outcome) {
                (true, Ok(())) => None,
                (true, Err(said)) => Some(format!("{name} for {target}: {said}")),
                (false, Ok(())) => {
                    Some(format!("{name} for {target}: compiled, though it is declared from {}", instruction.target))
                }
                (false, Err(said)) => {
                    let known = said.contains(&format!("{} or higher", instruction.target));
                    (!known).then(|| format!("{name} for {target}: refused in other words: {said}"))
                }
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_older_ptx_than_declared_is_refused() {
    let Some(ptxas) = ptxas() else { return };
    let versions = [(6, 0), (6, 3), (6, 4), (6, 5), (7, 0), (7, 7), (7, 8), (8, 3), (8, 4), (8, 6), (8, 7)]
        .map(|(a, b)| PtxVersion(a, b));
    let all = Instruction::all();
    let wrong: Vec<String> = all
        .par_iter()
        .filter_map(|instruction| {
            let target = instruction.target.max(OLDEST);
            let version = text::version(instruction, target);
            let older = versions.into_iter().rfind(|v| *v < version)?;
            match compile(&ptxas, &text::unit_in(instruction, target, older), target) {
                Err(said) if said.contains(".version") => None,
                Err(said) => Some(format!("{} in PTX {older}: refused in other words: {said}", instruction.name())),
                Ok(()) => Some(format!(
                    "{} in PTX {older}: compiled, though it is declared from {version}",
                    instruction.name()
                )),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn targets_are_named_from_the_declared_ptx_on() {
    let Some(ptxas) = ptxas() else { return };
    for target in Target::KNOWN.into_iter().filter(|target| *target >= OLDEST) {
        assert_eq!(compile(&ptxas, &text::health(target), target), Ok(()), "{target}");
        let PtxVersion(major, minor) = target.ptx();
        let older = if minor == 0 { PtxVersion(major - 1, 5) } else { PtxVersion(major, minor - 1) };
        let said = compile(&ptxas, &text::health_in(target, older), target).unwrap_err();
        assert!(said.contains(&target.to_string()), "{target} in PTX {older}: {said}");
    }
}
