//! What is the text of an attention's kernels, and for which targets are they?

use super::attention::TRIPLE;
use super::path::{Declared, Path};
use super::source::{
    COPY_ENGINE, ELEMENTS, Source, WGMMA_RESERVED, WGMMA_SHARED, defines, elements, join, mma_sync, plain,
};
use super::target::Target;
use super::tile::Tile;
use super::wgmma::Wgmma;

pub(super) const ATTENTION_SOFTMAX: &str = include_str!("kernels/attention_softmax.cu");
pub(super) const ATTENTION_TILED: &str = include_str!("kernels/attention_tiled.cu");
pub(super) const ATTENTION_MMA_SYNC: &str = include_str!("kernels/attention_mma_sync.cu");
pub(super) const ATTENTION_WGMMA: &str = include_str!("kernels/attention_wgmma.cu");
pub(super) const ATTENTION_WEIGHTS: &str = include_str!("kernels/attention_weights.cu");

/// Entry of a fused attention.
pub const ATTENTION_ENTRY: &str = "attention";
/// Entry of the kernel that turns scores into weights.
pub const WEIGHTS_ENTRY: &str = "weights";

/// Stages of keys and of values in a fused attention by `wgmma`, and its warpgroups that multiply.
const STAGES: usize = 2;
const WORKERS: usize = 2;

/// A fused attention of heads of `columns` columns.
///
/// # Errors
/// Why there is no such kernel.
pub fn fused(path: Path, tile: Tile, columns: usize) -> Result<Source, String> {
    let name = format!("{path} attention {tile} of {columns} columns");
    let triple = TRIPLE;
    let sizes = [("HEAD", columns), ("TILE_M", tile.m), ("TILE_N", tile.n), ("WARPS", 4)];
    let source = |text, targets| Ok(Source { name: name.clone(), text, entry: ATTENTION_ENTRY, targets });
    match path {
        Path::Tiled => {
            let text = [
                &elements(triple)?,
                &defines(&sizes[..1]),
                &steepness(columns),
                ELEMENTS,
                ATTENTION_SOFTMAX,
                ATTENTION_TILED,
            ];
            source(join(&text), plain(triple))
        }
        Path::MmaSync if columns == 128 && tile.m > 64 && tile.n > 32 => {
            Err(format!("{name}: a thread has no registers for its sums"))
        }
        Path::MmaSync => {
            let instruction = mma_sync(triple)?;
            let types = "typedef unsigned char u8;\ntypedef unsigned int u32;\n";
            let text = [
                &defines(&sizes),
                &steepness(columns),
                types,
                &instruction.function(),
                ATTENTION_SOFTMAX,
                ATTENTION_MMA_SYNC,
            ];
            source(join(&text), Declared::From(instruction.target))
        }
        Path::Wgmma => {
            let of = |n, a_in_registers, what: &str| {
                let instruction = Wgmma { n, triple, a_in_registers };
                let text = instruction.function_of(a_in_registers);
                text.replace("SUMS", &format!("SUMS_{n}_{what}"))
                    .replace(" multiply(", &format!(" multiply_{what}("))
                    .replace(" settled(", &format!(" settled_{what}("))
            };
            let more = [("HEAD", columns), ("TILE_N", tile.n), ("STAGES", STAGES), ("WORKERS", WORKERS)];
            let text = [
                &defines(&more),
                &steepness(columns),
                "typedef float Accumulator;\n",
                WGMMA_SHARED,
                COPY_ENGINE,
                &of(tile.n, false, "scores"),
                &of(columns, true, "output"),
                ATTENTION_SOFTMAX,
                ATTENTION_WGMMA,
            ];
            source(join(&text), Declared::Only(Target(90)))
        }
        Path::Scalar | Path::CublasLt => Err(format!("{name}: there is no such kernel")),
    }
}

/// The kernel between the products of a decomposed attention.
pub fn weights(columns: usize, keys: usize) -> Source {
    let sizes = [("KEYS", keys), ("THREADS", weights_threads(keys))];
    let types = "typedef unsigned int u32;\n";
    let text = join(&[&defines(&sizes), &steepness(columns), types, ATTENTION_SOFTMAX, ATTENTION_WEIGHTS]);
    let name = format!("weights of {keys} keys, {columns} columns");
    Source { name, text, entry: WEIGHTS_ENTRY, targets: Declared::From(Target(80)) }
}

/// How steeply weights follow scores, as a power of two, and the number that no score is below.
fn steepness(columns: usize) -> String {
    let steepness = std::f64::consts::LOG2_E / (columns as f64).sqrt();
    format!("#define STEEPNESS {steepness:.9}f\n#define INFINITY __int_as_float(0x7f800000)\n")
}

/// Threads of the kernel between the products of a decomposed attention: each takes four scores at a time.
pub fn weights_threads(keys: usize) -> usize {
    (keys / 4).min(256)
}

/// Threads of a fused attention's block.
pub fn threads(path: Path) -> usize {
    match path {
        Path::Wgmma => 128 * (1 + WORKERS),
        Path::MmaSync => 128,
        _ => 256,
    }
}

/// Bytes of dynamic shared memory that a fused attention's block takes.
pub fn shared(path: Path, tile: Tile, columns: usize) -> usize {
    let row = 2 * columns;
    match path {
        Path::Wgmma => (tile.m + 2 * STAGES * tile.n) * row + WGMMA_RESERVED,
        Path::MmaSync => (tile.m + 2 * tile.n) * row,
        _ => 4 * 64 * (2 * (columns + 4) + 64 + 4),
    }
}
