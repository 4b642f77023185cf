//! May a command that reads a run believe its files?
//!
//! Every command that shows what a run says opens it here. An edited run is refused; an unsealed one is shown with a warning,
//! on standard error here and on whatever is made of it.

use crate::exit::{Exit, failure};
use crate::terminal::{tell, warning};
use rigel_ledger::store::{FileFault, Integrity, Run, StoreError, integrity};
use std::path::{Path, PathBuf};

/// Opens a run whose files are as they were sealed, or that is not sealed yet.
pub fn open(dir: &Path) -> anyhow::Result<Run> {
    if integrity(dir).map_err(|error| refused(dir, error))? == Integrity::Unsealed {
        tell!(
            "{} {} is not sealed: it is still being measured or was stopped, so nothing vouches for its files, and it has no \
             facts and no verdicts; `rigel run` with the same plan and --out ends it",
            warning(),
            dir.display()
        );
    }
    Run::open(dir).map_err(|error| refused(dir, error))
}

/// A failure with the code that what is wrong with the files deserves.
pub fn refused(dir: &Path, error: StoreError) -> anyhow::Error {
    let exit = exit(&error);
    let more = match exit {
        Exit::CheckFailed => format!("; `rigel verify {}` says which rows do not agree", dir.display()),
        _ if matches!(error, StoreError::File { fault: FileFault::NotARun, .. }) => {
            if !dir.exists() {
                return failure(
                    exit,
                    format!("{}: there is no such directory; name the one that `rigel run` wrote", dir.display()),
                );
            }
            let below = runs_below(dir);
            if below.is_empty() { String::new() } else { format!("; runs below it: {}", below.join(", ")) }
        }
        _ => String::new(),
    };
    failure(exit, format!("{error}{more}"))
}

/// Runs in a directory or one directory further down, a few of them, by name.
fn runs_below(dir: &Path) -> Vec<String> {
    let children = |dir: &Path| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()).collect();
        all.sort();
        all
    };
    let near = children(dir);
    let far = near.iter().filter(|child| child.is_dir()).flat_map(|child| children(child));
    near.iter()
        .cloned()
        .chain(far)
        .filter(|path| Run::is_one(path))
        .take(8)
        .map(|run| run.display().to_string())
        .collect()
}

/// 1 where MANIFEST says no, 2 where nothing that reads is there.
fn exit(error: &StoreError) -> Exit {
    match error {
        StoreError::Rejected { .. } => Exit::CheckFailed,
        StoreError::File {
            fault: FileFault::Digest { .. } | FileFault::Rows { .. } | FileFault::Added | FileFault::Missing,
            ..
        } => Exit::CheckFailed,
        _ => Exit::Usage,
    }
}

/// Whether any rows of a run come from a software device.
pub fn is_simulated(run: &Run) -> bool {
    run.provenance().iter().any(|record| record.kind == rigel_ledger::provenance::RunKind::Simulated)
}
