//! Which lane holds which element of a matrix unit's operands, and in which slot?
//!
//! A [`Layout`] is the table of one operand: (lane, slot) → (row, column), or nothing where a slot is unused. A slot is one
//! element, so the order of elements inside a register word is part of the table. A [`Fragment`] holds the three layouts of a
//! unit: A (m × k), B (k × n) and C (m × n), which D shares.
//!
//! The same table is described in several ways, each checked against it rather than assumed:
//!
//! | description | by | exists |
//! | --- | --- | --- |
//! | bases over F2 with rank and kernel | [`Layout::affine`] | when the bits of lane and slot act by exclusive or |
//! | strides of a mixed radix, formula, CuTe `shape:stride` | [`Layout::mixed_radix`] | when digits of lane and slot add up |
//! | rows of CSV | [`csv`] | always |
//! | an index function in MSL, CUDA C++ or Rust | [`emit`] | always |
//!
//! **When a layout misleads.** Products alone cannot tell how m, n and k are numbered: two fragments that differ by a
//! renumbering of each multiply alike ([`Fragment::same_up_to_relabelling`]). A recovered layout is valid for one driver and
//! toolchain. A copy that the hardware never reads looks, from outside, like an unused slot.
//!
//! [`library()`] holds what others have published, with sources.

mod affine;
mod agreement;
mod coverage;
pub mod csv;
mod cute;
pub mod emit;
mod error;
mod fragment;
mod library;
mod moves;
mod radix;
mod relabel;
mod table;

pub use affine::{Affine, NotAffine};
pub use agreement::Agreement;
pub use coverage::Coverage;
pub use cute::IndexOrder;
pub use error::LayoutError;
pub use fragment::{Fragment, FragmentOperand};
pub use library::{PublishedFragment, PublishedLayout, fragments, library};
pub use moves::Holder;
pub use radix::{MixedRadix, Mode, NotMixedRadix};
pub use relabel::{Difference, Relabelling};
pub use table::Layout;
