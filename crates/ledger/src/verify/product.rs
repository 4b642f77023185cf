//! What does a gate say when its witness elements are computed again, from the seed, exactly?

use super::places::{Places, is_worst};
use crate::gate::{self, Check, Element, Gate, Judgement, Look, PlantedFault, Proof, Suspicious};
use crate::rows::{CellRow, Outcome, WitnessRow};
use rigel_numerics::attention::{self, Head, Line};
use rigel_numerics::exact::{self, Dot};
use rigel_numerics::{Calculation, Format, Operand, Recipe, Shape, Triple, bound, epilogue};
use std::collections::HashMap;

/// Everything that the exact sums of a product follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Inputs {
    pub(super) triple: Triple,
    pub(super) recipe: Recipe,
    pub(super) seed: u64,
    pub(super) shape: Shape,
    pub(super) calculation: Calculation,
}

impl Inputs {
    pub(super) fn of(row: &CellRow) -> Option<Inputs> {
        Some(Inputs {
            triple: row.triple,
            recipe: row.recipe?,
            seed: row.seed,
            shape: row.shape?,
            calculation: row.work.calculation(),
        })
    }

    fn a(&self, row: usize, k: usize) -> u64 {
        self.recipe.element(self.triple.a, self.seed, Operand::A, row as u64, k as u64)
    }

    /// Both exact sums of an element.
    fn dot(&self, row: usize, column: usize, rows: &mut Rows) -> Option<Dot> {
        let Inputs { triple, shape, .. } = *self;
        let terms = (0..shape.k).map(|k| (self.a(row, k), self.b(k, column)));
        match self.calculation {
            Calculation::Product => exact::dot(triple.a, triple.b, terms).ok(),
            Calculation::Finished(activation) => epilogue::dot(triple, activation, terms, self.b(shape.k, column)).ok(),
            Calculation::Attention if row / shape.k < attention::heads(shape) => {
                let head = rows.heads.entry(row / shape.k).or_insert_with(|| self.head(row));
                let query: Vec<f64> = (0..shape.n).map(|n| triple.a.decode(self.a(row, n))).collect();
                rows.lines.entry(row).or_insert_with(|| head.line(triple, shape, &query)).dot(column)
            }
            Calculation::Attention => None,
        }
    }

    /// Keys and values of the head that a row is in.
    fn head(&self, row: usize) -> Head {
        let Shape { m, k, .. } = self.shape;
        let of = |first: usize| {
            move |j: usize, out: &mut [f64]| {
                out.iter_mut().enumerate().for_each(|(n, x)| *x = self.triple.b.decode(self.b(first + j, n)));
            }
        };
        let first = row / k * k;
        Head::new(self.shape, of(first), of(m + first))
    }

    fn tolerance(&self) -> bound::Tolerance {
        self.calculation.tolerance(self.triple, self.shape, self.recipe)
    }

    fn b(&self, k: usize, column: usize) -> u64 {
        self.recipe.element(self.triple.b, self.seed, Operand::B, k as u64, column as u64)
    }
}

/// Exact sums of elements that were asked for before.
#[derive(Default)]
pub(super) struct Sums {
    dots: HashMap<(u32, u32), Option<Dot>>,
    rows: Rows,
}

/// What whole rows of an attention share.
#[derive(Default)]
struct Rows {
    heads: HashMap<usize, Head>,
    lines: HashMap<usize, Line>,
}

/// Gate columns as they follow from the witness.
pub(super) struct Recomputed {
    check: Check,
    /// Error and ulps of the worst element, rounded up; none where an element cannot be compared.
    pub(super) error: Option<f64>,
    pub(super) ulps: Option<f64>,
    tolerance: bound::Tolerance,
    operands: Option<Format>,
    /// Whether no prescribed element is worse than the one that the seed does not prescribe.
    pub(super) worst: bool,
}

/// What keeps a witness from being computed again, if anything does.
pub(super) fn unusable(inputs: &Inputs, witness: &[WitnessRow]) -> Option<String> {
    let Inputs { triple, recipe, shape, .. } = *inputs;
    if inputs.calculation == Calculation::Attention
        && let Some(why) = attention::misfit(shape)
    {
        return Some(why);
    }
    for format in [triple.a, triple.b] {
        if let Err(error) = recipe.supports(format) {
            return Some(error.to_string());
        }
    }
    let (digits, bits) = (triple.c.bits().div_ceil(4), triple.c.bits());
    let misfit = witness.iter().find(|row| {
        let outside = row.row as usize >= shape.m || row.column as usize >= shape.n;
        outside || u32::from(row.bits.digits) != digits || (bits < 64 && row.bits.code >> bits != 0)
    });
    misfit.map(|row| {
        let (r, c, code) = (row.row, row.column, row.bits.code);
        format!("witness ({r}, {c}) = {code:x} is no element of a {}x{} output of {}", shape.m, shape.n, triple.c)
    })
}

/// Computes the witness again. Looks at it as a gate does: in order of row and column.
pub(super) fn recompute(inputs: &Inputs, witness: &[WitnessRow], places: &Places, sums: &mut Sums) -> Recomputed {
    let (triple, k) = (inputs.triple, inputs.shape.k);
    let tolerance = inputs.tolerance();
    let (mut look, mut prescribed) = (Look::new(triple, tolerance), Look::new(triple, tolerance));
    let mut other = Look::new(triple, tolerance);
    for row in witness {
        let (r, c) = (row.row as usize, row.column as usize);
        let Sums { dots, rows } = sums;
        let dot = dots.entry((row.row, row.column)).or_insert_with(|| inputs.dot(r, c, rows));
        let part = if places.prescribes(row) { &mut prescribed } else { &mut other };
        for look in [&mut look, part] {
            look.take(Element { row: r, column: c }, row.bits.code, dot.as_ref());
        }
    }
    let cut = || {
        let codes: Vec<(u32, u32, u64)> = witness.iter().map(|row| (row.row, row.column, row.bits.code)).collect();
        gate::operands_cut(triple, tolerance, &codes, |r, k| inputs.a(r, k), |k, c| inputs.b(k, c), k)
    };
    // Behind an activation or in an attention no cut of the operands is looked for.
    let plain = !triple.is_integer() && inputs.calculation == Calculation::Product;
    let operands = if look.is_outside() && plain { cut() } else { None };
    let has_other = witness.iter().any(|row| !places.prescribes(row));
    let worst = match (other.worst().filter(|_| has_other), prescribed.worst()) {
        (Some(other), Some(prescribed)) => is_worst(other, prescribed),
        _ => true,
    };
    Recomputed { check: look.check(), error: look.error(), ulps: look.ulps(), tolerance, operands, worst }
}

impl Recomputed {
    /// The tolerance as the column states it.
    pub(super) fn tolerance(&self) -> f64 {
        self.tolerance.relative
    }

    /// Judges again: as if the witness were from before timing, and from after it.
    pub(super) fn judge(&self, row: &CellRow, proof: Proof<'_>, coarse_cap: f64) -> [Judgement; 2] {
        let tolerance = match self.tolerance.exact {
            true => gate::Tolerance::Exact,
            false => gate::Tolerance::Relative(self.tolerance.relative),
        };
        let before = Gate {
            triple: row.triple,
            tolerance,
            model_bound: None,
            coarse_cap,
            proof,
            before: self.check,
            after: None,
            sums: None,
            operands: self.operands,
        };
        let after = Gate { before: Check::Residual(0.0), after: Some(self.check), ..before };
        [gate::judge(&before), gate::judge(&after)].map(|judged| unexplained_sums(row, judged))
    }
}

/// What the planted faults showed, as the row itself says: the witness does not cover it.
pub(super) fn recorded(row: &CellRow) -> Proof<'static> {
    let passed = |fault: &PlantedFault| {
        row.outcome == Outcome::Mistrusted && row.reason.ends_with(&format!("planted fault: {}", fault.words()))
    };
    Proof::Recorded(PlantedFault::ALL.into_iter().find(passed))
}

/// A sampled check may have left sums unexplained, which the row alone knows: its word is taken where it lowers `right` or `imprecise`.
fn unexplained_sums(row: &CellRow, judged: Judgement) -> Judgement {
    let says = row.outcome == Outcome::Mistrusted && row.reason.starts_with(Suspicious::PREFIX);
    if says && row.gate_visible.is_some() && [Outcome::Right, Outcome::Imprecise].contains(&judged.outcome) {
        return Judgement { outcome: Outcome::Mistrusted, reason: row.reason.clone(), ..judged };
    }
    judged
}
