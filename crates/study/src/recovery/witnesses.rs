//! How far is a model from what was observed?

use super::question::{Observation, Question};
use super::residues::shown_bits;
use rigel_numerics::arithmetic::{Evaluator, Line, Model, Scratch};
use rigel_numerics::{Format, Triple};

/// Observations of dot products of one length, their weights, and their operands decoded once for all models that read
/// them alike.
pub(super) struct Witnesses {
    k: usize,
    observations: Vec<Observation>,
    /// What a wrong prediction counts; a search raises it where it is stuck.
    weights: Vec<u64>,
    /// Terms of each that are not zero; [`STRANGE`] where one is not finite.
    terms: Vec<usize>,
    /// How many observations are of the pool, and not of a refutation.
    pool: usize,
    triple: Triple,
    /// The evaluator whose lines are kept.
    reader: Option<Evaluator>,
    lines: Vec<Option<Box<(Line, Line)>>>,
    /// Dot products that were evaluated, and what models cost to be made.
    spent: u64,
}

/// Numbers of observations in the order in which they are looked at: those first that the present model does not explain.
#[derive(Debug, Clone, Default)]
pub(super) struct Set {
    pub order: Vec<usize>,
    /// How many of the first ones the present model does not explain.
    pub wrong: usize,
    /// Some of both kinds, and the penalty of the present model on them.
    sample: (Vec<usize>, u64),
}

impl Set {
    pub(super) fn of(order: Vec<usize>) -> Set {
        Set { order, ..Set::default() }
    }

    /// Whether so few are unexplained that no sample is looked at first.
    pub(super) fn is_small(&self) -> bool {
        self.wrong <= SAMPLED
    }

    /// Those that the present model does not explain.
    pub(super) fn of_wrong(&self) -> Set {
        Set { order: self.order[..self.wrong].to_vec(), wrong: self.wrong, ..Set::default() }
    }

    /// The first observations.
    pub(super) fn first(count: usize) -> Set {
        Set::of((0..count).collect())
    }
}

/// Longest dot products whose lines are kept: of longer ones they would fill the memory.
const KEPT_K: usize = 512;
/// Observations of a sample that the present model does not explain, and that it explains.
const SAMPLED: usize = 30;
/// Products beyond which a dot product counts more than once.
const LONG: usize = 24;
/// What it costs to make a model ready, in dot products.
const MAKING: u64 = 8;

impl Witnesses {
    pub(super) fn new(triple: Triple, k: usize, observations: Vec<Observation>) -> Witnesses {
        let mut all = Witnesses {
            k,
            observations: Vec::new(),
            weights: Vec::new(),
            terms: Vec::new(),
            pool: usize::MAX,
            triple,
            reader: None,
            lines: Vec::new(),
            spent: 0,
        };
        all.extend(observations);
        all
    }

    pub(super) fn extend(&mut self, observations: Vec<Observation>) {
        self.terms.extend(observations.iter().map(|o| terms(self.triple, &o.question)));
        self.observations.extend(observations);
        self.weights.resize(self.observations.len(), 1);
        self.lines.resize_with(self.observations.len(), || None);
    }

    /// Observations that were added from now on refuted something: see [`Witnesses::latest`].
    pub(super) fn close_pool(&mut self) {
        self.pool = self.len();
    }

    /// The latest observations that refuted a model, `count` at most.
    pub(super) fn latest(&self, count: usize) -> Vec<usize> {
        (self.pool.max(self.len().saturating_sub(count))..self.len()).collect()
    }

    /// Some observations of the pool of `least` to `most` terms, `count` at most, from all over the list.
    pub(super) fn of_terms(&self, least: usize, most: usize, count: usize) -> Vec<usize> {
        let all: Vec<usize> =
            (0..self.pool.min(self.len())).filter(|&i| (least..=most).contains(&self.terms[i])).collect();
        let step = all.len().div_ceil(count.max(1)).max(1);
        all.into_iter().step_by(step).collect()
    }

    pub(super) fn observations(&self) -> &[Observation] {
        &self.observations
    }

    pub(super) fn len(&self) -> usize {
        self.observations.len()
    }

    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// Every observation counts alike again.
    pub(super) fn level(&mut self) {
        self.weights.fill(1);
    }

    /// What the first ones of a set count more from now on.
    pub(super) fn press(&mut self, set: &Set) {
        for &i in &set.order[..set.wrong] {
            self.weights[i] += 1;
        }
    }

    fn made(&mut self, model: &Model) -> Option<Evaluator> {
        self.spent += MAKING;
        match &self.reader {
            Some(reader) => reader.remade(model).ok(),
            None => Evaluator::new(model, self.k).ok(),
        }
    }

    /// From now on lines are kept as this model reads them.
    fn read_as(&mut self, evaluator: &Evaluator) {
        if self.reader.as_ref().is_none_or(|reader| !reader.decodes_like(evaluator)) {
            self.lines.iter_mut().for_each(|line| *line = None);
        }
        self.reader = Some(evaluator.clone());
    }

    /// What a model says about an observation.
    fn predicted(&mut self, evaluator: &Evaluator, alike: bool, scratch: &mut Scratch, i: usize) -> u64 {
        self.spent += 1 + (self.k / LONG) as u64;
        let question = &self.observations[i].question;
        if !alike {
            return evaluator.dot(scratch, question.inputs());
        }
        let lines = self.lines[i].get_or_insert_with(|| {
            let a = evaluator.line_of_a(&question.a, &question.a_scales);
            Box::new((a, evaluator.line_of_b(&question.b, &question.b_scales)))
        });
        evaluator.dot_lines(scratch, &lines.0, &lines.1, question.c)
    }

    fn shares(&self, evaluator: &Evaluator) -> bool {
        self.k <= KEPT_K && self.reader.as_ref().is_some_and(|reader| reader.decodes_like(evaluator))
    }

    /// The penalty of a model on a set; `None` if it is not below `limit`.
    pub(super) fn penalty(&mut self, model: &Model, set: &mut Set, limit: u64) -> Option<u64> {
        self.penalty_if(model, set, limit, false)
    }

    /// As [`Witnesses::penalty`], but a model that is no better than the present one on a sample of a large set is refused at
    /// once: most models are, and where many predictions are wrong a few of them show which settings help.
    pub(super) fn better(&mut self, model: &Model, set: &mut Set, limit: u64) -> Option<u64> {
        self.penalty_if(model, set, limit, true)
    }

    fn penalty_if(&mut self, model: &Model, set: &mut Set, limit: u64, sampled: bool) -> Option<u64> {
        let evaluator = self.made(model)?;
        let alike = self.shares(&evaluator);
        let mut scratch = if alike { evaluator.light_scratch() } else { evaluator.scratch() };
        if sampled && set.wrong > SAMPLED {
            let (sample, most) = &set.sample;
            let mut total = 0;
            for &i in sample {
                let predicted = self.predicted(&evaluator, alike, &mut scratch, i);
                total += self.weights[i] * penalty(model.triple.c, self.observations[i].d, predicted);
                if total >= *most {
                    return None;
                }
            }
        }
        let mut total = 0;
        for n in 0..set.order.len() {
            let i = set.order[n];
            let predicted = self.predicted(&evaluator, alike, &mut scratch, i);
            total += self.weights[i] * penalty(model.triple.c, self.observations[i].d, predicted);
            if total >= limit {
                // What refused this model may refuse the next one sooner.
                if n > set.wrong {
                    set.order.swap(n, set.wrong + (n - set.wrong) / 2);
                }
                return None;
            }
        }
        Some(total)
    }

    /// The penalty of a model on a set, whose observations that it does not explain now come first: a model that explains
    /// none of them is refused after those.
    pub(super) fn arrange(&mut self, model: &Model, set: &mut Set) -> u64 {
        let Some(evaluator) = self.made(model) else { return u64::MAX };
        if self.k <= KEPT_K {
            self.read_as(&evaluator);
        }
        let alike = self.shares(&evaluator);
        let mut scratch = evaluator.scratch();
        let (mut wrong, mut right) = (Vec::new(), Vec::with_capacity(set.order.len()));
        let mut penalties = Vec::new();
        let mut total = 0;
        for &i in &set.order {
            let predicted = self.predicted(&evaluator, alike, &mut scratch, i);
            let penalty = penalty(model.triple.c, self.observations[i].d, predicted);
            if penalty > 0 {
                wrong.push(i);
                penalties.push(self.weights[i] * penalty);
            } else {
                right.push(i);
            }
            total += self.weights[i] * penalty;
        }
        set.wrong = wrong.len();
        let step = |all: &[usize]| all.len().div_ceil(SAMPLED).max(1);
        let sample = wrong.iter().step_by(step(&wrong)).chain(right.iter().step_by(step(&right)));
        set.sample = (sample.copied().collect(), penalties.iter().step_by(step(&wrong)).sum());
        wrong.extend(right);
        set.order = wrong;
        total
    }

    /// The observations that a model does not explain; all of them if it cannot be evaluated.
    pub(super) fn unexplained(&mut self, model: &Model) -> Vec<usize> {
        let Some(evaluator) = self.made(model) else { return (0..self.len()).collect() };
        let alike = self.shares(&evaluator);
        let mut scratch = evaluator.scratch();
        let mut wrong = Vec::new();
        for i in 0..self.len() {
            if self.predicted(&evaluator, alike, &mut scratch, i) != self.observations[i].d {
                wrong.push(i);
            }
        }
        wrong
    }

    /// Significant bits of the outputs.
    pub(super) fn shown_bits(&self) -> u32 {
        shown_bits(self.triple.c, self.observations.iter().map(|o| o.d))
    }

    /// What a model says of some observations; nothing if it cannot be evaluated.
    pub(super) fn said(&mut self, model: &Model, some: &[usize]) -> Vec<u64> {
        let Some(evaluator) = self.made(model) else { return Vec::new() };
        let alike = self.shares(&evaluator);
        let mut scratch = evaluator.scratch();
        some.iter().map(|&i| self.predicted(&evaluator, alike, &mut scratch, i)).collect()
    }

    /// Whether a model explains the latest `count` observations.
    pub(super) fn latest_explained(&mut self, model: &Model, count: usize) -> bool {
        let Some(evaluator) = self.made(model) else { return false };
        let alike = self.shares(&evaluator);
        let mut scratch = evaluator.scratch();
        let latest = (0..self.len()).rev().take(count);
        latest.into_iter().all(|i| self.predicted(&evaluator, alike, &mut scratch, i) == self.observations[i].d)
    }

    /// Whether a model explains every observation, the latest of which were chosen to tell models apart.
    pub(super) fn explains(&mut self, model: &Model) -> bool {
        self.latest_explained(model, self.len())
    }
}

/// What counts as the number of terms of a question with an infinity or a NaN.
pub(super) const STRANGE: usize = 3;

fn terms(triple: Triple, question: &Question) -> usize {
    let finite = |format: Format, code: u64| format.is_integer() || format.decode(code).is_finite();
    let (mut count, mut strange) = (usize::from(question.c != 0), !finite(triple.c, question.c));
    for (&a, &b) in question.a.iter().zip(&question.b) {
        strange |= !finite(triple.a, a) || !finite(triple.b, b);
        count += usize::from(triple.a.decode(a) != 0.0 && triple.b.decode(b) != 0.0);
    }
    if strange { STRANGE } else { count }
}

/// How far a predicted code lies from the observed one: 0 if it is the same, else 8 and up to 8 more for their distance.
fn penalty(format: Format, observed: u64, predicted: u64) -> u64 {
    if observed == predicted {
        return 0;
    }
    if format.is_nan(observed) != format.is_nan(predicted) {
        return 16;
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
    8 + u64::from(128 - distance.leading_zeros()) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_grow_with_the_distance_and_are_none_for_the_same_code() {
        let of = |x: f32, y: f32| penalty(Format::F32, u64::from(x.to_bits()), u64::from(y.to_bits()));
        assert_eq!(of(1.0, 1.0), 0);
        assert!(of(1.0, 1.0 + f32::EPSILON) < of(1.0, 2.0));
        assert!(of(0.0, -0.0) > 0);
        assert_eq!(of(1.0, f32::NAN), 16);
    }
}
