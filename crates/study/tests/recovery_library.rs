//! Is every published model recovered as a function from a unit that computes it?

mod recovery_unit;

use rayon::prelude::*;
use recovery_unit::{Deviation, Planted, same_function};
use rigel_numerics::arithmetic::{Model, library};
use rigel_study::recovery::{Effort, recover};

/// Published models without repetitions: devices share many.
fn distinct() -> Vec<(&'static str, Model)> {
    let mut found: Vec<(&str, Model)> = Vec::new();
    for published in library() {
        if !found.iter().any(|(_, model)| *model == published.model) {
            found.push((&published.name, published.model.clone()));
        }
    }
    found
}

#[test]
fn every_published_model_is_recovered() {
    let failures: Vec<String> = distinct()
        .into_par_iter()
        .filter_map(|(name, model)| {
            // Short instructions are repeated, so that their order over k shows.
            let k = if model.k < 4 { 4 } else { model.k };
            let mut unit = Planted::new(&model, (4, 4), k, Deviation::None).expect("a model that can be evaluated");
            let effort = Effort { validation: 6_000, ..Effort::full(5) };
            let recovery = recover(&mut unit, &effort).expect("a unit that answers");
            let recovered = recovery.recovered.model().expect("a model");
            let right = recovery.recovered.is_exact() && same_function(recovered, &model, k, 11, 1_000);
            let frugal = recovery.probes.before_validation() <= 5_000;
            (!right || !frugal).then(|| format!("{name}: {model}\n{recovery}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
