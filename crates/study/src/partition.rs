//! Which pieces belong to shard m of n?

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// `slice:m/n`: every n-th piece, starting with the m-th (1-based). Blocks are pieces, so cells that are compared are never split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Which shard, 1 … count.
    pub index: u32,
    /// How many shards.
    pub count: u32,
}

impl Partition {
    /// Whether piece number `i` (from 0) is in this shard.
    pub fn takes(self, i: usize) -> bool {
        i % self.count as usize == self.index as usize - 1
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "slice:{}/{}", self.index, self.count)
    }
}

/// A text that is not a partition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a partition: write `slice:m/n` with 1 ≤ m ≤ n ≤ 65536 (`slice:2/8`)")]
pub struct BadPartition(pub String);

impl FromStr for Partition {
    type Err = BadPartition;
    fn from_str(s: &str) -> Result<Self, BadPartition> {
        let bad = || BadPartition(s.to_owned());
        let (m, n) = s.strip_prefix("slice:").and_then(|r| r.split_once('/')).ok_or_else(bad)?;
        let (index, count) = (m.parse::<u32>().map_err(|_| bad())?, n.parse::<u32>().map_err(|_| bad())?);
        if index >= 1 && index <= count && count <= 65536 { Ok(Partition { index, count }) } else { Err(bad()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shards_cover_every_piece_once(count in 1u32..40, pieces in 0usize..300) {
            for piece in 0..pieces {
                let takers = (1..=count).filter(|&index| Partition { index, count }.takes(piece)).count();
                prop_assert_eq!(takers, 1);
            }
        }

        #[test]
        fn texts_never_panic_and_round_trip(text in ".{0,20}", index in 1u32..100, extra in 0u32..100) {
            let _ = text.parse::<Partition>();
            let p = Partition { index, count: index + extra };
            prop_assert_eq!(p.to_string().parse::<Partition>().unwrap(), p);
        }
    }
}
