//! Which launch tiles are worth a try on a path?

use super::blocking::Blocking;
use super::path::Path;
use rigel_numerics::{Format, Triple};

/// Candidate launch tiles, best guess first; extents are rounded up to the kernel's register tile when they run.
///
/// Chosen for a first-level cache of 32 KiB, which holds a panel of A of 14 rows × 2048 bytes, and a second level of
/// 1 MiB, which holds `nc` columns of B of the same depth.
pub fn tiles(path: Path, triple: Triple) -> Vec<Blocking> {
    // Depth of a slab in bytes of one packed row, so that panels of all element sizes take the same cache.
    let bytes = match (path, triple.c) {
        (_, Format::F64) => 8,
        (Path::Avx512Vnni, _) => 1,
        (Path::Avx512Bf16, _) => 2,
        (Path::Scalar, _) => 4,
        (_, Format::I32) => 2,
        _ => 4,
    };
    [(112, 2048, 256), (112, 1536, 384), (56, 2048, 256), (196, 1024, 512)]
        .map(|(mc, row_bytes, nc)| Blocking::new(mc, row_bytes / bytes, nc))
        .to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::offers::triples;
    use super::*;

    #[test]
    fn every_offered_pair_has_distinct_tiles_whose_names_round_trip() {
        for path in Path::ALL {
            for &triple in triples(path) {
                let tiles = tiles(path, triple);
                assert!(tiles.len() >= 3);
                for (i, tile) in tiles.iter().enumerate() {
                    assert_eq!(tile.to_string().parse(), Ok(*tile));
                    assert!(!tiles[..i].contains(tile));
                }
            }
        }
    }
}
