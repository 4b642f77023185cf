//! How often is the instrument itself wrong?

use super::table::Table;
use crate::args::CalibrateArgs;
use crate::exit::{Exit, failure};

/// The families that can be calibrated.
const FAMILIES: [&str; 2] = ["clocks", "verdicts"];

/// Plants, recovers, and prints both; the exit code is 1 when a limit is not kept.
pub fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    if let Some(unknown) = args.families.iter().find(|f| !FAMILIES.contains(&f.as_str())) {
        return Err(failure(Exit::Usage, format!("no family `{unknown}`; known: {}", FAMILIES.join(", "))));
    }
    let wanted = |family: &str| args.families.is_empty() || args.families.iter().any(|f| f == family);
    let mut table = Table::new(&["family", "planted", "recovered as", "of", "rate", "95 % bound", "limit", "kept"]);
    let mut kept = true;
    let mut add = |family: &str, rows: Vec<rigel_study::calibrate::Row>| {
        for row in rows {
            kept &= row.kept;
            table.row(row.words(family));
        }
    };
    if wanted("clocks") {
        add("clocks", rigel_study::calibrate::clocks(args.seed, args.devices).rows);
    }
    if wanted("verdicts") {
        add("verdicts", rigel_study::calibrate::verdicts(args.seed, args.devices).rows);
    }
    table.print(args.format)?;
    Ok(if kept { Exit::Fine } else { Exit::CheckFailed })
}
