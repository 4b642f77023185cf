//! Which probes exist? One file and one line each.
//!
//! A probe says which pieces it needs measured; the facts that follow are derived in the ledger, so that anybody can
//! derive them again from the files. Probes that read the same cells as another one need no pieces of their own. A probe that
//! asks single instructions also says, in a worker, what is recorded of one.

mod alignment;
pub(crate) mod arithmetic;
mod attention;
mod clocks;
mod dispatch;
mod fusion;
pub(crate) mod layout;
pub(crate) mod order;
mod power;
pub(crate) mod specials;
mod throughput;
mod types;
mod versions;

use crate::pieces::{Expansion, Piece};
use rigel_ledger::Probe;

/// One probe.
pub struct ProbeEntry {
    /// Its name.
    pub probe: Probe,
    /// One line for `rigel list`.
    pub summary: &'static str,
    /// The pieces it needs measured.
    pub pieces: fn(&Expansion) -> Vec<Piece>,
}

/// Every probe, in the order in which a run takes them.
pub const PROBES: &[ProbeEntry] = &[
    types::ENTRY,
    throughput::ENTRY,
    clocks::ENTRY,
    dispatch::ENTRY,
    arithmetic::ENTRY,
    layout::ENTRY,
    specials::ENTRY,
    order::ENTRY,
    fusion::ENTRY,
    power::ENTRY,
    attention::ENTRY,
    alignment::ENTRY,
    versions::ENTRY,
];
