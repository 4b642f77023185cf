//! What must be timed beside a selection, so that its verdicts have their match and their baselines?
//!
//! `--filter bf16` asks about bf16, and a verdict about bf16 is a comparison. So the match and the baselines of what is
//! selected join the blocks, and no ladder of theirs is climbed. Only what exists on the device can join.

use crate::plan::Plan;
use crate::rows::Probe;
use rigel_numerics::Triple;

/// An offer of a device: path, triple, and whether it can be tried there.
pub type Offered<'a> = (&'a str, Triple, bool);

/// The places in `all` of the offers that verdicts about what the plan selects need and that are not selected themselves.
///
/// None where the plan asks neither `throughput` nor `dispatch`: `types` and `clocks` compare nothing.
pub fn rivals(plan: &Plan, all: &[Offered<'_>]) -> Vec<usize> {
    let is_selected = |offer: &Offered<'_>| plan.select.takes(offer.0, offer.1, "");
    let compares = plan.probes.iter().any(|probe| matches!(probe, Probe::Throughput | Probe::Dispatch));
    if !compares || all.iter().all(is_selected) {
        return Vec::new();
    }
    let matched = plan.matches.triple;
    let present = |path: &str, triple: Triple| all.contains(&(path, triple, true));
    let mut needed: Vec<(&str, Triple)> = Vec::new();
    for &(path, triple, _) in all.iter().filter(|offer| offer.2 && is_selected(offer)) {
        // The match on the same path; where that has none, the fastest path of the match, which is known only when all are timed.
        if present(path, matched) {
            needed.push((path, matched));
        } else {
            needed.extend(all.iter().filter(|offer| offer.1 == matched).map(|offer| (offer.0, matched)));
        }
        // B and C run the same triple where they can, else the match; D runs the match.
        for baseline in [&plan.baselines.b, &plan.baselines.c] {
            needed.push((baseline, if present(baseline, triple) { triple } else { matched }));
        }
        needed.push((&plan.baselines.d, matched));
        // The scalar roofline is the first of the three signals of `dispatch`.
        if plan.probes.contains(&Probe::Dispatch) {
            needed.push((&plan.baselines.a, if present(path, matched) { matched } else { triple }));
        }
    }
    let joins = |offer: &Offered<'_>| offer.2 && needed.contains(&(offer.0, offer.1)) && !is_selected(offer);
    (0..all.len()).filter(|&i| joins(&all[i])).collect()
}
