//! What do the energy and residency counters of Apple's system say, and when do they say nothing?
//!
//! IOReport publishes cumulative counters. Each energy channel has a unit label of its own. Two sorts differ: `GPU Energy` is stamped
//! when it is sampled and does not move while the GPU idles; the others (CPU, DRAM, ANE) are published in batches up to some
//! seconds apart, and from macOS 27 on they can be visible and frozen for programs without a private entitlement. A frozen or
//! absent channel is `unavailable` with its reason, and never 0 W.
//!
//! Sources: reports of the projects macmon (issue 76) and all-smi (issues 410, 415, 424).

use rigel_numerics::{Megahertz, Time};

/// The group of energy channels.
pub const ENERGY_GROUP: &str = "Energy Model";
/// Group, subgroup and channel of the GPU's performance states.
pub const GPU_STATES: (&str, &str, &str) = ("GPU Stats", "GPU Performance States", "GPUPH");

/// A batch-published counter that did not move for so long is frozen: batches of up to 2.2 s were seen.
const FROZEN_AFTER: Time = Time::from_ns(8_000_000_000);

/// One channel of one sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Group, as `Energy Model`.
    pub group: String,
    /// Subgroup; empty where there is none.
    pub subgroup: String,
    /// Name, as `GPU Energy`.
    pub name: String,
    /// Unit label as published, with whatever spaces it has.
    pub unit: String,
    /// What it holds.
    pub value: Value,
}

/// What a channel holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A cumulative count.
    Count(i64),
    /// Cumulative time in each state, in the order of the channel.
    States(Vec<(String, i64)>),
}

/// Why a channel gives no figure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// There is no such channel.
    #[error("no channel `{0}`: this system does not publish it, or not to this program")]
    Absent(String),
    /// A label that is no unit of energy.
    #[error("channel `{channel}` has the unit label `{label}`; known: mJ, uJ, nJ")]
    Unit {
        /// The channel.
        channel: String,
        /// Its label.
        label: String,
    },
    /// It is there and does not move.
    #[error(
        "channel `{channel}` has not moved for {seconds} s: nothing drew from it, or it is frozen, as from macOS 27 on for programs \
         without Apple's entitlement; powermetrics shows it to an administrator (RIGEL_POWERMETRICS)"
    )]
    Frozen {
        /// The channel.
        channel: String,
        /// How long.
        seconds: u64,
    },
    /// It went down, or up by more than any chip can draw.
    #[error("channel `{channel}` went from {before} to {after} within {nanoseconds} ns, which no chip draws")]
    Implausible {
        /// The channel.
        channel: String,
        /// First count.
        before: i64,
        /// Second count.
        after: i64,
        /// Time between.
        nanoseconds: u64,
    },
}

/// Joules of one count.
///
/// # Errors
/// [`Unavailable::Unit`].
pub fn joules_per_count(channel: &str, label: &str) -> Result<f64, Unavailable> {
    match label.trim() {
        "mJ" => Ok(1e-3),
        "uJ" | "µJ" => Ok(1e-6),
        "nJ" => Ok(1e-9),
        _ => Err(Unavailable::Unit { channel: channel.to_owned(), label: label.trim().to_owned() }),
    }
}

/// Whether a channel is published in batches, so that standing still means frozen.
pub fn is_batched(channel: &str) -> bool {
    !channel.starts_with("GPU")
}

/// Follows one energy counter from sample to sample.
#[derive(Debug, Clone)]
pub struct Counter {
    name: String,
    joules: f64,
    first: i64,
    last: (Time, i64),
    /// When it last moved, and how long it stood before.
    moved: Time,
    periods: Vec<Time>,
}

/// More than any chip of this family draws, in watts: a jump above it is a fault of the counter.
const MOST_WATTS: f64 = 2000.0;

impl Counter {
    /// Begins with a first sample.
    ///
    /// # Errors
    /// An unknown unit, or a channel without a count.
    pub fn begin(channel: &Channel, at: Time) -> Result<Counter, Unavailable> {
        let joules = joules_per_count(&channel.name, &channel.unit)?;
        let Value::Count(first) = channel.value else { return Err(Unavailable::Absent(channel.name.clone())) };
        Ok(Counter { name: channel.name.clone(), joules, first, last: (at, first), moved: at, periods: Vec::new() })
    }

    /// Joules since the beginning.
    ///
    /// # Errors
    /// [`Unavailable::Frozen`] and [`Unavailable::Implausible`].
    pub fn read(&mut self, count: i64, at: Time) -> Result<f64, Unavailable> {
        let (since, before) = self.last;
        let elapsed = Time(at.0.saturating_sub(since.0));
        let joules = count.saturating_sub(before) as f64 * self.joules;
        // What a batch brings was drawn since the counter last moved.
        let window = Time(at.0.saturating_sub(self.moved.0)).seconds().max(1e-3);
        if joules < 0.0 || joules > MOST_WATTS * window {
            let nanoseconds = elapsed.0 / 1000;
            self.last = (at, count);
            return Err(Unavailable::Implausible { channel: self.name.clone(), before, after: count, nanoseconds });
        }
        if count != before {
            self.periods.push(Time(at.0.saturating_sub(self.moved.0)));
            self.moved = at;
        }
        self.last = (at, count);
        let standing = Time(at.0.saturating_sub(self.moved.0));
        if is_batched(&self.name) && standing >= FROZEN_AFTER {
            let seconds = standing.seconds() as u64;
            return Err(Unavailable::Frozen { channel: self.name.clone(), seconds });
        }
        Ok(count.saturating_sub(self.first) as f64 * self.joules)
    }

    /// Whether a standing count can be told from a frozen one: it moved since it was followed, or stands still when nothing draws.
    pub fn has_told(&self) -> bool {
        !is_batched(&self.name) || !self.periods.is_empty()
    }

    /// The median time between movements that were seen: the cadence of publication, not shorter than that of reading.
    /// The first is left out, because it began before the counter was followed.
    pub fn cadence(&self) -> Option<Time> {
        let mut periods = self.periods.get(1..)?.to_vec();
        periods.sort();
        periods.get(periods.len() / 2).copied()
    }
}

/// What the GPU did between two samples of its performance states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residency {
    /// Share of the time outside the off state, 0 to 1.
    pub active: f64,
    /// Mean clock of the active time, where the table of clocks is known and has a step for each state.
    pub clock: Option<Megahertz>,
}

/// Residency between two samples; `clocks` in MHz by state, the off state first.
///
/// # Errors
/// [`Unavailable`]: other states than before, or no time passed.
pub fn residency(before: &Value, after: &Value, clocks: &[f64]) -> Result<Residency, Unavailable> {
    let channel = GPU_STATES.2;
    let none = || Unavailable::Absent(channel.to_owned());
    let (Value::States(before), Value::States(after)) = (before, after) else { return Err(none()) };
    if before.len() != after.len() || before.iter().zip(after).any(|(b, a)| b.0 != a.0) {
        return Err(none());
    }
    let spent: Vec<i64> = before.iter().zip(after).map(|(b, a)| a.1 - b.1).collect();
    let total: i64 = spent.iter().sum();
    if total <= 0 || spent.iter().any(|&t| t < 0) {
        return Err(Unavailable::Frozen { channel: channel.to_owned(), seconds: 0 });
    }
    let is_off = |i: usize| matches!(after[i].0.as_str(), "OFF" | "IDLE" | "DOWN");
    let active: i64 = (0..spent.len()).filter(|&i| !is_off(i)).map(|i| spent[i]).sum();
    let steps: f64 =
        (0..spent.len()).filter(|&i| !is_off(i)).map(|i| spent[i] as f64 * clocks.get(i).unwrap_or(&0.0)).sum();
    let known = clocks.len() == spent.len() && active > 0;
    let clock = known.then(|| Megahertz((steps / active as f64).round() as u32));
    Ok(Residency { active: active as f64 / total as f64, clock })
}

/// The GPU's clock table in MHz from the property `voltage-states9`: pairs of little-endian words, hertz and voltage, the off
/// state first. Whatever is left of a torn pair is dropped.
pub fn clock_table(property: &[u8]) -> Vec<f64> {
    let hertz = |pair: &[u8]| f64::from(u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]));
    property.chunks_exact(8).map(|pair| hertz(pair) / 1e6).collect()
}
