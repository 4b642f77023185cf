//! How do shards become one run, and what of their plan is not there?

use super::opening;
use crate::args::MergeArgs;
use crate::exit::{Exit, failure};
use crate::terminal::{tell, warning};
use rigel_ledger::Provenance;
use rigel_ledger::parts::missing_parts;
use rigel_ledger::store::{Run, StoreError, integrity};
use rigel_study::missing::{Missing, missing};
use rigel_study::pieces::Expansion;

/// Joins shards; the exit code is 5 when cells of the plan have no row.
pub fn merge(args: &MergeArgs) -> anyhow::Result<Exit> {
    for shard in &args.shards {
        integrity(shard).map_err(|error| opening::refused(shard, error))?;
    }
    let run = rigel_ledger::store::merge(&args.out, &args.shards).map_err(refused)?;
    super::report::write_page(&run, &args.out.join("report.html"))?;
    tell!("{} rows of {} shards are in {}", run.cells().len(), args.shards.len(), args.out.display());
    let parts = missing_parts(run.provenance());
    let cells = count(&run);
    match (&parts, &cells) {
        (None, None) => return Ok(Exit::Fine),
        (None, Some(missing)) if missing.total() == 0 => return Ok(Exit::Fine),
        (Some(parts), Some(missing)) if missing.total() == 0 => {
            tell!("every cell of the plan has its rows; what is not here ({parts}) holds meter readings at most");
            return Ok(Exit::Fine);
        }
        _ => {}
    }
    if let Some(parts) = parts {
        tell!("{} this is not the whole plan: {parts}", warning());
    }
    match cells {
        Some(missing) => say(&missing),
        None => tell!("how many cells are missing is not known: the device that names them is not on this machine"),
    }
    tell!("verdicts stand on the blocks that are here, and say so; measure the rest, then merge again");
    Ok(Exit::Unfinished)
}

/// A merge that was refused: a check said no to a shard, or the shards are no one run.
fn refused(error: StoreError) -> anyhow::Error {
    let exit = if matches!(error, StoreError::Rejected { .. }) { Exit::CheckFailed } else { Exit::Usage };
    failure(exit, error)
}

/// Counts by the plan, where the run's own device is here to expand it: launch tiles and ceiling loops are its to name.
fn count(run: &Run) -> Option<Missing> {
    let Provenance { device: recorded, .. } = run.provenance().first()?;
    let device = rigel_device::backends::open(&recorded.selector).ok()?;
    let found = device.describe();
    if (&found.id, &found.driver) != (&recorded.id, &recorded.driver) {
        return None;
    }
    let pieces = Expansion::new(run.plan(), device.as_ref()).pieces();
    Some(missing(&pieces, run.cells(), run.plan().sampling.processes))
}

fn say(missing: &Missing) {
    let (total, rows) = (missing.total(), missing.rows);
    tell!("{total} of {rows} rows of the plan are missing, in {} blocks and ladders", missing.pieces.len());
    let processes = missing.by_process.iter().enumerate().filter(|(_, cells)| **cells > 0);
    let processes: Vec<String> = processes.map(|(process, cells)| format!("process {process}: {cells}")).collect();
    tell!("cells without a row by process: {}", processes.join(", "));
}
