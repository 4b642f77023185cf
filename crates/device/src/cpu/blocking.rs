//! Which launch tiles does the blocked product have, and what are they called?
//!
//! A launch tile names three extents: `mc` rows × `nc` columns of C are the work that a core takes at a time,
//! and `kc` is the depth of a slab of k: the operands are packed and multiplied slab by slab, so that the
//! panels of a slab stay in the caches.

use std::{fmt, str::FromStr};

/// A launch tile of the device `cpu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blocking {
    /// Rows of C in one piece of work.
    pub mc: usize,
    /// Depth of a slab of k.
    pub kc: usize,
    /// Columns of C in one piece of work.
    pub nc: usize,
}

impl Blocking {
    /// A launch tile from its extents.
    pub const fn new(mc: usize, kc: usize, nc: usize) -> Self {
        Blocking { mc, kc, nc }
    }
}

impl fmt::Display for Blocking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("mc{}kc{}nc{}", self.mc, self.kc, self.nc))
    }
}

/// A text that is not a launch tile of the device `cpu`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a launch tile of device cpu: write mcMkcKncN, each from 1 to 65536 (`mc192kc384nc512`); the tiles listed for the path are good ones"
)]
pub struct BadBlocking(pub String);

impl FromStr for Blocking {
    type Err = BadBlocking;
    fn from_str(s: &str) -> Result<Self, BadBlocking> {
        let parse = || {
            let (mc, rest) = s.strip_prefix("mc")?.split_once("kc")?;
            let (kc, nc) = rest.split_once("nc")?;
            let extent = |digits: &str| {
                let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
                digits.parse::<usize>().ok().filter(|x| plain && (1..=65536).contains(x))
            };
            Some(Blocking::new(extent(mc)?, extent(kc)?, extent(nc)?))
        };
        parse().ok_or_else(|| BadBlocking(s.to_owned()))
    }
}

/// Extents of one slab of k, so that all slabs of a product are about equally deep.
///
/// Returns the depth of every slab but the last, a multiple of `group`.
pub fn slab_depth(k: usize, kc: usize, group: usize) -> usize {
    let slabs = k.div_ceil(kc).max(1);
    k.div_ceil(slabs).next_multiple_of(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for tile in [Blocking::new(1, 1, 1), Blocking::new(192, 384, 2048), Blocking::new(65536, 65536, 65536)] {
            assert_eq!(tile.to_string().parse(), Ok(tile));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "mc", "mc0kc1nc1", "mc1kc1nc65537", "mc+1kc1nc1", "mc01kc1nc1", "mc1kc1nc1 ", "kc1mc1nc1"] {
            assert_eq!(text.parse::<Blocking>(), Err(BadBlocking(text.to_owned())));
        }
    }

    #[test]
    fn slabs_cover_k_without_a_thin_rest() {
        for k in 1..600 {
            for group in [1, 2, 4] {
                let depth = slab_depth(k, 64, group);
                assert_eq!(depth % group, 0);
                assert_eq!(k.div_ceil(depth), k.div_ceil(64), "k {k} group {group}");
                assert!(depth < 64 + group);
            }
        }
    }
}
