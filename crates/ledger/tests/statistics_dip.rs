//! Is the dip Hartigan's dip, and are its critical values what uniform samples show?

mod statistics_planted;

use proptest::prelude::*;
use rigel_ledger::statistics::{Exceeded, dip, dip_critical, uniform_dips};
use statistics_planted::Draws;

#[test]
fn dips_known_by_reasoning() {
    // An even grid is as unimodal as n points can be.
    for n in [4, 5, 50, 300] {
        let grid: Vec<f64> = (0..n).map(f64::from).collect();
        assert!((dip(&grid) - 0.5 / f64::from(n)).abs() < 1e-12, "n {n}");
    }
    // Two equal atoms: a unimodal law has one atom and must climb half a step too early or too late.
    let two: Vec<f64> = (0..100).map(|i| f64::from(i / 50)).collect();
    assert!((dip(&two) - 0.25).abs() < 1e-12);
    // An atom of weight w far from the rest costs w/2.
    let small: Vec<f64> = (0..100).map(|i| if i < 80 { 0.0 } else { 1.0 }).collect();
    assert!((dip(&small) - 0.1).abs() < 1e-12);
    assert_eq!(dip(&[]), 0.0);
    assert_eq!(dip(&[3.0; 8]), 1.0 / 16.0);
}

/// A point of a distribution function that must run between two bounds there.
#[derive(Clone, Copy)]
struct Bounds {
    x: f64,
    floor: f64,
    roof: f64,
}

/// The least value that a convex function between the bounds can take at the last of them; none when there is no such
/// function, which is so exactly when some floor lies above a chord of roofs.
fn least_convex_end(points: &[Bounds]) -> Option<f64> {
    let (last, mut least) = (points.len() - 1, points[points.len() - 1].floor);
    for j in 0..=last {
        for i in 0..j {
            let (a, b) = (points[i], points[j]);
            for c in &points[j + 1..] {
                let t = (b.x - a.x) / (c.x - a.x);
                if b.floor > (1.0 - t) * a.roof + t * c.roof {
                    return None;
                }
            }
            let end = points[last];
            least = least.max(b.floor + (b.floor - a.roof) / (b.x - a.x) * (end.x - b.x));
        }
        if points[j].floor > points[j].roof {
            return None;
        }
    }
    Some(least)
}

/// Whether a unimodal distribution function stays within `d` of the empirical one of `x` (different values, ascending):
/// for some mode among the values, convex up to it, concave from it on, with a jump upwards allowed at it.
fn fits(x: &[f64], d: f64) -> bool {
    let n = x.len();
    let share = |count: usize| count as f64 / n as f64;
    let clamped = |x: f64, low: f64, high: f64| Bounds { x, floor: (low - d).max(0.0), roof: (high + d).min(1.0) };
    // A continuous stretch must stay near the distribution function on both sides of its jump.
    let inner = |i: usize| clamped(x[i], share(i + 1), share(i));
    (0..n).any(|mode| {
        let mut left: Vec<Bounds> = (0..mode).map(inner).collect();
        left.push(clamped(x[mode], share(mode), share(mode)));
        let turned = |b: Bounds| Bounds { x: -b.x, floor: 1.0 - b.roof, roof: 1.0 - b.floor };
        let mut right: Vec<Bounds> = (mode + 1..n).rev().map(|i| turned(inner(i))).collect();
        right.push(turned(clamped(x[mode], share(mode + 1), share(mode + 1))));
        match (least_convex_end(&left), least_convex_end(&right)) {
            (Some(low), Some(high)) => low <= 1.0 - high,
            _ => false,
        }
    })
}

#[test]
fn the_dip_is_the_distance_to_the_nearest_unimodal_law() {
    for seed in 0..120 {
        let mut draws = Draws::new(seed);
        let n = 6 + (seed % 12) as usize;
        let far = [0.0, 10.0, 40.0][(seed % 3) as usize];
        let mut x: Vec<f64> = (0..n).map(|i| if i < n / 2 { far } else { 0.0 } + 10.0 * draws.uniform()).collect();
        x.sort_unstable_by(f64::total_cmp);
        let found = dip(&x);
        assert!(fits(&x, found + 1e-9), "seed {seed}: nothing fits at {found}: {x:?}");
        assert!(!fits(&x, found - 1e-6), "seed {seed}: something fits below {found}: {x:?}");
    }
}

#[test]
fn the_table_is_made_by_the_seeded_samples() {
    for n in [16usize, 32] {
        let dips = uniform_dips(n, 100_000, n as u64);
        let rounded = |value: f64| (value * (n as f64).sqrt() * 1e4).round();
        assert_eq!(rounded(dips[89_999]), rounded(dip_critical(n, Exceeded::OneInTen)), "n {n}");
        assert_eq!(rounded(dips[99_499]), rounded(dip_critical(n, Exceeded::OneIn200)), "n {n}");
    }
    for n in [64usize, 90, 300, 1024, 3000] {
        let samples = 1500;
        let dips = uniform_dips(n, samples, 99);
        let above = |critical: f64| dips.iter().filter(|&&d| d > critical).count() as f64 / f64::from(samples);
        let ten = above(dip_critical(n, Exceeded::OneInTen));
        let two_hundred = above(dip_critical(n, Exceeded::OneIn200));
        assert!((ten - 0.1).abs() < 0.035 && two_hundred < 0.015, "n {n}: {ten}, {two_hundred}");
    }
}

proptest! {
    #[test]
    fn dips_do_not_depend_on_shift_scale_or_direction(mut x in prop::collection::vec(0u32..1000, 1..80)) {
        x.sort_unstable();
        let plain: Vec<f64> = x.iter().map(|&v| f64::from(v)).collect();
        let moved: Vec<f64> = plain.iter().map(|v| 4.0 * v + 64.0).collect();
        let turned: Vec<f64> = plain.iter().rev().map(|v| -v).collect();
        let found = dip(&plain);
        prop_assert!((0.0..=0.25 + 1e-12).contains(&found) || x.len() < 4);
        prop_assert!((dip(&moved) - found).abs() < 1e-12);
        prop_assert!((dip(&turned) - found).abs() < 1e-9, "{} and {}", found, dip(&turned));
    }
}
