//! Which cells would a run measure, and how long and large would it be?

use super::planning;
use super::table::{Table, duration, engineering};
use crate::args::PlanArgs;
use crate::exit::{Exit, failure};
use rigel_ledger::rows::name_of;
use rigel_study::estimate::estimate;
use rigel_study::units::{Expansion, Unit};

/// Lists units and cells.
pub fn list(args: &PlanArgs) -> anyhow::Result<Exit> {
    let planned = planning::resolve(args)?;
    let units = planning::units(args, &planned);
    if units.is_empty() {
        return Err(failure(Exit::NothingSelected, nothing(args)));
    }
    let mut table = Table::new(&["block", "work", "path", "types", "shape", "recipe", "processes", "note"]);
    for unit in &units {
        let (processes, note) = match unit {
            Unit::Block { .. } => (planned.plan.sampling.processes, String::new()),
            Unit::Climb { .. } => (1, String::new()),
            Unit::Absent { reason, .. } => (0, format!("absent: {reason}")),
        };
        for cell in unit.cells() {
            table.row([
                unit.name(),
                name_of(&cell.work),
                cell.path.clone(),
                cell.triple.to_string(),
                cell.shape.map(|s| s.to_string()).unwrap_or_else(|| cell.tile.clone()),
                cell.recipe.map(|r| r.to_string()).unwrap_or_default(),
                processes.to_string(),
                note.clone(),
            ]);
        }
    }
    if !args.estimate {
        table.print(args.format)?;
        return Ok(Exit::Fine);
    }
    let expansion = Expansion::new(&planned.plan, planned.device.as_ref());
    let e = estimate(&expansion, &units);
    let mut table = Table::new(&["rows", "samples", "bytes", "seconds", "about"]);
    let about = format!("{}B, {}", engineering(e.bytes as f64), duration(e.seconds));
    table.row([e.rows.to_string(), e.samples.to_string(), e.bytes.to_string(), format!("{:.0}", e.seconds), about]);
    table.print(args.format)?;
    Ok(Exit::Fine)
}

/// Why nothing is selected, and what to do.
pub fn nothing(args: &PlanArgs) -> String {
    if let Some(block) = &args.block {
        return format!("no block `{block}` on {}; `rigel list` with the same plan and device names them", args.device);
    }
    let filter = if args.filter.is_empty() { String::new() } else { format!(" (filter `{}`)", args.filter) };
    format!(
        "nothing selected on {}{filter}: no path and type triple of this device matches; `rigel devices --device {}` lists them",
        args.device, args.device
    )
}
