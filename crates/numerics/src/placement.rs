//! Where do the operands of a product lie: how far past an aligned address, and how far apart are their rows?
//!
//! A placed product is named `TILE@OFFSET/STRIDE`: its launch tile, bytes past an address that every rule takes, and the distance
//! between rows, `+16` (16 bytes more than a row has) or `*256` (the next multiple of 256 bytes).

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// An address that every rule takes is a multiple of this, in bytes: a page, and more than any load asks for.
pub const ALIGNED: usize = 4096;

/// Bytes from the start of a row to the start of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Stride {
    /// So many more than a row has.
    Plus(usize),
    /// The next multiple of so many, at least 1.
    Multiple(usize),
}

impl Stride {
    /// Bytes for rows of `row` bytes.
    pub fn bytes(self, row: usize) -> usize {
        match self {
            Stride::Plus(more) => row + more,
            Stride::Multiple(of) => row.next_multiple_of(of.max(1)),
        }
    }
}

impl fmt::Display for Stride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stride::Plus(more) => write!(f, "+{more}"),
            Stride::Multiple(of) => write!(f, "*{of}"),
        }
    }
}

/// Where both operands of a product lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// Bytes past a multiple of [`ALIGNED`], less than that.
    pub offset: usize,
    /// Distance between rows.
    pub stride: Stride,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.offset, self.stride)
    }
}

/// A text that places no operands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no distance between rows: write +N, N bytes more than a row has, or *N, the next multiple of N bytes; N up to 65536"
)]
pub struct BadStride(pub String);

impl FromStr for Stride {
    type Err = BadStride;
    fn from_str(text: &str) -> Result<Stride, BadStride> {
        let read = || match text.split_at_checked(1)? {
            ("+", more) => whole(more, 1 << 16).map(Stride::Plus),
            ("*", of) => whole(of, 1 << 16).filter(|&of| of > 0).map(Stride::Multiple),
            _ => None,
        };
        read().ok_or_else(|| BadStride(text.to_owned()))
    }
}

impl TryFrom<String> for Stride {
    type Error = BadStride;
    fn try_from(text: String) -> Result<Stride, BadStride> {
        text.parse()
    }
}

impl From<Stride> for String {
    fn from(stride: Stride) -> String {
        stride.to_string()
    }
}

/// A whole number up to `most`, without sign and leading zeros.
fn whole(text: &str, most: usize) -> Option<usize> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|&n: &usize| plain && n <= most)
}

/// The name of a product by a launch tile whose operands are placed.
pub fn placed(tile: &str, placement: Placement) -> String {
    format!("{tile}@{placement}")
}

/// Launch tile and placement of such a name; none of any other.
pub fn split(name: &str) -> Option<(&str, Placement)> {
    let (tile, place) = name.rsplit_once('@')?;
    let (offset, stride) = place.split_once('/')?;
    let offset = whole(offset, ALIGNED - 1)?;
    Some((tile, Placement { offset, stride: stride.parse().ok()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_have_one_spelling() {
        for tile in ["128x256/2-turns", "mc112kc2048nc256", "searched+fast-accumulation", ""] {
            for offset in [0, 1, 16, 4095] {
                for stride in [Stride::Plus(0), Stride::Plus(65536), Stride::Multiple(1), Stride::Multiple(4096)] {
                    let placement = Placement { offset, stride };
                    assert_eq!(split(&placed(tile, placement)), Some((tile, placement)));
                }
            }
        }
        for bad in [
            "64x64",
            "64x64@",
            "64x64@1",
            "64x64@1/",
            "64x64@01/+1",
            "64x64@4096/+1",
            "a@1/-1",
            "a@1/*0",
            "a@1/+01",
            "a@+1/+1",
        ] {
            assert_eq!(split(bad), None, "{bad}");
        }
    }

    #[test]
    fn rows_lie_as_far_apart_as_is_said() {
        assert_eq!([Stride::Plus(0), Stride::Plus(7), Stride::Multiple(256)].map(|s| s.bytes(500)), [500, 507, 512]);
        assert_eq!(Stride::Multiple(256).bytes(512), 512);
    }
}
