//! What are the repetitions of one cell over all its processes, and which modes do they have?

use rigel_ledger::facts::SampleSource;
use rigel_ledger::statistics::{Modality, modality};
use rigel_ledger::{CellId, CellRow};
use rigel_numerics::{Megahertz, Time};

/// One repetition, with what decides its place in a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Repetition {
    pub time: Time,
    /// Process in the upper half, index below: the seed of its jitter.
    pub index: u64,
}

/// The repetitions of one cell, warm-up left out.
#[derive(Debug, Clone)]
pub(crate) struct Pooled<'a> {
    pub row: &'a CellRow,
    pub operations: f64,
    pub processes: usize,
    pub repetitions: Vec<Repetition>,
    pub warmup: usize,
    pub modality: Modality,
}

/// Rates of the mode `index` of a pool, its share and its clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ModeWords {
    pub rate: f64,
    pub weight: f64,
    pub clock_mhz: Option<f64>,
}

impl Pooled<'_> {
    /// Modes by rising rate.
    pub fn modes(&self) -> Vec<ModeWords> {
        let word = |(i, mode): (usize, &rigel_ledger::statistics::Mode)| ModeWords {
            rate: self.operations / (mode.median_ns * 1e-9),
            weight: self.modality.weight(i),
            clock_mhz: mode.clock_mhz,
        };
        let mut all: Vec<ModeWords> = self.modality.modes.iter().enumerate().map(word).collect();
        all.reverse();
        all
    }

    /// Rates of all repetitions, in the order taken, process after process.
    pub fn rates(&self) -> impl Iterator<Item = (f64, u64)> {
        self.repetitions.iter().filter(|r| r.time.0 > 0).map(|r| (self.operations / r.time.seconds(), r.index))
    }
}

/// Pools the processes of one cell; `rows` are its rows, any order. None without operations or repetitions.
pub(crate) fn pooled<'a>(rows: &[&'a CellRow], samples: &dyn SampleSource) -> Option<Pooled<'a>> {
    let mut rows: Vec<&'a CellRow> = rows.iter().copied().filter(|r| r.outcome.counts()).collect();
    rows.sort_by(|a, b| (a.process, &a.run).cmp(&(b.process, &b.run)));
    rows.dedup_by_key(|r| r.process);
    let first = *rows.first()?;
    let operations = first.operations.filter(|o| *o > 0)?;
    let (mut times, mut clocks): (Vec<Time>, Vec<Option<Megahertz>>) = (Vec::new(), Vec::new());
    let (mut repetitions, mut processes, mut warmup) = (Vec::new(), 0, 0);
    for row in rows {
        let (Some(all), id) = (samples.times(row.cell, row.process), row.cell) else { continue };
        let lead = (row.warmup.unwrap_or(0) as usize).min(all.len());
        let read = samples.clocks(id, row.process);
        for (i, time) in all.iter().enumerate().skip(lead) {
            times.push(*time);
            clocks.push(read.and_then(|c| c.get(i)).copied());
            repetitions.push(Repetition { time: *time, index: (u64::from(row.process) << 32) | i as u64 });
        }
        processes += 1;
        warmup += lead;
    }
    if repetitions.is_empty() {
        return None;
    }
    let modality = modality(&times, &clocks);
    Some(Pooled { row: first, operations: operations as f64, processes, repetitions, warmup, modality })
}

/// Ids in a fact's evidence.
pub(crate) fn ids(evidence: &str) -> impl Iterator<Item = CellId> + '_ {
    evidence.split_whitespace().filter_map(|id| id.parse().ok())
}
