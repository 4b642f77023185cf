//! Which facts and cells belong to a path and type triple, in which order are they shown, and which stand for it?

use crate::source::Source;
use rigel_ledger::rows::{CacheState, Work};
use rigel_ledger::{CellRow, FactRow, Outcome};
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::BTreeMap;

/// What most facts are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject<'a> {
    pub path: &'a str,
    pub triple: Triple,
}

/// A number of a fact with its interval, where it has one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Measure {
    /// The number of a fact; none when its value is a word or not finite.
    pub fn of(fact: &FactRow) -> Option<Self> {
        let finite = |x: &f64| x.is_finite();
        let value = fact.value.parse::<f64>().ok().filter(finite)?;
        Some(Measure { value, low: fact.low.filter(finite), high: fact.high.filter(finite) })
    }

    /// Value and interval, as far as they are there: what an axis must hold.
    pub fn ends(self) -> impl Iterator<Item = f64> {
        [Some(self.value), self.low, self.high].into_iter().flatten()
    }

    /// `1.98 [1.95, 2.01]`, each number printed by `print`.
    pub fn words(self, print: impl Fn(f64) -> String) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{} [{}, {}]", print(self.value), print(low), print(high)),
            _ => print(self.value),
        }
    }
}

/// How the products of one subject came out, over cells and processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally<'a> {
    /// Rows per outcome.
    pub outcomes: BTreeMap<Order<Outcome>, usize>,
    /// A reason given for an outcome other than `right`: the first in the order of letters.
    pub reason: &'a str,
}

/// An outcome, ordered as declared: from `right` to `failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order<T>(pub T);

impl PartialOrd for Order<Outcome> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Order<Outcome> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0 as u8).cmp(&(other.0 as u8))
    }
}

impl Tally<'_> {
    /// `right`, or what else was seen and how often: `imprecise (12 of 36)`.
    pub fn words(&self) -> String {
        let total: usize = self.outcomes.values().sum();
        if total == 0 {
            return "not tried".to_owned();
        }
        let part = |(outcome, n): (&Order<Outcome>, &usize)| {
            let word = rigel_ledger::rows::name_of(&outcome.0).replace('-', " ");
            if *n == total { word } else { format!("{word} ({n} of {total})") }
        };
        self.outcomes.iter().map(part).collect::<Vec<_>>().join(", ")
    }
}

/// Facts by name, then path, then triple.
type Facts<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeMap<Option<Triple>, Vec<&'a FactRow>>>>;

/// A source, indexed once for everything that is drawn from it.
pub(crate) struct Reading<'a> {
    pub source: Source<'a>,
    /// Every (path, triple) with a fact or a row, in the order of the device's offers, then by name.
    pub subjects: Vec<Subject<'a>>,
    /// Outcomes of products and rungs per subject.
    pub tallies: BTreeMap<Subject<'a>, Tally<'a>>,
    facts: Facts<'a>,
    lead: Option<(Option<Recipe>, Option<CacheState>)>,
}

impl<'a> Reading<'a> {
    pub fn new(source: Source<'a>) -> Self {
        let mut facts: Facts<'a> = BTreeMap::new();
        // Facts about single units have a section of their own.
        for fact in source.facts.iter().filter(|fact| rigel_ledger::units::folder(fact.probe).is_none()) {
            let paths = facts.entry(&fact.name).or_default();
            paths.entry(&fact.path).or_default().entry(fact.triple).or_default().push(fact);
        }
        for group in facts.values_mut().flat_map(BTreeMap::values_mut).flat_map(BTreeMap::values_mut) {
            group.sort_by_key(|f| (size_of(f.shape), f.shape, f.recipe, f.cache));
        }
        let mut tallies: BTreeMap<Subject<'a>, Tally<'a>> = BTreeMap::new();
        for cell in source.cells.iter().filter(|c| matches!(c.work, Work::Gemm | Work::Rung)) {
            let tally = tallies.entry(Subject { path: &cell.path, triple: cell.triple }).or_default();
            *tally.outcomes.entry(Order(cell.outcome)).or_default() += 1;
            if cell.outcome != Outcome::Right && (tally.reason.is_empty() || *cell.reason < *tally.reason) {
                tally.reason = &cell.reason;
            }
        }
        let subjects = subjects(source, &facts, &tallies);
        let lead = lead(source);
        Reading { source, subjects, tallies, facts, lead }
    }

    /// Facts of a name about a subject, by rising size.
    pub fn facts(&self, name: &str, subject: Subject<'_>) -> &[&'a FactRow] {
        let paths = self.facts.get(name);
        let triples = paths.and_then(|paths| paths.get(subject.path));
        triples.and_then(|triples| triples.get(&Some(subject.triple))).map_or(&[], Vec::as_slice)
    }

    /// The one fact of a name about a subject that holds for all sizes.
    pub fn fact(&self, name: &str, subject: Subject<'_>) -> Option<&'a FactRow> {
        self.facts(name, subject).first().copied()
    }

    /// Facts of a name about whole paths.
    pub fn path_facts(&self, name: &str) -> Vec<&'a FactRow> {
        let paths = self.facts.get(name).into_iter().flat_map(BTreeMap::values);
        paths.filter_map(|triples| triples.get(&None)).flatten().copied().collect()
    }

    /// Facts of a name about a subject that were taken with the lead inputs, by rising size.
    pub fn lead_facts<'s>(
        &'s self,
        name: &str,
        subject: Subject<'_>,
    ) -> impl Iterator<Item = &'a FactRow> + use<'s, 'a> {
        let lead = self.lead;
        let leads = move |f: &&FactRow| lead.is_none_or(|(recipe, cache)| f.recipe == recipe && f.cache == cache);
        self.facts(name, subject).iter().copied().filter(leads)
    }

    /// The same at the largest size.
    pub fn largest(&self, name: &str, subject: Subject<'_>) -> Option<&'a FactRow> {
        self.lead_facts(name, subject).last()
    }

    /// The recipe and cache state whose facts are drawn, in words; the plan names it first among those that were run.
    pub fn lead_words(&self) -> String {
        match self.lead {
            Some((recipe, cache)) => {
                let recipe = recipe.map_or("any inputs", Recipe::name);
                let cache = cache.map(|c| rigel_ledger::rows::name_of(&c)).unwrap_or_default();
                if cache.is_empty() { format!("inputs {recipe}") } else { format!("inputs {recipe}, cache {cache}") }
            }
            None => "no rates".to_owned(),
        }
    }

    /// Whether a cell was run with the lead inputs.
    pub fn leads(&self, cell: &CellRow) -> bool {
        self.lead.is_none_or(|(recipe, cache)| {
            (recipe.is_none() || cell.recipe == recipe) && cache.is_none_or(|cache| cell.cache == cache)
        })
    }
}

/// Terms of a product, for ordering shapes; 0 without a shape.
pub(crate) fn size_of(shape: Option<Shape>) -> u64 {
    shape.map_or(0, Shape::operations)
}

/// Whether every extent grows or stays from each shape to the next: only then may a line join them.
pub(crate) fn ordered(shapes: &[Shape]) -> bool {
    shapes.windows(2).all(|w| w[0] != w[1] && w[0].m <= w[1].m && w[0].n <= w[1].n && w[0].k <= w[1].k)
}

/// A cube by its one extent, anything else in full: `512`, `512×512×64`.
pub(crate) fn shape_words(shape: Shape) -> String {
    if shape.m == shape.n && shape.n == shape.k {
        format!("{}³", shape.m)
    } else {
        format!("{}×{}×{}", shape.m, shape.n, shape.k)
    }
}

fn subjects<'a>(source: Source<'a>, facts: &Facts<'a>, tallies: &BTreeMap<Subject<'a>, Tally<'a>>) -> Vec<Subject<'a>> {
    let mut paths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut triples: BTreeMap<Triple, usize> = BTreeMap::new();
    for offer in source.provenance.iter().flat_map(|p| &p.device.offers) {
        let (path, triple) = (paths.len(), triples.len());
        paths.entry(&offer.path).or_insert(path);
        triples.entry(offer.triple).or_insert(triple);
    }
    let paths_of = facts.values().flat_map(BTreeMap::iter);
    let about =
        paths_of.flat_map(|(path, triples)| triples.keys().flatten().map(|triple| Subject { path, triple: *triple }));
    let mut all: Vec<Subject<'a>> = about.chain(tallies.keys().copied()).collect();
    let rank = |s: &Subject<'a>| {
        let path = paths.get(s.path).copied().unwrap_or(usize::MAX);
        (path, s.path, triples.get(&s.triple).copied().unwrap_or(usize::MAX), s.triple)
    };
    all.sort_by_key(rank);
    all.dedup();
    all
}

fn lead(source: Source<'_>) -> Option<(Option<Recipe>, Option<CacheState>)> {
    let axes = &source.plan.throughput;
    let place = |f: &&FactRow| {
        let recipe = f.recipe.and_then(|r| axes.recipes.iter().position(|x| *x == r)).unwrap_or(usize::MAX);
        let cache = f.cache.and_then(|c| axes.caches.iter().position(|x| *x == c)).unwrap_or(usize::MAX);
        (recipe, cache, f.recipe, f.cache)
    };
    source.facts.iter().filter(|f| f.name == "rate").min_by_key(place).map(|f| (f.recipe, f.cache))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_growing_shapes_are_joined() {
        let cubes: Vec<Shape> = [512, 1024, 2048].map(Shape::cube).to_vec();
        assert!(ordered(&cubes));
        assert!(!ordered(&[Shape::new(512, 512, 64), Shape::new(64, 512, 512)]));
        assert!(!ordered(&[Shape::cube(8), Shape::cube(8)]));
        assert_eq!(shape_words(Shape::cube(512)), "512³");
        assert_eq!(shape_words(Shape::new(1, 2, 3)), "1×2×3");
    }
}
