//! How is a fact written down?

use crate::rows::{CacheState, CellId, FactRow, Probe};
use crate::statistics::Interval;
use crate::units::UnitIdentity;
use rigel_numerics::{Recipe, Shape, Triple};

/// Who a fact is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Subject {
    pub(super) probe: Probe,
    pub(super) path: String,
    pub(super) triple: Option<Triple>,
    /// Extents, where they are no product's that was timed.
    pub(super) shape: Option<Shape>,
    pub(super) product: Option<(Shape, Recipe, CacheState)>,
}

impl Subject {
    /// The run as a whole.
    pub(super) fn run(probe: Probe) -> Self {
        Subject { probe, path: String::new(), triple: None, shape: None, product: None }
    }

    /// A path.
    pub(super) fn path(probe: Probe, path: &str) -> Self {
        Subject { probe, path: path.to_owned(), triple: None, shape: None, product: None }
    }

    /// A unit or conversion, and what it multiplies.
    pub(super) fn unit(probe: Probe, unit: &UnitIdentity) -> Self {
        Subject::triple(probe, &format!("{}/{}", unit.path, unit.name), unit.triple)
    }

    /// A triple on a path.
    pub(super) fn triple(probe: Probe, path: &str, triple: Triple) -> Self {
        Subject { probe, path: path.to_owned(), triple: Some(triple), shape: None, product: None }
    }

    /// A fact whose value is a word.
    pub(super) fn word(&self, name: &str, value: impl ToString, words: String, evidence: &[CellId]) -> FactRow {
        let mut cells = evidence.to_vec();
        cells.sort_unstable();
        cells.dedup();
        let cells: Vec<String> = cells.iter().map(CellId::to_string).collect();
        FactRow {
            probe: self.probe,
            path: self.path.clone(),
            triple: self.triple,
            shape: self.product.map(|(shape, ..)| shape).or(self.shape),
            recipe: self.product.map(|(_, recipe, _)| recipe),
            cache: self.product.map(|(.., cache)| cache),
            name: name.to_owned(),
            value: value.to_string(),
            unit: String::new(),
            low: None,
            high: None,
            words,
            evidence: cells.join(" "),
        }
    }

    /// A fact whose value is a number in a unit (empty for a ratio).
    pub(super) fn number(
        &self,
        name: &str,
        (value, unit): (f64, &str),
        interval: Option<Interval>,
        words: String,
        evidence: &[CellId],
    ) -> FactRow {
        FactRow {
            unit: unit.to_owned(),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            ..self.word(name, value, words, evidence)
        }
    }
}

/// The order of `facts.csv`; ties are settled by value and words, so that it never depends on the order of input.
pub(super) fn sort(facts: &mut [FactRow]) {
    facts.sort_by(|a, b| {
        let key = |f: &FactRow| (f.probe, f.triple, f.shape, f.recipe, f.cache);
        a.probe
            .cmp(&b.probe)
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| (&a.name, &a.value, &a.words).cmp(&(&b.name, &b.value, &b.words)))
    });
}
