//! How often is a planted layout recovered, and how often is a map given for registers that have none?
//!
//! Seven of eight devices have layouts drawn at random ([`UnitFamily::Layouts`]): bits and digits in any order, broadcast
//! lanes, permuted elements in words, up to 128 lanes of 128 slots. One in eight has them too, and gives a wrong element now
//! and then, by chance: no map explains it.

use super::drawn::{Bounds, Drawn, drawn, line, timed};
use super::{Family, Limit, Table};
use crate::layouts::{Agreement, Numbering, recover};
use rigel_device::sim::unit_deviation::{Chosen, Deviation, Effect, Place};
use rigel_device::sim::{PlantedUnit, SimUnit, UnitFamily, draw_unit};
use rigel_numerics::random::stream;

/// Share of the elements that are wrong where some are.
const WRONG: f64 = 1e-2;

/// Calibrates the recovery of layouts with `n` devices.
pub fn layout(seed: u64, n: u32, bounds: Bounds<'_>) -> Table {
    let first = stream(seed, 0x1a) >> 8;
    let outside = n.div_ceil(8);
    let seeds = || (0..).map(move |i| first + i);
    let right = drawn(seeds(), n - outside, bounds, |seed| one("drawn layouts", seed, false));
    let wrong = drawn(seeds().skip((n - outside) as usize), outside, bounds, |seed| {
        one("the same, with wrong elements", seed, true)
    });
    let lines = vec![
        line(&right, "recovered", |d| d.claimed && d.same, Limit::AtLeast(1.0)),
        line(&right, "another map", |d| d.claimed && !d.same, Limit::Never),
        line(&wrong, "a map", |d| d.claimed, Limit::Never),
    ];
    let devices = right.into_iter().chain(wrong).collect();
    Table { family: Family::Layout, seed, lines, devices }
}

fn one(name: &str, seed: u64, deviates: bool) -> Option<Drawn> {
    let (unit, planted) = draw_unit(seed, UnitFamily::Layouts).ok()?;
    let fragment = unit.fragment()?.clone();
    let mut unit = if deviates { deviating(planted.clone(), seed)? } else { unit };
    let (recovered, seconds) = timed(|| recover(&mut unit, Numbering::Published(&fragment), seed));
    let mut device = Drawn {
        planted: name.to_owned(),
        seed,
        k: Some(planted.shape.k),
        claimed: false,
        same: false,
        listed: None,
        probes: 0,
        seconds,
        words: String::new(),
    };
    match recovered {
        Ok(found) => {
            let spent = found.launches;
            device.claimed = true;
            device.probes = (spent.a + spent.b + spent.c + spent.d + spent.confirmation) as u64;
            device.same = !matches!(found.agreement(&fragment), Agreement::Different(_));
            device.words = if device.same { "the planted map".to_owned() } else { "another map".to_owned() };
        }
        Err(error) => device.words = error.to_string(),
    }
    Some(device)
}

/// The same unit with a bit turned in some of its elements.
fn deviating(mut planted: PlantedUnit, seed: u64) -> Option<SimUnit> {
    let bit = planted.triple.c.precision().saturating_sub(2).min(20);
    let effect = Effect::Flip { bit };
    planted.deviations = vec![Deviation { rate: WRONG, by: Chosen::Chance, at: Place::Everywhere, effect }];
    SimUnit::new(&planted, seed, 0).ok()
}
