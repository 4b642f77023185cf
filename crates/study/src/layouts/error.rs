//! Why is there no layout?

use rigel_device::unit::UnitError;
use rigel_numerics::Format;
use rigel_numerics::layout::FragmentOperand;

/// What speaks against every layout, with the first place where it was seen. No map is given beside it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unrecovered {
    /// The unit cannot be asked, or broke its declaration.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A format without 0 or 1.
    #[error("{operand} is of {format}, which holds no 0 and 1 to ask with")]
    Format {
        /// Which operand.
        operand: FragmentOperand,
        /// Its format.
        format: Format,
    },
    /// Slot numbers do not fit the launches.
    #[error("{operand} has {entries} registers over all lanes; the recovery goes up to 2^24")]
    TooLarge {
        /// Which operand.
        operand: FragmentOperand,
        /// Lanes times slots.
        entries: usize,
    },
    /// No register of D tells ones from zeros.
    #[error("no register of D answers ones in A and B otherwise than zeros, so nothing can be seen")]
    Silent,
    /// Two answers to the same registers.
    #[error(
        "lane {lane}, slot {slot} of D gave {first} and {second} for the same registers: the unit is not deterministic"
    )]
    Unsteady {
        /// Lane of D.
        lane: usize,
        /// Slot of D.
        slot: usize,
        /// Value of the first answer.
        first: f64,
        /// Of the second.
        second: f64,
    },
    /// Zeros do not give zero.
    #[error("lane {lane}, slot {slot} of D is {seen} for zeros in A, B and C; a product gives 0")]
    Zeros {
        /// Lane of D.
        lane: usize,
        /// Slot of D.
        slot: usize,
        /// Its value.
        seen: f64,
    },
    /// Ones do not give the same everywhere.
    #[error(
        "lane {lane}, slot {slot} of D is {seen} for ones in A and B, lane {}, slot {} is {other}; one product of ones gives one number everywhere",
        against.0, against.1
    )]
    Ones {
        /// Lane of D.
        lane: usize,
        /// Slot of D.
        slot: usize,
        /// Its value.
        seen: f64,
        /// Lane and slot of the first used register.
        against: (usize, usize),
        /// Its value.
        other: f64,
    },
    /// The map that was seen makes no layout; a mistake of the recovery itself.
    #[error(transparent)]
    Layout(#[from] rigel_numerics::layout::LayoutError),
    /// Registers of D do not fall into the rows and columns of the declared shape.
    #[error(
        "D's registers fall into {rows} rows and {cols} columns after {launches} launches; declared: {m} × {n}. First out of place: {example}"
    )]
    Outputs {
        /// Kinds of answers to A.
        rows: usize,
        /// Kinds of answers to B.
        cols: usize,
        /// Launches spent on it.
        launches: usize,
        /// Declared rows.
        m: usize,
        /// Declared columns.
        n: usize,
        /// A register or a gap, in words.
        example: String,
    },
    /// The k indices are fewer or more than declared.
    #[error("{found} indices of k were told apart, {declared} are declared; rounds without a new one: {idle}")]
    Inner {
        /// Told apart.
        found: usize,
        /// Declared k.
        declared: usize,
        /// Rounds without a new one before it was given up.
        idle: usize,
    },
    /// One slot feeds what no single element feeds.
    #[error("lane {lane}, slot {slot} of {operand} {what}: what it holds is not one element")]
    NotOneElement {
        /// Which operand.
        operand: FragmentOperand,
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
        /// What was seen.
        what: String,
    },
    /// A row of D answers a selection of one slot with something else than that slot.
    #[error("lane {lane}, slot {slot} of D is {seen} where {operand} gives {expected} in every reading of one element")]
    Reading {
        /// Operand whose slots were read.
        operand: FragmentOperand,
        /// Lane of D.
        lane: usize,
        /// Slot of D.
        slot: usize,
        /// Value expected.
        expected: f64,
        /// Value seen.
        seen: f64,
    },
    /// The finished map predicts another value than the unit gives.
    #[error(
        "confirmation ({pass}): lane {lane}, slot {slot} of D is {seen}, the recovered map says {expected}; no map is given"
    )]
    Contradicted {
        /// Which pass.
        pass: &'static str,
        /// Lane of D.
        lane: usize,
        /// Slot of D.
        slot: usize,
        /// Value predicted.
        expected: f64,
        /// Value seen.
        seen: f64,
    },
}
