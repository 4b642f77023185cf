//! Which of the twelve rules of Hoefler and Belli does this run keep?
//!
//! The rules are those of *Scientific Benchmarking of Parallel Computing Systems* (SC '15), told here in our own words.
//! Every answer is computed from the files; where the files cannot show it, the rule is `fail`, never assumed.

use crate::numbers::{count, counted, counted_as};
use crate::reading::Reading;
use rigel_ledger::rows::Work;
use rigel_numerics::Triple;
use std::collections::BTreeSet;

/// How a run stands to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Pass,
    Fail,
    NotApplicable,
}

impl Answer {
    pub const fn word(self) -> &'static str {
        match self {
            Answer::Pass => "pass",
            Answer::Fail => "fail",
            Answer::NotApplicable => "not applicable",
        }
    }

    fn of(holds: bool) -> Self {
        if holds { Answer::Pass } else { Answer::Fail }
    }
}

/// One rule, what was found and why.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    pub number: usize,
    pub asks: &'static str,
    pub answer: Answer,
    pub reason: String,
}

/// What the rules look at, counted once.
#[derive(Debug, Default)]
struct Counts {
    timed: usize,
    with_interval: usize,
    distribution_free: usize,
    with_modes: usize,
    with_autocorrelation: usize,
    with_warmup: usize,
    with_stop: usize,
    short: usize,
    cut_short: usize,
    no_row_reason: usize,
    not_counted: usize,
    rates: usize,
    rates_with_interval: usize,
    rates_of_one_size: usize,
    ratios: usize,
    ratios_of_one_size: usize,
    ratios_with_base: usize,
    ratios_with_interval: usize,
    pairs: usize,
    without_ceiling: usize,
    modes_facts: usize,
}

pub(crate) fn rules(reading: &Reading<'_>) -> Vec<Rule> {
    let counts = counts(reading);
    let source = reading.source;
    let incomplete = source.incomplete();
    let n = count;
    let some = |k: usize, answer: Answer| if k == 0 { Answer::NotApplicable } else { answer };
    let cores: Vec<String> = source
        .provenance
        .iter()
        .map(|p| format!("{} of {} logical processors in use", p.device.cores, p.host.logical_cpus))
        .collect();
    let all_cores =
        source.provenance.iter().all(|p| p.device.cores >= p.host.logical_cpus || p.device.backend != "cpu");
    let mut rules = Vec::new();
    let mut rule = |asks, answer, reason: String| {
        rules.push(Rule { number: rules.len() + 1, asks, answer, reason });
    };
    rule(
        "A speed-up names its base case, and the base case's own performance is given.",
        some(counts.ratios, Answer::of(counts.ratios == counts.ratios_with_base)),
        format!(
            "{} of {} stand beside a rate of the same path and triple, in op/s.",
            n(counts.ratios_with_base),
            counted(counts.ratios, "ratio")
        ),
    );
    rule(
        "Where only a part was run, or not all of the machine was used, the reason is given.",
        Answer::of(counts.no_row_reason == 0 && !source.cells.is_empty()),
        format!(
            "{} did not count, {} of them without a reason; {}{}.",
            counted(counts.not_counted, "row"),
            n(counts.no_row_reason),
            if cores.is_empty() { "no provenance".to_owned() } else { cores.join(", ") },
            if all_cores { "" } else { " as the selector asks" }
        ),
    );
    rule(
        "Rates are not averaged arithmetically.",
        some(counts.rates, Answer::of(counts.rates == counts.rates_of_one_size)),
        format!(
            "A rate is operations over the median time of one configuration; {} of {} name the one size they hold for.",
            n(counts.rates_of_one_size),
            counted(counts.rates, "rate")
        ),
    );
    rule(
        "Ratios are not summarised; what they are made of is.",
        some(counts.ratios, Answer::of(counts.ratios == counts.ratios_of_one_size)),
        format!(
            "{} of {} stand for one size and one rival; none is a mean over different sizes.",
            n(counts.ratios_of_one_size),
            counted(counts.ratios, "ratio")
        ),
    );
    rule(
        "Whether results are deterministic is said, and spread comes with an interval.",
        some(
            counts.timed,
            Answer::of(counts.with_interval == counts.timed && counts.rates == counts.rates_with_interval),
        ),
        format!(
            "{} of {} and {} of {} carry a 95 % interval.",
            n(counts.with_interval),
            counted(counts.timed, "timed row"),
            n(counts.rates_with_interval),
            counted(counts.rates, "rate")
        ),
    );
    rule(
        "Normality is not assumed.",
        some(counts.timed, Answer::of(counts.distribution_free == counts.timed)),
        format!(
            "{} of {} have both an order-statistic and a bootstrap interval of the median; no standard deviation is used.",
            n(counts.distribution_free),
            counted(counts.timed, "timed row")
        ),
    );
    rule(
        "Comparisons are statistically sound.",
        some(counts.ratios, Answer::of(counts.ratios == counts.ratios_with_interval)),
        format!(
            "{} of {} have an interval over fresh processes; the plan asks for {}.",
            n(counts.ratios_with_interval),
            counted(counts.ratios, "ratio"),
            counted_as(source.plan.sampling.processes as usize, "process", "processes")
        ),
    );
    rule(
        "Whether a median tells enough is examined.",
        some(counts.timed, Answer::of(counts.modes_facts == counts.rates)),
        format!(
            "{} of {} looked at for modes; {} of them have more than one, or a tail, and show each.",
            n(counts.modes_facts),
            counted(counts.rates, "rate"),
            n(counts.with_modes),
        ),
    );
    rule(
        "Everything varied and the whole set-up are documented.",
        Answer::of(incomplete.is_empty()),
        if incomplete.is_empty() {
            "Every required field of provenance is there; the plan lists each axis and is hashed before the first cell."
                .to_owned()
        } else {
            format!("Missing: {}.", incomplete.join(", "))
        },
    );
    rule(
        "How parallel times are measured, synchronised and summarised is said.",
        some(counts.timed, Answer::of(counts.with_stop == counts.timed && counts.with_warmup == counts.timed)),
        format!(
            "One repetition is one whole product by the device's timer, joined over all cores; {} of {} name warm-up and why sampling ended, {} their autocorrelation; {} below the plan's minimum, {} stopped by budget.",
            n(counts.with_stop.min(counts.with_warmup)),
            counted(counts.timed, "timed row"),
            n(counts.with_autocorrelation),
            n(counts.short),
            n(counts.cut_short)
        ),
    );
    rule(
        "Results stand beside an upper bound.",
        some(counts.rates, Answer::of(counts.without_ceiling == 0)),
        format!(
            "{} of {} of path and type triple with a rate have an accepted measured ceiling, drawn beside the rates.",
            n(counts.pairs - counts.without_ceiling),
            counted(counts.pairs, "pair")
        ),
    );
    let (joined, apart) = joined(reading);
    rule(
        "Plots show what is needed, and lines join only what may be interpolated.",
        some(counts.rates, Answer::of(counts.rates == counts.rates_with_interval)),
        format!(
            "Single repetitions and intervals are drawn; the sizes of {} are joined because every extent grows, those of {n_apart} are not.",
            counted(joined, "line"),
            n_apart = n(apart)
        ),
    );
    rules
}

/// Lines of the throughput figure whose sizes are joined, and those whose sizes are not ordered.
fn joined(reading: &Reading<'_>) -> (usize, usize) {
    let mut counts = (0, 0);
    for subject in &reading.subjects {
        let shapes: Vec<_> = reading.lead_facts("rate", *subject).filter_map(|f| f.shape).collect();
        match (shapes.len(), crate::reading::ordered(&shapes)) {
            (0 | 1, _) => {}
            (_, true) => counts.0 += 1,
            (_, false) => counts.1 += 1,
        }
    }
    counts
}

fn counts(reading: &Reading<'_>) -> Counts {
    let mut c = Counts::default();
    let sampling = &reading.source.plan.sampling;
    let share = sampling.minimum_repetitions.div_ceil(sampling.processes.max(1));
    for row in reading.source.cells {
        if row.outcome.answers() {
            continue;
        }
        if !row.outcome.counts() {
            c.not_counted += 1;
            c.no_row_reason += usize::from(row.reason.trim().is_empty());
            continue;
        }
        if row.work == Work::Rung || row.repetitions.is_none() {
            continue;
        }
        c.timed += 1;
        c.with_interval += usize::from(row.ci_low_ns.is_some() && row.ci_high_ns.is_some());
        let bootstrap = row.bootstrap_low_ns.is_some() && row.bootstrap_high_ns.is_some();
        c.distribution_free += usize::from(row.ci_low_ns.is_some() && row.ci_high_ns.is_some() && bootstrap);
        c.with_autocorrelation += usize::from(row.autocorrelation.is_some());
        c.with_warmup += usize::from(row.warmup.is_some());
        c.with_stop += usize::from(row.stop.is_some());
        c.short += usize::from(row.repetitions.is_some_and(|n| n < share));
        c.cut_short += usize::from(row.stop == Some(rigel_ledger::rows::Stop::Budget));
    }
    let pairs = |name: &str| -> BTreeSet<(&str, Option<Triple>)> {
        reading
            .source
            .facts
            .iter()
            .filter(|fact| fact.name == name)
            .map(|fact| (fact.path.as_str(), fact.triple))
            .collect()
    };
    let (rated, accepted) = (pairs("rate"), pairs("ceiling"));
    (c.pairs, c.without_ceiling) = (rated.len(), rated.difference(&accepted).count());
    for fact in reading.source.facts {
        let interval = fact.low.is_some() && fact.high.is_some();
        match fact.name.as_str() {
            "rate" => {
                c.rates += 1;
                c.rates_of_one_size += usize::from(fact.shape.is_some());
                c.rates_with_interval += usize::from(interval);
            }
            "modes" => {
                c.modes_facts += 1;
                c.with_modes += usize::from(fact.value != "1");
            }
            name if name.starts_with("ratio.") && name != "ratio.ceiling_match" => {
                c.ratios += 1;
                c.ratios_of_one_size += usize::from(fact.shape.is_some());
                c.ratios_with_interval += usize::from(interval);
                let subject = fact.triple.map(|triple| crate::reading::Subject { path: &fact.path, triple });
                c.ratios_with_base += usize::from(subject.is_some_and(|s| !reading.facts("rate", s).is_empty()));
            }
            _ => {}
        }
    }
    c
}
