//! Which words do the choices of deviations hang on?
//!
//! A word of a row of A and one of a column of B are made once each; with c they make that of an element.

use super::unit_engine::Tile;
use rigel_numerics::Matrix;
use rigel_numerics::arithmetic::DotInputs;
use rigel_numerics::random::mix;

/// A word that codes determine.
fn line_word<'a>(codes: impl Iterator<Item = &'a u64>) -> u64 {
    codes.fold(1, |word, &code| mix(word.rotate_left(7) ^ code))
}

/// A word that a row of A, a column of B (each with its scales) and c determine.
pub(super) fn data_word(row: u64, column: u64, c: u64) -> u64 {
    mix(row ^ column.rotate_left(32) ^ mix(c))
}

/// The same from the inputs themselves.
pub(super) fn inputs_word(inputs: &DotInputs) -> u64 {
    let DotInputs { a, b, c, a_scales, b_scales } = inputs;
    data_word(line_word(a.iter().chain(a_scales)), line_word(b.iter().chain(b_scales)), *c)
}

impl Tile {
    /// The word of a row of A.
    pub(super) fn row_word(&self, i: usize) -> u64 {
        let scales = self.scales.as_ref().map_or_else(Vec::new, |(a, _)| row(a, i));
        line_word(row(&self.a, i).iter().chain(&scales))
    }

    /// The word of a column of B.
    pub(super) fn column_word(&self, j: usize) -> u64 {
        let scales = self.scales.as_ref().map_or_else(Vec::new, |(_, b)| column(b, j));
        line_word(column(&self.b, j).iter().chain(&scales))
    }

    /// A word that all operands but scales determine.
    pub(super) fn word(&self) -> u64 {
        let of = |x: &Matrix| hash_bytes(&x.bytes);
        mix(of(&self.a) ^ of(&self.b).rotate_left(21) ^ of(&self.c).rotate_left(42))
    }
}

/// The codes of a row.
pub(super) fn row(x: &Matrix, i: usize) -> Vec<u64> {
    (0..x.cols).map(|p| x.get(i, p)).collect()
}

/// The codes of a column.
pub(super) fn column(x: &Matrix, j: usize) -> Vec<u64> {
    (0..x.rows).map(|p| x.get(p, j)).collect()
}

/// A word that bytes determine.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let last = rest.iter().fold(bytes.len() as u64, |h, &byte| h << 8 | u64::from(byte));
    words.iter().fold(mix(last), |h, word| mix(h.rotate_left(7) ^ u64::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::{Format, Operand, Recipe};

    #[test]
    fn an_element_has_one_word_however_it_is_made_and_any_change_of_its_inputs_changes_it() {
        let matrix = |rows, cols, seed| Recipe::Uniform.matrix(Format::E4m3, seed, Operand::A, rows, cols);
        let scales = Some((matrix(3, 2, 4), matrix(2, 5, 5)));
        let tile = Tile { a: matrix(3, 4, 1), b: matrix(4, 5, 2), c: matrix(3, 5, 3), scales };
        for (i, j) in (0..3).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let inputs = tile.inputs(i, j);
            let word = inputs_word(&inputs);
            assert_eq!(word, data_word(tile.row_word(i), tile.column_word(j), tile.c.get(i, j)));
            let mut other = inputs.clone();
            other.b_scales[1] ^= 1;
            assert_ne!(word, inputs_word(&other));
            other = inputs.clone();
            other.a.swap(0, 3);
            assert_eq!(word == inputs_word(&other), inputs.a[0] == inputs.a[3]);
        }
    }
}
