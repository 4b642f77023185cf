//! What do the rows and columns of a matrix sum to under several vectors at once, in double-double?

use crate::random::{draw, stream};
use crate::{Matrix, decode_row};
use pulp::Simd;
use rayon::prelude::*;

/// How many ±1 vectors are taken at once.
pub(crate) const VECTORS: usize = 8;
/// Columns that one task sums.
const BLOCK: usize = 64;

/// One double-double number for each vector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    pub(crate) high: [f64; VECTORS],
    pub(crate) low: [f64; VECTORS],
}

impl Lanes {
    const ZERO: Lanes = Lanes { high: [0.0; VECTORS], low: [0.0; VECTORS] };

    /// self += x · factor: the product by its rounded value and what a fused multiply-add says it lacks, the sum by Knuth's six
    /// additions. Written in whole registers, since the compiler makes scalars of a loop over the lanes.
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, x: f64, factor: &Lanes) {
        let x = simd.splat_f64s(x);
        let (high, left) = S::as_mut_simd_f64s(&mut self.high);
        debug_assert!(left.is_empty(), "a register holds no lanes but those of one sum");
        let (low, _) = S::as_mut_simd_f64s(&mut self.low);
        let ((more, _), (rest, _)) = (S::as_simd_f64s(&factor.high), S::as_simd_f64s(&factor.low));
        for (((high, low), &more), &rest) in high.iter_mut().zip(low).zip(more).zip(rest) {
            let product = simd.mul_f64s(x, more);
            let lost = simd.mul_add_f64s(x, more, simd.neg_f64s(product));
            let sum = simd.add_f64s(*high, product);
            let part = simd.sub_f64s(sum, *high);
            let cut = simd.add_f64s(simd.sub_f64s(*high, simd.sub_f64s(sum, part)), simd.sub_f64s(product, part));
            *high = sum;
            *low = simd.add_f64s(*low, simd.add_f64s(simd.add_f64s(lost, cut), simd.mul_f64s(x, rest)));
        }
    }
}

/// The ±1 entries that the vectors have at each of `length` places.
pub(crate) fn signs(length: usize, seed: u64, index: u64) -> Vec<Lanes> {
    let stream = stream(seed, index);
    let sign = |word: u64, i: usize| if word >> (63 - i) & 1 == 1 { -1.0 } else { 1.0 };
    (0..length as u64)
        .map(|place| draw(stream, place))
        .map(|word| Lanes { high: std::array::from_fn(|i| sign(word, i)), ..Lanes::ZERO })
        .collect()
}

/// matrix · factors: for each row, Σ over columns.
pub(crate) fn row_sums(matrix: &Matrix, factors: &[Lanes]) -> Vec<Lanes> {
    let of_row = |values: &mut Vec<f64>, row: usize| {
        values.resize(matrix.cols, 0.0);
        decode_row::decode_row(matrix.format, matrix.row(row), values);
        pulp::Arch::new().dispatch(RowSum { values, factors })
    };
    (0..matrix.rows).into_par_iter().map_init(Vec::new, of_row).collect()
}

struct RowSum<'t> {
    values: &'t [f64],
    factors: &'t [Lanes],
}

impl pulp::WithSimd for RowSum<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        let mut sum = Lanes::ZERO;
        for (&x, factor) in self.values.iter().zip(self.factors) {
            sum.add(simd, x, factor);
        }
        sum
    }
}

/// factorsᵀ · matrix: for each column, Σ over rows.
pub(crate) fn column_sums(matrix: &Matrix, factors: &[Lanes]) -> Vec<Lanes> {
    let mut sums = vec![Lanes::ZERO; matrix.cols];
    sums.par_chunks_mut(BLOCK).enumerate().for_each(|(block, sums)| {
        let mut values = [0.0; BLOCK];
        for (row, factor) in factors.iter().enumerate() {
            let values = &mut values[..sums.len()];
            decode_row::decode_span(matrix.format, matrix.row(row), block * BLOCK, values);
            pulp::Arch::new().dispatch(ColumnStep { sums, values, factor });
        }
    });
    sums
}

struct ColumnStep<'t> {
    sums: &'t mut [Lanes],
    values: &'t [f64],
    factor: &'t Lanes,
}

impl pulp::WithSimd for ColumnStep<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (sum, &x) in self.sums.iter_mut().zip(self.values) {
            sum.add(simd, x, self.factor);
        }
    }
}

/// Takes a row of one matrix out of the sums of columns and another's in.
pub(crate) fn exchange_row(sums: &mut [Lanes], before: &Matrix, after: &Matrix, row: usize, factor: &Lanes) {
    let mut values = vec![0.0; sums.len()];
    for (matrix, sign) in [(before, -1.0), (after, 1.0)] {
        decode_row::decode_row(matrix.format, matrix.row(row), &mut values);
        values.iter_mut().for_each(|x| *x *= sign);
        pulp::Arch::new().dispatch(ColumnStep { sums, values: &values, factor });
    }
}

/// Two bounds on a line of absolute values: their sum and the largest.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Norms {
    pub(crate) sum: f64,
    pub(crate) largest: f64,
}

impl Norms {
    /// A bound on the root of the sum of squares: √(sum · largest).
    pub(crate) fn root_of_squares(self) -> f64 {
        self.sum.sqrt() * self.largest.sqrt()
    }
}

/// For each row of a matrix, Σ and max over columns of |x|; `None` when some element is not finite.
pub(crate) fn row_norms(matrix: &Matrix) -> Option<Vec<Norms>> {
    let of_row = |values: &mut Vec<f64>, row: usize| {
        values.resize(matrix.cols, 0.0);
        decode_row::decode_row_abs(matrix.format, matrix.row(row), values);
        let finite = values.iter().fold(true, |finite, x| finite & x.is_finite());
        finite.then(|| Norms { sum: values.iter().sum(), largest: values.iter().copied().fold(0.0, f64::max) })
    };
    (0..matrix.rows).into_par_iter().map_init(Vec::new, of_row).collect()
}

/// For each row of |matrix|, its products with the sums and with the largest elements of the other factor's lines.
pub(crate) fn row_bounds(matrix: &Matrix, lines: &[Norms]) -> Vec<Norms> {
    let of_row = |values: &mut Vec<f64>, row: usize| {
        values.resize(matrix.cols, 0.0);
        decode_row::decode_row_abs(matrix.format, matrix.row(row), values);
        values.iter().zip(lines).fold(Norms::default(), |bound, (&x, line)| Norms {
            sum: bound.sum + x * line.sum,
            largest: bound.largest + x * line.largest,
        })
    };
    (0..matrix.rows).into_par_iter().map_init(Vec::new, of_row).collect()
}

/// For each column of a matrix, Σ and max over rows of |x|.
pub(crate) fn column_norms(matrix: &Matrix) -> Vec<Norms> {
    by_columns(matrix, |_, norms, x| Norms { sum: norms.sum + x, largest: norms.largest.max(x) })
}

/// For each column of |matrix|, its products with the sums and with the largest elements of the other factor's lines.
pub(crate) fn column_bounds(matrix: &Matrix, lines: &[Norms]) -> Vec<Norms> {
    by_columns(matrix, |row, bound, x| Norms {
        sum: bound.sum + x * lines[row].sum,
        largest: bound.largest + x * lines[row].largest,
    })
}

fn by_columns(matrix: &Matrix, step: impl Fn(usize, Norms, f64) -> Norms + Sync) -> Vec<Norms> {
    let mut norms = vec![Norms::default(); matrix.cols];
    norms.par_chunks_mut(BLOCK).enumerate().for_each(|(block, norms)| {
        let mut values = [0.0; BLOCK];
        for row in 0..matrix.rows {
            let values = &mut values[..norms.len()];
            decode_row::decode_span(matrix.format, matrix.row(row), block * BLOCK, values);
            norms.iter_mut().zip(values).for_each(|(norm, x)| *norm = step(row, *norm, x.abs()));
        }
    });
    norms
}
