//! What is planted in a software device?
//!
//! A [`Truth`] is plain data, kept as TOML. Everything a study may find out about the device stands in it, so what was
//! recovered can be compared with what was planted. Times stand as text in nanoseconds (`launch_ns = "1500"`), rates in
//! operations per second, factors without unit. Every key but those marked required has a default that plants nothing.

use super::alignment::PlantedAlignment;
use super::arithmetic::Arithmetic;
use super::attention::PlantedAttention;
use super::conversion_truth::PlantedConversion;
use super::epilogue::PlantedEpilogue;
use super::fault::PlantedFault;
use super::meter::PlantedMeter;
use super::noise::Noise;
use super::states::States;
use super::toolchain::PlantedToolchain;
use super::unit_truth::{PlantedUnit, is_default};
use rigel_numerics::arithmetic::library;
use rigel_numerics::{Megahertz, Shape, Time, Triple};
use serde::{Deserialize, Serialize};

/// One software device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// Name (required).
    pub name: String,
    /// Stable id (required).
    pub id: String,
    /// Version of this truth, reported as the driver (required).
    pub version: String,
    /// Where its figures come from, and what is invented.
    #[serde(default)]
    pub note: String,
    /// Seed of every pseudo-random number that the device draws, below 2^63.
    #[serde(default)]
    pub seed: u64,
    /// Cores (required).
    pub cores: u32,
    /// Memory in bytes (required): operands and output that need more are refused; exhaustion stops here.
    pub memory_bytes: u64,
    /// Why health checks fail; empty when the device is healthy.
    #[serde(default)]
    pub unhealthy: String,
    /// Whether every published model of arithmetic is a unit too, under its name.
    #[serde(default, skip_serializing_if = "is_default")]
    pub published_units: bool,
    /// The virtual clock and timer (required).
    pub clock: Clock,
    /// Clock states of every cell that has none of its own.
    #[serde(default)]
    pub states: States,
    /// Noise of every cell that has none of its own.
    #[serde(default)]
    pub noise: Noise,
    /// Paths, at least one; TOML key `path`.
    #[serde(rename = "path")]
    pub paths: Vec<PlantedPath>,
    /// Faults; TOML key `fault`.
    #[serde(default, rename = "fault")]
    pub faults: Vec<PlantedFault>,
    /// Meters; TOML key `meter`.
    #[serde(default, rename = "meter")]
    pub meters: Vec<PlantedMeter>,
    /// Toolchains; TOML key `toolchain`.
    #[serde(default, rename = "toolchain", skip_serializing_if = "Vec::is_empty")]
    pub toolchains: Vec<PlantedToolchain>,
    /// Units; TOML key `unit`.
    #[serde(default, rename = "unit", skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<PlantedUnit>,
    /// Conversions; TOML key `conversion`.
    #[serde(default, rename = "conversion", skip_serializing_if = "Vec::is_empty")]
    pub conversions: Vec<PlantedConversion>,
}

impl Truth {
    /// Every unit of the device: those of [`Truth::units`], then the published ones.
    pub fn all_units(&self) -> Vec<PlantedUnit> {
        let published = library().iter().filter(|_| self.published_units).map(PlantedUnit::published);
        self.units.iter().cloned().chain(published).collect()
    }
}

/// The virtual clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// The core clock at which planted rates hold (required).
    #[serde(rename = "reference_mhz")]
    pub reference: Megahertz,
    /// Whether samples carry the core clock.
    #[serde(default = "yes")]
    pub readable: bool,
    /// Tick of the timer: every time is a multiple of it.
    #[serde(default = "one_ns", rename = "resolution_ns")]
    pub resolution: Time,
}

/// One path and what it can multiply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedPath {
    /// Path name (required).
    pub name: String,
    /// Launch tiles, best guess first; one without effect by default. TOML key `tile`.
    #[serde(default = "one_tile", rename = "tile")]
    pub tiles: Vec<PlantedTile>,
    /// Clock states of this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// Noise of this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Triples, at least one; TOML key `triple`.
    #[serde(rename = "triple")]
    pub triples: Vec<PlantedTriple>,
}

/// One launch tile. A tile with a higher factor and a larger half extent wins at large shapes and loses at small ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedTile {
    /// Its name (required).
    pub name: String,
    /// Factor on the rate.
    #[serde(default = "one")]
    pub factor: f64,
    /// Added to the triple's half extent.
    #[serde(default)]
    pub half_extent: f64,
    /// Its extents, where it tells them: the ladder tries shapes one below and one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<Shape>,
}

/// One type triple on a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedTriple {
    /// The triple (required).
    pub triple: Triple,
    /// Whether the planted vendor's document lists it (required); it may lie.
    pub advertised: bool,
    /// Document and section, or why there is none (required).
    pub source: String,
    /// Why it cannot be tried; empty when it can.
    #[serde(default)]
    pub absent: String,
    /// How the planted kernel converts its operands before it multiplies them; empty when it does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conversion: String,
    /// Operations per second at the reference clock of an endless product with a tile of factor 1 (required).
    pub rate: f64,
    /// Time that every repetition takes before it computes; TOML key `launch_ns`.
    #[serde(default, rename = "launch_ns")]
    pub launch: Time,
    /// Geometric mean extent at which half the rate is reached: the rate is `rate · s / (s + half_extent)`.
    #[serde(default)]
    pub half_extent: f64,
    /// Factor on the time when operands are not in cache.
    #[serde(default = "one")]
    pub cold_factor: f64,
    /// How it sums.
    #[serde(default)]
    pub arithmetic: Arithmetic,
    /// Limit in the vendor's document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<PlantedStated>,
    /// What an epilogue behind its products costs; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epilogue: Option<PlantedEpilogue>,
    /// What an attention of its products costs; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<PlantedAttention>,
    /// What it demands of the addresses of its operands; without it they cannot be placed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<PlantedAlignment>,
    /// Its ceiling loop, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<PlantedCeiling>,
    /// Clock states of this triple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// Noise of this triple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// Shapes that differ from the law above; TOML key `shape`.
    #[serde(default, rename = "shape")]
    pub shapes: Vec<PlantedShape>,
}

/// A limit in the planted vendor's document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedStated {
    /// Operations per core and core-clock cycle.
    pub operations_per_cycle_per_core: f64,
    /// Document and section.
    pub source: String,
}

/// A ceiling loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedCeiling {
    /// Operations per second of a variant of factor 1, at the reference clock (required).
    pub rate: f64,
    /// Operations of one repetition.
    #[serde(default = "many_operations")]
    pub operations: u64,
    /// Variants in order of growing parallelism, at least one (required): a plateau is neighbours of like factor.
    pub variants: Vec<PlantedVariant>,
    /// Why the accumulators do not hold what they must; empty when they do.
    #[serde(default)]
    pub wrong: String,
}

/// A variant of a ceiling loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedVariant {
    /// Its name.
    pub name: String,
    /// Factor on the ceiling rate.
    pub factor: f64,
}

/// A shape at which the device behaves differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedShape {
    /// The shape (required).
    pub shape: Shape,
    /// Operations per second of the whole repetition, launch included, with the best launch tile at the reference
    /// clock; other tiles keep their ratio to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// Clock states at this shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// Noise at this shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

fn one_ns() -> Time {
    Time::from_ns(1)
}

fn many_operations() -> u64 {
    1 << 30
}

fn one_tile() -> Vec<PlantedTile> {
    vec![PlantedTile { name: "only".into(), factor: 1.0, half_extent: 0.0, extents: None }]
}
