//! What does an operation cost in energy?
//!
//! A load's window is cut into slices between neighbouring readings of its phase at which the counter had moved, so that one which is
//! published in batches gives slices of whole batches and no slice of 0 W. A slice gives joules, seconds and operations (the
//! counter [`OPERATIONS`], read with the meters). Energy per operation is the median over slices of what one took above idle, over its
//! operations. A counter that updates slowly makes slices coarse, which the interval shows; it lags behind as well, so a total would begin
//! with the power of what ran before.

use super::Evidence;
use super::compare::middle;
use super::row::Subject;
use crate::rows::{CellId, CellRow, FactRow, PowerRow, Probe, Work};
use crate::statistics::Interval;
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::BTreeMap;

/// The meter that counts operations done since the first reading; its unit is `op`.
pub const OPERATIONS: &str = "operations";
/// The phase in which a meter's update period is measured: one reading each time its value had changed.
pub const PERIOD: &str = "period";
/// The phase in which nothing runs.
pub const IDLE: &str = "idle";
/// Slices without which a window tells no energy.
const SLICES: usize = 6;
/// Changes without which a meter has no update period.
const CHANGES: usize = 10;

/// What lies between two readings.
#[derive(Clone, Copy)]
struct Slice {
    joules: f64,
    seconds: f64,
    operations: f64,
}

/// Path, triple, shape and recipe of a load.
type Load = (String, Triple, Option<Shape>, Option<Recipe>);

/// Energy per operation with its interval, in pJ.
#[derive(Clone, Copy)]
struct Energy {
    value: f64,
    interval: Option<Interval>,
}

/// Every fact of the probe `power`.
pub(super) fn facts(evidence: &Evidence<'_>) -> Vec<FactRow> {
    if !evidence.plan.probes.contains(&Probe::Power) {
        return Vec::new();
    }
    let mut cells: BTreeMap<CellId, Vec<&CellRow>> = BTreeMap::new();
    for row in evidence.cells.iter().filter(|row| row.probe == Probe::Power) {
        cells.entry(row.cell).or_default().push(row);
    }
    let phases = phases(evidence.power);
    let meters: Vec<&str> = {
        let mut names: Vec<&str> = evidence.power.iter().filter(|row| row.unit == "J").map(|row| &*row.meter).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    let mut facts = periods(evidence.power);
    let run = Subject::run(Probe::Power);
    for meter in meters {
        let idle: Vec<f64> = slices(&phases, meter, IDLE).iter().map(|s| s.joules / s.seconds).collect();
        let was_read = phases.get(&(IDLE, meter)).is_some_and(|readings| readings.len() > 1);
        if !was_read {
            let words = "no window of idling was read".to_owned();
            facts.push(run.word(&format!("power.idle.{meter}"), "unavailable", words, &[]));
            continue;
        }
        let known =
            evidence.provenance.iter().flat_map(|record| &record.device.meters).find(|known| known.name == meter);
        let covers = known.map_or("unknown", |known| known.coverage.as_str());
        let name = format!("power.idle.{meter}");
        let middle_of_idle = middle(&idle);
        facts.push(match middle_of_idle {
            Some((idle, interval)) => {
                let words = format!("median over slices while nothing ran; the meter covers: {covers}");
                run.number(&name, (idle, "W"), interval, words, &[])
            }
            None => {
                let words = format!("the counter stood still while nothing ran, which is not 0 W; it covers: {covers}");
                run.word(&name, "unavailable", words, &[])
            }
        });
        let idle = middle_of_idle.map(|(idle, _)| idle);
        let mut energies: BTreeMap<Load, (Energy, CellId)> = BTreeMap::new();
        for (id, rows) in &cells {
            let (row, counts) = (rows[0], rows.iter().all(|row| row.outcome.counts()));
            let slices = slices(&phases, meter, &id.to_string());
            if !counts || slices.len() < SLICES {
                continue;
            }
            let subject = subject(row);
            let watts: Vec<f64> = slices.iter().map(|s| s.joules / s.seconds).collect();
            if let Some((watts, interval)) = middle(&watts) {
                let words = "median over slices under this load".to_owned();
                facts.push(subject.number(&format!("power.load.{meter}"), (watts, "W"), interval, words, &[*id]));
            }
            let Some(energy) = energy(&slices, idle.unwrap_or(0.0)) else {
                let words =
                    "a slice without operations, or none above idle: the load is too light for this meter".to_owned();
                facts.push(subject.word(&format!("energy.operation.{meter}"), "unavailable", words, &[*id]));
                continue;
            };
            let seconds: f64 = slices.iter().map(|s| s.seconds).sum();
            let subtracted = match idle {
                Some(idle) => format!("{idle:.1} W of idling subtracted"),
                None => "nothing subtracted, for the counter stood still at idle".to_owned(),
            };
            let words = format!("{subtracted}; {seconds:.2} s of one window in {} slices", slices.len());
            let name = format!("energy.operation.{meter}");
            facts.push(subject.number(&name, (energy.value, "pJ"), energy.interval, words, &[*id]));
            energies.insert((row.path.clone(), row.triple, row.shape, row.recipe), (energy, *id));
        }
        for ((path, triple, shape, recipe), (zeros, id)) in &energies {
            if *recipe != Some(Recipe::Zeros) {
                continue;
            }
            let random = energies.iter().find(|((p, t, s, r), _)| {
                (p, t, s) == (path, triple, shape) && r.is_some_and(|recipe| !recipe.is_blind())
            });
            let (Some((_, (random, other))), Some(cell)) = (random, cells.get(id)) else { continue };
            let interval = zeros.interval.zip(random.interval).map(|(a, b)| Interval {
                low: a.low / b.high,
                high: a.high / b.low,
                // Both hold at once at least this often, however they depend on each other.
                coverage: (a.coverage + b.coverage - 1.0).max(0.0),
            });
            let words = "zeros over random data; the interval joins the ends of both".to_owned();
            let name = format!("energy.zeros.{meter}");
            let value = (zeros.value / random.value, "");
            facts.push(subject(cell[0]).number(&name, value, interval, words, &[*id, *other]));
        }
    }
    facts
}

fn subject(row: &CellRow) -> Subject {
    let subject = Subject::triple(Probe::Power, &row.path, row.triple);
    match (row.work, row.shape, row.recipe) {
        (Work::Gemm, Some(shape), Some(recipe)) => Subject { product: Some((shape, recipe, row.cache)), ..subject },
        _ => subject,
    }
}

/// Readings by phase and meter, in order of time.
type Phases<'a> = BTreeMap<(&'a str, &'a str), Vec<&'a PowerRow>>;

fn phases(power: &[PowerRow]) -> Phases<'_> {
    let mut phases: Phases<'_> = BTreeMap::new();
    for row in power {
        phases.entry((&row.phase, &row.meter)).or_default().push(row);
    }
    for rows in phases.values_mut() {
        rows.sort_by(|a, b| a.time_ns.cmp(&b.time_ns).then_with(|| a.value.total_cmp(&b.value)));
    }
    phases
}

/// The slices of a phase by one meter, each to the next reading at which its counter had moved. Where operations were counted, there
/// are as many readings of them as of the meter.
fn slices(phases: &Phases<'_>, meter: &str, phase: &str) -> Vec<Slice> {
    let Some(readings) = phases.get(&(phase, meter)) else { return Vec::new() };
    let counted = phases.get(&(phase, OPERATIONS)).filter(|counted| counted.len() == readings.len());
    let slice = |from: usize, to: usize| {
        let seconds = readings[to].time_ns.seconds() - readings[from].time_ns.seconds();
        let operations = counted.map_or(0.0, |counted| counted[to].value - counted[from].value);
        Slice { joules: readings[to].value - readings[from].value, seconds, operations }
    };
    let (mut slices, mut from) = (Vec::new(), 0);
    for to in 1..readings.len() {
        if readings[to].value != readings[from].value {
            slices.push(slice(from, to));
            from = to;
        }
    }
    slices.retain(|slice| slice.seconds > 0.0);
    slices
}

fn energy(slices: &[Slice], idle: f64) -> Option<Energy> {
    let each: Vec<f64> = slices.iter().map(|s| (s.joules - idle * s.seconds) / s.operations * 1e12).collect();
    if slices.iter().any(|slice| slice.operations <= 0.0) || each.iter().any(|x| !(x.is_finite() && *x > 0.0)) {
        return None;
    }
    let (value, interval) = middle(&each)?;
    Some(Energy { value, interval })
}

/// `meter.period…`: the median time between changes of a meter's value.
fn periods(power: &[PowerRow]) -> Vec<FactRow> {
    let phases = phases(power);
    let of = |(&(phase, meter), rows): (&(&str, &str), &Vec<&PowerRow>)| {
        if phase != PERIOD || rows.len() <= CHANGES {
            return None;
        }
        let gap = |two: &[&PowerRow]| (two[1].time_ns.seconds() - two[0].time_ns.seconds()) * 1e3;
        let gaps: Vec<f64> = rows.windows(2).map(gap).collect();
        let (period, interval) = middle(&gaps)?;
        let words = format!("median of {} times between changes of what it reads", gaps.len());
        Some(Subject::run(Probe::Power).number(&format!("meter.period.{meter}"), (period, "ms"), interval, words, &[]))
    };
    phases.iter().filter_map(of).collect()
}
