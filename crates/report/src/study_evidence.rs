//! What does a run hold of the study's claims that are no rates of products: attention, accumulator, layouts, rules?

use crate::answers::{Answer, Ours, not, overlap};
use crate::headlines::Headline;
use crate::numbers::ratio;
use crate::reading::{Measure, Reading, shape_words};
use crate::study_codes;
use rigel_ledger::provenance::RuleRecord;
use rigel_ledger::units::{ArithmeticRecord, Claim, UnitRecord};
use rigel_ledger::{FactRow, Provenance};
use rigel_numerics::arithmetic::{Evaluator, Inputs};
use rigel_numerics::{Overflow, Rounding, Triple};
use std::collections::BTreeSet;

/// Terms of the study's hostile sum: 448 and 127 times 1/16.
const TERMS: usize = 128;
/// What it comes to.
const SUM: f64 = 455.9375;

/// How many times slower a fused attention is that leaves the matrix path, at every sequence that was run; any may agree, for it is
/// not known at which the study's range was seen.
pub(crate) fn attention(headline: &Headline, reading: &Reading<'_>, path: &str, triple: Option<Triple>) -> Ours {
    let scalar = reading.source.plan.baselines.a.as_str();
    let is_it = |fact: &&FactRow| {
        fact.name == "attention.over_fused"
            && fact.path == scalar
            && fact.triple == triple
            && fact.words.contains(&format!("over {path}"))
    };
    let slower = |m: Measure| Measure {
        value: 1.0 / m.value,
        low: m.high.map(|x| 1.0 / x),
        high: m.low.filter(|x| *x > 0.0).map(|x| 1.0 / x),
    };
    let measures: Vec<(String, Measure)> = (reading.source.facts.iter().filter(is_it))
        .filter_map(|fact| Some((fact.shape.map(shape_words)?, slower(Measure::of(fact)?))))
        .collect();
    if measures.is_empty() {
        return not("no scalar attention beside a fused one on the matrix path (preset attention)");
    }
    let words: Vec<String> = measures.iter().map(|(shape, m)| format!("{} at {shape}", m.words(ratio))).collect();
    let answers: Vec<Answer> = measures.iter().map(|(_, measure)| overlap(headline, *measure)).collect();
    let open = answers.iter().find(|answer| matches!(answer, Answer::Undecided(_)));
    let answer = match (answers.contains(&Answer::Agree), open) {
        (true, _) => Answer::Agree,
        (false, Some(open)) => open.clone(),
        (false, None) => Answer::Differ,
    };
    (words.join(", "), answer)
}

/// What the recovered model of a unit of the matrix path makes of the study's hostile sum, one unit after another.
pub(crate) fn accumulator(reading: &Reading<'_>, path: &str, triple: Option<Triple>) -> Ours {
    let record = reading.source.units.iter().find_map(|record| match record {
        UnitRecord::Arithmetic(record) if record.unit.path == path && Some(record.unit.triple) == triple => {
            Some(record)
        }
        _ => None,
    });
    let Some(record) = record else {
        return not("no unit of these types was asked (preset units)");
    };
    match hostile_sum(record) {
        None => {
            (record.why.clone(), Answer::Undecided("no exact model of the unit, or none that takes this sum".into()))
        }
        Some((sum, units)) => {
            let ours = format!("{sum} by the recovered model of {}, {units} in a row", record.unit.name);
            (ours, if sum == SUM { Answer::Agree } else { Answer::Differ })
        }
    }
}

/// The sum by an exact model, and how many units it took.
fn hostile_sum(record: &ArithmeticRecord) -> Option<(f64, usize)> {
    let (model, triple) = (record.model.as_ref().filter(|_| record.claim == Claim::Exact)?, record.unit.triple);
    let k = record.unit.shape.k;
    if !TERMS.is_multiple_of(k) {
        return None;
    }
    let evaluator = Evaluator::new(model, k).ok()?;
    let mut scratch = evaluator.scratch();
    let code = |x: f64| triple.a.encode(x, Rounding::NearestEven, Overflow::Ieee);
    let mut row = vec![code(0.0625); TERMS];
    row[0] = code(448.0);
    let ones = vec![triple.b.encode(1.0, Rounding::NearestEven, Overflow::Ieee); k];
    let sum = row.chunks_exact(k).fold(triple.c.encode(0.0, Rounding::NearestEven, Overflow::Ieee), |c, part| {
        evaluator.dot(&mut scratch, Inputs::new(part, &ones, c))
    });
    Some((triple.c.decode(sum), TERMS / k))
}

/// What a run has beside a finding of Table 1 that no headline repeats, by its number here; empty where it has nothing.
pub(crate) fn finding(number: u32, reading: &Reading<'_>, path: &str) -> String {
    match number {
        5 => layouts(reading, path),
        7 => loads(reading),
        8 => distances(reading),
        9 => traps(reading),
        10 => slices(reading),
        11 => study_codes::semantics(reading, path),
        _ => String::new(),
    }
}

/// Answers of the device to a rule.
fn answers<'a>(reading: &Reading<'a>, rule: &'a str) -> impl Iterator<Item = &'a RuleRecord> {
    let provenance: &'a [Provenance] = reading.source.provenance;
    provenance.iter().flat_map(|record| &record.device.rules).filter(move |r| r.rule == rule)
}

/// What became of the language at run time, and of libraries of it that other systems compiled.
fn loads(reading: &Reading<'_>) -> String {
    let here = answers(reading, "language").filter(|r| r.asked == "4.1").map(|r| format!("here {}", r.answer));
    let library = |r: &RuleRecord| format!("{}: {}", r.asked, r.answer);
    let libraries = answers(reading, "library").filter(|r| r.asked.contains(", language 4.1,")).map(library);
    here.chain(libraries).collect::<Vec<String>>().join("; ")
}

/// Distances of the host's tensors that are not fine, or that all are.
fn distances(reading: &Reading<'_>) -> String {
    let of_host = || answers(reading, "row distance").filter(|r| r.asked.contains("made by the host"));
    let bad: Vec<String> =
        of_host().filter(|r| r.answer != "fine").map(|r| format!("{}: {}", r.asked, r.answer)).collect();
    match (of_host().count(), bad.is_empty()) {
        (0, _) => String::new(),
        (asked, true) => format!("all of {asked} distances are fine"),
        (_, false) => bad.join("; "),
    }
}

/// The first trap, which is the study's own, and how many of all came out as expected.
fn traps(reading: &Reading<'_>) -> String {
    let head = |text: &str| text.split(';').next().unwrap_or_default().to_owned();
    let Some(first) = answers(reading, "trap").next() else { return String::new() };
    let all = answers(reading, "trap").filter(|r| !r.answer.starts_with("not tried")).count();
    let expected = answers(reading, "trap").filter(|r| r.answer.contains("as expected")).count();
    format!("{}: {}; {expected} of {all} traps as expected", head(&first.asked), head(&first.answer))
}

/// What slices are: once where all that were tried are alike.
fn slices(reading: &Reading<'_>) -> String {
    let tried: Vec<&RuleRecord> = answers(reading, "slice").filter(|r| !r.answer.starts_with("not tried")).collect();
    match tried.first() {
        None => String::new(),
        Some(first) if tried.iter().all(|r| r.answer == first.answer) => {
            format!("{}, at {} distances from the base", first.answer, tried.len())
        }
        Some(_) => tried.iter().map(|r| format!("{}: {}", r.asked, r.answer)).collect::<Vec<_>>().join("; "),
    }
}

/// How many maps the destinations of the matrix path's units have, and the first.
fn layouts(reading: &Reading<'_>, path: &str) -> String {
    let is_it = |fact: &&FactRow| fact.name == "layout.d" && fact.path.split('/').next() == Some(path);
    let words: Vec<&str> = reading.source.facts.iter().filter(is_it).map(|fact| fact.words.as_str()).collect();
    let maps: BTreeSet<&str> = words.iter().copied().collect();
    match (maps.len(), maps.first()) {
        (_, None) => String::new(),
        (1, Some(map)) => format!("one map of the destinations of {} units: {map}", words.len()),
        (n, Some(map)) => format!("{n} maps of the destinations of {} units, one of them: {map}", words.len()),
    }
}
