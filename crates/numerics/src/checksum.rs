//! Is an output right that is too large to check element by element?
//!
//! With v a random vector of ±1, Ĉ·v must equal A·(B·v), and vᵀ·Ĉ must equal (vᵀ·A)·B: work of order n² instead of n³
//! (Freivalds). Eight such vectors are taken for rows and eight for columns, in double-double, beside a seeded sample
//! of elements that are computed exactly.
//!
//! The bound of a line follows from what rounding may do to it. Let δ be the line's errors. Σ δ·v is sub-Gaussian with
//! variance |δ|², so the mean of its squares over 8 independent vectors exceeds 12·|δ|² with probability below
//! (12·e^-11)^4 < 2·10^-15 (Chernoff). |δ| is taken as ρ · √(Σ|a||b| of the line summed · a bound on its largest), with
//! ρ the largest relative residual among the sampled elements inside the tolerance, and at least one rounding to the
//! output format. That calibration is an estimate: a line that exceeds its bound is `suspicious`, and every element in it
//! is computed exactly. A line whose elements all lie inside the tolerance is cleared. Where there are many such lines, a
//! seeded few of them are followed so, one after another, until an element outside is found; the others stay suspicious.
//!
//! A single wrong element adds its error to every one of the 8 sums of its row, and of its column. If it exceeds twice
//! the bound of either, the other errors cannot hide it: [`SampledCheck::smallest_visible`]. Several errors
//! within one row and one column can only hide each other by chance. It misleads where errors are systematic and each is below that size: such an output
//! passes, and only the sampled elements bear on it. Integer sums are exact, compared modulo 2^width: any single wrong
//! element is seen.

use crate::bound::{Tolerance, unit_roundoff};
use crate::compare::{CompareError, Comparison, check_output, columns_of, rows_of};
use crate::exact::Residual;
use crate::line_sums::{self, Lanes, Norms, VECTORS};
use crate::reference::{self, ReferenceError};
use crate::sample::sample;
use crate::{Format, Matrix, Operand, Shape, Triple, random};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// How much is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Elements to compute exactly; see [`sample`].
    pub elements: usize,
    /// Rows and columns of the launch tile, whose edges are sampled.
    pub tile: (usize, usize),
    /// Seed of vectors and sample.
    pub seed: u64,
}

/// What a sampled check saw.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledCheck {
    /// The worst among all elements that were computed exactly, and how many of them lie outside the tolerance.
    pub elements: Comparison,
    /// How many elements were compared with their exact sums; those of both a followed row and a followed column, or of
    /// the sample, count again.
    pub computed: usize,
    /// Rows whose sums exceed their bound and which were not cleared, ascending.
    pub rows: Vec<usize>,
    /// Columns of the same kind.
    pub columns: Vec<usize>,
    /// The size from which on the error |ĉ − c| of a single wrong element would have been seen, wherever it stood.
    ///
    /// 1 for integers. An estimate for floats, as far as the sample speaks for the other elements.
    pub smallest_visible: f64,
    /// The same as a share of the median Σ|a||b| of the sampled elements.
    pub smallest_visible_relative: f64,
}

impl SampledCheck {
    /// Whether nothing speaks against the output.
    pub fn passes(&self) -> bool {
        self.elements.outside == 0 && self.rows.is_empty() && self.columns.is_empty()
    }
}

/// Why there is no sampled check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The operands have no product.
    #[error(transparent)]
    Operands(#[from] ReferenceError),
    /// The output is not one of this product.
    #[error(transparent)]
    Output(#[from] CompareError),
}

/// At most so many suspicious rows, and as many columns, are computed exactly.
const FOLLOWED: usize = 8;
/// Which of many suspicious rows, and columns, are computed: streams of the seed.
const FOLLOWED_ROWS: u64 = 0x726F_7773;
const FOLLOWED_COLUMNS: u64 = 0x636F_6C73;
/// Mean square over the vectors, in units of |δ|², that right sums do not reach.
const MEAN_SQUARE: f64 = 12.0;

/// What the sums of a right output must be: made once for two operands, however many outputs are checked.
#[derive(Debug)]
pub struct Checksums<M = Arc<Matrix>> {
    triple: Triple,
    shape: Shape,
    a: M,
    b: M,
    seed: u64,
    rows: Expected,
    columns: Expected,
}

/// The expected sums of the rows of an output, or of its columns.
#[derive(Debug)]
struct Expected {
    vectors: Vec<Lanes>,
    sums: Vec<Lanes>,
    /// For each line Σ|a||b| summed over its elements, and a bound on the largest of them.
    bounds: Vec<Norms>,
}

/// Checks an output by sums and samples, on all threads of the current pool; the result does not depend on them.
///
/// # Errors
/// [`CheckError`] when operands or output do not fit the triple or each other, or an input is infinite or NaN.
pub fn sampled_check(
    triple: Triple,
    a: &Matrix,
    b: &Matrix,
    output: &Matrix,
    tolerance: Tolerance,
    sampling: Sampling,
) -> Result<SampledCheck, CheckError> {
    let Sampling { elements, tile, seed } = sampling;
    Ok(Checksums::new(triple, a, b, seed)?.check(output, tolerance, elements, tile)?)
}

impl<M: Deref<Target = Matrix> + Sync> Checksums<M> {
    /// Sums the operands under the vectors of a seed.
    ///
    /// # Errors
    /// [`ReferenceError`] when the operands do not fit the triple or each other, or hold an infinity or NaN.
    pub fn new(triple: Triple, a: M, b: M, seed: u64) -> Result<Self, ReferenceError> {
        let shape = reference::check(triple, &a, &b)?;
        let Some(b_rows) = line_sums::row_norms(&b) else { return Err(reference::first_not_finite(Operand::B, &b)) };
        let Some(_) = line_sums::row_norms(&a) else { return Err(reference::first_not_finite(Operand::A, &a)) };
        let vectors = line_sums::signs(shape.n, seed, 1);
        let sums = line_sums::row_sums(&a, &line_sums::row_sums(&b, &vectors));
        let rows = Expected { vectors, sums, bounds: line_sums::row_bounds(&a, &b_rows) };
        let vectors = line_sums::signs(shape.m, seed, 2);
        let sums = line_sums::column_sums(&b, &line_sums::column_sums(&a, &vectors));
        let bounds = line_sums::column_bounds(&b, &line_sums::column_norms(&a));
        let columns = Expected { vectors, sums, bounds };
        Ok(Checksums { triple, shape, a, b, seed, rows, columns })
    }

    /// Checks an output; `elements` and `tile` as in [`Sampling`].
    ///
    /// # Errors
    /// [`CompareError`] when the output is not of the triple's output format or of the product's extents.
    pub fn check(
        &self,
        output: &Matrix,
        tolerance: Tolerance,
        elements: usize,
        tile: (usize, usize),
    ) -> Result<SampledCheck, CompareError> {
        let Checksums { triple, shape, seed, .. } = *self;
        check_output(triple, shape, output)?;
        let judge = Judge { triple, a: &self.a, b: &self.b, output, tolerance };
        let places = sample(shape, tile, elements, seed);
        let sampled: Vec<Element> = places.into_par_iter().map(|p| judge.element(p)).collect();
        let noise = judge.noise(&sampled);

        let row_lines = Lines { bounds: &self.rows.bounds, across: shape.n, terms: shape.n + shape.k, noise };
        let column_lines = Lines { bounds: &self.columns.bounds, across: shape.m, terms: shape.m + shape.k, noise };
        let found = line_sums::row_sums(output, &self.rows.vectors);
        let rows = row_lines.suspicious(&found, &self.rows.sums, triple.c);
        let found = line_sums::column_sums(output, &self.columns.vectors);
        let columns = column_lines.suspicious(&found, &self.columns.sums, triple.c);

        let mut seen = Seen::of(&sampled);
        let key = |which| random::stream(seed, which);
        let rows = judge.follow(rows, key(FOLLOWED_ROWS), &mut seen, |rows| judge.rows(rows))?;
        let columns = judge.follow(columns, key(FOLLOWED_COLUMNS), &mut seen, |columns| judge.columns(columns))?;
        let largest = row_lines.largest_bound().min(column_lines.largest_bound());
        let smallest_visible = if triple.is_integer() { 1.0 } else { 2.0 * largest };
        Ok(SampledCheck {
            elements: Comparison { outside: seen.outside.len(), ..seen.worst },
            computed: seen.computed,
            rows,
            columns,
            smallest_visible,
            smallest_visible_relative: smallest_visible / median_magnitude(&sampled),
        })
    }
}

/// One element that was computed exactly.
struct Element {
    row: usize,
    col: usize,
    residual: Residual,
    magnitude: f64,
    outside: bool,
}

struct Judge<'j> {
    triple: Triple,
    a: &'j Matrix,
    b: &'j Matrix,
    output: &'j Matrix,
    tolerance: Tolerance,
}

/// What rounding may do to an element.
#[derive(Clone, Copy)]
struct Noise {
    /// In units of Σ|a||b|.
    relative: f64,
    /// In units of the output.
    absolute: f64,
}

impl Judge<'_> {
    fn element(&self, (row, col): (usize, usize)) -> Element {
        let code = self.output.get(row, col);
        // Inputs were found finite, so the sum exists.
        let Ok(dot) = reference::exact_element(self.a, self.b, row, col) else {
            return Element { row, col, residual: Residual::INFINITE, magnitude: f64::INFINITY, outside: true };
        };
        let (difference, magnitude) = (dot.sum.difference(self.triple.c, code), dot.magnitude.to_f64());
        let outside = difference > self.tolerance.allowed(magnitude) || difference.is_infinite();
        Element { row, col, residual: dot.residual(self.triple.c, code), magnitude, outside }
    }

    fn noise(&self, elements: &[Element]) -> Noise {
        if self.tolerance.exact {
            return Noise { relative: 0.0, absolute: 0.0 };
        }
        let inside = elements.iter().filter(|e| !e.outside).map(|e| e.residual.relative);
        let relative = inside.filter(|r| r.is_finite()).fold(unit_roundoff(self.triple.c), f64::max);
        Noise { relative, absolute: self.tolerance.absolute }
    }

    /// Compares every element of suspicious lines with its exact sum; gives back the lines that stay suspicious.
    ///
    /// Few lines are compared all at once. Of many a few are drawn and compared one after another, none once an element
    /// outside the tolerance is known.
    fn follow(
        &self,
        lines: Vec<usize>,
        key: u64,
        seen: &mut Seen,
        compare: impl Fn(&[usize]) -> Result<Compared, CompareError>,
    ) -> Result<Vec<usize>, CompareError> {
        let many = lines.len() > FOLLOWED;
        let mut drawn = lines.clone();
        if many {
            for i in 0..FOLLOWED {
                let other = i + random::below(key, i as u64, (drawn.len() - i) as u64) as usize;
                drawn.swap(i, other);
            }
            drawn.truncate(FOLLOWED);
        }
        let mut cleared = Vec::new();
        for lines in drawn.chunks(if many { 1 } else { FOLLOWED }) {
            if many && !seen.outside.is_empty() {
                break;
            }
            let found = compare(lines)?;
            cleared.extend(lines.iter().copied().filter(|line| !found.guilty.contains(line)));
            seen.take(found);
        }
        Ok(lines.into_iter().filter(|line| !cleared.contains(line)).collect())
    }

    fn rows(&self, rows: &[usize]) -> Result<Compared, CompareError> {
        let (a, output) = (rows_of(self.a, rows), rows_of(self.output, rows));
        let place = |(i, col): (usize, usize)| (rows[i], col);
        self.lines(&a, self.b, &output, place, |(row, _)| row)
    }

    fn columns(&self, columns: &[usize]) -> Result<Compared, CompareError> {
        let (b, output) = (columns_of(self.b, columns), columns_of(self.output, columns));
        let place = |(row, i): (usize, usize)| (row, columns[i]);
        self.lines(self.a, &b, &output, place, |(_, col)| col)
    }

    /// Compares lines by a reference of their own, which is far less work than as many exact sums.
    fn lines(
        &self,
        a: &Matrix,
        b: &Matrix,
        output: &Matrix,
        place: impl Fn((usize, usize)) -> (usize, usize),
        line: impl Fn((usize, usize)) -> usize,
    ) -> Result<Compared, CompareError> {
        // Operands were found to fit and to be finite.
        let Ok(reference) = reference::reference(self.triple, a, b) else { return Ok(Compared::default()) };
        let worst = reference.compare(output, self.tolerance)?;
        let outside: Vec<_> = reference.outside(output, self.tolerance).into_iter().map(&place).collect();
        let (row, col) = place((worst.row, worst.col));
        Ok(Compared {
            worst: Some(Comparison { row, col, ..worst }),
            guilty: outside.iter().map(|&p| line(p)).collect(),
            outside,
            computed: output.rows * output.cols,
        })
    }
}

/// What a comparison of whole lines found.
#[derive(Default)]
struct Compared {
    worst: Option<Comparison>,
    outside: Vec<(usize, usize)>,
    /// Lines with elements outside the tolerance.
    guilty: BTreeSet<usize>,
    computed: usize,
}

/// What is known of the elements that were looked at one by one.
struct Seen {
    worst: Comparison,
    outside: BTreeSet<(usize, usize)>,
    computed: usize,
}

impl Seen {
    fn of(sampled: &[Element]) -> Seen {
        let outside = sampled.iter().filter(|e| e.outside).map(|e| (e.row, e.col)).collect();
        Seen { worst: worst(sampled), outside, computed: sampled.len() }
    }

    /// Of equally bad elements the first in row-major order is kept.
    fn take(&mut self, found: Compared) {
        if let Some(worst) = found.worst {
            let sooner = (worst.row, worst.col) < (self.worst.row, self.worst.col);
            self.worst = match worst.residual.relative.total_cmp(&self.worst.residual.relative) {
                Ordering::Greater => worst,
                Ordering::Equal if sooner => worst,
                _ => self.worst,
            };
        }
        self.outside.extend(found.outside);
        self.computed += found.computed;
    }
}

/// The rows of the output, or its columns.
struct Lines<'l> {
    /// For each line Σ|a||b| summed over its elements, and a bound on the largest of them.
    bounds: &'l [Norms],
    /// Elements of a line.
    across: usize,
    /// Terms of both sums behind a checksum.
    terms: usize,
    noise: Noise,
}

impl Lines<'_> {
    /// What the root mean square of a line's sums may not exceed.
    fn bound(&self, norms: Norms) -> f64 {
        let rounding =
            self.noise.relative * norms.root_of_squares() + self.noise.absolute * (self.across as f64).sqrt();
        // The sums themselves are good to (terms · u)² of what they sum, a few times over.
        let own = (self.terms as f64 * f64::EPSILON).powi(2) * norms.sum;
        MEAN_SQUARE.sqrt() * rounding + own
    }

    fn largest_bound(&self) -> f64 {
        self.bounds.iter().map(|&norms| self.bound(norms)).fold(0.0, f64::max)
    }

    fn suspicious(&self, found: &[Lanes], expected: &[Lanes], output: Format) -> Vec<usize> {
        let differs = |line: &usize| {
            let (found, expected) = (&found[*line], &expected[*line]);
            if output.is_integer() {
                return (0..VECTORS).any(|i| (integer(found, i) ^ integer(expected, i)) & output.code_mask() != 0);
            }
            let squares = (0..VECTORS).map(|i| (found.high[i] - expected.high[i]) + (found.low[i] - expected.low[i]));
            let root = (squares.map(|d| d * d).sum::<f64>() / VECTORS as f64).sqrt();
            // A NaN or an infinity in the line makes its sums incomparable.
            matches!(root.partial_cmp(&self.bound(self.bounds[*line])), None | Some(Ordering::Greater))
        };
        (0..found.len()).filter(differs).collect()
    }
}

/// A sum of integers modulo 2^64: both parts are whole and below 2^63.
fn integer(sum: &Lanes, i: usize) -> u64 {
    (sum.high[i] as i64).wrapping_add(sum.low[i] as i64) as u64
}

fn worst(elements: &[Element]) -> Comparison {
    let outside = elements.iter().filter(|e| e.outside).count();
    let first = Comparison { row: 0, col: 0, residual: Residual { relative: 0.0, ulps: 0.0 }, outside };
    let found = elements
        .iter()
        .enumerate()
        .max_by(|(i, x), (j, y)| x.residual.relative.total_cmp(&y.residual.relative).then(j.cmp(i)));
    found.map_or(first, |(_, e)| Comparison { row: e.row, col: e.col, residual: e.residual, outside })
}

fn median_magnitude(elements: &[Element]) -> f64 {
    let mut sizes: Vec<f64> = elements.iter().map(|e| e.magnitude).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(f64::NAN)
}
