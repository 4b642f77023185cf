//! Which settings of all parameters explain what was observed?
//!
//! Knobs are turned one after another; a setting is kept when it brings the predicted codes nearer to the observed ones. Most
//! questions of the pool feel few parameters, so these can be found while others are still wrong.

use super::dice::Dice;
use super::knobs::{Knob, Place, knobs, pairs, sums};
use super::question::Observation;
use super::settings::settings;
use rigel_numerics::Format;
use rigel_numerics::arithmetic::{Evaluator, Model};

/// A model and how far its predictions lie from what was observed.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub model: Model,
    pub penalty: u64,
}

/// Observations, and how many more dot products may be evaluated on them.
pub(super) struct Fitter<'o> {
    k: usize,
    observations: &'o [Observation],
    left: i64,
    dice: Dice,
}

/// Observations on which starts are compared.
const QUICK: usize = 110;
/// Observations on which knobs are first turned.
const ACTIVE: usize = 280;
/// Mismatches that join the active observations at a time.
const JOINING: usize = 64;
/// Trees of which every beginning is tried.
const PROMISING: usize = 6;
/// Beginnings that are fitted in full.
const FITTED: usize = 5;

/// How far a predicted code lies from the observed one: 0 if it is the same, else 8 and the bits of their distance in
/// codes.
pub(super) fn penalty(format: Format, observed: u64, predicted: u64) -> u64 {
    if observed == predicted {
        return 0;
    }
    if format.is_nan(observed) != format.is_nan(predicted) {
        return 8 + 64;
    }
    let place = |code: u64| -> i128 {
        let unused = 128 - format.bits();
        if format.is_integer() {
            return (code as i128) << unused >> unused;
        }
        let magnitude = i128::from(code & (format.code_mask() >> 1));
        if code >> (format.bits() - 1) & 1 == 1 { -magnitude } else { magnitude }
    };
    let distance = (place(observed) - place(predicted)).unsigned_abs();
    8 + u64::from(128 - distance.leading_zeros())
}

/// Numbers of observations, those that the present model does not explain first.
struct Set {
    order: Vec<usize>,
    wrong: usize,
}

impl Set {
    fn first(count: usize) -> Set {
        Set { order: (0..count).collect(), wrong: 0 }
    }
}

impl<'o> Fitter<'o> {
    /// Fits to observations of dot products of `k` products with at most `most` evaluations of one.
    pub(super) fn new(k: usize, observations: &'o [Observation], most: u64, seed: u64) -> Fitter<'o> {
        Fitter { k, observations, left: most.min(i64::MAX as u64) as i64, dice: Dice::new(seed, 77) }
    }

    /// Evaluations that are left.
    pub(super) fn left(&self) -> u64 {
        self.left.max(0) as u64
    }

    /// The penalty of a model on a set; `None` if it is not below `limit`.
    fn penalty(&mut self, model: &Model, set: &mut Set, limit: u64) -> Option<u64> {
        let evaluator = Evaluator::new(model, self.k).ok()?;
        let mut scratch = evaluator.scratch();
        let format = model.triple.c;
        let mut total = 0;
        for n in 0..set.order.len() {
            let Observation { question, d } = &self.observations[set.order[n]];
            total += penalty(format, *d, evaluator.dot(&mut scratch, question.inputs()));
            if total >= limit {
                // What refused this model may refuse the next one sooner.
                if n > set.wrong {
                    set.order.swap(n, set.wrong + (n - set.wrong) / 2);
                }
                self.left -= n as i64 + 8;
                return None;
            }
        }
        self.left -= set.order.len() as i64 + 8;
        Some(total)
    }

    /// The penalty of a model on a set, whose observations that it does not explain now come first: a model that explains
    /// none of them is refused after those.
    fn arrange(&mut self, model: &Model, set: &mut Set) -> u64 {
        let Ok(evaluator) = Evaluator::new(model, self.k) else { return u64::MAX };
        let mut scratch = evaluator.scratch();
        let (mut wrong, mut right) = (Vec::new(), Vec::with_capacity(set.order.len()));
        let mut total = 0;
        for &i in &set.order {
            let Observation { question, d } = &self.observations[i];
            let penalty = penalty(model.triple.c, *d, evaluator.dot(&mut scratch, question.inputs()));
            if penalty > 0 {
                wrong.push(i)
            } else {
                right.push(i)
            }
            total += penalty;
        }
        self.left -= set.order.len() as i64 + 8;
        set.wrong = wrong.len();
        wrong.extend(right);
        set.order = wrong;
        total
    }

    /// The observations that a model does not explain.
    pub(super) fn unexplained(&self, model: &Model) -> Vec<usize> {
        unexplained(model, self.k, self.observations)
    }

    fn turn(&mut self, fit: &mut Fit, knob: Knob, set: &mut Set) -> bool {
        let mut best: Option<Model> = None;
        for other in settings(&fit.model, knob) {
            if let Some(penalty) = self.penalty(&other, set, fit.penalty) {
                fit.penalty = penalty;
                best = Some(other);
            }
        }
        let Some(model) = best else { return false };
        fit.model = model;
        fit.penalty = self.arrange(&fit.model, set);
        true
    }

    /// Turns knobs until none helps.
    fn climb(&mut self, fit: &mut Fit, set: &mut Set) {
        loop {
            let mut turned = false;
            for knob in knobs(&fit.model) {
                // Exponents are tried on a coarse ladder and near the present one: the best comes in sight step by step.
                let ladder = matches!(knob, Knob::Floor(_) | Knob::ZeroValues(_) | Knob::ZeroProducts(_));
                for _ in 0..if ladder { 4 } else { 1 } {
                    if fit.penalty == 0 || self.left <= 0 || !self.turn(fit, knob, set) {
                        break;
                    }
                    turned = true;
                }
            }
            if fit.penalty == 0 || self.left <= 0 {
                return;
            }
            if !turned {
                let both = pairs(&fit.model);
                if !both.into_iter().any(|knob| self.turn(fit, knob, set)) {
                    return;
                }
            }
        }
    }

    /// Turns two knobs at random and climbs from there, as long as that may help.
    fn shake(&mut self, fit: &mut Fit, set: &mut Set, times: usize) {
        for _ in 0..times {
            if fit.penalty == 0 || self.left <= 0 {
                return;
            }
            let mut model = fit.model.clone();
            for _ in 0..1 + self.dice.below(3) {
                let all = knobs(&model);
                let others = settings(&model, all[self.dice.below(all.len())]);
                if !others.is_empty() {
                    model = others[self.dice.below(others.len())].clone();
                }
            }
            if Evaluator::new(&model, self.k).is_ok() {
                let mut other = Fit { penalty: self.arrange(&model, set), model };
                self.climb(&mut other, set);
                if other.penalty < fit.penalty {
                    *fit = other;
                }
            }
        }
        fit.penalty = self.arrange(&fit.model, set);
    }

    /// Climbs on more and more observations, until all are explained or nothing helps.
    fn settle(&mut self, fit: &mut Fit, shakes: usize) {
        let count = self.observations.len();
        let mut set = Set::first(count.min(ACTIVE));
        for _ in 0..12 {
            if self.left <= 0 {
                break;
            }
            fit.penalty = self.arrange(&fit.model, &mut set);
            self.climb(fit, &mut set);
            if fit.penalty > 0 {
                self.shake(fit, &mut set, shakes);
            }
            let mut joining = self.unexplained(&fit.model);
            joining.retain(|i| !set.order.contains(i));
            if joining.is_empty() {
                break;
            }
            let step = joining.len().div_ceil(JOINING);
            set.order.extend(joining.into_iter().step_by(step));
        }
        fit.penalty = self.arrange(&fit.model, &mut Set::first(count));
    }

    /// The model that explains most, of those that can be reached from some starts.
    ///
    /// Every tree is begun once with the first setting of its sums, the most promising ones with the others too; the best of
    /// all these are fitted in full.
    pub(super) fn fit(&mut self, starts: &[Vec<Model>]) -> Option<Fit> {
        let mut quick = Set::first(self.observations.len().min(QUICK));
        let share = self.left / 2;
        let mut begun: Vec<(u64, usize, Fit)> = Vec::new();
        for (tree, settings) in starts.iter().enumerate() {
            let first = settings.first().filter(|_| self.left > share);
            begun.extend(first.and_then(|start| self.begin(start, &mut quick)).map(|fit| (fit.penalty, tree, fit)));
        }
        begun.sort_by_key(|(penalty, tree, _)| (*penalty, *tree));
        let promising: Vec<usize> = begun.iter().take(PROMISING).map(|(_, tree, _)| *tree).collect();
        for tree in promising {
            for start in &starts[tree][1..] {
                begun.extend(self.begin(start, &mut quick).map(|fit| (fit.penalty, tree, fit)));
            }
        }
        begun.sort_by_key(|(penalty, tree, _)| (*penalty, *tree));
        let mut found: Vec<Fit> = Vec::new();
        for (.., mut fit) in begun.into_iter().take(FITTED) {
            if self.left <= 0 {
                break;
            }
            self.settle(&mut fit, 0);
            let explains = fit.penalty == 0;
            found.push(fit);
            if explains {
                break;
            }
        }
        found.sort_by_key(|fit| fit.penalty);
        for fit in &mut found {
            if fit.penalty > 0 && self.left > 0 {
                self.settle(fit, 4);
            }
            if fit.penalty == 0 {
                break;
            }
        }
        found.into_iter().min_by_key(|fit| fit.penalty)
    }

    /// A round or two over the knobs that matter most.
    fn begin(&mut self, start: &Model, set: &mut Set) -> Option<Fit> {
        Evaluator::new(start, self.k).ok()?;
        let mut fit = Fit { model: start.clone(), penalty: self.arrange(start, set) };
        let count = sums(&mut start.body.clone()).len();
        for _ in 0..2 {
            let before = fit.penalty;
            for s in 0..count {
                let place = Place::Sum(s);
                let first =
                    [Knob::Form(s), Knob::Fraction(s), Knob::Cut(s), Knob::Rounding(place), Knob::Precision(place)];
                for knob in first.into_iter().chain([Knob::Integer(s)]) {
                    if model_has(&fit.model, knob) {
                        self.turn(&mut fit, knob, set);
                    }
                }
            }
            // A second round where the first one brought much.
            if count == 1 || fit.penalty * 4 > before * 3 {
                break;
            }
        }
        Some(fit)
    }
}

fn model_has(model: &Model, knob: Knob) -> bool {
    matches!(knob, Knob::Integer(_)) == model.triple.is_integer()
}

/// The observations that a model does not explain; all of them if it cannot be evaluated.
pub(super) fn unexplained(model: &Model, k: usize, observations: &[Observation]) -> Vec<usize> {
    let Ok(evaluator) = Evaluator::new(model, k) else { return (0..observations.len()).collect() };
    let mut scratch = evaluator.scratch();
    let wrong = |o: &Observation, scratch: &mut _| evaluator.dot(scratch, o.question.inputs()) != o.d;
    (0..observations.len()).filter(|&i| wrong(&observations[i], &mut scratch)).collect()
}
