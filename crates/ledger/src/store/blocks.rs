//! How is a file of any size read as whole lines in bounded memory?

use crate::store::error::{RowFault, StoreError};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes asked for at a time.
const BLOCK: usize = 4 << 20;

/// Hands a file out as blocks of whole lines; a line longer than the limit ends it with an error.
pub(crate) struct Blocks {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    used: usize,
    filled: usize,
    limit: usize,
    lines: u64,
    offset: u64,
}

/// Whole lines, and where they stand.
pub(crate) struct Block<'a> {
    pub(crate) bytes: &'a [u8],
    /// Line number of the first, from 1.
    pub(crate) line: u64,
    /// Byte offset of the first.
    pub(crate) offset: u64,
    /// Whether the bytes are the unfinished last line of the file.
    pub(crate) torn: bool,
}

impl Blocks {
    pub(crate) fn new(path: &Path, file: File, limit: usize) -> Self {
        let buffer = vec![0; BLOCK + limit];
        Blocks { path: path.to_owned(), file, buffer, used: 0, filled: 0, limit, lines: 0, offset: 0 }
    }

    /// The next whole lines; `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Block<'_>>, StoreError> {
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        let mut end = false;
        while !end && self.filled < self.buffer.len() {
            let read = self.file.read(&mut self.buffer[self.filled..]);
            match read {
                Ok(0) => end = true,
                Ok(n) => self.filled += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(StoreError::io(&self.path, "read")(source)),
            }
        }
        if self.filled == 0 {
            return Ok(None);
        }
        let (line, offset) = (self.lines + 1, self.offset);
        let whole = self.buffer[..self.filled].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        if whole == 0 && self.filled > self.limit {
            return Err(StoreError::row(&self.path, line, RowFault::TooLong { limit: self.limit }));
        }
        let torn = whole == 0;
        self.used = if torn { self.filled } else { whole };
        let bytes = &self.buffer[..self.used];
        self.lines += count_lines(bytes);
        self.offset += bytes.len() as u64;
        Ok(Some(Block { bytes, line, offset, torn }))
    }
}

/// Line feeds in some bytes.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&b| b == b'\n').count() as u64
}

/// Cuts whole lines into pieces of about `size` bytes, again at line ends.
pub(crate) fn pieces(mut bytes: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while bytes.len() > size {
        let Some(end) = bytes[size..].iter().position(|&b| b == b'\n') else { break };
        let (piece, rest) = bytes.split_at(size + end + 1);
        pieces.push(piece);
        bytes = rest;
    }
    if !bytes.is_empty() {
        pieces.push(bytes);
    }
    pieces
}
