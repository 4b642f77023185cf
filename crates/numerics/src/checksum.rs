//! Is an output right that is too large to check element by element?
//!
//! With v a random vector of ±1, Ĉ·v must equal A·(B·v), and vᵀ·Ĉ must equal (vᵀ·A)·B: work of order n² instead of n³
//! (Freivalds). Eight such vectors are taken for rows and eight for columns, in double-double, beside a seeded sample
//! of elements that are computed exactly.
//!
//! Two limits count: the tolerance, and a wider one, the *cap*, up to which errors are told but not called wrong. The
//! bound of a line follows from what rounding may do to it. Let δ be the line's errors. Σ δ·v is sub-Gaussian with
//! variance |δ|², so the mean of its squares over 8 independent vectors exceeds 12·|δ|² with probability below
//! (12·e^-11)^4 < 2·10^-15 (Chernoff). |δ| is taken as ρ · √(Σ|a||b| of the line summed · a bound on its largest), with
//! ρ the largest relative residual among the sampled elements inside tolerance or cap, and at least one rounding to the
//! output format where the output need not be exact. So a device that is narrower than it declares is held to its own
//! errors. That calibration is an estimate: a line that exceeds its bound is `suspicious`, and every element in it is
//! computed exactly. A line whose elements all lie inside tolerance or cap is cleared. Of many such lines those
//! farthest off are followed so, one after another, until an element beyond both limits is found; the others stay
//! suspicious.
//!
//! A single wrong element adds its error to every one of the 8 sums of its row, and of its column. If it exceeds twice
//! the bound of either, the other errors cannot hide it: [`SampledCheck::smallest_visible`]. Where that size lies
//! beyond the limits, the lines farthest off, in units of their bounds, are followed whether they exceed them or not:
//! an error that stands out from its line's is found so, though nobody promises it. Several errors within one row and
//! one column can only hide each other by chance. It misleads where errors are systematic and each is below that size:
//! such an output passes, and only the sampled elements bear on it. Integer sums are exact, compared modulo 2^width:
//! any single wrong element is seen.

use crate::bound::{Tolerance, unit_roundoff};
use crate::compare::{CompareError, Comparison, check_output, columns_of, rows_of};
use crate::exact::Residual;
use crate::line_bounds::{Line, Lines, Noise};
use crate::line_sums::{self, Lanes, Norms};
use crate::reference::{self, ReferenceError};
use crate::sample::sample;
use crate::{Matrix, Operand, Shape, Triple};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

/// What a sampled check saw.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledCheck {
    /// The worst among all elements that were computed exactly, and how many of them lie outside the tolerance.
    pub elements: Comparison,
    /// Rows whose sums exceed their bound and which were not cleared, ascending.
    pub rows: Vec<usize>,
    /// Columns of the same kind.
    pub columns: Vec<usize>,
    /// Whether lines were left because an element beyond tolerance and cap was already known. Then nothing is known of
    /// what the sums would have seen.
    pub stopped: bool,
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

/// So many rows, and as many columns, are computed exactly at most.
const FOLLOWED: usize = 8;
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

/// The sums of the rows and of the columns of one output.
#[derive(Debug, Clone)]
pub struct OutputSums {
    rows: Vec<Lanes>,
    columns: Vec<Lanes>,
}

/// The expected sums of the rows of an output, or of its columns.
#[derive(Debug)]
struct Expected {
    vectors: Vec<Lanes>,
    sums: Vec<Lanes>,
    /// For each line Σ|a||b| summed over its elements, and a bound on the largest of them.
    bounds: Vec<Norms>,
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

    /// The sums of an output, on all threads of the current pool; the result does not depend on them.
    ///
    /// # Errors
    /// [`CheckError::Output`] when the output is not of the triple's output format or of the product's extents.
    pub fn sums(&self, output: &Matrix) -> Result<OutputSums, CheckError> {
        check_output(self.triple, self.shape, output)?;
        let rows = line_sums::row_sums(output, &self.rows.vectors);
        Ok(OutputSums { rows, columns: line_sums::column_sums(output, &self.columns.vectors) })
    }

    /// The sums of an output that differs from another, whose sums are known, in these rows alone: of order n a row instead of m·n.
    /// Sums of columns are off those made anew by a few roundings of their low parts, far below the bound of a line; integers are equal.
    ///
    /// # Errors
    /// As [`Checksums::sums`].
    pub fn changed(
        &self,
        known: &OutputSums,
        before: &Matrix,
        after: &Matrix,
        rows: &[usize],
    ) -> Result<OutputSums, CheckError> {
        check_output(self.triple, self.shape, before)?;
        check_output(self.triple, self.shape, after)?;
        let OutputSums { rows: mut by_row, columns: mut by_column } = known.clone();
        for (&row, sums) in rows.iter().zip(line_sums::row_sums(&rows_of(after, rows), &self.rows.vectors)) {
            by_row[row] = sums;
            line_sums::exchange_row(&mut by_column, before, after, row, &self.columns.vectors[row]);
        }
        Ok(OutputSums { rows: by_row, columns: by_column })
    }

    /// Checks an output, on all threads of the current pool; the result does not depend on them.
    ///
    /// `cap` is the relative residual up to which errors outside the tolerance are told but not called wrong: 0 where
    /// there is no such thing, ∞ where only what cannot be compared is wrong. Integers are compared exactly whatever it
    /// is. `elements` and `tile` are those of [`sample`].
    ///
    /// # Errors
    /// [`CheckError::Output`] when the output is not of the triple's output format or of the product's extents.
    pub fn check(
        &self,
        output: &Matrix,
        tolerance: Tolerance,
        cap: f64,
        elements: usize,
        tile: (usize, usize),
    ) -> Result<SampledCheck, CheckError> {
        self.check_by(&self.sums(output)?, output, tolerance, cap, elements, tile)
    }

    /// [`Checksums::check`] of an output whose sums are known.
    ///
    /// # Errors
    /// As there.
    pub fn check_by(
        &self,
        found: &OutputSums,
        output: &Matrix,
        tolerance: Tolerance,
        cap: f64,
        elements: usize,
        tile: (usize, usize),
    ) -> Result<SampledCheck, CheckError> {
        let Checksums { triple, shape, seed, .. } = *self;
        check_output(triple, shape, output)?;
        let judge = Judge { triple, a: &self.a, b: &self.b, output, tolerance, limit: limit(triple, tolerance, cap) };
        let places = sample(shape, tile, elements, seed);
        let sampled: Vec<Element> = places.into_par_iter().map(|p| judge.element(p)).collect();
        let noise = judge.noise(&sampled);

        let row_lines = Lines { bounds: &self.rows.bounds, across: shape.n, terms: shape.n + shape.k, noise };
        let column_lines = Lines { bounds: &self.columns.bounds, across: shape.m, terms: shape.m + shape.k, noise };
        let rows = row_lines.farthest(&found.rows, &self.rows.sums, triple.c);
        let columns = column_lines.farthest(&found.columns, &self.columns.sums, triple.c);

        let largest = row_lines.largest_bound().min(column_lines.largest_bound());
        let smallest_visible = if triple.is_integer() { 1.0 } else { 2.0 * largest };
        let smallest_visible_relative = smallest_visible / median_magnitude(&sampled);
        let wide = !triple.is_integer()
            && (judge.limit.relative.is_infinite() || smallest_visible_relative > judge.limit.relative);
        let mut seen = Seen::of(&sampled);
        let rows = judge.follow(rows, wide, &mut seen, |rows| judge.rows(rows))?;
        let columns = judge.follow(columns, wide, &mut seen, |columns| judge.columns(columns))?;
        Ok(SampledCheck {
            elements: Comparison { outside: seen.outside.len(), ..seen.worst },
            stopped: rows.stopped || columns.stopped,
            rows: rows.left,
            columns: columns.left,
            smallest_visible,
            smallest_visible_relative,
        })
    }
}

/// The wider of tolerance and cap.
fn limit(triple: Triple, tolerance: Tolerance, cap: f64) -> Tolerance {
    if triple.is_integer() || cap.is_nan() || cap <= tolerance.relative {
        return tolerance;
    }
    Tolerance { relative: cap, exact: false, ..tolerance }
}

/// One element that was computed exactly.
struct Element {
    row: usize,
    col: usize,
    residual: Residual,
    magnitude: f64,
    outside: bool,
    /// Whether it lies beyond the limit too.
    beyond: bool,
}

struct Judge<'j> {
    triple: Triple,
    a: &'j Matrix,
    b: &'j Matrix,
    output: &'j Matrix,
    tolerance: Tolerance,
    /// The wider of tolerance and cap.
    limit: Tolerance,
}

impl Judge<'_> {
    fn element(&self, (row, col): (usize, usize)) -> Element {
        let code = self.output.get(row, col);
        // Inputs were found finite, so the sum exists.
        let Ok(dot) = reference::exact_element(self.a, self.b, row, col) else {
            let magnitude = f64::INFINITY;
            return Element { row, col, residual: Residual::INFINITE, magnitude, outside: true, beyond: true };
        };
        let (difference, magnitude) = (dot.sum.difference(self.triple.c, code), dot.magnitude.to_f64());
        let exceeds = |limit: Tolerance| difference > limit.allowed(magnitude) || difference.is_infinite();
        let (outside, beyond) = (exceeds(self.tolerance), exceeds(self.limit));
        Element { row, col, residual: dot.residual(self.triple.c, code), magnitude, outside, beyond }
    }

    fn noise(&self, elements: &[Element]) -> Noise {
        let (rounding, absolute) =
            if self.tolerance.exact { (0.0, 0.0) } else { (unit_roundoff(self.triple.c), self.tolerance.absolute) };
        let inside = elements.iter().filter(|e| !e.beyond).map(|e| e.residual.relative);
        Noise { relative: inside.filter(|r| r.is_finite()).fold(rounding, f64::max), absolute }
    }

    /// Compares every element of the lines farthest off with its exact sum: of those that exceed their bound or, where
    /// bounds are `wide`, of any.
    ///
    /// Few lines are compared all at once, many one after another, none once an element beyond the limit is known.
    fn follow(
        &self,
        lines: Vec<Line>,
        wide: bool,
        seen: &mut Seen,
        compare: impl Fn(&[usize]) -> Result<Compared, CheckError>,
    ) -> Result<Followed, CheckError> {
        let suspicious = lines.iter().filter(|line| line.suspicious).count();
        let many = suspicious > FOLLOWED;
        let drawn = if many || wide { FOLLOWED.min(lines.len()) } else { suspicious };
        let order: Vec<usize> = lines.into_iter().map(|line| line.index).collect();
        let mut stopped = false;
        let mut cleared = BTreeSet::new();
        for lines in order[..drawn].chunks(if many { 1 } else { FOLLOWED }) {
            if many && seen.beyond {
                stopped = true;
                break;
            }
            let found = compare(lines)?;
            cleared.extend(lines.iter().copied().filter(|line| !found.guilty.contains(line)));
            seen.take(found);
        }
        let mut left: Vec<usize> = order[..suspicious].iter().copied().filter(|line| !cleared.contains(line)).collect();
        left.sort_unstable();
        Ok(Followed { left, stopped })
    }

    fn rows(&self, rows: &[usize]) -> Result<Compared, CheckError> {
        let (a, output) = (rows_of(self.a, rows), rows_of(self.output, rows));
        let place = |(i, col): (usize, usize)| (rows[i], col);
        self.lines(&a, self.b, &output, place, |(row, _)| row)
    }

    fn columns(&self, columns: &[usize]) -> Result<Compared, CheckError> {
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
    ) -> Result<Compared, CheckError> {
        let reference = reference::reference(self.triple, a, b)?;
        let worst = reference.compare(output, self.tolerance)?;
        let places = |limit| reference.outside(output, limit).into_iter().map(&place).collect::<Vec<_>>();
        Ok(Compared {
            worst: {
                let (row, col) = place((worst.row, worst.col));
                Comparison { row, col, ..worst }
            },
            guilty: places(self.limit).into_iter().map(line).collect(),
            outside: places(self.tolerance),
        })
    }
}

/// What a comparison of whole lines found.
struct Compared {
    worst: Comparison,
    outside: Vec<(usize, usize)>,
    /// Lines with elements beyond the limit.
    guilty: BTreeSet<usize>,
}

/// Lines after some of them were compared.
struct Followed {
    /// Those that exceed their bound and were not cleared, ascending.
    left: Vec<usize>,
    /// Whether some were left because an element beyond the limit was known.
    stopped: bool,
}

/// What is known of the elements that were looked at one by one.
struct Seen {
    worst: Comparison,
    outside: BTreeSet<(usize, usize)>,
    /// Whether an element beyond the limit is known.
    beyond: bool,
}

impl Seen {
    fn of(sampled: &[Element]) -> Seen {
        let outside = sampled.iter().filter(|e| e.outside).map(|e| (e.row, e.col)).collect();
        Seen { worst: worst(sampled), outside, beyond: sampled.iter().any(|e| e.beyond) }
    }

    /// Of equally bad elements the first in row-major order is kept.
    fn take(&mut self, found: Compared) {
        let sooner = (found.worst.row, found.worst.col) < (self.worst.row, self.worst.col);
        self.worst = match found.worst.residual.relative.total_cmp(&self.worst.residual.relative) {
            Ordering::Greater => found.worst,
            Ordering::Equal if sooner => found.worst,
            _ => self.worst,
        };
        self.beyond |= !found.guilty.is_empty();
        self.outside.extend(found.outside);
    }
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
