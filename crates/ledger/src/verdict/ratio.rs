//! On which side of a threshold does one comparison lie?

use super::PROCESSES;
use super::word::Doubt;
use crate::statistics::{Interval, LEVEL, NoInterval, order_ranks, ratio_interval_over_processes, ratio_median};
use std::fmt;

/// A ratio of rates with its intervals over paired processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Median over processes.
    pub value: f64,
    /// 95 % interval over processes; `None` below [`super::PROCESSES`] of them.
    pub interval: Option<Interval>,
    /// The interval that decides. It is the 95 % interval unless launch tiles were chosen on these very samples: the
    /// best of several tiles is partly lucky, so with T choices the interval is taken at 1 − 0.05 / T. `None` when it needs
    /// more processes.
    pub decisive: Option<Interval>,
    /// Paired processes.
    pub processes: usize,
    /// Processes that the deciding interval needs at least.
    pub needed: usize,
}

impl Ratio {
    /// From one ratio per process, in any order. `choices` counts the combinations of launch tiles among which both sides
    /// were chosen by these samples; 1 when a pilot chose them. `None` unless there are ratios and all are finite and
    /// positive.
    pub fn over(ratios: &[f64], choices: usize) -> Option<Ratio> {
        let value = ratio_median(ratios).ok()?;
        let mut sorted = ratios.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let level = 1.0 - (1.0 - LEVEL) / choices.max(1) as f64;
        let (decisive, needed) = match order_ranks(sorted.len(), level) {
            Ok((rank, coverage)) => {
                let interval = Interval { low: sorted[rank], high: sorted[sorted.len() - 1 - rank], coverage };
                (Some(interval), PROCESSES)
            }
            Err(NoInterval::TooFew { need, .. }) => (None, need),
            Err(_) => (None, usize::MAX),
        };
        let interval = ratio_interval_over_processes(ratios).ok();
        Some(Ratio { value, interval, decisive, processes: sorted.len(), needed })
    }

    /// The side of a threshold, if enough processes say so.
    pub fn band(&self, threshold: f64) -> Result<Band, Doubt> {
        match self.decisive {
            Some(interval) => Ok(Band::of(interval.low, interval.high, threshold)),
            None => Err(Doubt::Processes(self.needed)),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            Some(interval) => write!(f, "{:.3} [{:.3}, {:.3}]", self.value, interval.low, interval.high),
            None => write!(f, "{:.3} ({} processes)", self.value, self.processes),
        }
    }
}

/// Where an interval lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// Wholly below the threshold.
    Below,
    /// On both sides.
    Across,
    /// Wholly at or above it.
    Above,
}

impl Band {
    /// The band of the interval from `low` to `high`.
    pub fn of(low: f64, high: f64, threshold: f64) -> Band {
        if low >= threshold {
            Band::Above
        } else if high < threshold {
            Band::Below
        } else {
            Band::Across
        }
    }
}

/// Two clock states, one of each side, and the ratio inside them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatePair {
    /// State of the candidate, from 0, in order of growing time.
    pub ours: usize,
    /// State of the other side.
    pub theirs: usize,
    /// The ratio over processes that show both; `None` where no process does.
    pub ratio: Option<Ratio>,
    /// Lowest candidate rate of any process in its state ÷ highest other rate of any process in its own.
    pub lowest: f64,
    /// Highest candidate rate ÷ lowest other rate.
    pub highest: f64,
}

impl StatePair {
    /// The interval over processes, or, where too few processes show both states, the whole range that the processes
    /// leave open.
    fn range(&self) -> (f64, f64) {
        match self.ratio.and_then(|ratio| ratio.decisive) {
            Some(interval) => (interval.low, interval.high),
            None => (self.lowest, self.highest),
        }
    }
}

/// Which clock states a comparison has to live with.
#[derive(Debug, Clone, PartialEq)]
pub enum States {
    /// One state on both sides.
    One,
    /// Several, told apart by a measured clock.
    Matched {
        /// The ratio inside matched states, one value a process: the geometric mean over the states that the process
        /// shows on both sides, weighted by repetitions. `None` when no process shows a state on both sides. (To ask each
        /// pair of states for its own six processes, as this rule first did, missed the calibrated limit of doubt: a
        /// process need not show every state.)
        inside: Option<Ratio>,
        /// Pairs of states at the same clock.
        pairs: Vec<StatePair>,
    },
    /// Several modes, and no clock that tells them apart (none was read, or it is the same in all): every pair of modes.
    Unmatched(Vec<StatePair>),
}

/// A candidate against one other cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Ratio of rates per time, over all repetitions after warm-up.
    pub time: Ratio,
    /// Ratio of rates per core-clock cycle; `None` unless the clock was read on both sides.
    pub cycles: Option<Ratio>,
    /// Clock states.
    pub states: States,
}

impl Comparison {
    /// The side of a threshold on which the comparison lies as a whole.
    ///
    /// * One state: the band of the time ratio. Where cycles are known and lie in another band, the doubt is
    ///   [`Doubt::TimeAgainstCycles`]: a clock that differed between the two sides is no property of the unit.
    /// * States told apart by a clock: the band that the ratio inside matched states and every matched pair give. The
    ///   time ratio is not asked: it mixes states in unknown shares. Without enough processes that show a state on both
    ///   sides the doubt is [`Doubt::ClockStates`].
    /// * Modes that no clock tells apart: the band that one state would have, if every pair of modes gives it too.
    ///
    /// A pair that too few processes show counts with the whole range of its processes. That range has no coverage, but
    /// it is never asked alone: it can turn a word into [`Doubt::ClockStates`], and not the reverse.
    pub fn band(&self, threshold: f64) -> Result<Band, Doubt> {
        let time = || {
            let time = self.time.band(threshold)?;
            match self.cycles.map(|cycles| cycles.band(threshold)).transpose()? {
                Some(cycles) if cycles != time && time != Band::Across => Err(Doubt::TimeAgainstCycles),
                _ => Ok(time),
            }
        };
        let (pairs, whole) = match &self.states {
            States::One => return time(),
            States::Matched { inside, pairs } => {
                let inside = inside.and_then(|inside| inside.band(threshold).ok());
                (pairs, inside.ok_or(Doubt::ClockStates)?)
            }
            States::Unmatched(pairs) => (pairs, time()?),
        };
        let of_pairs = pairs.iter().map(|pair| {
            let (low, high) = pair.range();
            Band::of(low, high, threshold)
        });
        let mut bands: Vec<Band> = of_pairs.chain([whole]).collect();
        bands.dedup();
        match bands[..] {
            [band] => Ok(band),
            _ => Err(Doubt::ClockStates),
        }
    }

    /// On which side of a threshold each state lies, and all together, in words; `None` unless [`Comparison::band`] is
    /// [`Doubt::ClockStates`].
    pub fn withheld(&self, threshold: f64) -> Option<String> {
        if self.band(threshold) != Err(Doubt::ClockStates) {
            return None;
        }
        let (pairs, whole) = match &self.states {
            States::One => return None,
            States::Matched { inside, pairs } => (pairs, inside.and_then(|inside| inside.decisive)),
            States::Unmatched(pairs) => (pairs, self.time.decisive),
        };
        let Some(whole) = whole else {
            return Some("withheld by its states: too few processes show one on both sides".to_owned());
        };
        let side = |(low, high)| match Band::of(low, high, threshold) {
            Band::Below => "below",
            Band::Across => "on both sides of",
            Band::Above => "above",
        };
        let pair = |pair: &StatePair| format!("{}:{} {} {threshold}", pair.ours, pair.theirs, side(pair.range()));
        let together = format!("all together {} {threshold}", side((whole.low, whole.high)));
        let all: Vec<String> = pairs.iter().map(pair).chain([together]).collect();
        Some(format!("withheld by its states: {}", all.join(", ")))
    }

    /// Low and high end of everything that [`Comparison::band`] looks at.
    pub fn ranges(&self) -> Vec<(f64, f64)> {
        let ends = |ratio: &Ratio| ratio.decisive.map(|interval| (interval.low, interval.high));
        let whole = [Some(self.time), self.cycles].into_iter().flatten().filter_map(|ratio| ends(&ratio));
        match &self.states {
            States::One => whole.collect(),
            States::Matched { inside, pairs } => {
                pairs.iter().map(StatePair::range).chain(inside.iter().filter_map(ends)).collect()
            }
            States::Unmatched(pairs) => pairs.iter().map(StatePair::range).chain(whole).collect(),
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.time)?;
        let (name, pairs) = match &self.states {
            States::One => {
                return match self.cycles {
                    Some(cycles) => write!(f, ", per cycle {cycles}"),
                    None => Ok(()),
                };
            }
            States::Matched { inside, pairs } => {
                if let Some(inside) = inside {
                    write!(f, ", inside matched clock states {inside}")?;
                }
                ("state by state", pairs)
            }
            States::Unmatched(pairs) => ("over pairs of modes", pairs),
        };
        let texts: Vec<String> = pairs
            .iter()
            .map(|pair| match pair.ratio {
                Some(ratio) => format!("{}:{} {ratio}", pair.ours, pair.theirs),
                None => {
                    format!("{}:{} {:.3} to {:.3} across processes", pair.ours, pair.theirs, pair.lowest, pair.highest)
                }
            })
            .collect();
        if texts.is_empty() {
            write!(f, ", no clock state in common")
        } else {
            write!(f, ", {name} {}", texts.join(", "))
        }
    }
}
