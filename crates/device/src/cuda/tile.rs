//! Which launch tiles does a path have, and what does each need?

use super::path::Path;
use rigel_numerics::{Format, Triple};
use std::{fmt, str::FromStr};

/// Bytes of k that a stage of `mma.sync` and `wgmma` holds of every row.
pub const SLAB: usize = 128;

/// A launch tile: rows × columns of C that a block works on at a time, how many blocks share their slabs of B, and whether its warpgroups
/// take whole tiles in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// Blocks of a cluster: 1 or 2.
    pub cluster: usize,
    /// Whether one warpgroup multiplies while another writes its results.
    pub turns: bool,
}

const fn tile(m: usize, n: usize, cluster: usize) -> Tile {
    Tile { m, n, cluster, turns: false }
}

const fn in_turn(m: usize, n: usize, cluster: usize) -> Tile {
    Tile { m, n, cluster, turns: true }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.m, self.n)?;
        if self.cluster > 1 {
            write!(f, "/{}", self.cluster)?;
        }
        f.write_str(if self.turns { TURNS } else { "" })
    }
}

/// What a tile's name ends with where warpgroups take turns.
const TURNS: &str = "-turns";

/// A text that is not a launch tile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no launch tile of this backend: write rows and columns, `128x256`, `/2` where two blocks share B, `-turns` where warpgroups take turns"
)]
pub struct BadTile(pub String);

impl FromStr for Tile {
    type Err = BadTile;

    fn from_str(text: &str) -> Result<Tile, BadTile> {
        let read = || {
            let (plain, turns) = text.strip_suffix(TURNS).map_or((text, false), |plain| (plain, true));
            let (extents, cluster) = plain.split_once('/').unwrap_or((plain, "1"));
            let (m, n) = extents.split_once('x')?;
            Some(Tile { m: m.parse().ok()?, n: n.parse().ok()?, cluster: cluster.parse().ok()?, turns })
        };
        read().filter(|tile| tile.m > 0 && tile.n > 0 && tile.cluster > 0).ok_or_else(|| BadTile(text.to_owned()))
    }
}

/// Rows and columns of operands are padded to a multiple of this. Every launch tile divides it but those of the copy engine, which
/// reads zeros beyond an operand's end and writes nothing beyond C's; no tile reaches further than this beyond either.
pub const PADDING: usize = 256;

/// The launch tiles of a path, best guess for large products first; none for a library that chooses its own.
pub fn tiles(path: Path, triple: Triple) -> &'static [Tile] {
    const SCALAR: [Tile; 2] = [tile(8, 32, 1), tile(16, 16, 1)];
    const TILED: [Tile; 2] = [tile(128, 128, 1), tile(64, 64, 1)];
    const MMA: [Tile; 3] = [tile(128, 256, 1), tile(128, 128, 1), tile(64, 64, 1)];
    // f64, and 8-bit floats where they are emulated, take more registers.
    const MMA_SMALL: [Tile; 2] = [tile(128, 128, 1), tile(64, 64, 1)];
    // At 8192 cubed tiles of 192 columns fill 20.8 waves of 132 multiprocessors, of 256 columns 15.5: the last one stands less empty.
    const WGMMA: [Tile; 8] = [
        in_turn(128, 128, 2),
        tile(128, 192, 2),
        tile(128, 256, 2),
        tile(128, 256, 1),
        tile(128, 128, 1),
        tile(128, 64, 1),
        tile(64, 128, 1),
        tile(64, 64, 1),
    ];
    match path {
        Path::Scalar => &SCALAR,
        Path::Tiled => &TILED,
        Path::MmaSync if matches!(triple.a, Format::F64 | Format::E4m3 | Format::E5m2) => &MMA_SMALL,
        Path::MmaSync => &MMA,
        Path::Wgmma => &WGMMA,
        Path::CublasLt => &[],
    }
}

/// How many stages of slabs fit into a block's shared memory, at most `most`.
pub fn stages(tile: Tile, shared_bytes: usize, reserved: usize, most: usize) -> usize {
    (shared_bytes.saturating_sub(reserved) / ((tile.m + tile.n) * SLAB)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_round_trip_and_fit_the_padding() {
        for path in Path::ALL {
            for format in [Format::F64, Format::F16, Format::E4m3] {
                for tile in tiles(path, Triple::new(format, format, Format::F32)) {
                    assert_eq!(tile.to_string().parse(), Ok(*tile));
                    let whole = PADDING.is_multiple_of(tile.m) && PADDING.is_multiple_of(tile.n);
                    assert!(whole || path == Path::Wgmma && tile.m <= PADDING && tile.n <= PADDING);
                }
            }
        }
        for bad in ["", "128", "x", "0x8", "8x8/0", "axb"] {
            assert_eq!(bad.parse::<Tile>(), Err(BadTile(bad.into())));
        }
    }
}
