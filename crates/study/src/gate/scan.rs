//! Which elements of a whole output give it away by their codes alone?

use super::Inputs;
use rayon::prelude::*;
use rigel_ledger::gate::POISON;
use rigel_numerics::Matrix;
use rigel_numerics::decode_row::decode_row;

/// At most so many elements that look poisoned are computed exactly: in narrow formats right elements may look so.
const POISONED: usize = 64;

/// The first element that is infinite or NaN, and the first that still holds the poison although its product is
/// another; of order m·n, since sums and samples need not meet a single one.
///
/// Misleads where more than [`POISONED`] right elements hold the poison's code before one that is unwritten: that one
/// is left to the sums.
pub(super) fn scan(inputs: &Inputs, output: &Matrix) -> Vec<(usize, usize)> {
    let format = output.format;
    let poison = format.decode(u64::from_ne_bytes([POISON; 8]) & format.code_mask());
    let found: Vec<Found> = (0..output.rows)
        .into_par_iter()
        .map_init(|| vec![0.0; output.cols], |values, row| row_found(output, row, poison, values))
        .collect();
    let not_finite = found.iter().find_map(|found| found.not_finite);
    let poisoned = found.iter().flat_map(|found| found.poisoned.iter().copied()).take(POISONED);
    let unwritten = poisoned.into_iter().find(|&(row, col)| {
        let allowed = |dot: rigel_numerics::exact::Dot| {
            dot.sum.difference(format, output.get(row, col)) <= inputs.tolerance.allowed(dot.magnitude.to_f64())
        };
        !inputs.exact(row, col).is_some_and(allowed)
    });
    not_finite.into_iter().chain(unwritten).collect()
}

/// What a row gives away.
#[derive(Default)]
struct Found {
    not_finite: Option<(usize, usize)>,
    poisoned: Vec<(usize, usize)>,
}

fn row_found(output: &Matrix, row: usize, poison: f64, values: &mut [f64]) -> Found {
    decode_row(output.format, output.row(row), values);
    let mut found = Found::default();
    if values.iter().all(|value| value.is_finite() && *value != poison) {
        return found;
    }
    for (col, &value) in values.iter().enumerate() {
        if value == poison && found.poisoned.len() < POISONED {
            found.poisoned.push((row, col));
        } else if !value.is_finite() {
            found.not_finite = found.not_finite.or(Some((row, col)));
        }
    }
    found
}
