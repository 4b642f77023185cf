//! Do the files of a run say what can be derived from them?

use super::records::{Field, Form, Records};
use super::table::Table;
use crate::args::VerifyArgs;
use crate::exit::Exit;
use crate::terminal::{bad, good, strong_error, tell};
use rigel_ledger::verify::{Check, Report};

/// Failures of one check that are printed for people; programs get all that the report keeps.
const SHOWN: usize = 21;

/// Verifies runs; the exit code is 1 when any check says no, 2 when there is no run to check.
pub fn verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let mut reports = Vec::new();
    let mut unreadable = 0;
    for dir in &args.runs {
        match rigel_ledger::verify::verify(dir) {
            Ok(report) => reports.push((dir.display().to_string(), report)),
            Err(error) => {
                unreadable += 1;
                tell!("{} {error}", strong_error("error:"));
            }
        }
    }
    match Form::of(args.format) {
        _ if reports.is_empty() => {}
        None => table(&reports)?,
        Some(form) => records(&reports, form)?,
    }
    Ok(match reports.iter().all(|(_, report)| report.passed()) {
        _ if unreadable > 0 => Exit::Usage,
        true => Exit::Fine,
        false => Exit::CheckFailed,
    })
}

fn table(reports: &[(String, Report)]) -> anyhow::Result<()> {
    let mut table = Table::new(&["run", "check", "items", "result", "where and what"]);
    for (run, check) in checks(reports) {
        let name = check.name.to_string();
        if check.failed == 0 {
            let notes = check.notes.join("; ");
            table.row([run.clone(), name, check.items.to_string(), good("yes"), notes]);
            continue;
        }
        let mut items = check.items.to_string();
        for failure in check.failures.iter().take(SHOWN) {
            table.row([run.clone(), name.clone(), std::mem::take(&mut items), bad("no"), failure.to_string()]);
        }
        if check.failed > SHOWN {
            let more = format!("and {} more; --format csv lists the first thousand", check.failed - SHOWN);
            table.row([run.clone(), name, String::new(), bad("no"), more]);
        }
    }
    table.print()
}

fn records(reports: &[(String, Report)], form: Form) -> anyhow::Result<()> {
    let mut records = Records::new(["run", "check", "items", "failed", "passed", "file", "line", "what"]);
    for (run, check) in checks(reports) {
        let head = || {
            let passed = Field::yes_or_no(check.failed == 0);
            [run.as_str().into(), check.name.to_string().into(), check.items.into(), check.failed.into(), passed]
        };
        let mut row = |file: Field, line: Field, what: Field| {
            let [run, name, items, failed, passed] = head();
            records.row([run, name, items, failed, passed, file, line, what]);
        };
        for failure in &check.failures {
            row(failure.path.display().to_string().into(), failure.line.into(), failure.what.as_str().into());
        }
        if check.failures.is_empty() {
            row(Field::Missing, Field::Missing, check.notes.join("; ").into());
        }
    }
    records.print(form)
}

fn checks(reports: &[(String, Report)]) -> impl Iterator<Item = (&String, &Check)> {
    reports.iter().flat_map(|(run, report)| report.checks.iter().map(move |check| (run, check)))
}
