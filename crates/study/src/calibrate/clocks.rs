//! How often does the modality rule see the planted clock states, and how often states that are not there?

use super::planted::SHAPE;
use super::{Family, Limit, Line, Table};
use rayon::prelude::*;
use rigel_device::contract::GemmSpec;
use rigel_device::sim::noise::Noise;
use rigel_device::sim::states::{Law, State, States};
use rigel_device::sim::timeline::{Identity, Timeline};
use rigel_device::sim::truth::Clock;
use rigel_device::sim::{Family as Planted, Truth};
use rigel_ledger::statistics::{Kind, Modality, modality};
use rigel_numerics::{Format, Megahertz, Time, Triple};

/// Repetitions of a cell.
const REPETITIONS: usize = 300;

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);

/// Calibrates modality with `n` cells for every kind of planted cell.
///
/// Two states: the lighter of weight 10 % or more, at least 6 σ apart, with and without a readable clock; right when two
/// modes are seen. One state: skew, drift, outliers and AR(1) up to ρ = 0.9; every second state is a false alarm. Outliers
/// planted at one factor are a small cluster in truth, so a `tail` is counted apart. The two published cases
/// (arXiv 2606.12765: 145 and 155 repetitions at 4.65 and 6.5 TFLOP/s; 8 of 300 at half speed) are dealt exactly.
pub fn clocks(seed: u64, n: u32) -> Table {
    let line = |planted: &str, counted: &str, count, limit| Line {
        planted: planted.to_owned(),
        counted: counted.to_owned(),
        count,
        of: n,
        limit,
    };
    let drawn = |odd: bool, clock: bool, right: &(dyn Fn(&Modality) -> bool + Sync)| {
        // A truth's seed decides what it plants: odd for two states, the next bit for a clock that cannot be read.
        let low = u64::from(odd) + 2 * u64::from(!clock);
        count(n, |i| right(&of_truth(&Truth::draw(4 * seed.wrapping_add(u64::from(i)) + low, Planted::Clocks))))
    };
    let two = |seen: &Modality| seen.kind == Kind::Several && seen.modes.len() == 2;
    let several = |seen: &Modality| seen.kind == Kind::Several;
    let tail = |seen: &Modality| matches!(seen.kind, Kind::Tail { .. });
    let mut lines = Vec::new();
    for (clock, with) in [(true, "clock read"), (false, "no clock")] {
        let planted = format!("two states, {with}");
        lines.push(line(&planted, "two modes", drawn(true, clock, &two), Limit::AtLeast(0.99)));
    }
    for (clock, with) in [(true, "clock read"), (false, "no clock")] {
        let planted = format!("one state, disturbed, {with}");
        lines.push(line(&planted, "several modes", drawn(false, clock, &several), Limit::AtMost(0.01)));
        lines.push(line(&planted, "a tail", drawn(false, clock, &tail), Limit::Shown));
    }
    let bimodal = |i| published(seed, i, &[(145.0, 4.65 / 6.5), (155.0, 1.0)]);
    let halves = |seen: &Modality| {
        let counts: Vec<u32> = seen.modes.iter().map(|mode| mode.count).collect();
        seen.kind == Kind::Several && counts == [155, 145]
    };
    let right = count(n, |i| halves(&bimodal(i)));
    lines.push(line("published: 145 and 155 of 300", "155 and 145", right, Limit::AtLeast(0.99)));
    let slow_tail = |i| published(seed, i, &[(8.0, 0.5), (292.0, 1.0)]).kind == Kind::Tail { k: 8, n: 300 };
    lines.push(line("published: 8 of 300 at half speed", "tail 8 of 300", count(n, slow_tail), Limit::AtLeast(0.99)));
    Table { family: Family::Clocks, seed, lines, devices: Vec::new() }
}

fn count(n: u32, holds: impl Fn(u32) -> bool + Sync) -> u32 {
    (0..n).into_par_iter().map(|i| u32::from(holds(i))).sum()
}

/// The modes of the one product of a drawn truth.
fn of_truth(truth: &Truth) -> Modality {
    let tile = truth.find("matmul2d", HALF).and_then(|found| found.path.tiles.first());
    let tile = tile.map(|tile| tile.name.clone()).unwrap_or_default();
    let spec = GemmSpec { path: "matmul2d".to_owned(), triple: HALF, shape: SHAPE, tile };
    truth.timeline(&spec, 0).map_or_else(|| modality(&[], &[]), seen)
}

fn seen(mut timeline: Timeline) -> Modality {
    let samples = timeline.take(REPETITIONS);
    let times: Vec<Time> = samples.iter().map(|sample| sample.time).collect();
    let clocks: Vec<Option<Megahertz>> = samples.iter().map(|sample| sample.clock).collect();
    modality(&times, &clocks)
}

/// A published mixture, dealt exactly, with scatter from 0.5 to 1.5 % and no clock, as it was published.
fn published(seed: u64, i: u32, mixture: &[(f64, f64)]) -> Modality {
    let state = |&(weight, factor): &(f64, f64)| State { weight, factor: Some(factor), clock: None };
    let states = States { law: Law::Deck, mixture: mixture.iter().map(state).collect() };
    let clock = Clock { reference: Megahertz(1000), readable: false, resolution: Time::from_ns(1) };
    let noise = Noise { sigma: 0.005 + 0.01 * f64::from(i % 101) / 100.0, ..Noise::default() };
    let identity = Identity { seed, process: i, cell: 0, mixture: 0 };
    // 512³ at 6.5 TFLOP/s.
    seen(Timeline::new(41.3e-6, clock, &states, noise, identity))
}
