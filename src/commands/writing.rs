//! How is a page, a figure or an export written so that nothing else is harmed?

use crate::exit::{Exit, failure};
use rigel_ledger::store::{Run, put_bytes};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

/// Writes a file, or with `check` says whether it holds these bytes already.
///
/// The file is there whole or not at all. Links and whatever is no file are refused, and so is any name inside a run
/// directory that is not a page's or a text's: a run's own files are written by measuring alone.
pub fn put(path: &Path, bytes: &[u8], check: bool) -> anyhow::Result<bool> {
    if check {
        let there = read(path);
        let same = there.as_deref() == Some(bytes);
        if !same {
            let what = if there.is_some() { "differs from what its rows give" } else { "is missing" };
            crate::terminal::tell!("{} {what}; write it again without --check", path.display());
        }
        return Ok(same);
    }
    let refuse = |why: &str| failure(Exit::Usage, format!("cannot write {}: {why}", path.display()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_a_runs_own(path, folder) {
        return Err(refuse("it lies among the files of a run; name report.html, a *.md, or a path outside"));
    }
    if kind(folder).is_some_and(|kind| kind.is_symlink()) && folder.parent().is_some_and(Run::is_one) {
        return Err(refuse("the folder is a link out of the run; remove the link"));
    }
    match kind(path) {
        Some(kind) if kind.is_symlink() => return Err(refuse("it is a link; remove it, or name what it points to")),
        Some(kind) if kind.is_dir() => return Err(refuse("it is a directory")),
        Some(kind) if !kind.is_file() && lies_in_a_run(folder) => {
            return Err(refuse("it is no plain file; remove it from the run"));
        }
        // A device such as /dev/null takes bytes and has no name to replace.
        Some(kind) if !kind.is_file() => fs::write(path, bytes).map_err(|e| refuse(&e.to_string()))?,
        _ => {
            fs::create_dir_all(folder).map_err(|e| refuse(&e.to_string()))?;
            put_bytes(path, bytes).map_err(|e| failure(Exit::Usage, e))?;
        }
    }
    crate::terminal::tell!("wrote {}", path.display());
    Ok(true)
}

fn lies_in_a_run(folder: &Path) -> bool {
    Run::is_one(folder) || folder.parent().is_some_and(Run::is_one)
}

/// The bytes of a plain file; `None` where there is none or something else.
fn read(path: &Path) -> Option<Vec<u8>> {
    kind(path).filter(FileType::is_file).and_then(|_| fs::read(path).ok())
}

fn kind(path: &Path) -> Option<FileType> {
    fs::symlink_metadata(path).ok().map(|data| data.file_type())
}

/// Whether a path would become one of the files by which a run is known, or a foreign file among them.
fn is_a_runs_own(path: &Path, folder: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    let free = path.file_name().is_some_and(|name| name == "report.html") || extension == "md";
    let records: [PathBuf; 5] = ["layouts", "models", "conversions", "orders", "runs"].map(PathBuf::from);
    let among_records = folder.file_name().is_some_and(|name| records.iter().any(|record| record.as_os_str() == name));
    (Run::is_one(folder) && !free) || (among_records && folder.parent().is_some_and(Run::is_one))
}
