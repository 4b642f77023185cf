//! How do the tiles of a batch lie in vector registers?
//!
//! A register is its bytes, lowest first; lanes follow each other, and so do the slots of a lane. A matrix of registers
//! (one row a lane, one column a slot) therefore is the bytes of its registers, one launch after the other, and C of a
//! tile (one row) is a register as it stands.

use rigel_numerics::Matrix;

/// Registers of A: each row of the matrix in every lane of its tile.
pub fn repeated(a: &Matrix, lanes: usize) -> Vec<u8> {
    (0..a.rows).flat_map(|tile| std::iter::repeat_n(a.row(tile), lanes)).flatten().copied().collect()
}

/// Registers of B: of the `k` rows of a tile, column j in lane j, element by element.
pub fn by_columns(b: &Matrix, k: usize) -> Vec<u8> {
    let width = b.format.bits() as usize / 8;
    let mut registers = Vec::with_capacity(b.bytes.len());
    for tile in 0..b.rows / k {
        let rows: Vec<&[u8]> = (0..k).map(|p| b.row(tile * k + p)).collect();
        for column in 0..b.cols {
            rows.iter().for_each(|row| registers.extend_from_slice(&row[column * width..][..width]));
        }
    }
    registers
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::Format;

    #[test]
    fn rows_of_a_are_repeated_and_columns_of_b_become_lanes() {
        let of = |format, rows, cols, bytes: &[u8]| Matrix { format, rows, cols, bytes: bytes.to_vec() };
        let a = of(Format::Bf16, 2, 2, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(repeated(&a, 2), [1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8]);
        let b = of(Format::Bf16, 2, 3, &[1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        assert_eq!(by_columns(&b, 2), [1, 1, 4, 4, 2, 2, 5, 5, 3, 3, 6, 6]);
    }
}
