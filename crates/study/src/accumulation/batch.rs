//! Does a row of a product depend on how many rows it rides with?
//!
//! Row 0 and B stay the same; batches of 1, 2, … rows are multiplied, and the bits of row 0 of D are compared. A library
//! that chooses its kernel, its split of k or its order by m gives other bits at some m.

use super::black_box::{DotProducts, GemmDots};
use rigel_device::contract::Fault;
use rigel_ledger::units::{Codes, RowZero, batches, drawn_row};
use rigel_numerics::Matrix;

/// Row 0 over batches of 1 to `most` rows, an entry where its bits change. Not every batch is multiplied: those of [`batches`],
/// and between two that differ as many as it takes to find where.
///
/// # Errors
/// The fault of the product, and [`Fault::Failed`] where a kernel for some batch is refused.
pub fn row_zero(gemm: &mut GemmDots<'_>, most: usize, columns: usize, seed: u64) -> Result<Vec<RowZero>, Fault> {
    let (triple, k) = (gemm.triple(), gemm.k());
    let mut b = Matrix::zeroed(triple.b, k, columns);
    for j in 0..columns {
        drawn_row(triple, k, seed, false, j).into_iter().enumerate().for_each(|(i, code)| b.set(i, j, code));
    }
    let mut all = Matrix::zeroed(triple.a, most, k);
    for i in 0..most {
        drawn_row(triple, k, seed, true, i).into_iter().enumerate().for_each(|(j, code)| all.set(i, j, code));
    }
    let width = Matrix::row_bytes(triple.a, k);
    let mut row = |m: usize| {
        let a = Matrix { format: triple.a, rows: m, cols: k, bytes: all.bytes[..m * width].to_vec() };
        let d = gemm.product(&a, &b)?;
        Ok::<Codes, Fault>(Codes((0..columns).map(|j| d.get(0, j)).collect()))
    };
    let mut rows: Vec<RowZero> = Vec::new();
    let mut before: Option<(usize, Codes)> = None;
    for m in batches(most) {
        let d = row(m)?;
        match &before {
            Some((_, same)) if *same == d => {}
            None => rows.push(RowZero { from: m as u64, d: d.clone() }),
            Some((last, other)) => {
                changes((*last, other), (m, &d), &mut row, &mut rows)?;
            }
        }
        before = Some((m, d));
    }
    Ok(rows)
}

/// Every change between two batches whose rows differ, found by halving: at least the one that must be there.
fn changes(
    (low, below): (usize, &Codes),
    (high, above): (usize, &Codes),
    row: &mut impl FnMut(usize) -> Result<Codes, Fault>,
    rows: &mut Vec<RowZero>,
) -> Result<(), Fault> {
    if below == above {
        return Ok(());
    }
    if high - low <= 1 {
        rows.push(RowZero { from: high as u64, d: above.clone() });
        return Ok(());
    }
    let middle = low + (high - low) / 2;
    let between = row(middle)?;
    changes((low, below), (middle, &between), row, rows)?;
    changes((middle, &between), (high, above), row, rows)
}
