//! What does a verdict rest on, down to the samples, and which command repeats just that block?

use super::table::{engineering, value};
use crate::args::ExplainArgs;
use crate::exit::{Exit, failure};
use crate::terminal::{bold, faint, wrapped};
use rigel_ledger::rows::{Work, name_of};
use rigel_ledger::statistics::{Modality, Mode};
use rigel_ledger::store::{Run, Samples};
use rigel_ledger::units::{RowZero, UnitRecord, Vector, files_of, folder};
use rigel_ledger::{CellId, CellRow, FactRow, block_name};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Repetitions shown of a cell.
const SHOWN: usize = 8;
/// Characters before the value of a fact.
const INDENT: usize = 27;
/// Characters before each clause of its words: comparisons are long, and a narrow column would break each into many lines.
const CLAUSE: usize = 6;

/// Prints the chain of evidence.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    if args.tolerance {
        return super::tolerance::tolerance(args);
    }
    let run = super::opening::open(&args.run)?;
    let samples = run.samples().map_err(|e| failure(Exit::Usage, e))?;
    let mut out = crate::terminal::output();
    if super::opening::is_simulated(&run) {
        writeln!(out, "{}", bold("simulated: from a software device with planted facts"))?;
    }
    if let Ok(id) = args.what.parse::<CellId>() {
        let rows: Vec<&CellRow> = run.cells().iter().filter(|row| row.cell == id).collect();
        if rows.is_empty() {
            return Err(failure(Exit::NothingSelected, format!("no cell {id} in {}", args.run.display())));
        }
        writeln!(out, "{}", repeat(&run, rows[0], &rows))?;
        cells(&mut out, &run, &rows, &samples)?;
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
        subject(&mut out, &run, &samples, (&path, &triple), &facts)?;
    }
    Ok(Exit::Fine)
}

/// Paths and triples whose names, verdicts or outcomes contain every word.
fn subjects(run: &Run, what: &str) -> BTreeSet<(String, String)> {
    let words: Vec<String> = what.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let says = |f: &FactRow| {
        let triple = f.triple.map(|t| t.to_string()).unwrap_or_default();
        let text = format!("{} {triple} {} {}", f.path, f.name, f.value).to_lowercase();
        words.iter().all(|word| rigel_ledger::plan::begins(&text, word))
    };
    let of = |f: &FactRow| (f.path.clone(), f.triple.map(|t| t.to_string()).unwrap_or_default());
    run.facts().iter().filter(|f| says(f)).map(of).collect()
}

fn subject(
    out: &mut impl Write,
    run: &Run,
    samples: &Samples,
    (path, triple): (&str, &str),
    facts: &[&FactRow],
) -> io::Result<()> {
    writeln!(out, "{}", bold(&format!("{path} {triple}")))?;
    let (verdicts, others): (Vec<&&FactRow>, Vec<&&FactRow>) =
        facts.iter().partition(|f| f.name.starts_with("verdict."));
    for fact in verdicts.into_iter().chain(others) {
        let at = fact.shape.map(|s| format!(" at {s}")).unwrap_or_default();
        writeln!(out, "  {:<24} {}", fact.name, wrapped(&format!("{}{at}", told(fact)), INDENT))?;
        // A sentence is clauses joined by `; `: one a line.
        for clause in rigel_report::columns::clauses(&fact.words) {
            let clause = if fact.name == "modes" { rigel_report::times_shown(clause, time) } else { clause.to_owned() };
            writeln!(out, "{}", faint(&format!("{:CLAUSE$}{}", "", wrapped(&clause, CLAUSE + 2))))?;
        }
    }
    let evidence: BTreeSet<CellId> = facts.iter().flat_map(|f| ids(&f.evidence)).collect();
    let rows: Vec<&CellRow> = run
        .cells()
        .iter()
        .filter(|r| evidence.contains(&r.cell) && is_about(r, path) && r.triple.to_string() == triple)
        .collect();
    let named = |fact: &&&FactRow| fact.name.starts_with("verdict.");
    let ids: BTreeSet<CellId> = facts.iter().filter(named).flat_map(|f| ids(&f.evidence)).collect();
    let behind: Vec<&CellRow> = run.cells().iter().filter(|row| ids.contains(&row.cell)).collect();
    if let Some(row) = rows.iter().find(|row| row.work == Work::Gemm).or(rows.first()) {
        writeln!(out, "{}", repeat(run, row, if behind.is_empty() { &rows } else { &behind }))?;
    }
    cells(out, run, &rows, samples)?;
    writeln!(out)
}

fn cells(out: &mut impl Write, run: &Run, rows: &[&CellRow], samples: &Samples) -> io::Result<()> {
    for row in rows {
        let what = row.shape.map(|s| s.to_string()).unwrap_or_default();
        let error = row.gate_error.map(|e| format!(", error {e:e} of {:e} allowed", row.gate_tolerance.unwrap_or(0.0)));
        let about = [name_of(&row.work), what, row.tile.clone(), name_of(&row.outcome)];
        let about: Vec<&str> = about.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let (cell, process, error) = (row.cell, row.process, error.unwrap_or_default());
        let line = format!("cell {cell} process {process}: {}{error}, block {}", about.join(" "), row.block);
        writeln!(out, "  {}", wrapped(&line, 4))?;
        if !row.reason.is_empty() {
            writeln!(out, "    {}", wrapped(&row.reason, 4))?;
        }
        for name in files_of(row) {
            writeln!(out, "    {}", run.dir().join(name).display())?;
        }
        if let Some(record) = run.units().iter().find(|record| record.cell() == row.cell) {
            sample(out, record)?;
        }
        let Some(slice) = samples.of(row.cell, row.process) else { continue };
        let first: Vec<String> = slice.times.iter().take(SHOWN).map(ToString::to_string).collect();
        let more = if slice.times.len() > SHOWN { ", …" } else { "" };
        let summary = match (row.median_ns, row.ci_low_ns, row.ci_high_ns) {
            (Some(m), Some(l), Some(h)) => format!("median {m} [{l}, {h}] ns"),
            (Some(m), ..) => format!("median {m} ns"),
            _ => String::new(),
        };
        writeln!(out, "    {} repetitions, {summary}", slice.times.len())?;
        modes(row).iter().try_for_each(|mode| writeln!(out, "    mode: {mode}"))?;
        writeln!(out, "    {}", faint(&wrapped(&format!("time_ns: {}{more}", first.join(", ")), 4)))?;
    }
    Ok(())
}

/// The value of a fact; of a unit's as it stands in the file, for counts and bounds are read digit by digit.
fn told(fact: &FactRow) -> String {
    if folder(fact.probe).is_none() {
        return value(fact);
    }
    let interval = match (fact.low, fact.high) {
        (Some(low), Some(high)) => format!(" [{low}, {high:.1e}]"),
        _ => String::new(),
    };
    format!("{}{interval} {}", fact.value, fact.unit).trim_end().to_owned()
}

/// Whether a row is of a path, or of the unit that `path/unit` names.
fn is_about(row: &CellRow, subject: &str) -> bool {
    row.path == subject || subject.strip_prefix(&row.path).and_then(|rest| rest.strip_prefix('/')) == Some(&row.tile)
}

/// The first of the raw inputs and outputs behind a unit's row, in hexadecimal.
fn sample(out: &mut impl Write, record: &UnitRecord) -> io::Result<()> {
    let hex = |codes: &[u64]| codes.iter().take(SHOWN).map(|code| format!("{code:x}")).collect::<Vec<_>>().join(" ");
    let (total, lines): (usize, Vec<String>) = match record {
        UnitRecord::Arithmetic(record) => {
            let each = record.vectors.iter().step_by(record.vectors.len().div_ceil(6).max(1));
            let line = |v: &Vector| {
                let says = v.model.map_or("as the model".to_owned(), |code| format!("the model: {:x}", code.0));
                let (a, b) = (hex(&v.inputs.a.0), hex(&v.inputs.b.0));
                format!("{}: a [{a}] b [{b}] c {:x}: {:x}, {says}", v.distribution.name(), v.inputs.c.0, v.d.0)
            };
            (record.vectors.len(), each.map(line).collect())
        }
        UnitRecord::Layout { record, .. } => {
            (record.sample.len(), record.sample.iter().take(1).map(|launch| format!("d: {}", launch.d)).collect())
        }
        UnitRecord::Conversion(record) => {
            let pairs = record.sample.0.iter().zip(&record.converted.0).take(SHOWN);
            let pairs: Vec<String> = pairs.map(|(code, found)| format!("{code:x} to {found:x}")).collect();
            (record.sample.0.len(), vec![pairs.join(", ")])
        }
        UnitRecord::Order(record) => {
            let row = |row: &RowZero| format!("from {} rows on, row 0 is {}", row.from, hex(&row.d.0));
            (record.met.len(), record.row_zero.iter().map(row).collect())
        }
    };
    writeln!(out, "    {total} sampled inputs and outputs; of them")?;
    lines.iter().try_for_each(|line| writeln!(out, "    {}", faint(line)))
}

/// The modes of a row, each with its rate (its time, where it has no operations), its weight and its clock.
fn modes(row: &CellRow) -> Vec<String> {
    // What does not read is told as it stands.
    let Ok(modes) = Modality::parse_column(&row.modes) else { return vec![row.modes.clone()] };
    let all: u32 = modes.iter().map(|mode| mode.count).sum();
    let told = |mode: &Mode| {
        let speed = match row.operations {
            Some(operations) if operations > 0 => {
                format!("{}op/s", engineering(operations as f64 / (mode.median_ns * 1e-9)))
            }
            _ => time(mode.median_ns),
        };
        let share = 100.0 * f64::from(mode.count) / f64::from(all.max(1));
        let clock = mode.clock_mhz.map(|mhz| format!(" at {:.2} GHz", mhz / 1000.0)).unwrap_or_default();
        format!("{speed} in {} of {all} repetitions ({share:.0} %){clock}", mode.count)
    };
    modes.iter().map(told).collect()
}

/// A time for people: `2.63 ms`.
fn time(ns: f64) -> String {
    let scales = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (scale, unit) = scales.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1.0, "ns"));
    format!("{}{unit}", engineering(ns / scale))
}

/// Ids in the evidence of a fact.
fn ids(evidence: &str) -> impl Iterator<Item = CellId> + '_ {
    evidence.split_whitespace().filter_map(|id| id.parse().ok())
}

/// The command that measures the blocks of some rows again, by the run's own plan, into a directory named after the first. With
/// products come the ceilings: without them no verdict about a product is decided.
fn repeat(run: &Run, first: &CellRow, rows: &[&CellRow]) -> String {
    let base = |row: &CellRow| block_name::base(row.block.trim_end_matches(block_name::LEFT_OUT)).to_owned();
    let mut blocks: BTreeSet<String> = rows.iter().filter(|row| row.work != Work::Rung).map(|row| base(row)).collect();
    blocks.insert(base(first));
    let products = rows.iter().any(|row| row.work == Work::Gemm);
    blocks.extend(run.cells().iter().filter(|row| products && row.work == Work::Ceiling).map(base));
    let selector = run.provenance().first().map(|p| p.device.selector.clone()).unwrap_or_default();
    let plan = run.dir().join("plan.toml").display().to_string();
    let blocks: String = blocks.iter().map(|block| format!(" --block {}", shell_word(block))).collect();
    let [plan, selector] = [&plan, &selector].map(|text| shell_word(text));
    format!("  repeat: rigel run --plan {plan} --device {selector}{blocks} --out repeat-{}", first.cell)
}

/// A text as one word of a POSIX shell: as it is where no character is special, else in single quotes.
fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,=+@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_shell_reads_back_the_word() {
        for text in ["runs/quick-cpu/plan.toml", "my runs/plan.toml", "it's/plan.toml", "ladder/tiled/f32,f32->f32", ""]
        {
            let echo =
                std::process::Command::new("sh").args(["-c", &format!("printf %s {}", shell_word(text))]).output();
            assert_eq!(String::from_utf8_lossy(&echo.unwrap().stdout), text);
        }
    }
}
