//! Is one number enough for the times of a cell, or are there several modes?

use super::dip::{dip, dip_critical};
use super::modes::{Kind, Modality, Mode, Split};
use super::serial::{effective, lag_one};
use super::summary::median_clock;
use super::{clock_at, ns};
use rigel_numerics::{Megahertz, Time};
use std::ops::Range;

/// Fewest repetitions that can show modes.
const FEWEST: usize = 20;

/// The modes of some repetitions, in the order taken. `clocks[i]` belongs to `times[i]`; a shorter slice means that the
/// clock of the rest was not read.
pub fn modality(times: &[Time], clocks: &[Option<Megahertz>]) -> Modality {
    let sample = Sample::new(times);
    let mut cuts = Vec::new();
    if times.len() >= FEWEST {
        sample.divide(0..times.len(), &mut cuts);
    }
    cuts.sort_unstable();
    let bounds = cuts.iter().map(|&cut| times[sample.order[cut - 1]]).collect();
    assemble(times, clocks, Split::Times(bounds))
}

fn assemble(times: &[Time], clocks: &[Option<Megahertz>], split: Split) -> Modality {
    let mut found = Modality { modes: Vec::new(), kind: Kind::One, split };
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (index, &time) in times.iter().enumerate() {
        let mode = found.mode_of(time, clock_at(clocks, index)).unwrap_or(0);
        if members.len() <= mode {
            members.resize(mode + 1, Vec::new());
        }
        members[mode].push(index);
    }
    for group in &members {
        let group_times: Vec<Time> = group.iter().map(|&i| times[i]).collect();
        found.modes.push(Mode {
            count: u32::try_from(group.len()).unwrap_or(u32::MAX),
            median_ns: super::median(&group_times).unwrap_or(0.0),
            clock_mhz: median_clock(group.iter().filter_map(|&i| clock_at(clocks, i))),
        });
    }
    found.kind = Kind::of(&found.modes);
    found
}

/// Times in ascending order with ties spread over the timer's resolution.
struct Sample {
    /// Index of the repetition at each place in ascending order.
    order: Vec<usize>,
    /// Place of each repetition.
    place: Vec<usize>,
    /// Spread values in picoseconds above the shortest time, ascending.
    values: Vec<f64>,
}

impl Sample {
    fn new(times: &[Time]) -> Sample {
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|&i| times[i]);
        let mut place = vec![0; times.len()];
        for (at, &i) in order.iter().enumerate() {
            place[i] = at;
        }
        let values = spread(&order.iter().map(|&i| times[i]).collect::<Vec<_>>());
        Sample { order, place, values }
    }

    /// Adds the places at which `range` falls apart.
    fn divide(&self, range: Range<usize>, cuts: &mut Vec<usize>) {
        if let Some(cut) = self.tail_cut(&range).or_else(|| self.valley_cut(&range)) {
            cuts.push(cut);
            self.divide(range.start..cut, cuts);
            self.divide(cut..range.end, cuts);
        }
    }

    /// The gap that sets a small compact cluster apart.
    fn tail_cut(&self, range: &Range<usize>) -> Option<usize> {
        let y = &self.values[range.clone()];
        let k = y.len();
        if k < FEWEST {
            return None;
        }
        let quarter = |share: usize| y[(k - 1) * share / 4];
        let spread = (quarter(3) - quarter(1)) / 1.349;
        let most = ((k as f64 * 0.1) as usize).max(4);
        let upper = (k - most..=k - 4).map(|c| (c, &y[c..], y[c] - y[c - 1]));
        let lower = (4..=most).map(|c| (c, &y[..c], y[c] - y[c - 1]));
        let mut best: Option<(f64, usize)> = None;
        for (cut, cluster, gap) in upper.chain(lower) {
            let keep = cluster.len() * 3 / 4 + usize::from(cluster.len() * 3 % 4 > 0);
            let width = cluster.windows(keep).map(|w| w[keep - 1] - w[0]).fold(f64::INFINITY, f64::min);
            if gap > 4.0 * spread && width <= 0.2 * gap && best.is_none_or(|b| gap > b.0) {
                best = Some((gap, cut));
            }
        }
        best.map(|(_, cut)| range.start + cut)
    }

    fn valley_cut(&self, range: &Range<usize>) -> Option<usize> {
        let y = &self.values[range.clone()];
        let k = y.len();
        if k < FEWEST {
            return None;
        }
        let d = dip(y);
        if d < dip_critical(k as f64) {
            return None;
        }
        let cut = valley(y)?;
        let (low, high) = (y[cut / 2], y[(cut + k) / 2]);
        let separation = high - low;
        // counts
        let width = separation / 4.0;
        let count = |c: f64| y.partition_point(|&v| v <= c + width / 2.0) - y.partition_point(|&v| v < c - width / 2.0);
        let middle = (y[cut - 1] + y[cut]) / 2.0;
        let peak = count(low).min(count(high));
        if 2 * count(middle) > peak {
            return None;
        }
        // serial
        let mut residuals = Vec::with_capacity(k);
        let mut jumps = Vec::new();
        let mut last: Option<usize> = None;
        for &p in &self.place {
            if !range.contains(&p) {
                continue;
            }
            let p = p - range.start;
            residuals.push(y[p] - if p < cut { low } else { high });
            if let Some(q) = last
                && (q < cut) != (p < cut)
            {
                jumps.push((y[p] - y[q]).abs());
            }
            last = Some(p);
        }
        let r = lag_one(&residuals).unwrap_or(0.0);
        let independent = effective(k, r);
        if d < dip_critical(independent) {
            return None;
        }
        jumps.sort_unstable_by(f64::total_cmp);
        if jumps[jumps.len() / 2] < 0.6 * separation {
            return None;
        }
        Some(range.start + cut)
    }
}

fn valley(y: &[f64]) -> Option<usize> {
    let k = y.len();
    let quarter = |share: usize| y[(k - 1) * share / 4];
    let spread = (quarter(3) - quarter(1)) / 1.349;
    let (floor, ceiling) = (y[k / 2] - 6.0 * spread, y[k / 2] + 6.0 * spread);
    let clipped: Vec<f64> = y.iter().map(|v| v.clamp(floor, ceiling)).collect();
    let total: f64 = clipped.iter().sum();
    let (mut sum, mut best) = (0.0, (0.0, None));
    for c in 1..k {
        sum += clipped[c - 1];
        if c < 4 || k - c < 4 {
            continue;
        }
        let (a, b) = (c as f64, (k - c) as f64);
        let difference = sum / a - (total - sum) / b;
        let score = a * b * difference * difference;
        if score > best.0 {
            best = (score, Some(c));
        }
    }
    let cut = best.1?;
    let (from, to) = (cut / 2, (cut + k) / 2);
    let m = (k / 60).max(1);
    (from.max(m)..=to.min(k - m))
        .map(|c| (y[c + m - 1] - y[c - m], c))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, c)| c)
}

/// Spreads ties evenly over the resolution of the timer.
fn spread(sorted: &[Time]) -> Vec<f64> {
    let Some(&first) = sorted.first() else { return Vec::new() };
    let distinct: Vec<(f64, usize)> =
        sorted.chunk_by(|a, b| a == b).map(|g| ((g[0].0 - first.0) as f64, g.len())).collect();
    let mut steps: Vec<f64> = distinct.windows(2).map(|w| w[1].0 - w[0].0).collect();
    steps.sort_unstable_by(f64::total_cmp);
    let resolution =
        steps.get(steps.len() / 4).copied().unwrap_or(0.0).min(ns(sorted[sorted.len() / 2]) * 1000.0 / 64.0);
    let mut values = Vec::with_capacity(sorted.len());
    for (index, &(value, count)) in distinct.iter().enumerate() {
        let below = if index == 0 { resolution } else { (value - distinct[index - 1].0).min(resolution) };
        let above = distinct.get(index + 1).map_or(resolution, |next| (next.0 - value).min(resolution));
        let (start, width) = (value - below / 2.0, (below + above) / 2.0);
        values.extend((0..count).map(|j| start + width * (j as f64 + 0.5) / count as f64));
    }
    values
}
