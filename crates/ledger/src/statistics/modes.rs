//! How are the modes of a cell written down?

use rigel_numerics::{Megahertz, Time};
use std::fmt;

/// One cluster of repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// Repetitions in it.
    pub count: u32,
    /// Their median time, ns.
    pub median_ns: f64,
    /// Their median core clock, MHz; none where it was not read.
    pub clock_mhz: Option<f64>,
}

/// What the clusters amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One mode: one number may stand for the cell.
    One,
    /// At least two modes that hold [`Kind::TAIL_BELOW`] of the repetitions or more: no single number may.
    Several,
    /// One mode that holds nearly all, and k of n repetitions elsewhere, close to each other.
    Tail {
        /// Repetitions outside the main mode.
        k: u32,
        /// All repetitions.
        n: u32,
    },
}

impl Kind {
    /// Share of the repetitions below which a mode is a tail.
    pub const TAIL_BELOW: f64 = 0.05;

    /// The kind that belongs to modes of these counts.
    pub fn of(modes: &[Mode]) -> Kind {
        let n: u32 = modes.iter().map(|m| m.count).sum();
        let largest = modes.iter().map(|m| m.count).max().unwrap_or(0);
        let large = modes.iter().filter(|m| f64::from(m.count) >= Kind::TAIL_BELOW * f64::from(n)).count();
        match (modes.len(), large) {
            (0 | 1, _) => Kind::One,
            (_, 0 | 1) => Kind::Tail { k: n - largest, n },
            _ => Kind::Several,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::One => f.write_str("one mode"),
            Kind::Several => f.write_str("several modes"),
            Kind::Tail { k, n } => write!(f, "tail {k} of {n}"),
        }
    }
}

/// By what the repetitions were told apart. Boundaries ascend; there is one fewer than modes.
#[derive(Debug, Clone, PartialEq)]
pub enum Split {
    /// A repetition of at most boundary b belongs to mode b or an earlier one.
    Times(Vec<Time>),
    /// The same over measured clocks, from the highest clock (mode 0, the shortest times) down.
    Clocks(Vec<Megahertz>),
}

/// The modes of a cell in ascending order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Modality {
    /// Modes; their counts add up to the repetitions. Empty only for no repetitions.
    pub modes: Vec<Mode>,
    /// What they amount to.
    pub kind: Kind,
    /// How a repetition is assigned.
    pub split: Split,
}

impl Modality {
    /// Index of the mode that a repetition belongs to; none when the clock that would tell was not read.
    pub fn mode_of(&self, time: Time, clock: Option<Megahertz>) -> Option<usize> {
        match &self.split {
            Split::Times(bounds) => Some(bounds.partition_point(|&b| b < time)),
            Split::Clocks(bounds) => clock.map(|c| bounds.len() - bounds.partition_point(|&b| b < c)),
        }
    }

    /// Share of the repetitions in mode `index`; 0 where there is no such mode.
    pub fn weight(&self, index: usize) -> f64 {
        let n: u32 = self.modes.iter().map(|m| m.count).sum();
        self.modes.get(index).map_or(0.0, |m| f64::from(m.count) / f64::from(n.max(1)))
    }

    /// The column `modes` of a cell row: `count@median_ns@clock_mhz` joined by `;`, empty when there is one mode.
    pub fn column(&self) -> String {
        if self.modes.len() < 2 {
            return String::new();
        }
        let each = |m: &Mode| {
            let clock = m.clock_mhz.map(|c| c.to_string()).unwrap_or_default();
            format!("{}@{}@{clock}", m.count, m.median_ns)
        };
        self.modes.iter().map(each).collect::<Vec<_>>().join(";")
    }

    /// Reads the column `modes`. An empty column is no list of modes: the cell has one.
    ///
    /// # Errors
    /// [`BadModes`] when a part is not `count@median_ns@clock_mhz`.
    pub fn parse_column(column: &str) -> Result<Vec<Mode>, BadModes> {
        if column.is_empty() {
            return Ok(Vec::new());
        }
        let modes: Option<Vec<Mode>> = column.split(';').map(parse_mode).collect();
        modes.filter(|m| m.len() > 1).ok_or_else(|| BadModes(column.to_owned()))
    }
}

impl fmt::Display for Modality {
    /// `one mode`, `2 modes: 155 at 41300 ns, 145 at 57700 ns`, `tail 8 of 300`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind != Kind::Several {
            return self.kind.fmt(f);
        }
        write!(f, "{} modes: ", self.modes.len())?;
        for (index, mode) in self.modes.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} at {} ns", mode.count, mode.median_ns)?;
            if let Some(clock) = mode.clock_mhz {
                write!(f, " ({clock} MHz)")?;
            }
        }
        Ok(())
    }
}

fn parse_mode(part: &str) -> Option<Mode> {
    let mut fields = part.split('@');
    let (count, median, clock) = (fields.next()?, fields.next()?, fields.next()?);
    let positive = |text: &str| text.parse().ok().filter(|v: &f64| v.is_finite() && *v >= 0.0);
    let clock_mhz = if clock.is_empty() { None } else { Some(positive(clock)?) };
    let mode = Mode { count: count.parse().ok()?, median_ns: positive(median)?, clock_mhz };
    fields.next().is_none().then_some(mode)
}

/// A text that is not a list of modes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a list of modes: at least two of `count@median_ns@clock_mhz`, clock possibly empty, joined by `;`"
)]
pub struct BadModes(pub String);
