//! Which channels are planted in the software device, and what do they count?
//!
//! They are of the form that Apple's system publishes, on the device's virtual clock: a GPU counter that grows by a fixed energy for
//! each kind of multiply-add and stands while nothing runs, counters in batches, performance states, and no neural engine. Under header
//! 27.0 the batched counters stand still, as a system of that version shows them to ordinary programs.

use super::clock::SPENDINGS;
use crate::metal::level::Sdk;
use crate::metal::meters::Channels;
use crate::metal::power::{Channel, ENERGY_GROUP, GPU_STATES, Value};
use rigel_numerics::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// Joules of one of each kind that a launch spends ([`super::clock`]): threads, scalar multiply-adds, barriers, and multiply-adds of
/// `simdgroup_matrix` and of `matmul2d`, wide and narrow. In the proportion to the planted rates that some tens of watts have to a large
/// GPU's.
pub const JOULES: [f64; SPENDINGS] = [0.0, 6e-12, 0.0, 5.6e-12, 5.2e-12, 4.4e-12];

/// How often batched counters are published, and what they grow by in watts.
const BATCH: Time = Time::from_ns(2_000_000_000);
const CPU_WATTS: f64 = 3.0;
const DRAM_WATTS: f64 = 0.5;

/// Counts of a state in a second.
const TICKS: f64 = 24e6;

/// What passed so far.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    now: Time,
    active: Time,
    joules: f64,
}

/// The planted channels, on a clock of their own.
#[derive(Debug, Clone)]
pub struct Planted {
    sdk: Sdk,
    passed: Rc<RefCell<Passed>>,
}

impl Planted {
    /// Channels as a header's system publishes them; nothing has passed.
    pub fn new(sdk: Sdk) -> Planted {
        Planted { sdk, passed: Rc::default() }
    }

    /// Launches took so long and each spent this.
    pub fn launched(&self, time: Time, spent: &[f64; SPENDINGS], repeats: u32) {
        let mut passed = self.passed.borrow_mut();
        let each: f64 = spent.iter().zip(JOULES).map(|(count, joules)| count * joules).sum();
        passed.now = Time(passed.now.0 + time.0);
        passed.active = Time(passed.active.0 + time.0);
        passed.joules += each * f64::from(repeats);
    }

    /// Time passed in which nothing ran.
    pub fn idled(&self, time: Time) {
        let mut passed = self.passed.borrow_mut();
        passed.now = Time(passed.now.0 + time.0);
    }
}

impl Channels for Planted {
    fn sample(&self) -> Result<Vec<Channel>, String> {
        let Passed { now, active, joules } = *self.passed.borrow();
        let energy = |name: &str, unit: &str, count: f64| Channel {
            group: ENERGY_GROUP.into(),
            subgroup: String::new(),
            name: name.into(),
            unit: unit.into(),
            value: Value::Count(count as i64),
        };
        // What was published last; a frozen counter shows what it held when it froze.
        let published = if self.sdk < Sdk::V27_0 { (now.0 / BATCH.0 * BATCH.0) as f64 / 1e12 } else { 1000.0 };
        let (group, subgroup, name) = GPU_STATES;
        let ticks = |time: u64| (time as f64 / 1e12 * TICKS) as i64;
        let states = [("OFF", ticks(now.0 - active.0)), ("P1", 0), ("P2", ticks(active.0))];
        Ok(vec![
            energy("CPU Energy", "mJ", CPU_WATTS * published * 1e3),
            energy("DRAM", "mJ", DRAM_WATTS * published * 1e3),
            energy("GPU Energy", "nJ", joules * 1e9),
            Channel {
                group: group.into(),
                subgroup: subgroup.into(),
                name: name.into(),
                unit: "24Mticks".into(),
                value: Value::States(states.map(|(state, time)| (state.to_owned(), time)).into()),
            },
        ])
    }

    fn now(&self) -> Time {
        self.passed.borrow().now
    }

    fn wait(&self, time: Time) {
        self.idled(time);
    }
}
