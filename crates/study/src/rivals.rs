//! What must be timed beside a selection, so that its verdicts have their match and their baselines?
//!
//! `--filter bf16` asks about bf16, and a verdict about bf16 is a comparison. So the match and the baselines of what is
//! selected join the blocks, and no ladder of theirs is climbed. Only what exists on the device can join.

use rigel_device::Offer;
use rigel_ledger::{Plan, Probe};
use rigel_numerics::Triple;

/// Of `all` offers those that verdicts about `selected` need and that are not selected themselves, in the order of the device.
///
/// None where the plan asks neither `throughput` nor `dispatch`: `types` and `clocks` compare nothing.
pub fn rivals(plan: &Plan, all: &[Offer], selected: &[Offer]) -> Vec<Offer> {
    let compares = plan.probes.iter().any(|probe| matches!(probe, Probe::Throughput | Probe::Dispatch));
    if !compares || selected.len() == all.len() {
        return Vec::new();
    }
    let matched = plan.matches.triple;
    let present =
        |path: &str, triple: Triple| all.iter().any(|o| o.absent.is_empty() && o.path == path && o.triple == triple);
    let mut needed: Vec<(String, Triple)> = Vec::new();
    for offer in selected.iter().filter(|o| o.absent.is_empty()) {
        // The match on the same path; where that has none, the fastest path of the match, which is known only when all are timed.
        if present(&offer.path, matched) {
            needed.push((offer.path.clone(), matched));
        } else {
            needed.extend(all.iter().filter(|o| o.triple == matched).map(|o| (o.path.clone(), matched)));
        }
        // B and C run the same triple where they can, else the match; D runs the match.
        for path in [&plan.baselines.b, &plan.baselines.c] {
            let triple = if present(path, offer.triple) { offer.triple } else { matched };
            needed.push((path.clone(), triple));
        }
        needed.push((plan.baselines.d.clone(), matched));
        // The scalar roofline is the first of the three signals of `dispatch`.
        if plan.probes.contains(&Probe::Dispatch) {
            let triple = if present(&offer.path, matched) { matched } else { offer.triple };
            needed.push((plan.baselines.a.clone(), triple));
        }
    }
    let is = |o: &Offer, (path, triple): &(String, Triple)| o.path == *path && o.triple == *triple;
    let is_selected = |o: &Offer| selected.iter().any(|s| (&s.path, s.triple) == (&o.path, o.triple));
    let joins = |o: &&Offer| o.absent.is_empty() && needed.iter().any(|need| is(o, need)) && !is_selected(o);
    all.iter().filter(joins).cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::pieces::{Expansion, Piece};
    use crate::presets::preset;
    use rigel_ledger::Probe;
    use std::collections::BTreeSet;

    fn rivals_of(filter: &str, probes: &[Probe]) -> BTreeSet<String> {
        let device = rigel_device::backends::open("sim:m4max").unwrap();
        let mut plan = preset("quick", "sim").unwrap();
        plan.select.filter = filter.to_owned();
        plan.probes = probes.to_vec();
        let expansion = Expansion::new(&plan, device.as_ref());
        let rivals = expansion.rivals.iter().map(|o| format!("{} {}", o.path, o.triple)).collect();
        // No ladder of a rival is climbed, and every block holds the selection and its rivals.
        for piece in expansion.pieces() {
            let about: BTreeSet<_> = piece.cells().iter().map(|c| (c.path.clone(), c.triple)).collect();
            match piece {
                Piece::Climb { .. } | Piece::Absent { .. } => {
                    assert!(expansion.offers.iter().any(|o| about.contains(&(o.path.clone(), o.triple))));
                }
                Piece::Block { id, .. } if id != "ceilings" => assert_eq!(about.len(), expansion.timed().len()),
                _ => {}
            }
        }
        rivals
    }

    #[test]
    fn a_narrow_selection_brings_its_match_and_its_baselines() {
        let all = [Probe::Types, Probe::Throughput, Probe::Dispatch];
        let named = |names: &[&str]| names.iter().map(|n| format!("{n} f16,f16->f32")).collect::<BTreeSet<_>>();
        let four = ["scalar", "tiled", "simdgroup_matrix", "matmul2d"];
        assert_eq!(rivals_of("matmul2d e4m3", &all), named(&four));
        assert_eq!(rivals_of("matmul2d e4m3", &[Probe::Throughput]), named(&four[1..]));
        assert_eq!(rivals_of("matmul2d f16", &[Probe::Throughput]), named(&four[1..3]));
        assert_eq!(rivals_of("", &all), BTreeSet::new());
        assert_eq!(rivals_of("matmul2d e4m3", &[Probe::Types, Probe::Clocks]), BTreeSet::new());
    }
}
