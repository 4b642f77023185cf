//! Do error, tolerance, outcome and reason of each cell row follow from its witness?

use super::product::{self, Inputs, Sums};
use super::report::{Check, CheckName, Failure};
use crate::gate::{Judgement, inherit};
use crate::rows::{CellRow, GateMethod, Outcome, name_of};
use crate::store::{CELLS, Run, Witness};
use rayon::prelude::*;
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::HashMap;

/// Cells that one task checks; those with the same inputs share their exact sums.
const TASK: usize = 64;

pub(super) fn check(run: &Run, witness: &Witness) -> Check {
    let path = run.dir().join(CELLS);
    let cells = run.cells();
    let mut order: Vec<usize> = (0..cells.len()).collect();
    // Cells of one product stand side by side, whatever path and process they are from.
    order.sort_by_cached_key(|&i| (cells[i].triple, cells[i].shape, cells[i].recipe, cells[i].seed, i));
    let siblings = Siblings::of(cells);
    let tasks = order.par_chunks(TASK).flat_map_iter(|task| {
        let (mut sums, mut shared) = (Sums::new(), None);
        let mut failures = Vec::new();
        for &i in task {
            let inputs = Inputs::of(&cells[i]);
            if inputs != shared {
                (sums, shared) = (Sums::new(), inputs);
            }
            failures.extend(wrong(run, &cells[i], witness, &siblings, &mut sums).into_iter().map(|what| (i, what)));
        }
        failures
    });
    let mut failures: Vec<(usize, String)> = tasks.collect();
    failures.sort();
    let failures = failures.into_iter().map(|(i, what)| Failure::line(&path, run.line(i), what)).collect();
    Check::of(CheckName::Gates, cells.len(), failures)
}

/// What is wrong with the gate columns of a row.
fn wrong(run: &Run, row: &CellRow, witness: &Witness, siblings: &Siblings<'_>, sums: &mut Sums) -> Vec<String> {
    let witness = witness.of(row.cell, row.process);
    match row.gate {
        None => {
            let mut wrong = stated(row, None, None, None);
            let judged = [Outcome::Right, Outcome::Imprecise, Outcome::Mistrusted].contains(&row.outcome);
            if judged || row.outcome == Outcome::Wrong {
                wrong.push(format!("outcome is `{}` without a gate", name_of(&row.outcome)));
            }
            wrong
        }
        Some(GateMethod::Accumulators) => {
            let mut wrong = stated(row, None, None, None);
            let right = row.outcome == Outcome::Right && row.reason.is_empty();
            if !(right || (row.outcome == Outcome::Wrong && row.reason.starts_with("accumulators: "))) {
                wrong.push(format!(
                    "outcome `{}` with reason `{}` is none of accumulators",
                    name_of(&row.outcome),
                    row.reason
                ));
            }
            wrong
        }
        Some(GateMethod::Full | GateMethod::Sampled | GateMethod::Inherited) => {
            let Some(inputs) = Inputs::of(row) else {
                return vec!["a product needs a shape and a recipe".to_owned()];
            };
            if let Some(why) = product::unusable(&inputs, witness) {
                return vec![why];
            }
            let found = product::recompute(&inputs, witness, sums);
            let mut wrong = stated(row, found.error, found.ulps, Some(found.tolerance()));
            let own = found.judge(row, run.plan().thresholds.coarse_cap);
            if row.gate == Some(GateMethod::Inherited) {
                wrong.extend(
                    own.iter()
                        .find(|own| own.outcome == Outcome::Wrong)
                        .map(|own| format!("its own witness is wrong: {}", own.reason)),
                );
                wrong.extend(siblings.disagree(row));
            } else if !own.iter().any(|own| says(row, own)) {
                let [own, _] = own;
                wrong.push(format!(
                    "outcome is `{}` because `{}`; the witness says `{}` because `{}`",
                    name_of(&row.outcome),
                    row.reason,
                    name_of(&own.outcome),
                    own.reason
                ));
            }
            wrong
        }
    }
}

/// Whether a row states a judgement. The faults that a wider limit would not have seen are known to the gate only.
fn says(row: &CellRow, judgement: &Judgement) -> bool {
    let rest = row.reason.strip_prefix(judgement.reason.as_str());
    let imprecise = row.outcome == Outcome::Imprecise;
    row.outcome == judgement.outcome
        && rest.is_some_and(|rest| rest.is_empty() || (imprecise && rest.starts_with(", which would not have seen: ")))
}

/// Gate columns that differ from recomputed ones.
fn stated(row: &CellRow, error: Option<f64>, ulps: Option<f64>, tolerance: Option<f64>) -> Vec<String> {
    let columns = [
        ("gate_error", row.gate_error, error),
        ("gate_ulps", row.gate_ulps, ulps),
        ("gate_tolerance", row.gate_tolerance, tolerance),
    ];
    let show = |value: Option<f64>| value.map(|value| format!("{value:?}")).unwrap_or_default();
    let differs = columns.into_iter().filter(|(_, stated, found)| stated != found);
    differs.map(|(name, stated, found)| format!("{name} is `{}`, recomputed `{}`", show(stated), show(found))).collect()
}

type Place<'a> = (&'a str, u32, &'a str, Triple, Option<Shape>);

/// The cells of each block from which zeros and constants may inherit.
struct Siblings<'a>(HashMap<Place<'a>, Vec<&'a CellRow>>);

impl<'a> Siblings<'a> {
    fn of(cells: &'a [CellRow]) -> Self {
        let mut siblings: HashMap<Place<'a>, Vec<&'a CellRow>> = HashMap::new();
        let blind = |row: &&CellRow| matches!(row.recipe, None | Some(Recipe::Zeros | Recipe::Constant));
        let full = |row: &&CellRow| matches!(row.gate, Some(GateMethod::Full | GateMethod::Sampled));
        for row in cells.iter().filter(|row| !blind(row) && full(row)) {
            siblings.entry(place(row)).or_default().push(row);
        }
        Siblings(siblings)
    }

    /// What is wrong with an inherited outcome.
    fn disagree(&self, row: &CellRow) -> Option<String> {
        let of = |sibling: &&CellRow| {
            let judgement =
                Judgement { outcome: sibling.outcome, reason: sibling.reason.clone(), error: sibling.gate_error };
            inherit(Some((&judgement, sibling.recipe.map_or("", Recipe::name))))
        };
        let all = self.0.get(&place(row)).map_or(&[][..], Vec::as_slice);
        let possible: Vec<Judgement> = if all.is_empty() { vec![inherit(None)] } else { all.iter().map(of).collect() };
        if possible.iter().any(|judgement| says(row, judgement)) {
            return None;
        }
        let names: Vec<String> = possible.iter().map(|judgement| name_of(&judgement.outcome)).collect();
        Some(format!("inherited outcome `{}` is none of its siblings': {}", name_of(&row.outcome), names.join(", ")))
    }
}

fn place(row: &CellRow) -> Place<'_> {
    (&row.block, row.process, &row.path, row.triple, row.shape)
}
