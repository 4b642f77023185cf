//! What is recorded of a unit's arithmetic?

use super::codes::{Code, Codes};
use super::record::{Claim, Origin, UnitIdentity, Versioned};
use crate::rows::CellId;
use rigel_numerics::arithmetic::{Distribution, DotInputs, Evaluator, Model, ScaledPart, Scales, library};
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Rounding};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A recovered model with what it was tested by: `models/*.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArithmeticRecord {
    /// Version of this form.
    pub schema: u32,
    /// The cell.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Where it comes from.
    pub origin: Origin,
    /// The unit.
    pub unit: UnitIdentity,
    /// Whether the model predicted every output of the validation.
    pub claim: Claim,
    /// Why it is inexact; empty when exact.
    pub why: String,
    /// What was seen that the family cannot express.
    pub beyond: Vec<String>,
    /// The model in words; empty without one.
    pub words: String,
    /// The exact or the nearest model.
    #[schemars(with = "Option<serde_json::Value>")]
    pub model: Option<Model>,
    /// Parameters that no input that was tried separates, each turned alone.
    pub class: Vec<Undetermined>,
    /// What the model was tested by.
    pub validation: Option<Validation>,
    /// One question with two answers, where the unit is no function of row, column and c.
    pub contradiction: Option<Contradiction>,
    /// The first output that the nearest model does not predict.
    pub counterexample: Option<Counterexample>,
    /// What the unit keeps of the elements of A and of B; empty where that was not asked.
    pub operands: Vec<KeptOperand>,
    /// Tiles that were executed.
    pub tiles: Tiles,
    /// Seed of all draws.
    pub seed: u64,
    /// Published models of the unit's types that predict every vector of the sample: more than a coincidence, less than a
    /// validation.
    pub published: Vec<String>,
    /// A sample of inputs and outputs: the same number of each distribution.
    pub vectors: Vec<Vector>,
}

/// A parameter of which several settings explain every observation, and that no input that was tried separates. It is
/// turned alone: settings of two parameters need not go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Undetermined {
    /// The parameter, in words.
    pub parameter: String,
    /// Its settings, in words; that of the model first.
    pub settings: Vec<String>,
}

impl fmt::Display for Undetermined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, others) = self.settings.split_first().map_or(("", &[][..]), |(own, others)| (own.as_str(), others));
        let some: Vec<&str> = others.iter().take(8).map(String::as_str).collect();
        let more =
            if others.len() > some.len() { format!(" and {} more", others.len() - some.len()) } else { String::new() };
        f.pad(&format!("{}: {own}, or {}{more}", self.parameter, some.join(", ")))
    }
}

/// A validation on inputs that were drawn after the model was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    /// The seed of its draws.
    pub seed: u64,
    /// By distribution.
    pub distributions: Vec<Tested>,
    /// Distinct rows of A, with their scales.
    pub rows: u64,
    /// Distinct columns of B, with their scales.
    pub columns: u64,
    /// Dot products at each place of a tile.
    pub at_each_element: u64,
    /// 3 ÷ that: the bound for a deviation that only one place of the tile has.
    pub element_bound: f64,
    /// Places of a tile with a mismatch: row, column, how many. At most 64 of them.
    pub elements: Vec<(usize, usize, u64)>,
}

/// What was asked of one distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tested {
    /// Its name.
    #[schemars(with = "String")]
    pub distribution: Distribution,
    /// Fresh dot products.
    pub asked: u64,
    /// Outputs that the model does not predict.
    pub mismatches: u64,
    /// 3 ÷ asked: where no mismatch was seen, their rate is below this with 95 % confidence.
    pub bound: f64,
}

impl Validation {
    /// Dot products over all distributions.
    pub fn asked(&self) -> u64 {
        self.distributions.iter().fold(0, |sum, tested| sum.saturating_add(tested.asked))
    }

    /// Mismatches over all distributions.
    pub fn mismatches(&self) -> u64 {
        self.distributions.iter().fold(0, |sum, tested| sum.saturating_add(tested.mismatches))
    }
}

impl fmt::Display for Validation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.distributions.first().map_or(0, |t| t.asked);
        let bound = self.distributions.first().map_or(f64::NAN, |t| t.bound);
        write!(
            f,
            "{each} fresh dot products of each of {} distributions over {} rows and {} columns, seed {}; with 95 % confidence \
             the rate of deviations is below {bound:.1e} in each distribution and below {:.1e} at each element of the tile",
            self.distributions.len(),
            self.rows,
            self.columns,
            self.seed,
            self.element_bound
        )
    }
}

/// One question with two answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contradiction {
    /// What was changed between the answers.
    pub words: String,
    /// The question.
    pub question: Question,
    /// One answer.
    pub first: Code,
    /// The other.
    pub other: Code,
    /// Row and column of the element that gave it.
    pub element: (usize, usize),
}

/// A question that the nearest model answers wrongly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// The question.
    pub question: Question,
    /// The model's code.
    pub model: Code,
    /// The unit's code.
    pub unit: Code,
}

/// The codes that make one output element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A row of A.
    pub a: Codes,
    /// A column of B.
    pub b: Codes,
    /// c.
    pub c: Code,
    /// Scales of the row.
    #[serde(default, skip_serializing_if = "Codes::is_empty")]
    pub a_scales: Codes,
    /// Scales of the column.
    #[serde(default, skip_serializing_if = "Codes::is_empty")]
    pub b_scales: Codes,
}

impl From<DotInputs> for Question {
    fn from(DotInputs { a, b, c, a_scales, b_scales }: DotInputs) -> Question {
        let [a, b, a_scales, b_scales] = [a, b, a_scales, b_scales].map(Codes);
        Question { a, b, c: Code(c), a_scales, b_scales }
    }
}

impl Question {
    /// As evaluators take it.
    pub fn inputs(&self) -> DotInputs {
        let [a, b, a_scales, b_scales] = [&self.a, &self.b, &self.a_scales, &self.b_scales].map(|c| c.0.clone());
        DotInputs { a, b, c: self.c.0, a_scales, b_scales }
    }

    /// Whether it has as many codes as a unit takes.
    pub fn fits(&self, unit: &UnitIdentity) -> bool {
        let (k, groups) = (unit.shape.k, unit.scales.map_or(0, |(_, group)| unit.shape.k.div_ceil(group.max(1))));
        let lengths = [&self.a, &self.b, &self.a_scales, &self.b_scales].map(|codes| codes.0.len());
        lengths == [k, k, groups, groups]
    }
}

/// What a unit keeps of the elements of an operand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeptOperand {
    /// `a` or `b`.
    pub operand: String,
    /// Declared format.
    pub format: Format,
    /// Significant bits that come through, the hidden one included.
    pub significand: u32,
    /// Whether the sums could have shown all bits of the format; else `significand` is a lower bound.
    pub shown: bool,
    /// Roundings that explain how the others are lost.
    #[schemars(with = "Vec<String>")]
    pub roundings: Vec<Rounding>,
    /// Least and largest exponent of powers of two that come through.
    pub exponents: Option<(i32, i32)>,
    /// Exponents that could be tried.
    pub tried: (i32, i32),
}

/// Tiles that were executed, by stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tiles {
    /// Whether an output is a function of its row, its column and c.
    pub steadiness: u64,
    /// Which k are added where.
    pub structure: u64,
    /// Widths, cuts, roundings, corners.
    pub parameters: u64,
    /// What remaining candidates differ on.
    pub elimination: u64,
    /// Fresh dot products.
    pub validation: u64,
    /// Kept operand bits and the sample of vectors.
    pub others: u64,
}

impl Tiles {
    /// Tiles of the search, before validation.
    pub const fn before_validation(&self) -> u64 {
        self.steadiness + self.structure + self.parameters + self.elimination
    }
}

/// Inputs number `index` of a distribution, with what the unit gave for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// How the inputs were drawn.
    #[schemars(with = "String")]
    pub distribution: Distribution,
    /// Their number: with the record's seed it gives the inputs ([`drawn_inputs`]).
    pub index: u64,
    /// The inputs.
    pub inputs: Question,
    /// The unit's code.
    pub d: Code,
    /// The model's code where it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Code>,
}

/// The inputs of a vector.
pub fn drawn_inputs(unit: &UnitIdentity, seed: u64, distribution: Distribution, index: u64) -> Question {
    let scales = unit.scales.map(|(format, group)| Scales { a: format, b: format, group, on: ScaledPart::Products });
    let key = stream(seed ^ u64::from_le_bytes(*b"vectors\0"), distribution as u64);
    distribution.scaled(unit.triple, scales, unit.shape.k, key, index).into()
}

impl ArithmeticRecord {
    /// The names of the library's models that predict every vector; none for a unit that is no function of its inputs.
    pub fn predicting(&self) -> Vec<String> {
        let (t, k) = (self.unit.triple, self.unit.shape.k);
        let fits = |model: &Model| {
            let of = model.triple;
            let scales = model.scales.map(|s| s.group) == self.unit.scales.map(|s| s.1);
            (of.a, of.b, of.c) == (t.a, t.b, t.c) && scales
        };
        let predicts = |model: &Model| {
            let Ok(evaluator) = Evaluator::new(model, k) else { return false };
            let mut scratch = evaluator.scratch();
            self.vectors.iter().all(|v| evaluator.dot(&mut scratch, v.inputs.inputs().codes()) == v.d.0)
        };
        if self.contradiction.is_some() || self.vectors.iter().any(|v| !v.inputs.fits(&self.unit)) {
            return Vec::new();
        }
        let found = library().iter().filter(|p| fits(&p.model) && predicts(&p.model));
        found.map(|p| p.name.clone()).collect()
    }

    /// The model ready for the unit's K.
    ///
    /// # Errors
    /// In words: why the model cannot be evaluated.
    pub fn evaluator(&self) -> Option<Result<Evaluator, String>> {
        let model = self.model.as_ref()?;
        Some(Evaluator::new(model, self.unit.shape.k).map_err(|error| error.to_string()))
    }
}

impl Versioned for ArithmeticRecord {
    fn schema(&self) -> u32 {
        self.schema
    }
}
