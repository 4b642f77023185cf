//! What is said of each path and type triple, in one line for a terminal, a README and a page?

use crate::columns::{Columns, wrap};
use crate::numbers::{percent, rate};
use crate::reading::{Measure, Reading, Subject, shape_words};
use crate::source::Source;
use crate::text::{markdown, visible};
use rigel_ledger::FactRow;
use rigel_ledger::verdict::CEILING_ALONE;
use rigel_numerics::Triple;
use std::collections::BTreeSet;

/// One line per path and type triple that was tried or advertised, in the order of the device's offers.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictTable {
    /// The lines.
    pub rows: Vec<VerdictRow>,
    /// `measured` or `simulated`.
    pub kind: &'static str,
    /// The match, for the column's head.
    pub matched: Triple,
    /// Required provenance that is missing: then no verdict may be given and none is shown.
    pub incomplete: Vec<String>,
    /// Whether the run is sealed; one that is not has no verdicts yet.
    pub sealed: bool,
    /// What of the plan is not in the run, in words; empty when it is whole.
    pub parts: String,
}

/// What is said of one path and type triple.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictRow {
    /// Path, as it stands in the files.
    pub path: String,
    /// Type triple.
    pub triple: Triple,
    /// Rate of the best launch tile at the largest size, with its interval: `48.1 Gop/s [47.9, 48.3]`; of repetitions in
    /// modes that lie apart the rate of each: `6.40, 4.58 Top/s (2 modes)`.
    pub rate: String,
    /// That size: `2048³`; empty where there is no rate.
    pub size: String,
    /// Ratio to the match on the same path, with interval: what `accelerated` is said of.
    pub ratio: String,
    /// Ratio to the match on the path of the device where it is fastest, with interval.
    pub ratio_to_fastest: String,
    /// Share of the path's own measured ceiling.
    pub share: String,
    /// How the gate came out over all products: `right`, `imprecise (12 of 36)`, …
    pub gate: String,
    /// Verdict words, joined by `; `.
    pub verdict: String,
    /// Why the verdict is what it is, or why there is none: clauses joined by `; `.
    pub words: String,
    /// Ids of the cells that the verdict rests on.
    pub evidence: Vec<String>,
    /// Whether it was tried on this device; else it is only advertised or absent.
    pub tried: bool,
    /// Whether it could not be tried here; else a row that was not tried was not asked for.
    pub absent: bool,
}

/// Heads of the columns, in the order of [`VerdictRow::columns`].
pub const HEADS: [&str; 8] =
    ["path", "type triple", "rate", "÷ path's match", "÷ fastest match", "of ceiling", "gate", "verdict"];

impl VerdictTable {
    /// The table of a source.
    pub fn new(source: Source<'_>) -> Self {
        Self::of(&Reading::new(source))
    }

    pub(crate) fn of(reading: &Reading<'_>) -> Self {
        let incomplete = reading.source.incomplete();
        let lines = reading.subjects.iter().map(|s| row(reading, *s, incomplete.is_empty())).collect();
        let source = reading.source;
        let rows = || source.facts.iter().find(|fact| fact.name == "incomplete.rows").map(|fact| fact.words.clone());
        let parts = rigel_ledger::parts::missing_parts(source.provenance).map(|parts| parts.to_string()).or_else(rows);
        VerdictTable {
            rows: lines,
            kind: source.kind(),
            matched: source.plan.matches.triple,
            incomplete,
            sealed: source.sealed(),
            parts: parts.unwrap_or_default(),
        }
    }

    /// For a terminal of so many characters a line (`None`: one line a row): paths as headings, columns that wrap between
    /// words, control characters made visible, headings painted by `strong`; untried lines are left out and counted below.
    pub fn text(&self, width: Option<usize>, strong: impl Fn(&str) -> String) -> String {
        let tried = || self.rows.iter().filter(|row| row.tried);
        let mut sizes: Vec<&str> = tried().map(|row| row.size.as_str()).filter(|size| !size.is_empty()).collect();
        sizes.dedup();
        let mut heads: Vec<String> = HEADS[1..].iter().map(|head| (*head).to_owned()).collect();
        // One size for all stands in the head and not in every line.
        let one_size = sizes.len() == 1;
        if let (Some(rate), true) = (heads.get_mut(1), one_size) {
            *rate = format!("{rate} at {}", visible(sizes[0]));
        }
        let mut columns = Columns::new(heads);
        let mut path = None;
        for row in tried() {
            if path != Some(&row.path) {
                columns.heading(visible(&row.path));
                path = Some(&row.path);
            }
            let [_, triple, rate, rest @ ..] = row.columns();
            let rate = if one_size && !row.rate.is_empty() { row.rate.clone() } else { rate };
            columns.row([triple, rate].into_iter().chain(rest).map(|cell| visible(&cell)));
        }
        let mut out = columns.text(width, strong);
        for note in self.notes() {
            let note = visible(&note);
            let lines = width.map_or_else(|| vec![note.clone()], |width| wrap(&note, width));
            lines.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        }
        out
    }

    /// As a Markdown table; untried lines are left out and counted below.
    pub fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|{}\n", HEADS.join(" | "), " --- |".repeat(HEADS.len()));
        for row in self.rows.iter().filter(|r| r.tried) {
            out.push_str(&format!("| {} |\n", row.columns().map(|c| markdown(&c)).join(" | ")));
        }
        for note in self.notes() {
            out.push_str(&format!("\n{}\n", markdown(&note)));
        }
        out
    }

    /// What must be said below the table.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.kind == "simulated" {
            notes.push("Simulated: a software device with planted facts, no physical processor.".to_owned());
        }
        if !self.sealed {
            notes.push("Not sealed: the run is still being measured or was stopped, nothing vouches for its files, and no verdict is given yet.".to_owned());
        }
        if !self.parts.is_empty() {
            notes.push(format!("Not the whole plan: {}. Verdicts stand on the blocks that are here.", self.parts));
        }
        if !self.incomplete.is_empty() {
            notes.push(format!(
                "Incomplete provenance, so no verdict is given. Missing: {}.",
                self.incomplete.join(", ")
            ));
        }
        let untried = |absent: bool| self.rows.iter().filter(|r| !r.tried && r.absent == absent).count();
        for (pairs, why) in
            [(untried(true), "that could not be tried here"), (untried(false), "that this run did not ask for")]
        {
            if pairs > 0 {
                let pairs = crate::numbers::counted(pairs, "pair");
                notes.push(format!("Not in this table: {pairs} of path and type triple {why}."));
            }
        }
        notes
    }
}

impl VerdictRow {
    /// `48.1 Gop/s [47.9, 48.3] at 2048³`.
    fn rate_and_size(&self) -> String {
        if self.size.is_empty() { self.rate.clone() } else { format!("{} at {}", self.rate, self.size) }
    }

    /// The columns as text, not escaped.
    pub fn columns(&self) -> [String; HEADS.len()] {
        let or_dash = |s: &str| if s.is_empty() { "–".to_owned() } else { s.to_owned() };
        [
            self.path.clone(),
            self.triple.pretty(),
            or_dash(&self.rate_and_size()),
            or_dash(&self.ratio),
            or_dash(&self.ratio_to_fastest),
            or_dash(&self.share),
            or_dash(&self.gate),
            or_dash(&self.verdict),
        ]
    }
}

/// Verdict words side by side. Two that are undecided for one reason say it once; a lone one says what is undecided.
fn joined(verdicts: &[&FactRow]) -> String {
    let open = |fact: &&FactRow| fact.value.starts_with("undecided");
    let mut words: Vec<String> = Vec::new();
    for fact in verdicts {
        let about = fact.name.rsplit('.').next().unwrap_or_default();
        let alike = verdicts.iter().filter(|other| other.value == fact.value).count();
        let word = if open(fact) && verdicts.len() > 1 && alike == 1 {
            format!("{about} {}", fact.value)
        } else if !open(fact) && fact.words.contains(CEILING_ALONE) {
            format!("{} by the ceilings alone", fact.value)
        } else {
            fact.value.clone()
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join("; ")
}

fn row(reading: &Reading<'_>, subject: Subject<'_>, complete: bool) -> VerdictRow {
    let largest = |name| reading.largest(name, subject);
    let number = |fact: Option<&FactRow>| fact.and_then(Measure::of);
    let rate_fact = largest("rate");
    let (rate, size) = match (rate_fact, number(rate_fact)) {
        (Some(fact), Some(measure)) => {
            let rate = rates_of_modes(reading, subject, fact).unwrap_or_else(|| rate_words(measure));
            (rate, fact.shape.map(shape_words).unwrap_or_default())
        }
        _ => Default::default(),
    };
    let ratio = |name| number(largest(name)).map(|m| m.words(crate::numbers::ratio)).unwrap_or_default();
    let verdicts: Vec<&FactRow> =
        ["verdict.acceleration", "verdict.win"].iter().filter_map(|name| reading.fact(name, subject)).collect();
    let tally = reading.tallies.get(&subject);
    let absent = reading
        .source
        .provenance
        .iter()
        .flat_map(|p| &p.device.offers)
        .find(|o| o.path == subject.path && o.triple == subject.triple && !o.absent.is_empty());
    let tried = tally.is_some_and(|t| t.outcomes.keys().any(|o| o.0 != rigel_ledger::Outcome::Absent))
        || rate_fact.is_some()
        || reading.fact("ceiling", subject).is_some();
    let mut words: Vec<&str> = verdicts.iter().map(|f| f.words.as_str()).filter(|w| !w.is_empty()).collect();
    if !tried {
        words.extend(absent.map(|o| o.absent.as_str()));
    }
    if words.is_empty() {
        words.extend(tally.map(|t| t.reason).filter(|r| !r.is_empty()));
    }
    let (mut evidence, mut seen): (Vec<String>, BTreeSet<&str>) = Default::default();
    for id in verdicts.iter().flat_map(|f| f.evidence.split_whitespace()) {
        if seen.insert(id) {
            evidence.push(id.to_owned());
        }
    }
    let verdict = if !complete {
        "incomplete".to_owned()
    } else if verdicts.is_empty() && !tried {
        "absent".to_owned()
    } else {
        joined(&verdicts)
    };
    VerdictRow {
        path: subject.path.to_owned(),
        triple: subject.triple,
        rate,
        size,
        ratio: ratio("ratio.match_path"),
        ratio_to_fastest: ratio("ratio.match_device"),
        share: number(largest("rate.of_ceiling")).map(|m| percent(m.value)).unwrap_or_default(),
        gate: tally.map(crate::reading::Tally::words).unwrap_or_default(),
        verdict,
        words: words.join("; "),
        evidence,
        tried,
        absent: absent.is_some() || tally.is_some(),
    }
}

/// The fastest mode of a product over its slowest from which on a line shows the rate of each.
const MODES_APART: f64 = 1.05;

/// The rate of each mode, fastest first, of a product whose repetitions lie in several: `6.40, 4.58 Top/s (2 modes)`. Their median is a
/// rate that it may never run at; of modes that lie nearer than [`MODES_APART`] it is close to both.
fn rates_of_modes(reading: &Reading<'_>, subject: Subject<'_>, rate: &FactRow) -> Option<String> {
    let modes = reading.lead_facts("modes", subject).filter(|modes| modes.shape == rate.shape).last()?;
    let count = modes.value.parse::<u32>().ok().filter(|count| *count > 1)?;
    let operations = modes.shape?.operations() as f64;
    let words: Vec<&str> = modes.words.split(' ').collect();
    let times =
        words.windows(2).filter(|pair| pair[1].starts_with("ns")).filter_map(|pair| pair[0].parse::<f64>().ok());
    let mut rates: Vec<f64> = times.filter(|ns| *ns > 0.0).map(|ns| operations / (ns * 1e-9)).collect();
    rates.sort_by(|x, y| y.total_cmp(x));
    let (fastest, slowest) = (*rates.first()?, *rates.last()?);
    if fastest < MODES_APART * slowest {
        return None;
    }
    let unit = crate::numbers::Prefixed::rate(fastest);
    let rates: Vec<String> = rates.into_iter().map(|rate| unit.bare(rate)).collect();
    Some(format!("{} {} ({count} modes)", rates.join(", "), unit.symbol))
}

/// A rate and its interval under one unit: `48.1 Gop/s [47.9, 48.3]`.
pub(crate) fn rate_words(measure: Measure) -> String {
    if measure.low.is_none() || measure.high.is_none() {
        return rate(measure.value);
    }
    let unit = crate::numbers::Prefixed::rate(measure.value.abs());
    let (low, high) = (measure.low.unwrap_or(measure.value), measure.high.unwrap_or(measure.value));
    format!("{} {} [{}, {}]", unit.bare(measure.value), unit.symbol, unit.bare(low), unit.bare(high))
}
