//! Between which values did the medians of seeded resamples fall?

use super::interval::{Interval, NoInterval, order_ranks};
use super::nanoseconds;
use rigel_numerics::Time;
use rigel_numerics::random::{draw, stream};

/// Resamples that the study used.
pub const RESAMPLES: u32 = 10_000;

/// The bootstrap percentile interval of the median of `sorted` (ascending) from `resamples` seeded resamples, in
/// nanoseconds. The study used [`RESAMPLES`].
///
/// Each resample is n independent draws with replacement. A draw is a uniform binary fraction, and its rank is that
/// fraction times n, rounded down. The digits are drawn from the most significant on, and only for the draws that still
/// share the median's digits: counting ones among the rest tells on which side the median lies, so a resample costs about
/// 2n random bits instead of n random words, and nothing is sorted. Word c of resample b is a fixed function of
/// (seed, b, c) ([`rigel_numerics::random`]), so the interval is the same bits everywhere and for ever.
///
/// # Errors
/// As [`super::bootstrap_interval_closed`]. Zero resamples count as one.
pub fn bootstrap_resample(sorted: &[Time], level: f64, seed: u64, resamples: u32) -> Result<Interval, NoInterval> {
    order_ranks(sorted.len(), level)?;
    let n = sorted.len();
    let mut sums: Vec<u128> = (0..resamples.max(1))
        .map(|index| {
            let (i, j) = middle_ranks(n, Bits::new(seed, index));
            u128::from(sorted[i].0) + u128::from(sorted[j].0)
        })
        .collect();
    let tail = (1.0 - level) / 2.0;
    let count = sums.len();
    let mut at = |probability: f64| {
        let position = (probability * count as f64 - 1e-6).ceil().max(1.0) as usize - 1;
        nanoseconds(*sums.select_nth_unstable(position.min(count - 1)).1, 2)
    };
    Ok(Interval { low: at(tail), high: at(1.0 - tail), coverage: level })
}

/// Random bits of one resample: word c is draw c of stream `index` under the seed.
struct Bits {
    stream: u64,
    next: u64,
}

impl Bits {
    fn new(seed: u64, index: u32) -> Bits {
        Bits { stream: stream(seed, u64::from(index)), next: 0 }
    }

    fn word(&mut self) -> u64 {
        let word = draw(self.stream, self.next);
        self.next += 1;
        word
    }

    /// Number of ones among `count` fresh bits.
    fn ones(&mut self, mut count: usize) -> usize {
        let mut ones = 0;
        while count >= 64 {
            ones += self.word().count_ones() as usize;
            count -= 64;
        }
        if count > 0 {
            ones += (self.word() >> (64 - count)).count_ones() as usize;
        }
        ones
    }
}

/// The draws that share a prefix of binary digits, and the position of the wanted one among them.
#[derive(Clone, Copy)]
struct Group {
    prefix: u64,
    depth: u32,
    count: usize,
    position: usize,
}

impl Group {
    /// The rank, from 0, once the prefix leaves only one.
    fn rank(self, n: usize) -> Option<usize> {
        let first = (n as u128 * u128::from(self.prefix)) >> self.depth;
        let last = (n as u128 * (u128::from(self.prefix) + 1) - 1) >> self.depth;
        (first == last || self.depth == 63).then_some(first as usize)
    }

    fn with_digit(self, digit: u64, count: usize, position: usize) -> Group {
        Group { prefix: self.prefix << 1 | digit, depth: self.depth + 1, count, position }
    }

    /// Draws digits until the rank is known.
    fn settle(mut self, n: usize, bits: &mut Bits) -> usize {
        loop {
            if let Some(rank) = self.rank(n) {
                return rank;
            }
            let ones = bits.ones(self.count);
            let zeros = self.count - ones;
            self = if self.position < zeros {
                self.with_digit(0, zeros, self.position)
            } else {
                self.with_digit(1, ones, self.position - zeros)
            };
        }
    }
}

/// Ranks, from 0, of the two middle draws of a resample of n; twice the middle one for odd n.
fn middle_ranks(n: usize, mut bits: Bits) -> (usize, usize) {
    let mut group = Group { prefix: 0, depth: 0, count: n, position: (n - 1) / 2 };
    if n % 2 == 1 {
        let rank = group.settle(n, &mut bits);
        return (rank, rank);
    }
    loop {
        if let Some(rank) = group.rank(n) {
            return (rank, rank);
        }
        let ones = bits.ones(group.count);
        let zeros = group.count - ones;
        if group.position + 1 == zeros {
            let lower = group.with_digit(0, zeros, group.position).settle(n, &mut bits);
            return (lower, group.with_digit(1, ones, 0).settle(n, &mut bits));
        }
        group = if group.position < zeros {
            group.with_digit(0, zeros, group.position)
        } else {
            group.with_digit(1, ones, group.position - zeros)
        };
    }
}
