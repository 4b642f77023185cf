//! Is a type triple accelerated on a path, or merely accepted?

use super::Ruling;
use super::ratio::{Band, Comparison};
use super::standing::{GemmCase, Standing};
use super::word::{Acceleration, Doubt};
use crate::plan::Thresholds;
use std::fmt;

/// Said in the words of a verdict that no product could decide.
pub const CEILING_ALONE: &str = "the ceiling speaks alone";

/// The match that a triple was compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatchedBy {
    /// The match on the same path.
    SamePath,
    /// The same path has no match that counts, so the device's fastest path of the match stands in.
    FastestPath(String),
    /// There is none at all.
    Nothing,
}

/// A sign of emulation, beside a ceiling ratio below the plan's `same`. (The design says `witness`; that word is kept for the elements of an
/// output that are stored as bits.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmulationSign {
    /// The arithmetic is a composition of another unit's steps that differs from every single-step model: which.
    Fingerprint(String),
    /// The kernel converts its operands before it multiplies them: how.
    Conversions(String),
}

impl fmt::Display for EmulationSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulationSign::Fingerprint(what) => write!(f, "arithmetic is {what}"),
            EmulationSign::Conversions(what) => write!(f, "operands are {what}"),
        }
    }
}

/// Everything that the rule looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct AccelerationCase {
    /// What the candidate was compared with.
    pub matched: MatchedBy,
    /// Ceiling ÷ the match's ceiling, or why there is no such ratio.
    pub ceiling: Result<Comparison, String>,
    /// Products.
    pub products: Vec<GemmCase>,
    /// Cells of the candidate that do not count, each with its reason.
    pub excluded: Vec<String>,
    /// Signs of emulation.
    pub signs: Vec<EmulationSign>,
}

/// The verdict `acceleration`.
///
/// The ceiling ratio and every product that may decide ([`Standing::Decides`]) are compared with the plan's threshold. If
/// all lie above, the word is `accelerated`; if all lie below, `not accelerated` or its closer words; else a [`Doubt`].
/// `emulated` needs `not accelerated` and a sign of emulation. A ceiling alone decides where no product may: the sentence says so.
/// Misleads when a path's best loop is not in the backend: a ceiling is the fastest loop that was tried.
pub fn accelerated(case: &AccelerationCase, thresholds: &Thresholds) -> Ruling<Acceleration> {
    let mut clauses = Vec::new();
    match &case.matched {
        MatchedBy::SamePath => {}
        MatchedBy::FastestPath(path) => {
            clauses.push(format!("no match on the same path: compared with the match on {path}, the device's fastest"));
        }
        MatchedBy::Nothing => clauses.push("the match counts on no path of this device".to_owned()),
    }
    let mut deciding: Vec<(&str, &Comparison)> = Vec::new();
    match &case.ceiling {
        Ok(comparison) => {
            clauses.push(format!("ceiling {comparison}"));
            deciding.push(("ceiling", comparison));
        }
        Err(why) => clauses.push(format!("no ceiling ratio: {why}")),
    }
    let mut unknown_share = false;
    for product in &case.products {
        let standing = Standing::of(product.share, thresholds);
        clauses.push(format!("{} {} ({standing})", product.name, product.comparison));
        match standing {
            Standing::Decides { .. } => deciding.push((&product.name, &product.comparison)),
            Standing::Bound { .. } => {}
            Standing::NoCeiling | Standing::Beyond { .. } => unknown_share = true,
        }
    }
    clauses.extend(case.excluded.iter().map(|cell| format!("left out: {cell}")));
    if !deciding.is_empty() && deciding.len() == usize::from(case.ceiling.is_ok()) {
        clauses.push(format!("no product decides: {CEILING_ALONE}"));
    }

    let nothing_compared = case.ceiling.is_err() && case.products.is_empty();
    let word = if case.matched == MatchedBy::Nothing {
        Acceleration::Undecided(if nothing_compared && !case.excluded.is_empty() {
            Doubt::NoCell
        } else {
            Doubt::NoMatch
        })
    } else if nothing_compared {
        Acceleration::Undecided(if case.excluded.is_empty() { Doubt::NoMatch } else { Doubt::NoCell })
    } else if deciding.is_empty() {
        Acceleration::Undecided(if unknown_share { Doubt::NoCeiling } else { Doubt::NothingDecides })
    } else {
        decide(case, &deciding, thresholds, &mut clauses)
    };
    Ruling { word, words: clauses.join("; ") }
}

fn decide(
    case: &AccelerationCase,
    deciding: &[(&str, &Comparison)],
    thresholds: &Thresholds,
    clauses: &mut Vec<String>,
) -> Acceleration {
    let band = match unanimous(deciding.iter().map(|(_, comparison)| comparison.band(thresholds.accelerated))) {
        Ok(band) => band,
        Err(doubt) => {
            if doubt == Doubt::ClockStates {
                let withheld = |(name, comparison): &(&str, &Comparison)| {
                    Some(format!("{name} {}", comparison.withheld(thresholds.accelerated)?))
                };
                clauses.extend(deciding.iter().filter_map(withheld));
            }
            return Acceleration::Undecided(doubt);
        }
    };
    if band == Band::Above {
        return Acceleration::Accelerated;
    }
    let mut signs: Vec<String> = case.signs.iter().map(EmulationSign::to_string).collect();
    if let Ok(ceiling) = &case.ceiling
        && ceiling.band(thresholds.same[0]) == Ok(Band::Below)
    {
        signs.push(format!("the ceiling ratio lies wholly below {}", thresholds.same[0]));
    }
    if !signs.is_empty() {
        clauses.extend(signs.iter().map(|sign| format!("sign of emulation: {sign}")));
        return Acceleration::Emulated;
    }
    let ranges: Vec<(f64, f64)> = deciding.iter().flat_map(|(_, comparison)| comparison.ranges()).collect();
    let [least, most] = thresholds.same;
    if ranges.iter().all(|&(low, high)| low >= least && high <= most) {
        Acceleration::SameRate
    } else if ranges.iter().all(|&(_, high)| high < 1.0) {
        Acceleration::Slower
    } else if ranges.iter().all(|&(low, _)| low > 1.0) {
        Acceleration::Faster
    } else {
        Acceleration::NotAccelerated
    }
}

/// The band on which all agree: [`Band::Above`] or [`Band::Below`]; else the doubt of highest precedence.
pub(super) fn unanimous(bands: impl Iterator<Item = Result<Band, Doubt>>) -> Result<Band, Doubt> {
    let mut agreed: Option<Band> = None;
    let mut doubt: Option<Doubt> = None;
    let mut doubts = |new: Doubt| doubt = Some(doubt.map_or(new, |old| old.min(new)));
    for band in bands {
        match (band, agreed) {
            (Err(new), _) => doubts(new),
            (Ok(Band::Across), _) => doubts(Doubt::Straddles),
            (Ok(band), None) => agreed = Some(band),
            (Ok(band), Some(before)) if band != before => doubts(Doubt::CellsDisagree),
            (Ok(_), Some(_)) => {}
        }
    }
    match (doubt, agreed) {
        (Some(doubt), _) => Err(doubt),
        (None, Some(band)) => Ok(band),
        (None, None) => Err(Doubt::NothingDecides),
    }
}
