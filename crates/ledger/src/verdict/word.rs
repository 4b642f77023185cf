//! How is each verdict written?

use std::fmt;

/// Why a verdict is not given. In order of precedence: of several reasons the first is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// Cells ran, and none of them was right or imprecise.
    NoCell,
    /// The match has no cell that counts, on the same path or on any other.
    NoMatch,
    /// No baseline of the plan is present.
    NoBaseline,
    /// The match has no accepted ceiling, so no product can be shown to be compute-bound.
    NoCeiling,
    /// Every product is bound by launches or memory, and there is no ceiling to compare.
    NothingDecides,
    /// A comparison rests on fewer paired processes than its interval needs: this many.
    Processes(usize),
    /// Clock states differ and the pairs of them do not agree.
    ClockStates,
    /// Times and cycles give different words.
    TimeAgainstCycles,
    /// An interval lies on both sides of the threshold.
    Straddles,
    /// Some comparisons say yes and others no.
    CellsDisagree,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NoCell => f.write_str("undecided: no cell counts"),
            Doubt::NoMatch => f.write_str("undecided: no match"),
            Doubt::NoBaseline => f.write_str("undecided: no baseline"),
            Doubt::NoCeiling => f.write_str("undecided: no ceiling"),
            Doubt::NothingDecides => f.write_str("undecided: no compute-bound cell"),
            Doubt::Processes(needed) => write!(f, "undecided: fewer than {needed} processes"),
            Doubt::ClockStates => f.write_str("undecided: clock states"),
            Doubt::TimeAgainstCycles => f.write_str("undecided: time and cycles disagree"),
            Doubt::Straddles => f.write_str("undecided"),
            Doubt::CellsDisagree => f.write_str("undecided: cells disagree"),
        }
    }
}

/// Whether a type triple runs faster than its match, or is merely accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acceleration {
    /// Every deciding interval of rate ÷ match is at or above the plan's threshold (1.50).
    Accelerated,
    /// Below the threshold, and every interval within the plan's `same` range (0.90–1.10).
    SameRate,
    /// Below the threshold, and every interval below 1.
    Slower,
    /// Below the threshold, and every interval above 1.
    Faster,
    /// Below the threshold, and none of the three above.
    NotAccelerated,
    /// Below the threshold, with a sign of emulation.
    Emulated,
    /// No word.
    Undecided(Doubt),
}

impl Acceleration {
    /// Every word that decides.
    pub const DECIDED: [Acceleration; 6] = [
        Acceleration::Accelerated,
        Acceleration::SameRate,
        Acceleration::Slower,
        Acceleration::Faster,
        Acceleration::NotAccelerated,
        Acceleration::Emulated,
    ];

    /// Whether it is decided that the triple is not accelerated.
    pub const fn is_not_accelerated(self) -> bool {
        !matches!(self, Acceleration::Accelerated | Acceleration::Undecided(_))
    }
}

impl fmt::Display for Acceleration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Acceleration::Accelerated => f.write_str("accelerated"),
            Acceleration::SameRate => f.write_str("same rate"),
            Acceleration::Slower => f.write_str("slower"),
            Acceleration::Faster => f.write_str("faster"),
            Acceleration::NotAccelerated => f.write_str("not accelerated"),
            Acceleration::Emulated => f.write_str("emulated"),
            Acceleration::Undecided(doubt) => doubt.fmt(f),
        }
    }
}

/// A dull explanation that must fail first. A, the scalar roofline, is a limit and no rival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Baseline {
    /// The naive tiled product.
    B,
    /// The older matrix or vector instruction.
    C,
    /// The standard path of the match.
    D,
}

impl Baseline {
    /// Every rival.
    pub const ALL: [Baseline; 3] = [Baseline::B, Baseline::C, Baseline::D];
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Baseline::B => "B",
            Baseline::C => "C",
            Baseline::D => "D",
        })
    }
}

/// Whether a path and triple beat every baseline that is present.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Win {
    /// Over these, by at least the plan's threshold (1.10) in every deciding cell.
    Over(Vec<Baseline>),
    /// At least one baseline stays below the threshold in some deciding cell.
    No,
    /// It is one of the baselines itself: what others must beat wins nothing.
    Baseline(Vec<Baseline>),
    /// No word.
    Undecided(Doubt),
}

impl fmt::Display for Win {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Win::Over(baselines) => write!(f, "win over {}", listed(baselines)),
            Win::No => f.write_str("no win"),
            Win::Baseline(which) => write!(f, "baseline {}", listed(which)),
            Win::Undecided(doubt) => doubt.fmt(f),
        }
    }
}

/// `B, C`.
fn listed(baselines: &[Baseline]) -> String {
    baselines.iter().map(Baseline::to_string).collect::<Vec<_>>().join(", ")
}

/// Where the operations of a path run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// In the arithmetic units that every other instruction uses.
    ShaderCores,
    /// In a unit of its own.
    DedicatedUnit,
    /// The signals do not say.
    Undetermined,
}

impl Place {
    /// Every word.
    pub const ALL: [Place; 3] = [Place::ShaderCores, Place::DedicatedUnit, Place::Undetermined];
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::ShaderCores => "shader cores",
            Place::DedicatedUnit => "dedicated unit",
            Place::Undetermined => "undetermined",
        })
    }
}

/// What a word of praise gets behind it where other cells of its path and triple are wrong: `accelerated where right`.
const WHERE_RIGHT: &str = " where right";

/// A word as it is written of a path and triple, of which some cells are `wrong` or none is. What praises a rate (`accelerated`,
/// `faster`, `win over …`) rests on the right cells alone, and says so: nobody may read it without the rest.
pub fn written(word: &impl fmt::Display, wrong: bool) -> String {
    let word = word.to_string();
    let praises = matches!(head(&word), "accelerated" | "faster" | "win");
    if wrong && praises { word + WHERE_RIGHT } else { word }
}

/// A written verdict without its reason, its rivals and its condition: `undecided: no match` gives `undecided`, `win over
/// B, C where right` gives `win`, `baseline D` gives `baseline`.
pub fn head(verdict: &str) -> &str {
    let verdict = verdict.strip_suffix(WHERE_RIGHT).unwrap_or(verdict);
    if verdict.starts_with("baseline ") {
        return "baseline";
    }
    let end = verdict.find(':').or_else(|| verdict.find(" over "));
    &verdict[..end.unwrap_or(verdict.len())]
}

/// Every word that [`head`] leaves of a verdict, once each.
pub fn heads() -> Vec<String> {
    let undecided = Acceleration::Undecided(Doubt::Straddles);
    let accelerations = Acceleration::DECIDED.into_iter().chain([undecided]).map(|word| word.to_string());
    let wins = [Win::Over(Baseline::ALL.to_vec()), Win::No, Win::Baseline(Baseline::ALL.to_vec())];
    let wins = wins.map(|word| word.to_string());
    let places = Place::ALL.map(|word| word.to_string());
    accelerations.chain(wins).chain(places).map(|word| head(&word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_one_of_the_heads() {
        let doubts = [
            Doubt::NoCell,
            Doubt::NoMatch,
            Doubt::NoBaseline,
            Doubt::NoCeiling,
            Doubt::NothingDecides,
            Doubt::Processes(6),
            Doubt::ClockStates,
            Doubt::TimeAgainstCycles,
            Doubt::Straddles,
            Doubt::CellsDisagree,
        ];
        let heads = heads();
        for doubt in doubts {
            assert_eq!(head(&Acceleration::Undecided(doubt).to_string()), "undecided");
            assert_eq!(head(&Win::Undecided(doubt).to_string()), "undecided");
        }
        assert_eq!(head(&Win::Over(vec![Baseline::B, Baseline::D]).to_string()), "win");
        assert_eq!(head(&Win::No.to_string()), "no win");
        assert_eq!(head(&Win::Baseline(vec![Baseline::D]).to_string()), "baseline");
        for (word, praises) in [("accelerated", true), ("win over B, D", true), ("faster", true), ("no win", false)] {
            assert_eq!(written(&word, false), word);
            assert_eq!(written(&word, true) != word, praises, "{word}");
            assert_eq!(head(&written(&word, true)), head(word), "a condition changes no head");
        }
        let once: std::collections::BTreeSet<&String> = heads.iter().collect();
        assert_eq!(once.len(), heads.len());
        assert!(heads.iter().all(|word| head(word) == word), "{heads:?}");
    }
}
