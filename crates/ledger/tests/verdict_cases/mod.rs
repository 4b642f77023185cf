//! Which small cases are verdict rules asked about?
#![allow(dead_code)]

use rigel_ledger::plan::{Plan, Thresholds};
use rigel_ledger::verdict::{AccelerationCase, Comparison, GemmCase, MatchedBy, Ratio, StatePair, States};

pub fn thresholds() -> Thresholds {
    Plan::planted("words").thresholds
}

pub fn ratio(low: f64, high: f64) -> Ratio {
    let ratios: Vec<f64> = (0..6).map(|p| low + (high - low) * f64::from(p) / 5.0).collect();
    Ratio::over(&ratios, 1).expect("positive ratios")
}

pub fn plain(low: f64, high: f64) -> Comparison {
    Comparison { time: ratio(low, high), cycles: None, states: States::One }
}

pub fn product(share: Option<f64>, comparison: Comparison) -> GemmCase {
    GemmCase { name: "2048x2048x2048 near-normal warm".into(), share, comparison }
}

pub fn case(ceiling: Result<Comparison, String>, products: Vec<GemmCase>) -> AccelerationCase {
    AccelerationCase { matched: MatchedBy::SamePath, ceiling, products, excluded: Vec::new(), signs: Vec::new() }
}

pub fn only(low: f64, high: f64) -> AccelerationCase {
    case(Err("the candidate has no ceiling loop here".into()), vec![product(Some(0.9), plain(low, high))])
}

pub fn pair(ratio: Option<Ratio>, lowest: f64, highest: f64) -> StatePair {
    StatePair { ours: 0, theirs: 0, ratio, lowest, highest }
}

pub fn matched(inside: Option<Ratio>, pairs: Vec<StatePair>) -> States {
    States::Matched { inside, pairs }
}

pub fn states(time: Ratio, states: States) -> AccelerationCase {
    case(Err(String::new()), vec![product(Some(0.9), Comparison { time, cycles: None, states })])
}
