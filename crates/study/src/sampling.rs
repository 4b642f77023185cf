//! In which order do the cells of a block take their turns, and when has each enough?

use rigel_device::{Fault, Sample};
use rigel_ledger::rows::Stop;
use rigel_ledger::share::Share;
use rigel_numerics::{Time, random};

/// Below this time of a repetition the caches that another cell left decide it: each turn then begins with one
/// repetition that is not recorded. Slower ones stream far more than a cache holds.
pub const REENTRY: Time = Time::from_ns(20_000_000);

/// Turns without a recorded repetition after which a cell is given up.
const EMPTY_TURNS: u32 = 3;

/// The times of samples.
pub fn times(samples: &[Sample]) -> Vec<Time> {
    samples.iter().map(|s| s.time).collect()
}

/// A cell that takes turns.
pub trait Turns {
    /// Runs repetitions; called only while the cell has not failed and has not enough.
    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault>;
    /// What it has so far.
    fn samples(&self) -> &[Sample];
    /// Keeps samples.
    fn keep(&mut self, samples: &[Sample]);
    /// Ends its turns.
    fn end(&mut self, how: Result<Stop, Fault>);
    /// Whether it was ended.
    fn ended(&self) -> bool;
}

/// How long, in kernels, a device works on a launch tile before its pilot samples count, and in how many repetitions at most.
///
/// In a block it works without a pause and, where a limit of power holds it, at a lower clock than after one: at 1.3 instead of 2 GHz another
/// tile can be the fastest.
const SETTLING: (Time, usize) = (Time::from_ns(100_000_000), 100);

/// Repetitions of this time that a pilot runs before those that count.
pub fn settling(each: Time) -> usize {
    usize::try_from(SETTLING.0.0 / each.0.max(1)).unwrap_or(usize::MAX).clamp(1, SETTLING.1)
}

/// The pilot samples of one cell: `wanted` repetitions after it has settled.
///
/// # Errors
/// What the cell says.
pub fn pilot(cell: &mut impl Turns, wanted: usize) -> Result<Vec<Sample>, Fault> {
    let first = cell.run(2)?;
    let settling = first.last().map_or(1, |sample| settling(sample.time));
    if settling > first.len() {
        cell.run(settling - first.len())?;
    }
    // The first of a burst waits for the host.
    Ok(cell.run(wanted + 1)?.into_iter().skip(1).collect())
}

/// Lets cells take turns in seeded random order until each has enough or has failed; a lost device ends all turns at
/// once. `at` is told whose turn it is.
pub fn interleave<T: Turns>(cells: &mut [T], share: Share, seed: u64, mut at: impl FnMut(usize)) {
    let mut empty = vec![0u32; cells.len()];
    for round in 0u64.. {
        let mut order: Vec<usize> = (0..cells.len()).filter(|&i| !cells[i].ended()).collect();
        if order.is_empty() {
            return;
        }
        random::shuffle(&mut order, random::stream(seed, round));
        for i in order {
            at(i);
            let cell = &mut cells[i];
            let quick = cell.samples().last().is_none_or(|s| s.time < REENTRY);
            let left = share.target.saturating_sub(cell.samples().len());
            let burst = share.burst.min(left).max(1);
            match cell.run(burst + usize::from(quick)) {
                Err(fault) => {
                    let gone = matches!(fault, Fault::DeviceLost(_));
                    cell.end(Err(fault));
                    if gone {
                        return;
                    }
                }
                Ok(taken) => {
                    let fresh = &taken[usize::from(quick).min(taken.len())..];
                    cell.keep(fresh);
                    empty[i] = if fresh.is_empty() { empty[i] + 1 } else { 0 };
                    if empty[i] >= EMPTY_TURNS {
                        cell.end(Err(Fault::Failed("the device returned no repetitions".into())));
                    } else if let Some(stop) = share.enough(&times(cell.samples())) {
                        cell.end(Ok(stop));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Fake {
        each: Time,
        fails_after: usize,
        samples: Vec<Sample>,
        ended: Option<Result<Stop, Fault>>,
    }

    impl Turns for Fake {
        fn run(&mut self, n: usize) -> Result<Vec<Sample>, Fault> {
            if self.samples.len() >= self.fails_after {
                return Err(Fault::Failed("planted".into()));
            }
            Ok(vec![Sample { time: self.each, clock: None }; n])
        }
        fn samples(&self) -> &[Sample] {
            &self.samples
        }
        fn keep(&mut self, samples: &[Sample]) {
            self.samples.extend_from_slice(samples);
        }
        fn end(&mut self, how: Result<Stop, Fault>) {
            self.ended = Some(how);
        }
        fn ended(&self) -> bool {
            self.ended.is_some()
        }
    }

    fn share() -> Share {
        Share { target: 50, minimum: 5, budget: Time::from_ns(1_000_000_000), precision: 0.0, burst: 5 }
    }

    proptest! {
        #[test]
        fn every_cell_ends_with_its_share_or_its_budget(
            ns in proptest::collection::vec(1u64..2_000_000_000, 1..12), seed in any::<u64>(),
        ) {
            let mut cells: Vec<Fake> = ns
                .iter()
                .map(|&ns| Fake { each: Time::from_ns(ns), fails_after: usize::MAX, samples: vec![], ended: None })
                .collect();
            interleave(&mut cells, share(), seed, |_| {});
            for cell in &cells {
                match cell.ended.as_ref().unwrap() {
                    Ok(Stop::Repetitions) => prop_assert_eq!(cell.samples.len(), 50),
                    Ok(Stop::Budget) => {
                        prop_assert!(cell.samples.len() >= 5 && cell.samples.len() < 50);
                        prop_assert!(cell.samples.len() as u64 * cell.each.0 >= share().budget.0);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }

    #[test]
    fn pilots_settle_first_and_give_what_is_wanted() {
        for (ns, settled) in [(10_000, 100), (2_000_000, 50), (60_000_000, 1), (3_000_000_000, 1), (0, 100)] {
            assert_eq!(settling(Time::from_ns(ns)), settled);
            let mut cell = Fake { each: Time::from_ns(ns), fails_after: usize::MAX, samples: vec![], ended: None };
            assert_eq!(pilot(&mut cell, 9).unwrap().len(), 9);
        }
        let mut lost = Fake { each: Time::from_ns(1), fails_after: 0, samples: vec![], ended: None };
        assert!(pilot(&mut lost, 9).is_err());
    }

    #[test]
    fn a_failing_cell_ends_alone_and_turns_follow_the_seed() {
        let make = || -> Vec<Fake> {
            (0..4)
                .map(|i| Fake {
                    each: Time::from_ns(1000),
                    fails_after: if i == 2 { 10 } else { usize::MAX },
                    samples: vec![],
                    ended: None,
                })
                .collect()
        };
        let order = |seed| {
            let (mut cells, mut turns) = (make(), vec![]);
            interleave(&mut cells, share(), seed, |i| turns.push(i));
            assert!(matches!(cells[2].ended, Some(Err(_))));
            assert!(cells.iter().enumerate().all(|(i, c)| i == 2 || c.ended == Some(Ok(Stop::Repetitions))));
            turns
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }
}
