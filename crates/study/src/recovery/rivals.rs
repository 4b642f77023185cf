//! Which other models explain everything that was observed, and can any input tell them apart?

use super::dice::Dice;
use super::directed::directed;
use super::hints::Hints;
use super::knobs::{knobs, pairs, step, sums};
use super::mistaken::mistaken;
use super::nudges::told_apart;
use super::pool::{Scope, pooled};
use super::question::{Asker, Observation, Question, Stage};
use super::settings::{Fineness, settings};
use super::shapes::{Shape, bare, reshaped};
use super::witnesses::Witnesses;
use super::words::setting;
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_ledger::units::Undetermined;
use rigel_numerics::arithmetic::{Evaluator, Line, Model, Published, library};

/// Questions at the places where the parameters of the best model show, asked before any rival is looked at.
const UNPROMPTED: usize = 240;
/// Fresh questions on which rivals are compared with the best model: of the pool, and at those places.
const POOLED: usize = 500;
const DIRECTED: usize = 700;
/// Further ones for each rival that is left, at the places of its own parameters.
const OWN: usize = 120;
const OF_A_TREE: usize = 600;
/// Questions on which all rivals are compared before a claim, and those of a rival of which they do not tell it.
const THOROUGH: usize = 4000;
const ALONE: usize = 800;
/// Questions for rivals that are asked, at most.
const ASKED: usize = 160;
/// Other trees that are rivals.
const TREES: usize = 120;

/// Whether the best model was wrong about a question that was asked, and what was asked.
pub(super) struct Elimination {
    pub refuted: bool,
    pub asked: Vec<Observation>,
}

/// Asks on what the best model is most likely wrong, then inputs on which its rivals differ from it: `others` that once explained
/// everything, and those that the best one and the trees give.
///
/// # Errors
/// What the unit contract says.
pub(super) fn eliminate(
    asker: &mut Asker<'_>,
    best: &Model,
    (shapes, others): (&[Shape], &[Model]),
    witnesses: &mut Witnesses,
    scope: &Scope,
    seed: u64,
) -> Result<Elimination, UnitError> {
    asker.enter(Stage::Elimination);
    let spec = asker.spec().clone();
    let mut asked = Vec::new();
    let Ok(evaluator) = Evaluator::new(best, spec.shape.k) else { return Ok(Elimination { refuted: true, asked }) };
    let hints = Hints::of(best);
    let at_its_places = |salt: u64, i: usize| directed(&spec, scope, &hints, Dice::new(seed ^ salt, i as u64));
    let mut scratch = evaluator.scratch();
    let unprompted = (0..UNPROMPTED).map(|i| at_its_places(0x5EED_0000, i));
    let unprompted = unprompted.map(|q| (evaluator.dot(&mut scratch, q.inputs()), q)).collect();
    if ask(asker, unprompted, &mut asked)? {
        return Ok(Elimination { refuted: true, asked });
    }
    let pooled = (0..POOLED).map(|i| pooled(&spec, scope, seed ^ 0x5EED_0001, i));
    let bank = Bank::new(&evaluator, pooled.chain((0..DIRECTED).map(|i| at_its_places(0x5EED_0002, i))).collect());
    let mut chosen: Vec<(u64, Question)> = Vec::new();
    let mut taken = vec![false; bank.questions.len()];
    let tree = bare(&best.body);
    for (n, rival) in others.iter().cloned().chain(rivals(best, shapes)).enumerate() {
        if chosen.len() == ASKED {
            break;
        }
        let Ok(other) = evaluator.remade(&rival) else { continue };
        // Each begins to look elsewhere, so that many different questions are asked.
        if let Some(at) = bank.differing(&evaluator, &other, n * 37) {
            if !taken[at] && witnesses.explains(&rival) {
                taken[at] = true;
                chosen.push((bank.own[at], bank.questions[at].clone()));
            }
            continue;
        }
        let hints = hints.and(&rival);
        let mut other_scratch = other.scratch();
        // What tells trees apart is met more seldom than what tells parameters apart.
        let own = if bare(&rival.body) == tree { OWN } else { OF_A_TREE };
        let own =
            (0..own).map(|i| directed(&spec, scope, &hints, Dice::new(seed ^ 0x5EED_0003, (n * OF_A_TREE + i) as u64)));
        let told = own
            .map(|q| (evaluator.dot(&mut scratch, q.inputs()), q))
            .find(|(code, q)| other.dot(&mut other_scratch, q.inputs()) != *code);
        if told.is_some() && witnesses.explains(&rival) {
            chosen.extend(told);
        }
    }
    let refuted = ask(asker, chosen, &mut asked)?;
    Ok(Elimination { refuted, asked })
}

/// Asks questions of which a model's answers are known, and says whether one was wrong.
fn ask(asker: &mut Asker<'_>, chosen: Vec<(u64, Question)>, asked: &mut Vec<Observation>) -> Result<bool, UnitError> {
    let (own, questions): (Vec<u64>, Vec<Question>) = chosen.into_iter().unzip();
    let answers = asker.observe(questions)?;
    let refuted = answers.iter().zip(own).any(|(answer, own)| answer.d != own);
    asked.extend(answers);
    Ok(refuted)
}

/// Questions with the answers of the best model, decoded as it reads them.
struct Bank {
    questions: Vec<Question>,
    lines: Vec<(Line, Line)>,
    own: Vec<u64>,
}

impl Bank {
    fn new(best: &Evaluator, questions: Vec<Question>) -> Bank {
        let mut scratch = best.scratch();
        let own = questions.iter().map(|q| best.dot(&mut scratch, q.inputs())).collect();
        let line = |q: &Question| (best.line_of_a(&q.a, &q.a_scales), best.line_of_b(&q.b, &q.b_scales));
        Bank { lines: questions.iter().map(line).collect(), own, questions }
    }

    /// A question on which a model differs from the best one, looked for from one of them on.
    fn differing(&self, best: &Evaluator, other: &Evaluator, from: usize) -> Option<usize> {
        let mut scratch = other.scratch();
        let alike = other.decodes_like(best);
        let mut code = |at: usize| {
            let question = &self.questions[at];
            if alike {
                other.dot_lines(&mut scratch, &self.lines[at].0, &self.lines[at].1, question.c)
            } else {
                other.dot(&mut scratch, question.inputs())
            }
        };
        let count = self.questions.len();
        (0..count).map(|n| (n + from) % count).find(|&at| code(at) != self.own[at])
    }
}

/// As [`eliminate`], for a model that is about to be claimed: rivals that few questions do not tell from it are compared with
/// it on many.
///
/// # Errors
/// What the unit contract says.
pub(super) fn eliminate_thoroughly(
    asker: &mut Asker<'_>,
    best: &Model,
    (shapes, others): (&[Shape], &[Model]),
    witnesses: &mut Witnesses,
    scope: &Scope,
    seed: u64,
) -> Result<Elimination, UnitError> {
    asker.enter(Stage::Elimination);
    let spec = asker.spec().clone();
    let mut asked = Vec::new();
    let Ok(evaluator) = Evaluator::new(best, spec.shape.k) else { return Ok(Elimination { refuted: true, asked }) };
    let slow = spec.shape.k / 16 + 1;
    let hints = Hints::of(best);
    let draw = |i: usize| directed(&spec, scope, &hints, Dice::new(seed ^ 0x5EED_0005, i as u64));
    let bank = Bank::new(&evaluator, (0..THOROUGH / slow).map(draw).collect());
    let mut chosen: Vec<(u64, Question)> = Vec::new();
    let mut taken = vec![false; bank.questions.len()];
    let of_one = ALONE / slow;
    let tree = bare(&best.body);
    for (n, rival) in others.iter().cloned().chain(rivals(best, shapes)).enumerate() {
        let Ok(other) = evaluator.remade(&rival) else { continue };
        if let Some(at) = bank.differing(&evaluator, &other, n * 37) {
            if !taken[at] && witnesses.explains(&rival) {
                taken[at] = true;
                chosen.push((bank.own[at], bank.questions[at].clone()));
            }
            continue;
        }
        let hints = hints.and(&rival);
        let own =
            (0..of_one).map(|i| directed(&spec, scope, &hints, Dice::new(seed ^ 0x5EED_0006, (n * of_one + i) as u64)));
        let guided = bare(&rival.body) == tree;
        let dice = Dice::new(seed ^ 0x5EED_0007, n as u64);
        let own = told_apart(&spec, (&evaluator, &other), guided, own, dice);
        if own.is_some() && witnesses.explains(&rival) {
            chosen.extend(own);
        }
    }
    chosen.truncate(4 * ASKED);
    let refuted = ask(asker, chosen, &mut asked)?;
    Ok(Elimination { refuted, asked })
}

/// Models that differ from the best one in one parameter, in several that are easily taken for each other, or in
/// their tree.
fn rivals(best: &Model, shapes: &[Shape]) -> Vec<Model> {
    let single = knobs(best).into_iter().chain(pairs(best));
    let turned = single.flat_map(|knob| settings(best, knob, Fineness::Ladder));
    let trees = shapes.iter().take(TREES).flat_map(|shape| reshaped(best, &shape.body));
    turned.chain(mistaken(best)).chain(trees).collect()
}

/// The settings of each parameter, and the trees, that nothing which was asked and no fresh question tells from those of
/// the best model.
pub(super) fn undetermined(
    spec: &UnitSpec,
    best: &Model,
    shapes: &[Shape],
    witnesses: &mut Witnesses,
    scope: &Scope,
    seed: u64,
) -> Vec<Undetermined> {
    let Ok(evaluator) = Evaluator::new(best, spec.shape.k) else { return Vec::new() };
    let hints = Hints::of(best);
    let directed = (0..DIRECTED).map(|i| directed(spec, scope, &hints, Dice::new(seed ^ 0x5EED_0004, i as u64)));
    let bank = Bank::new(&evaluator, directed.collect());
    let mut untold = |model: &Model| {
        let Ok(other) = evaluator.remade(model) else { return false };
        witnesses.latest_explained(model, LATEST) && bank.differing(&evaluator, &other, 0).is_none()
    };
    let mut all = Vec::new();
    for knob in knobs(best) {
        let mut others = settings(best, knob, Fineness::All);
        others.retain(&mut untold);
        let said = others.iter().map(|model| setting(model, knob));
        all.extend(class(knob.to_string(), setting(best, knob), said));
    }
    let others = trees(best, shapes).into_iter().filter(&mut untold).map(|model| super::words::tree(&model.body));
    all.extend(class(TREE.to_owned(), super::words::tree(&best.body), others));
    let takes = |model: &Model| (model.triple, model.scales.map(|s| (s.a, s.b, s.group)));
    let published = library().iter().filter(|p| takes(&p.model) == takes(best) && untold(&p.model)).map(published_as);
    all.extend(class(WHOLE.to_owned(), "this one".to_owned(), published));
    all
}

/// What trees, and whole models, are called where they stand in a class.
pub(super) const TREE: &str = "tree of steps";
pub(super) const WHOLE: &str = "whole model";

/// What a published model is called in a class.
pub(super) fn published_as(published: &Published) -> String {
    format!("published as {}", published.name)
}

/// Observations that settings of the class must explain.
const LATEST: usize = 800;

/// A parameter with its own setting first; nothing where it has no other.
fn class(parameter: String, own: String, others: impl Iterator<Item = String>) -> Option<Undetermined> {
    let mut settings = vec![own];
    for other in others {
        if !settings.contains(&other) {
            settings.push(other);
        }
    }
    (settings.len() > 1).then_some(Undetermined { parameter, settings })
}

/// The best model with other trees of as many sums.
fn trees(best: &Model, shapes: &[Shape]) -> Vec<Model> {
    let own: Vec<_> = sums(&mut best.body.clone()).into_iter().map(|s| s.clone()).collect();
    let with = |shape: &Shape| {
        let mut model = Model { body: shape.body.clone(), ..best.clone() };
        let mut places = sums(&mut model.body);
        if places.len() != own.len() {
            return None;
        }
        places.iter_mut().zip(&own).for_each(|(place, sum)| **place = sum.clone());
        step(&mut model.body).product_limit = best.body.step().product_limit;
        (model.body != best.body).then_some(model)
    };
    shapes.iter().take(TREES).filter_map(with).collect()
}
