//! What must be timed beside a selection, so that its verdicts have their match and their baselines?
//!
//! `--filter bf16` asks about bf16, and a verdict about bf16 is a comparison. So the match and the baselines of what is
//! selected join the blocks, and no ladder of theirs is climbed. Only what exists on the device can join.

use rigel_device::Offer;
use rigel_ledger::Plan;
use rigel_ledger::rivals::Offered;

/// Of `all` offers those that verdicts about the selected ones need and that are not selected themselves, in the order of the
/// device; the rule is the ledger's, since whoever reads a run asks it too.
pub fn rivals(plan: &Plan, all: &[Offer]) -> Vec<Offer> {
    let offered: Vec<Offered<'_>> = all.iter().map(|o| (o.path.as_str(), o.triple, o.absent.is_empty())).collect();
    rigel_ledger::rivals::rivals(plan, &offered).into_iter().map(|place| all[place].clone()).collect()
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
