//! What does MANIFEST state, and does a run directory agree?
//!
//! MANIFEST is a CSV file with the columns `file`, `rows` and `blake3`, sorted by file; `rows` is empty for files
//! without rows. It shows integrity, not authenticity: whoever can change a file can change MANIFEST as well.

use crate::store::directory::{self, Listing, MANIFEST};
use crate::store::error::{FileFault, RowFault, StoreError};
use crate::store::{row_text, text_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// One file of a sealed run: a line of MANIFEST.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ManifestRow {
    /// Name inside the run directory, with `/`.
    pub file: String,
    /// Rows, the header left out; empty for files without rows.
    pub rows: Option<u64>,
    /// BLAKE3 (hex) of its bytes.
    #[serde(rename = "blake3")]
    pub digest: String,
}

/// The files of a sealed run by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    pub(crate) files: BTreeMap<String, ManifestRow>,
}

impl Manifest {
    /// The files in order.
    pub fn rows(&self) -> impl Iterator<Item = &ManifestRow> {
        self.files.values()
    }

    pub(crate) fn add(&mut self, file: &str, rows: Option<u64>, digest: blake3::Hash) {
        let row = ManifestRow { file: file.to_owned(), rows, digest: digest.to_hex().to_string() };
        self.files.insert(file.to_owned(), row);
    }

    /// Adds a small file without rows from its bytes on disk.
    pub(crate) fn add_file(&mut self, dir: &Path, file: &str) -> Result<(), StoreError> {
        let (digest, lines) = digest_file(&dir.join(file))?;
        let rows = file.ends_with(".csv").then(|| lines.saturating_sub(1));
        self.add(file, rows, digest);
        Ok(())
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let path = dir.join(MANIFEST);
        let mut bytes = row_text::header::<ManifestRow>().into_bytes();
        for row in self.files.values() {
            row_text::write_line(row, &mut bytes).map_err(|fault| StoreError::row(&path, 0, fault))?;
        }
        directory::put_bytes(&path, &bytes)
    }

    pub(crate) fn read(dir: &Path) -> Result<Manifest, StoreError> {
        let path = dir.join(MANIFEST);
        let file = text_file::read::<ManifestRow>(&path, row_text::read_values, false)?;
        let mut manifest = Manifest::default();
        let mut last = String::new();
        for (row, place) in file.rows.into_iter().zip(file.places) {
            let refuse = |fault| Err(StoreError::row(&path, place.line, fault));
            directory::inside(dir, &row.file)?;
            if row.digest.len() != 64 || !row.digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                let allowed = "64 lower-case hex digits".to_owned();
                return refuse(RowFault::Field { column: "blake3", found: row.digest, allowed });
            }
            if row.rows.is_some() != row.file.ends_with(".csv") {
                let found = row.rows.map(|rows| rows.to_string()).unwrap_or_default();
                let allowed = "a count for a .csv file, empty for others".to_owned();
                return refuse(RowFault::Field { column: "rows", found, allowed });
            }
            if row.file <= last {
                return refuse(if row.file == last { RowFault::Duplicate } else { RowFault::Unsorted });
            }
            last = row.file.clone();
            manifest.files.insert(row.file.clone(), row);
        }
        Ok(manifest)
    }

    /// Files that the directory has and MANIFEST has not, and the reverse, as errors in order of name.
    pub(crate) fn compare(&self, dir: &Path, listing: &Listing) -> Vec<StoreError> {
        let foreign = listing.foreign.iter().chain(&listing.unfinished);
        let added = listing.record.iter().filter(|name| !self.files.contains_key(*name)).chain(foreign);
        let missing = self.files.keys().filter(|name| !listing.record.contains(*name));
        let mut errors: Vec<(&String, FileFault)> = added.map(|name| (name, FileFault::Added)).collect();
        errors.extend(missing.map(|name| (name, FileFault::Missing)));
        errors.sort_by_key(|(name, _)| (*name).clone());
        errors.into_iter().map(|(name, fault)| StoreError::file(&dir.join(name), fault)).collect()
    }

    /// Whether a file's digest and row count are those stated.
    pub(crate) fn check(
        &self,
        dir: &Path,
        file: &str,
        digest: blake3::Hash,
        rows: Option<u64>,
    ) -> Result<(), StoreError> {
        let path = dir.join(file);
        let Some(stated) = self.files.get(file) else {
            return Err(StoreError::file(&path, FileFault::Added));
        };
        let found = digest.to_hex().to_string();
        if let (Some(stated), Some(found)) = (stated.rows, rows)
            && stated != found
        {
            return Err(StoreError::file(&path, FileFault::Rows { stated, found }));
        }
        if stated.digest != found {
            return Err(StoreError::file(&path, FileFault::Digest { stated: stated.digest.clone(), found }));
        }
        Ok(())
    }
}

/// Digest and lines of a file of any size.
pub(crate) fn digest_file(path: &Path) -> Result<(blake3::Hash, u64), StoreError> {
    let mut file = directory::open(path)?;
    let (mut hasher, mut lines, mut buffer) = (blake3::Hasher::new(), 0, vec![0; 1 << 20]);
    loop {
        let read = file.read(&mut buffer).map_err(StoreError::io(path, "read"))?;
        if read == 0 {
            return Ok((hasher.finalize(), lines));
        }
        hasher.update(&buffer[..read]);
        lines += crate::store::blocks::count_lines(&buffer[..read]);
    }
}
