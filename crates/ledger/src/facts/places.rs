//! Where do the operations of each path run, by three signals?

use super::Evidence;
use super::bench::Bench;
use super::cells::Pair;
use super::compare::compare;
use super::rails;
use super::row::Subject;
use crate::rows::{CellId, FactRow, Probe};
use crate::verdict::{Baseline, Comparison, PathSignals, Signal, where_it_runs};
use std::collections::BTreeSet;

/// The signals of every measured path, and where it runs. The verdict stays out where provenance is incomplete.
pub(super) fn facts(bench: &Bench<'_>, evidence: &Evidence<'_>, complete: bool) -> Vec<FactRow> {
    let thresholds = &evidence.plan.thresholds;
    let pairs: BTreeSet<Pair<'_>> = bench.pairs();
    let paths: BTreeSet<&str> = pairs.iter().map(|&(path, _)| path).collect();
    let mut facts = Vec::new();
    for path in paths {
        let mut cells = [Vec::new(), Vec::new()];
        let [ceiling_cells, shootout_cells] = &mut cells;
        let signals = PathSignals {
            ceiling: against_roofline(bench, &pairs, path, ceiling_cells),
            shootout: against_older(bench, path, shootout_cells),
            rails: rails::of(path, evidence),
            one_place: evidence.provenance.iter().all(|record| record.device.backend == "cpu"),
        };
        let subject = Subject::path(Probe::Dispatch, path);
        for (signal, reading) in signals.readings(thresholds) {
            let (name, ids): (_, &[CellId]) = match signal {
                Signal::Ceiling => ("signal.ceiling", &cells[0]),
                Signal::Shootout => ("signal.shootout", &cells[1]),
                Signal::Energy => ("signal.energy", &[]),
            };
            facts.push(subject.word(name, &reading, reading.words().to_owned(), ids));
        }
        if complete {
            let ruling = where_it_runs(&signals, thresholds);
            facts.push(subject.word("verdict.where", ruling.word.0, ruling.words, &cells.concat()));
        }
    }
    facts
}

/// The path's ceiling over that of baseline A, for the match or, where the path lacks it, the first triple that both have.
fn against_roofline(
    bench: &Bench<'_>,
    pairs: &BTreeSet<Pair<'_>>,
    path: &str,
    cells: &mut Vec<CellId>,
) -> Result<Comparison, String> {
    let roof = bench.plan.baselines.a.as_str();
    if roof.is_empty() {
        return Err("the plan names no scalar roofline (baseline A)".to_owned());
    }
    if roof == path {
        return Err("it is the scalar roofline itself".to_owned());
    }
    let matched = bench.plan.matches.triple;
    let own = pairs.iter().filter(|&&(of, triple)| of == path && triple != matched).map(|&(_, triple)| triple);
    for triple in std::iter::once(matched).chain(own) {
        let side = |path| bench.ceiling(path, triple).and_then(|ceiling| ceiling.side.as_ref());
        let (Some(ours), Some(theirs)) = (side(path), side(roof)) else { continue };
        let compared = compare(ours, theirs).ok_or("the two ceilings have no process in common")?;
        if !compared.same_block {
            return Err("the two ceilings were measured in different blocks".to_owned());
        }
        cells.extend(ours.evidence.iter().chain(&theirs.evidence));
        return Ok(compared.comparison);
    }
    Err(format!("no triple has an accepted ceiling both here and on {roof}"))
}

/// The path's largest product over that of baseline C.
fn against_older(bench: &Bench<'_>, path: &str, cells: &mut Vec<CellId>) -> Result<Comparison, String> {
    let mut why = "no product was timed".to_owned();
    let own = bench.products.iter().filter(|m| m.product.path == path && m.can_decide() && m.side.is_some());
    let matched = bench.plan.matches.triple;
    let mut own: Vec<_> = own.collect();
    own.sort_by_key(|m| (std::cmp::Reverse(m.product.shape.operations()), m.product.triple != matched, m.product));
    for measured in own {
        let theirs = match bench.baseline(measured, Baseline::C) {
            Ok(theirs) => theirs,
            Err(reason) => {
                why = format!("older instruction (baseline C): {reason}");
                continue;
            }
        };
        let (Some(a), Some(b)) = (&measured.side, &theirs.side) else { continue };
        match compare(a, b) {
            Some(compared) if compared.same_block => {
                cells.extend(a.evidence.iter().chain(&b.evidence));
                return Ok(compared.comparison);
            }
            _ => why = "not measured in the same block and processes as the older instruction".to_owned(),
        }
    }
    Err(why)
}
