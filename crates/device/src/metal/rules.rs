//! Which rules does a GPU follow that no product shows?
//!
//! Language versions asked for at run time and what took effect, libraries compiled elsewhere, small mistakes that a compiler should
//! refuse, what becomes of a destination's old content, what a slice is near and far from the base, whether tails of k read what lies
//! behind, and which distances between rows tensors take. Each question is asked by itself, so that a refusal of one is an answer and
//! hides no other, and each answer is told before the next question, so that a process that dies loses only what it had not yet told.

use super::alignment::{Outcome, STRIDES, sweep};
use super::diagnostic::Meaning;
use super::element::Element::{Bfloat, Float, Half, Int8, Int32};
use super::gpu::Gpu;
use super::level::Language;
use super::modes::semantics;
use super::operation::Mode;
use super::probe::{self, Effective};
use super::product::Path;
use super::tails::{ASKED, tail};
use super::traps::{Trap, spring};
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

/// Extents of the tensors that slices are cut from, and where these begin: near the base, a quarter of a MiB behind it, and 2 GiB.
const SLICES: [[(u32, u32); 2]; 3] = [[(64, 48), (24, 16)], [(4096, 62), (0, 60)], [(32_768, 32_770), (0, 32_769)]];

/// Bytes from which on a tensor of the slices is made only where memory is at least four times as large.
const LARGE: u64 = 1 << 30;

/// Asks every question and tells each answer.
pub fn rules(gpu: &mut dyn Gpu, libraries: &[PathBuf], say: &mut dyn FnMut(RuleAnswer)) {
    for language in Language::LADDER {
        say(versions("language", language.to_string(), probe::versions(gpu, language)));
    }
    for file in libraries {
        let loaded = gpu.load(file).map_err(|e| e.to_string());
        let told = loaded.and_then(|library| probe::effective(gpu, library));
        say(versions("library", file.display().to_string(), told));
    }
    if gpu.sdk().is_none() {
        return;
    }
    for trap in Trap::ALL {
        say(mistake(gpu, trap));
    }
    for mode in [Mode::Multiply, Mode::MultiplyAccumulate] {
        modes(gpu, mode).into_iter().for_each(&mut *say);
    }
    for [whole, origin] in SLICES {
        say(slices(gpu, whole, origin));
    }
    for (k, step) in ASKED {
        say(tails(gpu, k, step));
    }
    for (path, kind) in [(Path::Inline, "made by the kernel"), (Path::Handle, "made by the host")] {
        distances(gpu, path, kind).into_iter().for_each(&mut *say);
    }
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

fn mistake(gpu: &mut dyn Gpu, trap: Trap) -> RuleAnswer {
    let asked = format!("{}; the edit: {}", trap.mistake(), trap.edit());
    match spring(gpu, trap) {
        Err(why) => answer("trap", asked, format!("not tried: {why}")),
        Ok(sprung) => RuleAnswer { words: sprung.words.clone(), ..answer("trap", asked, sprung.to_string()) },
    }
}

fn tails(gpu: &mut dyn Gpu, k: usize, step: u32) -> RuleAnswer {
    let how = if step == 0 { "at once".to_owned() } else { format!("in steps of {step}") };
    let asked = format!("k = {k} {how}, NaN behind both operands");
    match tail(gpu, Path::Inline, k, step) {
        Err(words) => refusal("tail of k", asked, words),
        Ok(seen) => answer("tail of k", asked, seen.to_string()),
    }
}

fn slices(gpu: &mut dyn Gpu, whole: (u32, u32), origin: (u32, u32)) -> RuleAnswer {
    let ((columns, rows), (column, row)) = (whole, origin);
    let begins = 2 * (u64::from(row) * u64::from(columns) + u64::from(column));
    let asked = format!("a slice of {columns} x {rows} elements at ({column}, {row}), {begins} bytes behind the base");
    let (bytes, memory) = (2 * u64::from(columns) * u64::from(rows), gpu.describe().memory_bytes);
    if bytes > LARGE && memory < 4 * bytes {
        let why = format!("not tried: the tensor has {bytes} bytes, more than a quarter of the memory");
        return answer("slice", asked, why);
    }
    match probe::slice(gpu, whole, origin) {
        Err(words) => refusal("slice", asked, words),
        Ok(seen) => {
            let begins = match seen.begins_at {
                at if at == (row * columns + column) % probe::SLICE_MODULUS => "begins at its origin".to_owned(),
                0 => "begins where the whole does".to_owned(),
                at => format!("begins at element {at}"),
            };
            let (wide, high) = seen.extents;
            let extents = match seen.extents {
                extents if extents == whole => "reports the extents of the whole".to_owned(),
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
