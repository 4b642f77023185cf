//! Which rules does a GPU follow that no product shows?
//!
//! Language versions asked for at run time and what took effect, libraries compiled elsewhere, what becomes of a destination's old
//! content, what a slice is, and which distances between rows tensors take. Each question is asked by itself, so that a refusal
//! of one is an answer and hides no other.

use super::alignment::{Outcome, STRIDES, sweep};
use super::diagnostic::Meaning;
use super::element::Element::{Bfloat, Float, Half, Int8, Int32};
use super::gpu::Gpu;
use super::level::Language;
use super::modes::semantics;
use super::operation::Mode;
use super::probe::{self, Effective};
use super::product::Path;
use super::triples::Types;
use crate::contract::RuleAnswer;
use std::path::PathBuf;

/// Types whose rows are swept: one of each width.
const SWEPT: [Types; 4] = [
    Types::new(Float, Float, Float),
    Types::new(Half, Half, Float),
    Types::new(Bfloat, Bfloat, Float),
    Types::new(Int8, Int8, Int32),
];

/// Extents of the tensor that slices are cut from, and where they begin.
const WHOLE: (u32, u32) = (64, 48);
const ORIGIN: (u32, u32) = (24, 16);

/// Asks every question.
pub fn rules(gpu: &mut dyn Gpu, libraries: &[PathBuf]) -> Vec<RuleAnswer> {
    let mut answers: Vec<RuleAnswer> = Language::LADDER
        .into_iter()
        .map(|language| versions("language", language.to_string(), probe::versions(gpu, language)))
        .collect();
    for file in libraries {
        let loaded = gpu.load(file).map_err(|e| e.to_string());
        let told = loaded.and_then(|library| probe::effective(gpu, library));
        answers.push(versions("library", file.display().to_string(), told));
    }
    if gpu.sdk().is_some() {
        answers.extend([Mode::Multiply, Mode::MultiplyAccumulate].into_iter().flat_map(|mode| modes(gpu, mode)));
        answers.push(slices(gpu));
        let kinds = [(Path::Inline, "made by the kernel"), (Path::Handle, "made by the host")];
        answers.extend(kinds.into_iter().flat_map(|(path, kind)| distances(gpu, path, kind)));
    }
    answers
}

fn answer(rule: &str, asked: String, answer: String) -> RuleAnswer {
    RuleAnswer { rule: rule.to_owned(), asked, answer, words: String::new() }
}

fn refusal(rule: &str, asked: String, words: String) -> RuleAnswer {
    RuleAnswer { words: words.clone(), ..answer(rule, asked, format!("refused: {}", Meaning::of(&words))) }
}

fn versions(rule: &str, asked: String, told: Result<Effective, String>) -> RuleAnswer {
    match told {
        Err(words) => refusal(rule, asked, words),
        Ok(told) => {
            let os = if told.minimum_os == 0 { "not told".to_owned() } else { told.minimum_os.to_string() };
            let has = |yes: bool, what: &str| format!("{} {what}", if yes { "with" } else { "without" });
            let (tensors, planes) = (has(told.tensor, "tensors"), has(told.planes, "planes of scales"));
            let language = told.language;
            answer(rule, asked, format!("__METAL_VERSION__ {language}, oldest system {os}, {tensors}, {planes}"))
        }
    }
}

fn modes(gpu: &mut dyn Gpu, mode: Mode) -> Vec<RuleAnswer> {
    let asked = |kind: &str| format!("{} into {kind}", mode.spelled());
    match semantics(gpu, mode) {
        Err(words) => vec![refusal("mode", asked("any destination"), words)],
        Ok(seen) => [("a tensor", seen.tensor), ("a cooperative tensor", seen.cooperative)]
            .map(|(kind, old)| answer("mode", asked(kind), format!("{old}")))
            .to_vec(),
    }
}

fn slices(gpu: &mut dyn Gpu) -> RuleAnswer {
    let ((columns, rows), (column, row)) = (WHOLE, ORIGIN);
    let asked = format!("a slice of {columns} x {rows} elements at ({column}, {row})");
    match probe::slice(gpu, WHOLE, ORIGIN) {
        Err(words) => refusal("slice", asked, words),
        Ok(seen) => {
            let begins = match seen.begins_at {
                0 => "begins where the whole does".to_owned(),
                at if at == (row * columns + column) % probe::SLICE_MODULUS => "begins at its origin".to_owned(),
                at => format!("begins at element {at}"),
            };
            let (wide, high) = seen.extents;
            let extents = match seen.extents {
                extents if extents == WHOLE => "reports the extents of the whole".to_owned(),
                extents if extents == (columns - column, rows - row) => "reports what remains".to_owned(),
                _ => format!("reports {wide} x {high}"),
            };
            answer("slice", asked, format!("{begins}, {extents}"))
        }
    }
}

fn distances(gpu: &mut dyn Gpu, path: Path, kind: &str) -> Vec<RuleAnswer> {
    let mut answers = Vec::new();
    for types in SWEPT {
        let asked = |stride: usize| format!("rows of {} {stride} bytes apart, tensors {kind}", types.left.spelled());
        match sweep(gpu, path, types) {
            Err(words) => answers.push(refusal("row distance", asked(STRIDES[STRIDES.len() - 1]), words)),
            Ok(seen) => answers.extend(seen.into_iter().map(|(stride, outcome)| match outcome {
                Outcome::Refused(words) => refusal("row distance", asked(stride), words),
                Outcome::Wrong => answer("row distance", asked(stride), "wrong product".into()),
                Outcome::Slow => answer("row distance", asked(stride), "slow".into()),
                Outcome::Fine => answer("row distance", asked(stride), "fine".into()),
            })),
        }
    }
    answers
}
