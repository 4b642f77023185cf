//! Which f64 is nearest to an exact value?

/// ±(magnitude · 2^exponent) rounded to f64, to nearest, ties to even.
///
/// `sticky` says that a positive amount below one unit of `magnitude` was cut off. Subnormals are rounded once, at
/// 2^-1074; values of 2^1024 − 2^970 and more become infinite, as IEEE 754 has it. Zero comes out positive.
///
/// With `sticky` set, `magnitude` must have its top bit set (or be wider than 54 bits), so that the cut lies below
/// the rounding position.
pub(crate) fn nearest_f64(negative: bool, magnitude: u128, sticky: bool, exponent: i32) -> f64 {
    if magnitude == 0 {
        return 0.0;
    }
    let top = exponent + 127 - magnitude.leading_zeros() as i32;
    if top > 1024 {
        return if negative { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Weight of the result's last place, then how many bits of `magnitude` lie below it.
    let place = (top - 52).max(-1074);
    let below = place - exponent;
    let kept = match below {
        ..=0 => (magnitude << -below) as u64,
        1..=127 => {
            let kept = (magnitude >> below) as u64;
            let rest = magnitude & ((1 << below) - 1);
            let half = 1 << (below - 1);
            let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
            kept + u64::from(up)
        }
        // Only the top bit can reach the half of the last place.
        128 => u64::from(magnitude > 1 << 127 || (magnitude == 1 << 127 && sticky)),
        _ => 0,
    };
    // The hidden bit of `kept` adds one to the exponent field, and so does a carry out of the rounding.
    let bits = (((place + 1074) as u64) << 52) + kept;
    let value = f64::from_bits(bits.min(f64::INFINITY.to_bits()));
    if negative { -value } else { value }
}

/// The exponent of the top bit of magnitude · 2^exponent, `None` for zero.
pub(crate) fn top_exponent(magnitude: u128, exponent: i32) -> Option<i32> {
    (magnitude != 0).then(|| exponent + 127 - magnitude.leading_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_go_to_the_even_neighbour() {
        let odd = (1u128 << 52) + 1;
        assert_eq!(nearest_f64(false, odd * 2 + 1, false, -1), (odd + 1) as f64);
        assert_eq!(nearest_f64(false, (odd + 1) * 2 + 1, false, -1), (odd + 1) as f64);
        assert_eq!(nearest_f64(false, (1 << 127) + (1 << 74), true, 0), 2f64.powi(127) * (1.0 + f64::EPSILON));
        assert_eq!(nearest_f64(false, (1 << 127) + (1 << 74), false, 0), 2f64.powi(127));
    }

    #[test]
    fn subnormals_are_rounded_once() {
        let least = f64::from_bits(1);
        assert_eq!(nearest_f64(false, 1, false, -1075), 0.0);
        assert_eq!(nearest_f64(false, 3, false, -1076), least);
        assert_eq!(nearest_f64(true, 3, false, -1075), -2.0 * least);
        assert_eq!(nearest_f64(false, 1 << 127, false, -1074 - 128), 0.0);
        assert_eq!(nearest_f64(false, 1 << 127, true, -1074 - 128), least);
        assert_eq!(nearest_f64(false, (1 << 127) + 1, false, -1074 - 128), least);
        assert_eq!(nearest_f64(false, u128::MAX, true, -1074 - 129), 0.0);
        // The largest subnormal and a half carries into the smallest normal value.
        assert_eq!(nearest_f64(false, (1 << 53) - 1, false, -1075), f64::MIN_POSITIVE);
    }

    #[test]
    fn overflow_starts_at_half_a_place_above_the_largest_value() {
        let largest = (1u128 << 53) - 1;
        assert_eq!(nearest_f64(false, largest, false, 971), f64::MAX);
        assert_eq!(nearest_f64(false, largest * 4 + 1, true, 969), f64::MAX);
        assert_eq!(nearest_f64(true, largest * 2 + 1, false, 970), f64::NEG_INFINITY);
        assert_eq!(nearest_f64(false, 1, false, 2000), f64::INFINITY);
    }

    #[test]
    fn agrees_with_the_conversion_of_u128() {
        let mut x = 0x9E37_79B9_7F4A_7C15_F39C_0C3D_2F3A_1B57u128;
        for _ in 0..20_000 {
            x = x.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645).wrapping_add(0x5851_F42D_4C95_7F2D);
            let y = x >> (x as u32 & 127);
            assert_eq!(nearest_f64(false, y, false, 0), y as f64);
        }
    }
}
