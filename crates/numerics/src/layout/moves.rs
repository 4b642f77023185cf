//! How do tiles become registers, and registers tiles?
//!
//! Batches are laid out as in the unit contract: tile t is rows t · rows .. (t + 1) · rows of the tiles' matrix, and lane l of
//! launch t is row t · lanes + l of the registers' matrix, with one column a slot.

use super::{Layout, LayoutError};
use crate::Matrix;

/// A lane and a slot.
pub type Holder = (usize, usize);

impl Layout {
    /// The registers that hold the tiles of a batch; unused slots hold code 0.
    ///
    /// # Errors
    /// [`LayoutError::Misfit`] for a matrix that is not whole tiles.
    pub fn gather(&self, tiles: &Matrix) -> Result<Matrix, LayoutError> {
        let count = whole("the tile", tiles, self.rows(), self.cols())?;
        let mut registers = Matrix::zeroed(tiles.format, count * self.lanes(), self.slots());
        for t in 0..count {
            for (lane, slot, element) in self.entries() {
                if let Some((row, col)) = element {
                    let code = tiles.get(t * self.rows() + row as usize, col as usize);
                    registers.set(t * self.lanes() + lane, slot, code);
                }
            }
        }
        Ok(registers)
    }

    /// The tiles that the registers of a batch hold. Of several copies of an element the first is taken, in the order of lanes
    /// and then slots; whether the others agree is [`Layout::disagreement`]'s question.
    ///
    /// # Errors
    /// [`LayoutError::Misfit`] for a matrix that is not whole launches; [`LayoutError::Unheld`] when an element has no holder.
    pub fn scatter(&self, registers: &Matrix) -> Result<Matrix, LayoutError> {
        let count = whole("the registers", registers, self.lanes(), self.slots())?;
        let holders = self.first_holders();
        if let Some(missing) = holders.iter().position(Option::is_none) {
            return Err(LayoutError::Unheld { row: missing / self.cols(), col: missing % self.cols() });
        }
        let mut tiles = Matrix::zeroed(registers.format, count * self.rows(), self.cols());
        for t in 0..count {
            for (i, holder) in holders.iter().enumerate() {
                if let Some((lane, slot)) = *holder {
                    let code = registers.get(t * self.lanes() + lane, slot);
                    tiles.set(t * self.rows() + i / self.cols(), i % self.cols(), code);
                }
            }
        }
        Ok(tiles)
    }

    /// The first two holders of one element, in one launch of the batch, whose codes differ: (launch, first, other). `None` when all copies agree, or when the matrix is not whole launches.
    pub fn disagreement(&self, registers: &Matrix) -> Option<(usize, Holder, Holder)> {
        let count = whole("the registers", registers, self.lanes(), self.slots()).ok()?;
        let holders = self.first_holders();
        (0..count).find_map(|t| {
            self.entries().find_map(|(lane, slot, element)| {
                let (row, col) = element?;
                let first = holders[row as usize * self.cols() + col as usize]?;
                let code = |(lane, slot)| registers.get(t * self.lanes() + lane, slot);
                (code(first) != code((lane, slot))).then_some((t, first, (lane, slot)))
            })
        })
    }

    /// The first (lane, slot) that holds each element, row by row.
    pub fn first_holders(&self) -> Vec<Option<Holder>> {
        let mut holders = vec![None; self.rows() * self.cols()];
        for (lane, slot, element) in self.entries() {
            if let Some((row, col)) = element {
                holders[row as usize * self.cols() + col as usize].get_or_insert((lane, slot));
            }
        }
        holders
    }
}

/// How many blocks of `of` rows a matrix is.
fn whole(what: &'static str, matrix: &Matrix, of: usize, needed_cols: usize) -> Result<usize, LayoutError> {
    if matrix.cols == needed_cols && matrix.rows > 0 && matrix.rows.is_multiple_of(of) {
        return Ok(matrix.rows / of);
    }
    Err(LayoutError::Misfit { what, rows: matrix.rows, cols: matrix.cols, needed_cols, of })
}
