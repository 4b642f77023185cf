//! What identifies a cell, whatever device and process it runs in?

use rigel_numerics::epilogue::Activation;
use rigel_numerics::{Calculation, Recipe, Shape, Triple};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Short name of a cell: the first 12 hex digits of BLAKE3 over its identity text ([`Identity::text`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId(pub u64);

impl CellId {
    /// The id of an identity.
    pub fn of(identity: &Identity) -> Self {
        let hash = blake3::hash(identity.text().as_bytes());
        let mut word = [0u8; 8];
        word[2..].copy_from_slice(&hash.as_bytes()[..6]);
        CellId(u64::from_be_bytes(word))
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

/// A text that is not a cell id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a cell id: 12 lower-case hex digits")]
pub struct BadCellId(pub String);

impl std::str::FromStr for CellId {
    type Err = BadCellId;
    fn from_str(s: &str) -> Result<Self, BadCellId> {
        let hex = s.len() == 12 && s.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hex {
            return Err(BadCellId(s.to_owned()));
        }
        u64::from_str_radix(s, 16).map(CellId).map_err(|_| BadCellId(s.to_owned()))
    }
}

impl Serialize for CellId {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CellId {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// An experiment that turns cells into facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Probe {
    /// The capability ladder.
    Types,
    /// Rates of products against ceilings and matches.
    Throughput,
    /// Clock states and modality.
    Clocks,
    /// Where the operation runs: three signals.
    Dispatch,
    /// Energy.
    Power,
    /// Exact arithmetic model of a unit.
    Arithmetic,
    /// Order of accumulation.
    Order,
    /// Which lane holds which element.
    Layout,
    /// Special values, formats, conversions.
    Specials,
    /// Alignment rules.
    Alignment,
    /// Version gates.
    Versions,
    /// What a fused epilogue gains.
    Fusion,
    /// What fused attention gains.
    Attention,
}

/// What a cell runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// A product that is timed for its rate.
    Gemm,
    /// A product with bias and GELU by tanh, in one kernel.
    FusedTanh,
    /// A product with bias and GELU by erf, in one kernel.
    FusedErf,
    /// A product with bias, then GELU by tanh in a kernel of its own.
    DecomposedTanh,
    /// A product with bias, then GELU by erf in a kernel of its own.
    DecomposedErf,
    /// Attention in one kernel.
    FusedAttention,
    /// Attention in three: scores, softmax, output.
    DecomposedAttention,
    /// A product whose operands lie where the name of its launch tile says ([`rigel_numerics::placement`]).
    Placed,
    /// A loop without memory traffic.
    Ceiling,
    /// A product on the ladder: gated, not timed for a rate. Has no throughput by construction.
    Rung,
    /// A product compiled by the toolchain that stands in place of its launch tile: gated whole, not timed. Has no throughput.
    Version,
    /// One matrix instruction, asked tile by tile or by its registers. Has no throughput.
    Unit,
    /// A conversion of single codes, or an operand of a unit asked as one. Has no throughput.
    Conversion,
    /// A product asked for its bits, to see in which order it adds. Has no throughput.
    Product,
    /// Readings of meters under the loop of a path, where they failed: why a meter or a load left none. Has no throughput.
    Meter,
}

impl Work {
    /// Products that are timed for their rate, alone, with an epilogue or in an attention: these have a launch tile that a pilot
    /// chooses, but for placed ones, which are compared by theirs.
    pub const PRODUCTS: [Work; 8] = [
        Work::Gemm,
        Work::FusedTanh,
        Work::FusedErf,
        Work::DecomposedTanh,
        Work::DecomposedErf,
        Work::FusedAttention,
        Work::DecomposedAttention,
        Work::Placed,
    ];

    /// Whether it is a product that is timed for its rate.
    pub fn is_product(self) -> bool {
        Work::PRODUCTS.contains(&self)
    }

    /// Whether its launch tile is part of what is asked, and no pilot's choice.
    pub const fn names_its_tile(self) -> bool {
        matches!(self, Work::Placed)
    }

    /// What follows the product and the bias; none for a product alone and for everything else.
    pub const fn activation(self) -> Option<Activation> {
        match self {
            Work::FusedTanh | Work::DecomposedTanh => Some(Activation::GeluTanh),
            Work::FusedErf | Work::DecomposedErf => Some(Activation::GeluErf),
            _ => None,
        }
    }

    /// What is computed of its operands.
    pub const fn calculation(self) -> Calculation {
        match (self, self.activation()) {
            (Work::FusedAttention | Work::DecomposedAttention, _) => Calculation::Attention,
            (_, Some(activation)) => Calculation::Finished(activation),
            (_, None) => Calculation::Product,
        }
    }

    /// Whether all of it happens in the kernel that multiplies.
    pub const fn is_fused(self) -> bool {
        matches!(self, Work::FusedTanh | Work::FusedErf | Work::FusedAttention)
    }

    /// A product with an epilogue.
    pub const fn of(activation: Activation, fused: bool) -> Work {
        match (activation, fused) {
            (Activation::GeluTanh, true) => Work::FusedTanh,
            (Activation::GeluErf, true) => Work::FusedErf,
            (Activation::GeluTanh, false) => Work::DecomposedTanh,
            (Activation::GeluErf, false) => Work::DecomposedErf,
        }
    }

    /// The work whose pilot chooses the launch tile: an activation does not choose it.
    pub const fn piloted_as(self) -> Work {
        match self {
            Work::FusedErf => Work::FusedTanh,
            Work::DecomposedErf => Work::DecomposedTanh,
            other => other,
        }
    }
}

/// The identity axes of a cell. Device and process are not part of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Probe.
    pub probe: Probe,
    /// Kind of work.
    pub work: Work,
    /// Path name.
    pub path: String,
    /// Type triple.
    pub triple: Triple,
    /// Extents; none for a ceiling.
    pub shape: Option<Shape>,
    /// Launch tile, with the placement of operands where that is asked; the variant of a ceiling loop; or the name of a toolchain,
    /// unit, conversion or meter.
    pub tile: String,
    /// Input recipe; none for a ceiling.
    pub recipe: Option<Recipe>,
    /// Input seed.
    pub seed: u64,
    /// `warm` or `cold`; `none` for a ceiling.
    pub cache: CacheState,
}

impl Identity {
    /// The text that the cell id hashes: fields joined by `|`, in declaration order, missing ones empty.
    pub fn text(&self) -> String {
        let shape = self.shape.map(|s| s.to_string()).unwrap_or_default();
        let recipe = self.recipe.map(Recipe::name).unwrap_or_default();
        let probe = name_of(&self.probe);
        let work = name_of(&self.work);
        let cache = name_of(&self.cache);
        format!("{probe}|{work}|{}|{}|{shape}|{}|{recipe}|{}|{cache}", self.path, self.triple, self.tile, self.seed)
    }
}

/// The serde name of a unit variant.
pub fn name_of<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(s)) => s,
        _ => String::new(),
    }
}

/// Cache state of the operands at the start of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheState {
    /// As the previous repetition left them.
    Warm,
    /// Rotated over at least twice the last-level cache.
    Cold,
    /// No operands in memory (a ceiling).
    None,
    /// As the previous repetition left them; launches recorded once and replayed as one chain, whose time is divided among them, so
    /// that no launch waits for the host.
    Replayed,
}
