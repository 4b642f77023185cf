//! Which function of raw bits does a unit compute, and how sure may one be?
//!
//! [`recover()`] knows nothing of a device but what the unit contract says: tiles of codes go in, a tile comes out. It asks in
//! stages, one file each:
//!
//! 1. `steadiness`: whether an output is a function of its row, its column and c at all;
//! 2. `swaps` and `masks`: which products are added in one step, and in which order steps follow one another;
//! 3. `pool` and `fit`: ladders, edges, zeros and specials, and the settings of all parameters that explain them;
//! 4. `rivals`: other models that explain the same, inputs that tell them apart, and the class of those that none does;
//! 5. `validate`: fresh dot products, compared bit by bit.
//!
//! Only the last stage makes a claim. The others may guess: a wrong guess costs probes or ends as `inexact`, and a
//! model is `exact` only if it predicted every output of a validation whose inputs were drawn after it was chosen. What was
//! not asked is not claimed: the bounds are part of the result.
//!
//! **When it misleads.** A deviation rarer than the printed bound, or one that only inputs outside the six distributions
//! bring out, is not seen. `Inexact` says that no model was *reached*; it does not prove that the family has none.

mod conversion;
mod dice;
mod fit;
mod knobs;
mod masks;
mod operands;
mod outcome;
mod pool;
mod question;
mod rivals;
mod settings;
mod shapes;
mod steadiness;
mod swaps;
mod terms;
mod validate;
mod words;

pub use conversion::{Converted, Deviation, name_conversion};
pub use operands::{KeptBits, operand_bits};
pub use outcome::{Counterexample, Recovered, Recovery, RecoveryError, Why};
pub use question::{Asker, Observation, Probes, Question, Stage};
pub use rigel_numerics::arithmetic::{Composition, Part, compositions};
pub use rigel_numerics::conversion::NamedConversion;
pub use rivals::Undetermined;
pub use steadiness::{Dependence, Unsteady};
pub use validate::{Tested, Validation};

use fit::Fitter;
use pool::pooled;
use rigel_device::unit::{Unit, UnitSpec};
use rigel_numerics::Format;
use rigel_numerics::arithmetic::{Evaluator, Model, NanRule, ScaledPart, Scales};
use rivals::{Elimination, eliminate};
use shapes::{Beginning, Shape, begun};
use validate::validate;

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
        Effort { questions: 1100, validation: 1_000_000, evaluations: 6_000_000, seed }
    }
}

/// Validations after which a model that was refuted again is given up.
const ATTEMPTS: u64 = 5;
/// Trees of steps that are fitted, at most.
const TREES: usize = 32;

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
        None => model_of(&mut asker, &spec, effort)?,
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
    let exchanges = swaps::exchanges(asker, effort.seed)?;
    let masked = masks::masked(asker, &exchanges.classes)?;
    let mut shapes = shapes::shapes(spec.triple, k, &exchanges, &masked, false);
    let (mut coarse, mut fresh) = (false, false);

    asker.enter(Stage::Parameters);
    let questions = (0..effort.questions).map(|i| pooled(spec, effort.seed, i)).collect();
    let mut observations = asker.observe(questions)?;
    let nan = nan_word(asker, spec)?;
    let mut best: Option<Model> = None;
    let mut spent = 0;
    for attempt in 0..ATTEMPTS {
        let explained = best.as_ref().is_some_and(|model| !rivals::is_refuted(model, k, &observations));
        if !explained {
            // No attempt may spend what later ones need.
            let left = (effort.evaluations.saturating_sub(spent)).min(effort.evaluations / 2);
            let starts = starts(spec, &shapes, nan, best.as_ref().filter(|_| !fresh));
            fresh = false;
            let mut fitter = Fitter::new(k, &observations, left, effort.seed ^ attempt);
            let found = fitter.fit(&starts).map(|fit| fit.model);
            let unexplained = |model: &Model| fit::unexplained(model, k, &observations).len();
            best = [found, best].into_iter().flatten().min_by_key(unexplained);
            spent += left - fitter.left().min(left);
        }
        let Some(model) = best.clone() else { break };
        let unexplained = fit::unexplained(&model, k, &observations).len() as u64;
        if unexplained > 0 && !coarse {
            // Exchanges may have told too few positions apart.
            (coarse, fresh) = (true, true);
            let seen = shapes.clone();
            shapes.retain(|shape| shape.body == model.body);
            let others = shapes::shapes(spec.triple, k, &exchanges, &masked, true);
            shapes.extend(others.into_iter().filter(|shape| seen.iter().take(TREES).all(|s| s.body != shape.body)));
            continue;
        }
        if unexplained > 0 {
            let why = Why::Unexplained { unexplained, of: observations.len() as u64 };
            return inexact(asker, model, why, effort, attempt);
        }
        let class = match eliminate(asker, &model, &shapes, &observations, effort.seed ^ attempt << 32)? {
            Elimination::Refuted(asked) => {
                observations.extend(asked);
                continue;
            }
            Elimination::Stands(asked, class) => {
                observations.extend(asked);
                class
            }
        };
        let seed = validation_seed(effort.seed, attempt);
        let (validation, wrong) = validate(asker, &model, effort.validation, seed)?;
        if validation.mismatches() == 0 {
            return Ok(Recovered::Exact { model: Box::new(model), class, validation: Box::new(validation) });
        }
        observations.extend(wrong);
    }
    match best {
        Some(model) => inexact(asker, model, Why::Refuted, effort, ATTEMPTS),
        None => Ok(Recovered::Inexact {
            why: Why::Unexplained { unexplained: observations.len() as u64, of: observations.len() as u64 },
            nearest: None,
            validation: None,
            counterexample: None,
            beyond: vec!["no tree of steps could be evaluated".to_owned()],
        }),
    }
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
    attempt: u64,
) -> Result<Recovered, RecoveryError> {
    let count = (effort.validation / 10).max(1000);
    let (validation, wrong) = validate(asker, &model, count, validation_seed(effort.seed, attempt + 100))?;
    let evaluator = Evaluator::new(&model, asker.spec().shape.k).ok();
    let counterexample = wrong.into_iter().next().map(|observation| {
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

/// Where fitting begins: at the best model so far, then at every tree with two settings of its sums.
fn starts(spec: &UnitSpec, shapes: &[Shape], nan: NanRule, best: Option<&Model>) -> Vec<Vec<Model>> {
    let scales = spec.scales.map(|s| Scales { a: s.format, b: s.format, group: s.group, on: ScaledPart::Products });
    let trees = shapes.iter().take(TREES);
    let each = trees.map(|shape| {
        let begin = |beginning| {
            let model = begun(&shape.body, spec.triple, spec.shape.k, scales, beginning);
            Model { nan, ..model }
        };
        [Beginning::Aligned, Beginning::Exact].map(begin).to_vec()
    });
    best.map(|model| vec![model.clone()]).into_iter().chain(each).collect()
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
