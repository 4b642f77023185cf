//! Which lane holds which element of a unit's operands, seen through its registers alone?
//!
//! [`recover`] takes any [`Unit`](rigel_device::unit::Unit) with fragments, knows its declared extents and formats, and nothing
//! else. Registers go in, registers come out; values are 0, powers of two and sums of them up to 255, which every float format and
//! accumulator of at least 8 bits holds exactly.
//!
//! # How
//!
//! 1. **Sight.** What the unit gives for zeros, for ones, and twice for the same. Registers of D that tell ones from zeros
//!    are used.
//! 2. **D.** Random bits in A with ones in B: registers of one row answer alike, whatever the arithmetic, and random bits tell
//!    rows apart. The same with A and B exchanged for columns.
//! 3. **B by A, A by B.** A few slots of A are lit. Where one alone falls on a row, that row of D shows one k of B: ones in B
//!    tell how many are lit, and one launch a bit of the slot number names the slot of B for every column. Weights 1, 4, 16, 64
//!    keep several lit slots of a row apart. Then those k of B select, one or more a column, and the numbers of A's slots are
//!    read the same way. What is known is not lit again, so two or three rounds name every slot of large operands. No
//!    assumption about the map is made: linear, mixed-radix and shuffled ones take the same launches.
//! 4. **C.** One launch a bit of its slot number, with nothing else.
//! 5. **Confirmation.** Every slot once more, alone in its row or column (and alone in its launch for small operands), against a
//!    code that names its k; all slots said to be unread, lit together; dense random launches. One deviation and there is no
//!    result.
//!
//! # What products cannot show
//!
//! How m, n and k are numbered: three relabellings are free. They are fixed by a published layout where the caller
//! names one ([`Numbering::Published`]: m and n by its C, k by its A), else by first appearance: m and n in the order of D's
//! registers, k in that of A's. First appearance gives linear numbers whenever linear ones exist. The unit contract has no
//! coordinate query; a load or store of the device could fix what a convention fixes here.
//!
//! Whether a slot that no product reads is unused or a copy that the hardware ignores. Where copies are each read by a part of
//! the product only, the unit falls into independent parts, and how their numbers correspond is free as well
//! ([`Recovered::parts`]).

mod addend;
mod ask;
mod assemble;
mod confirm;
mod error;
mod grid;
mod lines;
mod outputs;
mod recovered;
mod sight;

pub use error::Unrecovered;
pub use recovered::{Launches, Numbering, Recovered, recover};
pub use rigel_numerics::layout::Agreement;
