//! What is recorded of one matrix instruction, so that anybody can check it without the device?
//!
//! A cell of the probes `arithmetic`, `layout` and `specials` is one question about one unit or conversion, asked in one process;
//! one of `order` is a question about the products of one path, launch tile and K.
//! Its row says how it ended; what was found lies in files of its own, named after the unit and the cell:
//!
//! | probe | files | holds |
//! | --- | --- | --- |
//! | `arithmetic` | `models/NAME-CELL.json` | [`ArithmeticRecord`]: model, class, validation, counterexample, kept operand bits, vectors |
//! | `layout` | `layouts/NAME-CELL.json`, `layouts/NAME-CELL.csv` | [`LayoutRecord`]: launches and their sample; the map itself, where there is one |
//! | `specials` | `conversions/NAME-CELL.json` | [`ConversionRecord`]: the rule, deviating codes, a sample of all codes |
//! | `order` | `orders/NAME-CELL.json` | [`OrderRecord`]: the tree of sums, the pairs it was held against, row 0 of each batch |
//!
//! The digest in the cell row covers these files, so the row commits to them as to samples and witness.
//!
//! Codes are written in lower-case hexadecimal without leading zeros, several of them parted by spaces. The inputs of every
//! sample follow from the seed alone, so that `verify` makes them again: an edited input is seen, whatever the outputs say.

mod arithmetic;
mod check;
mod codes;
mod conversion;
mod layout;
mod order;
mod record;
mod shallow;

pub use arithmetic::{
    ArithmeticRecord, Contradiction, Counterexample, KeptOperand, Question, Tested, Tiles, Undetermined, Validation,
    Vector, drawn_inputs,
};
pub use check::{VECTORS, flaws};
pub use codes::{Code, Codes};
pub use conversion::{ConversionRecord, Deviation, sampled_codes};
pub use layout::{LaunchCounts, LayoutRecord, Registers, SAMPLED, SampledLaunch, drawn_launch};
pub use order::{EXACT_SUMS, MET, OrderRecord, RowZero, batches, drawn_pairs, drawn_row};
pub use record::{Claim, Origin, SCHEMA, UnitIdentity, UnitRecord, files_of, folder, stem};
