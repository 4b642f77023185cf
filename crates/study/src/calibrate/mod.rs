//! How often is the instrument itself wrong?
//!
//! Freshly planted sim devices go through the statistics and verdict code of a real run, and what comes out is counted
//! against what was planted:
//!
//! | family | plants | asks |
//! | --- | --- | --- |
//! | [`clocks`] | clock states and disturbances | the modality rule |
//! | [`verdicts`] | ratios at a verdict's threshold and 10 % to either side | the verdict rules |
//! | [`arithmetic`] | models, in the family and outside | [`crate::recovery::recover`] |
//! | [`layout`] | layouts, and registers that have none | [`crate::layouts::recover`] |
//! | [`conversions`] | conversions, with quirks | [`crate::recovery::name_conversion`] |
//!
//! The truth is known because it is planted, so every figure here is `simulated`: it is the error rate under the planted
//! laws (Gaussian and exponential scatter, drift, AR(1), outliers, variance between processes, clock states; models and
//! layouts as they are drawn), and says nothing about what is not among them. What keeps it from being circular: some
//! models are evaluated by exact fractions and share no arithmetic with what recovers them, some units lie outside the
//! family, and the models of the library answer the vectors that others have published (a test of that crate).

mod arithmetic;
mod binomial;
mod clocks;
mod conversions;
mod drawn;
mod layout;
mod planted;
mod verdicts;

pub use arithmetic::arithmetic;
pub use clocks::clocks;
pub use conversions::conversions;
pub use drawn::{Bounds, Drawn};
pub use layout::layout;
pub use verdicts::verdicts;

use std::fmt;

/// What is calibrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Modality and clock states.
    Clocks,
    /// Verdict words.
    Verdicts,
    /// Arithmetic models.
    Arithmetic,
    /// Layouts of registers.
    Layout,
    /// Conversions of single codes.
    Conversions,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 5] =
        [Family::Clocks, Family::Verdicts, Family::Arithmetic, Family::Layout, Family::Conversions];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Clocks => "clocks",
            Family::Verdicts => "verdicts",
            Family::Arithmetic => "arithmetic",
            Family::Layout => "layout",
            Family::Conversions => "conversions",
        }
    }

    /// Calibrates with `n` planted devices: a line for clocks and verdicts, in all for the others. The same seed gives the
    /// same lines, unless it is stopped.
    pub fn run(self, seed: u64, n: u32, bounds: Bounds<'_>) -> Table {
        match self {
            Family::Clocks => clocks(seed, n),
            Family::Verdicts => verdicts(seed, n),
            Family::Arithmetic => arithmetic(seed, n, bounds),
            Family::Layout => layout(seed, n, bounds),
            Family::Conversions => conversions(seed, n, bounds),
        }
    }
}

/// What a rate must keep to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// Not more than this share.
    AtMost(f64),
    /// Not less than this share.
    AtLeast(f64),
    /// Not once.
    Never,
    /// No limit is promised; the rate is shown because a reader needs it.
    Shown,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Limit::AtMost(share) => format!("at most {} %", share * 100.0),
            Limit::AtLeast(share) => format!("at least {} %", share * 100.0),
            Limit::Never => "none".to_owned(),
            Limit::Shown => "shown".to_owned(),
        };
        f.pad(&text)
    }
}

/// One line: what was planted, what was counted, how often it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What was planted.
    pub planted: String,
    /// What was counted.
    pub counted: String,
    /// Devices (or cells) in which it was counted.
    pub count: u32,
    /// Devices (or cells) planted.
    pub of: u32,
    /// What the design promises.
    pub limit: Limit,
}

impl Line {
    /// The observed share; 0 of none.
    pub fn rate(&self) -> f64 {
        f64::from(self.count) / f64::from(self.of.max(1))
    }

    /// The exact 95 % interval of the true share (Clopper and Pearson, 1934).
    pub fn bounds(&self) -> (f64, f64) {
        binomial::bounds(self.count, self.of)
    }

    /// Whether the true share keeps to the limit, as far as this many devices can say; `None` where no limit is promised or nothing
    /// was planted. `Never` speaks of what was seen: one case breaks it, and no number of devices proves it.
    pub fn kept(&self) -> Option<Kept> {
        if self.of == 0 {
            return None;
        }
        let (low, high) = self.bounds();
        let (inside, outside) = match self.limit {
            Limit::AtMost(share) => (high <= share, low > share),
            Limit::AtLeast(share) => (low >= share, high < share),
            Limit::Never => (self.count == 0, self.count > 0),
            Limit::Shown => return None,
        };
        Some(match (inside, outside) {
            (true, _) => Kept::Yes,
            (_, true) => Kept::No,
            _ => Kept::Undecided,
        })
    }
}

/// Whether a limit is kept, judged by the whole 95 % interval of the share and never by the share that was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// The whole interval keeps to the limit.
    Yes,
    /// The whole interval is beyond it.
    No,
    /// The limit lies inside the interval: more devices would decide.
    Undecided,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kept::Yes => "yes",
            Kept::No => "no",
            Kept::Undecided => "undecided",
        })
    }
}

/// What the recoveries of a family took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Devices.
    pub devices: usize,
    /// Tiles, launches or codes asked of a device before a claim was tested: median and most.
    pub probes: (f64, f64),
    /// Wall time of one recovery with one core, s: median and most. The machine may have done other work beside it.
    pub seconds: (f64, f64),
    /// Products of one dot product: least, median and most; `None` where there are none.
    pub k: Option<(f64, f64, f64)>,
}

impl Cost {
    /// Of K, probes and seconds of every device; `None` of none.
    pub fn of(devices: &[(Option<usize>, u64, f64)]) -> Option<Cost> {
        let middle_and_most = drawn::middle_and_most;
        let lengths: Vec<f64> = devices.iter().filter_map(|d| d.0).map(|k| k as f64).collect();
        let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
        Some(Cost {
            devices: devices.len(),
            probes: middle_and_most(devices.iter().map(|d| d.1 as f64).collect())?,
            seconds: middle_and_most(devices.iter().map(|d| d.2).collect())?,
            k: middle_and_most(lengths).map(|(middle, most)| (least, middle, most)),
        })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cost { devices, probes, seconds, k } = self;
        write!(f, "{devices} devices; probes {} at the median, {} at most; ", probes.0, probes.1)?;
        write!(f, "{:.3} s at the median, {:.3} s at most", seconds.0, seconds.1)?;
        match k {
            Some((least, middle, most)) => write!(f, "; K {least} to {most}, {middle} at the median"),
            None => Ok(()),
        }
    }
}

/// Recovered against planted.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Family.
    pub family: Family,
    /// Seed of every planted device.
    pub seed: u64,
    /// Lines.
    pub lines: Vec<Line>,
    /// Every device that went through a recovery; none for clocks and verdicts.
    pub devices: Vec<Drawn>,
}

impl Table {
    /// Whether no limit is seen to be broken.
    pub fn passes(&self) -> bool {
        self.lines.iter().all(|line| line.kept() != Some(Kept::No))
    }

    /// Lines that this many devices leave undecided.
    pub fn undecided(&self) -> usize {
        self.lines.iter().filter(|line| line.kept() == Some(Kept::Undecided)).count()
    }

    /// Whether nothing came that must never come, whatever the shares of recovered devices.
    pub fn is_never_wrong(&self) -> bool {
        self.lines.iter().all(|line| line.limit != Limit::Never || line.kept() != Some(Kept::No))
    }

    /// What the recoveries took; `None` where none ran.
    pub fn cost(&self) -> Option<Cost> {
        Cost::of(&self.devices.iter().map(|d| (d.k, d.probes, d.seconds)).collect::<Vec<_>>())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: fn(&Line) -> usize, least: usize| self.lines.iter().map(text).max().unwrap_or(0).max(least);
        let planted = width(|line| line.planted.chars().count(), 7);
        let counted = width(|line| line.counted.chars().count(), 7);
        writeln!(f, "{} (simulated, seed {})", self.family.name(), self.seed)?;
        writeln!(
            f,
            "{:planted$}  {:counted$}  {:>13}  {:>8}  {:>19}  {:15}  kept",
            "planted", "counted", "times", "rate", "95 % interval", "limit"
        )?;
        for line in &self.lines {
            let (low, high) = line.bounds();
            let kept = line.kept().map(|kept| kept.to_string()).unwrap_or_default();
            let times = format!("{} of {}", line.count, line.of);
            let rate = format!("{:.2} %", line.rate() * 100.0);
            let interval = format!("{:.2} to {:.2} %", low * 100.0, high * 100.0);
            let Line { planted: p, counted: c, limit, .. } = line;
            let text =
                format!("{p:planted$}  {c:counted$}  {times:>13}  {rate:>8}  {interval:>19}  {limit:15}  {kept}");
            writeln!(f, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn line(count: u32, of: u32, limit: Limit) -> Line {
        Line { planted: "a ratio".into(), counted: "a word".into(), count, of, limit }
    }

    #[test]
    fn limits_are_kept_or_not() {
        let cases = [
            // 0 of 60 and 1 of 60 are below 2.5 %, and both could come from 5 %.
            (line(0, 60, Limit::AtMost(0.025)), Some(Kept::Undecided)),
            (line(1, 60, Limit::AtMost(0.025)), Some(Kept::Undecided)),
            (line(0, 1000, Limit::AtMost(0.025)), Some(Kept::Yes)),
            (line(25, 1000, Limit::AtMost(0.025)), Some(Kept::Undecided)),
            (line(40, 1000, Limit::AtMost(0.025)), Some(Kept::No)),
            (line(60, 60, Limit::AtLeast(0.99)), Some(Kept::Undecided)),
            (line(1000, 1000, Limit::AtLeast(0.99)), Some(Kept::Yes)),
            (line(970, 1000, Limit::AtLeast(0.99)), Some(Kept::No)),
            (line(1, 1000, Limit::Never), Some(Kept::No)),
            (line(0, 1000, Limit::Never), Some(Kept::Yes)),
            (line(500, 1000, Limit::Shown), None),
            (line(0, 0, Limit::Never), None),
        ];
        for (line, kept) in cases {
            assert_eq!(line.kept(), kept, "{line:?}");
        }
        let table = |lines| Table { family: Family::Verdicts, seed: 1, lines, devices: Vec::new() };
        assert!(table(vec![line(9, 9, Limit::Shown), line(0, 9, Limit::Never)]).passes());
        assert_eq!(table(vec![line(9, 9, Limit::AtLeast(0.9)), line(0, 9, Limit::Never)]).undecided(), 1);
        assert!(!table(vec![line(0, 9, Limit::Never), line(1, 9, Limit::Never)]).passes());
    }

    #[test]
    fn a_table_prints_its_columns_under_each_other() {
        let lines = vec![line(3, 400, Limit::AtMost(0.025)), line(0, 10_000, Limit::Never)];
        let text = Table { family: Family::Verdicts, seed: 7, lines, devices: Vec::new() }.to_string();
        let expected = "\
verdicts (simulated, seed 7)
planted  counted          times      rate        95 % interval  limit            kept
a ratio  a word        3 of 400    0.75 %       0.15 to 2.18 %  at most 2.5 %    yes
a ratio  a word      0 of 10000    0.00 %       0.00 to 0.04 %  none             yes
";
        assert_eq!(text, expected);
    }

    static GOES_ON: AtomicBool = AtomicBool::new(false);
    const SMALL: Bounds<'static> = Bounds { validation: 2_000, stop: &GOES_ON };

    /// The families of which a test plants devices. Recovery of arithmetic takes minutes for a few, and has tests of its own.
    const QUICK: [Family; 4] = [Family::Clocks, Family::Verdicts, Family::Layout, Family::Conversions];

    /// How many devices a test plants: a layout takes longer than a verdict.
    fn some(family: Family, many: u32) -> u32 {
        if family == Family::Layout { many.min(6) } else { many }
    }

    #[test]
    fn equal_seeds_give_equal_tables_whatever_the_family() {
        for family in QUICK {
            let lines = |n| family.run(5, n, SMALL).lines;
            assert_eq!(lines(some(family, 6)), lines(some(family, 6)));
        }
        assert!(Family::ALL.iter().all(|family| family.run(5, 0, SMALL).passes()));
    }

    /// A broken rule misses its limits by far: 60 devices a line see it, while the limits themselves need thousands.
    #[test]
    fn no_limit_is_missed_beyond_chance() {
        for family in QUICK {
            for line in family.run(11, some(family, 60), SMALL).lines {
                assert_ne!(line.kept(), Some(Kept::No), "{line:?}");
            }
        }
    }

    #[test]
    fn what_was_finished_before_a_stop_is_kept() {
        let stopped = AtomicBool::new(true);
        let bounds = Bounds { stop: &stopped, ..SMALL };
        for family in [Family::Arithmetic, Family::Layout, Family::Conversions] {
            let table = family.run(3, 8, bounds);
            assert!(table.devices.is_empty() && table.cost().is_none());
            assert!(table.lines.iter().all(|line| line.of == 0) && table.passes());
        }
        let table = Family::Conversions.run(3, 8, SMALL);
        assert_eq!(table.cost().map(|cost| cost.devices), Some(8));
        assert!(table.cost().is_some_and(|cost| cost.to_string().starts_with("8 devices; probes ")));
    }
}
