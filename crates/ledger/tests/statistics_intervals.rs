//! Do intervals cover what they say, and do the two bootstraps agree?

mod statistics_planted;

use proptest::prelude::*;
use rigel_ledger::statistics::{
    Interval, LEVEL, NoInterval, RESAMPLES, bootstrap_interval_closed, bootstrap_resample, median, next_look,
    order_interval, order_ranks, precise_enough, ratio_interval_over_processes, ratio_median, sorted,
};
use rigel_numerics::Time;
use statistics_planted::{Draws, us};

fn ns(times: &[u64]) -> Vec<Time> {
    times.iter().map(|&t| Time::from_ns(t)).collect()
}

#[test]
fn median_is_the_middle_or_the_exact_mean_of_two() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&ns(&[7])), Some(7.0));
    assert_eq!(median(&ns(&[9, 1, 5])), Some(5.0));
    assert_eq!(median(&[Time(4001), Time(1), Time(4000), Time(9000)]), Some(4.0005));
    assert_eq!(median(&[Time(u64::MAX), Time(u64::MAX)]), Some(u64::MAX as f64 / 1000.0));
}

/// P(Bin(n, ½) ≤ r) from exact integers.
fn tail(n: u64, r: u64) -> f64 {
    let choose = |k: u64| (0..k).fold(1u128, |c, i| c * u128::from(n - i) / u128::from(i + 1));
    (0..=r).map(choose).sum::<u128>() as f64 / (1u128 << n) as f64
}

#[test]
fn order_ranks_are_the_narrowest_that_reach_the_level() {
    for n in 6..=60usize {
        for level in [0.5, 0.9, 0.95, 0.99] {
            let Ok((rank, coverage)) = order_ranks(n, level) else {
                assert!(1.0 - 2.0 * tail(n as u64, 0) < level, "n {n}, level {level}");
                continue;
            };
            assert!((coverage - (1.0 - 2.0 * tail(n as u64, rank as u64))).abs() < 1e-12);
            assert!(coverage >= level);
            let narrower = rank + 1;
            assert!(2 * narrower + 1 > n || 1.0 - 2.0 * tail(n as u64, narrower as u64) < level);
        }
    }
    assert_eq!(order_ranks(6, LEVEL), Ok((0, 0.96875)));
    assert_eq!(order_ranks(300, LEVEL).map(|r| r.0), Ok(132));
}

#[test]
fn too_few_and_senseless_levels_have_a_reason() {
    for n in 0..6 {
        assert_eq!(order_ranks(n, LEVEL), Err(NoInterval::TooFew { have: n, need: 6, level: LEVEL }));
        assert!(bootstrap_interval_closed(&ns(&vec![3; n]), LEVEL).is_err());
        assert!(bootstrap_resample(&ns(&vec![3; n]), LEVEL, 1, 100).is_err());
    }
    for level in [0.0, 1.0, -1.0, 2.0, f64::NAN] {
        assert!(matches!(order_ranks(100, level), Err(NoInterval::Level { .. })));
    }
    let words = order_ranks(4, LEVEL).map_err(|e| e.to_string());
    assert!(words.is_err_and(|w| w.contains("4 values") && w.contains("at least 6")));
}

#[test]
fn order_intervals_cover_as_stated() {
    for n in [6usize, 11, 30, 51] {
        let trials = 4000;
        let mut covered = 0;
        let mut stated = 0.0;
        for seed in 0..trials {
            let mut d = Draws::new(seed * 100 + n as u64);
            let times = sorted(&(0..n).map(|_| us(100.0 + d.exponential())).collect::<Vec<_>>());
            let interval = order_interval(&times, LEVEL).expect("six times or more");
            stated = interval.coverage;
            covered += usize::from(interval.contains((100.0 + 2f64.ln()) * 1000.0));
        }
        let share = covered as f64 / trials as f64;
        let sigma = (stated * (1.0 - stated) / trials as f64).sqrt();
        assert!((share - stated).abs() < 4.0 * sigma, "n {n}: {share} against {stated}");
    }
}

#[test]
fn bootstrap_intervals_nearly_cover() {
    for n in [30usize, 51, 300] {
        let trials = 2000;
        let covered = (0..trials).filter(|&seed| {
            let mut d = Draws::new(seed * 1000 + n as u64);
            let times = sorted(&(0..n).map(|_| us(100.0 + d.normal())).collect::<Vec<_>>());
            bootstrap_interval_closed(&times, LEVEL).expect("enough").contains(100_000.0)
        });
        let share = covered.count() as f64 / trials as f64;
        assert!((0.92..0.98).contains(&share), "n {n}: {share}");
    }
}

/// The law of the resampled median by counting all n^n resamples.
fn quantiles_by_counting(times: &[Time]) -> (f64, f64) {
    let n = times.len();
    let total = n.pow(n as u32);
    let mut sums: Vec<u64> = (0..total)
        .map(|mut code| {
            let mut ranks: Vec<usize> = (0..n)
                .map(|_| {
                    let rank = code % n;
                    code /= n;
                    rank
                })
                .collect();
            ranks.sort_unstable();
            times[ranks[(n - 1) / 2]].0 + times[ranks[n / 2]].0
        })
        .collect();
    sums.sort_unstable();
    let at = |p: f64| sums[(p * total as f64).ceil() as usize - 1] as f64 / 2000.0;
    (at(0.025), at(0.975))
}

#[test]
fn closed_form_equals_the_count_of_all_resamples() {
    for times in [
        vec![1000u64, 2000, 4000, 7000, 11_000, 16_000],
        vec![5, 5, 5, 9, 9, 100],
        vec![1, 10, 100, 1000, 10_000, 100_000, 1_000_000],
        vec![3, 3, 4, 8, 8, 8, 9],
    ] {
        let times: Vec<Time> = times.into_iter().map(Time).collect();
        let closed = bootstrap_interval_closed(&times, LEVEL).expect("six or more");
        assert_eq!((closed.low, closed.high), quantiles_by_counting(&times), "{times:?}");
    }
}

#[test]
fn resamples_agree_with_the_closed_form() {
    for n in [6usize, 7, 30, 31, 50, 299, 300, 1500] {
        let mut d = Draws::new(n as u64);
        let times = sorted(&(0..n).map(|_| us(100.0 + d.normal())).collect::<Vec<_>>());
        // The end of an interval from B resamples is the closed end at a probability off by at most five binomial σ.
        let off = 5.0 * (0.025f64 * 0.975 / f64::from(RESAMPLES)).sqrt();
        let closed = |tail: f64| bootstrap_interval_closed(&times, 1.0 - 2.0 * tail);
        let (Ok(wide), Ok(narrow)) = (closed(0.025 - off), closed(0.025 + off)) else {
            assert!(n < 8, "n {n}");
            continue;
        };
        for seed in 0..4 {
            let found = bootstrap_resample(&times, LEVEL, seed, RESAMPLES).expect("enough");
            assert!((wide.low..=narrow.low).contains(&found.low), "n {n}: {found:?}, {wide:?}, {narrow:?}");
            assert!((narrow.high..=wide.high).contains(&found.high), "n {n}: {found:?}, {wide:?}, {narrow:?}");
        }
    }
}

#[test]
fn resamples_are_a_function_of_the_seed() {
    let mut d = Draws::new(5);
    let times = sorted(&(0..300).map(|_| us(50.0 + d.normal())).collect::<Vec<_>>());
    let with = |seed| bootstrap_resample(&times, LEVEL, seed, 500).expect("enough");
    assert_eq!(with(7), with(7));
    assert!((0..20).any(|seed| with(seed) != with(7)));
}

#[test]
fn resampled_ranks_are_drawn_evenly() {
    // With six times that are their own ranks, the median of a resample has a known mean: 3.5 by symmetry.
    let times: Vec<Time> = (1..=6).map(Time::from_ns).collect();
    let low = bootstrap_resample(&times, 0.5, 3, 40_000).expect("six");
    let closed = bootstrap_interval_closed(&times, 0.5).expect("six");
    assert_eq!((low.low, low.high), (closed.low, closed.high));
    assert_eq!(low.low + low.high, 7.0);
}

#[test]
fn large_even_samples_stay_inside_the_neighbouring_ranks() {
    let times: Vec<Time> = (0..50_000).map(Time).collect();
    let found = bootstrap_interval_closed(&times, LEVEL).expect("enough");
    let middle = 24.9995;
    let reach = 1.96 * 0.5 * 50_000f64.sqrt() / 1000.0;
    assert!((found.low - (middle - reach)).abs() < 0.002 && (found.high - (middle + reach)).abs() < 0.002, "{found:?}");
}

#[test]
fn ratios_over_processes() {
    let ratios = [1.52, 1.48, 1.61, 1.55, 1.50, 1.58];
    assert_eq!(ratio_interval_over_processes(&ratios), Ok(Interval { low: 1.48, high: 1.61, coverage: 0.96875 }));
    assert!(ratio_median(&ratios).is_ok_and(|m| (m - 1.535).abs() < 1e-12));
    assert_eq!(ratio_median(&[2.0]), Ok(2.0));
    assert!(matches!(ratio_interval_over_processes(&ratios[..5]), Err(NoInterval::TooFew { have: 5, need: 6, .. })));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let given = [1.0, 1.0, bad, 1.0, 1.0, 1.0];
        let refused = ratio_interval_over_processes(&given);
        assert!(matches!(refused, Err(NoInterval::NotARatio { index: 2, .. })), "{refused:?}");
    }
}

#[test]
fn rates_turn_the_ends_round() {
    let time = Interval { low: 50.0, high: 100.0, coverage: 0.95 };
    let rate = time.rate(1000).expect("times above zero");
    assert!((rate.low - 1e10).abs() < 1.0 && (rate.high - 2e10).abs() < 1.0);
    assert_eq!(Interval { low: 0.0, ..time }.rate(1000), None);
}

#[test]
fn stopping_asks_more_of_dependent_repetitions() {
    let mut d = Draws::new(11);
    let steady: Vec<Time> = (0..300).map(|_| us(100.0 + 0.2 * d.normal())).collect();
    assert!(precise_enough(&steady, 0.005));
    assert!(!precise_enough(&steady[..5], 0.5));
    for target in [0.0, -1.0, f64::NAN] {
        assert!(!precise_enough(&steady, target));
    }
    let wandering: Vec<Time> = d.autoregressive(300, 0.98).iter().map(|z| us(100.0 + 2.0 * z)).collect();
    let interval = order_interval(&sorted(&wandering), LEVEL).expect("enough");
    let naive = interval.relative_half_width() * 1.05;
    assert!(!precise_enough(&wandering, naive));
    assert!(next_look(100, 30) == 126 && next_look(0, 30) == 30 && next_look(usize::MAX, 1) == usize::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn laws_of_medians_and_intervals(mut times in prop::collection::vec(0u64..1 << 50, 0..120), seed: u64) {
        let scale = |times: &[Time]| times.iter().map(|t| Time(4 * t.0)).collect::<Vec<_>>();
        let given: Vec<Time> = times.iter().copied().map(Time).collect();
        times.reverse();
        let reversed: Vec<Time> = times.into_iter().map(Time).collect();
        prop_assert_eq!(median(&given), median(&reversed));
        prop_assert_eq!(median(&scale(&given)), median(&given).map(|m| 4.0 * m));
        let (s, four) = (sorted(&given), sorted(&scale(&given)));
        let times_four = |i: Interval| Interval { low: 4.0 * i.low, high: 4.0 * i.high, ..i };
        prop_assert_eq!(order_interval(&four, LEVEL), order_interval(&s, LEVEL).map(times_four));
        let closed = bootstrap_interval_closed(&s, LEVEL);
        prop_assert_eq!(bootstrap_interval_closed(&four, LEVEL), closed.map(times_four));
        prop_assert_eq!(
            bootstrap_resample(&four, LEVEL, seed, 50),
            bootstrap_resample(&s, LEVEL, seed, 50).map(times_four)
        );
        if let (Ok(order), Some(middle)) = (order_interval(&s, LEVEL), median(&given)) {
            prop_assert!(order.contains(middle));
            prop_assert!(closed.is_ok_and(|c| c.contains(middle)));
        }
    }

    #[test]
    fn no_times_are_too_large(times in prop::collection::vec(any::<u64>(), 0..40)) {
        let times = sorted(&times.into_iter().map(Time).collect::<Vec<_>>());
        let _ = (median(&times), order_interval(&times, LEVEL), bootstrap_interval_closed(&times, LEVEL));
        let _ = (bootstrap_resample(&times, LEVEL, 1, 10), precise_enough(&times, 0.01));
    }
}
