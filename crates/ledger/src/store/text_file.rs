//! How is a file of values (`cells.csv`, `facts.csv`, `power.csv`, `MANIFEST`) read whole?

use crate::store::blocks::Blocks;
use crate::store::directory;
use crate::store::error::{FileFault, RowFault, StoreError};
use crate::store::row_text::{self, LINE_LIMIT};
use crate::store::scan::{Span, header_fault};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Most rows of such a file.
const ROW_LIMIT: u64 = 1 << 22;

/// Rows with the place of each, and what the file is as a whole.
pub(crate) struct TextFile<T> {
    pub(crate) rows: Vec<T>,
    pub(crate) places: Vec<Span>,
    /// Unsealed: whether the file ends in a torn row.
    pub(crate) torn: bool,
    pub(crate) digest: blake3::Hash,
}

/// Reads every row; `tail` allows the file to end in a torn one, which is left out.
pub(crate) fn read<T: DeserializeOwned + Send>(
    path: &Path,
    parse: fn(&[u8]) -> Result<T, RowFault>,
    tail: bool,
) -> Result<TextFile<T>, StoreError> {
    let mut blocks = Blocks::new(path, directory::open(path)?, LINE_LIMIT);
    let mut hasher = blake3::Hasher::new();
    let header = row_text::header::<T>();
    let mut file = TextFile { rows: Vec::new(), places: Vec::new(), torn: false, digest: hasher.finalize() };
    let mut first = true;
    while let Some(block) = blocks.next()? {
        hasher.update(block.bytes);
        if block.torn {
            if !tail {
                return Err(StoreError::row(path, block.line, RowFault::Torn));
            }
            if first && !header.as_bytes().starts_with(block.bytes) {
                return Err(StoreError::row(path, 1, header_fault::<T>(&String::from_utf8_lossy(block.bytes))));
            }
            (file.torn, first) = (true, false);
            break;
        }
        let (mut line, mut offset, mut lines) = (block.line, block.offset, Vec::new());
        for bytes in block.bytes.split_inclusive(|&b| b == b'\n') {
            let span = Span { offset, bytes: bytes.len() as u64, line, rows: 1 };
            if first {
                if bytes != header.as_bytes() {
                    let written = String::from_utf8_lossy(&bytes[..bytes.len() - 1]).into_owned();
                    return Err(StoreError::row(path, 1, header_fault::<T>(&written)));
                }
                first = false;
            } else {
                lines.push((span, &bytes[..bytes.len() - 1]));
            }
            line += 1;
            offset += span.bytes;
        }
        let parsed: Vec<Result<T, RowFault>> = lines.par_iter().map(|(_, bytes)| limited(parse, bytes)).collect();
        for ((span, _), row) in lines.iter().zip(parsed) {
            file.rows.push(row.map_err(|fault| StoreError::row(path, span.line, fault))?);
            file.places.push(*span);
        }
        if file.rows.len() as u64 > ROW_LIMIT {
            return Err(StoreError::file(path, FileFault::TooLarge { limit: ROW_LIMIT, unit: "rows" }));
        }
    }
    if first {
        if !tail {
            return Err(StoreError::row(path, 1, header_fault::<T>("")));
        }
        file.torn = true;
    }
    file.digest = hasher.finalize();
    Ok(file)
}

fn limited<T>(parse: fn(&[u8]) -> Result<T, RowFault>, line: &[u8]) -> Result<T, RowFault> {
    if line.len() > LINE_LIMIT { Err(RowFault::TooLong { limit: LINE_LIMIT }) } else { parse(line) }
}
