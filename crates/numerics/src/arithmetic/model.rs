//! What is an arithmetic model, and how is it read and written?

use super::ModelError;
use super::intake::{Intake, Scales};
use super::node::Node;
use super::output::Rounded;
use super::sum::is_default;
use crate::Triple;
use serde::{Deserialize, Serialize};

/// The function from codes of a row of A, a column of B and c to the code of d that a unit computes.
///
/// Models are plain data: they compare, hash and print, and their JSON form is stable. Whether a model can be evaluated
/// is [`Model::check`]'s to say; every evaluator asks it first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Formats of a, b and c; d has the format of c. The declared accumulate type plays no part.
    pub triple: Triple,
    /// Products of one instruction: k is filled up with +0 · +0 to a multiple of it.
    pub k: usize,
    /// What codes of A stand for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub a: Intake,
    /// What codes of B stand for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub b: Intake,
    /// What codes of C stand for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub c: Intake,
    /// Scale factors, where the unit takes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<Scales>,
    /// The computation over k.
    pub body: Node,
    /// A last rounding to the format of d, once, after all of k; `None`: what the body leaves is of that format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Rounded>,
    /// Which NaN comes out.
    pub nan: NanRule,
}

/// Which NaN comes out. A NaN arises from a NaN operand, 0 · ∞, or infinities of both signs in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanRule {
    /// Always this word of d's format. In a format without NaN any word will do: it is what comes out instead.
    Word(u64),
    /// The first NaN of a step, its fraction left-aligned, made quiet, its sign kept. It is looked for among the sources in
    /// this order, and by ascending position in the step within one. A format without NaN gives `invalid`.
    First {
        /// The order.
        order: [NanSource; 3],
        /// The word that arises without a NaN operand.
        invalid: u64,
    },
}

/// Where a step may find a NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanSource {
    /// Elements of A.
    A,
    /// Elements of B.
    B,
    /// c and what other steps left.
    C,
}

impl Model {
    /// Reads a model from JSON and checks it.
    ///
    /// # Errors
    /// [`ModelError::Json`] with line and column for what is no model, else what [`Model::check`] says.
    pub fn from_json(text: &str) -> Result<Model, ModelError> {
        let model: Model = serde_json::from_str(text).map_err(|e| ModelError::Json(e.to_string()))?;
        model.check()?;
        Ok(model)
    }

    /// The model as JSON, indented; [`Model::from_json`] gives it back.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// The number of products that a row of `k` elements becomes.
    pub fn padded(&self, k: usize) -> usize {
        k.next_multiple_of(self.k.max(1))
    }

    /// The number of scale codes of each operand for a row of `k` elements; 0 without scales.
    pub fn scale_groups(&self, k: usize) -> usize {
        self.scales.map_or(0, |scales| k.div_ceil(scales.group.max(1)))
    }
}
