//! Do the files of a run say what can be derived from them?

use super::table::Table;
use crate::args::{Format, VerifyArgs};
use crate::exit::{Exit, failure};
use crate::terminal::{bad, good};

/// Verifies runs; the exit code is 1 when any check says no.
pub fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let mut table = Table::new(&["run", "check", "items", "result", "where and what"]);
    let mut fine = true;
    for dir in &args.runs {
        let name = dir.display().to_string();
        let report = match rigel_ledger::verify::verify(dir) {
            Ok(report) => report,
            Err(error) if !dir.is_dir() => return Err(failure(Exit::Usage, error)),
            Err(error) => {
                fine = false;
                table.row([name, "reads".into(), String::new(), bad("no"), error.to_string()]);
                continue;
            }
        };
        for check in &report.checks {
            let result = if check.failures.is_empty() { good("yes") } else { bad("no") };
            fine &= check.failures.is_empty();
            let first = check.failures.first().map(ToString::to_string).unwrap_or_default();
            table.row([name.clone(), check.name.to_string(), check.items.to_string(), result, first]);
            if args.format != Format::Table || check.failures.len() > 1 {
                for failure in check.failures.iter().skip(1).take(20) {
                    table.row([name.clone(), check.name.to_string(), String::new(), bad("no"), failure.to_string()]);
                }
            }
        }
    }
    table.print(args.format)?;
    Ok(if fine { Exit::Fine } else { Exit::CheckFailed })
}
