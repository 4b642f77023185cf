//! Do packed elements lie where the layout says, and leave their neighbours alone?

use proptest::prelude::*;
use rigel_numerics::packing::{get_bits, set_bits};
use rigel_numerics::{Format, Matrix};

/// Bit i of a little-endian bit string.
fn bit(bytes: &[u8], i: usize) -> u64 {
    u64::from(bytes[i / 8] >> (i % 8) & 1)
}

proptest! {
    #[test]
    fn every_width_at_every_offset(mut bytes in prop::collection::vec(any::<u8>(), 16), offset in 0usize..64, width in 1u32..=64, value: u64) {
        let before = bytes.clone();
        let expected = (0..width).fold(0, |v, i| v | bit(&bytes, offset + i as usize) << i);
        prop_assert_eq!(get_bits(&bytes, offset, width), expected);
        set_bits(&mut bytes, offset, width, value);
        prop_assert_eq!(get_bits(&bytes, offset, width), value & u64::MAX >> (64 - width));
        for i in (0..128).filter(|i| !(offset..offset + width as usize).contains(i)) {
            prop_assert_eq!(bit(&bytes, i), bit(&before, i));
        }
    }

    #[test]
    fn matrices_give_back_what_was_set(index in 0..Format::ALL.len(), rows in 1usize..5, cols in 1usize..40, seed: u64) {
        let format = Format::ALL[index];
        let mut matrix = Matrix::zeroed(format, rows, cols);
        let code = |r: usize, c: usize| seed.wrapping_mul((r * cols + c + 1) as u64).rotate_left(17) & format.code_mask();
        for r in 0..rows {
            for c in (0..cols).rev() {
                matrix.set(r, c, code(r, c));
            }
        }
        for r in 0..rows {
            for c in 0..cols {
                prop_assert_eq!(matrix.get(r, c), code(r, c));
                for i in 0..format.bits() as usize {
                    prop_assert_eq!(bit(matrix.row(r), c * format.bits() as usize + i), code(r, c) >> i & 1);
                }
            }
        }
    }
}

#[test]
fn sub_byte_elements_lie_low_column_first() {
    let mut fp4 = Matrix::zeroed(Format::E2m1, 1, 3);
    let mut fp6 = Matrix::zeroed(Format::E3m2, 2, 4);
    for c in 0..3 {
        fp4.set(0, c, c as u64 + 1);
    }
    assert_eq!(fp4.bytes, [0x21, 0x03]);
    for (c, code) in [0b000001, 0b100010, 0b110011, 0b111111].into_iter().enumerate() {
        fp6.set(1, c, code);
    }
    assert_eq!(fp6.bytes, [0, 0, 0, 0x81, 0x38, 0xFF]);
}
