//! Which facts follow from the cells and samples of a run?
//!
//! [`derive()`] is the only source of `facts.csv`: nothing there is observed directly, so `verify` derives it again.
//!
//! | name | subject | value, unit, interval |
//! | --- | --- | --- |
//! | `incomplete` | the run | `provenance` or `devices`: why no verdict is given |
//! | `incomplete.parts` | the run | `yes`: verdicts stand on some shards or blocks of the plan, and the words of each name those that are missing |
//! | `incomplete.rows` | the run | rows that plan and offers ask for and that are not here; how many of how many, by block |
//! | `rung.advertised` `rung.compiles` `rung.loads` `rung.runs` `rung.right` `rung.faster` | path, triple | `yes`, `no`, `undecided` or `not tried`; the reason in words |
//! | `ceiling` | path, triple | rate of the accepted ceiling loop, `op/s` |
//! | `ceiling.per_clock` | path, triple | the same per core-clock cycle over all cores, `op/cycle` |
//! | `ceiling.plateau` | path, triple | `yes` or `no`: whether neighbours in parallelism agree |
//! | `ceiling.outrun` | path, triple | rate of a product ÷ rate of the loop of its own path and triple, which is no ceiling then |
//! | `ceiling.of_stated` | path, triple | measured ÷ stated limit |
//! | `rate` | path, triple, shape, recipe, cache | operations per second of the best launch tile, `op/s` |
//! | `rate.per_clock` | the same | `op/cycle` |
//! | `rate.of_ceiling` | the same | share of the path's own ceiling |
//! | `modes` | the same | `1`, `2`, … or `tail K of N`; the modes in words |
//! | `ratio.match_path` | the same | rate ÷ match on the same path, interval over processes |
//! | `ratio.match_device` | the same | rate ÷ match on the device's fastest path |
//! | `ratio.baseline_b` `ratio.baseline_c` `ratio.baseline_d` | the same | rate ÷ baseline |
//! | `ratio.ceiling_match` | path, triple | ceiling ÷ the match's ceiling |
//! | `verdict.acceleration` | path, triple | `accelerated`, `same rate`, `slower`, `faster`, `not accelerated`, `emulated`, `undecided`, `undecided: clock states`, … |
//! | `verdict.win` | path, triple | `win over B, C`, `no win`, `baseline D`, `undecided` |
//! | `signal.ceiling` `signal.shootout` `signal.energy` | path | what each of the three signals says, and what it could not see |
//! | `arithmetic` | path/unit, triple | `exact` or `inexact`; what the model was tested by, or why there is none |
//! | `arithmetic.model` | the same | `step`, `chain` or `join`; the exact or nearest model in words |
//! | `arithmetic.deviation` `arithmetic.deviation.normal` … | the same | outputs that the model does not predict ÷ dot products asked, over all and of each distribution; where there is none the upper end is 3 ÷ asked |
//! | `arithmetic.published` | the same | published models that predict every sampled vector |
//! | `arithmetic.undetermined` | the same | parameters that no input that was tried separates; which |
//! | `arithmetic.tiles` | the same | tiles executed before validation |
//! | `arithmetic.composed` | the same | the unit whose steps it is composed of; how, with inputs that show it |
//! | `operand.a` `operand.b` | the same | significant bits that come through, `bit` |
//! | `layout` | the same | `exact` or `inexact`; the convention, or what speaks against every map |
//! | `layout.a` `layout.b` `layout.c` `layout.d` | the same | `linear over F2`, `mixed radix` or `table`; how it covers the operand, its formula |
//! | `layout.published` | the same | published layouts that it equals |
//! | `layout.launches` | the same | launches spent |
//! | `conversion` | path/name, triple | `exact` or `inexact`; the rule in words |
//! | `conversion.deviating` | the same | codes that the rule does not explain ÷ codes converted; the first of them |
//! | `conversion.nan` | the same | words that NaN codes became |
//! | `fusion.time.fused-tanh` `fusion.time.decomposed-tanh` … | path, triple, shape, recipe, cache | time of a product with what follows it, `us` |
//! | `fusion.gain.gelu-tanh` `fusion.gain.gelu-erf` | the same | time of the fastest decomposed product over that of the fused one; `win`, `gain`, `no gain` or `undecided` begins the words |
//! | `fusion.crossing.gelu-tanh` … | path, triple | extent of a cube at which the gain ends, or why there is none |
//! | `attention.time.fused-attention` `attention.time.decomposed-attention` | the same | time of an attention, `us` |
//! | `attention.gain` | the same | time of the fastest decomposed attention over that of the fused one; its word begins the words |
//! | `attention.over_fused` | the same | time of the fastest fused attention of another path over that of this one; its word begins the words |
//! | `alignment.PLACED` | the same | `refused`, `wrong`, `slow`, `fine` or `undecided`, of the launch tile and placement that PLACED names; the verbatim words, or the ratio |
//! | `alignment.ratio.PLACED` | the same | time over that of the aligned placement |
//! | `alignment.offset.TILE` `alignment.stride.TILE` | the same | the power of two of which every multiple that was asked is taken, `B` |
//! | `version.TOOLCHAIN` | the same | `accepted`, `wrong`, `refused: compile`, `refused: load` or another outcome; what took effect, or the class of the refusal and its verbatim words |
//! | `version.bits` | the same | `same` or `differ`: whether every toolchain that is accepted gives the same output |
//! | `power.idle.METER` `meter.period.METER` | the run | power while nothing runs, `W`; time between updates of a meter, `ms` |
//! | `power.load.METER` `energy.operation.METER` | path, triple, and shape, recipe, cache of a product | power under a load, `W`; energy of an operation above idle, `pJ` |
//! | `energy.zeros.METER` | the same, of zeros | energy of an operation on zeros over that on random data |
//! | `order` | path/launch tile, triple, shape | `exact` or `inexact`: the tree of sums over K in words, or why there is none; the shape is the largest batch × columns × K |
//! | `order.dots` | the same | dot products computed for the tree |
//! | `order.batch` | the same | `independent` or `dependent`: whether the bits of row 0 change with the rows it rides with, and where |
//! | `verdict.where` | path | `shader cores`, `dedicated unit` or `undetermined`; the words begin with `k of 3 signals` |
//!
//! A cell that was `wrong` or `mistrusted` in any process enters no fact but the ladder. A cell that crashed in one
//! process counts in the others. Rates and ratios stand on the medians of whole processes.

mod alignment;
mod attention;
mod bench;
mod ceilings;
mod cells;
mod compare;
mod fusion;
mod ladder;
mod modes;
mod places;
pub mod power;
mod products;
mod rails;
mod row;
mod units;
mod verdicts;
mod versions;

use crate::asked::Asked;
use crate::parts::missing_parts;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::{CellId, CellRow, FactRow, PowerRow, Probe};
use crate::store::TextRow;
use crate::units::UnitRecord;
pub use rails::{MOVED, PhasePower, phase_powers};
use rigel_numerics::{Megahertz, Time};
use row::Subject;
use std::collections::BTreeSet;

/// Where the repetitions of a cell are read from: the store in `verify`, memory in a run.
///
/// Both calls answer for one cell in one process, in the order in which the repetitions were taken, warm-up included.
pub trait SampleSource: Sync {
    /// Device times; `None` where the cell has no repetitions in that process.
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]>;
    /// Core clocks around the same repetitions, as many as there are times; `None` unless every repetition has one.
    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]>;
}

/// Everything that facts are derived from. Rows may come in any order.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// What was asked.
    pub plan: &'a Plan,
    /// Where and with what: one record, or several after `merge`.
    pub provenance: &'a [Provenance],
    /// Every cell row of every process.
    pub cells: &'a [CellRow],
    /// The repetitions behind them.
    pub samples: &'a dyn SampleSource,
    /// Every reading of a meter.
    pub power: &'a [PowerRow],
    /// What was found of units.
    pub units: &'a [UnitRecord],
}

/// Every fact that follows from the evidence, sorted by (probe, path, triple, shape, recipe, cache, name).
///
/// Pure and deterministic: equal evidence gives equal rows, bit for bit, in whatever order the rows come. Incomplete
/// provenance leaves measured facts and takes every verdict; rows of several devices or drivers leave one fact that says
/// so, since a fact row has no column to tell them apart.
pub fn derive(evidence: &Evidence<'_>) -> Vec<FactRow> {
    let devices: BTreeSet<(&str, &str)> =
        evidence.cells.iter().map(|cell| (cell.device.as_str(), cell.driver.as_str())).collect();
    if devices.len() > 1 {
        let names: Vec<String> =
            devices.iter().map(|(device, driver)| format!("{device} with driver {driver}")).collect();
        let words = format!("rows of more than one device: {}; derive facts from each run by itself", names.join(", "));
        return vec![Subject::run(Probe::Types).word("incomplete", "devices", words, &[])];
    }
    let mut facts = Vec::new();
    let missing: BTreeSet<&str> = evidence.provenance.iter().flat_map(Provenance::missing).collect();
    let complete = !evidence.provenance.is_empty() && missing.is_empty();
    if !complete {
        let words = match evidence.provenance.is_empty() {
            true => "no provenance record: no verdict is given".to_owned(),
            false => {
                let names: Vec<&str> = missing.into_iter().collect();
                format!("missing from provenance: {}; no verdict is given", names.join(", "))
            }
        };
        facts.push(Subject::run(Probe::Types).word("incomplete", "provenance", words, &[]));
    }
    let index = cells::Index::of(evidence.cells);
    let products = products::all(&index, evidence);
    let ceilings = ceilings::all(&index, &products, evidence);
    let composed = units::composed(evidence.units);
    facts.extend(units::facts(evidence.units, &composed));
    let bench = bench::Bench::new(evidence.plan, evidence.provenance, &index, &ceilings, &products, &composed);
    facts.extend(ceilings.iter().flat_map(|ceiling| ceiling.facts(evidence)));
    facts.extend(products.iter().flat_map(|product| product.facts(&ceilings)));
    facts.extend(bench.facts(complete));
    facts.extend(ladder::facts(&index, evidence, &bench));
    facts.extend(places::facts(&bench, evidence, complete));
    facts.extend(fusion::facts(&index, evidence));
    facts.extend(attention::facts(&index, evidence));
    facts.extend(alignment::facts(&index, evidence));
    facts.extend(versions::facts(&index));
    facts.extend(power::facts(evidence));
    let parts = missing_parts(evidence.provenance);
    let short = Asked::new(evidence.plan, evidence.provenance).short(evidence.cells);
    if let Some(missing) = parts.as_ref().map(ToString::to_string).or_else(|| short.words()) {
        for fact in facts.iter_mut().filter(|fact| fact.name.starts_with("verdict.")) {
            let joint = if fact.words.is_empty() { "" } else { "; " };
            fact.words.push_str(&format!("{joint}not of the whole plan: {missing}"));
        }
    }
    if let Some(missing) = parts {
        let words = format!("{missing}; verdicts stand on the blocks that are here");
        facts.push(Subject::run(Probe::Types).word("incomplete.parts", "yes", words, &[]));
    }
    if let Some(words) = short.words() {
        facts.push(Subject::run(Probe::Types).word("incomplete.rows", short.total(), words, &[]));
    }
    // As a file holds them, so that what is derived again is what was written.
    facts.iter_mut().for_each(TextRow::tame);
    row::sort(&mut facts);
    facts
}
