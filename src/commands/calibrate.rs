//! How often is the instrument itself wrong?

use super::table::Table;
use crate::args::CalibrateArgs;
use crate::exit::{Exit, failure};
use crate::terminal::{bad, good};
use rigel_study::calibrate::Family;

/// Plants, recovers, and prints both; the exit code is 1 when a limit is not kept.
pub fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    let known = || Family::ALL.map(Family::name).join(", ");
    if let Some(unknown) = args.families.iter().find(|f| !Family::ALL.iter().any(|family| family.name() == *f)) {
        return Err(failure(Exit::Usage, format!("no family `{unknown}`; known: {}", known())));
    }
    if args.devices == 0 {
        return Err(failure(Exit::NothingSelected, "nothing to plant: --devices must be at least 1"));
    }
    let wanted = |family: &Family| args.families.is_empty() || args.families.iter().any(|f| f == family.name());
    let mut table =
        Table::new(&["family", "planted", "counted", "count", "of", "rate", "95 % interval", "limit", "kept"]);
    let mut kept = true;
    for family in Family::ALL.into_iter().filter(wanted) {
        let result = family.run(args.seed, args.devices);
        kept &= result.passes();
        for line in result.lines {
            let (low, high) = line.bounds();
            let word = match line.passes() {
                Some(true) => good("yes"),
                Some(false) => bad("no"),
                None => String::new(),
            };
            table.row([
                family.name().to_owned(),
                line.planted.clone(),
                line.counted.clone(),
                line.count.to_string(),
                line.of.to_string(),
                percent(line.rate()),
                format!("{} to {}", percent(low), percent(high)),
                line.limit.to_string(),
                word,
            ]);
        }
    }
    table.print(args.format)?;
    crate::terminal::tell!("simulated: error rates under planted laws, seed {}", args.seed);
    Ok(if kept { Exit::Fine } else { Exit::CheckFailed })
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
