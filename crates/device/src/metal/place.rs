//! How do the operands of a product lie in device memory?
//!
//! Rows of a format type are whole multiples of 32 elements, a multiple of 128 bytes apart, as the host's tensor rules
//! ask; zeros fill them up. Other rows are packed, unless a probe asks for another distance.

use super::element::Element;
use super::operation::Operation;
use rigel_numerics::{Matrix, Shape};

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
}

impl Placed {
    /// Where the operands of a product by an operation lie.
    pub fn of(operation: &Operation, shape: Shape) -> Placed {
        let types = operation.types;
        // Dimension 0 of a stored operand is filled up; where k is one, both operands have it.
        let fills_k =
            types.left.is_format() && !operation.transpose_left || types.right.is_format() && operation.transpose_right;
        let k = if fills_k { shape.k.next_multiple_of(32) } else { shape.k };
        let wide =
            if types.right.is_format() && !operation.transpose_right { shape.n.next_multiple_of(32) } else { shape.n };
        let left = if operation.transpose_left { shape.m } else { k };
        let right = if operation.transpose_right { k } else { wide };
        Placed { shape, k, wide, pitch: [row(types.left, left), row(types.right, right), shape.n] }
    }

    /// The parameter block of the kernels.
    pub fn words(&self) -> Vec<u8> {
        let Shape { m, n, .. } = self.shape;
        let words = [m, n, self.k, self.wide, self.pitch[0], self.pitch[1], self.pitch[2]];
        words.iter().flat_map(|&w| (w as i32).to_le_bytes()).collect()
    }

    /// Bytes of A (m × k): rows as they are, or columns where the operand is stored transposed.
    pub fn left(&self, operation: &Operation, a: &Matrix) -> Vec<u8> {
        let rows = if operation.transpose_left { self.k } else { self.shape.m };
        stored(a, operation.transpose_left, rows, self.pitch[0])
    }

    /// Bytes of B (k × n).
    pub fn right(&self, operation: &Operation, b: &Matrix) -> Vec<u8> {
        let rows = if operation.transpose_right { self.shape.n } else { self.k };
        stored(b, operation.transpose_right, rows, self.pitch[1])
    }
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
