//! Is every verdict word reached by its smallest input?

mod verdict_cases;

use rigel_ledger::verdict::{
    Acceleration, AccelerationCase, Baseline, BaselineCase, Comparison, Coverage, Doubt, EmulationSign, MatchedBy,
    PathSignals, Place, Rail, Ratio, RivalCase, SignalReading, StatePair, States, Win, accelerated, where_it_runs, win,
};
use verdict_cases::*;

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
