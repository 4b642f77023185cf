//! Does the plan ask for every row, and which of those that it asks for are not here?

use super::report::{Check, CheckName, Failure};
use crate::asked::Asked;
use crate::repeated::repeated;
use crate::store::{CELLS, Run};

pub(super) fn check(run: &Run) -> Check {
    let path = run.dir().join(CELLS);
    let asked = Asked::new(run.plan(), run.provenance());
    let cells = run.cells();
    let strangers = cells.iter().enumerate().filter_map(|(i, row)| Some((i, asked.stranger(row)?)));
    let mut failures: Vec<(usize, String)> = strangers.chain(repeated(cells)).collect();
    failures.sort();
    let failures = failures.into_iter().map(|(i, what)| Failure::line(&path, run.line(i), what)).collect();
    let notes = asked.short(cells).words().into_iter().collect();
    Check { notes, ..Check::of(CheckName::Plan, cells.len(), failures) }
}
