//! What does a finished run say, as rows for a program?

use super::records::{Field, Form, Records};
use rigel_ledger::FactRow;
use rigel_ledger::provenance::RunKind;
use rigel_ledger::rows::name_of;
use rigel_ledger::store::Run;
use rigel_numerics::Triple;
use std::collections::BTreeSet;

/// Prints one row for each product that has a rate, or one without a shape for a path and type triple that has none. The
/// values are those of `facts.csv`; the verdicts of a path and type triple stand on each of its rows.
pub fn print(run: &Run, form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "kind",
        "path",
        "triple",
        "shape",
        "recipe",
        "cache",
        "rate_op_per_s",
        "rate_low_op_per_s",
        "rate_high_op_per_s",
        "ratio_match_device",
        "ratio_match_device_low",
        "ratio_match_device_high",
        "ratio_match_path",
        "ratio_match_path_low",
        "ratio_match_path_high",
        "rate_of_ceiling",
        "ceiling_op_per_s",
        "modes",
        "right",
        "verdict_acceleration",
        "verdict_win",
    ]);
    let simulated = run.provenance().iter().any(|record| record.kind == RunKind::Simulated);
    let kind = name_of(if simulated { &RunKind::Simulated } else { &RunKind::Measured });
    let subjects: BTreeSet<(&str, Triple)> =
        run.facts().iter().filter_map(|fact| Some((fact.path.as_str(), fact.triple?))).collect();
    for (path, triple) in subjects {
        let mine: Vec<&FactRow> =
            run.facts().iter().filter(|fact| fact.path == path && fact.triple == Some(triple)).collect();
        let named = |name: &str| mine.iter().find(|fact| fact.name == name).copied();
        let word = |name: &str| Field::from(named(name).map(|fact| fact.value.clone()));
        let rates: Vec<&FactRow> = mine.iter().filter(|fact| fact.name == "rate").copied().collect();
        let products = if rates.is_empty() { vec![None] } else { rates.into_iter().map(Some).collect() };
        for rate in products {
            let beside = |name: &str| {
                let like = |fact: &&&FactRow| {
                    fact.name == name
                        && rate.is_some_and(|r| (r.shape, r.recipe, r.cache) == (fact.shape, fact.recipe, fact.cache))
                };
                mine.iter().find(like).copied()
            };
            let [value, low, high] = numbers(rate);
            let [device, device_low, device_high] = numbers(beside("ratio.match_device"));
            let [own, own_low, own_high] = numbers(beside("ratio.match_path"));
            records.row([
                kind.as_str().into(),
                path.into(),
                triple.to_string().into(),
                rate.and_then(|fact| fact.shape).map(|shape| shape.to_string()).into(),
                rate.and_then(|fact| fact.recipe).map(|recipe| recipe.name()).into(),
                rate.and_then(|fact| fact.cache).map(|cache| name_of(&cache)).into(),
                value,
                low,
                high,
                device,
                device_low,
                device_high,
                own,
                own_low,
                own_high,
                beside("rate.of_ceiling").map_or(Field::Missing, |fact| Field::read(&fact.value)),
                named("ceiling").map_or(Field::Missing, |fact| Field::read(&fact.value)),
                beside("modes").map(|fact| fact.value.clone()).into(),
                word("rung.right"),
                word("verdict.acceleration"),
                word("verdict.win"),
            ]);
        }
    }
    records.print(form)
}

/// Value and interval of a fact.
fn numbers(fact: Option<&FactRow>) -> [Field; 3] {
    fact.map_or([Field::Missing, Field::Missing, Field::Missing], |fact| {
        [Field::read(&fact.value), fact.low.into(), fact.high.into()]
    })
}
