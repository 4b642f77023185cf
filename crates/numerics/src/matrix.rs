//! How does a matrix of bit patterns lie in memory?

use crate::Format;

/// A row-major matrix of bit patterns, packed as the device consumes it. Every code of a block-scaled operand holds the scale of
/// its scale group too; a device that wants scales apart takes [`planes`](crate::block::planes).
///
/// Element (r, c) of a format of `b` bits starts at bit `c·b` of row r; rows start on whole bytes
/// (`row_bytes`), bytes are little-endian, and of two sub-byte elements in a byte the one with the lower
/// column lies in the lower bits. Formats of 8, 16, 32 and 64 bits are plain little-endian arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// Element format.
    pub format: Format,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// `rows × row_bytes()` bytes.
    pub bytes: Vec<u8>,
}

impl Matrix {
    /// Bytes of one row: `cols × bits`, rounded up to whole bytes.
    pub fn row_bytes(format: Format, cols: usize) -> usize {
        (cols * format.bits() as usize).div_ceil(8)
    }

    /// A matrix of all-zero codes.
    pub fn zeroed(format: Format, rows: usize, cols: usize) -> Self {
        Matrix { format, rows, cols, bytes: vec![0; rows * Self::row_bytes(format, cols)] }
    }

    /// The bytes of row `r`.
    pub fn row(&self, r: usize) -> &[u8] {
        let w = Self::row_bytes(self.format, self.cols);
        &self.bytes[r * w..(r + 1) * w]
    }

    /// The bytes of row `r`, to write.
    pub fn row_mut(&mut self, r: usize) -> &mut [u8] {
        let w = Self::row_bytes(self.format, self.cols);
        &mut self.bytes[r * w..(r + 1) * w]
    }
}
