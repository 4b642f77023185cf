//! Which launch tiles are worth a try for a type triple?

use super::blocking::Blocking;
use rigel_numerics::{Format, Triple};

/// Candidate launch tiles, best guess first; extents are rounded up to the kernel's register tile when they run.
///
/// Deep slabs come first, because C is read and written once a slab; the smaller tiles make pieces enough for
/// many cores or small shapes.
pub fn tiles(triple: Triple) -> Vec<Blocking> {
    let deepest = if triple.c == Format::F64 { 1024 } else { 2048 };
    vec![
        Blocking::new(112, deepest, 256),
        Blocking::new(112, deepest / 2, 128),
        Blocking::new(56, 512, 256),
        Blocking::new(28, 512, 64),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{offers::triples, path::Path};
    use super::*;

    #[test]
    fn every_offered_pair_has_distinct_tiles_whose_names_round_trip() {
        for path in Path::ALL {
            for &triple in triples(path) {
                let tiles = tiles(triple);
                assert!(tiles.len() >= 3);
                for (i, tile) in tiles.iter().enumerate() {
                    assert_eq!(tile.to_string().parse(), Ok(*tile));
                    assert!(!tiles[..i].contains(tile));
                }
            }
        }
    }
}
