//! What is recorded of a conversion?

use super::codes::{Code, Codes};
use super::record::{Claim, Origin, UnitIdentity, Versioned};
use crate::rows::CellId;
use rigel_numerics::Format;
use rigel_numerics::conversion::NamedConversion;
use rigel_numerics::random::{draw, stream};
use serde::{Deserialize, Serialize};

/// What a conversion makes of every code: `conversions/*.json`.
///
/// A unit's operand is asked as a conversion too: each of its codes times 1, to the format of D.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversionRecord {
    /// Version of this form.
    pub schema: u32,
    /// The cell.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Where it comes from.
    pub origin: Origin,
    /// The conversion, or the operand of a unit: its triple is (from, from → to), or the unit's own.
    pub unit: UnitIdentity,
    /// Declared format of what it takes.
    pub from: Format,
    /// Declared format of what it gives.
    pub to: Format,
    /// `exact`: the rule explains every code that was converted.
    pub claim: Claim,
    /// How many codes deviate; empty when exact.
    pub why: String,
    /// The rule that explains most codes.
    #[schemars(with = "serde_json::Value")]
    pub rule: NamedConversion,
    /// The rule in words.
    pub words: String,
    /// Other rules that explain as many, in words.
    pub alike: Vec<String>,
    /// Words that NaN codes became, at most 8.
    pub nan_words: Codes,
    /// Codes that were converted.
    pub codes: u64,
    /// Whether these were all codes of the format.
    pub all: bool,
    /// Codes that the rule does not explain.
    pub deviating: u64,
    /// The first of them.
    pub deviations: Vec<Deviation>,
    /// Seed of the sample.
    pub seed: u64,
    /// A sample of codes: all of a format of at most 8 bits, else its ends and drawn ones ([`sampled_codes`]).
    pub sample: Codes,
    /// What became of each.
    pub converted: Codes,
}

/// A code that the rule does not explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// The code.
    pub code: Code,
    /// What the rule makes of it.
    pub rule: Code,
    /// What came out.
    pub found: Code,
}

/// Codes drawn for the sample of a wide format.
const DRAWN: u64 = 240;

/// The codes of a sample, sorted, each once.
pub fn sampled_codes(from: Format, seed: u64) -> Vec<u64> {
    if from.bits() <= 8 {
        return (0..1 << from.bits()).collect();
    }
    let key = stream(seed ^ u64::from_le_bytes(*b"codes\0\0\0"), u64::from(from.bits()));
    let mut codes: Vec<u64> = (0..DRAWN).map(|index| draw(key, index) & from.code_mask()).collect();
    let sign = 1u64 << (from.bits() - 1);
    let ends = [0, 1, from.max_finite_code(), from.min_finite_code(), from.code_mask(), sign, sign | 1];
    let specials = [from.infinity_code(false), from.infinity_code(true), from.nan_code()];
    codes.extend(ends.into_iter().chain(specials.into_iter().flatten()));
    codes.sort_unstable();
    codes.dedup();
    codes
}

impl Versioned for ConversionRecord {
    fn schema(&self) -> u32 {
        self.schema
    }
}
