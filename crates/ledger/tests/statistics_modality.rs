//! Are planted modes found, and no others?

mod statistics_planted;

use proptest::prelude::*;
use rigel_ledger::statistics::{
    Bootstrap, Kind, LEVEL, Modality, Split, bootstrap_interval_closed, modality, order_interval, sorted, summary,
};
use rigel_numerics::random::{shuffle, stream};
use rigel_numerics::{Megahertz, Time};
use statistics_planted::{Draws, ONE_MODE, Switching, mixture, one_mode, published_512, published_1024, us};

#[test]
fn a_thousand_planted_cells() {
    for switching in [Switching::Random, Switching::Lasting, Switching::Once] {
        let mut wrong = Vec::new();
        for seed in 0..1000 {
            let planted = mixture(seed, 300, switching);
            let found = modality(&planted.times, &[]);
            let right = found.kind == Kind::Several
                && found.modes.len() == 2
                && (found.modes[1].count as usize).abs_diff(planted.slow) <= 3
                && (found.modes[0].median_ns / 1000.0 - planted.fast_at).abs() < planted.sigma
                && (found.modes[1].median_ns / 1000.0 - planted.slow_at).abs() < planted.sigma;
            if !right {
                wrong.push((seed, planted.slow, planted.separation));
            }
        }
        assert!(wrong.len() <= 10, "{switching:?}: {} wrong of 1000: {wrong:?}", wrong.len());
    }
}

#[test]
fn one_mode_stays_one() {
    for family in &ONE_MODE {
        let more = (0..1000).filter(|&seed| modality(&one_mode(family, seed, 300), &[]).kind != Kind::One).count();
        assert!(more <= 10, "{}: more than one mode in {more} of 1000", family.0);
    }
}

#[test]
fn the_published_case_at_512_has_two_clock_states() {
    let times = published_512();
    let found = modality(&times, &[]);
    assert_eq!((found.kind, found.modes.len()), (Kind::Several, 2), "{found}");
    let operations = 2 * 512u64.pow(3);
    let rate = |ns: f64| operations as f64 / ns / 1000.0;
    let [fast, slow] = [rate(found.modes[0].median_ns), rate(found.modes[1].median_ns)];
    assert!((fast - 6.5).abs() < 0.05 && (slow - 4.65).abs() < 0.05, "{fast} and {slow} TFLOP/s");
    assert!(found.modes[1].count.abs_diff(145) <= 2 && found.modes[0].count.abs_diff(155) <= 2, "{found}");

    let interval = bootstrap_interval_closed(&sorted(&times), LEVEL).expect("300 times").rate(operations);
    let printed = interval.map(|i| format!("[{:.2}, {:.2}]", i.low * 1e-12, i.high * 1e-12));
    assert_eq!(printed.as_deref(), Some("[5.21, 5.96]"));
    let order = order_interval(&sorted(&times), LEVEL).expect("300 times").rate(operations).expect("above zero");
    assert!((order.low * 1e-12 - 5.21).abs() < 0.03 && (order.high * 1e-12 - 5.96).abs() < 0.03, "{order:?}");
}

#[test]
fn the_published_case_at_1024_has_a_tail() {
    for seed in 0..200 {
        let found = modality(&published_1024(seed), &[]);
        assert_eq!(found.kind, Kind::Tail { k: 8, n: 300 }, "seed {seed}: {found}");
        assert_eq!(found.to_string(), "tail 8 of 300");
        assert!(found.modes[1].median_ns > 1.9 * found.modes[0].median_ns);
    }
}

#[test]
fn three_modes_and_a_fast_tail() {
    let mut d = Draws::new(4);
    let mut times: Vec<Time> = (0..300).map(|i| us([100.0, 120.0, 150.0][i % 3] + d.normal())).collect();
    shuffle(&mut times, stream(4, 0));
    let counts: Vec<u32> = modality(&times, &[]).modes.iter().map(|m| m.count).collect();
    assert_eq!(counts, [100, 100, 100]);

    let times: Vec<Time> = (0..300).map(|i| us(if i % 60 == 7 { 50.0 } else { 100.0 } + 0.5 * d.normal())).collect();
    assert_eq!(modality(&times, &[]).kind, Kind::Tail { k: 5, n: 300 });
}

#[test]
fn noiseless_states_are_modes_and_timer_ticks_are_not() {
    let states: Vec<Time> = (0..100).map(|i| Time::from_ns(if i % 3 == 0 { 1400 } else { 1000 })).collect();
    let found = modality(&states, &[]);
    assert_eq!(found.column(), "66@1000@;34@1400@");
    let ticks: Vec<Time> = (0..100).map(|i| Time::from_ns(if i % 3 == 0 { 1001 } else { 1000 })).collect();
    assert_eq!(modality(&ticks, &[]).kind, Kind::One);
    assert_eq!(modality(&[Time(77); 300], &[]).kind, Kind::One);
}

/// 300 repetitions in two clock states; times follow the clock when `follows`.
fn with_clocks(seed: u64, noise: f64, follows: bool) -> (Vec<Time>, Vec<Option<Megahertz>>) {
    let mut d = Draws::new(seed);
    let cell = |d: &mut Draws| {
        let low = d.uniform() < 0.4;
        let clock = if low { 2600.0 } else { 3600.0 } + 15.0 * d.normal();
        let time = if follows { 100.0 * 3600.0 / clock } else { 100.0 };
        (us(time * (1.0 + noise * d.normal())), Some(Megahertz(clock as u32)))
    };
    (0..300).map(|_| cell(&mut d)).unzip()
}

#[test]
fn measured_clocks_anchor_the_modes() {
    // At 10 % noise the times overlap so far that their shape shows nothing; the clock does.
    for (seed, noise) in [(1, 0.01), (2, 0.05), (3, 0.1)] {
        let (times, clocks) = with_clocks(seed, noise, true);
        let found = modality(&times, &clocks);
        assert_eq!((found.kind, found.modes.len()), (Kind::Several, 2), "noise {noise}");
        assert!(matches!(found.split, Split::Clocks(_)));
        let low = clocks.iter().flatten().filter(|c| c.0 < 3000).count();
        assert_eq!(found.modes[1].count as usize, low);
        assert!(found.modes[1].clock_mhz.is_some_and(|c| (c - 2600.0).abs() < 10.0));
        for (&time, &clock) in times.iter().zip(&clocks) {
            assert_eq!(found.mode_of(time, clock), Some(usize::from(clock.is_some_and(|c| c.0 < 3000))));
            assert_eq!(found.mode_of(time, None), None);
        }
    }
}

#[test]
fn clocks_that_do_not_explain_the_times_are_no_modes() {
    let (times, clocks) = with_clocks(5, 0.01, false);
    assert_eq!(modality(&times, &clocks).kind, Kind::One);
    // One clock missing: the times decide, and still carry the clocks.
    let (times, mut clocks) = with_clocks(6, 0.01, true);
    clocks[17] = None;
    let found = modality(&times, &clocks);
    assert!(matches!(found.split, Split::Times(_)) && found.modes.len() == 2);
    assert!(found.modes[1].clock_mhz.is_some());
    // Scattered low readings of the clock are no state.
    let mut d = Draws::new(9);
    let (times, clocks): (Vec<Time>, Vec<Option<Megahertz>>) = (0..300)
        .map(|i| {
            let disturbed = if i % 50 == 0 { 0.3 + 0.6 * d.uniform() } else { 1.0 };
            (us(100.0 / disturbed + d.normal()), Some(Megahertz((3600.0 * disturbed) as u32)))
        })
        .unzip();
    assert_eq!(modality(&times, &clocks).kind, Kind::One);
}

#[test]
fn counts_add_up_and_repetitions_know_their_mode() {
    for seed in 0..50 {
        let planted = mixture(seed, 120, Switching::Random);
        let found = modality(&planted.times, &[]);
        let mut counts = vec![0u32; found.modes.len()];
        for &time in &planted.times {
            counts[found.mode_of(time, None).expect("times tell")] += 1;
        }
        assert_eq!(counts, found.modes.iter().map(|m| m.count).collect::<Vec<_>>());
        let weights: f64 = (0..counts.len()).map(|i| found.weight(i)).sum();
        assert!((weights - 1.0).abs() < 1e-12);
        assert_eq!(found.weight(99), 0.0);
    }
}

#[test]
fn the_column_reads_back_and_refuses_what_it_is_not() {
    let (times, clocks) = with_clocks(7, 0.01, true);
    for found in [modality(&times, &clocks), modality(&times, &[]), modality(&published_1024(1), &[])] {
        let modes = Modality::parse_column(&found.column()).expect("as written");
        assert_eq!(modes, found.modes);
        assert_eq!(Kind::of(&modes), found.kind);
    }
    assert_eq!(Modality::parse_column(""), Ok(Vec::new()));
    for bad in
        ["1@2@3", "1@2@", "a@2@;1@2@", "1@2;1@3", "1@2@3@4;1@2@3", "1@NaN@;1@2@", "1@-2@;1@2@", ";", "1@inf@;1@2@"]
    {
        assert!(Modality::parse_column(bad).is_err(), "{bad}");
    }
}

#[test]
fn hostile_series_are_answered() {
    let powers: Vec<Time> = (0..64).map(|i| Time(1 << i)).collect();
    let extremes: Vec<Time> = (0..200).map(|i| Time(if i % 2 == 0 { 0 } else { u64::MAX })).collect();
    let constant_with_pairs: Vec<Time> =
        (0..20_000).map(|i| Time(if i < 12_000 { 5 } else { 5 + (i / 4) * i })).collect();
    for times in [powers, extremes, constant_with_pairs, vec![], vec![Time(1)], vec![Time(0); 500]] {
        let found = modality(&times, &[]);
        assert_eq!(found.modes.iter().map(|m| m.count as usize).sum::<usize>(), times.len());
        assert!(found.modes.len() <= 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn modes_scale_with_the_times(seed: u64, n in 0usize..200, spread in 0u32..3) {
        let times = match spread {
            0 => mixture(seed, n.max(20), Switching::Random).times,
            1 => one_mode(&ONE_MODE[(seed % 22) as usize], seed, n),
            _ => (0..n as u64).map(|i| Time(stream(seed, i) >> (seed % 60))).collect(),
        };
        let four: Vec<Time> = times.iter().map(|t| Time(t.0.saturating_mul(4))).collect();
        prop_assume!(times.iter().all(|t| t.0 < 1 << 61));
        let (plain, scaled) = (summary(&times, &[], Bootstrap::Closed), summary(&four, &[], Bootstrap::Closed));
        prop_assert_eq!(plain.warmup, scaled.warmup);
        prop_assert_eq!(plain.autocorrelation, scaled.autocorrelation);
        prop_assert_eq!(plain.modality.kind, scaled.modality.kind);
        let counts = |m: &Modality| m.modes.iter().map(|m| m.count).collect::<Vec<_>>();
        prop_assert_eq!(counts(&plain.modality), counts(&scaled.modality));
    }

    #[test]
    fn no_input_panics(
        times in prop::collection::vec(any::<u64>(), 0..80),
        clocks in prop::collection::vec(any::<Option<u32>>(), 0..80),
    ) {
        let times: Vec<Time> = times.into_iter().map(Time).collect();
        let clocks: Vec<Option<Megahertz>> = clocks.into_iter().map(|c| c.map(Megahertz)).collect();
        let found = summary(&times, &clocks, Bootstrap::Closed);
        prop_assert_eq!((found.n + found.warmup) as usize, times.len());
    }
}
