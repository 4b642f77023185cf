//! Which launch tiles are worth a try on a path?

use super::blocking::Blocking;
use super::path::Path;
use rigel_numerics::{Format, Triple};

/// Candidate launch tiles, best guess first; extents are rounded up to the kernel's register tile when they run.
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
    [(112, 1536, 256), (196, 1024, 512), (56, 1536, 512), (112, 2048, 128)]
        .map(|(mc, row_bytes, nc)| Blocking::new(mc, row_bytes / bytes, nc))
        .to_vec()
}
