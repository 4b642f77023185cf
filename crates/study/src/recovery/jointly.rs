//! Do two changes explain together what neither explains alone?
//!
//! Of all changes of one parameter only those can be part of it that change what is said of an observation that is not
//! explained. They are few, so that all pairs of them can be tried.

use super::fit::{Fit, Fitter};
use super::knobs::{Knob, knobs};
use super::settings::{Fineness, settings};
use super::witnesses::Set;
use rigel_numerics::arithmetic::Model;

/// Observations that are not explained, of which both changes must say something else.
const PUZZLING: usize = 24;
/// Changes that are followed by a second one.
const FIRSTS: usize = 240;

impl Fitter<'_> {
    /// Tries all pairs of changes that matter; keeps the first pair that does better.
    pub(super) fn turn_jointly(&mut self, fit: &mut Fit, set: &mut Set) -> bool {
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        let all = set.of_wrong().order;
        let step = all.len().div_ceil(PUZZLING).max(1);
        let puzzling: Vec<usize> = all.into_iter().step_by(step).collect();
        let own = self.witnesses.said(&fit.model, &puzzling);
        let mut wrong = Set::of(puzzling.clone());
        let own_penalty = self.witnesses.arrange(&fit.model, &mut wrong);
        let mut firsts: Vec<(u64, Knob, Model)> = Vec::new();
        let mut seconds: Vec<Knob> = Vec::new();
        for knob in knobs(&fit.model) {
            let mut seen: Vec<Vec<u64>> = Vec::new();
            for other in settings(&fit.model, knob, Fineness::Ladder) {
                let said = self.witnesses.said(&other, &puzzling);
                // Settings that say the same of all of them are one.
                if said.is_empty() || said == own || seen.contains(&said) {
                    continue;
                }
                seen.push(said);
                let penalty = self.witnesses.penalty(&other, &mut wrong, u64::MAX).unwrap_or(u64::MAX);
                firsts.push((penalty, knob, other));
            }
            if !seen.is_empty() {
                seconds.push(knob);
            }
            if self.is_spent() {
                return false;
            }
        }
        firsts.sort_by_key(|(penalty, ..)| *penalty);
        for (_, first, model) in firsts.into_iter().take(FIRSTS) {
            for &knob in seconds.iter().filter(|&&knob| knob != first) {
                if self.is_spent() {
                    return false;
                }
                for both in settings(&model, knob, Fineness::Ladder) {
                    if self.witnesses.penalty(&both, &mut wrong, own_penalty * 3 / 4).is_some()
                        && let Some(penalty) = self.witnesses.penalty(&both, set, fit.penalty)
                    {
                        *fit = Fit { model: both, penalty };
                        fit.penalty = self.witnesses.arrange(&fit.model, set);
                        return true;
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::dice::Dice;
    use super::super::pool::{Scope, pooled};
    use super::super::question::Observation;
    use super::super::shapes::Shape;
    use super::super::witnesses::Witnesses;
    use super::*;
    use rigel_device::unit::UnitSpec;
    use rigel_numerics::arithmetic::{Evaluator, Model, draw_model};
    use rigel_numerics::{Shape as Extents, Triple};

    const K: usize = 4;

    fn spec(triple: Triple) -> UnitSpec {
        UnitSpec {
            name: "planted".into(),
            path: "planted".into(),
            triple,
            shape: Extents::new(4, 4, K),
            scales: None,
            fragments: None,
            source: "a test".into(),
        }
    }

    fn observed(truth: &Model) -> Option<Vec<Observation>> {
        let evaluator = Evaluator::new(truth, K).ok()?;
        let (spec, scope) = (spec(truth.triple), Scope { products: (-48, 30), c: (-149, 127) });
        let mut scratch = evaluator.scratch();
        let questions = (0..260).map(|i| pooled(&spec, &scope, 3, i));
        let seen =
            questions.map(|question| Observation { d: evaluator.dot(&mut scratch, question.inputs()), question });
        Some(seen.collect())
    }

    /// A model of which two parameters are turned away.
    fn turned_away(truth: &Model, dice: &mut Dice) -> Option<Model> {
        let mut model = truth.clone();
        for _ in 0..2 {
            let all = knobs(&model);
            let mut others = settings(&model, all[dice.below(all.len())], Fineness::Ladder);
            let n = dice.below(others.len().max(1));
            model = (n < others.len()).then(|| others.swap_remove(n))?;
        }
        Some(model)
    }

    /// A model that it gives explains more than the one it began with, by as much as it says; where it gives none, nothing has
    /// changed. Of the truth it never finds a better one.
    #[test]
    fn what_two_changes_bring_is_said_truly() {
        let shapes: [Shape; 0] = [];
        let (mut met, mut found) = (0, 0);
        for seed in 0..40 {
            let triple: Triple = ["f16,f16->f32", "e4m3,e4m3->f32"][seed as usize % 2].parse().expect("a triple");
            let Some(truth) = draw_model(seed, triple).filter(|model| model.scales.is_none()) else { continue };
            let Some(observed) = observed(&truth) else { continue };
            let mut witnesses = Witnesses::new(triple, K, observed);
            let mut set = Set::first(witnesses.len());
            let mut dice = Dice::new(seed, 5);
            let begins = |model: &Model, witnesses: &mut Witnesses, set: &mut Set| {
                Some(witnesses.arrange(model, set)).filter(|&penalty| penalty > 0 && penalty < u64::MAX)
            };
            let start = (0..40).find_map(|_| {
                let model = turned_away(&truth, &mut dice)?;
                begins(&model, &mut witnesses, &mut set).map(|penalty| Fit { model, penalty })
            });
            let Some(start) = start else { continue };
            met += 1;
            let mut fit = start.clone();
            let turned = Fitter::new(K, &mut witnesses, &shapes, u64::MAX / 2, seed).turn_jointly(&mut fit, &mut set);
            assert_eq!(fit.penalty, witnesses.arrange(&fit.model, &mut set), "seed {seed}");
            assert_eq!(fit.penalty < start.penalty, turned, "seed {seed}");
            assert_eq!(fit.model != start.model, turned, "seed {seed}");
            found += usize::from(turned);
            let mut fit = Fit { model: truth.clone(), penalty: 0 };
            assert!(!Fitter::new(K, &mut witnesses, &shapes, u64::MAX / 2, seed).turn_jointly(&mut fit, &mut set));
            assert_eq!((fit.model, fit.penalty), (truth, 0));
        }
        assert!(met >= 8 && 2 * found > met, "{found} of {met}");
    }
}
