//! Which rungs of the capability ladder does each path and triple reach?
//!
//! Each rung is `yes`, `no` or `not tried`, `faster` may be `undecided`, and each is independent of the others. `compiles`, `loads` and `runs` are `yes` when any
//! shape of the fixed set gets that far, with the shapes that do not in words; `right` needs every shape. A process that
//! died or hung says that it did not run; how far it came before is unknown.

use super::Evidence;
use super::bench::Bench;
use super::cells::{Index, Pair};
use super::row::Subject;
use super::verdicts::Acceleration;
use crate::provenance::OfferRecord;
use crate::rows::{CellId, CellRow, FactRow, Outcome, Probe};
use crate::verdict::{Band, Comparison, Doubt, Standing};
use std::collections::BTreeMap;
use std::fmt;

/// An answer on the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
    /// Tried, and in doubt.
    Undecided,
    NotTried,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Undecided => "undecided",
            Answer::NotTried => "not tried",
        })
    }
}

/// The rungs of every pair that the device offers or that has ladder rows.
pub(super) fn facts<'a>(index: &Index<'a>, evidence: &Evidence<'a>, bench: &Bench<'a>) -> Vec<FactRow> {
    let mut offers: BTreeMap<Pair<'_>, &OfferRecord> = BTreeMap::new();
    for offer in evidence.provenance.iter().flat_map(|record| &record.device.offers) {
        offers.entry((&offer.path, offer.triple)).or_insert(offer);
    }
    let mut pairs: Vec<Pair<'_>> = offers.keys().chain(index.rungs.keys()).copied().collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut facts = Vec::new();
    for pair @ (path, triple) in pairs {
        let subject = Subject::triple(Probe::Types, path, triple);
        let offer = offers.get(&pair).copied();
        let rows = index.rungs.get(&pair).map_or(&[][..], Vec::as_slice);
        let ids: Vec<CellId> = rows.iter().map(|row| row.cell).collect();
        let (answer, words) = advertised(offer);
        facts.push(subject.word("rung.advertised", answer, words, &[]));
        let absent = offer.map(|offer| offer.absent.as_str()).filter(|why| !why.is_empty());
        for (name, reach) in [("rung.compiles", COMPILES), ("rung.loads", LOADS), ("rung.runs", RUNS)] {
            let (answer, words) = reached(rows, reach, absent);
            facts.push(subject.word(name, answer, words, &ids));
        }
        let (answer, words) = right(rows, evidence, absent);
        facts.push(subject.word("rung.right", answer, words, &ids));
        let (answer, words, ids) = faster(bench, pair);
        facts.push(subject.word("rung.faster", answer, words, &ids));
    }
    facts
}

fn advertised(offer: Option<&OfferRecord>) -> (Answer, String) {
    match offer {
        Some(offer) if offer.advertised => (Answer::Yes, offer.source.clone()),
        Some(offer) => (Answer::No, offer.source.clone()),
        None => (Answer::NotTried, "the device does not offer it".to_owned()),
    }
}

/// How far a rung row came: the least and the most number of steps (compile, load, run) that it may have taken.
fn steps(outcome: Outcome) -> Option<(u8, u8)> {
    match outcome {
        Outcome::Right | Outcome::Imprecise | Outcome::Wrong | Outcome::Mistrusted => Some((RUNS, RUNS)),
        Outcome::Absent | Outcome::Exact | Outcome::Inexact => None,
        Outcome::RefusedCompile => Some((0, 0)),
        Outcome::RefusedLoad => Some((COMPILES, COMPILES)),
        Outcome::OutOfMemory | Outcome::DeviceLost | Outcome::Failed => Some((LOADS, LOADS)),
        Outcome::Crashed | Outcome::Hung => Some((0, LOADS)),
    }
}

const COMPILES: u8 = 1;
const LOADS: u8 = 2;
const RUNS: u8 = 3;

fn told(row: &CellRow) -> String {
    let shape = row.shape.map(|shape| format!("{shape}: ")).unwrap_or_default();
    let outcome = crate::rows::name_of(&row.outcome);
    if row.reason.is_empty() { format!("{shape}{outcome}") } else { format!("{shape}{outcome} ({})", row.reason) }
}

fn not_tried(rows: &[&CellRow], absent: Option<&str>) -> (Answer, String) {
    let from_rows = || rows.iter().find(|row| row.outcome == Outcome::Absent).map(|row| row.reason.clone());
    let why = absent.map(str::to_owned).or_else(from_rows);
    (Answer::NotTried, why.unwrap_or_else(|| "the plan did not ask".to_owned()))
}

fn reached(rows: &[&CellRow], reach: u8, absent: Option<&str>) -> (Answer, String) {
    let tried: Vec<(&CellRow, (u8, u8))> = rows.iter().filter_map(|row| Some((*row, steps(row.outcome)?))).collect();
    if tried.is_empty() {
        return not_tried(rows, absent);
    }
    let yes = tried.iter().filter(|(_, (least, _))| *least >= reach).count();
    let short: Vec<String> = tried.iter().filter(|(_, (_, most))| *most < reach).map(|(row, _)| told(row)).collect();
    let unknown: Vec<String> =
        tried.iter().filter(|(_, (least, most))| *least < reach && *most >= reach).map(|(row, _)| told(row)).collect();
    let mut words = format!("{yes} of {} cells", tried.len());
    if !short.is_empty() {
        words.push_str(&format!("; not {}", short.join(", ")));
    }
    if !unknown.is_empty() {
        words.push_str(&format!("; unknown for {}", unknown.join(", ")));
    }
    let answer = match (yes, short.len()) {
        (0, 0) => Answer::NotTried,
        (0, _) => Answer::No,
        _ => Answer::Yes,
    };
    (answer, words)
}

fn right(rows: &[&CellRow], evidence: &Evidence<'_>, absent: Option<&str>) -> (Answer, String) {
    let tried: Vec<&CellRow> = rows.iter().copied().filter(|row| row.outcome != Outcome::Absent).collect();
    if tried.is_empty() {
        return not_tried(rows, absent);
    }
    let bad: Vec<String> = tried.iter().filter(|row| row.outcome != Outcome::Right).map(|row| told(row)).collect();
    let axes = &evidence.plan.types;
    let asked = axes.shapes.iter().flat_map(|shape| axes.recipes.iter().map(move |recipe| (*shape, *recipe)));
    let missing: Vec<String> = asked
        .filter(|&(shape, recipe)| !tried.iter().any(|row| row.shape == Some(shape) && row.recipe == Some(recipe)))
        .map(|(shape, recipe)| format!("{shape} {}", recipe.name()))
        .collect();
    let counted = format!("{} of {} cells right", tried.len() - bad.len(), tried.len());
    if !bad.is_empty() {
        return (Answer::No, format!("{counted}; not {}", bad.join(", ")));
    }
    if !missing.is_empty() {
        return (Answer::NotTried, format!("{counted}, but without {}", missing.join(", ")));
    }
    (Answer::Yes, counted)
}

/// `yes` when every comparison that may decide lies wholly above 1, in every clock state; `undecided` where one is in doubt.
fn faster<'a>(bench: &Bench<'a>, (path, triple): Pair<'a>) -> (Answer, String, Vec<CellId>) {
    if triple == bench.plan.matches.triple {
        return (Answer::NotTried, "it is the match".to_owned(), Vec::new());
    }
    if !bench.judges(triple) {
        return (Answer::NotTried, "the plan does not judge this triple".to_owned(), Vec::new());
    }
    let Acceleration { case, evidence, .. } = bench.acceleration(path, triple);
    let thresholds = &bench.plan.thresholds;
    let decides = |share: Option<f64>| matches!(Standing::of(share, thresholds), Standing::Decides { .. });
    let products = case.products.iter().filter(|product| decides(product.share));
    let compared: Vec<(&str, &Comparison)> = products
        .map(|product| (product.name.as_str(), &product.comparison))
        .chain(case.ceiling.iter().map(|comparison| ("ceiling", comparison)))
        .collect();
    if compared.is_empty() {
        let why = case.ceiling.err().unwrap_or_else(|| "nothing to compare".to_owned());
        return (Answer::NotTried, format!("no deciding ratio: {why}"), evidence);
    }
    let words: Vec<String> = compared.iter().map(|(name, comparison)| format!("{name} {comparison}")).collect();
    let words = words.join("; ");
    let bands: Result<Vec<Band>, Doubt> = compared.iter().map(|(_, comparison)| comparison.band(1.0)).collect();
    let bands = match bands {
        Ok(bands) => bands,
        Err(doubt) => return (Answer::Undecided, format!("{words}; {doubt}"), evidence),
    };
    let wholly_above = |comparison: &Comparison| comparison.ranges().iter().all(|&(low, _)| low > 1.0);
    let yes = bands.iter().all(|band| *band == Band::Above) && compared.iter().all(|(_, c)| wholly_above(c));
    (if yes { Answer::Yes } else { Answer::No }, words, evidence)
}
