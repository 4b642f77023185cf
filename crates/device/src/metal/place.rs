//! How do the operands of a product lie in device memory?
//!
//! Rows of a format type are whole multiples of 32 elements, a multiple of 128 bytes apart, as the host's tensor rules
//! ask; zeros fill them up. Other rows are packed, unless a probe asks for another distance.
//!
//! Where an operand has a plane of scales, k is filled up to whole rows of 128 bytes, so that rows of scales are as far apart by the
//! extent as by the distance of rows: the vendor's documents do not say which of them tells. The plane lies behind the elements.

use super::element::Element;
use super::operation::Operation;
use rigel_numerics::block::{self, MX_GROUP, NoPlanes};
use rigel_numerics::{Format, Matrix, Operand, Shape};
use std::borrow::Cow;

/// Extents as a kernel declares them, and elements from one row to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The product.
    pub shape: Shape,
    /// k with what fills it up.
    pub k: usize,
    /// Columns of B with what fills them up.
    pub wide: usize,
    /// Elements from one stored row to the next of A, B and C.
    pub pitch: [usize; 3],
    /// Where the planes of scales of A and B begin, in bytes behind the first element.
    pub scales: [Option<usize>; 2],
}

impl Placed {
    /// Where the operands of a product by an operation lie.
    pub fn of(operation: &Operation, shape: Shape) -> Placed {
        let types = operation.types;
        // Dimension 0 of a stored operand is filled up; where k is one, both operands have it.
        let fills_k =
            types.left.is_format() && !operation.transpose_left || types.right.is_format() && operation.transpose_right;
        let k = if fills_k { shape.k.next_multiple_of(32) } else { shape.k };
        let scaled = [types.left, types.right].into_iter().filter(|element| element.is_scaled());
        let k = scaled.fold(k, |k, element| row(element, k));
        let wide =
            if types.right.is_format() && !operation.transpose_right { shape.n.next_multiple_of(32) } else { shape.n };
        let left = if operation.transpose_left { shape.m } else { k };
        let right = if operation.transpose_right { k } else { wide };
        let pitch = [row(types.left, left), row(types.right, right), shape.n];
        let plane = |element: Element, lines: usize, pitch: usize| {
            element.is_scaled().then_some(lines * pitch * element.bits() as usize / 8)
        };
        let scales = [plane(types.left, shape.m, pitch[0]), plane(types.right, shape.n, pitch[1])];
        Placed { shape, k, wide, pitch, scales }
    }

    /// The parameter block of the kernels.
    pub fn words(&self) -> Vec<u8> {
        let Shape { m, n, .. } = self.shape;
        let words = [m, n, self.k, self.wide, self.pitch[0], self.pitch[1], self.pitch[2]];
        words.iter().flat_map(|&w| (w as i32).to_le_bytes()).collect()
    }

    /// Bytes of A (m × k): rows as they are, or columns where the operand is stored transposed; behind them its scales.
    ///
    /// # Errors
    /// That elements of one scale group have unlike scales.
    pub fn left(&self, operation: &Operation, a: &Matrix) -> Result<Vec<u8>, NoPlanes> {
        let rows = if operation.transpose_left { self.k } else { self.shape.m };
        let (elements, scales) = split(a, Operand::A)?;
        let mut bytes = stored(&elements, operation.transpose_left, rows, self.pitch[0]);
        bytes.extend(scales.iter().flat_map(|scales| self.plane(scales, false, rows)));
        Ok(bytes)
    }

    /// Bytes of B (k × n), and behind them its scales.
    ///
    /// # Errors
    /// That elements of one scale group have unlike scales.
    pub fn right(&self, operation: &Operation, b: &Matrix) -> Result<Vec<u8>, NoPlanes> {
        let rows = if operation.transpose_right { self.shape.n } else { self.k };
        let (elements, scales) = split(b, Operand::B)?;
        let mut bytes = stored(&elements, operation.transpose_right, rows, self.pitch[1]);
        bytes.extend(scales.iter().flat_map(|scales| self.plane(scales, true, rows)));
        Ok(bytes)
    }

    /// So many rows of scales, and a scale of 1 wherever a group has no elements of the product.
    fn plane(&self, scales: &Matrix, transposed: bool, rows: usize) -> Vec<u8> {
        let across = self.k / MX_GROUP;
        let mut plane = Matrix::zeroed(Format::E8m0, rows, across);
        plane.bytes.fill(SCALE_OF_ONE);
        for (row, group) in (0..scales.rows).flat_map(|row| (0..scales.cols).map(move |group| (row, group))) {
            let (line, group, scale) =
                if transposed { (group, row, scales.get(row, group)) } else { (row, group, scales.get(row, group)) };
            plane.set(line, group, scale);
        }
        plane.bytes
    }
}

/// The code of a scale of 1.
const SCALE_OF_ONE: u8 = 127;

/// An operand's elements, and its scales where it has them.
fn split(x: &Matrix, operand: Operand) -> Result<(Cow<'_, Matrix>, Option<Matrix>), NoPlanes> {
    if x.format.scale_groups().is_none() {
        return Ok((Cow::Borrowed(x), None));
    }
    let (elements, scales) = block::planes(x, operand)?;
    Ok((Cow::Owned(elements), Some(scales)))
}

/// Elements from one row to the next of a type, for rows of so many.
fn row(element: Element, elements: usize) -> usize {
    if element.is_format() { elements.next_multiple_of(1024 / element.bits() as usize) } else { elements }
}

/// The elements of a matrix in rows of `pitch` elements, `rows` of them, zeros elsewhere.
fn stored(x: &Matrix, transposed: bool, rows: usize, pitch: usize) -> Vec<u8> {
    let mut out = Matrix::zeroed(x.format, rows, pitch);
    if transposed {
        for r in 0..x.rows {
            for c in 0..x.cols {
                out.set(c, r, x.get(r, c));
            }
        }
    } else {
        let bytes = Matrix::row_bytes(x.format, x.cols);
        for r in 0..x.rows {
            out.row_mut(r)[..bytes].copy_from_slice(x.row(r));
        }
    }
    out.bytes
}
