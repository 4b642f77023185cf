//! Which Xcodes make libraries of Metal 4.1?
//!
//! From the answers of rule `toolchain` in `run.json`, which are the table of `rigel emit metallibs` that was given to the run.

use crate::answers::{Answer, Ours, not};
use crate::reading::Reading;
use rigel_ledger::Provenance;
use rigel_ledger::provenance::RuleRecord;
use std::collections::BTreeMap;

/// The language of the claim, as a toolchain's question names it.
const LANGUAGE: &str = ", language 4.1,";
/// The major version of Xcode that the study says it needs.
const NEEDS: u32 = 27;

/// What one Xcode made of the language.
#[derive(Default)]
struct Tried {
    asked: usize,
    made: usize,
    unknown: usize,
}

/// What the Xcodes of a run say.
pub(crate) fn needed(reading: &Reading<'_>) -> Ours {
    let provenance: &[Provenance] = reading.source.provenance;
    let answers = provenance.iter().flat_map(|record| &record.device.rules);
    let mut xcodes: BTreeMap<&str, Tried> = BTreeMap::new();
    for RuleRecord { asked, answer, .. } in answers.filter(|r| r.rule == "toolchain" && r.asked.contains(LANGUAGE)) {
        let tried = xcodes.entry(asked.split(',').next().unwrap_or_default()).or_default();
        tried.asked += 1;
        tried.made += usize::from(answer.starts_with("library of language 4.1"));
        tried.unknown += usize::from(answer.starts_with("refused: unknown language"));
    }
    if xcodes.is_empty() {
        return not("no table of Xcodes was given to the run (rigel emit metallibs, then rigel run --libraries)");
    }
    let words: Vec<String> = xcodes
        .iter()
        .map(|(name, tried)| match (tried.made, tried.unknown) {
            (0, unknown) if unknown == tried.asked => format!("{name} does not know 4.1"),
            (made, _) => format!("{name} makes 4.1 for {made} of {} systems", tried.asked),
        })
        .collect();
    let major =
        |name: &str| name.trim_start_matches(|c: char| !c.is_ascii_digit()).split('.').next()?.parse::<u32>().ok();
    let of = |is_new: bool| xcodes.iter().filter(move |(name, _)| major(name).is_some_and(|v| (v >= NEEDS) == is_new));
    let older_makes = of(false).any(|(_, tried)| tried.made > 0);
    let older_cannot = of(false).any(|(_, tried)| tried.unknown == tried.asked);
    let newer_makes = of(true).any(|(_, tried)| tried.made > 0);
    let answer = match (older_makes, older_cannot, newer_makes) {
        (true, ..) => Answer::Differ,
        (false, true, true) => Answer::Agree,
        (false, true, false) => Answer::Undecided("no Xcode 27 or newer that makes it was tried".to_owned()),
        (false, false, _) => {
            Answer::Undecided("no Xcode older than 27 was asked for it and knew no such language".to_owned())
        }
    };
    (words.join("; "), answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted_source::with;

    #[test]
    fn the_claim_needs_an_older_xcode_that_cannot_and_a_newer_one_that_can() {
        let old = ("Xcode 26.5 Build version 17F, language 4.1, for 27.0", "refused: unknown language");
        let new = ("Xcode 27.0, language 4.1, for 27.0", "library of language 4.1 for 27.0");
        let bare = ("Xcode 26.0, language 4.1, for 27.0", "refused: no toolchain");
        let able = ("Xcode 26.6, language 4.1, for 27.0", "library of language 4.1 for 27.0");
        let other = ("Xcode 26.5, language 4.0, for 26.0", "library of language 4.0 for 26.0");
        let answer = |answers: &[(&str, &str)]| {
            with(&[], |source, _| {
                let mut provenance = source.provenance.to_vec();
                let record = |(asked, answer): &(&str, &str)| RuleRecord {
                    rule: "toolchain".into(),
                    asked: (*asked).into(),
                    answer: (*answer).into(),
                    words: String::new(),
                };
                provenance[0].device.rules = answers.iter().map(record).collect();
                needed(&Reading::new(crate::Source { provenance: &provenance, ..source }))
            })
        };
        assert_eq!(answer(&[old, new, other]).1, Answer::Agree);
        assert_eq!(answer(&[old, new, able]).1, Answer::Differ);
        assert_eq!(answer(&[old]).1.word(), "undecided");
        assert_eq!(answer(&[new, bare]).1.word(), "undecided");
        assert_eq!(answer(&[other]).1.word(), "not measured");
        assert!(answer(&[old, new]).0.contains("Xcode 26.5 Build version 17F does not know 4.1; Xcode 27.0 makes 4.1"));
    }
}
