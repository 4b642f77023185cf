//! Which settings of all parameters explain what was observed?
//!
//! Knobs are turned one after another; a setting is kept when it brings the predicted codes nearer to the observed ones. Most
//! questions of the pool feel few parameters, so these can be found while others are still wrong. Where no knob helps,
//! other trees are tried with the sums that were found, and what remains unexplained counts more and more until it
//! outweighs what holds the search where it is (Morris, "The breakout method for escaping from local minima", AAAI 1993).

use super::crossings::crossed;
use super::dice::Dice;
use super::knobs::{Knob, knobs, pairs};
use super::mistaken::{mistaken, ruled_otherwise};
use super::settings::{Fineness, settings};
use super::shapes::{Shape, reshaped};
use super::witnesses::{Set, Witnesses};
use rigel_numerics::arithmetic::Model;

/// A model and how far its predictions lie from what was observed.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub model: Model,
    pub penalty: u64,
}

/// A search for a model that explains observations.
pub(super) struct Fitter<'w> {
    pub(super) k: usize,
    pub(super) witnesses: &'w mut Witnesses,
    pub(super) shapes: &'w [Shape],
    /// Models that other searches ended with: what one of them has wrong another one may have right.
    pub(super) others: Vec<Model>,
    /// Whether models are tried on all observations even if they do no better on a sample.
    thorough: bool,
    /// The evaluations after which it ends, as [`Witnesses::spent`] counts them.
    pub(super) most: u64,
    dice: Dice,
}

/// Terms of the observations that are explained first, then next, and so on, and how many of them.
const RUNGS: [(usize, usize, usize); 3] = [(0, 1, 240), (2, 2, 220), (3, usize::MAX, 260)];
/// Observations that refuted a model and that are always active, at most.
const LATEST: usize = 240;
/// Mismatches that join the active observations at a time.
const JOINING: usize = 80;
/// Detours that are tried where a search is stuck.
const DETOURS: usize = 10;
/// Most observations that may be unexplained where detours are tried.
const DETOURED: usize = 120;

impl<'w> Fitter<'w> {
    /// Fits dot products of `k` products with at most `most` evaluations of one.
    pub(super) fn new(k: usize, witnesses: &'w mut Witnesses, shapes: &'w [Shape], most: u64, seed: u64) -> Fitter<'w> {
        let most = witnesses.spent() + most;
        Fitter { k, witnesses, shapes, others: Vec::new(), thorough: false, most, dice: Dice::new(seed, 77) }
    }

    /// Does something with a part of the evaluations that are left at most.
    pub(super) fn within<T>(&mut self, part: u64, act: impl FnOnce(&mut Self) -> T) -> T {
        let most = self.most;
        self.most = most.min(self.witnesses.spent() + part);
        let done = act(self);
        self.most = most;
        done
    }

    pub(super) fn is_spent(&self) -> bool {
        self.witnesses.spent() >= self.most
    }

    /// Keeps the best of some models if it beats the present one.
    fn choose(&mut self, fit: &mut Fit, others: Vec<Model>, set: &mut Set) -> bool {
        let mut best: Option<Model> = None;
        for other in others {
            let penalty = if self.thorough {
                self.witnesses.penalty(&other, set, fit.penalty)
            } else {
                self.witnesses.better(&other, set, fit.penalty)
            };
            if let Some(penalty) = penalty {
                fit.penalty = penalty;
                best = Some(other);
            }
        }
        let Some(model) = best else { return false };
        fit.model = model;
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        true
    }

    pub(super) fn turn(&mut self, fit: &mut Fit, knob: Knob, set: &mut Set, fineness: Fineness) -> bool {
        let others = settings(&fit.model, knob, fineness);
        self.choose(fit, others, set)
    }

    /// Turns every knob once, in order or, where the search was stuck, in any order.
    pub(super) fn sweep(&mut self, fit: &mut Fit, set: &mut Set, shuffled: bool, fineness: Fineness) -> bool {
        let mut order = knobs(&fit.model);
        if shuffled {
            (1..order.len()).rev().for_each(|i| order.swap(i, self.dice.below(i + 1)));
        }
        let mut turned = false;
        for knob in order {
            if fit.penalty == 0 || self.is_spent() {
                break;
            }
            turned |= self.turn(fit, knob, set, fineness);
        }
        turned
    }

    /// What explains a few observations of very many does not show on a sample.
    fn sweep_thoroughly(&mut self, fit: &mut Fit, set: &mut Set) -> bool {
        if set.is_small() {
            return false;
        }
        self.thorough = true;
        let turned = self.sweep(fit, set, false, Fineness::Ladder);
        self.thorough = false;
        turned
    }

    /// Turns two knobs at once, lets parameters change places, then tries other trees.
    fn leap(&mut self, fit: &mut Fit, set: &mut Set, trees: bool) -> bool {
        let mut others = mistaken(&fit.model);
        others.extend(self.others.iter().flat_map(|other| crossed(&fit.model, other)));
        if self.choose(fit, others, set) {
            return true;
        }
        for knob in pairs(&fit.model) {
            if self.is_spent() {
                return false;
            }
            if self.turn(fit, knob, set, Fineness::Ladder) {
                return true;
            }
        }
        let others = ruled_otherwise(&fit.model);
        if self.choose(fit, others, set) {
            return true;
        }
        // Many settings are worth the effort when few observations are left to be explained.
        if set.wrong <= DETOURED && self.sweep(fit, set, false, Fineness::All) {
            return true;
        }
        let shapes = self.shapes;
        trees && {
            let others = shapes.iter().flat_map(|shape| reshaped(&fit.model, &shape.body)).collect();
            self.choose(fit, others, set)
        }
    }

    /// Follows changes that explain something new but cost more than they bring, each through one more sweep.
    fn detour(&mut self, fit: &mut Fit, set: &mut Set) -> bool {
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        if set.wrong > DETOURED {
            return false;
        }
        let mut wrong = set.of_wrong();
        let mut firsts: Vec<(u64, Model)> = Vec::new();
        for knob in knobs(&fit.model) {
            for other in settings(&fit.model, knob, Fineness::Ladder) {
                if self.witnesses.penalty(&other, &mut wrong, fit.penalty).is_some() {
                    let limit = 2 * fit.penalty + 400;
                    firsts.extend(self.witnesses.penalty(&other, set, limit).map(|penalty| (penalty, other)));
                }
            }
            if self.is_spent() {
                return false;
            }
        }
        firsts.sort_by_key(|(penalty, _)| *penalty);
        firsts.dedup_by_key(|(penalty, _)| *penalty);
        for (_, model) in firsts.into_iter().take(DETOURS) {
            let mut other = Fit { penalty: self.witnesses.arrange(&model, set), model };
            while other.penalty > 0 && self.sweep(&mut other, set, false, Fineness::Ladder) && !self.is_spent() {}
            if other.penalty < fit.penalty {
                *fit = other;
                return true;
            }
        }
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        false
    }

    /// Climbs on a set until it is explained or nothing has helped so many times.
    pub(super) fn climb(&mut self, fit: &mut Fit, set: &mut Set, patience: usize, trees: bool) {
        let mut best = (usize::MAX, fit.model.clone());
        let mut stuck = 0;
        while !self.is_spent() {
            fit.penalty = self.witnesses.arrange(&fit.model, set);
            if set.wrong < best.0 {
                best = (set.wrong, fit.model.clone());
                stuck = 0;
            }
            if fit.penalty == 0 {
                break;
            }
            if self.sweep(fit, set, stuck > 0, Fineness::Ladder)
                || self.sweep_thoroughly(fit, set)
                || self.leap(fit, set, trees)
            {
                continue;
            }
            stuck += 1;
            if stuck > patience {
                break;
            }
            let escaped = match stuck % 5 {
                1 => set.wrong <= DETOURED && self.turn_jointly(fit, set),
                2 => self.detour(fit, set),
                3 => self.renew(fit, set),
                _ => false,
            };
            if !escaped {
                self.witnesses.press(set);
            }
        }
        fit.model = best.1;
        self.witnesses.level();
    }

    /// Climbs on observations of few terms, then on those of more, and on more and more of all, until all are explained.
    pub(super) fn settle(&mut self, fit: Fit, patience: usize) -> Fit {
        let mut present = fit;
        let mut set = Set::default();
        for (least, most, count) in RUNGS {
            set.order.extend(self.witnesses.of_terms(least, most, count));
            if most == usize::MAX {
                set.order.extend(self.witnesses.latest(LATEST));
            }
            self.climb(&mut present, &mut set, patience.min(3), least > 1);
        }
        self.complete(present, set, patience)
    }

    /// Climbs on more and more of all observations.
    fn complete(&mut self, fit: Fit, mut set: Set, patience: usize) -> Fit {
        let mut present = fit;
        let mut best = (self.witnesses.len() + 1, present.model.clone());
        loop {
            let unexplained = self.witnesses.unexplained(&present.model);
            let better = unexplained.len() < best.0;
            if better {
                best = (unexplained.len(), present.model.clone());
            }
            let mut joining = unexplained;
            joining.retain(|i| !set.order.contains(i));
            if best.0 == 0 || self.is_spent() || joining.is_empty() && !better {
                break;
            }
            let step = joining.len().div_ceil(JOINING).max(1);
            set.order.extend(joining.into_iter().step_by(step));
            self.climb(&mut present, &mut set, patience, true);
        }
        Fit { penalty: best.0 as u64, model: best.1 }
    }

    /// Turns single knobs on all observations as long as that helps.
    pub(super) fn polish(&mut self, fit: Fit) -> Fit {
        let before = (self.witnesses.unexplained(&fit.model).len() as u64, fit.model.clone());
        let mut present = fit;
        let mut all = Set::first(self.witnesses.len());
        self.climb(&mut present, &mut all, 0, false);
        let penalty = self.witnesses.unexplained(&present.model).len() as u64;
        if penalty <= before.0 {
            Fit { penalty, model: present.model }
        } else {
            Fit { penalty: before.0, model: before.1 }
        }
    }

    /// The model that explains most, of those that can be reached from one that explained all that was asked before.
    pub(super) fn refit(&mut self, model: &Model) -> Fit {
        let mut order: Vec<usize> =
            RUNGS.iter().flat_map(|&(least, most, count)| self.witnesses.of_terms(least, most, count)).collect();
        let unexplained = self.witnesses.unexplained(model);
        order.extend(unexplained.into_iter().filter(|i| !order.contains(i)).take(400).collect::<Vec<_>>());
        let mut set = Set::of(order);
        let mut fit = self.polish(Fit { model: model.clone(), penalty: 0 });
        if fit.penalty == 0 {
            return fit;
        }
        self.climb(&mut fit, &mut set, 8, true);
        self.complete(fit, set, 8)
    }
}
