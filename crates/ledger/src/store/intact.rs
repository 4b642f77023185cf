//! Are all bytes of a run those that were sealed?

use crate::store::directory::{self, MANIFEST};
use crate::store::error::{FileFault, StoreError};
use crate::store::manifest::{Manifest, digest_file};
use rayon::prelude::*;
use std::path::Path;

/// How far the files of a run can be trusted to be those that a run wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrity {
    /// Every file is there and has the digest and rows that MANIFEST states.
    Sealed,
    /// There is no MANIFEST: the run is still going on, or was killed. Nothing vouches for its bytes.
    Unsealed,
}

/// Holds every file of a run against its MANIFEST, by name, row count and digest. Rows are not read, so this is as fast as the
/// disk; [`crate::verify`] says which row of a changed file is wrong.
///
/// # Errors
/// [`FileFault::NotARun`] where there is no run; else the first file, by name, that was added, removed or changed.
pub fn integrity(dir: &Path) -> Result<Integrity, StoreError> {
    if !dir.is_dir() {
        return Err(StoreError::file(dir, FileFault::NotARun));
    }
    let listing = directory::list(dir)?;
    if !listing.has_begun() && !listing.sealed {
        return Err(StoreError::file(dir, FileFault::NotARun));
    }
    if !listing.sealed {
        return Ok(Integrity::Unsealed);
    }
    let manifest = Manifest::read(dir)?;
    if let Some(error) = manifest.compare(dir, &listing).into_iter().next() {
        return Err(error);
    }
    let names: Vec<&str> = manifest.rows().map(|row| row.file.as_str()).filter(|name| *name != MANIFEST).collect();
    let check = |name: &&str| {
        let (digest, lines) = digest_file(&dir.join(name))?;
        manifest.check(dir, name, digest, name.ends_with(".csv").then(|| lines.saturating_sub(1)))
    };
    let results: Vec<Result<(), StoreError>> = names.par_iter().map(check).collect();
    results.into_iter().collect::<Result<(), _>>().map(|()| Integrity::Sealed)
}
