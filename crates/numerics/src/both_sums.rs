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

/// Columns of a strip of B, whose rows are contiguous: two vectors of 512 bits.
const WIDTH: usize = 16;
/// Rows of a tile of the product. 6 rows by two vectors and two sums fill 24 of 32 registers; by one vector, 12 of 16.
const HEIGHT: usize = 6;
/// Strips that one task decodes.
const GROUP: usize = 16;
/// Terms of a panel: a strip of it (128 KiB) and the rows of a task (288 KiB) stay in a second-level cache.
const DEPTH: usize = 1024;
/// Columns of a panel of B, 8 MiB when decoded.
const EDGE: usize = 1024;
/// Tiles of rows in a task, at most.
const TASK_TILES: usize = 3;

type Strip = [f64; WIDTH];
/// a and |a| of every row of a tile: taking |a| in the loop would cost the ports that multiply.
type Term = [[f64; 2]; HEIGHT];

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
    let Shape { m, n, k } = shape;
    assert!(sum.len() == m * n && magnitude.len() == m * n, "outputs of {m} x {n}");
    // Enough tasks to share out evenly, large enough that a strip is used often while it is near.
    let tiles = m.div_ceil(HEIGHT * 4 * rayon::current_num_threads()).clamp(1, TASK_TILES);
    let task_rows = tiles * HEIGHT;
    let mut strips = Plane::<f64>::zeroed(EDGE.min(n).next_multiple_of(WIDTH) * DEPTH.min(k));
    for first in (0..n).step_by(EDGE) {
        let cols = EDGE.min(n - first);
        for start in (0..k).step_by(DEPTH) {
            let depth = DEPTH.min(k - start);
            let strips = &mut strips.as_chunks_mut().0[..cols.div_ceil(WIDTH) * depth];
            if !decode_strips(b, start..start + depth, first..first + cols, strips) {
                return Err(Operand::B);
            }
            let finite = sum
                .par_chunks_mut(task_rows * n)
                .zip(magnitude.par_chunks_mut(task_rows * n))
                .enumerate()
                .map_init(
                    || (vec![0.0; depth], vec![Term::default(); tiles * depth]),
                    |(line, tiles), (task, (sum, magnitude))| {
                        let mut finite = true;
                        for row in 0..sum.len() / n {
                            decode_span(a.format, a.row(task * task_rows + row), start, line);
                            finite &= all_finite(line);
                            let tile = &mut tiles[row / HEIGHT * depth..][..depth];
                            tile.iter_mut().zip(&*line).for_each(|(rows, x)| rows[row % HEIGHT] = [*x, x.abs()]);
                        }
                        let columns = first..first + cols;
                        Arch::new().dispatch(Task { sum, magnitude, n, columns, tiles, strips, depth, start });
                        finite
                    },
                )
                .reduce(|| true, |x, y| x & y);
            if !finite {
                return Err(Operand::A);
            }
        }
    }
    Ok(())
}

/// Decodes a block of B into strips of `WIDTH` columns, each of the block's rows, the last one padded with zeros; says
/// whether all of it is finite.
fn decode_strips(
    b: &Matrix,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    strips: &mut [Strip],
) -> bool {
    let depth = rows.len();
    let decode = |(group, strips): (usize, &mut [Strip])| {
        let first = columns.start + group * GROUP * WIDTH;
        let mut line = [0.0; GROUP * WIDTH];
        let cols = line.len().min(columns.end - first);
        let mut finite = true;
        for row in 0..depth {
            decode_span(b.format, b.row(rows.start + row), first, &mut line[..cols]);
            finite &= all_finite(&line);
            for (strip, values) in line.as_chunks::<WIDTH>().0[..cols.div_ceil(WIDTH)].iter().enumerate() {
                strips[strip * depth + row] = *values;
            }
        }
        finite
    };
    strips.par_chunks_mut(GROUP * depth).enumerate().map(decode).reduce(|| true, |x, y| x & y)
}

fn all_finite(values: &[f64]) -> bool {
    values.iter().fold(true, |finite, x| finite & x.is_finite())
}

/// Some whole rows of both outputs, and what adds to `columns` of them.
struct Task<'t> {
    sum: &'t mut [f64],
    magnitude: &'t mut [f64],
    n: usize,
    columns: std::ops::Range<usize>,
    /// The rows of A in tiles, each of `depth` terms. Rows that the last one lacks hold any numbers.
    tiles: &'t [Term],
    strips: &'t [Strip],
    depth: usize,
    /// First k of the panel: at 0 the outputs are written, later they are added to.
    start: usize,
}

impl WithSimd for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 { self.run::<S, 2>(simd) } else { self.run::<S, 1>(simd) }
    }
}

impl Task<'_> {
    #[inline(always)]
    fn run<S: Simd, const VECTORS: usize>(self, simd: S) {
        let tile_width = VECTORS * S::F64_LANES;
        for (strip, b) in self.strips.chunks_exact(self.depth).enumerate() {
            for part in 0..WIDTH / tile_width {
                let first = self.columns.start + strip * WIDTH + part * tile_width;
                let width = tile_width.min(self.columns.end.saturating_sub(first));
                if width == 0 {
                    break;
                }
                let height = self.sum.len() / self.n;
                for (tile, a) in self.tiles.chunks_exact(self.depth).take(height.div_ceil(HEIGHT)).enumerate() {
                    let rows = HEIGHT.min(height - tile * HEIGHT);
                    let mut sums = [[[simd.splat_f64s(0.0); VECTORS]; HEIGHT]; 2];
                    let at = |row: usize| {
                        let start = (tile * HEIGHT + row) * self.n + first;
                        start..start + width
                    };
                    let outputs = [&mut *self.sum, &mut *self.magnitude];
                    if self.start > 0 {
                        for (sums, output) in sums.iter_mut().zip(&outputs) {
                            for (row, sums) in sums.iter_mut().enumerate().take(rows) {
                                load(simd, sums, &output[at(row)]);
                            }
                        }
                    }
                    tile_product::<S, VECTORS>(simd, &mut sums, a, b, part);
                    for (sums, output) in sums.iter().zip(outputs) {
                        for (row, sums) in sums.iter().enumerate().take(rows) {
                            store(simd, sums, &mut output[at(row)]);
                        }
                    }
                }
            }
        }
    }
}

/// Adds a · b to the first tile of sums and |a||b| to the second.
#[inline(always)]
fn tile_product<S: Simd, const VECTORS: usize>(
    simd: S,
    sums: &mut [[[S::f64s; VECTORS]; HEIGHT]; 2],
    a: &[Term],
    b: &[Strip],
    part: usize,
) {
    let [mut sum, mut magnitude] = *sums;
    for (a, b) in a.iter().zip(b) {
        let b = &S::as_simd_f64s(b).0[part * VECTORS..][..VECTORS];
        let b: [S::f64s; VECTORS] = std::array::from_fn(|vector| b[vector]);
        let size: [S::f64s; VECTORS] = std::array::from_fn(|vector| simd.abs_f64s(b[vector]));
        for row in 0..HEIGHT {
            let [x, x_size] = a[row].map(|x| simd.splat_f64s(x));
            for vector in 0..VECTORS {
                sum[row][vector] = simd.mul_add_e_f64s(x, b[vector], sum[row][vector]);
                magnitude[row][vector] = simd.mul_add_e_f64s(x_size, size[vector], magnitude[row][vector]);
            }
        }
    }
    *sums = [sum, magnitude];
}

/// Loads a row of a tile; what the output does not have stays as it is.
#[inline(always)]
fn load<S: Simd>(simd: S, vectors: &mut [S::f64s], output: &[f64]) {
    let (whole, rest) = S::as_simd_f64s(output);
    for (vector, whole) in vectors.iter_mut().zip(whole) {
        *vector = *whole;
    }
    if !rest.is_empty() {
        vectors[whole.len()] = simd.partial_load_f64s(rest);
    }
}

/// Stores a row of a tile, as far as the output has it.
#[inline(always)]
fn store<S: Simd>(simd: S, vectors: &[S::f64s], output: &mut [f64]) {
    let (whole, rest) = S::as_mut_simd_f64s(output);
    let held = whole.len();
    for (whole, vector) in whole.iter_mut().zip(vectors) {
        *whole = *vector;
    }
    if !rest.is_empty() {
        simd.partial_store_f64s(rest, vectors[held]);
    }
}
