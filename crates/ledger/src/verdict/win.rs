//! Does a path and triple beat every dull explanation that is present?

use super::Ruling;
use super::ratio::{Band, Comparison};
use super::standing::Standing;
use super::word::{Baseline, Doubt, Win};
use crate::plan::Thresholds;

/// One product of the candidate against one baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct RivalCase {
    /// Shape, recipe and cache state in words.
    pub name: String,
    /// The match's share of its own ceiling in this cell; `None` where it has no accepted ceiling.
    pub share: Option<f64>,
    /// Candidate ÷ baseline.
    pub comparison: Comparison,
}

/// A baseline of the plan, as it stands for this candidate.
#[derive(Debug, Clone, PartialEq)]
pub enum BaselineCase {
    /// Present: path and triple in words, and the products compared with it.
    Present {
        /// `tiled e4m3,e4m3->f32`.
        subject: String,
        /// Products in which both count.
        products: Vec<RivalCase>,
    },
    /// The candidate is this baseline.
    Itself,
    /// Absent, and why: the plan names none, the device lacks it, or its cells do not count.
    Absent(String),
}

/// The verdict `win`.
///
/// `win over …` names the baselines present, and needs every deciding product against every one of them at or above
/// the plan's threshold. One product wholly below it against one baseline is `no win`, whatever the others say. Absent
/// baselines are named in the sentence, so a win over few is seen to be one. Products that do not decide
/// ([`Standing`]) carry their ratio only. A candidate that is itself a baseline of the plan is called so: it is what others must
/// beat, and its ratios to the other baselines are told without a word.
pub fn win(cases: &[(Baseline, BaselineCase)], thresholds: &Thresholds) -> Ruling<Win> {
    let mut clauses = Vec::new();
    let mut over = Vec::new();
    let mut doubt: Option<Doubt> = None;
    let mut lost = false;
    let mut present = false;
    let mut itself = Vec::new();
    let mut withheld_by = Vec::new();
    for (baseline, case) in cases {
        let (subject, products) = match case {
            BaselineCase::Itself => {
                clauses.push(format!("it is baseline {baseline} itself"));
                itself.push(*baseline);
                continue;
            }
            BaselineCase::Absent(why) => {
                clauses.push(format!("{baseline} absent: {why}"));
                continue;
            }
            BaselineCase::Present { subject, products } => (subject, products),
        };
        present = true;
        let mut decides = false;
        let mut unknown_share = false;
        for product in products {
            let standing = Standing::of(product.share, thresholds);
            clauses.push(format!("{baseline} ({subject}) {} {} ({standing})", product.name, product.comparison));
            match standing {
                Standing::Bound { .. } => continue,
                Standing::NoCeiling | Standing::Beyond { .. } => {
                    unknown_share = true;
                    continue;
                }
                Standing::Decides { .. } => decides = true,
            }
            match product.comparison.band(thresholds.win) {
                Ok(Band::Above) => {}
                Ok(Band::Below) => lost = true,
                Ok(Band::Across) => raise(&mut doubt, Doubt::Straddles),
                Err(new) => {
                    let withheld = product.comparison.withheld(thresholds.win);
                    withheld_by.extend(withheld.map(|why| format!("{baseline} {} {why}", product.name)));
                    raise(&mut doubt, new);
                }
            }
        }
        if decides {
            over.push(*baseline);
        } else {
            raise(&mut doubt, if unknown_share { Doubt::NoCeiling } else { Doubt::NothingDecides });
        }
    }
    if !itself.is_empty() {
        return Ruling { word: Win::Baseline(itself), words: clauses.join("; ") };
    }
    let word = match (present, lost, doubt) {
        (false, ..) => Win::Undecided(Doubt::NoBaseline),
        (true, true, _) => Win::No,
        (true, false, Some(doubt)) => Win::Undecided(doubt),
        (true, false, None) => Win::Over(over),
    };
    if word == Win::Undecided(Doubt::ClockStates) {
        clauses.extend(withheld_by);
    }
    Ruling { word, words: clauses.join("; ") }
}

fn raise(doubt: &mut Option<Doubt>, new: Doubt) {
    *doubt = Some(doubt.map_or(new, |old| old.min(new)));
}
