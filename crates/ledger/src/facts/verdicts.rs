//! Which ratios follow from the measured cells, and which words do the verdict rules give them?

use super::bench::Bench;
use super::ceilings::Ceiling;
use super::compare::{Compared, Side, compare};
use super::products::Measured;
use super::row::Subject;
use crate::rows::{CellId, FactRow, Probe};
use crate::verdict::{
    AccelerationCase, Baseline, BaselineCase, Comparison, Doubt, EmulationSign, GemmCase, MatchedBy, RivalCase,
    accelerated, win, word,
};
use rayon::prelude::*;
use rigel_numerics::Triple;
use std::collections::BTreeSet;

/// A case for the acceleration rule, and the cells behind it.
pub(super) struct Acceleration<'a> {
    pub(super) case: AccelerationCase,
    pub(super) evidence: Vec<CellId>,
    /// Those of the ceiling ratio.
    ceilings: Vec<CellId>,
    /// The path of the match's ceiling, where there is a ceiling ratio.
    other: Option<&'a str>,
}

impl<'a> Bench<'a> {
    /// Every ratio and verdict.
    pub(super) fn facts(&self, complete: bool) -> Vec<FactRow> {
        let mut facts: Vec<FactRow> =
            self.products.par_iter().flat_map_iter(|measured| self.ratios(measured)).collect();
        for (path, triple) in self.pairs() {
            let subject = Subject::triple(Probe::Throughput, path, triple);
            if self.judges(triple) {
                let Acceleration { case, evidence, ceilings, other } = self.acceleration(path, triple);
                if let Ok(comparison) = &case.ceiling {
                    let words = match other.filter(|other| *other != path) {
                        Some(other) => format!("against the match's ceiling on {other}; {comparison}"),
                        None => comparison.to_string(),
                    };
                    let value = (comparison.time.value, "");
                    facts.push(subject.number(
                        "ratio.ceiling_match",
                        value,
                        comparison.time.interval,
                        words,
                        &ceilings,
                    ));
                }
                if complete {
                    let mut ruling = accelerated(&case, &self.plan.thresholds);
                    if self.is_right_nowhere(path, triple) && !matches!(ruling.word, word::Acceleration::Undecided(_)) {
                        // A ceiling loop may be fast and right while every product is wrong: nobody can use that.
                        ruling.word = word::Acceleration::Undecided(Doubt::NoCell);
                    }
                    let word = word::written(&ruling.word, self.is_wrong_somewhere(path, triple));
                    facts.push(subject.word("verdict.acceleration", word, ruling.words, &evidence));
                }
            }
            if complete && self.products_of((path, triple)).next().is_some() {
                let (cases, evidence) = self.rivals(path, triple);
                let ruling = win(&cases, &self.plan.thresholds);
                let word = word::written(&ruling.word, self.is_wrong_somewhere(path, triple));
                facts.push(subject.word("verdict.win", word, ruling.words, &evidence));
            }
        }
        facts
    }

    fn ratios(&self, measured: &Measured<'a>) -> Vec<FactRow> {
        let Some(side) = &measured.side else { return Vec::new() };
        let subject = measured.subject(Probe::Throughput);
        let mut facts = Vec::new();
        let mut push = |name: &str, of: &Measured<'a>, other: &Side<'a>| {
            let Some(Compared { comparison, same_block }) = compare(side, other) else { return };
            let apart = if same_block { "" } else { "; measured in different blocks" };
            let words = format!("over {} {} with {comparison}{apart}", of.product.path, of.product.triple);
            let evidence: Vec<CellId> = side.evidence.iter().chain(&other.evidence).copied().collect();
            let time = comparison.time;
            facts.push(subject.number(name, (time.value, ""), time.interval, words, &evidence));
        };
        let product = measured.product;
        if self.judges(product.triple) {
            let on_path = self.find(measured, product.path, self.plan.matches.triple);
            for (name, of) in [("ratio.match_path", on_path), ("ratio.match_device", self.fastest_match(measured))] {
                if let Some(of) = of
                    && let Some(other) = &of.side
                {
                    push(name, of, other);
                }
            }
        }
        for baseline in Baseline::ALL {
            if let Ok(of) = self.baseline(measured, baseline)
                && let Some(other) = &of.side
            {
                push(baseline_name(baseline), of, other);
            }
        }
        facts
    }

    /// The case of a triple on a path against its match.
    pub(super) fn acceleration(&self, path: &'a str, triple: Triple) -> Acceleration<'a> {
        let matched = self.plan.matches.triple;
        let mut evidence: Vec<CellId> = Vec::new();
        let mut excluded = Vec::new();
        let mut products = Vec::new();
        let mut on_path = false;
        let mut elsewhere: Option<&str> = None;
        let counts = |measured: &&Measured<'a>| measured.side.is_some();
        let path_has_match = self.ceiling(path, matched).is_some_and(|ceiling| ceiling.side.is_some())
            || self.products_of((path, matched)).any(|measured| measured.side.is_some());
        for measured in self.products_of((path, triple)) {
            excluded.extend(measured.excluded.iter().map(|why| format!("{} {why}", measured.name())));
            let Some(side) = measured.side.as_ref().filter(|_| measured.can_decide()) else { continue };
            let other = match path_has_match {
                true => self.find(measured, path, matched).filter(counts),
                false => self.fastest_match(measured),
            };
            let Some(other) = other else {
                excluded.push(format!("{}: no match in this cell", measured.name()));
                continue;
            };
            let Some(other_side) = &other.side else { continue };
            let Some(Compared { comparison, same_block }) = compare(side, other_side) else {
                excluded.push(format!("{}: no process in common with the match", measured.name()));
                continue;
            };
            if !same_block {
                excluded.push(format!("{}: the match was measured in another block", measured.name()));
                continue;
            }
            match path_has_match {
                true => on_path = true,
                false => elsewhere = elsewhere.or(Some(other.product.path)),
            }
            evidence.extend(side.evidence.iter().chain(&other_side.evidence));
            products.push(GemmCase { name: measured.name(), share: self.share(Some(other)), comparison });
        }
        let mut ceilings = Vec::new();
        let ceiling = self.ceiling_ratio(path, triple, path_has_match, &mut ceilings);
        evidence.extend(&ceilings);
        if let Ok((_, other)) = &ceiling {
            match path_has_match {
                true => on_path = true,
                false => elsewhere = elsewhere.or(Some(other)),
            }
        }
        let matched = match (on_path, elsewhere) {
            (true, _) => MatchedBy::SamePath,
            (false, Some(path)) => MatchedBy::FastestPath(path.to_owned()),
            (false, None) if path_has_match => MatchedBy::SamePath,
            (false, None) => MatchedBy::Nothing,
        };
        let other = ceiling.as_ref().ok().map(|(_, path)| *path);
        let ceiling = ceiling.map(|(comparison, _)| comparison);
        let signs = self.signs(path, triple);
        let case = AccelerationCase { matched, ceiling, products, excluded, signs };
        Acceleration { case, evidence, ceilings, other }
    }

    /// A unit of this path and triple whose arithmetic is a composition of another one's steps, and what the device says of its
    /// kernels: operands that are converted before they are multiplied.
    fn signs(&self, path: &str, triple: Triple) -> Vec<EmulationSign> {
        let offers = self.provenance.iter().flat_map(|record| &record.device.offers);
        let mine = offers.filter(|offer| offer.path == path && offer.triple == triple && !offer.conversion.is_empty());
        let converted = mine.take(1).map(|offer| EmulationSign::Conversions(offer.conversion.clone()));
        let composed = self.composed.iter().filter(|composed| composed.path == path && composed.triple == triple);
        let composed = composed.take(1).map(|composed| EmulationSign::Fingerprint(composed.words()));
        composed.chain(converted).collect()
    }

    fn ceiling_ratio(
        &self,
        path: &'a str,
        triple: Triple,
        path_has_match: bool,
        evidence: &mut Vec<CellId>,
    ) -> Result<(Comparison, &'a str), String> {
        let side = |ceiling: Option<&'a Ceiling<'a>>, whose: &str| match ceiling {
            None => Err(format!("{whose} has no ceiling loop here")),
            Some(ceiling) => match (&ceiling.side, ceiling.refusal()) {
                (Some(side), _) => Ok(side),
                (None, why) => Err(format!("{whose} has no accepted ceiling ({})", why.unwrap_or("not measured"))),
            },
        };
        let matched = self.plan.matches.triple;
        let ours = side(self.ceiling(path, triple), "the candidate")?;
        let other_path =
            if path_has_match { path } else { self.fastest_match_path().ok_or("the match is on no path")? };
        let whose = if path_has_match { "the match".to_owned() } else { format!("the match on {other_path}") };
        let theirs = side(self.ceiling(other_path, matched), &whose)?;
        let compared = compare(ours, theirs).ok_or("the two ceilings have no process in common")?;
        if !compared.same_block {
            return Err("the two ceilings were measured in different blocks".to_owned());
        }
        evidence.extend(ours.evidence.iter().chain(&theirs.evidence));
        Ok((compared.comparison, other_path))
    }

    /// The path on which the match is fastest, by products that may decide, else by loops, accepted or not: a slower path's
    /// ceiling never stands in for one that is missing.
    fn fastest_match_path(&self) -> Option<&'a str> {
        let matched = self.plan.matches.triple;
        let products = self.products.iter().filter(|product| product.product.triple == matched && product.can_decide());
        let of_products = products.filter_map(|p| Some((p.side.as_ref()?.rate()?.0, p.product.path)));
        let loops = self.ceilings.iter().filter(|ceiling| ceiling.triple == matched);
        let of_loops = loops.filter_map(|ceiling| Some((ceiling.reached()?, ceiling.path)));
        let faster = |a: &(f64, &str), b: &(f64, &str)| a.0.total_cmp(&b.0);
        of_products.max_by(faster).or_else(|| of_loops.max_by(faster)).map(|(_, path)| path)
    }

    /// The cases of a triple on a path against the baselines.
    fn rivals(&self, path: &'a str, triple: Triple) -> (Vec<(Baseline, BaselineCase)>, Vec<CellId>) {
        let mut evidence = Vec::new();
        let mut cases = Vec::new();
        for baseline in Baseline::ALL {
            let mut products = Vec::new();
            let mut subjects: BTreeSet<String> = BTreeSet::new();
            let mut why: Option<String> = None;
            for measured in self.products_of((path, triple)).filter(|measured| measured.can_decide()) {
                let Some(side) = &measured.side else {
                    why = why.or_else(|| {
                        Some(format!("no cell of this path and triple counts ({})", measured.excluded.join(", ")))
                    });
                    continue;
                };
                let (other, theirs) = match self.baseline(measured, baseline) {
                    Err(reason) => {
                        why = why.or(Some(reason));
                        continue;
                    }
                    Ok(other) => match &other.side {
                        Some(theirs) => (other, theirs),
                        None => continue,
                    },
                };
                let Some(Compared { comparison, same_block: true }) = compare(side, theirs) else {
                    why = why.or_else(|| Some("not measured in the same block and processes".to_owned()));
                    continue;
                };
                subjects.insert(format!("{} {}", other.product.path, other.product.triple));
                evidence.extend(side.evidence.iter().chain(&theirs.evidence));
                let matched = self.find(measured, path, self.plan.matches.triple).filter(|m| m.side.is_some());
                let share = self.share(matched.or_else(|| self.fastest_match(measured)));
                products.push(RivalCase { name: measured.name(), share, comparison });
            }
            let case = match products.is_empty() {
                _ if self.is_baseline(path, triple, baseline) => BaselineCase::Itself,
                true => BaselineCase::Absent(why.unwrap_or_else(|| "no product that can decide".to_owned())),
                false => {
                    let subject = subjects.into_iter().collect::<Vec<_>>().join(" and ");
                    BaselineCase::Present { subject, products }
                }
            };
            cases.push((baseline, case));
        }
        (cases, evidence)
    }
}

fn baseline_name(baseline: Baseline) -> &'static str {
    match baseline {
        Baseline::B => "ratio.baseline_b",
        Baseline::C => "ratio.baseline_c",
        Baseline::D => "ratio.baseline_d",
    }
}
