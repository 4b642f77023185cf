//! Do block-scaled operands go the whole way: gate, ladder, throughput, verdicts, and both verifiers?

mod rig;

use rig::{file, rigel, stderr, stdout};
use std::path::Path;
use std::process::Command;

/// Runs a plan and has both verifiers look at it; what the run says.
fn run(out: &Path, arguments: &[&str]) -> String {
    let name = out.display().to_string();
    let done = rigel().arg("run").args(arguments).args(["--out", &name]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let verified = rigel().args(["verify", &name]).output().unwrap();
    assert!(verified.status.success(), "{}", stderr(&verified));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/python/verify.py");
    match Command::new("python3").arg(script).arg(out).output() {
        Ok(said) => assert!(said.status.success(), "{}", stdout(&said)),
        Err(why) => println!("python3 cannot be started, so only one verifier looked: {why}"),
    }
    stdout(&done)
}

/// Whether some line of a text holds all of these.
fn tells(text: &str, words: &[&str]) -> bool {
    text.lines().any(|line| words.iter().all(|word| line.contains(word)))
}

#[test]
fn planted_ones_are_called_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let triples = "triple=f16,f16->f32;mxe4m3,mxe4m3->f32;mxe2m1,mxe2m1->f32;nve2m1,nve2m1->f32";
    let said = run(dir.path(), &["--device", "sim:scaled", "--axis", triples, "--axis", "types-shape=9,33x31x65"]);
    for (triple, word) in
        [("mxe4m3 → f32", "accelerated"), ("mxe2m1 → f32", "accelerated"), ("nve2m1 → f32", "emulated")]
    {
        assert!(tells(&said, &[triple, word]), "{triple} is not called {word}:\n{said}");
    }
    let facts = file(dir.path(), "facts.csv");
    assert!(tells(&facts, &["nve2m1,nve2m1->f32", "element times scale in f16"]), "{facts}");
    let cells = file(dir.path(), "cells.csv");
    let of = |triple: &str| cells.lines().filter(|line| line.contains(triple)).collect::<Vec<_>>();
    for triple in ["mxe4m3,mxe4m3->f32", "mxe2m1,mxe2m1->f32", "nve2m1,nve2m1->f32"] {
        assert!(of(triple).len() > 8 && of(triple).iter().all(|line| line.contains("right")), "{triple}\n{cells}");
    }
}

#[test]
fn a_processor_converts_them_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let triples = "triple=mxe4m3,mxe4m3->f32;nve2m1,nve2m1->f32";
    let axes = "types-shape=1,33x31x17,9x9x65;types-recipe=near-normal,uniform,small-integers;path=avx2-fma";
    run(dir.path(), &["types", "--device", "cpu", "--axis", triples, "--axis", axes]);
    let cells = file(dir.path(), "cells.csv");
    if tells(&cells, &["avx2-fma", "mxe4m3", "absent"]) {
        println!("skipped: this processor has no avx2");
        return;
    }
    assert!(
        tells(&cells, &["avx2-fma", "mxe4m3", "right"]) && tells(&cells, &["avx2-fma", "nve2m1", "right"]),
        "{cells}"
    );
    let spoiled = |line: &&str| {
        let mine = line.contains("mxe4m3") || line.contains("nve2m1");
        mine && ["wrong", "imprecise", "mistrusted"].iter().any(|word| line.contains(word))
    };
    assert!(!cells.lines().any(|line| spoiled(&line)), "{cells}");
    let provenance = file(dir.path(), "run.json");
    assert!(provenance.contains("element times scale in f32 while packing"));
}
