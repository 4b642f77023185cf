//! Which elements of an output stand in its witness, besides the worst one?
//!
//! They follow from the row alone, by integers: [`of_row`] is the rule that gate, `verify` and the verifier in Python
//! share, and `docs/files.md` writes it out. Whoever drops, moves or adds a witness row contradicts it.

use crate::block_name::LEFT_OUT;
use crate::rows::{CellRow, GateMethod, Work};
use rigel_numerics::{Calculation, Shape, random};
use std::collections::BTreeSet;

/// Process index under which climbs and pilots, each alone in its process, draw.
pub const SOLO: u32 = u32::MAX;
/// Extents of a launch tile that tells none.
pub const TILE: (usize, usize) = (64, 64);

/// Random witness elements, besides corners, edges and the worst one.
const RANDOM: u64 = 16;
/// Witness elements on both sides of the edges of launch tiles.
const EDGES: u64 = 4;
/// Remainders of rows that a check of whole rows looks at.
const REMAINDERS: usize = 256;
/// The stream of witness elements: `witn`.
const STREAM: u64 = 0x7769_746e;

/// The seed of all that is drawn in one process but inputs.
pub const fn seed(plan_seed: u64, process: u32) -> u64 {
    random::stream(plan_seed, process as u64)
}

/// Rows and columns of a launch tile by its name: `mcRkcDncC`, or what begins with `RxC`; [`TILE`] for other names.
pub fn tile_of(name: &str) -> (usize, usize) {
    let blocking = name.strip_prefix("mc").and_then(|rest| {
        let (rows, rest) = number(rest)?;
        let (_, rest) = number(rest.strip_prefix("kc")?)?;
        let (columns, rest) = number(rest.strip_prefix("nc")?)?;
        rest.is_empty().then_some((rows, columns))
    });
    let plain = || {
        let (rows, rest) = number(name)?;
        let (columns, _) = number(rest.strip_prefix('x')?)?;
        Some((rows, columns))
    };
    blocking.or_else(plain).unwrap_or(TILE)
}

/// A whole number of one to seven digits at the beginning of a text, and what follows.
fn number(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 7 {
        return None;
    }
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// The elements that a gated product's witness holds besides the worst one; none for other rows.
pub fn of_row(row: &CellRow) -> BTreeSet<(usize, usize)> {
    let Some(shape) = row.shape.filter(|_| looks_at_elements(row.gate)) else { return BTreeSet::new() };
    if row.work == Work::Version {
        return all(shape);
    }
    // An element of an attention costs as much as a row of it, so all processes look at the same.
    let attends = row.work.calculation() == Calculation::Attention;
    let alone = attends || row.work == Work::Rung || row.block.ends_with(LEFT_OUT);
    witness(shape, tile_of(&row.tile), seed(row.seed, if alone { SOLO } else { row.process }))
}

/// Every element: of products by toolchains, whose whole outputs are compared.
pub fn all(shape: Shape) -> BTreeSet<(usize, usize)> {
    (0..shape.m).flat_map(|row| (0..shape.n).map(move |column| (row, column))).collect()
}

/// Elements that may stand in the witness besides those of [`of_row`]: the worst one and, of a sampled check, the first that is
/// not finite and the first that was not written.
pub fn most_others(whole: bool) -> usize {
    if whole { 1 } else { 3 }
}

/// Whether a gate of this kind leaves witness elements.
fn looks_at_elements(gate: Option<GateMethod>) -> bool {
    matches!(gate, Some(GateMethod::Full | GateMethod::Sampled | GateMethod::Inherited))
}

/// Corners, both sides of edges of a launch tile of rows × columns, and seeded random elements; all of them where there
/// are few. Depends on the arguments alone.
pub fn witness(shape: Shape, tile: (usize, usize), seed: u64) -> BTreeSet<(usize, usize)> {
    let total = shape.m as u64 * shape.n as u64;
    if total <= RANDOM {
        return all(shape);
    }
    let mut places: BTreeSet<(usize, usize)> =
        [(0, 0), (shape.m - 1, shape.n - 1), (0, shape.n - 1), (shape.m - 1, 0)].into();
    let key = random::stream(seed, STREAM);
    let draw = |index: u64, extent: usize| random::below(key, index, extent as u64) as usize;
    // The last line before, or the first line behind, a drawn edge; the middle and its neighbour where there is no edge.
    let near_edge = |index: u64, extent: usize, tile: usize| {
        let edges = (extent - 1) / tile.max(1);
        let behind = if edges > 0 { (1 + draw(index, edges)) * tile.max(1) } else { extent / 2 };
        behind.saturating_sub(draw(index + 1, 2))
    };
    for i in 0..EDGES {
        places.insert((near_edge(4 * i, shape.m, tile.0), near_edge(4 * i + 2, shape.n, tile.1)));
    }
    let mut index = 100;
    let wanted = places.len() + (RANDOM as usize).min(total as usize - places.len());
    while places.len() < wanted {
        places.insert((draw(index, shape.m), draw(index + 1, shape.n)));
        index += 2;
    }
    places
}

/// Rows that a check of whole rows looks at: one of each remainder by 256, which every launch tile's height divides, in seeded tiles
/// of C; ascending. All of them where there are fewer.
pub fn rows(m: usize, seed: u64) -> Vec<usize> {
    let key = random::stream(seed, 0x726f_7773);
    let mut rows: Vec<usize> = (0..m.min(REMAINDERS))
        .map(|remainder| {
            let bands = (m - remainder).div_ceil(REMAINDERS);
            random::below(key, remainder as u64, bands as u64) as usize * REMAINDERS + remainder
        })
        .collect();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_is_large_enough_lies_inside_and_follows_from_its_arguments() {
        for (m, n) in [(1, 1), (4, 4), (1, 17), (5, 4), (63, 65), (300, 257), (4096, 1)] {
            for tile in [(0, 0), (1, 1), TILE, (128, 256), (65536, 65536)] {
                let shape = Shape::new(m, n, 3);
                let places = witness(shape, tile, 7);
                assert!(places.iter().all(|&(row, col)| row < m && col < n), "{shape} {tile:?}");
                assert!(places.len() >= 16.min(m * n) && places.len() <= 24, "{shape} {tile:?}");
                assert!(places.contains(&(0, 0)) && places.contains(&(m - 1, n - 1)));
                assert_eq!(places, witness(shape, tile, 7));
            }
        }
    }

    #[test]
    fn rows_hold_every_remainder_once_and_lie_inside() {
        for m in [1, 255, 256, 257, 1000, 8192] {
            let rows = rows(m, 3);
            let mut remainders: Vec<usize> = rows.iter().map(|row| row % 256).collect();
            remainders.sort_unstable();
            assert_eq!(remainders, (0..m.min(256)).collect::<Vec<_>>());
            assert!(rows.is_sorted() && rows.iter().all(|&row| row < m));
        }
        assert_ne!(rows(8192, 3), rows(8192, 4));
    }

    #[test]
    fn edges_are_those_of_the_launch_tile() {
        let shape = Shape::new(1000, 1000, 3);
        let at_edge = |at: usize, tile: usize| at > 0 && (at.is_multiple_of(tile) || (at + 1).is_multiple_of(tile));
        for tile in [(96, 160), (128, 256)] {
            let edges = |seed| {
                let places = witness(shape, tile, seed);
                places.iter().filter(|p| at_edge(p.0, tile.0) && at_edge(p.1, tile.1)).count()
            };
            assert!((0..20).all(|seed| edges(seed) >= 2), "{tile:?}");
        }
    }

    #[test]
    fn names_tell_extents_or_none() {
        let named = [
            ("mc112kc2048nc256", (112, 256)),
            ("128x64", (128, 64)),
            ("128x256/2-turns", (128, 256)),
            ("16x16x8", (16, 16)),
        ];
        assert!(named.iter().all(|&(name, extents)| tile_of(name) == extents));
        for other in ["", "searched", "only", "x64", "64x", "mc1kc2nc3x", "mc1nc3", "123456789x4", "8×8"] {
            assert_eq!(tile_of(other), TILE, "{other}");
        }
    }
}
