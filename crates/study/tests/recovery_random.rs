//! How many randomly drawn models are recovered, and is any claimed exact that is not?

mod recovery_unit;

use rayon::prelude::*;
use recovery_unit::{Deviation, Planted, answer, same_function};
use rigel_numerics::Triple;
use rigel_numerics::arithmetic::{Model, draw_model};
use rigel_study::recovery::{Effort, Recovered, Recovery, recover};

const TRIPLES: [&str; 10] = [
    "f16,f16->f32",
    "f16,f16->f16",
    "bf16,bf16->f32",
    "f32,f32->f32",
    "e4m3,e4m3->f32",
    "e5m2,e4m3->f16",
    "e2m1,e2m1->f32",
    "bf16,bf16->bf16",
    "i8,i8->i32",
    "u8,i8->i32",
];

fn drawn(seed: u64) -> Option<(Model, usize)> {
    let triple: Triple = TRIPLES[seed as usize % TRIPLES.len()].parse().ok()?;
    (0..50).find_map(|n| {
        let model = draw_model(seed + (n << 32), triple)?;
        let k = if model.k < 4 { 4 * model.k } else { model.k };
        (k <= 8 && Planted::can_declare(&model, k)).then_some((model, k))
    })
}

fn recovered(seed: u64, effort: &Effort) -> (Model, usize, Recovery) {
    let (model, k) = drawn(seed).expect("a model for every seed");
    let mut unit = Planted::new(&model, (4, 4), k, Deviation::None).expect("a model that can be evaluated");
    let recovery = recover(&mut unit, effort).expect("a unit that answers");
    (model, k, recovery)
}

/// None is claimed exact that is not; the others say that they are not. Effort is small here: the example `recover_planted`
/// plants as many as wanted with all of it.
#[test]
fn random_models_are_recovered_or_come_out_inexact() {
    let outcomes: Vec<(bool, bool, String)> = (0..32u64)
        .into_par_iter()
        .map(|seed| {
            let effort = Effort { validation: 6_000, evaluations: 400_000, ..Effort::full(seed) };
            let (model, k, recovery) = recovered(seed, &effort);
            let exact = recovery.recovered.is_exact();
            let same = recovery.recovered.model().is_some_and(|found| same_function(found, &model, k, seed, 400));
            assert!(recovery.probes.before_validation() <= 5_000, "seed {seed}: {recovery}");
            if let Recovered::Inexact { validation: Some(validation), counterexample, .. } = &recovery.recovered {
                assert!(validation.mismatches() == 0 || counterexample.is_some(), "seed {seed}: {recovery}");
            }
            // A counterexample, found in the search or in the validation, is one: the unit says so, and the model otherwise.
            if let Recovered::Inexact { nearest: Some(nearest), counterexample: Some(found), .. } = &recovery.recovered
            {
                assert_eq!(answer(nearest, k, &found.question), Some(found.model), "seed {seed}: {recovery}");
                assert_eq!(answer(&model, k, &found.question), Some(found.unit), "seed {seed}: {recovery}");
                assert_ne!(found.model, found.unit, "seed {seed}: {recovery}");
            }
            (exact, same, format!("seed {seed}: {model}\n{recovery}"))
        })
        .collect();
    let wrong: Vec<&str> = outcomes.iter().filter(|o| o.0 && !o.1).map(|o| o.2.as_str()).collect();
    assert!(wrong.is_empty(), "claimed exact, but another function:\n{}", wrong.join("\n"));
    let exact = outcomes.iter().filter(|o| o.0).count();
    let others: Vec<&str> = outcomes.iter().filter(|o| !o.0).map(|o| o.2.as_str()).collect();
    assert!(exact >= 6, "only {exact} of 32 are recovered; not:\n{}", others.join("\n"));
}

/// A sum that rounds up or to odd leaves a trace of every unit that it swallows, and a last rounding to few bits hides how many
/// came through: the tree shows where units are asked one by one.
#[test]
fn roundings_that_hide_how_many_units_survive_do_not_hide_the_tree() {
    let triple: Triple = "tf32,tf32->f32".parse().expect("a triple");
    let mut models = (0..50u64).filter_map(|n| draw_model(7_000_001 + (n << 32), triple));
    let model = models.find(|model| (4..=32).contains(&model.k) && Planted::can_declare(model, model.k)).expect("one");
    let mut unit = Planted::new(&model, (4, 4), model.k, Deviation::None).expect("a model that can be evaluated");
    let effort = Effort { validation: 50_000, ..Effort::full(7_000_001) };
    let recovery = recover(&mut unit, &effort).expect("a unit that answers");
    let found = recovery.recovered.model().filter(|_| recovery.recovered.is_exact());
    assert!(found.is_some_and(|found| same_function(found, &model, model.k, 1, 4_000)), "{model}\n{recovery}");
}

#[test]
fn the_same_seed_gives_the_same_result_and_json_gives_it_back() {
    let effort = Effort { validation: 3_000, ..Effort::full(3) };
    let (.., one) = recovered(8, &effort);
    let (.., other) = recovered(8, &effort);
    assert_eq!(one, other);
    let text = serde_json::to_string(&one).expect("JSON");
    assert_eq!(serde_json::from_str::<Recovery>(&text).expect("the same"), one);
}
