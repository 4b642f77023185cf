//! In which units are times and clocks held?

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A span of time, held as whole picoseconds so that medians and order statistics are exact.
///
/// In files it stands in columns named `…_ns` as decimal nanoseconds with at most three fraction digits
/// and no trailing zeros (`57730`, `41.25`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// From whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns * 1000)
    }

    /// From seconds, rounded to the nearest picosecond; negative and non-finite spans become zero.
    pub fn from_seconds(s: f64) -> Self {
        if s.is_finite() && s > 0.0 { Time((s * 1e12).round() as u64) } else { Time(0) }
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 * 1e-12
    }

    /// In nanoseconds.
    pub fn ns(self) -> f64 {
        self.0 as f64 * 1e-3
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 1000, self.0 % 1000);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{part:03}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// A text that is not a time in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time in nanoseconds: digits, then at most three decimals (`41.25`)")]
pub struct BadTime(pub String);

impl FromStr for Time {
    type Err = BadTime;
    fn from_str(s: &str) -> Result<Self, BadTime> {
        let bad = || BadTime(s.to_owned());
        let (whole, part) = s.split_once('.').unwrap_or((s, ""));
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(part)
            || part.len() > 3
            || s.ends_with('.')
            || (!part.is_empty() && part.ends_with('0'))
        {
            return Err(bad());
        }
        let whole: u64 = whole.parse().map_err(|_| bad())?;
        let part: u64 = format!("{part:0<3}").parse().map_err(|_| bad())?;
        whole.checked_mul(1000).and_then(|w| w.checked_add(part)).map(Time).ok_or_else(bad)
    }
}

impl Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A clock frequency in whole megahertz, as measured or as a meter reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Megahertz(pub u32);

impl Megahertz {
    /// In hertz.
    pub fn hertz(self) -> f64 {
        f64::from(self.0) * 1e6
    }
}

impl fmt::Display for Megahertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
