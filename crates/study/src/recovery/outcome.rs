//! What did recovery come to?

use super::question::{Probes, Question};
use super::steadiness::Unsteady;
use rigel_device::unit::UnitError;
use rigel_ledger::units::{Undetermined, Validation};
use rigel_numerics::arithmetic::Model;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The arithmetic of a unit, as far as it could be recovered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// The unit's name.
    pub unit: String,
    /// The seed of all draws.
    pub seed: u64,
    /// Tiles that were executed.
    pub probes: Probes,
    /// What was found.
    pub recovered: Recovered,
}

/// An exact model, or the nearest one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovered {
    /// The model predicted every output bit of a validation on fresh inputs. It says no more than that: the bounds are part of
    /// the claim.
    Exact {
        /// The model.
        model: Box<Model>,
        /// Parameters that no input that was tried separates.
        class: Vec<Undetermined>,
        /// N, its seed and the 3/N bounds.
        validation: Box<Validation>,
    },
    /// No model of the family predicts every output that was seen, as far as could be searched.
    Inexact {
        /// Why.
        why: Why,
        /// The model that explains most; `None` where none was fitted.
        nearest: Option<Box<Model>>,
        /// A validation of that model, with its mismatches.
        validation: Option<Box<Validation>>,
        /// The first counterexample, in full.
        counterexample: Option<Box<Counterexample>>,
        /// What was seen that the family cannot express, in words.
        beyond: Vec<String>,
    },
}

/// Why there is no exact model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// An output is no function of its row, its column and c.
    Unsteady(Unsteady),
    /// No model explains all the questions that it was fitted to.
    Unexplained {
        /// Questions that the nearest model does not explain.
        unexplained: u64,
        /// Questions.
        of: u64,
    },
    /// A model explains all those questions, but not the fresh ones of a validation.
    Refuted,
}

/// A question, what the model says and what the unit gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counterexample {
    /// The question.
    pub question: Question,
    /// The model's code.
    pub model: u64,
    /// The unit's code.
    pub unit: u64,
}

/// A unit whose arithmetic cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// The unit was not asked, failed or broke its declaration.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Its formats are outside the family.
    #[error("unit {unit} computes {triple}, which no model of the family does: {why}")]
    Formats {
        /// Its name.
        unit: String,
        /// Its type triple.
        triple: String,
        /// Why not.
        why: &'static str,
    },
}

impl Recovered {
    /// Whether a model is claimed exact.
    pub fn is_exact(&self) -> bool {
        matches!(self, Recovered::Exact { .. })
    }

    /// The exact or the nearest model.
    pub fn model(&self) -> Option<&Model> {
        match self {
            Recovered::Exact { model, .. } => Some(model),
            Recovered::Inexact { nearest, .. } => nearest.as_deref(),
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Probes { steadiness, structure, parameters, elimination, validation } = self.probes;
        match &self.recovered {
            Recovered::Exact { model, class, validation } => {
                writeln!(f, "{}: exact: 0 of {}", self.unit, validation.asked())?;
                writeln!(f, "  {model}")?;
                writeln!(f, "  {validation}")?;
                for undetermined in class {
                    writeln!(f, "  not separated by any input: {undetermined}")?;
                }
            }
            Recovered::Inexact { why, nearest, validation, counterexample, beyond } => {
                writeln!(f, "{}: inexact: {why}", self.unit)?;
                if let Some(model) = nearest {
                    writeln!(f, "  nearest: {model}")?;
                }
                if let Some(validation) = validation {
                    writeln!(
                        f,
                        "  {} of {} outputs differ; {validation}",
                        validation.mismatches(),
                        validation.asked()
                    )?;
                }
                if let Some(counterexample) = counterexample {
                    writeln!(f, "  first counterexample: {counterexample}")?;
                }
                for word in beyond {
                    writeln!(f, "  outside the family: {word}")?;
                }
            }
        }
        write!(
            f,
            "  tiles: {steadiness} for steadiness, {structure} for structure, {parameters} for parameters, {elimination} for \
             elimination, {validation} for validation; seed {}",
            self.seed
        )
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Unsteady(unsteady) => {
                let (row, column) = unsteady.element;
                write!(f, "{}: {:#x} and {:#x} at ({row}, {column})", unsteady.on, unsteady.first, unsteady.other)
            }
            Why::Unexplained { unexplained, of } => {
                write!(f, "no model that was reached explains {unexplained} of {of} questions")
            }
            Why::Refuted => {
                f.write_str("the model that explains every question asked before is wrong about fresh ones")
            }
        }
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Question { a, b, c, a_scales, b_scales } = &self.question;
        let codes = |codes: &[u64]| codes.iter().map(|code| format!("{code:x}")).collect::<Vec<_>>().join(" ");
        write!(f, "a = [{}], b = [{}], c = {c:x}", codes(a), codes(b))?;
        if !a_scales.is_empty() {
            write!(f, ", scales [{}] and [{}]", codes(a_scales), codes(b_scales))?;
        }
        write!(f, ": the model gives {:x}, the unit {:x}, all in hexadecimal", self.model, self.unit)
    }
}
