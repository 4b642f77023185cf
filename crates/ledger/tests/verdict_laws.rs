//! Do the verdict rules obey the laws they promise, whatever the ratios?

mod verdict_cases;

use proptest::prelude::*;
use rigel_ledger::verdict::{
    Acceleration, AccelerationCase, Comparison, Doubt, EmulationSign, Ratio, StatePair, States, accelerated,
};
use verdict_cases::*;

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
