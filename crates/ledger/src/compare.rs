//! What changed between two runs: verdicts, intervals, and what cannot be decided?
//!
//! A word (a verdict, a rung, a mode count) changed when it differs; from one reason of `undecided` to another nothing is
//! decided, so that is not decidable. A number ([`number`]), with a unit or a ratio, moved
//! when both runs have a 95 % interval and the two do not overlap: a cautious rule that calls fewer than 5 % of equal
//! numbers moved. Without two intervals a difference is not decidable. A rate that moved while the same rate per core-clock did not is marked as
//! explained by the clock. Devices, drivers and plans may differ: the caller says so beside the result.

use crate::rows::{CacheState, FactRow, Probe, name_of};
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::BTreeMap;

/// What a fact is about; equal keys are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Probe.
    pub probe: Probe,
    /// Path.
    pub path: String,
    /// Type triple.
    pub triple: Option<Triple>,
    /// Extents.
    pub shape: Option<Shape>,
    /// Recipe.
    pub recipe: Option<Recipe>,
    /// Cache state.
    pub cache: Option<CacheState>,
    /// Name.
    pub name: String,
}

impl Key {
    /// The key of a fact.
    pub fn of(fact: &FactRow) -> Key {
        Key {
            probe: fact.probe,
            path: fact.path.clone(),
            triple: fact.triple,
            shape: fact.shape,
            recipe: fact.recipe,
            cache: fact.cache,
            name: fact.name.clone(),
        }
    }

    /// What it is about, in words.
    pub fn subject(&self) -> String {
        let parts = [
            self.path.clone(),
            self.triple.map(|t| t.to_string()).unwrap_or_default(),
            self.shape.map(|s| s.to_string()).unwrap_or_default(),
            self.recipe.map(|r| r.to_string()).unwrap_or_default(),
            self.cache.map(|c| name_of(&c)).unwrap_or_default(),
        ];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// How a fact fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A word is another word.
    Word,
    /// The intervals do not overlap.
    Moved,
    /// They do not overlap, but those per core-clock do.
    MovedWithClock,
    /// The values differ and at least one has no interval, or both are undecided for different reasons.
    Undecidable,
    /// Only the older run has it.
    Gone,
    /// Only the newer run has it.
    New,
}

/// One difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// How.
    pub change: Change,
    /// What about.
    pub key: Key,
    /// The older fact.
    pub old: Option<FactRow>,
    /// The newer fact.
    pub new: Option<FactRow>,
}

/// All differences, verdicts first, then other words, intervals, undecidable ones, gone and new ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// Differences in that order.
    pub differences: Vec<Difference>,
    /// Facts that are the same or whose intervals overlap.
    pub same: usize,
}

impl Comparison {
    /// Whether a verdict or other word changed or an interval moved.
    pub fn says_changed(&self) -> bool {
        self.differences.iter().any(|d| matches!(d.change, Change::Word | Change::Moved | Change::MovedWithClock))
    }
}

/// Compares the facts of two runs.
pub fn compare(old: &[FactRow], new: &[FactRow]) -> Comparison {
    let index = |facts: &[FactRow]| -> BTreeMap<Key, FactRow> {
        facts.iter().map(|fact| (Key::of(fact), fact.clone())).collect()
    };
    let (before, after) = (index(old), index(new));
    let mut result = Comparison::default();
    for (key, fact) in &before {
        let change = match after.get(key) {
            None => Some(Change::Gone),
            Some(other) => change(fact, other),
        };
        match change {
            None => result.same += 1,
            Some(change) => result.differences.push(Difference {
                change: clock_explains(change, key, &before, &after),
                key: key.clone(),
                old: Some(fact.clone()),
                new: after.get(key).cloned(),
            }),
        }
    }
    let fresh = after.iter().filter(|(key, _)| !before.contains_key(*key));
    result.differences.extend(fresh.map(|(key, fact)| Difference {
        change: Change::New,
        key: key.clone(),
        old: None,
        new: Some(fact.clone()),
    }));
    result.differences.sort_by_key(|d| (d.change, !d.key.name.starts_with("verdict."), d.key.clone()));
    result
}

/// The value of a fact that is a number, in its unit; a ratio or a share has none.
///
/// Every value that reads as a finite number is one, but for `modes`: its `1` and `2` stand beside `tail 8 of 300`, are
/// counts that have no interval, and are compared as words.
pub fn number(fact: &FactRow) -> Option<f64> {
    let value = fact.value.parse::<f64>().ok().filter(|value| value.is_finite());
    value.filter(|_| fact.name != "modes")
}

fn change(old: &FactRow, new: &FactRow) -> Option<Change> {
    if number(old).is_none() || number(new).is_none() || old.unit != new.unit {
        let open = |fact: &FactRow| fact.value.starts_with("undecided");
        let change = if open(old) && open(new) { Change::Undecidable } else { Change::Word };
        return ((&old.value, &old.unit) != (&new.value, &new.unit)).then_some(change);
    }
    match (interval(old), interval(new)) {
        (Some(a), Some(b)) => (a.1 < b.0 || b.1 < a.0).then_some(Change::Moved),
        _ => (old.value != new.value).then_some(Change::Undecidable),
    }
}

fn interval(fact: &FactRow) -> Option<(f64, f64)> {
    fact.low.zip(fact.high)
}

fn clock_explains(
    change: Change,
    key: &Key,
    before: &BTreeMap<Key, FactRow>,
    after: &BTreeMap<Key, FactRow>,
) -> Change {
    if change != Change::Moved || !matches!(key.name.as_str(), "rate" | "ceiling") {
        return change;
    }
    let per_clock = Key { name: format!("{}.per_clock", key.name), ..key.clone() };
    let intervals = before.get(&per_clock).and_then(interval).zip(after.get(&per_clock).and_then(interval));
    match intervals {
        Some((a, b)) if a.1 >= b.0 && b.1 >= a.0 => Change::MovedWithClock,
        _ => change,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fact(name: &str, value: &str, unit: &str, interval: Option<(f64, f64)>) -> FactRow {
        FactRow {
            probe: Probe::Throughput,
            path: "tiled".into(),
            triple: None,
            shape: None,
            recipe: None,
            cache: None,
            name: name.into(),
            value: value.into(),
            unit: unit.into(),
            low: interval.map(|i| i.0),
            high: interval.map(|i| i.1),
            words: String::new(),
            evidence: String::new(),
        }
    }

    fn changes(old: &[FactRow], new: &[FactRow]) -> Vec<Change> {
        compare(old, new).differences.into_iter().map(|d| d.change).collect()
    }

    #[test]
    fn each_kind_of_change_is_told_apart() {
        let words = |w: &str| [fact("verdict.win", w, "", None)];
        assert_eq!(changes(&words("no win"), &words("win over B")), [Change::Word]);
        assert_eq!(changes(&words("undecided: no ceiling"), &words("win over B")), [Change::Word]);
        assert_eq!(changes(&words("undecided: no ceiling"), &words("undecided: clock states")), [Change::Undecidable]);
        let rate = |v: &str, i| [fact("rate", v, "op/s", i)];
        assert_eq!(changes(&rate("5", Some((4.0, 6.0))), &rate("9", Some((8.0, 9.5)))), [Change::Moved]);
        assert!(changes(&rate("5", Some((4.0, 6.0))), &rate("6", Some((5.5, 9.5)))).is_empty());
        assert_eq!(changes(&rate("5", None), &rate("9", Some((8.0, 9.5)))), [Change::Undecidable]);
        assert_eq!(changes(&rate("5", None), &[]), [Change::Gone]);
        assert_eq!(changes(&[], &rate("5", None)), [Change::New]);
    }

    #[test]
    fn ratios_are_numbers_and_mode_counts_are_words() {
        let ratio = |v: &str, i| [fact("ratio.match_path", v, "", i)];
        assert!(changes(&ratio("1.9", Some((1.8, 2.0))), &ratio("1.95", Some((1.9, 2.1)))).is_empty());
        assert_eq!(changes(&ratio("1.9", Some((1.8, 2.0))), &ratio("2.5", Some((2.4, 2.6)))), [Change::Moved]);
        let share = |v: &str| [fact("rate.of_ceiling", v, "", None)];
        assert_eq!(changes(&share("0.71"), &share("0.72")), [Change::Undecidable]);
        let modes = |v: &str| [fact("modes", v, "", None)];
        assert_eq!(changes(&modes("1"), &modes("2")), [Change::Word]);
        assert_eq!(changes(&share("0.71"), &share("inf")), [Change::Word]);
        assert_eq!(number(&share("0.71")[0]), Some(0.71));
        assert_eq!((number(&modes("1")[0]), number(&share("NaN")[0])), (None, None));
    }

    #[test]
    fn a_clock_that_moved_explains_a_rate() {
        let run = |rate: (f64, f64), per: (f64, f64)| {
            vec![fact("rate", "2", "op/s", Some(rate)), fact("rate.per_clock", "6", "op/cycle", Some(per))]
        };
        let (old, new) = (run((1.0, 2.0), (5.0, 6.0)), run((3.0, 4.0), (5.5, 6.5)));
        assert_eq!(changes(&old, &new), [Change::MovedWithClock]);
        assert_eq!(changes(&old, &run((3.0, 4.0), (7.0, 8.0))), [Change::Moved, Change::Moved]);
    }

    proptest! {
        #[test]
        fn a_run_never_differs_from_itself(rates in proptest::collection::vec((0.0f64..1e9, 0.0f64..1e9), 0..8)) {
            let facts: Vec<FactRow> = rates
                .iter()
                .enumerate()
                .map(|(i, (a, b))| fact(&format!("rate{i}"), &a.to_string(), "op/s", Some((a.min(*b), a.max(*b)))))
                .collect();
            let result = compare(&facts, &facts);
            prop_assert!(result.differences.is_empty() && result.same == facts.len() && !result.says_changed());
        }
    }
}
