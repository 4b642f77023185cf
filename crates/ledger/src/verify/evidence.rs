//! Are the rows behind each cell those that its digest was taken over?

use super::report::{Check, CheckName, Failure};
use crate::store::{CELLS, Run, SAMPLES, Scanned, StoreError, WITNESS, evidence_digests, key, repetitions_fault};
use crate::units::files_of;

pub(super) fn check(run: &Run, samples: &Scanned, witness: &Scanned) -> Result<Check, StoreError> {
    let dir = run.dir();
    let cells_path = dir.join(CELLS);
    let spans = run.cells().iter().map(|row| {
        let key = key(row);
        [samples.groups.get(&key).copied(), witness.groups.get(&key).copied()]
    });
    let found = evidence_digests(dir, spans.clone().zip(run.cells().iter().map(files_of)))?;
    let mut failures = Vec::new();
    for (i, ((row, [samples, witness]), found)) in run.cells().iter().zip(spans).zip(found).enumerate() {
        let rows = samples.map_or(0, |span| span.rows);
        if rows != row.repetitions.unwrap_or(0) {
            failures.push(Failure::line(&cells_path, run.line(i), repetitions_fault(row, rows).to_string()));
        }
        let found = found.to_hex();
        if found.as_str() != row.evidence {
            let place = |name: &str, span: Option<crate::store::Span>| match span {
                Some(span) => format!("lines {} to {} of {name}", span.line, span.line + u64::from(span.rows) - 1),
                None => format!("no line of {name}"),
            };
            let files = files_of(row).join(", ");
            let (behind, kind) = match files.is_empty() {
                true => (format!("{} and {}", place(SAMPLES, samples), place(WITNESS, witness)), "rows"),
                false => (files, "files"),
            };
            let what =
                format!("evidence is `{}`; {behind} have `{found}`: one of these {kind} was changed", row.evidence);
            failures.push(Failure::line(&cells_path, run.line(i), what));
        }
    }
    Ok(Check::of(CheckName::Evidence, run.cells().len(), failures))
}
