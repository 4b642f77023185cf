//! Cells, rows, provenance, statistics, verdict rules, store and verify: what a run says and how anybody checks it.
//!
//! This crate knows files, not devices. Everything in it is a pure step over plain data except [`store`].
#![forbid(unsafe_code)]

mod asked;
mod asked_key;
pub mod block_name;
pub mod compare;
pub mod effect;
pub mod facts;
pub mod gate;
mod identity;
pub mod parts;
pub mod plan;
mod plan_axes;
mod plan_error;
mod plan_file;
mod plan_section;
mod plan_select;
mod planted;
pub mod provenance;
mod repeated;
pub mod rivals;
pub mod rows;
pub mod schema;
pub mod share;
mod short;
pub mod statistics;
pub mod store;
pub mod units;
pub mod verdict;
pub mod verify;

pub use plan::Plan;
pub use provenance::Provenance;
pub use rows::{CellId, CellRow, FactRow, Outcome, PowerRow, Probe, SampleRow, WitnessRow};
