//! Which word does a set of rows get, by rules fixed before the run?
//!
//! Every rule is a pure function of typed inputs and of the plan's thresholds; [`crate::facts`] makes the inputs from a
//! run's rows. A rule answers with a word ([`Acceleration`], [`Win`], [`Place`]) and one sentence. Texts of words stand in
//! [`word`] alone.
//!
//! What every rule shares:
//!
//! * An interval is taken over processes, never over repetitions, because repetitions of one process are not
//!   independent. Fewer than [`PROCESSES`] give no interval: with six, the smallest and the largest ratio enclose the
//!   median ratio with probability 1 − 2⁻⁵ = 96.9 %.
//! * A claim is decided only if *every* comparison that may decide it says the same. Were one comparison enough, each
//!   further shape would be another chance for a false word; so `accelerated` has an error rate below 2⁻⁶ at its
//!   threshold however many shapes a plan has.
//! * Cells that are `wrong`, `mistrusted` or that crashed never reach a rule.
//! * Doubt is a word too: `undecided: …` names the first of the reasons in [`Doubt`] that applies.

pub mod acceleration;
pub mod place;
pub mod ratio;
pub mod standing;
pub mod win;
pub mod word;

pub use acceleration::{AccelerationCase, CEILING_ALONE, EmulationSign, MatchedBy, accelerated};
pub use place::{Coverage, PathSignals, Rail, Signal, SignalReading, where_it_runs};
pub use ratio::{Band, Comparison, Ratio, StatePair, States};
pub use standing::{GemmCase, Standing};
pub use win::{BaselineCase, RivalCase, win};
pub use word::{Acceleration, Baseline, Doubt, Place, Win};

/// Fresh processes below which no interval over processes exists at 95 %.
pub const PROCESSES: usize = 6;

/// A word and the sentence that says what was compared, what was absent and what could not be seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling<W> {
    /// The word.
    pub word: W,
    /// The sentence; clauses joined by `; `.
    pub words: String,
}
