//! How often is a planted arithmetic recovered, and how often is a wrong one called exact?
//!
//! | devices | share | planted |
//! | --- | --- | --- |
//! | in the family | 40 % | models drawn at random ([`draw_unit`], [`UnitFamily::Models`]), by the fast evaluator |
//! | in the family, by exact fractions | 15 % | the same, by the slow evaluator, which shares no arithmetic with the fast one |
//! | published | 15 % | a published model |
//! | outside, at a rate of 1/2, 10⁻², 10⁻⁴ | 10 % each | a drawn model with one deviation; no model of the family computes it |
//!
//! A model that is called exact is held against the planted one on fresh inputs of all distributions ([`first_difference`]),
//! drawn by a seed that recovery never saw. Of a published model the parameters must lie in the class that is printed, too
//! ([`Recovered::unlisted`]).

use super::drawn::{Bounds, Drawn, drawn, line, timed};
use super::{Family, Limit, Table};
use crate::recovery::{Effort, Recovered, recover};
use rigel_device::sim::{PlantedUnit, SimUnit, UnitFamily, draw_unit};
use rigel_numerics::arithmetic::{Evaluator, Model, first_difference};
use rigel_numerics::random::stream;

/// Inputs of each distribution on which a recovered model is held against the planted one.
const COMPARED: u64 = 20_000;
/// K of drawn devices, at most: the time of a recovery grows with it.
const MOST_K: usize = 64;

/// Calibrates the recovery of arithmetic with `n` devices.
pub fn arithmetic(seed: u64, n: u32, bounds: Bounds<'_>) -> Table {
    let first = stream(seed, 0x0a) >> 8 << 4;
    let share = |percent: u32| (n * percent).div_ceil(100);
    let some = |percent, name: &str, family, seeds: &dyn Fn(u64) -> u64| {
        let one = |seed| one(name, seed, family, bounds);
        drawn((0..).map(|i| first + seeds(i)), share(percent), bounds, one)
    };
    // Of eight seeds one has the slow evaluator.
    let fast = |i: u64| i / 7 * 8 + i % 7;
    let slow = |i: u64| i * 8 + 7;
    let mut lines = Vec::new();
    let mut devices = Vec::new();
    let inside = [
        (40, "drawn from the family", UnitFamily::Models, &fast as &dyn Fn(u64) -> u64),
        (15, "the same, by exact fractions", UnitFamily::Models, &slow),
        (15, "a published model", UnitFamily::Published, &fast),
    ];
    for (percent, name, family, seeds) in inside {
        let part = some(percent, name, family, seeds);
        lines.push(line(&part, "recovered", |d| d.claimed && d.same, Limit::AtLeast(0.99)));
        lines.push(line(&part, "false exact", |d| d.claimed && !d.same, Limit::Never));
        if family == UnitFamily::Published {
            lines.push(line(&part, "parameters in the class", |d| d.listed == Some(true), Limit::AtLeast(0.99)));
        }
        devices.extend(part);
    }
    for (rate, name) in [(0.5, "outside, rate 1/2"), (1e-2, "outside, rate 1e-2"), (1e-4, "outside, rate 1e-4")] {
        let part = some(10, name, UnitFamily::Deviating { rate }, &fast);
        lines.push(line(&part, "exact", |d| d.claimed, Limit::Never));
        devices.extend(part);
    }
    Table { family: Family::Arithmetic, seed, lines, devices }
}

/// One device; `None` where a seed draws none of at most [`MOST_K`] products.
fn one(name: &str, seed: u64, family: UnitFamily, bounds: Bounds<'_>) -> Option<Drawn> {
    let (mut unit, planted) = within(seed, family)?;
    let k = planted.shape.k;
    let effort = Effort { validation: bounds.validation, ..Effort::full(seed) };
    let (recovery, seconds) = timed(|| recover(&mut unit, &effort));
    let mut device = Drawn {
        planted: name.to_owned(),
        seed,
        k: Some(k),
        claimed: false,
        same: false,
        listed: None,
        probes: 0,
        seconds,
        words: String::new(),
    };
    match recovery {
        Ok(recovery) => {
            device.probes = recovery.probes.before_validation();
            device.claimed = recovery.recovered.is_exact();
            device.words = match &recovery.recovered {
                Recovered::Exact { .. } => "exact".to_owned(),
                Recovered::Inexact { why, .. } => why.to_string(),
            };
            let truth = planted.model().ok()?;
            if family == UnitFamily::Published {
                device.listed = Some(recovery.recovered.unlisted(&truth).is_some_and(|outside| outside.is_empty()));
            }
            device.same = recovery.recovered.model().is_some_and(|model| same(model, &truth, k, seed));
        }
        Err(error) => device.words = error.to_string(),
    }
    Some(device)
}

/// The first device of a seed's own row of seeds that is not too long.
fn within(seed: u64, family: UnitFamily) -> Option<(SimUnit, PlantedUnit)> {
    // Strides of 2^32 keep what the low bits of a seed decide.
    let row = (0..64).map(|n| seed.wrapping_add(n << 32));
    row.filter_map(|seed| draw_unit(seed, family).ok()).find(|(_, planted)| {
        planted.shape.k <= MOST_K || matches!(family, UnitFamily::Deviating { .. }) && planted.shape.k <= 4 * MOST_K
    })
}

/// Whether no input that was tried tells two models apart.
fn same(one: &Model, other: &Model, k: usize, seed: u64) -> bool {
    let (one, other) = (Evaluator::new(one, k), Evaluator::new(other, k));
    one.ok().zip(other.ok()).is_some_and(|(one, other)| {
        let alike = one.model().triple == other.model().triple && one.model().scales == other.model().scales;
        alike && first_difference(&one, &other, stream(!seed, 0xca1), COMPARED).is_none()
    })
}
