//! Does a record say what its own numbers give?
//!
//! Vectors, launches and codes are made again from the seed and evaluated by the model, the map or the rule of the record. What a
//! device gave cannot be made again without it: an output is taken as stated where the model is not exact, and everywhere the
//! counts of the validation are.

use super::arithmetic::{ArithmeticRecord, Question, Vector, drawn_inputs};
use super::conversion::{ConversionRecord, sampled_codes};
use super::layout::{LayoutRecord, SAMPLED, drawn_launch};
use super::record::{Claim, UnitRecord};
use rigel_numerics::arithmetic::{Distribution, Evaluator, library};
use rigel_numerics::layout::fragments;

/// Vectors of each distribution in a record.
pub const VECTORS: u64 = 16;

/// Everything in a record that does not follow from the rest of it, in words.
pub fn flaws(record: &UnitRecord) -> Vec<String> {
    match record {
        UnitRecord::Arithmetic(record) => arithmetic(record),
        UnitRecord::Layout { record, table } => layout(record, table),
        UnitRecord::Conversion(record) => conversion(record),
        UnitRecord::Order(record) => record.flaws(),
    }
}

fn arithmetic(record: &ArithmeticRecord) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            flaws.push(what.to_owned());
        }
    };
    let exact = record.claim == Claim::Exact;
    must(exact == record.why.is_empty(), "`why` says why a claim is inexact, and nothing of an exact one");
    let words = record.model.as_ref().map(ToString::to_string).unwrap_or_default();
    must(words == record.words, "`words` are not those of the model");
    if let Some(model) = &record.model {
        let unit = &record.unit;
        must(model.k > 0 && unit.shape.k.is_multiple_of(model.k), "the unit's k is no multiple of the model's");
        must(
            (model.triple.a, model.triple.b, model.triple.c) == (unit.triple.a, unit.triple.b, unit.triple.c),
            "the model has other formats than the unit",
        );
        must(
            model.scales.map(|s| s.group) == unit.scales.map(|(_, group)| group),
            "the model has other scales than the unit",
        );
    }
    if let Some(validation) = &record.validation {
        let named: Vec<Distribution> = validation.distributions.iter().map(|tested| tested.distribution).collect();
        must(named == Distribution::ALL, "the validation does not name every distribution once, in order");
        let bound = |asked: u64| 3.0 / asked as f64;
        let whole = validation
            .distributions
            .iter()
            .all(|t| t.asked > 0 && t.bound == bound(t.asked) && t.mismatches <= t.asked);
        must(whole, "a bound is not 3 divided by the dot products asked");
        must(
            validation.element_bound == bound(validation.at_each_element),
            "`element_bound` is not 3 divided by `at_each_element`",
        );
    }
    let mismatches = record.validation.as_ref().map(|validation| validation.mismatches());
    must(!exact || mismatches == Some(0), "an exact claim needs a model and a validation without mismatch");
    must(
        !exact || (record.counterexample.is_none() && record.contradiction.is_none()),
        "an exact claim has no counterexample",
    );
    must(!exact || record.model.is_some(), "an exact claim needs a model");
    if let Some(contradiction) = &record.contradiction {
        must(
            contradiction.question.fits(&record.unit) && contradiction.first != contradiction.other,
            "the contradiction is none",
        );
    }
    let expected = Distribution::ALL.into_iter().flat_map(|d| (0..VECTORS).map(move |index| (d, index)));
    must(
        record.vectors.iter().map(|v| (v.distribution, v.index)).eq(expected),
        "there are not the vectors of every distribution, in order",
    );
    // Libraries grow: only names that are known here are held against the vectors.
    let predicting = record.predicting();
    let known = |name: &String| library().iter().any(|published| published.name == *name);
    let strangers = record.published.iter().filter(|name| known(name) && !predicting.contains(name));
    flaws.extend(strangers.map(|name| format!("the published model `{name}` does not predict the vectors")));
    let evaluator = match record.evaluator() {
        Some(Ok(evaluator)) => Some(evaluator),
        Some(Err(why)) => {
            flaws.push(format!("the model cannot be evaluated: {why}"));
            None
        }
        None => None,
    };
    let fits = |question: &Question, what: &str| {
        (!question.fits(&record.unit)).then(|| format!("{what} has another number of codes than the unit takes"))
    };
    if let Some(counterexample) = &record.counterexample {
        flaws.extend(fits(&counterexample.question, "the counterexample"));
        if flaws.is_empty()
            && let Some(evaluator) = &evaluator
        {
            let says = evaluate(evaluator, &counterexample.question);
            if says != counterexample.model.0 || counterexample.model == counterexample.unit {
                flaws.push(format!(
                    "counterexample: the model gives {says:x}, it states {:x} against {:x}",
                    counterexample.model.0, counterexample.unit.0
                ));
            }
        }
    }
    flaws.extend(
        record
            .vectors
            .iter()
            .enumerate()
            .filter_map(|(i, v)| vector(record, evaluator.as_ref(), v).map(|what| format!("vector {i}: {what}"))),
    );
    flaws
}

fn vector(record: &ArithmeticRecord, evaluator: Option<&Evaluator>, vector: &Vector) -> Option<String> {
    if vector.inputs != drawn_inputs(&record.unit, record.seed, vector.distribution, vector.index) {
        return Some("its inputs are not those that the seed gives".to_owned());
    }
    if vector.model.is_some() && (record.claim == Claim::Exact || vector.model == Some(vector.d)) {
        return Some("it states another code of the model than the unit's, which the claim rules out".to_owned());
    }
    let says = evaluate(evaluator?, &vector.inputs);
    let stated = vector.model.unwrap_or(vector.d).0;
    (says != stated).then(|| format!("the model gives {says:x}, not {stated:x}"))
}

fn evaluate(evaluator: &Evaluator, question: &Question) -> u64 {
    let inputs = question.inputs();
    evaluator.dot(&mut evaluator.scratch(), inputs.codes())
}

fn layout(record: &LayoutRecord, table: &str) -> Vec<String> {
    if record.claim == Claim::Inexact {
        let empty = table.is_empty() && record.sample.is_empty() && record.published.is_empty();
        let flaw = if record.why.is_empty() { Some("an inexact claim needs its reason") } else { None };
        let beside = (!empty).then_some("there is a map beside a doubt");
        return flaw.into_iter().chain(beside).map(str::to_owned).collect();
    }
    let (fragment, addend) = match record.layouts(table) {
        Ok(layouts) => layouts,
        Err(why) => return vec![format!("the table: {why}")],
    };
    if !record.declares(&fragment, &addend) {
        return vec!["the table has other lanes or slots than the unit declares".to_owned()];
    }
    let mut flaws = Vec::new();
    if !record.why.is_empty() {
        flaws.push("an exact claim has no reason against it".to_owned());
    }
    if record.sample.len() as u64 != SAMPLED {
        flaws.push(format!("{} sampled launches; a record has {SAMPLED}", record.sample.len()));
    }
    for (index, launch) in record.sample.iter().enumerate() {
        let said = drawn_launch(&fragment, &addend, &record.unit, record.seed, index as u64);
        flaws.extend(launch.flaw(&said, record.slots[2]).map(|what| format!("launch {index}: {what}")));
    }
    for name in &record.published {
        let published = fragments().iter().find(|published| published.name == *name);
        match published.map(|published| fragment.agreement(&published.fragment)) {
            Some(rigel_numerics::layout::Agreement::Different(place)) => {
                flaws.push(format!("it is not `{name}`: {place}"))
            }
            None => flaws.push(format!("no published layout `{name}` is known")),
            Some(_) => {}
        }
    }
    flaws
}

fn conversion(record: &ConversionRecord) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut must = |holds: bool, what: &str| {
        if !holds {
            flaws.push(what.to_owned());
        }
    };
    let exact = record.claim == Claim::Exact;
    must(
        exact == (record.deviating == 0) && exact == record.why.is_empty(),
        "the claim is exact where no code deviates, and only there",
    );
    must(record.rule.to_string() == record.words, "`words` are not those of the rule");
    must(
        record.rule.from.bits() == record.from.bits() && record.rule.to.bits() == record.to.bits(),
        "the rule has formats of another width",
    );
    must(
        record.all == (record.from.bits() <= 16) && (!record.all || record.codes == 1 << record.from.bits()),
        "`all` codes are not so many",
    );
    must(record.deviations.len() as u64 <= record.deviating, "there are more deviations than deviating codes");
    let wrong =
        |d: &super::Deviation| record.rule.of(d.code.0) != d.rule.0 || record.rule.explains(d.code.0, d.found.0);
    must(!record.deviations.iter().any(wrong), "a deviation is none by the rule");
    let sample = sampled_codes(record.from, record.seed);
    must(record.sample.0 == sample, "the sampled codes are not those that the seed gives");
    must(record.converted.0.len() == sample.len(), "there are not as many converted codes as sampled ones");
    let listed_all = record.deviations.len() as u64 == record.deviating;
    for (&code, &found) in record.sample.0.iter().zip(&record.converted.0) {
        let listed = record.deviations.iter().any(|d| (d.code.0, d.found.0) == (code, found));
        if !record.rule.explains(code, found) && !listed && listed_all {
            flaws.push(format!("code {code:x}: the rule gives {:x}, not {found:x}", record.rule.of(code)));
        }
    }
    flaws
}
