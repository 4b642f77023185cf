//! Which rows of `samples.csv` or `witness.csv` belong to which cell, and where do they stand?
//!
//! In a sealed run the groups of rows stand in the order of `cells.csv`. In an unsealed one they stand in the order in
//! which cells were finished, groups of cells without a row are what a killed process left, and the file may end anywhere.

use crate::store::blocks::{Block, Blocks, pieces};
use crate::store::columns::columns;
use crate::store::error::{FileFault, RowFault, StoreError};
use crate::store::grouped::{GroupedRow, Key};
use crate::store::{directory, row_text};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Most rows of one file: what 2 GiB of memory hold.
const ROW_LIMIT: u64 = 1 << 27;
/// Bytes that one task parses.
const PIECE: usize = 256 << 10;

/// Consecutive lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Line number of the first.
    pub(crate) line: u64,
    pub(crate) rows: u32,
}

/// Which groups a file may hold.
pub(crate) enum Expected<'a> {
    /// Those of a sealed run's cells, in this order.
    Sealed(&'a [Key]),
    /// Those of an unsealed run's cells, in any order, among others that are skipped.
    Unsealed(&'a HashSet<Key>),
}

/// Where the groups stand, and how the file ended.
pub(crate) struct Scanned {
    pub(crate) groups: HashMap<Key, Span>,
    /// The key of the last group, wanted or not.
    pub(crate) last: Option<Key>,
    /// In an unsealed run: the first line that does not read; nothing behind it was looked at.
    pub(crate) fault: Option<(u64, RowFault)>,
    /// Rows of the file, the header left out.
    pub(crate) rows: u64,
    /// Digest of the whole file.
    pub(crate) digest: blake3::Hash,
}

/// Reads a file of grouped rows; `sink` gets the wanted rows in file order.
pub(crate) fn scan<T: GroupedRow>(
    path: &Path,
    expected: Expected<'_>,
    sink: &mut dyn FnMut(&[T]),
) -> Result<Scanned, StoreError> {
    let mut blocks = Blocks::new(path, directory::open(path)?, T::LIMIT);
    let mut hasher = blake3::Hasher::new();
    let mut scan = Groups::<T>::new(path, expected);
    let strict = scan.strict();
    let mut first = true;
    loop {
        let block = match blocks.next() {
            Ok(Some(block)) => block,
            Ok(None) => break,
            Err(StoreError::Row { line, fault, .. }) if !strict => {
                scan.fault = Some((line, fault));
                break;
            }
            Err(error) => return Err(error),
        };
        let skip = if first { header_length::<T>(path, &block)? } else { 0 };
        if block.torn {
            scan.stop(block.line, RowFault::Torn)?;
            break;
        }
        first = false;
        let rows = &block.bytes[skip..];
        let parse = || pieces(rows, PIECE).into_par_iter().map(|bytes| (bytes, Piece::<T>::parse(bytes))).collect();
        let (_, parsed): (_, Vec<(&[u8], Piece<T>)>) = rayon::join(|| hasher.update(block.bytes), parse);
        let (mut line, mut offset) = (block.line + u64::from(skip > 0), block.offset + skip as u64);
        let mut go_on = true;
        for (bytes, piece) in &parsed {
            go_on = scan.take(piece, line, offset, sink)?;
            if !go_on {
                break;
            }
            line += piece.rows.len() as u64;
            offset += bytes.len() as u64;
        }
        if !go_on {
            break;
        }
    }
    scan.close();
    if first && scan.fault.is_none() {
        scan.stop(1, if strict { header_fault::<T>("") } else { RowFault::Torn })?;
    }
    let Groups { groups, last, fault, rows, .. } = scan;
    Ok(Scanned { groups, last: last.map(|row| row.key()), fault, rows, digest: hasher.finalize() })
}

/// Bytes of the header, or 0 when the block is only a torn beginning of it.
fn header_length<T: GroupedRow>(path: &Path, block: &Block<'_>) -> Result<usize, StoreError> {
    let header = row_text::header::<T>();
    if block.bytes.starts_with(header.as_bytes()) {
        return Ok(header.len());
    }
    if block.torn && header.as_bytes().starts_with(block.bytes) {
        return Ok(0);
    }
    let end = block.bytes.iter().position(|&b| b == b'\n').unwrap_or(block.bytes.len());
    let written = String::from_utf8_lossy(&block.bytes[..end.min(T::LIMIT)]).into_owned();
    Err(StoreError::row(path, 1, header_fault::<T>(&written)))
}

/// What is wrong with a header.
pub(crate) fn header_fault<T: serde::de::DeserializeOwned>(written: &str) -> RowFault {
    if written.ends_with('\r') {
        return RowFault::Byte(b'\r');
    }
    let names = columns::<T>();
    let mut found = written.split(',');
    let column = names.iter().find(|&&name| found.next() != Some(name));
    let column = column.copied().unwrap_or("no further column").to_owned();
    RowFault::Header { expected: names.join(","), column }
}

/// The rows of some lines up to the first that does not read, cut where the key changes.
struct Piece<T> {
    rows: Vec<T>,
    parts: Vec<Part>,
    fault: Option<RowFault>,
}

/// Consecutive rows of a piece with one key.
struct Part {
    rows: std::ops::Range<usize>,
    bytes: std::ops::Range<usize>,
}

impl<T: GroupedRow> Piece<T> {
    fn parse(bytes: &[u8]) -> Self {
        let mut piece = Piece { rows: Vec::with_capacity(bytes.len() / 24), parts: Vec::new(), fault: None };
        let mut start = 0;
        while let Some(length) = bytes[start..].iter().position(|&b| b == b'\n') {
            let end = start + length + 1;
            if let Err(fault) = piece.add(&bytes[start..end - 1], start..end) {
                piece.fault = Some(fault);
                break;
            }
            start = end;
        }
        piece
    }

    fn add(&mut self, line: &[u8], bytes: std::ops::Range<usize>) -> Result<(), RowFault> {
        if line.len() > T::LIMIT {
            return Err(RowFault::TooLong { limit: T::LIMIT });
        }
        let row = T::parse(line)?;
        let count = self.rows.len();
        match (self.rows.last(), self.parts.last_mut()) {
            (Some(last), Some(part)) if last.key() == row.key() => {
                row.follows(Some(last))?;
                part.rows.end = count + 1;
                part.bytes.end = bytes.end;
            }
            (last, _) => {
                // Whether the first row of a piece opens its group is known only beside the piece before.
                if last.is_some() {
                    row.follows(None)?;
                }
                self.parts.push(Part { rows: count..count + 1, bytes });
            }
        }
        self.rows.push(row);
        Ok(())
    }
}

/// Rows on their way into groups.
struct Groups<'a, T> {
    path: &'a Path,
    expected: Expected<'a>,
    /// Keys of a sealed order that were passed.
    passed: usize,
    groups: HashMap<Key, Span>,
    open: Span,
    wanted: bool,
    last: Option<T>,
    fault: Option<(u64, RowFault)>,
    rows: u64,
}

impl<'a, T: GroupedRow> Groups<'a, T> {
    fn new(path: &'a Path, expected: Expected<'a>) -> Self {
        let open = Span { offset: 0, bytes: 0, line: 0, rows: 0 };
        Groups {
            path,
            expected,
            passed: 0,
            groups: HashMap::new(),
            open,
            wanted: false,
            last: None,
            fault: None,
            rows: 0,
        }
    }

    fn strict(&self) -> bool {
        matches!(self.expected, Expected::Sealed(_))
    }

    /// Ends the reading at a fault: an error in a sealed run, a note in an unsealed one.
    fn stop(&mut self, line: u64, fault: RowFault) -> Result<(), StoreError> {
        if self.strict() {
            return Err(StoreError::row(self.path, line, fault));
        }
        self.fault = Some((line, fault));
        Ok(())
    }

    fn close(&mut self) {
        if let (Some(last), true) = (self.last, self.wanted) {
            self.groups.insert(last.key(), self.open);
        }
    }

    /// Takes a piece whose first row stands at a line and byte; `false` when reading must stop.
    fn take(
        &mut self,
        piece: &Piece<T>,
        line: u64,
        offset: u64,
        sink: &mut dyn FnMut(&[T]),
    ) -> Result<bool, StoreError> {
        for part in &piece.parts {
            let rows = &piece.rows[part.rows.clone()];
            let at = line + part.rows.start as u64;
            let same = self.last.filter(|last| last.key() == rows[0].key());
            let placed = rows[0].follows(same.as_ref()).and_then(|()| match same {
                Some(_) => Ok(()),
                None => self.admit(rows[0].key(), at, offset + part.bytes.start as u64),
            });
            if let Err(fault) = placed {
                self.stop(at, fault)?;
                return Ok(false);
            }
            self.open.bytes += part.bytes.len() as u64;
            self.open.rows += rows.len() as u32;
            self.rows += rows.len() as u64;
            self.last = rows.last().copied();
            if self.rows > ROW_LIMIT {
                return Err(StoreError::file(self.path, FileFault::TooLarge { limit: ROW_LIMIT, unit: "rows" }));
            }
            if self.wanted {
                sink(rows);
            }
        }
        if let Some(fault) = &piece.fault {
            self.stop(line + piece.rows.len() as u64, fault.clone())?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Closes the open group and opens another where its key may come.
    fn admit(&mut self, key: Key, line: u64, offset: u64) -> Result<(), RowFault> {
        self.close();
        self.wanted = match self.expected {
            Expected::Sealed(order) => {
                let ahead = order[self.passed..].iter().position(|&other| other == key);
                self.passed += ahead.ok_or_else(|| out_of_place(order, self.passed, key))? + 1;
                true
            }
            Expected::Unsealed(keys) => keys.contains(&key),
        };
        if self.wanted && self.groups.contains_key(&key) {
            self.wanted = false;
            return Err(RowFault::Duplicate);
        }
        self.open = Span { offset, bytes: 0, line, rows: 0 };
        Ok(())
    }
}

fn out_of_place(order: &[Key], passed: usize, key: Key) -> RowFault {
    match order[..passed].contains(&key) {
        true if passed.checked_sub(1).is_some_and(|last| order[last] == key) => RowFault::Duplicate,
        true => RowFault::Unsorted,
        false => RowFault::Stray,
    }
}
