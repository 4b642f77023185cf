//! What may lie in a run directory, and how is a file put there whole?

use crate::store::error::{FileFault, StoreError};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};

/// The resolved plan.
pub const PLAN: &str = "plan.toml";
/// Provenance of a run.
pub const RUN: &str = "run.json";
/// Provenances of a merged run, one file a run id.
pub const RUNS: &str = "runs";
/// One row per cell and process.
pub const CELLS: &str = "cells.csv";
/// One row per repetition.
pub const SAMPLES: &str = "samples.csv";
/// One row per sampled output element.
pub const WITNESS: &str = "witness.csv";
/// One row per fact.
pub const FACTS: &str = "facts.csv";
/// One row per meter reading.
pub const POWER: &str = "power.csv";
/// Layouts of units: a record and a table each.
pub const LAYOUTS: &str = "layouts";
/// Arithmetic models of units, one file each.
pub const MODELS: &str = "models";
/// Conversions, one file each.
pub const CONVERSIONS: &str = "conversions";
/// Orders of sums, one file each.
pub const ORDERS: &str = "orders";
/// Folders of record files with the endings that they hold.
const FOLDERS: [(&str, &[&str]); 5] = [
    (RUNS, &[".json"]),
    (LAYOUTS, &[".csv", ".json"]),
    (MODELS, &[".json"]),
    (CONVERSIONS, &[".json"]),
    (ORDERS, &[".json"]),
];
/// Row count and digest of every file of a sealed run.
pub const MANIFEST: &str = "MANIFEST";
/// Held by the one process that writes the run.
pub(crate) const LOCK: &str = ".lock";
/// Ending of a file that is being written before it takes its name.
pub(crate) const UNFINISHED: &str = ".unfinished";
/// Files and folders that are drawn from a run or written about it; they are no part of its record.
const ABOUT: [&str; 4] = ["report.html", "README.md", "figures", LOCK];
const RECORD: [&str; 7] = [PLAN, RUN, CELLS, SAMPLES, WITNESS, FACTS, POWER];
/// Most bytes of `plan.toml`, a `run.json` or MANIFEST.
const TEXT_LIMIT: u64 = 16 << 20;
/// Most files of one folder of a run.
const ENTRY_LIMIT: usize = 100_000;

/// The files of a run directory by their names inside it (`runs/x.json` with a slash).
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Record files.
    pub(crate) record: BTreeSet<String>,
    /// The first entry that belongs to no run.
    pub(crate) foreign: Option<String>,
    /// Whether MANIFEST is there.
    pub(crate) sealed: bool,
    /// Files that were being written when a process died.
    pub(crate) unfinished: Vec<String>,
}

impl Listing {
    /// Whether provenance is here: the mark of a run that began.
    pub(crate) fn has_begun(&self) -> bool {
        self.record.contains(RUN) || self.record.iter().any(|name| name.starts_with("runs/"))
    }
}

/// Lists a run directory. Symbolic links and special files are refused wherever they lie.
pub(crate) fn list(dir: &Path) -> Result<Listing, StoreError> {
    let mut listing = Listing::default();
    for (name, is_dir) in entries(dir)? {
        match name.as_str() {
            MANIFEST if !is_dir => listing.sealed = true,
            about if ABOUT.contains(&about) => {}
            record if RECORD.contains(&record) && !is_dir => drop(listing.record.insert(name)),
            folder if is_dir && FOLDERS.iter().any(|(known, _)| *known == folder) => {
                let endings =
                    FOLDERS.iter().find(|(known, _)| *known == folder).map_or(&[][..], |(_, endings)| endings);
                for (inner, is_dir) in entries(&dir.join(&name))? {
                    let path = format!("{name}/{inner}");
                    if endings.iter().any(|ending| inner.ends_with(ending)) && !is_dir {
                        listing.record.insert(path);
                    } else if unfinished(&inner)
                        .is_some_and(|whole| endings.iter().any(|ending| whole.ends_with(ending)))
                        && !is_dir
                    {
                        listing.unfinished.push(path);
                    } else {
                        listing.foreign.get_or_insert(path);
                    }
                }
            }
            // What a kill left of a page that was being written over: the next page takes its place.
            other if !is_dir && unfinished(other).is_some_and(|whole| ABOUT.contains(&whole)) => {}
            other if !is_dir && unfinished(other).is_some_and(|whole| whole == MANIFEST || RECORD.contains(&whole)) => {
                listing.unfinished.push(name);
            }
            _ => drop(listing.foreign.get_or_insert(name)),
        }
    }
    Ok(listing)
}

/// The name that a file takes when it is whole, of one that is being written.
fn unfinished(name: &str) -> Option<&str> {
    name.strip_suffix(UNFINISHED)
}

fn entries(dir: &Path) -> Result<Vec<(String, bool)>, StoreError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(StoreError::io(dir, "list"))? {
        let entry = entry.map_err(StoreError::io(dir, "list"))?;
        let kind = entry.file_type().map_err(StoreError::io(&entry.path(), "look at"))?;
        if kind.is_symlink() {
            return Err(StoreError::file(&entry.path(), FileFault::Link));
        }
        if !kind.is_file() && !kind.is_dir() {
            return Err(StoreError::file(&entry.path(), FileFault::NotAFile));
        }
        names.push((entry.file_name().to_string_lossy().into_owned(), kind.is_dir()));
        if names.len() > ENTRY_LIMIT {
            return Err(StoreError::file(dir, FileFault::TooLarge { limit: ENTRY_LIMIT as u64, unit: "files" }));
        }
    }
    names.sort();
    Ok(names)
}

/// The path of a file inside a run; names that lead out of it are refused.
pub(crate) fn inside(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let plain = !name.is_empty()
        && !name.contains(['\\', ':', '\0'])
        && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
        && Path::new(name).components().count() == name.split('/').count();
    if plain { Ok(dir.join(name)) } else { Err(StoreError::file(&dir.join(MANIFEST), FileFault::Escapes(name.into()))) }
}

/// Opens a regular file for reading; links and special files are refused, a missing one is named.
pub(crate) fn open(path: &Path) -> Result<File, StoreError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::file(path, FileFault::Missing));
        }
        Err(error) => return Err(StoreError::io(path, "look at")(error)),
    };
    if meta.is_symlink() {
        return Err(StoreError::file(path, FileFault::Link));
    }
    if !meta.is_file() {
        return Err(StoreError::file(path, FileFault::NotAFile));
    }
    File::open(path).map_err(StoreError::io(path, "open"))
}

/// Refuses a file that has another name: what is written to it would be written there too.
pub(crate) fn refuse_hard_link(path: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && std::os::unix::fs::MetadataExt::nlink(&meta) > 1) {
        return Err(StoreError::file(path, FileFault::HardLink));
    }
    Ok(())
}

/// Refuses a directory that lies inside a run, where it would be a foreign one.
pub(crate) fn refuse_inside_a_run(dir: &Path) -> Result<(), StoreError> {
    match enclosing_run(dir) {
        Some((run, _)) => Err(StoreError::file(dir, FileFault::InsideARun(run))),
        None => Ok(()),
    }
}

/// The nearest run in whose directory a path lies, if one does, and the path inside it. `..` leads out again.
pub fn enclosing_run(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut whole = PathBuf::new();
    for part in std::path::absolute(path).ok()?.components() {
        match part {
            Component::ParentDir => drop(whole.pop()),
            part => whole.push(part),
        }
    }
    let run = whole.ancestors().skip(1).find(|above| super::Run::is_one(above))?;
    Some((run.to_owned(), whole.strip_prefix(run).ok()?.to_owned()))
}

/// Reads a small text file.
pub(crate) fn read_text(path: &Path) -> Result<String, StoreError> {
    let mut bytes = Vec::new();
    open(path)?.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(StoreError::io(path, "read"))?;
    if bytes.len() as u64 > TEXT_LIMIT {
        return Err(StoreError::file(path, FileFault::TooLarge { limit: TEXT_LIMIT, unit: "bytes" }));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line = 1 + crate::store::blocks::count_lines(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
        StoreError::row(path, line, crate::store::error::RowFault::NotUtf8)
    })
}

/// Writes a file so that it is there whole or not at all: another name, sync, rename, sync of the directory.
pub(crate) fn put(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>) -> Result<(), StoreError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(UNFINISHED);
    let unfinished = PathBuf::from(unfinished);
    let file = File::create(&unfinished).map_err(StoreError::io(&unfinished, "create"))?;
    let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
    let written = write(&mut out)
        .and_then(|()| out.flush().map_err(StoreError::io(path, "write")))
        .and_then(|()| out.get_ref().sync_all().map_err(StoreError::io(path, "sync")));
    drop(out);
    if let Err(error) = written {
        // What is left is recognised by its ending and never read; failing to remove it changes nothing.
        let _ = fs::remove_file(&unfinished);
        return Err(error);
    }
    fs::rename(&unfinished, path).map_err(StoreError::io(path, "rename"))?;
    sync_parent(path)
}

/// Writes a file of these bytes so that it is there whole or not at all: another name, sync, rename, sync of the directory.
///
/// # Errors
/// [`StoreError::Io`] with what the system said; what was there before is then there still.
pub fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    put(path, |out| out.write_all(bytes).map_err(StoreError::io(path, "write")))
}

/// Puts a file there, and its folder where there is none.
pub(crate) fn put_inside(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let path = inside(dir, name)?;
    if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
        fs::create_dir_all(folder).map_err(StoreError::io(folder, "create"))?;
        sync_parent(folder)?;
    }
    put_bytes(&path, bytes)
}

/// Makes the names in the directory of a file durable, where the system can.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(StoreError::io(dir, "sync"))?;
    }
    Ok(())
}

/// Removes the record of a run, MANIFEST first and provenance next, so that what is left is never taken for a run.
pub(crate) fn clear(dir: &Path) -> Result<(), StoreError> {
    let listing = list(dir)?;
    if let Some(name) = listing.foreign {
        return Err(StoreError::file(dir, FileFault::Foreign(name)));
    }
    let provenance = |name: &&String| *name == RUN || name.starts_with("runs/");
    let first = listing.record.iter().filter(provenance);
    let rest = listing.record.iter().filter(|name| !provenance(name));
    let manifest = MANIFEST.to_owned();
    let names = listing.sealed.then_some(&manifest).into_iter().chain(first).chain(rest).chain(&listing.unfinished);
    for name in names {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(StoreError::io(&path, "remove"))?;
    }
    for (folder, _) in FOLDERS {
        match fs::remove_dir(dir.join(folder)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io(&dir.join(folder), "remove")(error));
            }
            _ => {}
        }
    }
    Ok(())
}
