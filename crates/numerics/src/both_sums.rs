//! How are Σa·b and Σ|a||b| of encoded operands summed in f64 in one pass?
//!
//! Both sums of an element need the same two factors, so they are kept in registers side by side: a load or a broadcast
//! serves two multiply-adds, operands are decoded once, and each output is written once per panel of k. Two calls of a
//! matrix product would read and pack everything twice and need a copy of the panels without signs in between.
//!
//! Every sum starts from 0 and takes its terms in the order of k. Where products are exact in f64 (operands of at most 26
//! significant bits), a fused multiply-add rounds as a multiplication and an addition do: the bits are those of
//! the plain loop, on any processor with any number of threads.

use crate::decode_row::decode_span;
use crate::plane::Plane;
use crate::{Matrix, Operand, Shape};
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use std::ops::Range;

/// Numbers of A that one task keeps for each term: 12 rows with their sizes, or 24 rows.
///
/// By one vector and two sums, a tile of twelve rows fills 24 of 32 registers. Tall tiles take |b| seldom: that costs a port that
/// could multiply. Of 16 registers a tile of four rows fills eight; six left too few for the operands, and sums went through
/// memory. So there a task takes six tiles, and a strip of B comes from afar once for all of them.
const KEPT: usize = 24;
/// Columns of B that one task decodes: whole strips, for vectors of at most eight numbers.
const GROUP: usize = 256;
/// Terms of a panel: a strip of it (64 KiB at most) and a task's rows of A (192 KiB at most) stay in a second-level cache. Two
/// tiles fit too, but then the time of a product has a second mode a sixth longer, by where the pages happen to lie.
const DEPTH: usize = 1024;
/// Columns of a panel of B, 8 MiB when decoded.
const EDGE: usize = 1024;

/// Writes Σa·b and Σ|a||b| of A · B to two m × n row-major outputs, on all threads of the current pool.
///
/// Tells the operand that holds an infinity or NaN, if one does; the outputs are then unfinished.
///
/// # Panics
/// When an output does not have m · n elements or the operands are not of the shape's extents.
pub(crate) fn both_sums(
    shape: Shape,
    a: &Matrix,
    b: &Matrix,
    sum: &mut [f64],
    magnitude: &mut [f64],
) -> Result<(), Operand> {
    Arch::new().dispatch(Product { shape, a, b, sum, magnitude })
}

/// Both sums of a whole product, with the operands they are summed from.
struct Product<'p> {
    shape: Shape,
    a: &'p Matrix,
    b: &'p Matrix,
    sum: &'p mut [f64],
    magnitude: &'p mut [f64],
}

impl WithSimd for Product<'_> {
    type Output = Result<(), Operand>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        if S::REGISTER_COUNT >= 32 { self.run::<S, 12, true>(simd) } else { self.run::<S, 4, false>(simd) }
    }
}

impl Product<'_> {
    /// In tiles of `ROWS` rows. `SIZES`: |a| is kept beside a, for a loop that has loads to spare but no port for |a|.
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize, const SIZES: bool>(self, simd: S) -> Result<(), Operand> {
        let Product { shape: Shape { m, n, k }, a, b, sum, magnitude } = self;
        assert!(sum.len() == m * n && magnitude.len() == m * n, "outputs of {m} x {n}");
        let lanes = S::F64_LANES;
        let copies = copies(SIZES);
        let height = KEPT / copies;
        let mut strips = Plane::<f64>::zeroed(EDGE.min(n).next_multiple_of(lanes) * DEPTH.min(k));
        for first in (0..n).step_by(EDGE) {
            let columns = first..n.min(first + EDGE);
            for start in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - start);
                let strips = &mut strips[..columns.len().next_multiple_of(lanes) * depth];
                if !decode_strips(b, start..start + depth, columns.clone(), lanes, strips) {
                    return Err(Operand::B);
                }
                let take = |(line, tiles): &mut (Vec<f64>, Vec<f64>),
                            (task, (sum, magnitude)): (usize, (&mut [f64], &mut [f64]))| {
                    let mut finite = true;
                    for row in 0..sum.len() / n {
                        decode_span(a.format, a.row(task * height + row), start, line);
                        finite &= all_finite(line);
                        let tile = &mut tiles[row / ROWS * ROWS * copies * depth..][..ROWS * copies * depth];
                        for (term, x) in tile.chunks_exact_mut(ROWS * copies).zip(&*line) {
                            let term = &mut term[row % ROWS * copies..][..copies];
                            term[0] = *x;
                            term[1..].fill(x.abs());
                        }
                    }
                    let columns = columns.clone();
                    simd.vectorize(Task::<ROWS, SIZES> { sum, magnitude, n, columns, tiles, strips, depth, start });
                    finite
                };
                let tasks = sum.par_chunks_mut(height * n).zip(magnitude.par_chunks_mut(height * n)).enumerate();
                let buffers = || (vec![0.0; depth], vec![0.0; KEPT * depth]);
                if !tasks.map_init(buffers, take).reduce(|| true, |x, y| x & y) {
                    return Err(Operand::A);
                }
            }
        }
        Ok(())
    }
}

/// Numbers kept of one element of A.
const fn copies(sizes: bool) -> usize {
    if sizes { 2 } else { 1 }
}

/// Decodes a block of B into strips of `lanes` columns, each of the block's rows, the last one padded with zeros; says
/// whether all of it is finite.
fn decode_strips(b: &Matrix, rows: Range<usize>, columns: Range<usize>, lanes: usize, strips: &mut [f64]) -> bool {
    let depth = rows.len();
    let decode = |(group, strips): (usize, &mut [f64])| {
        let first = columns.start + group * GROUP;
        let mut line = [0.0; GROUP];
        let cols = GROUP.min(columns.end - first);
        let mut finite = true;
        for row in 0..depth {
            decode_span(b.format, b.row(rows.start + row), first, &mut line[..cols]);
            finite &= all_finite(&line);
            for (strip, values) in strips.chunks_exact_mut(lanes * depth).zip(line.chunks_exact(lanes)) {
                strip[row * lanes..][..lanes].copy_from_slice(values);
            }
        }
        finite
    };
    strips.par_chunks_mut(GROUP * depth).enumerate().map(decode).reduce(|| true, |x, y| x & y)
}

fn all_finite(values: &[f64]) -> bool {
    values.iter().fold(true, |finite, x| finite & x.is_finite())
}

/// A few whole rows of both outputs, and what adds to `columns` of them.
struct Task<'t, const ROWS: usize, const SIZES: bool> {
    sum: &'t mut [f64],
    magnitude: &'t mut [f64],
    n: usize,
    columns: Range<usize>,
    /// Tiles of A, each `depth` terms of `ROWS` rows. Rows that the last tile lacks hold any numbers.
    tiles: &'t [f64],
    /// Strips of B, each `depth` vectors.
    strips: &'t [f64],
    depth: usize,
    /// First k of the panel: at 0 the outputs are written, later they are added to.
    start: usize,
}

impl<const ROWS: usize, const SIZES: bool> WithSimd for Task<'_, ROWS, SIZES> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let height = self.sum.len() / self.n;
        let columns = self.columns.clone().step_by(S::F64_LANES);
        for (first, b) in columns.zip(self.strips.chunks_exact(self.depth * S::F64_LANES)) {
            let width = S::F64_LANES.min(self.columns.end - first);
            for (top, a) in (0..height).step_by(ROWS).zip(self.tiles.chunks_exact(ROWS * copies(SIZES) * self.depth)) {
                let rows = ROWS.min(height - top);
                let at = |row: usize| {
                    let start = (top + row) * self.n + first;
                    start..start + width
                };
                let mut sums = [[simd.splat_f64s(0.0); ROWS]; 2];
                let outputs = [&mut *self.sum, &mut *self.magnitude];
                if self.start > 0 {
                    for (sums, output) in sums.iter_mut().zip(&outputs) {
                        for (row, sum) in sums.iter_mut().enumerate().take(rows) {
                            *sum = simd.partial_load_f64s(&output[at(row)]);
                        }
                    }
                }
                tile_product::<S, ROWS, SIZES>(simd, &mut sums, a, S::as_simd_f64s(b).0);
                for (sums, output) in sums.iter().zip(outputs) {
                    for (row, sum) in sums.iter().enumerate().take(rows) {
                        simd.partial_store_f64s(&mut output[at(row)], *sum);
                    }
                }
            }
        }
    }
}

/// Adds a · b to the first tile of sums and |a||b| to the second: a tile of A, a strip of B.
#[inline(always)]
fn tile_product<S: Simd, const ROWS: usize, const SIZES: bool>(
    simd: S,
    sums: &mut [[S::f64s; ROWS]; 2],
    a: &[f64],
    b: &[S::f64s],
) {
    let [mut sum, mut magnitude] = *sums;
    for (a, &b) in a.chunks_exact(ROWS * copies(SIZES)).zip(b) {
        let size = simd.abs_f64s(b);
        for row in 0..ROWS {
            let (x, x_size) = if SIZES {
                (simd.splat_f64s(a[2 * row]), simd.splat_f64s(a[2 * row + 1]))
            } else {
                let x = simd.splat_f64s(a[row]);
                (x, simd.abs_f64s(x))
            };
            sum[row] = simd.mul_add_e_f64s(x, b, sum[row]);
            magnitude[row] = simd.mul_add_e_f64s(x_size, size, magnitude[row]);
        }
    }
    *sums = [sum, magnitude];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Recipe};

    /// Every width of vectors and both kinds of tiles give the bits of the plain loop, in one panel of k and in two, at ragged
    /// edges of the output.
    #[test]
    fn every_vector_width_sums_in_the_order_of_k() {
        for (m, n, k) in [(1, 19, 7), (5, 21, 7), (29, 8, 1031), (49, 1027, 3), (12, 3, 1025)] {
            let shape = Shape::new(m, n, k);
            let a = Recipe::NearNormal.matrix(Format::F16, 1, Operand::A, m, k);
            let b = Recipe::NearNormal.matrix(Format::Bf16, 1, Operand::B, k, n);
            let mut plain = [vec![0.0; m * n], vec![0.0; m * n]];
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                for p in 0..k {
                    let product = a.format.decode(a.get(row, p)) * b.format.decode(b.get(p, col));
                    plain[0][row * n + col] += product;
                    plain[1][row * n + col] += product.abs();
                }
            }
            let run = |sums: &dyn Fn(Product) -> Result<(), Operand>| {
                let [mut sum, mut magnitude] = [vec![f64::NAN; m * n], vec![f64::NAN; m * n]];
                let product = Product { shape, a: &a, b: &b, sum: &mut sum, magnitude: &mut magnitude };
                assert_eq!(sums(product), Ok(()));
                let bits = |sums: &[f64]| sums.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!([bits(&sum), bits(&magnitude)], [bits(&plain[0]), bits(&plain[1])], "{m} x {n} x {k}");
            };
            let scalar = pulp::Scalar::new();
            run(&|product| Simd::vectorize(scalar, product));
            run(&|product| product.run::<_, 12, true>(scalar));
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(simd) = pulp::x86::V3::try_new() {
                    run(&|product| Simd::vectorize(simd, product));
                }
                if let Some(simd) = pulp::x86::V4::try_new() {
                    run(&|product| Simd::vectorize(simd, product));
                }
            }
        }
    }
}
