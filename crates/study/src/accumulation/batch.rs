//! Does a row of a product depend on how many rows it rides with?
//!
//! Row 0 and B stay the same; batches of m = 1, 2, … rows are multiplied, and the bits of row 0 of D are compared. A library
//! that chooses its kernel, its split of k or its order by m gives other bits at some m.

use super::black_box::{DotProducts, GemmDots};
use rigel_device::contract::Fault;
use rigel_numerics::arithmetic::Distribution;
use rigel_numerics::random::stream;
use rigel_numerics::{Matrix, Triple};
use std::fmt;

/// Columns of the products.
const COLUMNS: usize = 16;

/// Runs of batch sizes over which row 0 has the same bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchDependence {
    /// Products of one element.
    pub k: usize,
    /// The largest batch.
    pub most: usize,
    /// Batch sizes at which the bits change against the batch before, and how many of the row's elements do.
    pub breakpoints: Vec<(usize, usize)>,
    /// Distinct rows seen.
    pub distinct: usize,
}

impl fmt::Display for BatchDependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchDependence { k, most, breakpoints, distinct } = self;
        if breakpoints.is_empty() {
            return write!(f, "row 0 has the same bits in every batch of 1 to {most} rows (K {k}, {COLUMNS} columns)");
        }
        let places: Vec<String> =
            breakpoints.iter().map(|(m, changed)| format!("m = {m} ({changed} of {COLUMNS} elements)")).collect();
        write!(
            f,
            "row 0 has {distinct} values over batches of 1 to {most} rows (K {k}); it changes at {}",
            places.join(", ")
        )
    }
}

/// Multiplies batches of 1 to `most` rows and compares row 0.
///
/// # Errors
/// The fault of the product, and [`Fault::Failed`] where a kernel for some batch is refused.
pub fn batch_dependence(gemm: &mut GemmDots<'_>, most: usize, seed: u64) -> Result<BatchDependence, Fault> {
    let (triple, k) = (gemm.triple(), gemm.k());
    let rows = drawn(triple, k, most, seed);
    let mut b = Matrix::zeroed(triple.b, k, COLUMNS);
    for (j, (_, column)) in drawn(triple, k, COLUMNS, !seed).into_iter().enumerate() {
        column.into_iter().enumerate().for_each(|(i, code)| b.set(i, j, code));
    }
    let mut all = Matrix::zeroed(triple.a, most, k);
    for (i, (row, _)) in rows.into_iter().enumerate() {
        row.into_iter().enumerate().for_each(|(j, code)| all.set(i, j, code));
    }
    let width = Matrix::row_bytes(triple.a, k);
    let mut breakpoints = Vec::new();
    let mut seen: Vec<Vec<u64>> = Vec::new();
    let mut before: Option<Vec<u64>> = None;
    for m in 1..=most {
        let a = Matrix { format: triple.a, rows: m, cols: k, bytes: all.bytes[..m * width].to_vec() };
        let d = gemm.product(&a, &b)?;
        let row: Vec<u64> = (0..COLUMNS).map(|j| d.get(0, j)).collect();
        if let Some(before) = before.filter(|before| *before != row) {
            let changed = before.iter().zip(&row).filter(|(x, y)| x != y).count();
            breakpoints.push((m, changed));
        }
        if !seen.contains(&row) {
            seen.push(row.clone());
        }
        before = Some(row);
    }
    Ok(BatchDependence { k, most, breakpoints, distinct: seen.len() })
}

/// Rows and columns of ordinary values.
fn drawn(triple: Triple, k: usize, count: usize, seed: u64) -> Vec<(Vec<u64>, Vec<u64>)> {
    let key = stream(seed, 0x6f72_6472);
    let of = |i| {
        let inputs = Distribution::Normal.unscaled(triple, k, key, i);
        (inputs.a, inputs.b)
    };
    (0..count as u64).map(of).collect()
}
