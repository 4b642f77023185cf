//! Where in a packed row does an element of any width lie?
//!
//! A row is one little-endian bit string: element c of a format of b bits takes bits c·b … c·b + b − 1, bit i
//! being bit (i mod 8) of byte (i div 8). Two 4-bit elements share a byte, the lower column in the low nibble;
//! four 6-bit elements share three bytes, the second and third straddling byte ends.

use crate::{Format, Matrix};

/// `width` (1 … 64) bits from bit `offset` of a little-endian bit string.
///
/// # Panics
/// When the bits do not lie inside `bytes` or the width is not 1 … 64.
#[inline]
pub fn get_bits(bytes: &[u8], offset: usize, width: u32) -> u64 {
    assert!((1..=64).contains(&width), "a width of {width} bits is not within 1..=64");
    let (first, shift) = (offset / 8, (offset % 8) as u32);
    let count = (shift + width).div_ceil(8) as usize;
    let mut window = [0u8; 16];
    window[..count].copy_from_slice(&bytes[first..first + count]);
    (u128::from_le_bytes(window) >> shift) as u64 & u64::MAX >> (64 - width)
}

/// Writes the low `width` (1 … 64) bits of `value` from bit `offset` on; all other bits stay.
///
/// # Panics
/// When the bits do not lie inside `bytes` or the width is not 1 … 64.
#[inline]
pub fn set_bits(bytes: &mut [u8], offset: usize, width: u32, value: u64) {
    assert!((1..=64).contains(&width), "a width of {width} bits is not within 1..=64");
    let (first, shift) = (offset / 8, (offset % 8) as u32);
    let count = (shift + width).div_ceil(8) as usize;
    let mask = u128::from(u64::MAX >> (64 - width)) << shift;
    let mut window = [0u8; 16];
    window[..count].copy_from_slice(&bytes[first..first + count]);
    let merged = u128::from_le_bytes(window) & !mask | u128::from(value) << shift & mask;
    bytes[first..first + count].copy_from_slice(&merged.to_le_bytes()[..count]);
}

/// The code of column `col` in a packed row.
///
/// # Panics
/// When the row is too short.
#[inline]
pub fn get(format: Format, row: &[u8], col: usize) -> u64 {
    get_bits(row, col * format.bits() as usize, format.bits())
}

/// Writes the code of column `col` in a packed row; bits of `code` above the format's width are dropped.
///
/// # Panics
/// When the row is too short.
#[inline]
pub fn set(format: Format, row: &mut [u8], col: usize, code: u64) {
    set_bits(row, col * format.bits() as usize, format.bits(), code);
}

impl Matrix {
    /// The code of element (r, c).
    ///
    /// # Panics
    /// When r or c lies outside the matrix.
    #[inline]
    pub fn get(&self, r: usize, c: usize) -> u64 {
        assert!(r < self.rows && c < self.cols, "({r}, {c}) lies outside a {} x {} matrix", self.rows, self.cols);
        get(self.format, self.row(r), c)
    }

    /// Writes the code of element (r, c).
    ///
    /// # Panics
    /// When r or c lies outside the matrix.
    #[inline]
    pub fn set(&mut self, r: usize, c: usize, code: u64) {
        assert!(r < self.rows && c < self.cols, "({r}, {c}) lies outside a {} x {} matrix", self.rows, self.cols);
        let format = self.format;
        set(format, self.row_mut(r), c, code);
    }

    /// The value of element (r, c), exactly.
    ///
    /// # Panics
    /// When r or c lies outside the matrix.
    #[inline]
    pub fn value(&self, r: usize, c: usize) -> f64 {
        self.format.decode(self.get(r, c))
    }
}
