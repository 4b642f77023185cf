//! What of an interrupted run is kept, and may this process go on with it?

use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::{CellRow, PowerRow};
use crate::store::directory::{self, CELLS, POWER, SAMPLES, WITNESS};
use crate::store::error::{FileFault, StoreError};
use crate::store::rewrite::{Written, rewrite};
use crate::store::scan::Span;
use crate::store::survey::{self, Torn};
use crate::store::writer::{Committed, journal_files};
use crate::store::{row_text, run, text_file};
use crate::units::files_of;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// An interrupted run, cut to what is whole.
pub(crate) struct Reopened {
    pub(crate) provenance: Provenance,
    pub(crate) rows: Vec<CellRow>,
    pub(crate) committed: Vec<Committed>,
    /// Bytes and lines of samples, witness, cells.
    pub(crate) lengths: [(u64, u64); 3],
    pub(crate) power: Vec<PowerRow>,
    pub(crate) torn: Vec<Torn>,
    pub(crate) sealed: bool,
}

/// Reads an interrupted run and drops what has no commit record. Only whole files take the place of others.
pub(crate) fn reopen(dir: &Path, plan: &Plan, now: &Provenance) -> Result<Reopened, StoreError> {
    let listing = directory::list(dir)?;
    if let Some(name) = listing.foreign {
        return Err(StoreError::file(dir, FileFault::Foreign(name)));
    }
    for name in [CELLS, SAMPLES, WITNESS] {
        directory::refuse_hard_link(&dir.join(name))?;
    }
    if !listing.has_begun() {
        return Err(StoreError::file(dir, FileFault::NotARun));
    }
    let provenance = run::read_provenance(dir, &listing)?;
    let [recorded] = &provenance[..] else {
        return Err(StoreError::file(dir, FileFault::Merged));
    };
    refuse_changes(dir, recorded, now)?;
    let found = run::read_plan(dir, &provenance)?;
    if found != *plan {
        let (stated, found) = (plan.hash(), found.hash());
        return Err(StoreError::file(&dir.join(directory::PLAN), FileFault::PlanHash { stated, found }));
    }
    let sealed = listing.sealed;
    if sealed {
        // Nothing is added to a sealed run, and its facts are not written again, unless everything follows.
        crate::verify::demand(dir)?;
    }
    for name in &listing.unfinished {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(StoreError::io(&path, "remove"))?;
    }
    let cells = text_file::read::<CellRow>(&dir.join(CELLS), row_text::read_line, true)?;
    run::check_keys(&dir.join(CELLS), &cells, &provenance, false)?;
    let survey = survey::survey(dir, &cells.rows, &cells.places)?;
    let mut committed: Vec<Committed> = survey
        .kept
        .iter()
        .zip(&survey.spans)
        .map(|(&i, &[samples, witness])| Committed {
            key: survey::key(&cells.rows[i]),
            spans: [samples, witness, Some(cells.places[i])],
        })
        .collect();
    let lengths = compact(dir, &mut committed)?;
    let named: HashSet<String> = survey.kept.iter().flat_map(|&i| files_of(&cells.rows[i])).collect();
    let of_cells = |name: &&String| name.contains('/') && !name.starts_with("runs/");
    for name in listing.record.iter().filter(of_cells).filter(|name| !named.contains(*name)) {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(StoreError::io(&path, "remove"))?;
    }
    // Written whole each time, so no kill leaves a torn row.
    let power = text_file::read::<PowerRow>(&dir.join(POWER), row_text::read_line, false)?.rows;
    let rows = survey.kept.iter().map(|&i| cells.rows[i].clone()).collect();
    Ok(Reopened { provenance: recorded.clone(), rows, committed, lengths, power, torn: survey.torn, sealed })
}

/// Leaves the lines of these cells and no others; gives bytes and lines of samples, witness and cells. Commit records go
/// first: a cell whose row is gone is not there, whatever is left of its evidence.
pub(crate) fn compact(dir: &Path, committed: &mut [Committed]) -> Result<[(u64, u64); 3], StoreError> {
    let mut lengths = [(0, 0); 3];
    for (i, (name, header)) in journal_files().iter().enumerate().rev() {
        let spans: Vec<Option<Span>> = committed.iter().map(|cell| cell.spans[i]).collect();
        let written = cut(&dir.join(name), header, spans)?;
        for (cell, span) in committed.iter_mut().zip(written.spans) {
            cell.spans[i] = span;
        }
        lengths[i] = (written.bytes, written.rows + 1);
    }
    Ok(lengths)
}

/// Leaves a file that holds a header and these spans and nothing else; writes it again only when it holds more.
fn cut(path: &Path, header: &str, spans: Vec<Option<Span>>) -> Result<Written, StoreError> {
    let kept: u64 = header.len() as u64 + spans.iter().flatten().map(|span| span.bytes).sum::<u64>();
    let length = fs::metadata(path).map_err(StoreError::io(path, "look at"))?.len();
    if length == kept {
        let rows = spans.iter().flatten().map(|span| u64::from(span.rows)).sum();
        return Ok(Written { spans, digest: blake3::hash(b""), bytes: kept, rows });
    }
    rewrite(path, header, &[path], spans.into_iter().map(|span| (0, span)))
}

/// Refuses when anything is different that rows depend on, or the shard.
fn refuse_changes(dir: &Path, recorded: &Provenance, now: &Provenance) -> Result<(), StoreError> {
    let texts = |p: &Provenance| p.conditions().into_iter().chain([("partition", p.partition.clone())]);
    for ((field, recorded), (_, now)) in texts(recorded).zip(texts(now)) {
        if recorded != now {
            return Err(StoreError::Changed { dir: dir.to_owned(), field, recorded, now });
        }
    }
    Ok(())
}
