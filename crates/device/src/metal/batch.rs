//! How do the operands of a batch of single operations lie in memory?
//!
//! Tile behind tile, rows as in products: those of a format type are a multiple of 128 bytes apart, and all of them in tensors that the
//! host makes. Scales lie in planes of their own, a row of them beside each stored row of elements.

use super::operation::Operation;
use super::place::Placed;
use super::text::Reach;
use crate::contract::Fault;
use crate::unit::Operands;
use rigel_numerics::block::MX_GROUP;
use rigel_numerics::{Format, Matrix, Shape};

/// Bits from one row to the next in tensors that the host makes are a multiple of this.
const ROW_BITS: usize = 1024;

/// The code of a scale of 1.
const SCALE_OF_ONE: u8 = 127;

/// Elements from one stored row to the next of A, B and C of an operation.
pub fn pitch(operation: &Operation, reach: Reach) -> [usize; 3] {
    let Operation { types, m, n, step, .. } = *operation;
    let packed = Placed::of(operation, Shape::new(m as usize, n as usize, step as usize)).pitch;
    let elements = [types.left, types.right, types.dest];
    let apart = |i: usize| packed[i].next_multiple_of(ROW_BITS / elements[i].bits() as usize);
    if reach == Reach::Handle { [0, 1, 2].map(apart) } else { packed }
}

/// Operands of a batch as they lie in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Laid {
    /// Elements of A, B and C.
    pub elements: [Vec<u8>; 3],
    /// Scales of A and B, where there are any.
    pub scales: Option<[Vec<u8>; 2]>,
}

impl Laid {
    /// Operands of a unit that executes an operation.
    pub fn of(operation: &Operation, reach: Reach, operands: Operands<'_>) -> Laid {
        let Operation { m, step, transpose_left, transpose_right, .. } = *operation;
        let (m, k) = (m as usize, step as usize);
        let pitch = pitch(operation, reach);
        let elements = [
            stored(operands.a, transpose_left.then_some(m), pitch[0], 0),
            stored(operands.b, transpose_right.then_some(k), pitch[1], 0),
            stored(operands.c, None, pitch[2], 0),
        ];
        // What lies behind the scales of the operation is the scale of 1.
        let scales = operands.scales.map(|(a, b)| {
            [
                stored(a, None, pitch[0] / MX_GROUP, SCALE_OF_ONE),
                stored(b, Some(k / MX_GROUP), pitch[1] / MX_GROUP, SCALE_OF_ONE),
            ]
        });
        Laid { elements, scales }
    }

    /// Operands as they are.
    pub fn packed(operands: Operands<'_>) -> Laid {
        let elements = [operands.a, operands.b, operands.c].map(|operand| operand.bytes.clone());
        Laid { elements, scales: None }
    }
}

/// The rows of a matrix so many elements apart, `fill` between them; transposed in parts of so many rows where it says so.
fn stored(x: &Matrix, transposed: Option<usize>, pitch: usize, fill: u8) -> Vec<u8> {
    let Some(each) = transposed else {
        if pitch == x.cols {
            return x.bytes.clone();
        }
        let bytes = Matrix::row_bytes(x.format, x.cols);
        let mut out = Matrix::zeroed(x.format, x.rows, pitch);
        out.bytes.fill(fill);
        (0..x.rows).for_each(|row| out.row_mut(row)[..bytes].copy_from_slice(x.row(row)));
        return out.bytes;
    };
    let mut out = Matrix::zeroed(x.format, x.rows / each * x.cols, pitch);
    out.bytes.fill(fill);
    for row in 0..x.rows {
        for col in 0..x.cols {
            out.set(row / each * x.cols + col, row % each, x.get(row, col));
        }
    }
    out.bytes
}

/// D from memory: rows so many elements apart.
///
/// # Errors
/// Another number of bytes than that of these rows.
pub fn taken(format: Format, (rows, cols): (usize, usize), pitch: usize, bytes: &[u8]) -> Result<Matrix, Fault> {
    let [apart, each] = [pitch, cols].map(|elements| Matrix::row_bytes(format, elements));
    if bytes.len() != apart * rows {
        return Err(Fault::Failed(format!("{} bytes came back of {rows} rows, {apart} bytes apart", bytes.len())));
    }
    let mut d = Matrix::zeroed(format, rows, cols);
    bytes.chunks_exact(apart).enumerate().for_each(|(row, from)| d.row_mut(row).copy_from_slice(&from[..each]));
    Ok(d)
}
