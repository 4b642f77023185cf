//! What if one part of a model were found anew?
//!
//! A search that is stuck has often got one part of a model wrong in many parameters at once, each fitted to the others: no change of
//! one or two of them helps. Here a part is put back to how it begins and fitted again with the rest as it is (ruin and
//! recreate: Schrimpf, Schneider, Stamm-Wilbrandt and Dueck, Journal of Computational Physics 159, 2000).

use super::fit::{Fit, Fitter};
use super::knobs::{Operand, Place, form_at, number_of_sums, step, sums};
use super::settings::Fineness;
use super::witnesses::Set;
use rigel_numerics::Rounding;
use rigel_numerics::arithmetic::*;

/// Sweeps through which a renewed model is followed.
const SWEEPS: usize = 6;

impl Fitter<'_> {
    /// Renews each part of a model in turn and follows what comes of it; keeps the first that does better.
    pub(super) fn renew(&mut self, fit: &mut Fit, set: &mut Set) -> bool {
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        for model in renewed(&fit.model) {
            if self.is_spent() {
                break;
            }
            let mut other = Fit { penalty: self.witnesses.arrange(&model, set), model };
            // Such a model cannot be evaluated.
            if other.penalty == u64::MAX {
                continue;
            }
            for _ in 0..SWEEPS {
                let before = other.penalty;
                let turned = self.sweep(&mut other, set, false, Fineness::Ladder);
                // What does not come near soon seldom comes at all.
                if !turned
                    || other.penalty < fit.penalty
                    || other.penalty * 8 > before * 7 && other.penalty > 2 * fit.penalty
                {
                    break;
                }
            }
            if other.penalty < fit.penalty {
                *fit = other;
                return true;
            }
        }
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        false
    }
}

/// The models in which one part is as it begins.
fn renewed(model: &Model) -> Vec<Model> {
    let mut all: Vec<Model> = Vec::new();
    let mut with = |change: &dyn Fn(&mut Model)| {
        let mut other = model.clone();
        change(&mut other);
        if other != *model && !all.contains(&other) {
            all.push(other);
        }
    };
    let count = number_of_sums(model);
    let toward = [Rounding::NearestEven, Rounding::TowardZero];
    for s in 0..count {
        with(&|own| plainly_aligned(own, s));
        with(&|own| sums(&mut own.body)[s].align = Align::Exact);
        with(&|own| sums(&mut own.body)[s].align = Align::Largest(Alignment::new(24, Rounding::TowardZero)));
        for way in toward {
            with(&|own| plainly_rounded(own, Place::Sum(s), way));
        }
        if s + 1 < count {
            with(&|own| sums(&mut own.body)[s].output = Output::Unrounded);
        }
        with(&|own| {
            plainly_aligned(own, s);
            plainly_rounded(own, Place::Sum(s), Rounding::NearestEven);
        });
    }
    with(&|own| (0..count).for_each(|s| plainly_aligned(own, s)));
    with(&|own| own.store = None);
    for way in toward {
        with(&|own| own.store = Some(Rounded::to(own.triple.c, way)));
    }
    for operand in Operand::ALL {
        with(&|own| *operand.intake(own) = Intake::default());
        with(&|own| operand.intake(own).convert = None);
        for way in toward {
            with(&|own| plainly_rounded(own, Place::Operand(operand), way));
        }
    }
    with(&|own| (own.a, own.b, own.c) = Default::default());
    with(&|own| step(&mut own.body).product_limit = None);
    all
}

/// Nothing but fraction bits and their cut.
fn plainly_aligned(model: &mut Model, s: usize) {
    if let Align::Largest(alignment) = &mut sums(&mut model.body)[s].align {
        *alignment = Alignment::new(alignment.fraction_bits, alignment.cut);
    }
}

fn plainly_rounded(model: &mut Model, place: Place, way: Rounding) {
    if let Some(form) = form_at(model, place) {
        *form = Rounded::to(form.format, way);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::arithmetic::draw_model;

    /// Whatever part of a model is wrong, there is a beginning without it, and nothing else is lost with it.
    #[test]
    fn every_part_is_renewed_alone() {
        let triple = "f32,f32->f32".parse().expect("a triple");
        for model in (0..60).filter_map(|seed| draw_model(seed, triple)) {
            let all = renewed(&model);
            assert!(!all.contains(&model));
            let store = Model { store: None, ..model.clone() };
            let intake = Model { a: Intake::default(), ..model.clone() };
            for expected in [store, intake].iter().filter(|&expected| *expected != model) {
                assert!(all.contains(expected), "{model}");
            }
            for s in 0..number_of_sums(&model) {
                let mut exact = model.clone();
                sums(&mut exact.body)[s].align = Align::Exact;
                assert!(exact == model || all.contains(&exact), "{model}");
            }
        }
    }
}
