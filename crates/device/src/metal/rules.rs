//! Which rules does a GPU follow that no product shows?
//!
//! Language versions asked for at run time and what took effect, libraries compiled elsewhere, small mistakes that a compiler should
//! refuse, what becomes of a destination's old content, what a slice is near and far from the base, whether tails of k read what lies
//! behind, and which distances between rows tensors take. Each question is asked by itself, so that a refusal of one is an answer and
//! hides no other, and one that ends its process is skipped in the next.

use super::alignment::{Outcome, STRIDES, sweep};
use super::diagnostic::Meaning;
use super::element::Element::{Bfloat, Float, Half, Int8, Int32};
use super::gpu::Gpu;
use super::level::{Language, Sdk};
use super::metallib::{Metallib, Version};
use super::modes::semantics;
use super::operation::Mode;
use super::probe::{self, Effective};
use super::product::Path;
use super::scales;
use super::tails::{ASKED, tail};
use super::traps::{Trap, spring};
use super::triples::Types;
use super::usage::Usage;
use crate::contract::{RuleAnswer, RuleQuestion};
use std::path::{Path as FilePath, PathBuf};

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

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// A language asked for at run time.
    Language(Language),
    /// A library compiled elsewhere.
    Library(PathBuf),
    /// A small mistake.
    Trap(Trap),
    /// What becomes of old content.
    Mode(Mode),
    /// A slice: extents of the whole, and where it begins.
    Slice([(u32, u32); 2]),
    /// A tail of k: k, and the step.
    Tail(usize, u32),
    /// Tensors with planes of scales.
    Scales,
    /// Distances between rows of tensors of a path, made for a use.
    Distances(Path, Usage),
}

/// Every question, in the order in which they are asked.
pub fn questions(gpu: &dyn Gpu, libraries: &[PathBuf]) -> Vec<Question> {
    let mut all = Language::LADDER.map(Question::Language).to_vec();
    all.extend(libraries.iter().cloned().map(Question::Library));
    if gpu.sdk().is_none() {
        return all;
    }
    all.extend(Trap::ALL.map(Question::Trap));
    all.extend([Mode::Multiply, Mode::MultiplyAccumulate].map(Question::Mode));
    all.extend(SLICES.map(Question::Slice));
    all.extend(ASKED.map(|(k, step)| Question::Tail(k, step)));
    all.push(Question::Scales);
    all.push(Question::Distances(Path::Inline, Usage::Compute));
    all.extend(Usage::ALL.map(|usage| Question::Distances(Path::Handle, usage)));
    all
}

impl Question {
    /// Its rule and what is asked, for a question that ends the process.
    pub fn words(&self) -> RuleQuestion {
        let (rule, asked) = match self {
            Question::Language(language) => ("language", language.to_string()),
            Question::Library(file) => ("library", named(file)),
            Question::Trap(trap) => ("trap", trap.mistake().to_owned()),
            Question::Mode(mode) => ("mode", format!("{} into any destination", mode.spelled())),
            Question::Slice([whole, origin]) => ("slice", slice_words(*whole, *origin)),
            Question::Tail(k, step) => ("tail of k", tail_words(*k, *step)),
            Question::Scales => ("scales", "tensors with planes of scales".to_owned()),
            Question::Distances(path, usage) => ("row distance", format!("tensors {}", made(*path, *usage))),
        };
        RuleQuestion { rule: rule.to_owned(), asked }
    }

    /// Asks it.
    pub fn ask(&self, gpu: &mut dyn Gpu) -> Vec<RuleAnswer> {
        match self {
            Question::Language(language) => {
                vec![versions("language", language.to_string(), probe::versions(gpu, *language))]
            }
            Question::Library(file) => {
                let loaded = gpu.load(file).map_err(|e| e.to_string());
                let told = loaded.and_then(|library| probe::effective(gpu, library));
                vec![versions("library", named(file), told)]
            }
            Question::Trap(trap) => vec![mistake(gpu, *trap)],
            Question::Mode(mode) => modes(gpu, *mode),
            Question::Slice([whole, origin]) => vec![slices(gpu, *whole, *origin)],
            Question::Tail(k, step) => vec![tails(gpu, *k, *step)],
            Question::Scales => scaled(gpu),
            Question::Distances(path, usage) => distances(gpu, *path, *usage),
        }
    }
}

/// A library's name and what it says of itself.
fn named(file: &FilePath) -> String {
    format!("{}, {}", file.display(), head(file))
}

/// Which tensors distances are asked of.
fn made(path: Path, usage: Usage) -> String {
    match path {
        Path::Handle => format!("made by the host{}", usage.words()),
        _ => "made by the kernel".to_owned(),
    }
}

/// What a library says of itself, whatever the system says of it.
fn head(file: &FilePath) -> String {
    let version = |(major, minor): Version| format!("{major}.{minor}");
    let read = std::fs::read(file).map_err(|e| e.to_string()).and_then(|bytes| Metallib::read(&bytes));
    match read {
        Err(why) => format!("which does not read: {why}"),
        Ok(library) => {
            let language = library.language().map_or("of no function".to_owned(), version);
            format!("language {language}, oldest system {}", version(library.minimum_os))
        }
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

fn tail_words(k: usize, step: u32) -> String {
    let how = if step == 0 { "at once".to_owned() } else { format!("in steps of {step}") };
    format!("k = {k} {how}, NaN behind both operands")
}

fn tails(gpu: &mut dyn Gpu, k: usize, step: u32) -> RuleAnswer {
    let asked = tail_words(k, step);
    match tail(gpu, Path::Inline, k, step) {
        Err(words) => refusal("tail of k", asked, words),
        Ok(seen) => answer("tail of k", asked, seen.to_string()),
    }
}

/// What tensors with planes of scales are; nothing under a header that has none.
fn scaled(gpu: &mut dyn Gpu) -> Vec<RuleAnswer> {
    if gpu.sdk().is_none_or(|sdk| sdk < Sdk::V27_0) {
        return Vec::new();
    }
    let told = |asked: &str, told: Result<String, String>| match told {
        Err(words) => refusal("scales", asked.to_owned(), words),
        Ok(seen) => answer("scales", asked.to_owned(), seen),
    };
    let cut = |gpu: &mut dyn Gpu, slices| scales::product(gpu, slices).map(|seen| seen.to_string());
    vec![
        told("tiles made anew, with their scales", cut(gpu, false)),
        told("tiles cut out as slices", cut(gpu, true)),
        told("rows of scales, where rows of elements are further apart than they are long", {
            scales::distance(gpu).map(|seen| seen.to_string())
        }),
    ]
}

fn slice_words((columns, rows): (u32, u32), (column, row): (u32, u32)) -> String {
    let begins = 2 * (u64::from(row) * u64::from(columns) + u64::from(column));
    format!("a slice of {columns} x {rows} elements at ({column}, {row}), {begins} bytes behind the base")
}

fn slices(gpu: &mut dyn Gpu, whole: (u32, u32), origin: (u32, u32)) -> RuleAnswer {
    let ((columns, rows), (column, row)) = (whole, origin);
    let asked = slice_words(whole, origin);
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

fn distances(gpu: &mut dyn Gpu, path: Path, usage: Usage) -> Vec<RuleAnswer> {
    let kind = made(path, usage);
    let mut answers = Vec::new();
    for types in SWEPT {
        let asked = |stride: usize| format!("rows of {} {stride} bytes apart, tensors {kind}", types.left.spelled());
        match sweep(gpu, path, types, usage) {
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
