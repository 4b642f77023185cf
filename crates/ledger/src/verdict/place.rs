//! Where do the operations of a path run, by how many of three signals?

use super::Ruling;
use super::ratio::{Band, Comparison};
use super::word::Place;
use crate::plan::Thresholds;
use std::fmt;

/// The three signals, in the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Ceiling against the measured ceiling of the scalar units (baseline A).
    Ceiling,
    /// Rate against the older instruction (baseline C).
    Shootout,
    /// Energy by rail.
    Energy,
}

/// What a signal says.
#[derive(Debug, Clone, PartialEq)]
pub enum SignalReading {
    /// It points to a place: which, and why.
    Says(Place, String),
    /// It was measured and points nowhere.
    Ambiguous(String),
    /// It was not measured, or could not have seen anything.
    Unmeasured(String),
}

impl fmt::Display for SignalReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SignalReading::Says(place, _) => place.fmt(f),
            SignalReading::Ambiguous(_) => f.write_str("ambiguous"),
            SignalReading::Unmeasured(_) => f.write_str("unmeasured"),
        }
    }
}

impl SignalReading {
    /// Why, in words.
    pub fn words(&self) -> &str {
        match self {
            SignalReading::Says(_, why) | SignalReading::Ambiguous(why) | SignalReading::Unmeasured(why) => why,
        }
    }
}

/// What a power rail covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    /// The shader cores alone.
    ShaderCores,
    /// A dedicated matrix unit alone.
    DedicatedUnit,
    /// Both, or more: it cannot tell one from the other.
    Both,
}

/// One rail and what moved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rail {
    /// Name of the meter.
    pub name: String,
    /// What it covers.
    pub coverage: Coverage,
    /// Whether a load known to run on what it covers moved it; `None` when none was tried. Unless it did, the rail is `blind`.
    pub moved_by_known_load: Option<bool>,
    /// Whether the path moved it; `None` when it was not read while the path ran.
    pub moved_by_path: Option<bool>,
}

/// Everything that is known of a path's whereabouts.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSignals {
    /// Path's ceiling ÷ ceiling of baseline A, or why there is none.
    pub ceiling: Result<Comparison, String>,
    /// Path's rate ÷ rate of baseline C, or why there is none.
    pub shootout: Result<Comparison, String>,
    /// Rails, or why there are none.
    pub rails: Result<Vec<Rail>, String>,
    /// Whether the device has one place only, as a processor has its cores: then signals are reported and point nowhere.
    pub one_place: bool,
}

impl PathSignals {
    /// What each signal says.
    ///
    /// * `ceiling`: wholly at or below the scalar units' roofline fits the shader cores; wholly above it, they cannot
    ///   have done it alone.
    /// * `shootout`: wholly at or above the plan's `accelerated` threshold over the older instruction points to another
    ///   unit; wholly below it, to the same one.
    /// * `energy`: of rails that a known load moved, those that cover one place alone. A rail that it did not move, or
    ///   that was never tried, is `blind` and says nothing.
    ///
    /// Where there is one place only, a signal that would point somewhere is ambiguous: the width of vectors explains it.
    pub fn readings(&self, thresholds: &Thresholds) -> [(Signal, SignalReading); 3] {
        let by_ratio = |comparison: &Result<Comparison, String>, threshold: f64, what: &str| match comparison {
            Err(why) => SignalReading::Unmeasured(why.clone()),
            Ok(ratio) => match ratio.band(threshold) {
                Ok(Band::Above) => {
                    SignalReading::Says(Place::DedicatedUnit, format!("{ratio} of {what}, above {threshold}"))
                }
                Ok(Band::Below) => {
                    SignalReading::Says(Place::ShaderCores, format!("{ratio} of {what}, below {threshold}"))
                }
                Ok(Band::Across) => {
                    SignalReading::Ambiguous(format!("{ratio} of {what}, on both sides of {threshold}"))
                }
                Err(doubt) => SignalReading::Ambiguous(format!("{ratio} of {what}: {doubt}")),
            },
        };
        let readings = [
            (Signal::Ceiling, by_ratio(&self.ceiling, 1.0, "the scalar units' measured ceiling")),
            (Signal::Shootout, by_ratio(&self.shootout, thresholds.accelerated, "the older instruction's rate")),
            (Signal::Energy, self.energy()),
        ];
        readings.map(|(signal, reading)| match reading {
            SignalReading::Says(_, why) if self.one_place => {
                let why =
                    format!("{why}; a processor computes on its cores alone, and the width of vectors explains it");
                (signal, SignalReading::Ambiguous(why))
            }
            reading => (signal, reading),
        })
    }

    fn energy(&self) -> SignalReading {
        let rails = match &self.rails {
            Err(why) => return SignalReading::Unmeasured(why.clone()),
            Ok(rails) if rails.is_empty() => return SignalReading::Unmeasured("no rail was read".to_owned()),
            Ok(rails) => rails,
        };
        let seeing = |rail: &&Rail| rail.moved_by_known_load == Some(true);
        let mut words: Vec<String> = rails
            .iter()
            .map(|rail| {
                let name = &rail.name;
                match (rail.moved_by_known_load, rail.moved_by_path, rail.coverage) {
                    (None, ..) => format!("{name} is blind: no known load was tried"),
                    (Some(false), ..) => format!("{name} is blind: a known load did not move it"),
                    (Some(true), None, _) => format!("{name} was not read while the path ran"),
                    (Some(true), Some(moved), Coverage::Both) => {
                        format!("{name} {}, and covers both places", if moved { "moved" } else { "stood still" })
                    }
                    (Some(true), Some(true), _) => format!("{name} moved"),
                    (Some(true), Some(false), _) => format!("{name} stood still"),
                }
            })
            .collect();
        words.sort();
        let words = words.join("; ");
        let any = |coverage: Coverage, moved: bool| {
            rails.iter().filter(seeing).any(|rail| rail.coverage == coverage && rail.moved_by_path == Some(moved))
        };
        let dedicated = any(Coverage::DedicatedUnit, true);
        let shader = any(Coverage::ShaderCores, true);
        let dedicated_still = any(Coverage::DedicatedUnit, false);
        match (dedicated, shader, dedicated_still) {
            (true, false, _) => SignalReading::Says(Place::DedicatedUnit, words),
            (false, true, true) => SignalReading::Says(Place::ShaderCores, words),
            _ if rails.iter().any(|rail| seeing(&rail)) => SignalReading::Ambiguous(words),
            _ => SignalReading::Unmeasured(words),
        }
    }
}

/// The verdict `where it runs`, with how many of the three signals support it.
///
/// A place needs two signals that name it and none that names the other; one signal is a hint, not a verdict.
pub fn where_it_runs(signals: &PathSignals, thresholds: &Thresholds) -> Ruling<(Place, usize)> {
    let readings = signals.readings(thresholds);
    let count = |place: Place| {
        readings.iter().filter(|(_, reading)| matches!(reading, SignalReading::Says(said, _) if *said == place)).count()
    };
    let (shader, dedicated) = (count(Place::ShaderCores), count(Place::DedicatedUnit));
    let word = match (shader, dedicated) {
        (k, 0) if k >= 2 => (Place::ShaderCores, k),
        (0, k) if k >= 2 => (Place::DedicatedUnit, k),
        (s, d) => (Place::Undetermined, s.max(d)),
    };
    let clauses: Vec<String> = readings
        .iter()
        .map(|(signal, reading)| {
            let name = match signal {
                Signal::Ceiling => "ceiling",
                Signal::Shootout => "shootout",
                Signal::Energy => "energy",
            };
            format!("{name}: {reading} ({})", reading.words())
        })
        .collect();
    Ruling { word, words: format!("{} of 3 signals; {}", word.1, clauses.join("; ")) }
}
