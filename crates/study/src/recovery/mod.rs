//! Which function of raw bits does a unit compute, and how sure may one be?
//!
//! [`recover()`] knows nothing of a device but what the unit contract says: tiles of codes go in, a tile comes out. It asks in
//! stages, one file each:
//!
//! 1. `steadiness`: whether an output is a function of its row, its column and c at all;
//! 2. `scope`, `swaps`, `precedence` and `masks`: at which sizes terms show, which products are added in one step, where it
//!    looks for a NaN first, and in which order steps follow one another;
//! 3. `residues`, `pool`, `witnesses`, `tournament`, `fit`, `mistaken`, `coarseness`, `crossings`, `jointly` and `renewal`: ladders, edges,
//!    zeros and specials, and the settings of all parameters that explain them;
//! 4. `simpler`: of two trees that explain everything the one of fewer parts; `hints`, `directed`, `rivals` and `nudges`:
//!    questions at the sizes and distances where the parameters of a model show, inputs on which models that differ in one parameter, in coupled ones or in their tree part from it, and the class of
//!    those that no input tells apart; `relatives`: simpler questions around what refuted a model;
//! 5. `validate`: fresh dot products, compared bit by bit. `listed`: whether what somebody states lies in the class.
//!
//! Only the last stage makes a claim. The others may guess: a wrong guess costs probes or ends as `inexact`, and a
//! model is `exact` only if it predicted every output of a validation whose inputs were drawn after it was chosen. What was
//! not asked is not claimed: the bounds are part of the result.
//!
//! **When it misleads.** A deviation rarer than the printed bound, or one that only inputs outside the six distributions
//! bring out, is not seen. `Inexact` says that no model was *reached*; it does not prove that the family has none.

mod coarseness;
mod conversion;
mod crossings;
mod dice;
mod directed;
mod fit;
mod hints;
mod jointly;
mod kinds;
mod knobs;
mod listed;
mod masks;
mod mistaken;
mod nudges;
mod operands;
mod outcome;
mod pool;
mod precedence;
mod question;
mod relatives;
mod renewal;
mod residues;
mod rivals;
mod scope;
mod settings;
mod shapes;
mod simpler;
mod steadiness;
mod swaps;
mod terms;
mod tournament;
mod validate;
mod witnesses;
mod words;

pub use conversion::{Converted, Deviation, name_conversion};
pub use operands::{KeptBits, operand_bits};
pub use outcome::{Counterexample, Recovered, Recovery, RecoveryError, Why};
pub use question::{Asker, Observation, Probes, Question, Stage};
pub use rigel_numerics::arithmetic::{Composition, Part, compositions};
pub use rigel_numerics::conversion::NamedConversion;
pub use steadiness::{Dependence, Unsteady};

use fit::{Fit, Fitter};
use kinds::Kind;
use pool::pooled;
use residues::are_coarse;
use rigel_device::unit::{Unit, UnitSpec};
use rigel_numerics::Format;
use rigel_numerics::arithmetic::{Evaluator, Model, NanRule, Node, ScaledPart, Scales};
use rivals::{eliminate, eliminate_thoroughly, undetermined};
use shapes::{Shape, begun};
use simpler::simpler;
use tournament::Tournament;
use validate::{Extent, at_its_places, validate};
use witnesses::Witnesses;

/// How much a recovery asks and tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Questions of the pool to which parameters are fitted.
    pub questions: usize,
    /// Fresh dot products of the validation.
    pub validation: u64,
    /// Evaluations of one dot product that fitting may spend, in all.
    pub evaluations: u64,
    /// The seed of all draws.
    pub seed: u64,
}

impl Effort {
    /// What a claim rests on: 10⁶ fresh dot products.
    pub const fn full(seed: u64) -> Effort {
        Effort { questions: 3000, validation: 1_000_000, evaluations: 30_000_000, seed }
    }
}

/// Refutations after which the search is given up.
const ATTEMPTS: u64 = 60;
/// The part of all evaluations that one fit may spend, and how many it needs to come to anything.
const PART: u64 = 4;
const LEAST: u64 = 2_000_000;
/// A model that leaves less than this part of the observations unexplained deserves more than a new search; one that leaves
/// less than the other deserves it alone, as long as answers bring it nearer.
const NEAR: u64 = 10;
const NEAR_ENOUGH: u64 = 100;
/// Searches among the trees that explain the masked pairs best, before all trees are tried; such a tree explains this part
/// of all pairs at least, and lacks this part of what the best one explains at most.
const AMONG_LEADING: usize = 2;
const LEADING: (usize, usize) = (9, 10);
const BEHIND: usize = 20;
/// Questions of the pool that are asked again for what is left where outputs are coarse.
const FINER: usize = 300;
/// Tiles that may be asked before the last validation.
const TILES: u64 = 4_800;
/// Tiles up to which a search that got stuck begins again with other draws: its questions, and with them the trees that come first, are then
/// others.
const AGAIN: u64 = TILES / 2;
/// Counterexamples of a validation that join the observations, with their relatives.
const JOINING: usize = 24;
/// Fresh dot products by which a model is refuted quickly, as a part of a whole validation.
const QUICK_PART: u64 = 20;

/// Recovers the arithmetic of a unit.
///
/// Deterministic: the same unit, effort and seed give the same result.
///
/// # Errors
/// [`RecoveryError`]: the unit failed or broke its declaration, or no model could have its formats. A unit that behaves
/// strangely is no error but [`Recovered::Inexact`].
pub fn recover(unit: &mut dyn Unit, effort: &Effort) -> Result<Recovery, RecoveryError> {
    let mut asker = Asker::new(unit);
    let spec = asker.spec().clone();
    spec.check()?;
    check_formats(&spec)?;
    let unsteady = steadiness::unsteady(&mut asker, effort.seed)?;
    let recovered = match unsteady {
        Some(unsteady) => Recovered::Inexact {
            beyond: vec![unsteady.on.to_string()],
            why: Why::Unsteady(unsteady),
            nearest: None,
            validation: None,
            counterexample: None,
        },
        None => {
            let first = model_of(&mut asker, &spec, effort)?;
            let stuck = matches!(&first, Recovered::Inexact { why: Why::Unexplained { .. }, .. });
            if stuck && asker.probes().before_validation() <= AGAIN {
                let other = Effort { seed: rigel_numerics::random::stream(effort.seed, 1), ..*effort };
                match model_of(&mut asker, &spec, &other)? {
                    exact @ Recovered::Exact { .. } => exact,
                    _ => first,
                }
            } else {
                first
            }
        }
    };
    Ok(Recovery { unit: spec.name, seed: effort.seed, probes: asker.probes(), recovered })
}

fn check_formats(spec: &UnitSpec) -> Result<(), RecoveryError> {
    let t = spec.triple;
    let refuse = |why| Err(RecoveryError::Formats { unit: spec.name.clone(), triple: t.to_string(), why });
    if [t.a, t.b].iter().any(|f| f.is_integer() != t.c.is_integer()) {
        return refuse("operands and output must all be integers or all be floating");
    }
    if !t.is_integer() && [t.a, t.b, t.c].iter().any(|f| !f.is_signed()) {
        return refuse("floating operands and outputs must have a sign");
    }
    Ok(())
}

/// The model of a unit whose outputs are functions of row, column and c.
fn model_of(asker: &mut Asker<'_>, spec: &UnitSpec, effort: &Effort) -> Result<Recovered, RecoveryError> {
    let k = spec.shape.k;
    asker.enter(Stage::Structure);
    let (scope, scanned) = scope::scope(asker)?;
    let mut exchanges = swaps::exchanges(asker, &scope, effort.seed)?;
    exchanges.classes = precedence::ordered(asker, &exchanges.classes)?;
    let masked = masks::masked(asker, &scope, &exchanges.classes)?;
    let shapes = shapes::all(spec.triple, k, &exchanges, &masked);
    let leading = leading(&shapes, masked.len());

    asker.enter(Stage::Parameters);
    // A tile holds few questions where it has few rows or columns.
    let most = 500 * spec.shape.m.min(spec.shape.n).max(2);
    let questions = (0..effort.questions.min(most)).map(|i| pooled(spec, &scope, effort.seed, i)).collect();
    let observed = asker.observe(questions)?;
    let finer = if are_coarse(spec.triple, observed.iter().map(|o| o.d)) {
        let many = observed.iter().filter(|o| o.question.a.iter().filter(|&&code| code != 0).count() > 1);
        residues::residues(asker, many.take(FINER).cloned().collect())?
    } else {
        Vec::new()
    };
    let mut witnesses = Witnesses::new(spec.triple, k, observed);
    witnesses.extend(finer);
    witnesses.extend(scanned);
    witnesses.close_pool();
    let nan = nan_word(asker, spec)?;
    let mut tournament =
        Tournament::new(spec.scales.is_some(), |shape: &Node, kinds: &[Kind], part: Option<ScaledPart>| {
            let scales = spec.scales.zip(part).map(|(s, on)| Scales { a: s.format, b: s.format, group: s.group, on });
            Model { nan, ..begun(shape, spec.triple, k, scales, kinds) }
        });
    let mut best: Option<Model> = None;
    let mut set_aside: Vec<Model> = Vec::new();
    let mut attempt = 0;
    let part = (effort.evaluations / PART).max(LEAST);
    let mut searches = 0;
    let why = loop {
        let left = effort.evaluations.saturating_sub(witnesses.spent());
        let seed = effort.seed ^ attempt << 32;
        if !best.as_ref().is_some_and(|model| witnesses.explains(model))
            && let Some(n) = (0..set_aside.len()).find(|&n| witnesses.explains(&set_aside[n]))
        {
            best = Some(set_aside.swap_remove(n));
        }
        if !best.as_ref().is_some_and(|model| witnesses.explains(model)) {
            // No attempt may spend what later ones need: more answers help more than a longer search does.
            let stands = best.take().map(|model| Fit { penalty: witnesses.unexplained(&model).len() as u64, model });
            let mut fits: Vec<Fit> = Vec::new();
            let shapes = if searches < AMONG_LEADING { &shapes[..leading] } else { &shapes };
            if let Some(fit) = stands {
                let near = fit.penalty < witnesses.len() as u64 / NEAR;
                let most = if near { part / 2 } else { part / 6 };
                let mut search = Fitter::new(k, &mut witnesses, shapes, most.min(left), seed);
                search.others = tournament.ends().to_vec();
                fits.push(search.refit(&fit.model));
                fits.push(fit);
            }
            if fits.iter().all(|fit| fit.penalty > witnesses.len() as u64 / NEAR_ENOUGH) {
                searches += 1;
                let mut search = Fitter::new(k, &mut witnesses, shapes, part.min(left), seed);
                fits.extend(tournament.winner(&mut search));
            }
            let fit = fits.into_iter().min_by_key(|fit| fit.penalty);
            best = fit.map(|fit| fit.model);
        }
        if let Some(model) = &best
            && witnesses.explains(model)
            && let Some(other) = simpler(model, &shapes, &mut witnesses)
        {
            set_aside.extend(best.replace(other));
        }
        let Some(model) = &best else {
            break Why::Unexplained { unexplained: witnesses.len() as u64, of: witnesses.len() as u64 };
        };
        attempt += 1;
        let unexplained = witnesses.unexplained(model);
        let spent = left < effort.evaluations / 32 || attempt > ATTEMPTS || asker.probes().before_validation() > TILES;
        if spent {
            if unexplained.is_empty() {
                break Why::Refuted;
            }
            break Why::Unexplained { unexplained: unexplained.len() as u64, of: witnesses.len() as u64 };
        }
        let mut asked;
        if unexplained.is_empty() {
            let elimination = eliminate(asker, model, (&shapes, &set_aside), &mut witnesses, &scope, seed)?;
            asked = elimination.asked;
            if !elimination.refuted {
                let fresh = validation_seed(effort.seed, 2 * attempt);
                let quick = effort.validation / QUICK_PART;
                let mut wrong = at_its_places(asker, model, &scope, 4 * quick as usize, fresh)?;
                if wrong.is_empty() {
                    wrong = validate(asker, model, quick, fresh, Extent::UntilRefuted)?.1;
                }
                let mut doubted = false;
                if wrong.is_empty() {
                    let last = eliminate_thoroughly(asker, model, (&shapes, &set_aside), &mut witnesses, &scope, seed)?;
                    asked.extend(last.asked);
                    doubted = last.refuted;
                }
                if wrong.is_empty() && !doubted {
                    let fresh = validation_seed(effort.seed, 2 * attempt + 1);
                    let (validation, refuting) =
                        validate(asker, model, effort.validation, fresh, Extent::UntilRefuted)?;
                    if validation.mismatches() == 0 {
                        witnesses.extend(asked);
                        let class = undetermined(spec, model, &shapes, &mut witnesses, &scope, seed);
                        let (model, validation) = (Box::new(model.clone()), Box::new(validation));
                        return Ok(Recovered::Exact { model, class, validation });
                    }
                    wrong = refuting;
                }
                asker.enter(Stage::Elimination);
                wrong.truncate(JOINING);
                asked.extend(relatives::of(asker, &wrong, seed)?);
                asked.extend(wrong);
            }
        } else {
            asker.enter(Stage::Elimination);
            let puzzling: Vec<Observation> =
                unexplained.iter().take(12).map(|&i| witnesses.observations()[i].clone()).collect();
            asked = relatives::of(asker, &puzzling, seed)?;
        }
        witnesses.extend(asked);
    };
    match best {
        Some(model) => {
            let puzzling = witnesses.unexplained(&model).first().map(|&i| witnesses.observations()[i].clone());
            inexact(asker, model, why, effort, puzzling)
        }
        None => Ok(Recovered::Inexact {
            why,
            nearest: None,
            validation: None,
            counterexample: None,
            beyond: vec!["no tree of steps could be evaluated".to_owned()],
        }),
    }
}

/// How many of the trees, the best first, explain nearly all masked pairs that the best one explains; all where that one
/// explains too few.
fn leading(shapes: &[Shape], masked: usize) -> usize {
    let best = shapes.first().map_or(0, |shape| shape.explained);
    if best == 0 || best * LEADING.1 < masked * LEADING.0 {
        return shapes.len();
    }
    shapes.iter().take_while(|shape| shape.explained + best / BEHIND >= best).count()
}

/// Fresh for every attempt: a model is never validated on what it was fitted to.
fn validation_seed(seed: u64, attempt: u64) -> u64 {
    rigel_numerics::random::stream(seed ^ 0x7661_6c69_6461_7465, attempt)
}

/// The nearest model, with a validation that says how near.
fn inexact(
    asker: &mut Asker<'_>,
    model: Model,
    why: Why,
    effort: &Effort,
    puzzling: Option<Observation>,
) -> Result<Recovered, RecoveryError> {
    let count = (effort.validation / 10).max(1000);
    let (validation, wrong) = validate(asker, &model, count, validation_seed(effort.seed, 1), Extent::Whole)?;
    let evaluator = Evaluator::new(&model, asker.spec().shape.k).ok();
    let counterexample = wrong.into_iter().next().or(puzzling).map(|observation| {
        let predicted = evaluator.map_or(0, |e| e.dot(&mut e.scratch(), observation.question.inputs()));
        Box::new(Counterexample { question: observation.question, model: predicted, unit: observation.d })
    });
    let mut beyond = Vec::new();
    // Few mismatches always lie on few elements; many of them on few elements mean something.
    let (elements, shape) = (validation.elements.len(), asker.spec().shape);
    if elements > 0 && elements < shape.m * shape.n && validation.mismatches() >= 16 * elements as u64 {
        beyond.push(format!("only {elements} elements of the tile deviate"));
    }
    let some: Vec<String> = validation
        .distributions
        .iter()
        .filter(|t| t.mismatches > 0)
        .map(|t| format!("{:?}", t.distribution).to_lowercase())
        .collect();
    if !some.is_empty() && some.len() < validation.distributions.len() {
        beyond.push(format!("deviations only in the distributions {}", some.join(", ")));
    }
    if beyond.is_empty() {
        beyond.push("a tree of steps, or a rule of one, that was not reached from any start".to_owned());
    }
    let (nearest, validation) = (Some(Box::new(model)), Some(Box::new(validation)));
    Ok(Recovered::Inexact { why, nearest, validation, counterexample, beyond })
}

/// The NaN word that comes of a NaN operand without a payload, or of 0 · ∞.
fn nan_word(asker: &mut Asker<'_>, spec: &UnitSpec) -> Result<NanRule, RecoveryError> {
    let t = spec.triple;
    let plain = NanRule::Word(t.c.nan_code().unwrap_or(0));
    let zero = Question::zero(spec);
    let first = |codes: &[u64], code: Option<u64>| {
        code.map(|code| std::iter::once(code).chain(codes[1..].iter().copied()).collect::<Vec<_>>())
    };
    let special = |format: Format| [format.infinity_code(false), format.nan_code()];
    let mut questions: Vec<Question> = Vec::new();
    for code in special(t.a) {
        questions.extend(first(&zero.a, code).map(|a| Question { a, ..zero.clone() }));
    }
    for code in special(t.b) {
        questions.extend(first(&zero.b, code).map(|b| Question { b, ..zero.clone() }));
    }
    questions.extend(t.c.nan_code().map(|c| Question { c, ..zero.clone() }));
    let answers = asker.ask(&questions)?;
    Ok(answers.into_iter().find(|&d| t.c.is_nan(d)).map_or(plain, NanRule::Word))
}
