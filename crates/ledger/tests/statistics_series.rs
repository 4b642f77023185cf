//! Are dependence, warm-up and drift seen where they were planted, and only there?

mod statistics_planted;

use rigel_ledger::statistics::{
    Bootstrap, RESAMPLES, autocorrelation, drift, effective_n, median, sorted, summary, warmup,
};
use rigel_numerics::{Megahertz, Time};
use statistics_planted::{Draws, ONE_MODE, Switching, mixture, one_mode, us};

#[test]
fn autocorrelation_is_recovered() {
    for rho in [-0.5, 0.0, 0.5, 0.9] {
        let mut d = Draws::new(3);
        let times: Vec<Time> = d.autoregressive(20_000, rho).iter().map(|z| us(100.0 + z)).collect();
        let found = autocorrelation(&times).expect("they vary");
        assert!((found - rho).abs() < 0.03, "{found} against {rho}");
    }
    assert_eq!(autocorrelation(&[Time(1), Time(2)]), None);
    assert_eq!(autocorrelation(&[Time(5); 10]), None);
    // Deviations ∓1 alternate: −3/4 from three products over four squares.
    assert_eq!(autocorrelation(&[Time(1), Time(3), Time(1), Time(3)]), Some(-0.75));
}

#[test]
fn effective_n_stays_between_one_and_n() {
    assert_eq!(effective_n(300, 0.5), 100);
    assert_eq!(effective_n(300, 0.9), 15);
    assert_eq!(effective_n(300, -0.7), 300);
    assert_eq!(effective_n(300, 1.0), 1);
    assert_eq!(effective_n(300, f64::NAN), 300);
    assert_eq!(effective_n(0, 0.5), 0);
}

#[test]
fn effective_n_predicts_the_spread_of_medians() {
    let (n, rho, trials) = (300, 0.8, 2000);
    let spread = |rho: f64| {
        let medians: Vec<f64> = (0..trials)
            .map(|seed| {
                let mut d = Draws::new(seed);
                let times: Vec<Time> = d.autoregressive(n, rho).iter().map(|z| us(100.0 + z)).collect();
                median(&times).expect("300 times") - 100_000.0
            })
            .collect();
        medians.iter().map(|m| m * m).sum::<f64>() / trials as f64
    };
    // First-order dependence makes medians a little less dependent than means, so the formula is on the safe side.
    let worth = n as f64 * spread(0.0) / spread(rho);
    let claimed = effective_n(n, rho) as f64;
    assert!(claimed <= worth * 1.1 && claimed >= worth * 0.6, "claimed {claimed}, worth {worth}");
}

#[test]
fn warm_up_is_found_to_the_length_of_the_window() {
    for (n, planted) in [(50, 4), (50, 8), (300, 20), (300, 50)] {
        for seed in 0..50 {
            let mut d = Draws::new(seed);
            let slow = |i: usize| if i < planted { 1.3 } else { 1.0 };
            let times: Vec<Time> = (0..n).map(|i| us(100.0 * slow(i) + 0.3 * d.normal())).collect();
            let found = warmup(&times);
            assert!((planted..=planted + 3).contains(&found), "n {n}: {found} for {planted}");
        }
    }
}

#[test]
fn a_settling_clock_is_cut_where_it_has_settled() {
    let times: Vec<Time> = (0..300).map(|i| us(100.0 * (1.0 + 0.5 * (-f64::from(i) / 12.0).exp()))).collect();
    let found = warmup(&times);
    assert!((40..75).contains(&found), "{found}");
    assert!(sorted(&times[found..]).last().is_some_and(|t| t.ns() < 101_500.0));
}

#[test]
fn no_warm_up_in_modes_drift_or_steady_series() {
    let share = |series: &dyn Fn(u64) -> Vec<Time>| (0..400).filter(|&s| warmup(&series(s)) > 0).count() as f64 / 400.0;
    for n in [50, 300] {
        assert!(share(&|s| mixture(s, n, Switching::Random).times) < 0.03, "random modes, n {n}");
        for family in &ONE_MODE {
            let found = share(&|s| one_mode(family, s, n));
            // Settling is warm-up; the start of a drift, slow noise or a first repetition from a heavy tail can look like it.
            let alike = family.0.contains("drift") || family.0.contains("AR(1)");
            let allowed = if alike { 1.0 } else { 0.1 };
            assert!(found <= allowed, "{}, n {n}: {found}", family.0);
            assert!((0..100).all(|s| warmup(&one_mode(family, s, n)) <= n / 4), "{}", family.0);
        }
    }
    assert_eq!(warmup(&mixture(3, 300, Switching::Once).times), 0, "a state that lasts is a mode");
    assert_eq!(warmup(&[Time(9); 11]), 0);
    assert_eq!(warmup(&[]), 0);
    assert_eq!(warmup(&[Time(u64::MAX); 50]), 0);
    assert_eq!(warmup(&[Time(0); 50]), 0);
}

#[test]
fn drift_is_seen_with_its_size_and_rarely_invented() {
    let mut d = Draws::new(1);
    let rising: Vec<Time> = (0..300).map(|i| us(100.0 + 5.0 * f64::from(i) / 300.0 + d.normal())).collect();
    let found = drift(&rising).expect("enough times");
    assert!(found.significant() && found.tau > 0.0 && (found.change - 0.05).abs() < 0.01, "{found:?}");
    let falling: Vec<Time> = rising.iter().rev().copied().collect();
    assert!(drift(&falling).is_some_and(|f| f.significant() && f.tau == -found.tau));

    let strictly: Vec<Time> = (1..=40).map(Time).collect();
    assert_eq!(drift(&strictly).map(|f| f.tau), Some(1.0));
    assert_eq!(drift(&[Time(4); 40]), None);
    assert_eq!(drift(&strictly[..9]), None);

    for rho in [0.0, 0.5, 0.9] {
        let invented = (0..1000).filter(|&seed| {
            let mut d = Draws::new(seed);
            let times: Vec<Time> = d.autoregressive(300, rho).iter().map(|z| us(100.0 + z)).collect();
            drift(&times).is_some_and(|f| f.significant())
        });
        let share = invented.count() as f64 / 1000.0;
        assert!(share < 0.03, "ρ {rho}: {share}");
    }
}

#[test]
fn a_summary_leaves_out_the_warm_up_and_says_so() {
    let mut d = Draws::new(8);
    let times: Vec<Time> = (0..60).map(|i| us(if i < 5 { 180.0 } else { 100.0 } + 0.1 * d.normal())).collect();
    let clocks: Vec<Option<Megahertz>> = (0..60).map(|i| Some(Megahertz(if i < 5 { 1000 } else { 3000 }))).collect();
    let found = summary(&times, &clocks, Bootstrap::Closed);
    assert!((5..=8).contains(&found.warmup) && found.n + found.warmup == 60, "{found:?}");
    let kept = &times[found.warmup as usize..];
    assert_eq!(found.median_ns, median(kept));
    assert_eq!(found.autocorrelation, autocorrelation(kept));
    assert_eq!(found.effective_n, autocorrelation(kept).map(|r| effective_n(kept.len(), r) as u32));
    assert_eq!(found.clock_mhz, Some(3000.0));
    assert_eq!(found.modality.column(), "");
    let middle = found.median_ns.expect("there are times");
    assert!(found.interval.is_some_and(|i| i.contains(middle)) && found.bootstrap.is_some_and(|i| i.contains(middle)));
}

#[test]
fn summaries_of_next_to_nothing() {
    let none = summary(&[], &[], Bootstrap::Closed);
    assert_eq!((none.n, none.warmup, none.median_ns, none.interval, none.clock_mhz), (0, 0, None, None, None));
    let one = summary(&[Time(1500)], &[Some(Megahertz(700)), Some(Megahertz(9))], Bootstrap::Closed);
    assert_eq!((one.n, one.median_ns, one.interval, one.autocorrelation), (1, Some(1.5), None, None));
    assert_eq!(one.clock_mhz, Some(700.0));
    let constant = summary(&[Time(1500); 300], &[], Bootstrap::Closed);
    assert!(constant.interval.is_some_and(|i| i.low == 1.5 && i.high == 1.5));
    assert_eq!(constant.effective_n, None);
}

#[test]
fn resampled_and_closed_bootstraps_of_a_summary_agree_and_the_seed_decides() {
    let mut d = Draws::new(9);
    let times: Vec<Time> = (0..300).map(|_| us(100.0 + d.normal())).collect();
    let with = |bootstrap| summary(&times, &[], bootstrap).bootstrap.expect("there are enough times");
    let resampled = |seed| with(Bootstrap::Resampled { resamples: RESAMPLES, seed });
    let closed = with(Bootstrap::Closed);
    for seed in 0..8 {
        let found = resampled(seed);
        assert_eq!(found, resampled(seed));
        // The ends are order statistics near the 5th or 95th rank of 300: a rank more or less is what resampling may cost.
        let width = closed.high - closed.low;
        assert!((found.low - closed.low).abs() < 0.2 * width && (found.high - closed.high).abs() < 0.2 * width);
    }
}
