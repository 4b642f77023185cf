//! How is a product of f64 matrices summed with twice the precision of f64?
//!
//! Every sum is kept as an unevaluated pair (high, low), as in Dot2 of Ogita, Rump and Oishi, *Accurate Sum and Dot
//! Product* (SIAM J. Sci. Comput. 26, 2005): high is the ordinary f64 sum of the rounded products, low gathers the
//! errors of every product and addition. Their bound, for K terms, u = 2^-53 and γ_K = K·u / (1 − K·u):
//! |high + low − c| ≤ γ_K² · Σ|a||b| + 5·K·2^-1074, as long as nothing overflows. At K = 2^16 that is 2^-74 of Σ|a||b|.
//!
//! The error of a product comes from one fused multiply-add. Without such an instruction `f64::mul_add` calls the C
//! library's, which is right but slow; the alternative, splitting each factor in halves (Dekker), takes 17 operations and
//! overflows beyond 2^996. Results are the same bits everywhere. Vector code is chosen at run time.

use rayon::prelude::*;

/// a + b = sum + error exactly, with sum the rounded sum; 6 additions, no condition on the sizes (Knuth).
///
/// Holds unless the sum overflows.
#[inline(always)]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a · b = product + error exactly, with product the rounded product.
///
/// Holds unless the product overflows or its error falls below 2^-1074 (products below 2^-968 or so).
#[inline(always)]
pub fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Columns of a tile of the product, and of a strip of B.
const WIDTH: usize = 16;
/// Rows of a tile of the product.
const HEIGHT: usize = 2;
/// Rows of the product that one task computes.
const TASK_ROWS: usize = 16;

/// A block of an m × n product in double-double, and Σ|a||b| in plain f64: all row-major with `stride` elements a row.
pub struct Sums<'s> {
    /// High parts: the ordinary f64 sums.
    pub high: &'s mut [f64],
    /// Low parts: what the high parts lack.
    pub low: &'s mut [f64],
    /// Σ|a||b|, of relative error at most γ_K.
    pub magnitude: &'s mut [f64],
    /// Columns of each of the three.
    pub stride: usize,
}

/// Adds A · B to columns `first` … `first + n − 1` of the sums, on all threads of the current pool.
///
/// `a` is m × k and `b` k × n, both row-major; the sums have m rows. The order of the terms, and with it every bit,
/// depends neither on the threads nor on the processor. Panels over k may be added one after the other.
///
/// # Panics
/// When the slices are shorter than these extents.
pub fn add_product(sums: Sums<'_>, first: usize, a: &[f64], b: &[f64], k: usize, n: usize) {
    if k == 0 || n == 0 || sums.stride == 0 {
        return;
    }
    let strips = pack_strips(&b[..k * n], k, n);
    let rows = TASK_ROWS * sums.stride;
    sums.high
        .par_chunks_mut(rows)
        .zip(sums.low.par_chunks_mut(rows))
        .zip(sums.magnitude.par_chunks_mut(rows))
        .zip(a.par_chunks(TASK_ROWS * k))
        .for_each(|(((high, low), magnitude), a)| {
            let sums = Sums { high, low, magnitude, stride: sums.stride };
            pulp::Arch::new().dispatch(Task { sums, first, a, strips: &strips, k, n });
        });
}

/// B in strips of `WIDTH` columns, each k × `WIDTH` and contiguous; the last one is padded with zeros.
fn pack_strips(b: &[f64], k: usize, n: usize) -> Vec<[f64; WIDTH]> {
    let mut strips = vec![[0.0; WIDTH]; n.div_ceil(WIDTH) * k];
    strips.par_chunks_mut(k).enumerate().for_each(|(strip, rows)| {
        let start = strip * WIDTH;
        let width = WIDTH.min(n - start);
        for (row, b) in rows.iter_mut().zip(b.chunks_exact(n)) {
            row[..width].copy_from_slice(&b[start..start + width]);
        }
    });
    strips
}

struct Task<'t> {
    sums: Sums<'t>,
    first: usize,
    a: &'t [f64],
    strips: &'t [[f64; WIDTH]],
    k: usize,
    n: usize,
}

impl pulp::NullaryFnOnce for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Task { sums, first, a, strips, k, n } = self;
        for (strip, b) in strips.chunks_exact(k).enumerate() {
            let start = strip * WIDTH;
            let width = WIDTH.min(n - start);
            for (tile, a) in a.chunks(HEIGHT * k).enumerate() {
                let at = |row: usize| (tile * HEIGHT + row) * sums.stride + first + start;
                let rows = a.len() / k;
                let mut sum = [Tile { high: [0.0; WIDTH], low: [0.0; WIDTH], magnitude: [0.0; WIDTH] }; HEIGHT];
                for (row, sum) in sum.iter_mut().enumerate().take(rows) {
                    sum.high[..width].copy_from_slice(&sums.high[at(row)..at(row) + width]);
                    sum.low[..width].copy_from_slice(&sums.low[at(row)..at(row) + width]);
                    sum.magnitude[..width].copy_from_slice(&sums.magnitude[at(row)..at(row) + width]);
                }
                // A missing last row repeats the one above; its sums are thrown away.
                let lines: [&[f64]; HEIGHT] = std::array::from_fn(|row| &a[row.min(rows - 1) * k..][..k]);
                tile_product(&mut sum, lines, b);
                for (row, sum) in sum.iter().enumerate().take(rows) {
                    sums.high[at(row)..at(row) + width].copy_from_slice(&sum.high[..width]);
                    sums.low[at(row)..at(row) + width].copy_from_slice(&sum.low[..width]);
                    sums.magnitude[at(row)..at(row) + width].copy_from_slice(&sum.magnitude[..width]);
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Tile {
    high: [f64; WIDTH],
    low: [f64; WIDTH],
    magnitude: [f64; WIDTH],
}

#[inline(always)]
fn tile_product(sum: &mut [Tile; HEIGHT], a: [&[f64]; HEIGHT], b: &[[f64; WIDTH]]) {
    let mut sums = *sum;
    for (term, b) in b.iter().enumerate() {
        for (sum, a) in sums.iter_mut().zip(a) {
            let a = a[term];
            for (col, &b) in b.iter().enumerate() {
                let (product, lost) = two_product(a, b);
                let (high, cut) = two_sum(sum.high[col], product);
                sum.high[col] = high;
                sum.low[col] += lost + cut;
                sum.magnitude[col] += product.abs();
            }
        }
    }
    *sum = sums;
}
