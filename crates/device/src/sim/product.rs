//! What does a planted device write for given operands, when nothing goes wrong?

use super::arithmetic::{Arithmetic, SMALL, dot, exponent, rounded, truncated};
use rayon::prelude::*;
use rigel_numerics::decode_row::decode_row;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape, Triple};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

/// Products that a worker keeps, so that cells on the same inputs compute them once.
#[derive(Debug, Default)]
pub struct Products {
    kept: Vec<(Key, Rc<Matrix>)>,
}

type Key = (u64, u64, Triple, Shape, String);

/// Bytes of products kept; the oldest are dropped first.
const KEEP_BYTES: usize = 256 << 20;

impl Products {
    /// The product of `a` (m × k) and `b` (k × n) as m × n codes of the triple's C.
    pub fn of(&mut self, arithmetic: Arithmetic, triple: Triple, a: &Matrix, b: &Matrix) -> Rc<Matrix> {
        let shape = Shape::new(a.rows, b.cols, a.cols);
        let key = (hash(a), hash(b), triple, shape, format!("{arithmetic:?}"));
        if let Some(found) = self.kept.iter().position(|(k, _)| *k == key) {
            let entry = self.kept.remove(found);
            self.kept.push(entry);
            return self.kept[self.kept.len() - 1].1.clone();
        }
        let made = Rc::new(product(arithmetic, triple, a, b));
        self.kept.push((key, made.clone()));
        while self.kept.len() > 1 && self.kept.iter().map(|(_, m)| m.bytes.len()).sum::<usize>() > KEEP_BYTES {
            self.kept.remove(0);
        }
        made
    }
}

fn hash(matrix: &Matrix) -> u64 {
    let mut hasher = DefaultHasher::new();
    matrix.bytes.hash(&mut hasher);
    hasher.finish()
}

/// The product, uncached.
fn product(arithmetic: Arithmetic, triple: Triple, a: &Matrix, b: &Matrix) -> Matrix {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    if m.max(n).max(k) <= SMALL {
        let columns: Vec<Vec<u64>> = (0..n).map(|j| (0..k).map(|p| b.get(p, j)).collect()).collect();
        return by_rows(triple.c, m, n, |i, row| {
            let a_row: Vec<u64> = (0..k).map(|p| a.get(i, p)).collect();
            for (j, column) in columns.iter().enumerate() {
                rigel_numerics::packing::set(triple.c, row, j, dot(arithmetic, triple, &a_row, column));
            }
        });
    }
    let (a, b) = (decoded(a), decoded(b));
    let sums = match arithmetic {
        Arithmetic::AlignedBlocks { terms, fraction_bits, output_bits }
            if !triple.is_integer() && output_bits.min(fraction_bits + 1) < triple.c.precision() =>
        {
            blocks(&a, &b, (m, n, k), terms, fraction_bits, output_bits)
        }
        Arithmetic::OperandsCut { bits } if !triple.is_integer() => {
            let cut = |x: Vec<f64>| x.into_iter().map(|x| truncated(x, bits)).collect::<Vec<f64>>();
            multiply(&cut(a), &cut(b), (m, n, k), 0..k)
        }
        _ => multiply(&a, &b, (m, n, k), 0..k),
    };
    by_rows(triple.c, m, n, |i, row| {
        for (j, &sum) in sums[i * n..][..n].iter().enumerate() {
            let code = if triple.is_integer() {
                // Integer sums stay below 2^53 for every extent and operand format: the float64 product is exact.
                triple.c.encode_scaled(sum as i128, 0, Rounding::NearestEven, Overflow::Ieee)
            } else {
                rounded(triple.c, sum)
            };
            rigel_numerics::packing::set(triple.c, row, j, code);
        }
    })
}

/// A matrix of `format`, its packed rows written in parallel.
fn by_rows(format: Format, rows: usize, cols: usize, write: impl Fn(usize, &mut [u8]) + Sync) -> Matrix {
    let mut out = Matrix::zeroed(format, rows, cols);
    let width = Matrix::row_bytes(format, cols);
    out.bytes.par_chunks_mut(width).enumerate().for_each(|(i, row)| write(i, row));
    out
}

fn decoded(matrix: &Matrix) -> Vec<f64> {
    let mut values = vec![0.0; matrix.rows * matrix.cols];
    values.par_chunks_mut(matrix.cols).enumerate().for_each(|(r, out)| decode_row(matrix.format, matrix.row(r), out));
    values
}

/// The float64 product over the terms `over` of k, row-major m × n, each thread's rows on their own.
fn multiply(a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize), over: Range<usize>) -> Vec<f64> {
    let rows = m.div_ceil(rayon::current_num_threads());
    let mut sums = vec![0.0; m * n];
    sums.par_chunks_mut(rows * n).zip(a.par_chunks(rows * k)).for_each(|(sums, a)| {
        multiply_into(sums, a, b, (sums.len() / n, n, k), over.clone());
    });
    sums
}

/// The same on one thread, into `sums`, whatever they held.
fn multiply_into(sums: &mut [f64], a: &[f64], b: &[f64], (m, n, k): (usize, usize, usize), over: Range<usize>) {
    let depth = over.len();
    let (a, b) = (&a[over.start..], &b[over.start * n..over.end * n]);
    assert!(a.len() >= (m - 1) * k + depth && sums.len() == m * n, "{m} x {n} x {k} over {over:?}");
    // SAFETY: by the assertion and the slice above, A's last element (row m - 1, term depth - 1 of rows of k), all depth × n of B
    // and all m × n of C lie inside their slices, and C overlaps neither, being borrowed mutably.
    unsafe {
        matrixmultiply::dgemm(
            m,
            depth,
            n,
            1.0,
            a.as_ptr(),
            k as isize,
            1,
            b.as_ptr(),
            n as isize,
            1,
            0.0,
            sums.as_mut_ptr(),
            n as isize,
            1,
        );
    }
}

/// Rows of the output that one thread takes through all blocks: their running sums stay in its cache.
const PANEL: usize = 32;

/// Aligned-truncated blocks on whole matrices: the running sum and each block's sum are aligned to the larger of the
/// two and truncated toward zero, added, and truncated to the output bits.
fn blocks(
    a: &[f64],
    b: &[f64],
    (m, n, k): (usize, usize, usize),
    terms: usize,
    fraction_bits: u32,
    output_bits: u32,
) -> Vec<f64> {
    let mut sums = vec![0.0; m * n];
    sums.par_chunks_mut(PANEL * n).zip(a.par_chunks(PANEL * k)).for_each(|(running, a)| {
        let rows = running.len() / n;
        let mut partial = vec![0.0; running.len()];
        for start in (0..k).step_by(terms) {
            multiply_into(&mut partial, a, b, (rows, n, k), start..(start + terms).min(k));
            for (sum, &block) in running.iter_mut().zip(&partial) {
                *sum = step(*sum, block, fraction_bits, output_bits);
            }
        }
    });
    sums
}

/// The running sum after a block whose products add up to `block`.
#[inline]
fn step(sum: f64, block: f64, fraction_bits: u32, output_bits: u32) -> f64 {
    if !(sum.is_finite() && block.is_finite()) {
        return sum + block;
    }
    let top = exponent(sum).max(exponent(block));
    // Each keeps the bits that lie within `fraction_bits` of the larger exponent.
    let keep = |x: f64| match fraction_bits as i32 - (top - exponent(x)) {
        kept @ 0.. => truncated(x, kept as u32 + 1),
        _ => 0.0,
    };
    truncated(keep(sum) + keep(block), output_bits)
}
