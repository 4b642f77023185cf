//! What do the records of units say, and whose arithmetic is a composition of others'?

use super::row::Subject;
use crate::rows::{CellId, FactRow, Probe, name_of};
use crate::statistics::Interval;
use crate::units::{
    ArithmeticRecord, Claim, ConversionRecord, LayoutRecord, OrderRecord, Question, UnitRecord, Validation,
};
use rigel_numerics::Triple;
use rigel_numerics::arithmetic::{Composition, Distribution, Node, Part, compositions};
use rigel_numerics::layout::Layout;

/// Dot products of each distribution on which compositions are compared.
const COMPARED: u64 = 20_000;
/// Settings, codes and names that a sentence lists; the files hold all.
const LISTED: usize = 8;

/// A unit that computes as another one's steps do.
pub(super) struct Composed {
    pub(super) path: String,
    pub(super) triple: Triple,
    /// The composed unit's cell and the other one's.
    cells: [CellId; 2],
    found: Composition,
}

impl Composed {
    /// For the sentence of a verdict.
    pub(super) fn words(&self) -> String {
        format!("{} ({} of unit {})", self.found.words, self.found.unit, self.found.of)
    }
}

/// Every pair of units with exact models of which one is a non-trivial composition of the other's steps. The seed is the one
/// of the composed unit's record.
pub(super) fn composed(units: &[UnitRecord]) -> Vec<Composed> {
    let exact = units.iter().filter_map(|unit| match unit {
        UnitRecord::Arithmetic(record) if record.claim == Claim::Exact => Some(&**record),
        _ => None,
    });
    let models: Vec<(&ArithmeticRecord, Part<'_>)> = exact
        .filter_map(|record| Some((record, Part { unit: &record.unit.name, model: record.model.as_ref()? })))
        .collect();
    let Some(seed) = models.iter().map(|(record, _)| record.seed).min() else { return Vec::new() };
    let parts: Vec<Part<'_>> = models.iter().map(|(_, part)| *part).collect();
    let record = |name: &str| models.iter().map(|(record, _)| *record).find(|record| record.unit.name == name);
    let found = compositions(&parts, seed, COMPARED).into_iter();
    let of = |found: Composition| {
        let (own, other) = (record(&found.unit)?, record(&found.of)?);
        let (path, triple) = (own.unit.path.clone(), own.unit.triple);
        Some(Composed { path, triple, cells: [own.cell, other.cell], found })
    };
    found.filter_map(of).collect()
}

/// Facts of every record.
pub(super) fn facts(units: &[UnitRecord], composed: &[Composed]) -> Vec<FactRow> {
    let of = |unit: &UnitRecord| match unit {
        UnitRecord::Arithmetic(record) => arithmetic(record, composed),
        UnitRecord::Layout { record, table } => layout(record, table),
        UnitRecord::Conversion(record) => conversion(record),
        UnitRecord::Order(record) => order(record),
    };
    units.iter().flat_map(of).collect()
}

fn arithmetic(record: &ArithmeticRecord, composed: &[Composed]) -> Vec<FactRow> {
    let subject = Subject::unit(Probe::Arithmetic, &record.unit);
    let cells = [record.cell];
    let mut facts = vec![subject.word("arithmetic", name_of(&record.claim), claim(record), &cells)];
    if let Some(model) = &record.model {
        let kind = match model.body {
            Node::Step(_) => "step",
            Node::Chain(_) => "chain",
            Node::Join(_) => "join",
        };
        facts.push(subject.word("arithmetic.model", kind, record.words.clone(), &cells));
    }
    if let Some(validation) = &record.validation {
        facts.extend(deviations(&subject, validation, &cells));
    }
    if !record.published.is_empty() {
        let words = format!(
            "published models of these types that predict all {} sampled vectors; no validation was made of them",
            record.vectors.len()
        );
        facts.push(subject.word("arithmetic.published", record.published.join(", "), words, &cells));
    }
    if !record.class.is_empty() {
        let class = record.class.iter().map(|undetermined| {
            let settings = undetermined.settings.iter().take(LISTED).cloned().collect::<Vec<_>>().join(" or ");
            let more = undetermined.settings.len().saturating_sub(LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}: {settings}{more}", undetermined.parameter)
        });
        let words = format!("no input that was tried separates: {}", class.collect::<Vec<_>>().join("; "));
        facts.push(subject.number("arithmetic.undetermined", (record.class.len() as f64, ""), None, words, &cells));
    }
    let tiles = record.tiles;
    let words = format!(
        "{} for steadiness, {} for structure, {} for parameters, {} for elimination; then {} for validation and {} for \
         operand bits and vectors",
        tiles.steadiness, tiles.structure, tiles.parameters, tiles.elimination, tiles.validation, tiles.others
    );
    facts.push(subject.number("arithmetic.tiles", (tiles.before_validation() as f64, "tile"), None, words, &cells));
    for kept in &record.operands {
        let least = if kept.shown { "" } else { "at least " };
        let exponents = match kept.exponents {
            None => "no power of two comes through".to_owned(),
            Some(seen) if seen == kept.tried => format!("every power of two tried, 2^{} to 2^{}", seen.0, seen.1),
            Some((low, high)) => {
                format!("powers of two from 2^{low} to 2^{high} of 2^{} to 2^{} tried", kept.tried.0, kept.tried.1)
            }
        };
        let (bits, all) = (kept.significand, kept.format.precision());
        let words =
            format!("{least}{bits} of the {all} significant bits of {} come through, and {exponents}", kept.format);
        let name = format!("operand.{}", kept.operand);
        facts.push(subject.number(&name, (f64::from(bits), "bit"), None, words, &cells));
    }
    for other in composed.iter().filter(|other| other.cells[0] == record.cell) {
        let Composition { of, words, agreed, witness, code, single, .. } = &other.found;
        let witness = question(&Question::from(witness.clone()));
        let words = format!(
            "{words}; equal on {agreed} dot products of each distribution; a single step over all k is another function: \
             {witness} gives {code:x}, one step {single:x}"
        );
        facts.push(subject.word("arithmetic.composed", of, words, &other.cells));
    }
    facts
}

/// What the claim rests on, in a sentence.
fn claim(record: &ArithmeticRecord) -> String {
    let tested = record.validation.as_ref().map(|v| {
        let bound = v.distributions.iter().map(|tested| tested.bound).fold(0.0, f64::max);
        let bounds = match v.mismatches() {
            0 => format!(
                "; with 95 % confidence fewer than {bound:.1e} of each of {} distributions deviate, and fewer than {:.1e} at each \
                 element of the tile",
                v.distributions.len(),
                v.element_bound
            ),
            _ => String::new(),
        };
        let (rows, columns) = (v.rows, v.columns);
        format!("{} of {} fresh dot products over {rows} rows and {columns} columns differ{bounds}", v.mismatches(), v.asked())
    });
    let counterexample = record.counterexample.as_ref().map(|counterexample| {
        let (model, unit) = (counterexample.model.0, counterexample.unit.0);
        format!(
            "first counterexample: {} gives {unit:x}, the nearest model {model:x}",
            question(&counterexample.question)
        )
    });
    let why = (!record.why.is_empty()).then(|| record.why.clone());
    let beyond = (!record.beyond.is_empty()).then(|| format!("outside the family: {}", record.beyond.join(", ")));
    [why, tested, counterexample, beyond].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Codes of a question in hexadecimal.
fn question(question: &Question) -> String {
    let codes = |codes: &[u64]| {
        let some: Vec<String> = codes.iter().take(32).map(|code| format!("{code:x}")).collect();
        let more = if codes.len() > 32 { format!(" and {} more", codes.len() - 32) } else { String::new() };
        format!("[{}{more}]", some.join(" "))
    };
    format!("a {}, b {}, c {:x}", codes(&question.a.0), codes(&question.b.0), question.c.0)
}

fn deviations(subject: &Subject, validation: &Validation, cells: &[CellId]) -> Vec<FactRow> {
    let fact = |name: String, mismatches: u64, asked: u64| {
        let high = if mismatches == 0 { 3.0 / asked as f64 } else { mismatches as f64 / asked as f64 };
        let rate = mismatches as f64 / asked as f64;
        let interval = (mismatches == 0).then_some(Interval { low: 0.0, high, coverage: 0.95 });
        subject.number(&name, (rate, ""), interval, format!("{mismatches} of {asked} fresh dot products"), cells)
    };
    let all = fact("arithmetic.deviation".to_owned(), validation.mismatches(), validation.asked());
    let name = |distribution: Distribution| format!("arithmetic.deviation.{}", distribution.name());
    let each = validation.distributions.iter().map(|t| fact(name(t.distribution), t.mismatches, t.asked));
    std::iter::once(all).chain(each).collect()
}

fn layout(record: &LayoutRecord, table: &str) -> Vec<FactRow> {
    let subject = Subject::unit(Probe::Layout, &record.unit);
    let cells = [record.cell];
    let words = if record.claim == Claim::Exact { &record.convention } else { &record.why };
    let mut facts = vec![subject.word("layout", name_of(&record.claim), words.clone(), &cells)];
    if let Ok((fragment, addend)) = record.layouts(table) {
        let operands = [("a", &fragment.a), ("b", &fragment.b), ("c", &addend), ("d", &fragment.c)];
        facts.extend(operands.map(|(name, layout)| {
            let (kind, words) = form(layout);
            subject.word(&format!("layout.{name}"), kind, words, &cells)
        }));
    }
    if !record.published.is_empty() {
        let words = "the same up to one relabelling each of m, n and k".to_owned();
        facts.push(subject.word("layout.published", record.published.join(", "), words, &cells));
    }
    let l = record.launches;
    let total = l.d + l.a + l.b + l.c + l.confirmation;
    let words =
        format!("{} on sight and D, {} on A, {} on B, {} on C, {} on confirmation", l.d, l.a, l.b, l.c, l.confirmation);
    facts.push(subject.number("layout.launches", (total as f64, "launch"), None, words, &cells));
    facts
}

/// What kind of map a layout is, and its formula.
fn form(layout: &Layout) -> (&'static str, String) {
    let coverage = layout.coverage().words();
    match (layout.mixed_radix(), layout.affine()) {
        (Ok(digits), Ok(_)) => ("linear over F2", format!("{coverage}; {digits}")),
        (Ok(digits), Err(_)) => ("mixed radix", format!("{coverage}; {digits}")),
        (Err(_), Ok(map)) => ("linear over F2", format!("{coverage}; {map}")),
        (Err(place), Err(_)) => ("table", format!("{coverage}; no formula: {place}")),
    }
}

fn order(record: &OrderRecord) -> Vec<FactRow> {
    let subject = Subject { shape: Some(record.unit.shape), ..Subject::unit(Probe::Order, &record.unit) };
    let cells = [record.cell];
    let words = if record.claim == Claim::Exact { &record.words } else { &record.why };
    let mut facts = vec![subject.word("order", name_of(&record.claim), words.clone(), &cells)];
    let by = record.by.map_or(String::new(), |by| format!("by products of {by}; "));
    let words = format!("{by}of them {} pairs that the finished tree was held against", record.met.len());
    facts.push(subject.number("order.dots", (record.dots as f64, "dot product"), None, words, &cells));
    if let Some((word, words)) = record.dependence() {
        facts.push(subject.word("order.batch", word, words, &cells));
    }
    facts
}

fn conversion(record: &ConversionRecord) -> Vec<FactRow> {
    let subject = Subject::unit(Probe::Specials, &record.unit);
    let cells = [record.cell];
    let all = if record.all { "all " } else { "" };
    let alike = match record.alike.len() {
        0 => String::new(),
        n => format!("; as well {} other rules, as {}", n, record.alike[0]),
    };
    let words = format!(
        "{}: explains {} of {all}{} codes{alike}",
        record.words,
        record.codes - record.deviating.min(record.codes),
        record.codes
    );
    let mut facts = vec![subject.word("conversion", name_of(&record.claim), words, &cells)];
    let rate = record.deviating as f64 / record.codes.max(1) as f64;
    let listed = record.deviations.iter().take(LISTED);
    let listed: Vec<String> =
        listed.map(|d| format!("{:x} gives {:x}, not {:x}", d.code.0, d.found.0, d.rule.0)).collect();
    let listed = if listed.is_empty() { String::new() } else { format!("; first: {}", listed.join(", ")) };
    let words = format!("{} of {all}{} codes{listed}", record.deviating, record.codes);
    facts.push(subject.number("conversion.deviating", (rate, ""), None, words, &cells));
    if !record.nan_words.is_empty() {
        let words: Vec<String> = record.nan_words.0.iter().map(|word| format!("{word:x}")).collect();
        let some = "words that NaN codes became, in hexadecimal, at most 8".to_owned();
        facts.push(subject.word("conversion.nan", words.join(" "), some, &cells));
    }
    facts
}
