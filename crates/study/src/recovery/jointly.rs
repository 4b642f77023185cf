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
