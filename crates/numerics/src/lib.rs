//! Number formats, input recipes, exact references, error bounds: the arithmetic that everything else stands on.
//!
//! This crate is pure: no files, no devices, no clocks, no `unsafe`. Every value is a bit pattern of a
//! [`Format`]; every matrix is a row-major [`Matrix`] of such patterns; every input element is a function
//! of (seed, recipe, operand, row, column) that needs integer arithmetic only ([`Recipe`]).
#![forbid(unsafe_code)]

pub mod arithmetic;
pub mod attention;
mod bell;
pub mod block;
mod both_sums;
pub mod bound;
pub mod calculation;
pub mod checksum;
pub mod codec;
pub mod compare;
pub mod conversion;
pub mod decode_row;
pub mod double_double;
mod elements;
mod encode;
pub mod epilogue;
pub mod exact;
mod fits;
mod foreign;
pub mod format;
mod ladder;
pub mod layout;
mod line_bounds;
mod line_sums;
pub mod matrix;
mod nearest;
pub mod order;
pub mod packing;
pub mod placement;
pub mod plane;
pub mod random;
pub mod recipe;
pub mod reference;
pub mod rounding;
pub mod sample;
pub mod shape;
mod superaccumulator;
pub mod synonyms;
pub mod triple;
pub mod units;
pub mod words;

pub use calculation::Calculation;
pub use format::Format;
pub use matrix::Matrix;
pub use recipe::{Operand, Recipe};
pub use rounding::{Overflow, Rounding};
pub use shape::Shape;
pub use triple::Triple;
pub use units::{Megahertz, Time};
