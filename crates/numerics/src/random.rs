//! Which seeded draws do the instrument's own choices (order of turns, witness elements, planted faults) come from?
//!
//! The same integer arithmetic as the input recipes, under other keys; never a system source, so that every choice can
//! be made again from the run's seed.

/// The SplitMix64 finaliser: a bijection of 64-bit words in which every input bit reaches every output bit
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The golden-ratio increment of SplitMix64.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The key of stream `index` under `seed`.
pub const fn stream(seed: u64, index: u64) -> u64 {
    mix(mix(seed ^ 0x5269_6765_6c21_0001).wrapping_add(index.wrapping_mul(GOLDEN)))
}

/// Draw number `index` of a stream.
pub const fn draw(stream: u64, index: u64) -> u64 {
    mix(stream.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// A draw below `bound` (0 for a bound of 0), by multiplication; its bias is below bound / 2^64.
pub const fn below(stream: u64, index: u64, bound: u64) -> u64 {
    ((draw(stream, index) as u128 * bound as u128) >> 64) as u64
}

/// Shuffles in place (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], stream: u64) {
    for i in (1..items.len()).rev() {
        items.swap(i, below(stream, i as u64, i as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_permute_and_depend_on_the_stream_alone() {
        let shuffled = |s| {
            let mut v: Vec<u32> = (0..100).collect();
            shuffle(&mut v, stream(s, 0));
            v
        };
        let mut sorted = shuffled(1);
        assert_eq!(shuffled(1), sorted);
        assert_ne!(shuffled(2), sorted);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }

    #[test]
    fn draws_below_a_bound_reach_every_value_evenly() {
        let mut count = [0u32; 7];
        (0..70_000).for_each(|i| count[below(stream(3, 1), i, 7) as usize] += 1);
        // Binomial with n = 70 000, p = 1/7: σ = 93, so 5σ is 463.
        assert!(count.iter().all(|&c| c.abs_diff(10_000) < 463), "{count:?}");
        assert_eq!(below(1, 1, 0), 0);
    }
}
