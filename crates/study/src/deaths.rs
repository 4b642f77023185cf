//! Which row does a cell get whose process ended without one?

use crate::protocol::Stage;
use crate::supervisor::End;
use rigel_ledger::plan::Limits;
use rigel_ledger::rows::{CellRow, Identity, Outcome};

/// The row of the cell that a process was at when it died, fell silent or lost the device: what was said last, and when.
pub(crate) fn culprit_row(
    identity: &Identity,
    process: u32,
    end: &End,
    last: Option<(usize, Stage)>,
    limits: &Limits,
) -> CellRow {
    let mut row = CellRow::blank(identity, process);
    let when = last.map_or("before it began", |(_, stage)| stage.words());
    (row.outcome, row.reason) = match end {
        End::Died(why) if out_of_memory(why) => (Outcome::OutOfMemory, format!("{why}; {when}")),
        End::Died(why) => (Outcome::Crashed, format!("{why}; {when}")),
        End::DeviceLost { reason, .. } => (Outcome::DeviceLost, format!("{reason}; {when}")),
        _ => (Outcome::Hung, format!("no sign of life for {} s {when}; killed", limits.timeout_s)),
    };
    row
}

/// A row for a cell of which a worker that said it was done said nothing.
pub(crate) fn no_result(identity: &Identity, process: u32) -> CellRow {
    let mut row = CellRow::blank(identity, process);
    row.reason = "the worker ended without a result for this cell".into();
    row
}

/// Whether a dead worker, or the system in its place, says that memory ran out.
fn out_of_memory(why: &str) -> bool {
    let why = why.to_lowercase();
    why.contains("memory allocation of") || why.contains("out of memory") || why.contains("cannot allocate memory")
}
