//! Which outcome does a checked output get, and why?
//!
//! [`judge`] is pure. Who measures the residuals and plants the faults is the study's business; `verify` measures them
//! again from the witness and calls the same function. The rules, first match wins:
//!
//! 1. An element that still holds the poison bytes, before or after timing: `wrong`.
//! 2. An output that is not finite where the reference is, before or after timing: `wrong`.
//! 3. A planted fault that the tolerance lets pass: `mistrusted`, naming the fault. The check could not have failed,
//!    so a small residual proves nothing.
//! 4. Both residuals inside the tolerance: `right`. But where row or column sums of a sampled check stay outside their
//!    bound: `mistrusted`, the reason beginning with `sums:`, here and under rules 5 and 6. Something is off, and the
//!    element was not found.
//! 5. Outside it, but what remains is explained by operands that were cut to a narrower format first (a triple that
//!    declares f32 only): `imprecise`, the reason beginning with `operands:`. It names the planted faults beside which
//!    nothing worse was found than without them.
//! 6. Outside it, but inside the bound of the recovered model or, without one, the plan's coarse cap: `imprecise`. The
//!    reason names the planted faults that this wider limit would have let pass.
//! 7. Anything else: `wrong`.
//!
//! Zeros and constants cannot fail rule 3's faults: they are judged without it ([`Proof::Blind`]), and the worse of that and
//! a random sibling's outcome stands ([`inherit`]).
//!
//! A residual is max |ĉ − c| / Σ|a||b| over the checked elements, rounded up by [`rigel_numerics`]' rule for stored
//! errors, so that the order of summation cannot change an outcome. Integer products are compared modulo their width:
//! their tolerance is [`Tolerance::Exact`], their residual 0 or not, and rules 5 and 6 do not exist for them.

mod operands;
pub mod places;
mod witness;

pub use operands::operands_cut;
pub use witness::{Look, POISON};

use crate::rows::Outcome;
use rigel_numerics::{Format, Triple};
use std::fmt;

/// The limit between `right` and not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Every bit: integers, and products that the declared types hold exactly.
    Exact,
    /// Largest |ĉ − c| / Σ|a||b|, derived from the declared accumulate and output types and K.
    Relative(f64),
}

impl Tolerance {
    /// The number that stands in the column `gate_tolerance`; 0 for an exact comparison.
    pub fn value(self) -> f64 {
        match self {
            Tolerance::Exact => 0.0,
            Tolerance::Relative(limit) => limit,
        }
    }

    /// Whether a residual is inside. NaN never is.
    pub fn admits(self, error: f64) -> bool {
        error <= self.value()
    }
}

/// Row and column of an output element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Row of C.
    pub row: usize,
    /// Column of C.
    pub column: usize,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.row, self.column)
    }
}

/// What one comparison of an output with the reference saw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Check {
    /// Every checked element is finite; the worst |ĉ − c| / Σ|a||b|, rounded up to three digits.
    Residual(f64),
    /// This element is infinite or NaN where the reference is finite.
    NonFinite(Element),
    /// This element still holds the poison bytes and they are not what the reference asks for.
    Unwritten(Element),
}

/// A fault that the gate plants into a correct product to prove that it can say no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlantedFault {
    /// Every output element is 0.
    Zeros,
    /// One k-step is left out of every sum.
    DroppedStep,
    /// Two elements of an operand have changed places.
    SwappedElement,
    /// B was read transposed.
    TransposedB,
}

impl PlantedFault {
    /// Every fault, in the order in which they are reported.
    pub const ALL: [PlantedFault; 4] =
        [PlantedFault::Zeros, PlantedFault::DroppedStep, PlantedFault::SwappedElement, PlantedFault::TransposedB];

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            PlantedFault::Zeros => "zeros for the product",
            PlantedFault::DroppedStep => "one k-step dropped",
            PlantedFault::SwappedElement => "one element swapped",
            PlantedFault::TransposedB => "B transposed",
        }
    }
}

/// A planted fault and what the check that judges the device said of an output with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultTrial {
    /// The fault.
    pub fault: PlantedFault,
    /// The worst residual that it found, ∞ where an element could not be compared; `None` where the shape cannot have the
    /// fault (B of 64×8 has no transpose to be read as, K = 1 has no step to drop that leaves a product).
    pub error: Option<f64>,
    /// What a sampled check left unexplained: with it no output is `right`, however small the residual.
    pub sums: Option<Suspicious>,
}

/// Lines of an output whose sums exceed their bound although no element was found in them that explains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicious {
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub columns: usize,
}

impl Suspicious {
    /// How a reason begins that speaks of them.
    pub const PREFIX: &'static str = "sums: ";
}

impl fmt::Display for Suspicious {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Suspicious { rows, columns } = self;
        write!(f, "{}{rows} rows and {columns} columns exceed their bound", Self::PREFIX)?;
        f.write_str("; no element that explains it was found in them")
    }
}

/// How the gate proved that it can fail.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Proof<'a> {
    /// Trials of this recipe, triple and K. A fault that is missing counts as let pass; an empty slice proves nothing.
    Trials(&'a [FaultTrial]),
    /// The row's own record, when a run is verified without planting the faults again: `None` when it says that all
    /// were rejected, else the fault that passed. Misleads if the record lies; the witness does not cover it.
    Recorded(Option<PlantedFault>),
    /// None is asked for: zeros and constants hide planted faults. Not the end of it: what is judged so must [`inherit`].
    Blind,
}

/// Everything that an outcome follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate<'a> {
    /// The type triple of the cell.
    pub triple: Triple,
    /// Limit of `right`.
    pub tolerance: Tolerance,
    /// Bound of the arithmetic model recovered for this path and triple, if there is one.
    pub model_bound: Option<f64>,
    /// The plan's coarse cap, used where there is no model.
    pub coarse_cap: f64,
    /// The proof that the comparison can fail.
    pub proof: Proof<'a>,
    /// The output before timing.
    pub before: Check,
    /// The output after timing, poisoned in between; `None` for cells that are not timed.
    pub after: Option<Check>,
    /// What a sampled check left unexplained.
    pub sums: Option<Suspicious>,
    /// From [`operands_cut`]: a format such that every witness element is inside the tolerance of a product whose operands
    /// were first rounded or cut to it; `None` when no narrower format explains the residual or none was tried.
    pub operands: Option<Format>,
}

/// An outcome and the sentence that stands in the column `reason`.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// `right`, `imprecise`, `wrong` or `mistrusted`.
    pub outcome: Outcome,
    /// Why; empty for `right`.
    pub reason: String,
    /// The worse residual of the two checks; `None` when an element was not finite or not written.
    pub error: Option<f64>,
}

/// Judges a cell by the rules of this module. Never panics; odd numbers (NaN, negative caps) lead to `wrong` or `mistrusted`.
pub fn judge(gate: &Gate<'_>) -> Judgement {
    let mut worst: f64 = 0.0;
    let mut worst_when = "before timing";
    let checks = [Some((gate.before, "before timing")), gate.after.map(|check| (check, "after timing"))];
    for (check, when) in checks.into_iter().flatten() {
        match check {
            Check::Unwritten(element) => {
                return Judgement::of(Outcome::Wrong, format!("element {element} was not written {when}"), None);
            }
            Check::NonFinite(element) => {
                return Judgement::of(Outcome::Wrong, format!("element {element} is not finite {when}"), None);
            }
            Check::Residual(error) if error.is_nan() || error < 0.0 => {
                return Judgement::of(Outcome::Wrong, format!("the residual {when} is not a number"), None);
            }
            Check::Residual(error) => {
                if error > worst {
                    (worst, worst_when) = (error, when);
                }
            }
        }
    }
    if let Some(fault) = gate.proof.passed(gate.tolerance) {
        let reason = format!("the gate would have passed a planted fault: {}", fault.words());
        return Judgement::of(Outcome::Mistrusted, reason, Some(worst));
    }
    let unless_suspicious = |outcome, reason| match gate.sums {
        Some(suspicious) => Judgement::of(Outcome::Mistrusted, suspicious.to_string(), Some(worst)),
        None => Judgement::of(outcome, reason, Some(worst)),
    };
    if gate.tolerance.admits(worst) {
        return unless_suspicious(Outcome::Right, String::new());
    }
    let over = format!("error {worst:e} {worst_when} exceeds the tolerance {:e}", gate.tolerance.value());
    if gate.triple.is_integer() {
        let reason = format!("{over}: integers are compared exactly");
        return Judgement::of(Outcome::Wrong, reason, Some(worst));
    }
    if let Some(format) = gate.operands.filter(|&format| can_be_cut(gate.triple, format)) {
        let mut reason = format!("operands: cut to {format} before the product; {over}");
        reason.push_str(&gate.proof.unseen(worst));
        return unless_suspicious(Outcome::Imprecise, reason);
    }
    let (limit, source) = match gate.model_bound {
        Some(bound) => (bound, "the recovered model's bound"),
        None => (gate.coarse_cap, "the plan's coarse cap"),
    };
    if worst <= limit {
        let mut reason = format!("{over}, inside {source} {limit:e}");
        reason.push_str(&gate.proof.unseen(limit));
        return unless_suspicious(Outcome::Imprecise, reason);
    }
    Judgement::of(Outcome::Wrong, format!("{over} and {source} {limit:e}"), Some(worst))
}

/// Whether a triple declares f32 for floating operands that a narrower float format could replace: the `operands` finding.
pub fn can_be_cut(triple: Triple, to: Format) -> bool {
    let floating = [triple.a, triple.b].into_iter().filter(|format| !format.is_integer());
    let widest = floating.map(Format::precision).max().unwrap_or(0);
    triple.acc == Format::F32 && !to.is_integer() && to.precision() < widest
}

/// The outcome of a ceiling loop whose accumulators were compared with the exact integers that it must produce.
pub fn judge_accumulators(check: Result<(), &str>) -> Judgement {
    match check {
        Ok(()) => Judgement { outcome: Outcome::Right, reason: String::new(), error: None },
        Err(why) => Judgement::of(Outcome::Wrong, format!("accumulators: {why}"), None),
    }
}

/// The outcome of a cell of zeros or constants: the worse of its own, judged by [`Proof::Blind`], and that of a random
/// sibling in its block, given with the name of its recipe. Without a sibling it is `mistrusted` or worse: by themselves such
/// products prove nothing.
///
/// From good to bad: `right`, `imprecise`, `mistrusted`, `wrong`. Of two that are equally bad its own is told. The error is
/// its own.
pub fn inherit(own: &Judgement, sibling: Option<(&Judgement, &str)>) -> Judgement {
    let (outcome, reason) = match sibling {
        None => (Outcome::Mistrusted, "no random sibling in the block to inherit a gate from".to_owned()),
        Some((sibling, _)) if sibling.outcome == Outcome::Right => (Outcome::Right, String::new()),
        Some((sibling, recipe)) => (sibling.outcome, format!("as its random sibling {recipe}: {}", sibling.reason)),
    };
    if badness(own.outcome) >= badness(outcome) {
        return own.clone();
    }
    Judgement::of(outcome, reason, own.error)
}

/// Outcomes that are not of a judgement are as bad as can be.
fn badness(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Right => 0,
        Outcome::Imprecise => 1,
        Outcome::Mistrusted => 2,
        _ => 3,
    }
}

impl Judgement {
    fn of(outcome: Outcome, reason: String, error: Option<f64>) -> Self {
        Judgement { outcome, reason, error }
    }
}

impl Proof<'_> {
    /// The first fault that would have come out `right`.
    fn passed(&self, tolerance: Tolerance) -> Option<PlantedFault> {
        let passes = |trial: &FaultTrial| trial.sums.is_none() && trial.error.is_some_and(|e| tolerance.admits(e));
        self.all_passed(passes).first().copied()
    }

    /// How a reason names the faults that a limit would not have seen; empty where it would have seen all.
    fn unseen(&self, limit: f64) -> String {
        let passes = |trial: &FaultTrial| trial.sums.is_none() && trial.error.is_some_and(|error| error <= limit);
        let names: Vec<&str> = self.all_passed(passes).into_iter().map(PlantedFault::words).collect();
        if names.is_empty() { String::new() } else { format!(", which would not have seen: {}", names.join("; ")) }
    }

    fn all_passed(&self, passes: impl Fn(&FaultTrial) -> bool) -> Vec<PlantedFault> {
        match self {
            Proof::Recorded(fault) => fault.iter().copied().collect(),
            Proof::Blind => Vec::new(),
            Proof::Trials(trials) => {
                let rejected = |fault: PlantedFault| {
                    let mut of_fault = trials.iter().filter(|trial| trial.fault == fault).peekable();
                    of_fault.peek().is_some() && !of_fault.any(&passes)
                };
                let possible = trials.iter().any(|trial| trial.error.is_some());
                PlantedFault::ALL.into_iter().filter(|&fault| !possible || !rejected(fault)).collect()
            }
        }
    }
}
