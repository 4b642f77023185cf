//! What stands in one line of each file of a run?
//!
//! Column order is the order of the fields. Missing is empty, never 0. Floats are printed in the shortest
//! decimal form that reads back to the same bits.

use crate::statistics::Bootstrap;
use rigel_numerics::epilogue::Activation;
use rigel_numerics::{Format, Megahertz, Recipe, Shape, Time, Triple, random};
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
    /// A loop without memory traffic.
    Ceiling,
    /// A product on the ladder: gated, not timed for a rate. Has no throughput by construction.
    Rung,
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
    /// Products that are timed for their rate, with or without an epilogue: these have a launch tile that a pilot chooses.
    pub const PRODUCTS: [Work; 5] =
        [Work::Gemm, Work::FusedTanh, Work::FusedErf, Work::DecomposedTanh, Work::DecomposedErf];

    /// Whether it is a product that is timed for its rate.
    pub fn is_product(self) -> bool {
        Work::PRODUCTS.contains(&self)
    }

    /// What follows the product and the bias; none for a product alone and for everything else.
    pub const fn activation(self) -> Option<Activation> {
        match self {
            Work::FusedTanh | Work::DecomposedTanh => Some(Activation::GeluTanh),
            Work::FusedErf | Work::DecomposedErf => Some(Activation::GeluErf),
            _ => None,
        }
    }

    /// Whether bias and activation are applied by the kernel that multiplies.
    pub const fn is_fused(self) -> bool {
        matches!(self, Work::FusedTanh | Work::FusedErf)
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
    /// Launch tile, the variant of a ceiling loop, or the name of a unit, conversion or meter.
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
}

/// What became of a cell in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Inside the bound derived from the declared types and K.
    Right,
    /// Outside that bound, inside the recovered model's (or the plan's coarse cap): a finding; timings count.
    Imprecise,
    /// Outside both: kept with its error, enters no mean, figure line or verdict.
    Wrong,
    /// The check could not have failed, so nothing is known.
    Mistrusted,
    /// A unit's model, map or rule explains everything that was seen; its files hold it.
    Exact,
    /// It does not, or none was found; the files say how far it reaches.
    Inexact,
    /// The device or build does not have it.
    Absent,
    /// The compiler refused.
    RefusedCompile,
    /// The loader refused.
    RefusedLoad,
    /// The process died.
    Crashed,
    /// The timeout passed.
    Hung,
    /// Memory ran out.
    OutOfMemory,
    /// The device stopped answering.
    DeviceLost,
    /// The backend reported another error.
    Failed,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 14] = [
        Outcome::Right,
        Outcome::Imprecise,
        Outcome::Wrong,
        Outcome::Mistrusted,
        Outcome::Exact,
        Outcome::Inexact,
        Outcome::Absent,
        Outcome::RefusedCompile,
        Outcome::RefusedLoad,
        Outcome::Crashed,
        Outcome::Hung,
        Outcome::OutOfMemory,
        Outcome::DeviceLost,
        Outcome::Failed,
    ];

    /// Whether the cell was a question and this is its answer, which a record holds.
    pub const fn answers(self) -> bool {
        matches!(self, Outcome::Exact | Outcome::Inexact)
    }

    /// Whether the cell's timings may enter statistics and verdicts.
    pub const fn counts(self) -> bool {
        matches!(self, Outcome::Right | Outcome::Imprecise)
    }
}

/// How the output was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GateMethod {
    /// Every element against the reference.
    Full,
    /// Row and column sums plus sampled elements.
    Sampled,
    /// Inherited from a random sibling in the block (zeros, constants).
    Inherited,
    /// Accumulators of a ceiling loop against exact integers.
    Accumulators,
}

/// Why sampling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The planned number of repetitions.
    Repetitions,
    /// The interval was narrow enough.
    Precise,
    /// The time budget of the cell, at or above the minimum number.
    Budget,
}

/// One cell in one process: a line of `cells.csv`.
///
/// The key is (cell, device, driver, run, process).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CellRow {
    /// Cell id.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Stable device id.
    pub device: String,
    /// Driver.
    pub driver: String,
    /// Run id.
    pub run: String,
    /// Process index, from 0.
    pub process: u32,
    /// Block that it was measured in.
    pub block: String,
    /// Probe.
    pub probe: Probe,
    /// Kind of work.
    pub work: Work,
    /// Path.
    pub path: String,
    /// Type triple.
    #[schemars(with = "String")]
    pub triple: Triple,
    /// Extents, `MxNxK`; empty for a ceiling.
    #[schemars(with = "Option<String>")]
    pub shape: Option<Shape>,
    /// Launch tile, ceiling variant, or name of a unit, conversion or meter.
    pub tile: String,
    /// Input recipe; empty for a ceiling.
    pub recipe: Option<Recipe>,
    /// Input seed.
    pub seed: u64,
    /// Cache state.
    pub cache: CacheState,
    /// Outcome.
    pub outcome: Outcome,
    /// Reason or verbatim diagnostic when the outcome is not `right`.
    pub reason: String,
    /// How the output was checked; empty when there was none.
    pub gate: Option<GateMethod>,
    /// Worst |ĉ − c| / Σ|a||b|, rounded up to three digits.
    pub gate_error: Option<f64>,
    /// The same element's error in units in the last place of the output, rounded up to three digits.
    pub gate_ulps: Option<f64>,
    /// The bound that `gate_error` was judged by.
    pub gate_tolerance: Option<f64>,
    /// Smallest relative single-element error that a sampled gate would have seen.
    pub gate_visible: Option<f64>,
    /// Operations of one repetition; empty where there is no throughput.
    pub operations: Option<u64>,
    /// Repetitions in `samples.csv`, warm-up included.
    pub repetitions: Option<u32>,
    /// Leading repetitions found to be warm-up and left out of the summary.
    pub warmup: Option<u32>,
    /// Why sampling ended.
    pub stop: Option<Stop>,
    /// Median time of a repetition (mean of the two middle values for even n), ns.
    pub median_ns: Option<f64>,
    /// Lower end of the 95 % order-statistic interval of the median, ns.
    pub ci_low_ns: Option<f64>,
    /// Upper end, ns.
    pub ci_high_ns: Option<f64>,
    /// Lower end of the 95 % bootstrap percentile interval (closed form), ns.
    pub bootstrap_low_ns: Option<f64>,
    /// Upper end, ns.
    pub bootstrap_high_ns: Option<f64>,
    /// Lag-1 autocorrelation, rounded to three decimals.
    pub autocorrelation: Option<f64>,
    /// Effective number of independent repetitions, rounded down.
    pub effective_n: Option<u32>,
    /// Modes as `count@median_ns@clock_mhz` joined by `;` (clock empty where unread); empty when there is one.
    pub modes: String,
    /// Median core clock, MHz; empty where it cannot be read.
    pub clock_mhz: Option<f64>,
    /// BLAKE3 (hex) over this cell's lines of `samples.csv` and then `witness.csv`, sorted as in a sealed run, LF included, and
    /// then over the files of its own ([`crate::units`]).
    pub evidence: String,
}

impl CellRow {
    /// The identity axes.
    pub fn identity(&self) -> Identity {
        Identity {
            probe: self.probe,
            work: self.work,
            path: self.path.clone(),
            triple: self.triple,
            shape: self.shape,
            tile: self.tile.clone(),
            recipe: self.recipe,
            seed: self.seed,
            cache: self.cache,
        }
    }
}

impl CellRow {
    /// A row of an identity with nothing known yet: it failed, without a reason.
    pub fn blank(identity: &Identity, process: u32) -> CellRow {
        CellRow {
            cell: CellId::of(identity),
            device: String::new(),
            driver: String::new(),
            run: String::new(),
            process,
            block: String::new(),
            probe: identity.probe,
            work: identity.work,
            path: identity.path.clone(),
            triple: identity.triple,
            shape: identity.shape,
            tile: identity.tile.clone(),
            recipe: identity.recipe,
            seed: identity.seed,
            cache: identity.cache,
            outcome: Outcome::Failed,
            reason: String::new(),
            gate: None,
            gate_error: None,
            gate_ulps: None,
            gate_tolerance: None,
            gate_visible: None,
            operations: None,
            repetitions: None,
            warmup: None,
            stop: None,
            median_ns: None,
            ci_low_ns: None,
            ci_high_ns: None,
            bootstrap_low_ns: None,
            bootstrap_high_ns: None,
            autocorrelation: None,
            effective_n: None,
            modes: String::new(),
            clock_mhz: None,
            evidence: String::new(),
        }
    }

    /// Fills the columns that follow from the repetitions: their number and their summary. The bootstrap interval is that of
    /// the closed form or, with `resamples` above 0, of so many resamples seeded by this row's seed, cell and process.
    pub fn summarise(&mut self, times: &[Time], clocks: &[Option<Megahertz>], resamples: u32) {
        let seed = random::stream(random::stream(self.seed, self.cell.0), u64::from(self.process));
        let bootstrap = match resamples {
            0 => Bootstrap::Closed,
            resamples => Bootstrap::Resampled { resamples, seed },
        };
        let summary = crate::statistics::summary(times, clocks, bootstrap);
        let ends = |interval: Option<crate::statistics::Interval>| (interval.map(|i| i.low), interval.map(|i| i.high));
        self.repetitions = Some(times.len() as u32);
        self.warmup = Some(summary.warmup);
        self.median_ns = summary.median_ns;
        (self.ci_low_ns, self.ci_high_ns) = ends(summary.interval);
        (self.bootstrap_low_ns, self.bootstrap_high_ns) = ends(summary.bootstrap);
        self.autocorrelation = summary.autocorrelation;
        self.effective_n = summary.effective_n;
        self.modes = summary.modality.column();
        self.clock_mhz = summary.clock_mhz;
    }
}

/// One repetition: a line of `samples.csv`, sorted by (cell, process, index).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleRow {
    /// Cell id.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Process index.
    pub process: u32,
    /// Repetition, from 0, in the order taken; warm-up included.
    pub index: u32,
    /// Device time, ns with at most three decimals.
    #[schemars(with = "String")]
    pub time_ns: Time,
    /// Core clock around it.
    #[schemars(with = "Option<u32>")]
    pub clock_mhz: Option<Megahertz>,
}

/// One sampled output element: a line of `witness.csv`, sorted by (cell, process, row, column).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WitnessRow {
    /// Cell id.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Process index.
    pub process: u32,
    /// Row of C.
    pub row: u32,
    /// Column of C.
    pub column: u32,
    /// The device's value as a bit pattern of the C format.
    #[schemars(with = "String")]
    pub bits: Bits,
}

/// A bit pattern: in files lower-case hex without prefix, padded to the format's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// The code.
    pub code: u64,
    /// Hex digits, a quarter of the format's bits rounded up.
    pub digits: u8,
}

impl Bits {
    /// A code of a format.
    pub fn new(format: Format, code: u64) -> Self {
        Bits { code, digits: format.bits().div_ceil(4) as u8 }
    }
}

impl Serialize for Bits {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{:0width$x}", self.code, width = usize::from(self.digits)))
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        let hex =
            (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if !hex {
            return Err(serde::de::Error::custom(format!(
                "`{text}` is not a bit pattern: 1 to 16 lower-case hex digits"
            )));
        }
        let code = u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(Bits { code, digits: text.len() as u8 })
    }
}

/// One fact: a line of `facts.csv`, sorted by (probe, path, triple, shape, recipe, cache, name).
///
/// Every fact is derived from cells, samples, plan and provenance by [`crate::facts::derive`]; `verify` derives it again.
/// The names in use are listed in [`crate::facts`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactRow {
    /// Probe that established it.
    pub probe: Probe,
    /// Path; `path/unit` for a fact about a unit or conversion; empty for one about the device.
    pub path: String,
    /// Type triple; empty for a fact about a path or device.
    #[schemars(with = "Option<String>")]
    pub triple: Option<Triple>,
    /// Extents; empty when it holds for all.
    #[schemars(with = "Option<String>")]
    pub shape: Option<Shape>,
    /// Input recipe; empty when it holds for all.
    pub recipe: Option<Recipe>,
    /// Cache state; empty when it holds for all.
    pub cache: Option<CacheState>,
    /// Name, dotted (`rate`, `ceiling`, `verdict.acceleration`).
    pub name: String,
    /// Value: a number or a word.
    pub value: String,
    /// Unit of the value; empty for words.
    pub unit: String,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// One sentence: what was compared, what was absent, what could not be seen.
    pub words: String,
    /// Cell ids it rests on, joined by spaces.
    pub evidence: String,
}

/// One reading of a meter: a line of `power.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerRow {
    /// Meter name.
    pub meter: String,
    /// Since the meter was opened, ns.
    #[schemars(with = "String")]
    pub time_ns: Time,
    /// Reading.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// What ran: `idle`, or a cell id.
    pub phase: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_of_the_schema_is_listed_once() {
        let schema = schemars::schema_for!(Outcome).to_value().to_string();
        let named = |outcome: &Outcome| schema.matches(&format!("\"{}\"", name_of(outcome))).count();
        assert!(Outcome::ALL.iter().all(|outcome| named(outcome) == 1), "{schema}");
        assert_eq!(schema.matches("\"const\"").count(), Outcome::ALL.len(), "{schema}");
    }
}
