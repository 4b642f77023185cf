//! May a product decide a verdict, or is it bound by something else than the unit?

use super::ratio::Comparison;
use crate::plan::Thresholds;
use std::fmt;

/// What a product cell may say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing {
    /// Its match reaches the plan's share (60 %) of its own ceiling: the unit is what is measured.
    Decides {
        /// Match rate ÷ match ceiling.
        share: f64,
    },
    /// Its match stays below: launches or memory bound it. It carries its ratio and no word.
    Bound {
        /// Match rate ÷ match ceiling.
        share: f64,
    },
    /// Its match outruns its own ceiling per cycle, and per time it does not (else that would be no ceiling): clocks that contradict
    /// times measure nothing.
    Beyond {
        /// Match rate ÷ match ceiling.
        share: f64,
    },
    /// The match has no accepted ceiling, so nothing is known.
    NoCeiling,
}

impl Standing {
    /// From the match's share of its own ceiling: it decides from the plan's share to 1 and what neighbours on a plateau may differ.
    /// A share that is not a number is [`Standing::NoCeiling`].
    pub fn of(share: Option<f64>, thresholds: &Thresholds) -> Standing {
        let threshold = thresholds.ceiling_share;
        match share {
            Some(share) if share > 1.0 + thresholds.plateau => Standing::Beyond { share },
            Some(share) if share >= threshold => Standing::Decides { share },
            Some(share) if share < threshold => Standing::Bound { share },
            _ => Standing::NoCeiling,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Standing::Decides { share } => write!(f, "match at {:.0} % of its ceiling", share * 100.0),
            Standing::Bound { share } => {
                write!(f, "launch-bound or bandwidth-bound: match at {:.0} % of its ceiling", share * 100.0)
            }
            Standing::Beyond { share } => {
                write!(f, "match at {:.0} % of its ceiling, which is no measure of it then", share * 100.0)
            }
            Standing::NoCeiling => f.write_str("match has no accepted ceiling"),
        }
    }
}

/// One product of a candidate against its match.
#[derive(Debug, Clone, PartialEq)]
pub struct GemmCase {
    /// Shape, recipe and cache state in words.
    pub name: String,
    /// The match's share of its own ceiling; `None` where it has no accepted ceiling.
    pub share: Option<f64>,
    /// Candidate ÷ match.
    pub comparison: Comparison,
}
