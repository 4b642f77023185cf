//! What can be wrong with a layout, a fragment or the matrices that are moved through them?

use super::FragmentOperand;

/// A layout that cannot be, or a matrix that does not fit one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// An extent, the lanes or the slots are 0 or too many.
    #[error("{what} of a layout is {found}; allowed: 1 to {most}")]
    Extent {
        /// Which of them.
        what: &'static str,
        /// As given.
        found: usize,
        /// Largest allowed.
        most: usize,
    },
    /// Not one entry a lane and slot.
    #[error("a table of {found} entries for {lanes} lanes of {slots} slots; it needs {}, lane by lane", lanes * slots)]
    Length {
        /// Entries given.
        found: usize,
        /// Lanes.
        lanes: usize,
        /// Slots of a lane.
        slots: usize,
    },
    /// An entry names an element that the operand has not.
    #[error("lane {lane}, slot {slot} holds ({row}, {col}), which lies outside an operand of {rows} × {cols}")]
    Outside {
        /// Lane.
        lane: usize,
        /// Slot.
        slot: usize,
        /// Row it names.
        row: i64,
        /// Column it names.
        col: i64,
        /// Rows of the operand.
        rows: usize,
        /// Columns of the operand.
        cols: usize,
    },
    /// Digits of a mixed radix do not number the lanes or slots.
    #[error("the digits of the {what} count {found}; declared: {declared}")]
    Digits {
        /// `lanes` or `slots`.
        what: &'static str,
        /// Product of the digits' extents.
        found: usize,
        /// Lanes or slots.
        declared: usize,
    },
    /// Three layouts that are not those of one product.
    #[error(
        "layouts of A ({} × {}), B ({} × {}) and C ({} × {}) are not those of m × k, k × n and m × n",
        a.0, a.1, b.0, b.1, c.0, c.1
    )]
    Shapes {
        /// Rows and columns of A.
        a: (usize, usize),
        /// Of B.
        b: (usize, usize),
        /// Of C.
        c: (usize, usize),
    },
    /// Three layouts with different numbers of lanes.
    #[error("layouts of A, B and C have {a}, {b} and {c} lanes; one unit has one number of lanes")]
    Lanes {
        /// Lanes of A.
        a: usize,
        /// Of B.
        b: usize,
        /// Of C.
        c: usize,
    },
    /// A matrix that is not whole tiles, or not whole launches.
    #[error(
        "{what} is {rows} × {cols}; the layout needs {needed_cols} columns and a multiple of {of} rows, at least one"
    )]
    Misfit {
        /// `the tile` or `the registers`.
        what: &'static str,
        /// Its rows.
        rows: usize,
        /// Its columns.
        cols: usize,
        /// Columns that the layout needs.
        needed_cols: usize,
        /// Rows of one tile, or lanes of one launch.
        of: usize,
    },
    /// Registers cannot give a tile: no slot holds this element.
    #[error("no lane holds element ({row}, {col}), so registers cannot give the tile")]
    Unheld {
        /// Row.
        row: usize,
        /// Column.
        col: usize,
    },
    /// CSV that is no layout.
    #[error("layout CSV, line {line}: {what}")]
    Csv {
        /// Line, from 1.
        line: usize,
        /// What is wrong and what is allowed.
        what: String,
    },
    /// An operand without a single row of CSV.
    #[error("layout CSV: no row of operand {0}; every operand needs one row a lane and slot")]
    NoRows(FragmentOperand),
    /// A text that is no CuTe layout of lanes and slots.
    #[error(
        "`{text}` is no CuTe layout of lanes and slots: {what}; write `(lanes,slots):(strides,strides)` with equal nesting, such as `((4,8),2):((16,1),8)`"
    )]
    Cute {
        /// The text.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// A file of published layouts that cannot be read.
    #[error("published layouts, {file}: {what}")]
    Library {
        /// File.
        file: &'static str,
        /// What is wrong.
        what: String,
    },
}
