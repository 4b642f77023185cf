//! Do error, tolerance, outcome and reason of each cell row follow from its witness?

use super::places::{Places, is_whole, method_fault, visible_fault};
use super::product::{self, Inputs, Sums};
use super::report::{Check, CheckName, Failure};
use crate::effect::{self, Effect};
use crate::gate::{Judgement, Proof, inherit};
use crate::rows::{CellRow, GateMethod, Outcome, WitnessRow, Work, name_of};
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
    order.sort_by_cached_key(|&i| {
        (cells[i].triple, cells[i].shape, cells[i].recipe, cells[i].seed, cells[i].work.calculation(), i)
    });
    let siblings = Siblings::of(cells);
    let tasks = order.par_chunks(TASK).flat_map_iter(|task| {
        let (mut sums, mut shared) = (Sums::default(), None);
        let mut failures = Vec::new();
        for &i in task {
            let inputs = Inputs::of(&cells[i]);
            if inputs != shared {
                (sums, shared) = (Sums::default(), inputs);
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
    let judged;
    let row = match (row.work, row.gate) {
        (Work::Version, Some(_)) => match judged_alone(row, witness) {
            Ok(alone) => {
                judged = alone;
                &judged
            }
            Err(what) => return vec![what],
        },
        _ => row,
    };
    match row.gate {
        None => {
            let mut wrong = stated(row, None, None, None);
            wrong.extend(visible_fault(row, run.plan().thresholds.full_check));
            let judged = [Outcome::Right, Outcome::Imprecise, Outcome::Mistrusted].contains(&row.outcome);
            if judged || row.outcome == Outcome::Wrong {
                wrong.push(format!("outcome is `{}` without a gate", name_of(&row.outcome)));
            }
            let found = [Outcome::Exact, Outcome::Inexact].contains(&row.outcome);
            if found && !matches!(row.work, Work::Unit | Work::Conversion | Work::Product) {
                wrong.push(format!(
                    "outcome is `{}`, which only a unit, a conversion or an order of sums has",
                    name_of(&row.outcome)
                ));
            }
            wrong
        }
        Some(GateMethod::Accumulators) => {
            let mut wrong = stated(row, None, None, None);
            wrong.extend(visible_fault(row, run.plan().thresholds.full_check));
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
            let limit = run.plan().thresholds.full_check;
            let (places, whole) = (Places::of(row), is_whole(row, limit));
            if let Some(why) = product::unusable(&inputs, witness).or_else(|| places.fault(witness, whole)) {
                return vec![why];
            }
            let found = product::recompute(&inputs, witness, &places, sums);
            let mut wrong = stated(row, found.error, found.ulps, Some(found.tolerance()));
            wrong.extend(method_fault(row, limit));
            wrong.extend(visible_fault(row, limit));
            if whole && !found.worst {
                wrong.push("its witness holds an element that neither the seed prescribes nor is the worst".to_owned());
            }
            let cap = run.plan().thresholds.coarse_cap;
            let inherits = row.gate == Some(GateMethod::Inherited);
            let possible: Vec<Judgement> = match is_blind(row) {
                false => found.judge(row, product::recorded(row), cap).into(),
                true => {
                    let own = found.judge(row, Proof::Blind, cap);
                    // Judged outside a block it has nobody to inherit from.
                    let mut possible =
                        if inherits { siblings.heirs(row, &own) } else { own.map(|own| inherit(&own, None)).into() };
                    if !inherits && row.outcome == Outcome::Mistrusted {
                        possible.extend(found.judge(row, product::recorded(row), cap));
                    }
                    possible
                }
            };
            if inherits && !is_blind(row) {
                wrong.push("a cell that is neither of zeros nor of constants inherits nothing".to_owned());
            } else if !possible.iter().any(|judgement| says(row, judgement)) {
                let each = possible.iter().map(|j| format!("`{}` because `{}`", name_of(&j.outcome), j.reason));
                let mut each: Vec<String> = each.collect();
                each.dedup();
                let source = if inherits { "witness and siblings say" } else { "the witness says" };
                wrong.push(format!(
                    "outcome is `{}` because `{}`; {source} {}",
                    name_of(&row.outcome),
                    row.reason,
                    each.join(" or ")
                ));
            }
            wrong
        }
    }
}

/// The row of a product by a toolchain with the judgement alone as its reason; what keeps the rest of it from being what the witness says.
fn judged_alone(row: &CellRow, witness: &[WitnessRow]) -> Result<CellRow, String> {
    let effect = Effect::of(&row.reason)
        .ok_or("reason tells neither what took effect nor the output's digest, as that of a toolchain does")?;
    let output = effect::digest(witness.iter().map(|element| element.bits.code));
    if effect.output != output {
        return Err(format!("reason has the output's digest `{}`; its witness gives `{output}`", effect.output));
    }
    Ok(CellRow { reason: effect.judgement.to_owned(), ..row.clone() })
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
        ("gate_tolerance", row.gate_tolerance, tolerance.filter(|bound| bound.is_finite())),
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
        let full = |row: &&CellRow| matches!(row.gate, Some(GateMethod::Full | GateMethod::Sampled));
        for row in cells.iter().filter(|row| row.recipe.is_some() && !is_blind(row) && full(row)) {
            siblings.entry(place(row)).or_default().push(row);
        }
        Siblings(siblings)
    }

    /// What a row may state that was judged by itself as `own` and inherits from any of its siblings.
    fn heirs(&self, row: &CellRow, own: &[Judgement]) -> Vec<Judgement> {
        let Some(all) = self.0.get(&place(row)) else {
            return own.iter().map(|own| inherit(own, None)).collect();
        };
        let of = |sibling: &&CellRow| {
            let judgement =
                Judgement { outcome: sibling.outcome, reason: sibling.reason.clone(), error: sibling.gate_error };
            let name = sibling.recipe.map_or("", Recipe::name);
            own.iter().map(|own| inherit(own, Some((&judgement, name)))).collect::<Vec<_>>()
        };
        all.iter().flat_map(of).collect()
    }
}

/// Whether a row's recipe cannot fail a gate by itself.
fn is_blind(row: &CellRow) -> bool {
    row.recipe.is_some_and(Recipe::is_blind)
}

fn place(row: &CellRow) -> Place<'_> {
    (&row.block, row.process, &row.path, row.triple, row.shape)
}
