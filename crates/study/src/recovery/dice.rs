//! Which draws do the questions of a seed come from?

use rigel_numerics::random::{draw, stream};

/// A stream of draws.
#[derive(Debug, Clone)]
pub(super) struct Dice {
    stream: u64,
    thrown: u64,
}

impl Dice {
    pub(super) fn new(seed: u64, index: u64) -> Dice {
        Dice { stream: stream(seed, index), thrown: 0 }
    }

    pub(super) fn word(&mut self) -> u64 {
        self.thrown += 1;
        draw(self.stream, self.thrown)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    pub(super) fn between(&mut self, least: i32, most: i32) -> i32 {
        least + self.below((most.max(least) - least + 1) as usize) as i32
    }

    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
