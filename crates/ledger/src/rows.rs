//! What stands in one line of each file of a run?
//!
//! Column order is the order of the fields. Missing is empty, never 0. Floats are printed in the shortest
//! decimal form that reads back to the same bits.

pub use crate::identity::{BadCellId, CacheState, CellId, Identity, Probe, Work, name_of};

use crate::statistics::Bootstrap;
use rigel_numerics::{Format, Megahertz, Recipe, Shape, Time, Triple, random};
use serde::{Deserialize, Serialize};

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
    /// Launch tile, with the placement of operands where that is asked, ceiling variant, or name of a toolchain, unit, conversion or
    /// meter.
    pub tile: String,
    /// Input recipe; empty for a ceiling.
    pub recipe: Option<Recipe>,
    /// Input seed.
    pub seed: u64,
    /// Cache state.
    pub cache: CacheState,
    /// Outcome.
    pub outcome: Outcome,
    /// Reason or verbatim diagnostic when the outcome is not `right`; of a product by a toolchain also what took effect, and the
    /// digest of its output ([`crate::effect`]).
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
    /// Lower end of the 95 % bootstrap percentile interval, ns: in closed form, or of the plan's seeded resamples.
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
    /// What ran: `idle`, a cell id, or `period`, where a reading stands for each change of the meter.
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
