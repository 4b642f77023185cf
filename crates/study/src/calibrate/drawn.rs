//! How do many drawn devices go through a recovery, on all cores, so that an interruption keeps what is finished?

use super::{Limit, Line};
use serde::Serialize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// One device of a calibration: what was planted, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drawn {
    /// Which line of the table it belongs to.
    pub planted: String,
    /// The seed that draws it again.
    pub seed: u64,
    /// Products of one dot product; empty where there are none.
    pub k: Option<usize>,
    /// Whether something was claimed of it without reserve.
    pub claimed: bool,
    /// Whether what was claimed, or else the nearest that was found, is what was planted.
    pub same: bool,
    /// Whether the planted parameters lie in the class that was printed; `None` where they were not looked for.
    pub listed: Option<bool>,
    /// Tiles, launches or codes that were asked before the claim was tested.
    pub probes: u64,
    /// Wall time of the recovery with one core, s.
    pub seconds: f64,
    /// What was said of it, in a few words.
    pub words: String,
}

/// What limits a calibration.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// Fresh dot products on which an arithmetic model is validated.
    pub validation: u64,
    /// Set from elsewhere to end early: devices in hand are finished, no further ones begun.
    pub stop: &'a AtomicBool,
}

/// Draws `n` devices by their seeds, as many at a time as there are cores, each on one thread of its own: its seconds are
/// those of one core. `one` gives nothing for a seed that draws no device.
pub(super) fn drawn(
    seeds: impl Iterator<Item = u64>,
    n: u32,
    bounds: Bounds<'_>,
    one: impl Fn(u64) -> Option<Drawn> + Sync,
) -> Vec<Drawn> {
    let seeds: Vec<u64> = seeds.take(n as usize).collect();
    let cores = rayon::current_num_threads().min(seeds.len());
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    // Threads of no pool: one of a pool would begin another device while it waits for the first one's pool.
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return };
                while !bounds.stop.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&seed) = seeds.get(i) else { return };
                    if let Some(device) = pool.install(|| one(seed))
                        && let Ok(mut found) = found.lock()
                    {
                        found.push((i, device));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by_key(|(i, _)| *i);
    found.into_iter().map(|(_, device)| device).collect()
}

/// The result of a recovery and how long it took.
pub(super) fn timed<T>(recover: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let result = recover();
    (result, begun.elapsed().as_secs_f64())
}

/// What is counted of devices: those for which `counts` holds.
pub(super) fn line(devices: &[Drawn], counted: &str, counts: impl Fn(&Drawn) -> bool, limit: Limit) -> Line {
    Line {
        planted: devices.first().map_or_else(String::new, |device| device.planted.clone()),
        counted: counted.to_owned(),
        count: devices.iter().filter(|device| counts(device)).count() as u32,
        of: devices.len() as u32,
        limit,
    }
}

/// Median and largest of some numbers; `None` of none.
pub(super) fn middle_and_most(mut numbers: Vec<f64>) -> Option<(f64, f64)> {
    numbers.sort_by(f64::total_cmp);
    let most = *numbers.last()?;
    Some((numbers[(numbers.len() - 1) / 2], most))
}
