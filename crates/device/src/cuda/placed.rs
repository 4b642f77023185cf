//! How does a product read operands that lie at other addresses, and from which source is its kernel made?
//!
//! A launch tile says by what its operands are loaded:
//!
//! | launch tile | what is loaded how |
//! | --- | --- |
//! | `64x64` on `tiled` | 16 bytes a load, `ld.global.v4` |
//! | `64x64+elements` on `tiled` | an element a load |
//! | `64x64` on `mma.sync` | 16 bytes, `cp.async.cg` |
//! | `64x64+cp.async.8`, `64x64+cp.async.4` | 8 or 4 bytes, `cp.async.ca` |
//! | `16x8+ldmatrix` | rows in shared memory, `ldmatrix`: offset and distance are those of shared memory, rows have 128 bytes |
//! | `64x64` on `wgmma` | boxes of 64 rows of 128 bytes by the copy engine's map |
//! | `searched` on `cublaslt` | by the library, whose heuristics take addresses as aligned |
//! | `searched+alignment` | the same, its heuristics told of the alignment of both operands |
//!
//! Path `scalar` loads as `tiled` does. Types of one width are loaded alike, so f32, f16 into f32 and e4m3 stand for them.

use super::instruction::Instruction;
use super::operands::Extents;
use super::path::Path;
use super::product::Block;
use super::source::{self, Finish, Source, defines, join};
use super::tile::{SLAB, Tile, tiles};
use rigel_numerics::placement::Placement;
use rigel_numerics::{Format, Shape, Triple};
use std::fmt;

/// By what operands are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loads {
    /// As the path's own kernels do.
    Own,
    /// An element a load.
    Elements,
    /// So many bytes an asynchronous copy.
    Copies(usize),
    /// Rows of shared memory by `ldmatrix`.
    Shared,
    /// By the library; whether its heuristics are told of the alignment.
    Library {
        /// Whether they are.
        told: bool,
    },
}

/// A launch tile of placed products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// Rows and columns of C of a block; of no meaning to the library.
    pub tile: Tile,
    /// How operands are loaded.
    pub loads: Loads,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.loads {
            Loads::Own => write!(f, "{}", self.tile),
            Loads::Elements => write!(f, "{}+elements", self.tile),
            Loads::Copies(bytes) => write!(f, "{}+cp.async.{bytes}", self.tile),
            Loads::Shared => write!(f, "{}+ldmatrix", self.tile),
            Loads::Library { told: false } => f.write_str(super::cublaslt::SEARCHED),
            Loads::Library { told: true } => write!(f, "{}+alignment", super::cublaslt::SEARCHED),
        }
    }
}

/// The launch tiles of a path and triple.
pub fn ways(path: Path, triple: Triple) -> Vec<Way> {
    let stands = matches!(
        (triple.a, triple.b, triple.c),
        (Format::F32, Format::F32, Format::F32)
            | (Format::F16, Format::F16, Format::F32)
            | (Format::E4m3, Format::E4m3, Format::F32)
    );
    if !stands {
        return Vec::new();
    }
    let small = tiles(path, triple).last().copied();
    let of = |loads: &[Loads]| {
        small.into_iter().flat_map(|tile| loads.iter().map(move |&loads| Way { tile, loads })).collect()
    };
    match path {
        Path::Scalar => Vec::new(),
        Path::Tiled => of(&[Loads::Own, Loads::Elements]),
        // Its copies count bytes, so the other ways are asked of one type.
        Path::MmaSync if triple.a == Format::E4m3 => of(&[Loads::Own]),
        Path::MmaSync => {
            let mut ways: Vec<Way> = of(&[Loads::Own, Loads::Copies(8), Loads::Copies(4)]);
            ways.push(Way { tile: UNIT, loads: Loads::Shared });
            ways
        }
        Path::Wgmma => of(&[Loads::Own]),
        Path::CublasLt => [false, true].map(|told| Way { tile: UNIT, loads: Loads::Library { told } }).to_vec(),
    }
}

/// The tile of one `mma.sync`.
const UNIT: Tile = Tile { m: 16, n: 8, cluster: 1, turns: false };

const LDMATRIX: &str = include_str!("kernels/placed_ldmatrix.cu");

/// The file of the kernel that is not a path's own, for the hash in provenance.
pub const FILE: &str = LDMATRIX;

/// The kernel of a placed product, and its block where it is not that of the path's products.
///
/// # Errors
/// Why there is none: of these extents, of this placement.
pub fn source(
    path: Path,
    triple: Triple,
    shape: Shape,
    way: Way,
    placement: Placement,
    shared_bytes: usize,
) -> Result<(Source, Option<Block>), String> {
    let extents = Extents::of(shape, triple);
    let row = rigel_numerics::Matrix::row_bytes(triple.a, shape.k);
    if !row.is_multiple_of(SLAB) {
        return Err(format!("rows of {row} bytes: kernels of this backend read whole slabs of {SLAB} bytes of k"));
    }
    let each = triple.a.bits() as usize / 8;
    let apart = placement.stride.bytes(row);
    if path == Path::Tiled && !apart.is_multiple_of(each) {
        return Err(format!(
            "rows {apart} bytes apart: this kernel counts elements of {}, of {each} bytes each",
            triple.a
        ));
    }
    let slabs = extents.pitch / SLAB;
    let name = format!("{path} {triple} {way} placed");
    if way.loads == Loads::Shared {
        let instruction: Instruction = source::mma_sync(triple)?;
        let distance = placement.stride.bytes(SLAB);
        let shared = placement.offset + (UNIT.m + UNIT.n) * distance + SLAB;
        if shared > shared_bytes {
            return Err(format!(
                "rows {distance} bytes apart take {shared} bytes of shared memory; a block may have {shared_bytes}"
            ));
        }
        let sizes = [("OFFSET", placement.offset), ("DISTANCE", distance)];
        let text = join(&[&defines(&sizes), &instruction.function(), LDMATRIX]);
        let targets = super::path::Declared::From(instruction.target);
        let block = Block { threads: 32, shared };
        return Ok((Source { name, text, entry: source::GEMM_ENTRY, targets }, Some(block)));
    }
    let plain = source::gemm(path, triple, way.tile, shared_bytes, Finish::Plain)?;
    let extent = match way.loads {
        Loads::Elements => format!("#define BY_ELEMENT\n#define EXTENT_K {}\n", extents.depth(triple)),
        Loads::Copies(bytes) => format!("#define COPY_BYTES {bytes}\n#define SLABS {slabs}\n"),
        _ if path == Path::Tiled => format!("#define EXTENT_K {}\n", extents.depth(triple)),
        _ => format!("#define SLABS {slabs}\n"),
    };
    Ok((Source { name, text: format!("{extent}{}", plain.text), ..plain }, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::placement::Stride;

    #[test]
    fn launch_tiles_are_told_apart_and_have_sources_for_whole_slabs_alone() {
        let triple = Triple::new(Format::F16, Format::F16, Format::F32);
        let place = Placement { offset: 8, stride: Stride::Plus(8) };
        for path in Path::ALL {
            let ways = ways(path, triple);
            let names: Vec<String> = ways.iter().map(Way::to_string).collect();
            assert!(names.iter().enumerate().all(|(i, name)| !names[..i].contains(name) && !name.contains('@')));
            for way in ways.into_iter().filter(|_| path != Path::CublasLt) {
                let made = |k| source(path, triple, Shape::new(256, 256, k), way, place, 232_448);
                let (source, block) = made(256).unwrap();
                assert_eq!(block.is_some(), way.loads == Loads::Shared);
                assert!(source.text.contains("gemm("));
                assert!(made(250).unwrap_err().contains("whole slabs"));
            }
        }
        assert!(ways(Path::Tiled, Triple::new(Format::Bf16, Format::Bf16, Format::F32)).is_empty());
    }
}
