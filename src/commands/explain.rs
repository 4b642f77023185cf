//! What does a verdict rest on, down to the samples, and which command repeats just that block?

use super::table::engineering;
use crate::args::ExplainArgs;
use crate::exit::{Exit, failure};
use crate::terminal::{bold, faint};
use rigel_ledger::rows::{Work, name_of};
use rigel_ledger::store::{Run, Samples};
use rigel_ledger::{CellId, CellRow, FactRow};
use std::collections::BTreeSet;

/// Repetitions shown of a cell.
const SHOWN: usize = 8;

/// Prints the chain of evidence.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let run = Run::open(&args.run).map_err(|e| failure(Exit::Usage, e))?;
    let samples = run.samples().map_err(|e| failure(Exit::Usage, e))?;
    if let Ok(id) = args.what.parse::<CellId>() {
        let rows: Vec<&CellRow> = run.cells().iter().filter(|row| row.cell == id).collect();
        if rows.is_empty() {
            return Err(failure(Exit::NothingSelected, format!("no cell {id} in {}", args.run.display())));
        }
        cells(&rows, &samples);
        println!("{}", repeat(&run, rows[0]));
        return Ok(Exit::Fine);
    }
    let subjects = subjects(&run, &args.what);
    if subjects.is_empty() {
        let why =
            format!("no path, type triple or verdict of {} contains every word of `{}`", args.run.display(), args.what);
        return Err(failure(Exit::NothingSelected, why));
    }
    for (path, triple) in subjects {
        let facts: Vec<&FactRow> = run
            .facts()
            .iter()
            .filter(|f| f.path == path && f.triple.map(|t| t.to_string()).unwrap_or_default() == triple)
            .collect();
        subject(&run, &samples, &path, &triple, &facts);
    }
    Ok(Exit::Fine)
}

/// Paths and triples whose names, verdicts or outcomes contain every word.
fn subjects(run: &Run, what: &str) -> BTreeSet<(String, String)> {
    let words: Vec<String> = what.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let says = |f: &FactRow| {
        let triple = f.triple.map(|t| t.to_string()).unwrap_or_default();
        let text = format!("{} {triple} {} {}", f.path, f.name, f.value).to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let of = |f: &FactRow| (f.path.clone(), f.triple.map(|t| t.to_string()).unwrap_or_default());
    run.facts().iter().filter(|f| says(f)).map(of).collect()
}

fn subject(run: &Run, samples: &Samples, path: &str, triple: &str, facts: &[&FactRow]) {
    println!("{}", bold(&format!("{path} {triple}")));
    let (verdicts, others): (Vec<&&FactRow>, Vec<&&FactRow>) =
        facts.iter().partition(|f| f.name.starts_with("verdict."));
    for fact in verdicts.into_iter().chain(others) {
        let interval = match (fact.low, fact.high) {
            (Some(low), Some(high)) => format!(" [{}, {}]", engineering(low).trim(), engineering(high).trim()),
            _ => String::new(),
        };
        let value = match fact.value.parse::<f64>() {
            Ok(v) if !fact.unit.is_empty() => format!("{}{}", engineering(v), fact.unit),
            _ => fact.value.clone(),
        };
        let at = fact.shape.map(|s| format!(" at {s}")).unwrap_or_default();
        println!("  {:<24} {value}{interval}{at}", fact.name);
        if !fact.words.is_empty() {
            println!("  {:<24} {}", "", faint(&fact.words));
        }
    }
    let evidence: BTreeSet<CellId> =
        facts.iter().flat_map(|f| f.evidence.split_whitespace()).filter_map(|id| id.parse().ok()).collect();
    let rows: Vec<&CellRow> = run
        .cells()
        .iter()
        .filter(|r| evidence.contains(&r.cell) && r.path == path && r.triple.to_string() == triple)
        .collect();
    cells(&rows, samples);
    if let Some(row) = rows.iter().find(|row| row.work != Work::Rung).or(rows.first()) {
        println!("{}", repeat(run, row));
    }
    println!();
}

fn cells(rows: &[&CellRow], samples: &Samples) {
    for row in rows {
        let what = row.shape.map(|s| s.to_string()).unwrap_or_default();
        let error = row.gate_error.map(|e| format!(", error {e:e} of {:e} allowed", row.gate_tolerance.unwrap_or(0.0)));
        println!(
            "  cell {} process {}: {} {what} {} {}{} [{}]",
            row.cell,
            row.process,
            name_of(&row.work),
            row.tile,
            name_of(&row.outcome),
            error.unwrap_or_default(),
            row.block
        );
        if !row.reason.is_empty() {
            println!("    {}", row.reason);
        }
        let Some(slice) = samples.of(row.cell, row.process) else { continue };
        let first: Vec<String> = slice.times.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = if slice.times.len() > SHOWN { ", …" } else { "" };
        let summary = match (row.median_ns, row.ci_low_ns, row.ci_high_ns) {
            (Some(m), Some(l), Some(h)) => format!("median {m} [{l}, {h}] ns"),
            (Some(m), ..) => format!("median {m} ns"),
            _ => String::new(),
        };
        let modes = if row.modes.is_empty() { String::new() } else { format!(", modes {}", row.modes) };
        println!("    {} repetitions, {summary}{modes}", slice.times.len());
        println!("    {}", faint(&format!("time_ns: {}{more}", first.join(", "))));
    }
}

/// The command that measures just the block of a row.
fn repeat(run: &Run, row: &CellRow) -> String {
    let selector = run.provenance().first().map(|p| p.device.selector.clone()).unwrap_or_default();
    let plan = run.dir().join("plan.toml");
    let axis = match (row.work, row.shape) {
        (Work::Gemm, Some(shape)) => format!(" throughput --axis shape={shape}"),
        (Work::Rung, Some(shape)) => format!(" types --axis types-shape={shape}"),
        _ => " throughput".to_owned(),
    };
    format!("  repeat: rigel run{axis} --plan {} --device {selector} --fresh --out repeat", plan.display())
}
