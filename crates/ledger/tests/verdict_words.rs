//! Is every verdict word reached by its smallest input, and do the rules obey the laws they promise?

use proptest::prelude::*;
use rigel_ledger::plan::{Plan, Thresholds};
use rigel_ledger::verdict::{
    Acceleration, AccelerationCase, Baseline, BaselineCase, Comparison, Coverage, Doubt, EmulationSign, GemmCase,
    MatchedBy, PathSignals, Place, Rail, Ratio, RivalCase, SignalReading, StatePair, States, Win, accelerated,
    where_it_runs, win,
};

fn thresholds() -> Thresholds {
    Plan::planted("words").thresholds
}

fn ratio(low: f64, high: f64) -> Ratio {
    let ratios: Vec<f64> = (0..6).map(|p| low + (high - low) * f64::from(p) / 5.0).collect();
    Ratio::over(&ratios, 1).expect("positive ratios")
}

fn plain(low: f64, high: f64) -> Comparison {
    Comparison { time: ratio(low, high), cycles: None, states: States::One }
}

fn product(share: Option<f64>, comparison: Comparison) -> GemmCase {
    GemmCase { name: "2048x2048x2048 near-normal warm".into(), share, comparison }
}

fn case(ceiling: Result<Comparison, String>, products: Vec<GemmCase>) -> AccelerationCase {
    AccelerationCase { matched: MatchedBy::SamePath, ceiling, products, excluded: Vec::new(), signs: Vec::new() }
}

fn only(low: f64, high: f64) -> AccelerationCase {
    case(Err("the candidate has no ceiling loop here".into()), vec![product(Some(0.9), plain(low, high))])
}

fn pair(ratio: Option<Ratio>, lowest: f64, highest: f64) -> StatePair {
    StatePair { ours: 0, theirs: 0, ratio, lowest, highest }
}

fn matched(inside: Option<Ratio>, pairs: Vec<StatePair>) -> States {
    States::Matched { inside, pairs }
}

fn states(time: Ratio, states: States) -> AccelerationCase {
    case(Err(String::new()), vec![product(Some(0.9), Comparison { time, cycles: None, states })])
}

#[test]
fn every_acceleration_word_is_reached() {
    let few = Ratio::over(&[2.0; 5], 1).expect("positive ratios");
    let chosen = Ratio::over(&[2.0; 6], 3).expect("positive ratios");
    let cycles = |cycles| Comparison { cycles: Some(cycles), ..plain(1.6, 1.7) };
    let with = |sign, low, high| AccelerationCase { signs: vec![sign], ..only(low, high) };
    let fingerprint = || EmulationSign::Fingerprint("two f16 halves of k, added in f32".into());
    let fast = ratio(1.6, 1.7);
    let table: Vec<(&str, AccelerationCase, &str)> = vec![
        ("whole interval at the threshold", only(1.5, 1.5), "accelerated"),
        (
            "ceiling and product agree",
            case(Ok(plain(1.9, 2.0)), vec![product(Some(0.7), plain(1.6, 1.8))]),
            "accelerated",
        ),
        ("ceiling alone", case(Ok(plain(1.9, 2.0)), vec![]), "accelerated"),
        ("cycles agree", case(Err(String::new()), vec![product(Some(0.9), cycles(ratio(1.5, 1.8)))]), "accelerated"),
        (
            "matched states",
            states(ratio(1.2, 2.0), matched(Some(fast), vec![pair(Some(fast), 1.0, 2.0)])),
            "accelerated",
        ),
        ("every pair of modes", states(fast, States::Unmatched(vec![pair(None, 1.55, 1.9)])), "accelerated"),
        ("within 0.90 and 1.10", only(0.9, 1.1), "same rate"),
        ("below 1", only(0.8, 0.95), "slower"),
        ("above 1, below 1.5", only(1.05, 1.3), "faster"),
        ("below 1.5, on both sides of 1", only(0.8, 1.3), "not accelerated"),
        ("a composition of steps", with(fingerprint(), 0.95, 1.05), "emulated"),
        ("conversions in the code", with(EmulationSign::Conversions("F2FP.UNPACK".into()), 1.1, 1.3), "emulated"),
        ("a ceiling below 0.90", case(Ok(plain(0.8, 0.89)), vec![product(Some(0.9), plain(1.0, 1.2))]), "emulated"),
        (
            "a ceiling a little below 1",
            case(Ok(plain(0.98, 0.99)), vec![product(Some(0.9), plain(1.0, 1.05))]),
            "same rate",
        ),
        ("a sign cannot unmake a fast unit", with(fingerprint(), 1.5, 1.6), "accelerated"),
        ("on both sides of 1.5", only(1.4, 1.6), "undecided"),
        ("five processes", states(few, States::One), "undecided: fewer than 6 processes"),
        ("three launch tiles judged in six", states(chosen, States::One), "undecided: fewer than 7 processes"),
        (
            "time says yes, cycles no",
            case(Err(String::new()), vec![product(Some(0.9), cycles(ratio(1.2, 1.4)))]),
            "undecided: time and cycles disagree",
        ),
        (
            "a state that gives another word",
            states(fast, matched(Some(fast), vec![pair(Some(fast), 1.6, 1.7), pair(None, 1.1, 1.3)])),
            "undecided: clock states",
        ),
        (
            "modes whose pairs differ",
            states(fast, States::Unmatched(vec![pair(Some(fast), 1.6, 1.7), pair(None, 1.1, 1.3)])),
            "undecided: clock states",
        ),
        ("no state in common", states(fast, matched(None, vec![])), "undecided: clock states"),
        (
            "a matched state that few processes show",
            states(fast, matched(Some(few), vec![pair(Some(few), 1.9, 2.1)])),
            "undecided: clock states",
        ),
        (
            "ceiling and product differ",
            case(Ok(plain(1.9, 2.0)), vec![product(Some(0.9), plain(1.2, 1.4))]),
            "undecided: cells disagree",
        ),
        (
            "the match has no ceiling",
            case(Err("none".into()), vec![product(None, plain(2.0, 2.1))]),
            "undecided: no ceiling",
        ),
        (
            "launch-bound",
            case(Err("none".into()), vec![product(Some(0.59), plain(2.0, 2.1))]),
            "undecided: no compute-bound cell",
        ),
        (
            "the match outruns its ceiling",
            case(Err("none".into()), vec![product(Some(1.5), plain(2.0, 2.1))]),
            "undecided: no ceiling",
        ),
        (
            "no match anywhere",
            AccelerationCase { matched: MatchedBy::Nothing, ..case(Err("none".into()), vec![]) },
            "undecided: no match",
        ),
        (
            "everything wrong",
            AccelerationCase { excluded: vec!["512: wrong".into()], ..case(Err("none".into()), vec![]) },
            "undecided: no cell counts",
        ),
    ];
    for (name, case, word) in table {
        let ruling = accelerated(&case, &thresholds());
        assert_eq!(ruling.word.to_string(), word, "{name}: {}", ruling.words);
        let named = ruling.words.contains("withheld by its states: ");
        assert_eq!(named, word == "undecided: clock states", "{name}: {}", ruling.words);
    }
}

#[test]
fn the_states_that_withhold_a_word_are_named_and_only_where_it_is_withheld() {
    let (fast, wide) = (ratio(1.6, 1.8), ratio(1.4, 1.8));
    let of = |ours, ratio, low, high| StatePair { ours, ..pair(ratio, low, high) };
    let differ = States::Unmatched(vec![of(0, Some(fast), 1.6, 1.7), of(1, None, 1.1, 1.3)]);
    let agree = States::Unmatched(vec![of(0, Some(fast), 1.6, 1.7), of(1, None, 1.6, 1.9)]);
    let said = |time, states_of| accelerated(&states(time, states_of), &thresholds()).words;
    let words = said(fast, differ);
    assert!(words.ends_with("withheld by its states: 0:0 above 1.5, 1:0 below 1.5, all together above 1.5"), "{words}");
    let words = said(wide, agree);
    assert!(words.ends_with("0:0 above 1.5, 1:0 above 1.5, all together on both sides of 1.5"), "{words}");
    let words = said(fast, matched(None, vec![]));
    assert!(words.ends_with("withheld by its states: too few processes show one on both sides"), "{words}");

    // A word that is given is not withheld.
    let product = |name: &str, comparison| RivalCase { name: name.into(), share: Some(0.9), comparison };
    let against = |products| BaselineCase::Present { subject: "tiled f16,f16->f32".into(), products };
    let mixed = || {
        let pairs = vec![of(0, Some(ratio(1.2, 1.3)), 1.2, 1.3), of(1, None, 0.9, 0.91)];
        Comparison { time: ratio(1.2, 1.3), cycles: None, states: States::Unmatched(pairs) }
    };
    let ruling = win(&[(Baseline::B, against(vec![product("2048", mixed())]))], &thresholds());
    assert_eq!(ruling.word, Win::Undecided(Doubt::ClockStates));
    assert!(ruling.words.contains("B 2048 withheld by its states: 0:0 above 1.1, 1:0 below 1.1"), "{}", ruling.words);
    let lost = vec![product("2048", mixed()), product("1024", plain(0.8, 0.9))];
    let ruling = win(&[(Baseline::B, against(lost))], &thresholds());
    assert_eq!(ruling.word, Win::No);
    assert!(!ruling.words.contains("withheld"), "{}", ruling.words);
}

#[test]
fn sentences_name_what_was_absent() {
    let bound = case(Ok(plain(1.9, 2.0)), vec![product(Some(0.3), plain(0.5, 0.6))]);
    let ruling = accelerated(&bound, &thresholds());
    assert_eq!(ruling.word, Acceleration::Accelerated);
    assert!(ruling.words.contains("launch-bound or bandwidth-bound: match at 30 % of its ceiling"), "{}", ruling.words);
    assert!(ruling.words.contains("the ceiling speaks alone"), "{}", ruling.words);
    let elsewhere = AccelerationCase { matched: MatchedBy::FastestPath("wgmma".into()), ..only(1.6, 1.7) };
    let words = accelerated(&elsewhere, &thresholds()).words;
    assert!(words.contains("no match on the same path: compared with the match on wgmma"), "{words}");
    assert!(words.contains("no ceiling ratio: the candidate has no ceiling loop here"), "{words}");
    let excluded = AccelerationCase { excluded: vec!["512 launch tile 8x8: crashed".into()], ..only(1.6, 1.7) };
    assert!(accelerated(&excluded, &thresholds()).words.contains("left out: 512 launch tile 8x8: crashed"));
}

fn rival(share: Option<f64>, low: f64, high: f64) -> BaselineCase {
    let products = vec![RivalCase { name: "2048".into(), share, comparison: plain(low, high) }];
    BaselineCase::Present { subject: "tiled f16,f16->f32".into(), products }
}

#[test]
fn every_win_word_is_reached() {
    let absent = || BaselineCase::Absent("the plan names none".into());
    type Case = (Vec<(Baseline, BaselineCase)>, Win, &'static str);
    let table: Vec<Case> = vec![
        (vec![(Baseline::B, rival(Some(0.9), 1.1, 1.2))], Win::Over(vec![Baseline::B]), "win over B"),
        (
            vec![
                (Baseline::B, rival(Some(0.9), 3.0, 3.1)),
                (Baseline::C, rival(Some(0.9), 1.2, 1.3)),
                (Baseline::D, absent()),
            ],
            Win::Over(vec![Baseline::B, Baseline::C]),
            "win over B, C",
        ),
        (
            vec![(Baseline::B, rival(Some(0.9), 3.0, 3.1)), (Baseline::C, rival(Some(0.9), 1.0, 1.09))],
            Win::No,
            "no win",
        ),
        (vec![(Baseline::B, rival(Some(0.9), 1.0, 1.2))], Win::Undecided(Doubt::Straddles), "undecided"),
        (vec![(Baseline::B, absent())], Win::Undecided(Doubt::NoBaseline), "undecided: no baseline"),
        (vec![], Win::Undecided(Doubt::NoBaseline), "undecided: no baseline"),
        (vec![(Baseline::B, rival(None, 2.0, 2.1))], Win::Undecided(Doubt::NoCeiling), "undecided: no ceiling"),
        (
            vec![(Baseline::B, rival(Some(0.1), 2.0, 2.1))],
            Win::Undecided(Doubt::NothingDecides),
            "undecided: no compute-bound cell",
        ),
        (
            vec![(Baseline::B, rival(Some(0.9), 3.0, 3.1)), (Baseline::D, BaselineCase::Itself)],
            Win::Baseline(vec![Baseline::D]),
            "baseline D",
        ),
    ];
    for (cases, word, text) in table {
        let ruling = win(&cases, &thresholds());
        assert_eq!((&ruling.word, ruling.word.to_string().as_str()), (&word, text), "{}", ruling.words);
    }
    let named = win(&[(Baseline::B, rival(Some(0.9), 2.0, 2.1)), (Baseline::C, absent())], &thresholds());
    assert!(named.words.ends_with("C absent: the plan names none"), "{}", named.words);
}

fn rail(coverage: Coverage, known: Option<bool>, path: Option<bool>) -> Rail {
    Rail { name: format!("{coverage:?}"), coverage, moved_by_known_load: known, moved_by_path: path }
}

#[test]
fn every_place_is_reached_with_its_count_of_signals() {
    let no = || Err("not measured".to_owned());
    let rails = |rails: Vec<Rail>| Ok(rails);
    let (yes, still) = (Some(true), Some(false));
    let table: Vec<(PathSignals, Place, usize, &str)> = vec![
        (
            PathSignals { ceiling: no(), shootout: no(), rails: Err("no meter".into()), one_place: false },
            Place::Undetermined,
            0,
            "unmeasured",
        ),
        (
            PathSignals {
                ceiling: Ok(plain(0.4, 0.5)),
                shootout: Ok(plain(1.05, 1.21)),
                rails: Err("no meter".into()),
                one_place: false,
            },
            Place::ShaderCores,
            2,
            "unmeasured",
        ),
        (
            PathSignals {
                ceiling: Ok(plain(3.0, 3.1)),
                shootout: Ok(plain(2.0, 2.1)),
                rails: Err("no meter".into()),
                one_place: false,
            },
            Place::DedicatedUnit,
            2,
            "unmeasured",
        ),
        (
            PathSignals {
                ceiling: Ok(plain(0.4, 0.5)),
                shootout: Ok(plain(1.0, 1.2)),
                rails: rails(vec![rail(Coverage::ShaderCores, yes, yes), rail(Coverage::DedicatedUnit, yes, still)]),
                one_place: false,
            },
            Place::ShaderCores,
            3,
            "shader cores",
        ),
        // A dedicated rail that no known load ever moved may be blind: its silence is no signal.
        (
            PathSignals {
                ceiling: Ok(plain(0.4, 0.5)),
                shootout: no(),
                rails: rails(vec![rail(Coverage::ShaderCores, yes, yes), rail(Coverage::DedicatedUnit, None, still)]),
                one_place: false,
            },
            Place::Undetermined,
            1,
            "ambiguous",
        ),
        (
            PathSignals {
                ceiling: no(),
                shootout: Ok(plain(2.0, 2.1)),
                rails: rails(vec![rail(Coverage::DedicatedUnit, yes, yes), rail(Coverage::ShaderCores, yes, still)]),
                one_place: false,
            },
            Place::DedicatedUnit,
            2,
            "dedicated unit",
        ),
        (
            PathSignals {
                ceiling: Ok(plain(0.4, 0.5)),
                shootout: Ok(plain(2.0, 2.1)),
                rails: rails(vec![rail(Coverage::Both, yes, yes)]),
                one_place: false,
            },
            Place::Undetermined,
            1,
            "ambiguous",
        ),
        (
            PathSignals {
                ceiling: Ok(plain(0.9, 1.1)),
                shootout: Ok(plain(1.4, 1.6)),
                rails: rails(vec![rail(Coverage::ShaderCores, still, still)]),
                one_place: false,
            },
            Place::Undetermined,
            0,
            "unmeasured",
        ),
    ];
    for (signals, place, count, energy) in table {
        let ruling = where_it_runs(&signals, &thresholds());
        assert_eq!(ruling.word, (place, count), "{}", ruling.words);
        assert!(ruling.words.starts_with(&format!("{count} of 3 signals")), "{}", ruling.words);
        assert_eq!(signals.readings(&thresholds())[2].1.to_string(), energy);
    }
    let one_place = PathSignals {
        ceiling: Ok(plain(3.0, 3.1)),
        shootout: Ok(plain(0.9, 1.1)),
        rails: Err("no meter".into()),
        one_place: true,
    };
    assert_eq!(where_it_runs(&one_place, &thresholds()).word, (Place::Undetermined, 0));
    let blind = PathSignals {
        ceiling: no(),
        shootout: no(),
        rails: rails(vec![rail(Coverage::ShaderCores, still, yes), rail(Coverage::DedicatedUnit, None, yes)]),
        one_place: false,
    };
    let [.., (_, SignalReading::Unmeasured(words))] = blind.readings(&thresholds()) else {
        panic!("blind rails spoke")
    };
    assert_eq!(
        words,
        "DedicatedUnit is blind: no known load was tried; ShaderCores is blind: a known load did not move it"
    );
}

#[test]
fn odd_ratios_give_no_ratio() {
    for odd in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert_eq!(Ratio::over(&[1.0, odd], 1), None);
    }
    assert_eq!(Ratio::over(&[], 1), None);
    assert_eq!(Ratio::over(&[1.0; 6], usize::MAX).map(|ratio| ratio.decisive), Some(None));
}

fn any_ratio() -> impl Strategy<Value = Ratio> {
    (prop::collection::vec(0.3f64..4.0, 1..12), 1usize..4)
        .prop_map(|(ratios, choices)| Ratio::over(&ratios, choices).expect("positive ratios"))
}

fn any_states() -> impl Strategy<Value = States> {
    let pair = (any_ratio(), any::<bool>(), 0.3f64..2.0, 1.0f64..2.0).prop_map(|(ratio, shown, lowest, widen)| {
        StatePair { ours: 0, theirs: 1, ratio: shown.then_some(ratio), lowest, highest: lowest * widen }
    });
    (0..4u8, prop::option::of(any_ratio()), prop::collection::vec(pair, 0..4)).prop_map(|(kind, inside, pairs)| {
        match kind {
            0 => States::Matched { inside, pairs },
            1 => States::Unmatched(pairs),
            _ => States::One,
        }
    })
}

fn any_comparison() -> impl Strategy<Value = Comparison> {
    (any_ratio(), prop::option::of(any_ratio()), any_states()).prop_map(|(time, cycles, states)| Comparison {
        time,
        cycles,
        states,
    })
}

fn any_case() -> impl Strategy<Value = AccelerationCase> {
    let product = (prop::option::of(0.0f64..1.2), any_comparison()).prop_map(|(share, c)| product(share, c));
    let ceiling = prop::option::of(any_comparison()).prop_map(|c| c.ok_or_else(|| "none".to_owned()));
    (ceiling, prop::collection::vec(product, 0..4), any::<bool>()).prop_map(|(ceiling, products, sign)| {
        let signs = if sign { vec![EmulationSign::Conversions("cvt".into())] } else { vec![] };
        AccelerationCase { signs, ..case(ceiling, products) }
    })
}

/// The same comparison had the candidate been `by` times as fast.
fn raised(comparison: &Comparison, by: f64) -> Comparison {
    let ratio = |mut ratio: Ratio| {
        ratio.value *= by;
        for interval in [&mut ratio.interval, &mut ratio.decisive].into_iter().flatten() {
            interval.low *= by;
            interval.high *= by;
        }
        ratio
    };
    let pair = |pair: &StatePair| StatePair {
        ratio: pair.ratio.map(ratio),
        lowest: pair.lowest * by,
        highest: pair.highest * by,
        ..*pair
    };
    let states = match &comparison.states {
        States::One => States::One,
        States::Matched { inside, pairs } => matched(inside.map(ratio), pairs.iter().map(pair).collect()),
        States::Unmatched(pairs) => States::Unmatched(pairs.iter().map(pair).collect()),
    };
    Comparison { time: ratio(comparison.time), cycles: comparison.cycles.map(ratio), states }
}

fn raise(case: &AccelerationCase, by: f64) -> AccelerationCase {
    let mut case = case.clone();
    case.ceiling = case.ceiling.as_ref().map(|comparison| raised(comparison, by)).map_err(Clone::clone);
    case.products.iter_mut().for_each(|product| product.comparison = raised(&product.comparison, by));
    case
}

proptest! {
    #[test]
    fn a_faster_candidate_is_never_less_accelerated(case in any_case(), by in 1.0f64..3.0) {
        let before = accelerated(&case, &thresholds()).word;
        let after = accelerated(&raise(&case, by), &thresholds()).word;
        if before == Acceleration::Accelerated {
            prop_assert_eq!(after, Acceleration::Accelerated);
        }
        if after.is_not_accelerated() {
            prop_assert!(before.is_not_accelerated(), "{} became {}", before, after);
        }
    }

    #[test]
    fn the_order_of_products_is_irrelevant(case in any_case()) {
        let mut reversed = case.clone();
        reversed.products.reverse();
        prop_assert_eq!(accelerated(&case, &thresholds()).word, accelerated(&reversed, &thresholds()).word);
    }

    #[test]
    fn a_further_cell_never_makes_a_word_out_of_doubt(case in any_case(), more in any_comparison()) {
        let before = accelerated(&case, &thresholds()).word;
        let mut longer = case.clone();
        longer.products.push(product(Some(0.9), more));
        let after = accelerated(&longer, &thresholds()).word;
        let had_a_deciding_cell = !matches!(before, Acceleration::Undecided(Doubt::NoMatch | Doubt::NoCeiling | Doubt::NothingDecides));
        if let (Acceleration::Undecided(_), true) = (before, had_a_deciding_cell) {
            prop_assert!(matches!(after, Acceleration::Undecided(_)), "{} became {}", before, after);
        }
    }

    #[test]
    fn a_word_needs_an_interval_on_one_side(case in any_case()) {
        let word = accelerated(&case, &thresholds()).word;
        let measures = thresholds().ceiling_share..=1.0 + thresholds().plateau;
        let decides = |share: Option<f64>| share.is_some_and(|share| measures.contains(&share));
        let deciding = case.ceiling.iter().chain(case.products.iter().filter(|p| decides(p.share)).map(|p| &p.comparison));
        let ranges: Vec<(f64, f64)> = deciding.flat_map(Comparison::ranges).collect();
        match word {
            Acceleration::Accelerated => prop_assert!(ranges.iter().all(|&(low, _)| low >= 1.5)),
            Acceleration::Undecided(_) => {}
            _ => prop_assert!(ranges.iter().all(|&(_, high)| high < 1.5)),
        }
    }

    #[test]
    fn an_interval_over_processes_holds_its_median(ratios in prop::collection::vec(0.1f64..10.0, 6..40)) {
        let ratio = Ratio::over(&ratios, 1).expect("positive ratios");
        let interval = ratio.interval.expect("six or more");
        prop_assert!(interval.low <= ratio.value && ratio.value <= interval.high);
        let mut reversed = ratios.clone();
        reversed.reverse();
        prop_assert_eq!(Ratio::over(&reversed, 1), Some(ratio));
    }
}
