//! What should softmax(Q·Kᵀ / √d)·V be, computed in float64 from the very bytes that the device consumed?
//!
//! A [`Shape`] reads M×N×K here: M queries in M / K heads of K keys and values each, and heads of N columns. A is Q, M × N. B has
//! 2·M rows of N columns: all keys, then all values. The output is M × N. So every recipe draws the operands, and no operand of another
//! kind is needed.
//!
//! **Value.** In f64 and in ascending order: scores Σ q·k / √N, weights exp(score − largest score) by the crate `libm`, the output
//! Σ weight·v / Σ weight. Its own error is some 10⁻¹² of what it is compared with, so no element is computed otherwise.
//!
//! **Bound.** The weights are an operand of the second product, so a device rounds them to the format of A: u_w each, above and below
//! the fraction. Both sums pass K roundings of the accumulate type, and a few more where a running maximum moves ([`GROWTH`]); exponentials
//! cost [`EVALUATION`] units. A score is off by at most γ_{N + 8} t with t = |q|·max |k| / √N (Cauchy and Schwarz), and so is the
//! logarithm of its weight. So with p the exact weights, their sum 1:
//!
//! |ô − o| ≤ Σ p |v| · (2 u_w + 2 γ_{K·GROWTH} + 2·EVALUATION·u + 2 γ_{N + 8} t).
//!
//! The part of t differs from row to row; it is put into the magnitude of an element, Σ p |v| (1 + 2 γ_{N + 8} t / relative), so that
//! one relative limit holds for all ([`tolerance`]).

use crate::bound::{Tolerance, unit_roundoff};
use crate::compare::{CompareError, Comparison, check_output};
use crate::decode_row::decode_row;
use crate::exact::{Dot, ExactSum, Residual};
use crate::{Matrix, Recipe, Shape, Triple};
use rayon::prelude::*;
use std::sync::{Arc, OnceLock};

/// Units of the accumulate type, relative to a weight, that evaluating an exponential may cost.
pub const EVALUATION: f64 = 16.0;
/// Roundings of a sum of weights over its terms: a running maximum multiplies it once in 16 keys at most.
pub const GROWTH: f64 = 17.0 / 16.0;

/// Heads of a shape.
pub const fn heads(shape: Shape) -> usize {
    shape.m / shape.k
}

/// Why a shape is none of an attention, if it is none.
pub fn misfit(shape: Shape) -> Option<String> {
    (!shape.m.is_multiple_of(shape.k)).then(|| {
        format!("{shape} is no attention: its {} queries are no whole number of heads of {} keys", shape.m, shape.k)
    })
}

/// γ_n of the accumulate type.
fn gamma(triple: Triple, n: f64) -> f64 {
    let sum = n * unit_roundoff(triple.acc);
    if sum < 1.0 { sum / (1.0 - sum) } else { f64::INFINITY }
}

/// How far an output may lie from its value, relative to the magnitude of the element.
pub fn tolerance(triple: Triple, shape: Shape, recipe: Recipe) -> Tolerance {
    let (u, weight) = (unit_roundoff(triple.acc), unit_roundoff(triple.a));
    let k = shape.k as f64;
    let stored = if triple.c.precision() < triple.acc.precision() { unit_roundoff(triple.c) } else { u };
    let relative = 2.0 * weight + 2.0 * gamma(triple, k * GROWTH) + 2.0 * EVALUATION * u + stored;
    // Weights below the smallest normal number lose bits; their sum is at least 1.
    let lost = k * weight * triple.a.min_normal() * recipe.max_magnitude(triple.b);
    Tolerance { relative, absolute: lost + triple.c.min_normal(), exact: false }
}

/// The keys and values of a head, decoded.
#[derive(Debug, Clone)]
pub struct Head {
    /// Column by column, so that sums over columns run side by side.
    keys: Vec<f64>,
    values: Vec<f64>,
    longest: f64,
}

impl Head {
    /// A head of `shape` from its rows of keys and of values: each call fills N numbers of row 0 … K − 1.
    pub fn new(shape: Shape, key: impl Fn(usize, &mut [f64]), value: impl Fn(usize, &mut [f64])) -> Head {
        let (n, k) = (shape.n, shape.k);
        let (mut keys, mut values) = (vec![0.0; n * k], vec![0.0; n * k]);
        let (mut row, mut longest) = (vec![0.0; n], 0.0_f64);
        for j in 0..k {
            key(j, &mut row);
            longest = longest.max(norm(&row));
            row.iter().enumerate().for_each(|(c, &x)| keys[c * k + j] = x);
            value(j, &mut values[j * n..][..n]);
        }
        Head { keys, values, longest }
    }

    /// exp(score − largest score) of every key, and their sum.
    fn weights(&self, query: &[f64]) -> (Vec<f64>, f64) {
        let (n, k) = (query.len(), self.values.len() / query.len());
        let mut scores = vec![0.0; k];
        for (c, &q) in query.iter().enumerate() {
            scores.iter_mut().zip(&self.keys[c * k..][..k]).for_each(|(s, &key)| *s += q * key);
        }
        let root = (n as f64).sqrt();
        scores.iter_mut().for_each(|s| *s /= root);
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scores.iter_mut().for_each(|s| *s = libm::exp(*s - largest));
        let sum = scores.iter().fold(0.0, |sum, w| sum + w);
        (scores, sum)
    }

    /// A row of the output.
    pub fn line(&self, triple: Triple, shape: Shape, query: &[f64]) -> Line {
        let (weights, sum) = self.weights(query);
        let (mut sums, mut magnitudes) = (vec![0.0; shape.n], vec![0.0; shape.n]);
        for (&w, values) in weights.iter().zip(self.values.chunks(shape.n)) {
            for ((s, m), &v) in sums.iter_mut().zip(&mut magnitudes).zip(values) {
                let term: f64 = w * v;
                *s += term;
                *m += term.abs();
            }
        }
        let t = norm(query) * self.longest / (shape.n as f64).sqrt();
        // Relative limits do not depend on the recipe.
        let relative = tolerance(triple, shape, Recipe::Zeros).relative;
        let more = 1.0 + 2.0 * gamma(triple, (shape.n + 8) as f64) * t / relative;
        sums.iter_mut().for_each(|s| *s /= sum);
        magnitudes.iter_mut().for_each(|m| *m = *m / sum * more);
        Line { sums, magnitudes }
    }

    /// A row of the output without its heaviest key.
    pub fn without_heaviest(&self, query: &[f64], line: &Line) -> Vec<f64> {
        let (weights, sum) = self.weights(query);
        let heaviest = (0..weights.len()).max_by(|&i, &j| weights[i].total_cmp(&weights[j])).unwrap_or(0);
        let share = weights[heaviest] / sum;
        let values = &self.values[heaviest * query.len()..][..query.len()];
        line.sums.iter().zip(values).map(|(o, v)| (o - share * v) / (1.0 - share)).collect()
    }
}

fn norm(row: &[f64]) -> f64 {
    row.iter().fold(0.0, |sum: f64, x| sum + x * x).sqrt()
}

/// A row of the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Values.
    pub sums: Vec<f64>,
    /// What errors of the elements are judged against.
    pub magnitudes: Vec<f64>,
}

impl Line {
    /// Value and magnitude of an element; none where an input was not finite.
    pub fn dot(&self, column: usize) -> Option<Dot> {
        let (sum, magnitude) = (self.sums[column], self.magnitudes[column]);
        let finite = sum.is_finite() && magnitude.is_finite();
        finite.then(|| Dot { sum: ExactSum::of(sum), magnitude: ExactSum::of(magnitude) })
    }
}

/// The reference of an attention: each row is computed when it is first looked at.
#[derive(Debug)]
pub struct Attention {
    triple: Triple,
    shape: Shape,
    a: Arc<Matrix>,
    b: Arc<Matrix>,
    heads: Vec<OnceLock<Head>>,
    lines: Vec<OnceLock<Line>>,
}

impl Attention {
    /// That of these operands.
    ///
    /// # Errors
    /// That the shape is none of an attention, or that the operands do not fit it.
    pub fn new(triple: Triple, shape: Shape, a: Arc<Matrix>, b: Arc<Matrix>) -> Result<Attention, String> {
        if let Some(why) = misfit(shape) {
            return Err(why);
        }
        let (rows, all) = ((a.format, a.rows, a.cols), (b.format, b.rows, b.cols));
        if rows != (triple.a, shape.m, shape.n) || all != (triple.b, 2 * shape.m, shape.n) {
            return Err(format!("operands of {rows:?} and {all:?} are none of an attention of {triple} at {shape}"));
        }
        let heads = (0..heads(shape)).map(|_| OnceLock::new()).collect();
        let lines = (0..shape.m).map(|_| OnceLock::new()).collect();
        Ok(Attention { triple, shape, a, b, heads, lines })
    }

    /// The head of a row of the output.
    pub fn head(&self, row: usize) -> &Head {
        let Shape { m, k, .. } = self.shape;
        let of = |first: usize| move |j: usize, out: &mut [f64]| decode_row(self.b.format, self.b.row(first + j), out);
        let first = row / k * k;
        self.heads[row / k].get_or_init(|| Head::new(self.shape, of(first), of(m + first)))
    }

    /// A query, decoded.
    pub fn query(&self, row: usize) -> Vec<f64> {
        let mut query = vec![0.0; self.shape.n];
        decode_row(self.a.format, self.a.row(row), &mut query);
        query
    }

    /// A row of the output.
    pub fn line(&self, row: usize) -> &Line {
        self.lines[row].get_or_init(|| self.head(row).line(self.triple, self.shape, &self.query(row)))
    }

    /// The worst element among some rows of an output, and how many lie outside the tolerance.
    ///
    /// # Errors
    /// That the output is none of this shape and triple.
    pub fn compare(&self, output: &Matrix, rows: &[usize], tolerance: Tolerance) -> Result<Comparison, CompareError> {
        check_output(self.triple, self.shape, output)?;
        let of_row = |&row: &usize| {
            let (line, mut device) = (self.line(row), vec![0.0; self.shape.n]);
            decode_row(output.format, output.row(row), &mut device);
            let (mut worst, mut outside) = ((row, 0, 0.0), 0);
            for (col, &value) in device.iter().enumerate() {
                let (off, magnitude) = ((value - line.sums[col]).abs(), line.magnitudes[col]);
                outside += usize::from(off.is_nan() || off > tolerance.allowed(magnitude));
                let relative = if off == 0.0 { 0.0 } else { off / magnitude };
                let relative = if relative.is_finite() { relative } else { f64::INFINITY };
                if relative > worst.2 {
                    worst = (row, col, relative);
                }
            }
            (worst, outside)
        };
        let all: Vec<_> = rows.par_iter().map(of_row).collect();
        let first = (rows.first().copied().unwrap_or(0), 0, 0.0);
        let worst = all.iter().fold(first, |x, (y, _)| if y.2 > x.2 { *y } else { x });
        let (row, col) = (worst.0, worst.1);
        let dot = self.line(row).dot(col);
        let residual = dot.map_or(Residual::INFINITE, |dot| dot.residual(output.format, output.get(row, col)));
        Ok(Comparison { row, col, residual, outside: all.iter().map(|(_, outside)| outside).sum() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Operand, Overflow, Rounding};

    fn operands(triple: Triple, shape: Shape) -> (Arc<Matrix>, Arc<Matrix>) {
        let of = |operand, format, rows| Arc::new(Recipe::NearNormal.matrix(format, 3, operand, rows, shape.n));
        (of(Operand::A, triple.a, shape.m), of(Operand::B, triple.b, 2 * shape.m))
    }

    #[test]
    fn a_row_is_what_the_formula_says_and_heads_do_not_mix() {
        let (triple, shape) = ("f16,f16->f32".parse().unwrap(), Shape::new(24, 5, 8));
        let (a, b) = operands(triple, shape);
        let attention = Attention::new(triple, shape, Arc::clone(&a), Arc::clone(&b)).unwrap();
        for row in 0..shape.m {
            let first = row / 8 * 8;
            let score = |j: usize| (0..5).map(|c| a.value(row, c) * b.value(first + j, c)).sum::<f64>() / 5f64.sqrt();
            let weights: Vec<f64> = (0..8).map(|j| score(j).exp()).collect();
            let sum: f64 = weights.iter().sum();
            for col in 0..5 {
                let value = |j: usize| b.value(24 + first + j, col);
                let expected: f64 = (0..8).map(|j| weights[j] * value(j) / sum).sum();
                let magnitude: f64 = (0..8).map(|j| weights[j] * value(j).abs() / sum).sum();
                let line = attention.line(row);
                assert!((line.sums[col] - expected).abs() < 1e-14, "({row}, {col})");
                // What scores may be off by makes little of the magnitude.
                assert!(line.magnitudes[col] >= magnitude && line.magnitudes[col] < 1.1 * magnitude);
            }
        }
    }

    #[test]
    fn equal_keys_give_the_mean_and_one_heavy_key_its_value() {
        let shape = Shape::new(4, 2, 4);
        let triple: Triple = "f32,f32->f32".parse().unwrap();
        let value = |j: usize, out: &mut [f64]| out.copy_from_slice(&[j as f64, 1.0]);
        let flat = Head::new(shape, |_, out| out.fill(3.0), value).line(triple, shape, &[1.0, -2.0]);
        assert_eq!(flat.sums, [1.5, 1.0]);
        let heavy = Head::new(shape, |j, out| out.fill(if j == 2 { 900.0 } else { 0.0 }), value);
        let query = [1.0, 1.0];
        let line = heavy.line(triple, shape, &query);
        assert_eq!(line.sums, [2.0, 1.0]);
        assert!(heavy.without_heaviest(&query, &line)[0].is_nan(), "nothing is left without it");
    }

    #[test]
    fn a_comparison_finds_the_worst_element_and_counts_those_outside() {
        let (triple, shape) = ("f16,f16->f32".parse::<Triple>().unwrap(), Shape::new(16, 8, 16));
        let (a, b) = operands(triple, shape);
        let attention = Attention::new(triple, shape, a, b).unwrap();
        let mut output = Matrix::zeroed(Format::F32, 16, 8);
        for (row, col) in (0..16).flat_map(|row| (0..8).map(move |col| (row, col))) {
            let line = attention.line(row);
            let off = if (row, col) == (9, 5) { 0.01 * line.magnitudes[col] } else { 0.0 };
            output.set(row, col, Format::F32.encode(line.sums[col] + off, Rounding::NearestEven, Overflow::Ieee));
        }
        let limit = tolerance(triple, shape, Recipe::NearNormal);
        let rows: Vec<usize> = (0..16).collect();
        let found = attention.compare(&output, &rows, limit).unwrap();
        assert_eq!((found.row, found.col, found.outside), (9, 5, 1));
        assert!((found.residual.relative - 0.01).abs() < 1e-6);
        let others: Vec<usize> = rows.into_iter().filter(|row| *row != 9).collect();
        assert_eq!(attention.compare(&output, &others, limit).unwrap().outside, 0);
    }

    #[test]
    fn the_bound_holds_for_weights_that_are_rounded_and_sums_in_order() {
        let triple: Triple = "f16,f16->f32".parse().unwrap();
        let round = |x: f64| Format::F16.decode(Format::F16.encode(x, Rounding::NearestEven, Overflow::Ieee));
        for k in [16, 256] {
            let shape = Shape::new(k, 8, k);
            let (a, b) = operands(triple, shape);
            let attention = Attention::new(triple, shape, Arc::clone(&a), Arc::clone(&b)).unwrap();
            let limit = tolerance(triple, shape, Recipe::NearNormal);
            for row in 0..k {
                let score = |j: usize| {
                    let dot = (0..8).fold(0.0_f32, |s, c| s + (a.value(row, c) * b.value(j, c)) as f32);
                    dot * (1.0 / 8f32.sqrt())
                };
                let scores: Vec<f32> = (0..k).map(score).collect();
                let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let weights: Vec<f32> = scores.iter().map(|s| (s - largest).exp()).collect();
                let sum = weights.iter().fold(0.0_f32, |s, w| s + w);
                for col in 0..8 {
                    let term = |j: usize| (round(f64::from(weights[j])) * b.value(k + j, col)) as f32;
                    let value = (0..k).fold(0.0_f32, |s, j| s + term(j)) / sum;
                    let line = attention.line(row);
                    let off = (f64::from(value) - line.sums[col]).abs();
                    assert!(off <= limit.allowed(line.magnitudes[col]), "{k}: {off:e}");
                }
            }
        }
    }

    #[test]
    fn other_shapes_and_operands_are_refused_in_words() {
        let triple: Triple = "f16,f16->f32".parse().unwrap();
        assert!(misfit(Shape::new(100, 8, 64)).unwrap().contains("whole number of heads"));
        let shape = Shape::new(16, 4, 8);
        let (a, b) = operands(triple, shape);
        let said = Attention::new(triple, Shape::new(16, 5, 8), a, b).map(|_| ()).unwrap_err();
        assert!(said.contains("16x5x8"), "{said}");
    }
}
