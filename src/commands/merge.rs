//! How do shards become one run?

use crate::args::MergeArgs;
use crate::exit::{Exit, failure};

/// Joins shards.
pub fn merge(args: &MergeArgs) -> anyhow::Result<Exit> {
    let run = rigel_ledger::store::merge(&args.out, &args.shards).map_err(|e| failure(Exit::Usage, e))?;
    super::report::write_page(&run, &args.out.join("report.html"))?;
    crate::terminal::tell!("{} rows of {} shards are in {}", run.cells().len(), args.shards.len(), args.out.display());
    Ok(Exit::Fine)
}
