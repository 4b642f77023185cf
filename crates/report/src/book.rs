//! What does a page of one unit say, and which page leads to them all?
//!
//! In the manner of an instruction set's reference: what a unit computes bit for bit and by which tests, where its elements lie, how fast
//! its path's loop runs with its types, what an operation costs. Everything comes from runs; a page without a rate has no run that measured one.

use crate::numbers::{fixed, percent};
use crate::source::Source;
use crate::text::{markdown, whole};
use crate::units::{Pictured, UnitView, conversion_words, lines, operand_name, pictured, question, views, word};
use rigel_ledger::units::{ArithmeticRecord, Claim, stem};
use rigel_ledger::{FactRow, Probe};
use rigel_numerics::layout::{
    FragmentOperand,
    emit::{self, Target},
};
use std::fmt::Write as _;

/// A page of a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BookPage {
    /// Its file.
    pub file: String,
    /// Markdown.
    pub text: String,
}

/// The file of the page that leads to all others.
pub const INDEX: &str = "README.md";

/// A page a unit of `source`, and [`INDEX`]. Rates and energies come from the runs `beside` it, of the same device; `run` is the
/// way from a page to the directory of `source`, for its pictures. Empty for a run that asked no unit.
pub fn book(source: Source<'_>, beside: &[Source<'_>], run: &str) -> Vec<BookPage> {
    let (views, pictures) = (views(source), pictured(source));
    if views.is_empty() {
        return Vec::new();
    }
    let mut pages: Vec<BookPage> = views
        .iter()
        .map(|view| BookPage { file: file(view), text: page(source, beside, run, view, &pictures) })
        .collect();
    pages.push(BookPage { file: INDEX.into(), text: index(source, beside, &views) });
    pages
}

fn file(view: &UnitView<'_>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-') { c } else { '_' };
    format!("{}.md", view.name().chars().map(plain).collect::<String>().trim_start_matches('.'))
}

fn origin(source: Source<'_>) -> String {
    let devices: Vec<String> = source
        .provenance
        .first()
        .map(|p| format!("{}, driver {}, {}", p.device.name, p.device.driver, p.device.toolchain))
        .into_iter()
        .collect();
    let kind = if source.simulated() { "Simulated" } else { "Measured" };
    format!("{kind}: {}. Written by the tool from the files in {}.", devices.join(""), source.files.directory)
}

fn tile(view: &UnitView<'_>) -> String {
    let shape = view.unit.shape;
    format!("{}×{}×{}", shape.m, shape.n, shape.k)
}

fn index(source: Source<'_>, beside: &[Source<'_>], views: &[UnitView<'_>]) -> String {
    let mut out = format!("# Units, one page each\n\n{}\n\n", markdown(&origin(source)));
    out.push_str("The last two columns are of the ceiling loop of a unit's path with its types, whichever of the path's instructions it executes: operations per cycle and core, and the energy of an operation above idle.\n\n");
    out.push_str("| unit | types | M×N×K | arithmetic | layout | loop: op/cycle/core | loop: pJ/op |\n| --- | --- | --- | --- | --- | ---: | ---: |\n");
    for view in views {
        let cells = [
            markdown(&view.unit.triple.pretty()),
            tile(view),
            word(view.arithmetic.map(|record| record.claim)),
            word(view.layout.map(|(record, _)| record.claim)),
            rate(beside, view).map_or_else(|| "–".into(), |rate| rate.each),
            energy(beside, view).map_or_else(|| "–".into(), |energy| energy.0),
        ];
        writeln!(out, "| [`{}`]({}) | {} |", view.name(), file(view), cells.join(" | ")).unwrap_or(());
    }
    out
}

/// What a loop reaches.
struct Rate {
    each: String,
    words: String,
}

/// The fact of this name about the loop of a unit's path and types, with the run that has it.
fn about<'a>(
    beside: &[Source<'a>],
    view: &UnitView<'_>,
    probe: Probe,
    name: &str,
) -> Option<(Source<'a>, &'a FactRow)> {
    beside.iter().find_map(|source| {
        let of = |fact: &&FactRow| {
            fact.probe == probe
                && fact.value.parse::<f64>().is_ok()
                && fact.name.starts_with(name)
                && fact.path == view.unit.path
                && fact.triple == Some(view.unit.triple)
                && fact.shape.is_none()
        };
        Some((*source, source.facts.iter().find(of)?))
    })
}

fn rate(beside: &[Source<'_>], view: &UnitView<'_>) -> Option<Rate> {
    let (source, fact) = about(beside, view, Probe::Throughput, "ceiling.per_clock")?;
    let cores = source.provenance.first().map(|p| f64::from(p.device.cores)).filter(|cores| *cores > 0.0)?;
    let each = |text: f64| fixed(text / cores, 0);
    let value = each(fact.value.parse().ok()?);
    let interval = fact.low.zip(fact.high).map_or_else(String::new, |(l, h)| format!(" [{}, {}]", each(l), each(h)));
    let stated = about(beside, view, Probe::Throughput, "ceiling.of_stated");
    let share = stated.and_then(|(_, fact)| fact.value.parse().ok()).map(percent);
    let share = share.map_or_else(String::new, |share| format!(", {share} of what is stated"));
    let words = format!(
        "{value}{interval} operations per cycle and core{share}: the loop of path {} with these types, whichever of its instructions that executes, {} ({})",
        view.unit.path, fact.words, source.files.directory
    );
    Some(Rate { each: value, words })
}

fn energy(beside: &[Source<'_>], view: &UnitView<'_>) -> Option<(String, String)> {
    let (source, fact) = about(beside, view, Probe::Power, "energy.operation.")?;
    let value = fixed(fact.value.parse().ok()?, 3);
    let interval = fact.low.zip(fact.high);
    let interval = interval.map_or_else(String::new, |(l, h)| format!(" [{}, {}]", fixed(l, 3), fixed(h, 3)));
    let meter = fact.name.trim_start_matches("energy.operation.");
    let unit = &fact.unit;
    let words = format!(
        "{value}{interval} {unit} an operation of the same loop, by {meter}: {} ({})",
        fact.words, source.files.directory
    );
    Some((value, words))
}

fn page(
    source: Source<'_>,
    beside: &[Source<'_>],
    run: &str,
    view: &UnitView<'_>,
    pictures: &[Pictured<'_>],
) -> String {
    let mut out = format!("# `{}`\n\n{} [All units]({INDEX}).\n\n", view.name(), markdown(&origin(source)));
    let mut rows = vec![
        ("path", view.unit.path.clone()),
        ("types", view.unit.triple.pretty()),
        ("M×N×K", tile(view)),
        ("described in", view.unit.source.clone()),
    ];
    rows.extend(rate(beside, view).map(|rate| ("rate of the path's loop", rate.words)));
    rows.extend(energy(beside, view).map(|energy| ("energy of that loop", energy.1)));
    out.push_str("| | |\n| --- | --- |\n");
    for (name, text) in rows {
        writeln!(out, "| {name} | {} |", markdown(&text)).unwrap_or(());
    }
    out.push_str("\n## What it computes\n\n");
    match view.arithmetic {
        Some(record) => out.push_str(&arithmetic(record)),
        None => out.push_str(
            "This run has no model of it: it was not asked, or not answered (the run's own page says which).\n\n",
        ),
    }
    let mut facts = lines(source, view);
    facts.extend(view.operands.iter().map(|operand| {
        let name = operand_name(operand).to_uppercase();
        (format!("codes of {name}"), conversion_words(operand))
    }));
    for (name, text) in &facts {
        writeln!(out, "- *{}*: {}", markdown(name), whole(text)).unwrap_or(());
    }
    out.push_str("\n## Where its elements lie\n\n");
    out.push_str(&layouts(view, run, pictures));
    out.push_str("## Again, and as code\n\n");
    let directory = &source.files.directory;
    if let Some(record) = view.arithmetic {
        let file = format!("{directory}/models/{}.json", stem(view.name(), record.cell));
        writeln!(out, "    rigel explain {directory} {}\n    rigel emit model {file} --as c", record.cell)
            .unwrap_or(());
    }
    if let Some((record, _)) = view.layout.filter(|(record, _)| record.claim == Claim::Exact) {
        let file = format!("{directory}/layouts/{}.csv", stem(view.name(), record.cell));
        writeln!(out, "    rigel emit layout {file} --as cuda").unwrap_or(());
    }
    out
}

/// Claim, model, validation and what speaks against it.
fn arithmetic(record: &ArithmeticRecord) -> String {
    let mut out = match record.claim {
        Claim::Exact => format!("**exact**: {}\n\n", whole(&record.words)),
        Claim::Inexact => {
            let beyond = markdown(&record.beyond.join("; "));
            format!("**inexact**: {}. Outside the family: {beyond}.\n\n", markdown(&record.why))
        }
    };
    if let Some(validation) = &record.validation {
        out.push_str("| distribution | fresh dot products | not predicted | 95 % bound where none |\n| --- | ---: | ---: | ---: |\n");
        for tested in &validation.distributions {
            let bound = if tested.mismatches == 0 { format!("{:.1e}", tested.bound) } else { String::new() };
            let name = tested.distribution.name().replace('_', " ");
            writeln!(out, "| {name} | {} | {} | {bound} |", tested.asked, tested.mismatches).unwrap_or(());
        }
        writeln!(
            out,
            "\nSeed {}, {} distinct rows of A and {} distinct columns of B, {} dot products at each element of the tile.\n",
            validation.seed, validation.rows, validation.columns, validation.at_each_element
        )
        .unwrap_or(());
    }
    if let Some(counterexample) = &record.counterexample {
        let (model, unit) = (counterexample.model.0, counterexample.unit.0);
        let asked = markdown(&question(&counterexample.question));
        writeln!(out, "First counterexample: the nearest model gives {model:x}, the unit {unit:x} for {asked}\n")
            .unwrap_or(());
    }
    out
}

/// Each operand as CuTe's shape and stride or as bases over F2, whichever can say it, and its picture.
fn layouts(view: &UnitView<'_>, run: &str, pictures: &[Pictured<'_>]) -> String {
    let Some((record, _)) = view.layout else { return "Its layouts were not asked in this run.\n\n".into() };
    if record.claim == Claim::Inexact {
        return format!("No layout: {}\n\n", markdown(&record.why));
    }
    let mut out = format!("{}\n\n", markdown(&record.convention));
    for (name, operand, layout) in view.layouts() {
        let written = |target| emit::layout(&layout, operand, target, name).ok();
        let written =
            written(Target::Cute).map(|text| ("CuTe", text)).or_else(|| Some(("over F2", written(Target::F2)?)));
        let form = written.map_or_else(
            || "no closed form; the table stands in its file".to_owned(),
            |(of, text)| format!("{of} `{}`", text.trim().trim_start_matches(['A', 'B', 'C', ' '])),
        );
        let title = if operand == FragmentOperand::C && name == "d" { "D".to_owned() } else { name.to_uppercase() };
        writeln!(out, "**{title}**, {} lanes of {} slots: {form}\n", layout.lanes(), layout.slots()).unwrap_or(());
        if let Some(picture) = pictures.iter().find(|p| p.operand == operand && p.layout == layout) {
            writeln!(out, "![Which lane holds which element of {title}]({run}/figures/{})\n", picture.file())
                .unwrap_or(());
        }
    }
    out
}
