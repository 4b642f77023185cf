//! What is the digest over the rows behind a cell?

use crate::rows::{SampleRow, WitnessRow};
use crate::store::directory::{SAMPLES, WITNESS};
use crate::store::error::{FileFault, StoreError};
use crate::store::grouped::GroupedRow;
use crate::store::scan::Span;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The digest of rows in memory, sorted as they stand in a file: BLAKE3 (hex) over samples, then witness.
pub fn digest(samples: &[SampleRow], witness: &[WitnessRow]) -> String {
    let (mut lines, mut hasher) = (Vec::new(), blake3::Hasher::new());
    samples.iter().for_each(|row| row.write(&mut lines));
    witness.iter().for_each(|row| row.write(&mut lines));
    hasher.update(&lines);
    hasher.finalize().to_hex().to_string()
}

/// A file whose spans are hashed, best in file order.
pub(crate) struct SpanReader<'a> {
    path: &'a Path,
    file: File,
    position: u64,
    buffer: Vec<u8>,
}

impl<'a> SpanReader<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self, StoreError> {
        Ok(SpanReader { path, file: super::directory::open(path)?, position: 0, buffer: vec![0; 64 << 10] })
    }

    /// Hands the bytes of a span out in pieces.
    pub(crate) fn each(
        &mut self,
        span: Span,
        take: &mut dyn FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.position != span.offset {
            self.file.seek(SeekFrom::Start(span.offset)).map_err(StoreError::io(self.path, "seek in"))?;
            self.position = span.offset;
        }
        let mut left = span.bytes as usize;
        while left > 0 {
            let part = left.min(self.buffer.len());
            let read = self.file.read_exact(&mut self.buffer[..part]);
            read.map_err(StoreError::io(self.path, "read"))?;
            self.position += part as u64;
            left -= part;
            take(&self.buffer[..part])?;
        }
        Ok(())
    }
}

/// The digests of cells from where their rows stand and from their own files, in the order given: BLAKE3 over samples, witness,
/// files. A file that is missing counts as empty.
pub(crate) fn digests(
    dir: &Path,
    cells: impl Iterator<Item = ([Option<Span>; 2], Vec<String>)>,
) -> Result<Vec<blake3::Hash>, StoreError> {
    let (samples, witness) = (dir.join(SAMPLES), dir.join(WITNESS));
    let mut readers = [SpanReader::open(&samples)?, SpanReader::open(&witness)?];
    cells
        .map(|(spans, files)| {
            let mut hasher = blake3::Hasher::new();
            for (reader, span) in readers.iter_mut().zip(spans) {
                if let Some(span) = span {
                    reader.each(span, &mut |bytes| {
                        hasher.update(bytes);
                        Ok(())
                    })?;
                }
            }
            for name in files {
                match super::directory::read_text(&dir.join(name)) {
                    Ok(text) => {
                        hasher.update(text.as_bytes());
                    }
                    Err(StoreError::File { fault: FileFault::Missing, .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(hasher.finalize())
        })
        .collect()
}
