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

/// Columns of a strip of B, whose rows are contiguous: one vector of 512 bits.
const WIDTH: usize = 8;
/// Rows of a tile of the product. By one vector and two sums they fill 24 of 32 registers; where there are 16, half of the
/// rows are taken at a time. Tall tiles take |b| seldom: that costs a port that could multiply.
const HEIGHT: usize = 12;
/// Strips that one task decodes.
const GROUP: usize = 32;
/// Terms of a panel: a strip of it (64 KiB) and a tile of A (192 KiB) stay in a second-level cache. Two tiles fit too, but
/// then the time of a product has a second mode a sixth longer, by where the pages happen to lie.
const DEPTH: usize = 1024;
/// Columns of a panel of B, 8 MiB when decoded.
const EDGE: usize = 1024;

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
                .par_chunks_mut(HEIGHT * n)
                .zip(magnitude.par_chunks_mut(HEIGHT * n))
                .enumerate()
                .map_init(
                    || (vec![0.0; depth], vec![Term::default(); depth]),
                    |(line, tile), (task, (sum, magnitude))| {
                        let mut finite = true;
                        for row in 0..sum.len() / n {
                            decode_span(a.format, a.row(task * HEIGHT + row), start, line);
                            finite &= all_finite(line);
                            tile.iter_mut().zip(&*line).for_each(|(rows, x)| rows[row] = [*x, x.abs()]);
                        }
                        let columns = first..first + cols;
                        Arch::new().dispatch(Task { sum, magnitude, n, columns, a: tile, strips, depth, start });
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

/// A tile of whole rows of both outputs, and what adds to `columns` of them.
struct Task<'t> {
    sum: &'t mut [f64],
    magnitude: &'t mut [f64],
    n: usize,
    columns: std::ops::Range<usize>,
    /// The rows of A, `depth` terms. Rows that the last tile lacks hold any numbers.
    a: &'t [Term],
    strips: &'t [Strip],
    depth: usize,
    /// First k of the panel: at 0 the outputs are written, later they are added to.
    start: usize,
}

impl WithSimd for Task<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if S::REGISTER_COUNT >= 32 { self.run::<S, HEIGHT>(simd) } else { self.run::<S, { HEIGHT / 2 }>(simd) }
    }
}

impl Task<'_> {
    #[inline(always)]
    fn run<S: Simd, const ROWS: usize>(self, simd: S) {
        let height = self.sum.len() / self.n;
        for (strip, b) in self.strips.chunks_exact(self.depth).enumerate() {
            for part in 0..WIDTH / S::F64_LANES {
                let first = self.columns.start + strip * WIDTH + part * S::F64_LANES;
                let width = S::F64_LANES.min(self.columns.end.saturating_sub(first));
                if width == 0 {
                    break;
                }
                for top in (0..height).step_by(ROWS) {
                    let rows = ROWS.min(height - top);
                    let mut sums = [[simd.splat_f64s(0.0); ROWS]; 2];
                    let at = |row: usize| {
                        let start = (top + row) * self.n + first;
                        start..start + width
                    };
                    let outputs = [&mut *self.sum, &mut *self.magnitude];
                    if self.start > 0 {
                        for (sums, output) in sums.iter_mut().zip(&outputs) {
                            for (row, sum) in sums.iter_mut().enumerate().take(rows) {
                                *sum = simd.partial_load_f64s(&output[at(row)]);
                            }
                        }
                    }
                    tile_product::<S, ROWS>(simd, &mut sums, self.a, top, b, part);
                    for (sums, output) in sums.iter().zip(outputs) {
                        for (row, sum) in sums.iter().enumerate().take(rows) {
                            simd.partial_store_f64s(&mut output[at(row)], *sum);
                        }
                    }
                }
            }
        }
    }
}

/// Adds a · b to the first tile of sums and |a||b| to the second: `ROWS` rows of a tile of A from `top` on, one vector of B.
#[inline(always)]
fn tile_product<S: Simd, const ROWS: usize>(
    simd: S,
    sums: &mut [[S::f64s; ROWS]; 2],
    a: &[Term],
    top: usize,
    b: &[Strip],
    part: usize,
) {
    let [mut sum, mut magnitude] = *sums;
    for (a, b) in a.iter().zip(b) {
        let b = S::as_simd_f64s(b).0[part];
        let size = simd.abs_f64s(b);
        let a = &a[top..top + ROWS];
        for row in 0..ROWS {
            let [x, x_size] = a[row].map(|x| simd.splat_f64s(x));
            sum[row] = simd.mul_add_e_f64s(x, b, sum[row]);
            magnitude[row] = simd.mul_add_e_f64s(x_size, size, magnitude[row]);
        }
    }
    *sums = [sum, magnitude];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, stream};

    /// Every width of vectors gives the bits of the plain loop, in two panels of k, at ragged edges of the output.
    #[test]
    fn every_vector_width_sums_in_the_order_of_k() {
        let (n, depth, cols) = (21, 7, 19_usize);
        let mut drawn = 0;
        let mut draw = || {
            drawn += 1;
            (below(stream(1, 0), drawn, 2001) as f64 - 1000.0) / 64.0
        };
        let columns = 1..1 + cols;
        for height in [1, 5, 6, 7, 12] {
            let panels: [(Vec<Term>, Vec<Strip>); 2] = std::array::from_fn(|_| {
                let a = (0..depth).map(|_| std::array::from_fn(|_| draw()).map(|x: f64| [x, x.abs()]));
                (a.collect(), (0..cols.div_ceil(WIDTH) * depth).map(|_| std::array::from_fn(|_| draw())).collect())
            });
            let mut plain = [vec![f64::NAN; height * n], vec![f64::NAN; height * n]];
            for (row, col) in (0..height).flat_map(|row| (0..cols).map(move |col| (row, col))) {
                let [mut sum, mut magnitude] = [0.0f64; 2];
                for (a, b) in &panels {
                    for k in 0..depth {
                        let (x, y) = (a[k][row][0], b[col / WIDTH * depth + k][col % WIDTH]);
                        sum += x * y;
                        magnitude += (x * y).abs();
                    }
                }
                let at = row * n + columns.start + col;
                [plain[0][at], plain[1][at]] = [sum, magnitude];
            }
            let run = |vectorize: &dyn Fn(Task)| {
                let mut sums = [vec![f64::NAN; height * n], vec![f64::NAN; height * n]];
                for (panel, (a, strips)) in panels.iter().enumerate() {
                    let [sum, magnitude] = &mut sums;
                    let columns = columns.clone();
                    vectorize(Task { sum, magnitude, n, columns, a, strips, depth, start: panel * depth });
                }
                let bits =
                    |sums: &[Vec<f64>; 2]| sums.clone().map(|s| s.into_iter().map(f64::to_bits).collect::<Vec<_>>());
                assert_eq!(bits(&sums), bits(&plain), "{height} rows");
            };
            run(&|task| pulp::Scalar::new().vectorize(task));
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(simd) = pulp::x86::V3::try_new() {
                    run(&|task| Simd::vectorize(simd, task));
                }
                if let Some(simd) = pulp::x86::V4::try_new() {
                    run(&|task| Simd::vectorize(simd, task));
                }
            }
        }
    }
}
