//! How do the shards of a plan become one run?

use crate::facts::derive;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::CellRow;
use crate::store::directory::{self, PLAN, RUN, RUNS, SAMPLES, WITNESS};
use crate::store::error::{FileFault, StoreError};
use crate::store::grouped::Key;
use crate::store::lock::Lock;
use crate::store::manifest::Manifest;
use crate::store::rewrite::rewrite;
use crate::store::run::Run;
use crate::store::scan::Span;
use crate::store::writer::{journal_files, provenance_text};
use crate::store::{row_text, seal, survey, text_file};
use crate::units::files_of;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Joins sealed runs of one plan on one device into a sealed run at `out`, which must not exist or be empty.
///
/// The result is the same bytes for any order of the inputs. Equal rows are joined; every `run.json` is kept. Facts are derived again: a run
/// whose facts another version of the rules derived is joined all the same.
///
/// # Errors
/// An input that is unsealed or does not read, or to which `verify` says no ([`StoreError::Rejected`]); two inputs that differ in anything that rows depend on (plan, device,
/// driver, binary, commit, kernels, toolchain, host and what else a resumed run may not change); one cell measured twice ([`StoreError::Merge`] names both lines); anything at `out`.
pub fn merge(out: &Path, inputs: &[impl AsRef<Path>]) -> Result<Run, StoreError> {
    // By its full name: `OUT/` and `.` have a name of their own then, and a directory beside it.
    let out = &std::path::absolute(out).map_err(StoreError::io(out, "find"))?;
    let holder = holder(out)?;
    if out.exists() && fs::read_dir(out).map_err(StoreError::io(out, "list"))?.next().is_some() {
        return Err(StoreError::file(out, FileFault::NotEmpty));
    }
    directory::refuse_inside_a_run(out)?;
    let sources = inputs.iter().map(|dir| Source::open(dir.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let Some(first) = sources.first() else {
        return Err(StoreError::file(out, FileFault::NotARun));
    };
    let provenance = provenances(&sources)?;
    let order = order(&sources)?;
    sources.iter().try_for_each(|source| crate::verify::demand_rows(&source.dir))?;
    let unfinished = holder.join(JOINED);
    fs::create_dir_all(&unfinished).map_err(StoreError::io(&unfinished, "create"))?;
    let lock = Lock::take(&unfinished)?;
    directory::clear(&unfinished)?;
    let written = write(&unfinished, &first.plan, &provenance, &sources, &order);
    drop(lock);
    if let Err(error) = written {
        // What is left is cleared by the next merge to the same place; failing to remove it now changes nothing.
        let _ =
            directory::clear(&unfinished).map(|()| fs::remove_dir(&unfinished).and_then(|()| fs::remove_dir(&holder)));
        return Err(error);
    }
    if out.exists() {
        fs::remove_dir(out).map_err(StoreError::io(out, "replace"))?;
    }
    fs::rename(&unfinished, out).map_err(StoreError::io(out, "rename"))?;
    directory::sync_parent(out)?;
    fs::remove_dir(&holder).map_err(StoreError::io(&holder, "remove"))?;
    Run::open(out)
}

/// Where a merged run is written before it takes its name, inside [`holder`].
const JOINED: &str = "joined";

/// The directory `OUT.unfinished`, which a merge makes and removes: absent, or as a killed merge left it. Anything else of that name
/// is somebody's and is refused; no run holds a folder of this name, so none is taken for a leftover.
fn holder(out: &Path) -> Result<PathBuf, StoreError> {
    let mut name = out.file_name().ok_or_else(|| StoreError::file(out, FileFault::NotEmpty))?.to_owned();
    name.push(directory::UNFINISHED);
    let holder = out.with_file_name(name);
    match fs::read_dir(&holder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(holder),
        Err(error) => return Err(StoreError::io(&holder, "list")(error)),
        Ok(entries) => {
            for entry in entries {
                let entry = entry.map_err(StoreError::io(&holder, "list"))?;
                let is_ours = entry.file_name() == JOINED && entry.file_type().is_ok_and(|kind| kind.is_dir());
                if !is_ours {
                    return Err(StoreError::file(&holder, FileFault::NotEmpty));
                }
            }
        }
    }
    Ok(holder)
}

/// The index of a source, and where a cell's samples, witness and row stand in it.
type Placed = (usize, [Option<Span>; 3]);

/// A run to be merged, with where its lines stand.
struct Source {
    dir: PathBuf,
    plan: Plan,
    provenance: Vec<Provenance>,
    cells: Vec<(CellRow, [Option<Span>; 3])>,
}

impl Source {
    fn open(dir: &Path) -> Result<Source, StoreError> {
        let run = Run::open(dir)?;
        if !run.is_sealed() {
            return Err(StoreError::file(dir, FileFault::Unsealed));
        }
        let (_, samples) = run.read_samples()?;
        run.check(SAMPLES, &samples)?;
        let (_, witness) = run.read_witness()?;
        run.check(WITNESS, &witness)?;
        let cells = text_file::read::<CellRow>(&dir.join(directory::CELLS), row_text::read_line, false)?;
        let place = |(row, place): (CellRow, Span)| {
            let key = survey::key(&row);
            (row, [samples.groups.get(&key).copied(), witness.groups.get(&key).copied(), Some(place)])
        };
        let cells = cells.rows.into_iter().zip(cells.places).map(place).collect();
        let (plan, provenance) = (run.plan().clone(), run.provenance().to_vec());
        Ok(Source { dir: dir.to_owned(), plan, provenance, cells })
    }
}

/// Every provenance by run id; refuses what cannot be one run.
fn provenances(sources: &[Source]) -> Result<BTreeMap<String, &Provenance>, StoreError> {
    let mut all: BTreeMap<String, (&Source, &Provenance)> = BTreeMap::new();
    for source in sources {
        for record in &source.provenance {
            let place = |of: &Source| of.dir.join(if of.provenance.len() == 1 { RUN } else { RUNS });
            if let Some((of, one)) = all.values().next() {
                let differs = one.conditions().into_iter().zip(record.conditions()).find(|(a, b)| a != b);
                if let Some(((field, a), (_, b))) = differs {
                    let why = format!("{field} is `{a}` in one and `{b}` in the other; compare them instead");
                    return Err(StoreError::Merge { first: place(of), second: place(source), why });
                }
            }
            match all.insert(record.run.clone(), (source, record)) {
                Some((of, same)) if same != record => {
                    let why = format!("run id `{}` has two records", record.run);
                    return Err(StoreError::Merge { first: place(of), second: place(source), why });
                }
                _ => {}
            }
        }
    }
    Ok(all.into_iter().map(|(run, (_, record))| (run, record)).collect())
}

/// The cells in order, each with its source; refuses one key with two contents.
fn order(sources: &[Source]) -> Result<Vec<Placed>, StoreError> {
    let mut cells: BTreeMap<Key, (usize, usize)> = BTreeMap::new();
    for (s, source) in sources.iter().enumerate() {
        for (i, (row, spans)) in source.cells.iter().enumerate() {
            let Some((other_s, other_i)) = cells.insert(survey::key(row), (s, i)) else { continue };
            let (other, other_spans) = &sources[other_s].cells[other_i];
            if row == other {
                continue;
            }
            let place = |source: &Source, spans: &[Option<Span>; 3]| {
                let line = spans[2].map_or(0, |span| span.line);
                PathBuf::from(format!("{}:{line}", source.dir.join(directory::CELLS).display()))
            };
            let why = if row.run == other.run {
                format!("cell {}, process {} of run `{}` has other content", row.cell, row.process, row.run)
            } else {
                format!(
                    "cell {}, process {} was measured by runs `{}` and `{}`; a merged run holds it once: compare them instead",
                    row.cell, row.process, other.run, row.run
                )
            };
            let (first, second) = (place(&sources[other_s], other_spans), place(source, spans));
            return Err(StoreError::Merge { first, second, why });
        }
    }
    Ok(cells.into_values().map(|(s, i)| (s, sources[s].cells[i].1)).collect())
}

fn write(
    dir: &Path,
    plan: &Plan,
    provenance: &BTreeMap<String, &Provenance>,
    sources: &[Source],
    order: &[Placed],
) -> Result<Manifest, StoreError> {
    directory::put_bytes(&dir.join(PLAN), plan.to_toml().as_bytes())?;
    let mut manifest = Manifest::default();
    for (i, (name, header)) in journal_files().iter().enumerate() {
        let files: Vec<PathBuf> = sources.iter().map(|source| source.dir.join(name)).collect();
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let spans = order.iter().map(|(source, spans)| (*source, spans[i]));
        let written = rewrite(&dir.join(name), header, &files, spans)?;
        manifest.add(name, Some(written.rows), written.digest);
    }
    let dirs: Vec<&Path> = sources.iter().map(|source| source.dir.as_path()).collect();
    seal::put_power(dir, &dirs)?;
    for (id, record) in provenance {
        let path = match provenance.len() {
            1 => dir.join(RUN),
            _ => dir.join(RUNS).join(format!("{id}.json")),
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::io(folder, "create"))?;
        }
        directory::put_bytes(&path, provenance_text(record)?.as_bytes())?;
    }
    for (source, row) in sources.iter().flat_map(|source| source.cells.iter().map(move |(row, _)| (source, row))) {
        for name in files_of(row) {
            let text = directory::read_text(&source.dir.join(&name))?;
            directory::put_inside(dir, &name, text.as_bytes())?;
        }
    }
    let run = Run::open(dir)?;
    let samples = run.samples()?;
    let facts = derive(&run.evidence(&samples));
    seal::finish(dir, &facts, manifest)
}
