//! Are units that no model describes found out, as long as their deviations are not rarer than the printed bound?

mod recovery_unit;

use recovery_unit::{Deviation, Planted, answer};
use rigel_numerics::arithmetic::{Evaluator, Model, library};
use rigel_study::recovery::{Dependence, Effort, Recovered, Recovery, Why, recover};

fn published(name: &str) -> Model {
    library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`")).model.clone()
}

fn hopper() -> Model {
    published("hopper mma f16 to f32, floored")
}

fn tried(model: &Model, k: usize, deviation: Deviation, validation: u64) -> Recovery {
    let mut unit = Planted::new(model, (4, 4), k, deviation).expect("a model that can be evaluated");
    let effort = Effort { validation, evaluations: 4_000_000, ..Effort::full(21) };
    recover(&mut unit, &effort).expect("a unit that answers")
}

fn unsteady(recovery: &Recovery) -> Dependence {
    match &recovery.recovered {
        Recovered::Inexact { why: Why::Unsteady(unsteady), .. } => unsteady.on,
        _ => panic!("it should be unsteady: {recovery}"),
    }
}

#[test]
fn an_honest_unit_is_exact() {
    let recovery = tried(&hopper(), 16, Deviation::None, 12_000);
    assert!(recovery.recovered.is_exact(), "{recovery}");
    let said = recovery.to_string();
    assert!(said.contains("exact: 0 of 12") && said.contains("95 % confidence"), "{said}");
}

#[test]
fn moods_are_seen_at_once_or_in_the_validation() {
    assert_eq!(unsteady(&tried(&hopper(), 16, Deviation::Random(40), 6_000)), Dependence::Repetition);
    // Rarely enough to pass the repetitions, often enough for the bound.
    let recovery = tried(&hopper(), 16, Deviation::Random(4_000), 120_000);
    assert!(!recovery.recovered.is_exact(), "{recovery}");
}

#[test]
fn one_wrong_element_is_named() {
    let recovery = tried(&hopper(), 16, Deviation::Element(2, 3), 6_000);
    assert_eq!(unsteady(&recovery), Dependence::Element);
    assert!(recovery.to_string().contains("(2, 3)"), "{recovery}");
}

#[test]
fn leaking_rows_are_seen() {
    let on = unsteady(&tried(&hopper(), 16, Deviation::Neighbours, 6_000));
    assert!(matches!(on, Dependence::Element | Dependence::Neighbours), "{on}");
}

/// A deviation that depends on the data at a rate of 10⁻⁴ is found by 3·10⁵ fresh products.
#[test]
fn data_that_is_treated_otherwise_is_found() {
    for rate in [50, 10_000] {
        let recovery = tried(&hopper(), 16, Deviation::ByData(rate), 300_000);
        let Recovered::Inexact { nearest: Some(nearest), counterexample: Some(found), .. } = &recovery.recovered else {
            panic!("rate 1 in {rate}: {recovery}");
        };
        assert_ne!(found.model, found.unit);
        assert_eq!(answer(nearest, 16, &found.question), Some(found.model), "rate 1 in {rate}: {recovery}");
    }
}

/// A deviation far rarer than the bound may come out exact; then the bound says so.
#[test]
fn what_is_rarer_than_the_bound_is_within_it() {
    let recovery = tried(&hopper(), 16, Deviation::ByData(1 << 40), 6_000);
    let Recovered::Exact { validation, .. } = &recovery.recovered else { panic!("{recovery}") };
    assert!(validation.distributions.iter().all(|t| t.bound >= 3.0 / 1_100.0 && t.mismatches == 0));
}

/// Above k = 64 another model goes on: no chain of equal steps.
#[test]
fn a_model_that_changes_over_k_is_inexact() {
    let (below, above) = (hopper(), published("ampere f16 to f32, floored"));
    let evaluators = [&below, &above].map(|model| Box::new(Evaluator::new(model, 32).expect("an evaluator")));
    let [below_half, above_half] = evaluators;
    let recovery = tried(&below, 64, Deviation::Above(32, below_half, above_half), 6_000);
    assert!(!recovery.recovered.is_exact(), "{recovery}");
}
