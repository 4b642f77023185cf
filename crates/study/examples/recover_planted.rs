//! How many of N randomly planted units are recovered, and how many of the published models?
//!
//! `cargo run --release -p rigel-study --example recover_planted -- 1000 1` plants 1000 units under seed 1;
//! `... -- library` plants every published model, `... -- library 100000 volta turing` those whose names hold one of the words;
//! `... -- seeds 100000 17 18` recovers the units of seeds 17 and 18, both with a validation of 100000 dot products each.

#[path = "../tests/recovery_unit/mod.rs"]
mod recovery_unit;

use recovery_unit::{Deviation, Planted, same_function};
use rigel_numerics::Triple;
use rigel_numerics::arithmetic::{Evaluator, Model, draw_model, first_difference, library};
use rigel_numerics::random::{below, stream};
use rigel_study::recovery::{Effort, Recovered, recover};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const TRIPLES: [&str; 16] = [
    "f16,f16->f32",
    "f16,f16->f16",
    "bf16,bf16->f32",
    "tf32,tf32->f32",
    "f32,f32->f32",
    "f64,f64->f64",
    "e4m3,e4m3->f32",
    "e5m2,e4m3->f16",
    "e5m2,e5m2->f32",
    "e4m3_fnuz,e5m2_fnuz->f32",
    "e2m1,e2m1->f32",
    "e2m3,e3m2->f32",
    "bf16,bf16->bf16",
    "i8,i8->i32",
    "u8,i8->i32",
    "i4,i4->i32",
];

struct Outcome {
    name: String,
    exact: bool,
    same: bool,
    /// Parameters of a published model outside the class that was printed.
    outside: Vec<String>,
    before: u64,
    seconds: f64,
    words: String,
}

/// Processor time of this thread, s; wall time where the system does not say.
fn processor_seconds(since: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = text.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or(since.elapsed().as_secs_f64(), |ns| ns * 1e-9)
}

/// Everything of one recovery on one thread of its own; said as soon as it is there.
fn one(name: String, planted: &Model, k: usize, seed: u64, validation: u64, published: bool) -> Option<Outcome> {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().ok()?;
    let outcome = alone.install(|| recovered(name, planted, k, seed, validation, published))?;
    if !outcome.exact || !outcome.same || !outcome.outside.is_empty() {
        println!("{}", outcome.words);
    }
    let Outcome { name, exact, same, outside, before, seconds, .. } = &outcome;
    println!("{name}: exact {exact}, same {same}, {before} tiles, {seconds:.2} s");
    if !outside.is_empty() {
        println!("    outside the printed class: {}", outside.join("; "));
    }
    Some(outcome)
}

fn recovered(name: String, planted: &Model, k: usize, seed: u64, validation: u64, published: bool) -> Option<Outcome> {
    let mut unit = Planted::new(planted, (4, 4), k, Deviation::None).ok()?;
    let started = Instant::now();
    let before = processor_seconds(started);
    let recovery = recover(&mut unit, &Effort { validation, ..Effort::full(seed) }).ok()?;
    let seconds = processor_seconds(started) - before;
    let exact = recovery.recovered.is_exact();
    let same = recovery.recovered.model().is_some_and(|model| same_function(model, planted, k, seed, 20_000));
    let why = match &recovery.recovered {
        Recovered::Exact { .. } => String::new(),
        Recovered::Inexact { why, .. } => why.to_string(),
    };
    let told = match recovery.recovered.model() {
        Some(model) if exact && !same => told_apart(model, planted, k, seed),
        _ => String::new(),
    };
    let outside = recovery.recovered.unlisted(planted).filter(|_| published).unwrap_or_default();
    let words = format!("{name}: {why}{told}\n    planted   {planted}\n    recovered {recovery}");
    Some(Outcome { name, exact, same, outside, before: recovery.probes.before_validation(), seconds, words })
}

/// Inputs on which the recovered model and the planted one differ, as few terms as possible.
fn told_apart(model: &Model, planted: &Model, k: usize, seed: u64) -> String {
    let (Ok(one), Ok(other)) = (Evaluator::new(model, k), Evaluator::new(planted, k)) else { return String::new() };
    first_difference(&one, &other, stream(seed, 9), 20_000).map_or(String::new(), |difference| {
        let difference = difference.reduced(&one, &other);
        let [recovered, planted] = difference.codes;
        format!("\n    {:x?}: recovered {recovered:x}, planted {planted:x}", difference.inputs)
    })
}

/// Units one after another on as many threads as there are cores: threads of no pool, because one of a pool would begin another
/// unit while it waits for the first one's.
fn all<T: Sync>(items: &[T], each: impl Fn(&T) -> Option<Outcome> + Sync) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads() {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = each(item);
                    found.lock().expect("no thread panics").extend(outcome);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics")
}

fn drawn(seed: u64) -> Option<(Model, usize)> {
    let triple: Triple = TRIPLES[below(stream(seed, 3), 0, TRIPLES.len() as u64) as usize].parse().ok()?;
    (0..50).find_map(|n| {
        let model = draw_model(seed + (n << 32), triple)?;
        let k = model.k * if model.k < 4 { 4 } else { 1 };
        (k <= 32 && Planted::can_declare(&model, k)).then_some((model, k))
    })
}

fn planted_by(seed: u64, validation: u64) -> Option<Outcome> {
    let (model, k) = drawn(seed)?;
    one(format!("{seed} k {k}"), &model, k, seed, validation, false)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| arguments.get(i).and_then(|s| s.parse().ok()).unwrap_or(default);
    let outcomes: Vec<Outcome> = match arguments.first().map(String::as_str) {
        Some("library") => {
            let words = arguments.get(2..).unwrap_or_default();
            let named = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
            let mut distinct: Vec<(&str, Model, usize)> = Vec::new();
            for published in library().iter().filter(|published| named(&published.name)) {
                let model = &published.model;
                let k = model.k
                    * if model.k < 4 {
                        8
                    } else if model.k < 16 {
                        2
                    } else {
                        1
                    };
                if !distinct.iter().any(|(_, seen, _)| seen == model) {
                    distinct.push((&published.name, model.clone(), k));
                }
            }
            let validation = number(1, 100_000);
            all(&distinct, |(name, model, k)| one((*name).to_owned(), model, *k, 1, validation, true))
        }
        Some("seeds") => {
            let seeds: Vec<u64> = arguments[2..].iter().filter_map(|s| s.parse().ok()).collect();
            all(&seeds, |&seed| planted_by(seed, number(1, 100_000)))
        }
        _ => {
            let (count, first, validation) = (number(0, 100), number(1, 1) * 1_000_000, number(2, 100_000));
            let seeds: Vec<u64> = (0..count).map(|i| first + i).collect();
            all(&seeds, |&seed| planted_by(seed, validation))
        }
    };
    let share = |f: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| f(o)).count();
    let seconds: f64 = outcomes.iter().map(|o| o.seconds).sum();
    println!(
        "{} units: {} exact and right, {} exact and wrong, {} inexact; {} with parameters outside the printed class; most tiles before validation {}; {:.2} s each, {:.2} s at most",
        outcomes.len(),
        share(&|o| o.exact && o.same),
        share(&|o| o.exact && !o.same),
        share(&|o| !o.exact),
        share(&|o| !o.outside.is_empty()),
        outcomes.iter().map(|o| o.before).max().unwrap_or(0),
        seconds / outcomes.len().max(1) as f64,
        outcomes.iter().map(|o| o.seconds).fold(0.0, f64::max)
    );
}
