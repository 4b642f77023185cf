//! Are published models recovered from units that compute them, as functions and with their parameters in the printed class?

mod recovery_unit;

use rayon::prelude::*;
use recovery_unit::{Deviation, Planted, same_function};
use rigel_numerics::arithmetic::library;
use rigel_study::recovery::{Effort, recover};

/// One of each kind that is published; the example `recover_planted` plants all of them.
const NAMES: [&str; 11] = [
    "volta f16 to f32",
    "ampere bf16 to f32, floored",
    "ada e4m3 to f16",
    "hopper mma f16 to f32, floored",
    "hopper wgmma e4m3 to f32",
    "blackwell e2m1 to f32",
    "cdna1 bf16 to f32, pairwise",
    "cdna3 f16 to f32, 4 products",
    "f32 fma ascending",
    "vdpbf16ps",
    "vpdpbusds",
];

#[test]
fn published_models_are_recovered() {
    let failures: Vec<String> = NAMES
        .into_par_iter()
        .filter_map(|name| {
            let published = library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`"));
            let model = &published.model;
            // Short instructions are repeated, so that their order over k shows.
            let k = if model.k < 4 { 4 } else { model.k };
            let mut unit = Planted::new(model, (4, 4), k, Deviation::None).expect("a model that can be evaluated");
            let effort = Effort { validation: 6_000, evaluations: 16_000_000, ..Effort::full(5) };
            let recovery = recover(&mut unit, &effort).expect("a unit that answers");
            let recovered = recovery.recovered.model().expect("a model");
            let right = recovery.recovered.is_exact() && same_function(recovered, model, k, 11, 1_000);
            let frugal = recovery.probes.before_validation() <= 5_000;
            let outside = recovery.recovered.unlisted(model).unwrap_or_default();
            (!right || !frugal || !outside.is_empty()).then(|| format!("{name}: {model}\n{recovery}\n{outside:?}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
