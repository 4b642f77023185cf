//! How far may the sums of a line lie from what they must be, and which lines lie farthest?
//!
//! The bound is argued in [`crate::checksum`].

use crate::Format;
use crate::line_sums::{Lanes, Norms, VECTORS};
use std::cmp::Ordering;

/// Mean square over the vectors, in units of |δ|², that right sums do not reach.
const MEAN_SQUARE: f64 = 12.0;

/// What rounding may do to an element.
#[derive(Clone, Copy)]
pub(crate) struct Noise {
    /// In units of Σ|a||b|.
    pub(crate) relative: f64,
    /// In units of the output.
    pub(crate) absolute: f64,
}

/// A line and how far off its sums are.
pub(crate) struct Line {
    pub(crate) index: usize,
    /// Whether they exceed their bound.
    pub(crate) suspicious: bool,
    /// Root mean square of their errors, in units of the bound; ∞ where they cannot be compared.
    pub(crate) off: f64,
}

/// The rows of the output, or its columns.
pub(crate) struct Lines<'l> {
    /// For each line Σ|a||b| summed over its elements, and a bound on the largest of them.
    pub(crate) bounds: &'l [Norms],
    /// Elements of a line.
    pub(crate) across: usize,
    /// Terms of both sums behind a checksum.
    pub(crate) terms: usize,
    pub(crate) noise: Noise,
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

    pub(crate) fn largest_bound(&self) -> f64 {
        self.bounds.iter().map(|&norms| self.bound(norms)).fold(0.0, f64::max)
    }

    /// All lines, those farthest off first.
    pub(crate) fn farthest(&self, found: &[Lanes], expected: &[Lanes], output: Format) -> Vec<Line> {
        let line = |index: usize| {
            let (found, expected) = (&found[index], &expected[index]);
            if output.is_integer() {
                let differs = |i| (integer(found, i) ^ integer(expected, i)) & output.code_mask() != 0;
                let suspicious = (0..VECTORS).any(differs);
                return Line { index, suspicious, off: f64::from(u8::from(suspicious)) };
            }
            let squares = (0..VECTORS).map(|i| (found.high[i] - expected.high[i]) + (found.low[i] - expected.low[i]));
            let root = (squares.map(|d| d * d).sum::<f64>() / VECTORS as f64).sqrt();
            let bound = self.bound(self.bounds[index]);
            // A NaN or an infinity in the line makes its sums incomparable.
            let suspicious = matches!(root.partial_cmp(&bound), None | Some(Ordering::Greater));
            let (off, incomparable) = (root / bound, if suspicious { f64::INFINITY } else { 0.0 });
            Line { index, suspicious, off: if off.is_nan() { incomparable } else { off } }
        };
        let mut lines: Vec<Line> = (0..found.len()).map(line).collect();
        lines.sort_by(|x, y| y.suspicious.cmp(&x.suspicious).then(y.off.total_cmp(&x.off)));
        lines
    }
}

/// A sum of integers modulo 2^64: both parts are whole and below 2^63.
fn integer(sum: &Lanes, i: usize) -> u64 {
    (sum.high[i] as i64).wrapping_add(sum.low[i] as i64) as u64
}
