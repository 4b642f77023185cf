//! Is a planted truth possible, and if not, which key is wrong and what is allowed?

use super::alignment::PlantedAlignment;
use super::arithmetic::Arithmetic;
use super::conversion::SimConversion;
use super::fault::{Effect, PlantedFault, Wrong};
use super::meter::{PlantedMeter, Reads};
use super::noise::Noise;
use super::states::{Law, States};
use super::toolchain::PlantedToolchain;
use super::truth::{PlantedPath, PlantedTriple, Truth};
use super::unit::SimUnit;
use super::unit_truth::PlantedUnit;
use rigel_numerics::{Megahertz, Triple};

/// A text that is no planted truth.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadTruth {
    /// No TOML, an unknown or missing key, or a value of the wrong type.
    #[error("{0}")]
    Form(String),
    /// A value that is not allowed.
    #[error("`{key}` is {found}; allowed: {allowed}")]
    Value {
        /// The key, from the top of the file.
        key: String,
        /// What stands there.
        found: String,
        /// What may.
        allowed: String,
    },
    /// Something in a file.
    #[error("{file}:{line}: {fault}")]
    At {
        /// The file as the user named it.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        fault: Box<BadTruth>,
    },
    /// The file cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
}

type Checked = Result<(), BadTruth>;

/// The error of a value that is not allowed.
pub(super) fn refused(key: impl Into<String>, found: impl ToString, allowed: impl Into<String>) -> BadTruth {
    BadTruth::Value { key: key.into(), found: found.to_string(), allowed: allowed.into() }
}

fn bad(key: impl Into<String>, found: impl ToString, allowed: impl Into<String>) -> Checked {
    Err(refused(key, found, allowed))
}

fn within(key: impl Into<String>, value: f64, low: f64, high: f64) -> Checked {
    if (low..=high).contains(&value) { Ok(()) } else { bad(key, value, format!("{low:e} to {high:e}")) }
}

fn named(key: &str, text: &str) -> Checked {
    let fine = !text.trim().is_empty() && !text.contains(char::is_control);
    if fine { Ok(()) } else { bad(key, format!("{text:?}"), "a text on one line, not empty") }
}

fn distinct<'a>(key: &str, names: impl IntoIterator<Item = &'a str>) -> Checked {
    let mut seen: Vec<&str> = Vec::new();
    for (i, name) in names.into_iter().enumerate() {
        named(&format!("{key}[{i}].name"), name)?;
        if seen.contains(&name) {
            return bad(format!("{key}[{i}].name"), format!("`{name}` again"), "each name once");
        }
        seen.push(name);
    }
    if seen.is_empty() { bad(key, "empty", "at least one") } else { Ok(()) }
}

/// Largest rate and operation count: far beyond every machine, far inside f64 and `Time`.
const MOST: f64 = 1e21;

impl Truth {
    /// Checks every value; the first that is not allowed is the error.
    pub fn check(&self) -> Checked {
        for (key, text) in [("name", &self.name), ("id", &self.id), ("version", &self.version)] {
            named(key, text)?;
        }
        if self.seed > i64::MAX as u64 {
            return bad("seed", self.seed, "0 to 2^63 - 1");
        }
        if self.cores == 0 {
            return bad("cores", 0, "at least 1");
        }
        if self.memory_bytes == 0 || self.memory_bytes > i64::MAX as u64 {
            return bad("memory_bytes", self.memory_bytes, "1 to 2^63 - 1");
        }
        megahertz("clock.reference_mhz", self.clock.reference)?;
        let tick = self.clock.resolution;
        if tick.0 == 0 || tick.seconds() > 1.0 {
            return bad("clock.resolution_ns", tick, "0.001 to 1000000000");
        }
        states("states", &self.states)?;
        noise("noise", &self.noise)?;
        distinct("path", self.paths.iter().map(|p| p.name.as_str()))?;
        self.paths.iter().enumerate().try_for_each(|(i, p)| path(&format!("path[{i}]"), p))?;
        self.faults.iter().enumerate().try_for_each(|(i, f)| self.fault(&format!("fault[{i}]"), f))?;
        if !self.meters.is_empty() {
            distinct("meter", self.meters.iter().map(|m| m.name.as_str()))?;
        }
        self.meters.iter().enumerate().try_for_each(|(i, m)| meter(&format!("meter[{i}]"), m))?;
        self.toolchains.iter().enumerate().try_for_each(|(i, t)| self.toolchain(&format!("toolchain[{i}]"), t))?;
        if !self.toolchains.is_empty() {
            distinct("toolchain", self.toolchains.iter().map(|t| t.name.as_str()))?;
        }
        if !self.units.is_empty() {
            distinct("unit", self.all_units().iter().map(|unit| unit.name.as_str()))?;
        }
        self.units.iter().enumerate().try_for_each(|(i, u)| unit(&format!("unit[{i}]"), u))?;
        if !self.conversions.is_empty() {
            distinct("conversion", self.conversions.iter().map(|conversion| conversion.name.as_str()))?;
        }
        let mut conversions = self.conversions.iter().enumerate();
        conversions.try_for_each(|(i, c)| SimConversion::at(&format!("conversion[{i}]"), c).map(drop))
    }

    fn toolchain(&self, key: &str, toolchain: &PlantedToolchain) -> Checked {
        if toolchain.name.contains(char::is_whitespace) {
            return bad(format!("{key}.name"), format!("{:?}", toolchain.name), "a name without spaces");
        }
        toolchain.arithmetic.map_or(Ok(()), |own| arithmetic(&format!("{key}.arithmetic"), own))?;
        self.fault(
            key,
            &alone(toolchain.path.clone(), toolchain.triple, toolchain.effect.clone().unwrap_or(Effect::Crash)),
        )
    }

    fn fault(&self, key: &str, fault: &PlantedFault) -> Checked {
        let paths = || self.paths.iter().filter(|p| fault.path.as_ref().is_none_or(|name| *name == p.name));
        if paths().next().is_none() {
            let known: Vec<&str> = self.paths.iter().map(|p| p.name.as_str()).collect();
            return bad(format!("{key}.path"), format!("{:?}", fault.path), known.join(", "));
        }
        if let Some(triple) = fault.triple.filter(|t| !paths().any(|p| p.triples.iter().any(|x| x.triple == *t))) {
            return bad(format!("{key}.triple"), triple, "a triple that the path offers");
        }
        if let Some(tile) = fault.tile.as_ref().filter(|t| !paths().any(|p| p.tiles.iter().any(|x| x.name == **t))) {
            return bad(format!("{key}.tile"), tile, "a launch tile of the path");
        }
        if fault.after > 0 && !fault.effect.acts_in_repetition() {
            return bad(format!("{key}.after"), fault.after, "0: this effect acts before the first repetition");
        }
        if fault.after > i64::MAX as u64 {
            return bad(format!("{key}.after"), fault.after, "0 to 2^63 - 1");
        }
        effect(&format!("{key}.effect"), &fault.effect)
    }
}

/// A fault of a path and triple that is no fault of a launch tile.
fn alone(path: Option<String>, triple: Option<Triple>, effect: Effect) -> PlantedFault {
    PlantedFault { path, triple, shape: None, tile: None, process: None, after: 0, effect }
}

fn effect(key: &str, effect: &Effect) -> Checked {
    match effect {
        Effect::Wrong(Wrong::DroppedStep { step: 0 }) => bad(format!("{key}.wrong.step"), 0, "at least 1"),
        Effect::Wrong(Wrong::TileEdge { tile: 0 | 1 }) => bad(format!("{key}.wrong.tile"), "below 2", "at least 2"),
        Effect::Wrong(Wrong::Unwritten { rows: 0 }) => bad(format!("{key}.wrong.rows"), 0, "at least 1"),
        Effect::Wrong(Wrong::Perturbed { by }) if *by == 0.0 || !by.is_finite() => {
            bad(format!("{key}.wrong.by"), by, "a finite number other than 0")
        }
        _ => Ok(()),
    }
}

fn alignment(key: &str, alignment: &PlantedAlignment) -> Checked {
    for (name, bytes, least) in
        [("demands", alignment.demands, 1), ("prefers", alignment.prefers, 1), ("aliases", alignment.aliases, 0)]
    {
        within(format!("{key}.{name}"), bytes as f64, f64::from(least), 65_536.0)?;
    }
    within(format!("{key}.factor"), alignment.factor, 1e-3, 1e3)?;
    effect(&format!("{key}.shows"), &alignment.shows)
}

/// Whether a unit can be planted: whether it can be made.
fn unit(key: &str, unit: &PlantedUnit) -> Checked {
    named(&format!("{key}.path"), &unit.path)?;
    named(&format!("{key}.source"), &unit.source)?;
    SimUnit::at(key, unit, 0, 0).map(drop)
}

fn megahertz(key: &str, clock: Megahertz) -> Checked {
    within(key, f64::from(clock.0), 1.0, 1e6)
}

fn states(key: &str, states: &States) -> Checked {
    if states.mixture.is_empty() {
        return bad(format!("{key}.mixture"), "empty", "at least one state");
    }
    for (i, state) in states.mixture.iter().enumerate() {
        let key = format!("{key}.mixture[{i}]");
        within(format!("{key}.weight"), state.weight, 0.0, 1e6)?;
        if states.law == Law::Deck && state.weight.fract() != 0.0 {
            return bad(format!("{key}.weight"), state.weight, "a whole count under law `deck`");
        }
        state.factor.map_or(Ok(()), |f| within(format!("{key}.factor"), f, 1e-3, 1e3))?;
        state.clock.map_or(Ok(()), |c| megahertz(&format!("{key}.clock_mhz"), c))?;
        if state.factor.is_none() && state.clock.is_none() {
            return bad(key, "without factor and clock_mhz", "one of the two, or both");
        }
    }
    let total: f64 = states.mixture.iter().map(|s| s.weight).sum();
    if total <= 0.0 {
        return bad(format!("{key}.mixture"), "of total weight 0", "a total above 0");
    }
    if states.law == Law::Deck && total > 1e6 {
        return bad(format!("{key}.mixture"), format!("of total weight {total}"), "at most 1e6 under law `deck`");
    }
    match states.law {
        Law::Markov { dwell } => within(format!("{key}.law.markov.dwell"), dwell, 1.0, 1e9),
        Law::Iid | Law::PerProcess | Law::Deck => Ok(()),
    }
}

fn noise(key: &str, n: &Noise) -> Checked {
    within(format!("{key}.sigma"), n.sigma, 0.0, 1.0)?;
    within(format!("{key}.rho"), n.rho, -0.999, 0.999)?;
    within(format!("{key}.skew"), n.skew, 0.0, 1.0)?;
    within(format!("{key}.drift_per_repetition"), n.drift_per_repetition, -1.0, 1.0)?;
    within(format!("{key}.process_sigma"), n.process_sigma, 0.0, 1.0)?;
    within(format!("{key}.outlier_rate"), n.outlier_rate, 0.0, 1.0)?;
    within(format!("{key}.outlier_factor"), n.outlier_factor, 1e-3, 1e3)?;
    within(format!("{key}.warmup_factor"), n.warmup_factor, 1e-3, 1e3)
}

fn path(key: &str, path: &PlantedPath) -> Checked {
    distinct(&format!("{key}.tile"), path.tiles.iter().map(|t| t.name.as_str()))?;
    for (i, tile) in path.tiles.iter().enumerate() {
        within(format!("{key}.tile[{i}].factor"), tile.factor, 1e-6, 1e6)?;
        within(format!("{key}.tile[{i}].half_extent"), tile.half_extent, 0.0, 1e9)?;
    }
    path.states.as_ref().map_or(Ok(()), |s| states(&format!("{key}.states"), s))?;
    path.noise.as_ref().map_or(Ok(()), |n| noise(&format!("{key}.noise"), n))?;
    if path.triples.is_empty() {
        return bad(format!("{key}.triple"), "empty", "at least one");
    }
    for (i, t) in path.triples.iter().enumerate() {
        let key = format!("{key}.triple[{i}]");
        if path.triples[..i].iter().any(|other| other.triple == t.triple) {
            return bad(format!("{key}.triple"), format!("{} again", t.triple), "each triple once on a path");
        }
        triple(&key, t)?;
    }
    Ok(())
}

fn triple(key: &str, t: &PlantedTriple) -> Checked {
    named(&format!("{key}.source"), &t.source)?;
    within(format!("{key}.rate"), t.rate, 1.0, MOST)?;
    within(format!("{key}.launch_ns"), t.launch.ns(), 0.0, 1e12)?;
    within(format!("{key}.half_extent"), t.half_extent, 0.0, 1e9)?;
    within(format!("{key}.cold_factor"), t.cold_factor, 1e-3, 1e3)?;
    arithmetic(&format!("{key}.arithmetic"), t.arithmetic)?;
    if let Some(epilogue) = &t.epilogue {
        within(format!("{key}.epilogue.pass_rate"), epilogue.pass_rate, 1.0, MOST)?;
        within(format!("{key}.epilogue.fused_share"), epilogue.fused_share, 0.0, 1e3)?;
    }
    if let Some(attention) = &t.attention {
        within(format!("{key}.attention.pass_rate"), attention.pass_rate, 1.0, MOST)?;
        within(format!("{key}.attention.fused_share"), attention.fused_share, 0.0, 1e3)?;
    }
    t.alignment.as_ref().map_or(Ok(()), |own| alignment(&format!("{key}.alignment"), own))?;
    if let Some(stated) = &t.stated {
        within(
            format!("{key}.stated.operations_per_cycle_per_core"),
            stated.operations_per_cycle_per_core,
            1e-6,
            1e12,
        )?;
        named(&format!("{key}.stated.source"), &stated.source)?;
    }
    if let Some(ceiling) = &t.ceiling {
        within(format!("{key}.ceiling.rate"), ceiling.rate, 1.0, MOST)?;
        within(format!("{key}.ceiling.operations"), ceiling.operations as f64, 1.0, 1e18)?;
        distinct(&format!("{key}.ceiling.variants"), ceiling.variants.iter().map(|v| v.name.as_str()))?;
        for (i, variant) in ceiling.variants.iter().enumerate() {
            within(format!("{key}.ceiling.variants[{i}].factor"), variant.factor, 1e-6, 1e6)?;
        }
    }
    t.states.as_ref().map_or(Ok(()), |s| states(&format!("{key}.states"), s))?;
    t.noise.as_ref().map_or(Ok(()), |n| noise(&format!("{key}.noise"), n))?;
    for (i, at) in t.shapes.iter().enumerate() {
        let key = format!("{key}.shape[{i}]");
        if t.shapes[..i].iter().any(|other| other.shape == at.shape) {
            return bad(format!("{key}.shape"), format!("{} again", at.shape), "each shape once in a triple");
        }
        at.rate.map_or(Ok(()), |rate| within(format!("{key}.rate"), rate, 1.0, MOST))?;
        at.states.as_ref().map_or(Ok(()), |s| states(&format!("{key}.states"), s))?;
        at.noise.as_ref().map_or(Ok(()), |n| noise(&format!("{key}.noise"), n))?;
    }
    Ok(())
}

fn arithmetic(key: &str, arithmetic: Arithmetic) -> Checked {
    match arithmetic {
        Arithmetic::Exact | Arithmetic::Chain => Ok(()),
        Arithmetic::OperandsCut { bits } => within(format!("{key}.operands-cut.bits"), f64::from(bits), 1.0, 53.0),
        Arithmetic::AlignedBlocks { terms, fraction_bits, output_bits } => {
            let key = format!("{key}.aligned-blocks");
            within(format!("{key}.terms"), terms as f64, 1.0, 4096.0)?;
            within(format!("{key}.fraction_bits"), f64::from(fraction_bits), 1.0, 52.0)?;
            within(format!("{key}.output_bits"), f64::from(output_bits), 1.0, 53.0)
        }
    }
}

fn meter(key: &str, meter: &PlantedMeter) -> Checked {
    within(format!("{key}.period_ns"), meter.period.ns(), 1.0, 1e12)?;
    match &meter.reads {
        Reads::Energy { idle_w, load_w } => {
            within(format!("{key}.reads.energy.idle_w"), *idle_w, 0.0, 1e6)?;
            within(format!("{key}.reads.energy.load_w"), *load_w, 0.0, 1e6)
        }
        Reads::Frozen { value, .. } if !value.is_finite() => {
            bad(format!("{key}.reads.frozen.value"), value, "a finite number")
        }
        Reads::Missing { reason } => named(&format!("{key}.reads.missing.reason"), reason),
        Reads::Unreadable { reason, .. } => named(&format!("{key}.reads.unreadable.reason"), reason),
        Reads::Clock | Reads::Frozen { .. } => Ok(()),
    }
}
