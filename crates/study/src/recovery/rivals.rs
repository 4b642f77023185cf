//! Which other models explain everything that was observed, and can any input tell them apart?

use super::dice::Dice;
use super::directed::directed;
use super::hints::Hints;
use super::knobs::{Knob, knobs, pairs, step, sums};
use super::mistaken::mistaken;
use super::pool::{Scope, pooled};
use super::question::{Asker, Observation, Question, Stage};
use super::settings::{Fineness, settings};
use super::shapes::Shape;
use super::witnesses::Witnesses;
use super::words::setting;
use rigel_device::unit::UnitError;
use rigel_ledger::units::Undetermined;
use rigel_numerics::arithmetic::{Evaluator, Line, Model};

/// A model that differs from the best one in little.
struct Rival {
    change: Change,
    model: Model,
}

/// In what a rival differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    One(Knob),
    Several,
    Tree,
}

/// Fresh questions on which all rivals are compared with the best model: of the pool, and at the places where the parameters
/// of the best model show.
const POOLED: usize = 500;
const DIRECTED: usize = 1000;
/// Further ones for each rival that is left, at the places of its own parameters.
const OWN: usize = 240;
/// Questions that are asked in a round, at most.
const ASKED: usize = 240;
/// Questions at the places of the best model's parameters that are asked whatever the rivals say.
const UNPROMPTED: usize = 400;

/// Other trees that are rivals.
const TREES: usize = 40;

/// What elimination came to.
pub(super) enum Elimination {
    /// The best model was wrong about these.
    Refuted(Vec<Observation>),
    /// It was right about all of these; these rivals cannot be told from it.
    Stands(Vec<Observation>, Vec<Undetermined>),
}

/// Looks for inputs on which rivals differ from the best model, and asks them: first among questions for all rivals, then
/// among questions made for each one. What is asked at last is drawn where the parameters of the best model show.
///
/// # Errors
/// What the unit contract says.
pub(super) fn eliminate(
    asker: &mut Asker<'_>,
    best: &Model,
    shapes: &[Shape],
    witnesses: &mut Witnesses,
    scope: &Scope,
    seed: u64,
) -> Result<Elimination, UnitError> {
    asker.enter(Stage::Elimination);
    let spec = asker.spec().clone();
    let Ok(evaluator) = Evaluator::new(best, spec.shape.k) else {
        return Ok(Elimination::Refuted(Vec::new()));
    };
    let mut rivals = rivals(best, shapes);
    rivals.retain(|rival| witnesses.explains(&rival.model));
    let hints = Hints::of(best);
    let fresh = |salt: u64, i: usize| Dice::new(seed ^ salt, i as u64);
    let pooled = (0..POOLED).map(|i| pooled(&spec, scope, seed ^ 0x5EED_0000, i));
    let directed_all = (0..DIRECTED).map(|i| directed(&spec, scope, &hints, fresh(0x5EED_0001, i)));
    let bank = Bank::new(&evaluator, pooled.chain(directed_all).collect());
    let mut chosen: Vec<usize> = Vec::new();
    rivals.retain(|rival| match bank.differing(&evaluator, &rival.model, &chosen) {
        Some(at) if chosen.contains(&at) => false,
        Some(at) if chosen.len() < ASKED => {
            chosen.push(at);
            false
        }
        _ => true,
    });
    let mut asked = Vec::new();
    if ask(asker, chosen.iter().map(|&at| (bank.questions[at].clone(), bank.own[at])).collect(), &mut asked)? {
        return Ok(Elimination::Refuted(asked));
    }
    let mut chosen: Vec<(Question, u64)> = Vec::new();
    let mut scratch = evaluator.scratch();
    let mut n = 0;
    rivals.retain(|rival| {
        n += 1;
        let Ok(other) = evaluator.remade(&rival.model) else { return false };
        let mut other_scratch = other.scratch();
        let mut differs =
            |q: &Question, own: u64| other.dot(&mut other_scratch, q.inputs()) != own;
        if chosen.iter().any(|(q, own)| differs(q, *own)) {
            return false;
        }
        let hints = hints.and(&rival.model);
        let own = (0..OWN).map(|i| directed(&spec, scope, &hints, fresh(0x5EED_0002 + n, i)));
        let told = own.map(|q| (evaluator.dot(&mut scratch, q.inputs()), q)).find(|(code, q)| differs(q, *code));
        match told {
            Some((code, q)) if chosen.len() < ASKED => {
                chosen.push((q, code));
                false
            }
            _ => true,
        }
    });
    let unprompted = (0..UNPROMPTED).map(|i| directed(&spec, scope, &hints, fresh(0x5EED_0003, i)));
    chosen.extend(unprompted.map(|q| {
        let code = evaluator.dot(&mut scratch, q.inputs());
        (q, code)
    }));
    if ask(asker, chosen, &mut asked)? {
        return Ok(Elimination::Refuted(asked));
    }
    Ok(Elimination::Stands(asked, classes(best, rivals)))
}

/// Asks questions of which a model's answers are known, and says whether one was wrong.
fn ask(
    asker: &mut Asker<'_>,
    chosen: Vec<(Question, u64)>,
    asked: &mut Vec<Observation>,
) -> Result<bool, UnitError> {
    let (questions, own): (Vec<Question>, Vec<u64>) = chosen.into_iter().unzip();
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

    /// A question on which a model differs from the best one, if possible one that is asked anyway.
    fn differing(&self, best: &Evaluator, model: &Model, chosen: &[usize]) -> Option<usize> {
        let evaluator = best.remade(model).ok()?;
        let mut scratch = evaluator.scratch();
        let alike = evaluator.decodes_like(best);
        let mut code = |at: usize| {
            let question = &self.questions[at];
            if alike {
                evaluator.dot_lines(&mut scratch, &self.lines[at].0, &self.lines[at].1, question.c)
            } else {
                evaluator.dot(&mut scratch, question.inputs())
            }
        };
        chosen.iter().copied().chain(0..self.questions.len()).find(|&at| code(at) != self.own[at])
    }
}

fn rivals(best: &Model, shapes: &[Shape]) -> Vec<Rival> {
    let each = |knob| settings(best, knob, Fineness::All).into_iter().map(move |model| (Change::One(knob), model));
    let coupled = pairs(best).into_iter().flat_map(|knob| settings(best, knob, Fineness::Ladder));
    let several = mistaken(best).into_iter().chain(coupled).map(|model| (Change::Several, model));
    let own: Vec<_> = sums(&mut best.body.clone()).into_iter().map(|s| s.clone()).collect();
    let trees = shapes.iter().take(TREES).filter_map(|shape| {
        let mut model = Model { body: shape.body.clone(), ..best.clone() };
        let mut places = sums(&mut model.body);
        if places.len() != own.len() {
            return None;
        }
        places.iter_mut().zip(&own).for_each(|(place, sum)| **place = sum.clone());
        step(&mut model.body).product_limit = best.body.step().product_limit;
        (model.body != best.body).then_some((Change::Tree, model))
    });
    let all = knobs(best).into_iter().flat_map(each).chain(several).chain(trees);
    all.map(|(change, model)| Rival { change, model }).collect()
}

/// The parameters that some rivals differ in, with their settings. Those that differ in several together are left out: they
/// differ in parameters that are named, or there are too many of them to be read.
fn classes(best: &Model, rivals: Vec<Rival>) -> Vec<Undetermined> {
    let said = |model: &Model, change: Change| match change {
        Change::One(knob) => Some((knob.to_string(), setting(model, knob))),
        Change::Tree => Some(("tree of steps".to_owned(), super::words::tree(&model.body))),
        Change::Several => None,
    };
    let mut all: Vec<Undetermined> = Vec::new();
    for rival in rivals {
        let Some((parameter, other)) = said(&rival.model, rival.change) else { continue };
        let index = all.iter().position(|u| u.parameter == parameter).unwrap_or_else(|| {
            let own = said(best, rival.change).map(|(_, setting)| setting);
            all.push(Undetermined { settings: own.into_iter().collect(), parameter });
            all.len() - 1
        });
        if !all[index].settings.contains(&other) {
            all[index].settings.push(other);
        }
    }
    all.retain(|u| u.settings.len() > 1);
    all
}
