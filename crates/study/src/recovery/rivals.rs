//! Which other models explain everything that was observed, and can any input tell them apart?

use super::knobs::{knobs, sums};
use super::pool::{Scope, pooled};
use super::question::{Asker, Observation, Question, Stage};
use super::settings::{Fineness, settings};
use super::shapes::Shape;
use super::witnesses::Witnesses;
use super::words::setting;
use rigel_device::unit::UnitError;
use rigel_ledger::units::Undetermined;
use rigel_numerics::arithmetic::{Evaluator, Line, Model};

/// A model that differs from the best one in one place.
struct Rival {
    parameter: String,
    setting: String,
    model: Model,
}

/// Fresh questions on which rivals are compared with the best model, in each round.
const BANK: usize = 900;
/// Rounds of fresh questions.
const ROUNDS: u64 = 2;
/// Questions that are asked in a round, at most.
const ASKED: usize = 240;

/// What elimination came to.
pub(super) enum Elimination {
    /// The best model was wrong about these.
    Refuted(Vec<Observation>),
    /// It was right about all of these; these rivals cannot be told from it.
    Stands(Vec<Observation>, Vec<Undetermined>),
}

/// Looks for inputs on which rivals differ from the best model, and asks them.
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
    let k = spec.shape.k;
    let mut rivals = rivals(best, shapes);
    rivals.retain(|rival| witnesses.explains(&rival.model));
    let mut asked = Vec::new();
    for round in 0..ROUNDS {
        let bank: Vec<Question> = (0..BANK).map(|i| pooled(&spec, scope, seed ^ 0x5EED_0000 ^ round, i)).collect();
        let Ok(evaluator) = Evaluator::new(best, k) else { break };
        let bank = Bank::new(&evaluator, bank);
        let mut chosen: Vec<usize> = Vec::new();
        let mut same = Vec::new();
        for rival in rivals {
            match bank.differing(&evaluator, &rival.model, &chosen) {
                Some(at) if chosen.contains(&at) => {}
                Some(at) if chosen.len() < ASKED => chosen.push(at),
                _ => same.push(rival),
            }
        }
        rivals = same;
        let questions: Vec<Question> = chosen.iter().map(|&at| bank.questions[at].clone()).collect();
        let answers = asker.observe(questions)?;
        let refuted = chosen.iter().zip(&answers).any(|(&at, answer)| answer.d != bank.own[at]);
        asked.extend(answers);
        if refuted {
            return Ok(Elimination::Refuted(asked));
        }
    }
    Ok(Elimination::Stands(asked, classes(best, rivals)))
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
    let mut all = Vec::new();
    for knob in knobs(best) {
        for model in settings(best, knob, Fineness::All) {
            all.push(Rival { parameter: knob.to_string(), setting: setting(&model, knob), model });
        }
    }
    let own: Vec<_> = sums(&mut best.body.clone()).into_iter().map(|s| s.clone()).collect();
    for shape in shapes.iter().take(40) {
        let mut model = best.clone();
        model.body = shape.body.clone();
        let mut places = sums(&mut model.body);
        if places.len() != own.len() {
            continue;
        }
        places.iter_mut().zip(&own).for_each(|(place, sum)| **place = sum.clone());
        if model.body != best.body {
            let setting = super::words::tree(&model.body);
            all.push(Rival { parameter: "tree of steps".to_owned(), setting, model });
        }
    }
    all
}

fn classes(best: &Model, rivals: Vec<Rival>) -> Vec<Undetermined> {
    let mut all: Vec<Undetermined> = Vec::new();
    let own = |parameter: &str| {
        let knob = knobs(best).into_iter().find(|knob| knob.to_string() == parameter);
        knob.map_or_else(|| super::words::tree(&best.body), |knob| setting(best, knob))
    };
    for rival in rivals {
        let index = all.iter().position(|u| u.parameter == rival.parameter).unwrap_or_else(|| {
            all.push(Undetermined { settings: vec![own(&rival.parameter)], parameter: rival.parameter.clone() });
            all.len() - 1
        });
        if !all[index].settings.contains(&rival.setting) {
            all[index].settings.push(rival.setting);
        }
    }
    all.retain(|u| u.settings.len() > 1);
    all
}
