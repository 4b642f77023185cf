//! How is a page, a figure or an export written so that nothing else is harmed?

use crate::exit::{Exit, failure};
use rigel_ledger::store::{StoreError, enclosing_run, put_bytes};
use std::fs::{self, File, FileType};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Writes a file, or with `check` says whether it holds these bytes already.
///
/// The file is there whole or not at all. Links and whatever is no file are refused, and so is any name inside a run that is not
/// its page, its README.md or a figure: its own files are written by measuring alone, and others its seal does not take.
pub fn put(path: &Path, bytes: &[u8], check: bool) -> anyhow::Result<bool> {
    if check {
        let fault = match holds(path, bytes) {
            Ok(true) => return Ok(true),
            Ok(false) => "differs from what its rows give".to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => format!("cannot be read ({error})"),
        };
        crate::terminal::tell!("{} {fault}; write it again without --check", path.display());
        return Ok(false);
    }
    let refuse = |why: &str| failure(Exit::Usage, format!("cannot write {}: {why}", path.display()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let run = enclosing_run(path);
    if let Some((run, inside)) = &run
        && !is_about(inside)
    {
        let why = format!(
            "it lies inside the run {}; name its report.html, its README.md, a file of its figures/, or a path outside",
            run.display()
        );
        return Err(refuse(&why));
    }
    // The run itself may be reached by a link; below it none leads out.
    let below = run.as_ref().is_some_and(|(_, inside)| inside.components().count() > 1);
    if below && kind(folder).is_some_and(|kind| kind.is_symlink()) {
        return Err(refuse("the folder is a link out of the run; remove the link"));
    }
    match kind(path) {
        Some(kind) if kind.is_symlink() => return Err(refuse("it is a link; remove it, or name what it points to")),
        Some(kind) if kind.is_dir() => return Err(refuse("it is a directory")),
        Some(kind) if !kind.is_file() && run.is_some() => {
            return Err(refuse("it is no plain file; remove it from the run"));
        }
        // A device such as /dev/null takes bytes and has no name to replace.
        Some(kind) if !kind.is_file() => fs::write(path, bytes).map_err(|e| refuse(&e.to_string()))?,
        _ => {
            fs::create_dir_all(folder).map_err(|e| refuse(&e.to_string()))?;
            put_bytes(path, bytes).map_err(|e| failure(code(&e), e))?;
        }
    }
    crate::terminal::tell!("wrote {}", path.display());
    Ok(true)
}

/// The code of a write that failed: room comes back, and then the same command goes on.
pub fn code(error: &StoreError) -> Exit {
    let full = |kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge);
    match error {
        StoreError::Io { source, .. } if full(source.kind()) => Exit::Unfinished,
        _ => Exit::Usage,
    }
}

/// Whether a plain file holds these bytes and no more. However large it is, it is read no further than they go.
fn holds(path: &Path, bytes: &[u8]) -> std::io::Result<bool> {
    let data = fs::symlink_metadata(path)?;
    if !data.is_file() || data.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut there = Vec::with_capacity(bytes.len());
    File::open(path)?.take(bytes.len() as u64).read_to_end(&mut there)?;
    Ok(there == bytes)
}

fn kind(path: &Path) -> Option<FileType> {
    fs::symlink_metadata(path).ok().map(|data| data.file_type())
}

/// Whether a path inside a run is one of what is drawn from it or written about it.
fn is_about(inside: &Path) -> bool {
    let is_page = ["report.html", "README.md"].iter().any(|name| inside == Path::new(name));
    is_page || (inside.starts_with("figures") && inside.components().count() == 2)
}
