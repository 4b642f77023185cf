//! Which kernel computes a product on a path, and how is it launched?

use super::element::Element;
use super::gpu::{Binding, Buffer, HostTensor, Launch, Pipeline};
use super::operation::{Operation, Scope};
use super::place::Placed;
use super::text::{Finish, Kernel, Placement};
use super::triples::Types;
use super::usage::Usage;
use rigel_numerics::{Shape, Triple};

/// A path: a way in which a product uses the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// One thread an element.
    Scalar,
    /// Plain threadgroup tiles.
    Tiled,
    /// `simdgroup_matrix`.
    SimdGroup,
    /// `matmul2d` over tensors that the kernel makes, straight into memory.
    Inline,
    /// `matmul2d` over tensors that the kernel makes, into a cooperative tensor that is stored once.
    Cooperative,
    /// `matmul2d` over tensors that the host makes.
    Handle,
}

impl Path {
    /// Every path, the dullest first.
    pub const ALL: [Path; 6] =
        [Path::Scalar, Path::Tiled, Path::SimdGroup, Path::Inline, Path::Cooperative, Path::Handle];

    /// As in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Scalar => "scalar",
            Path::Tiled => "tiled",
            Path::SimdGroup => "simdgroup_matrix",
            Path::Inline => "matmul2d",
            Path::Cooperative => "matmul2d.cooperative",
            Path::Handle => "matmul2d.handle",
        }
    }

    /// The path of a name.
    pub fn named(name: &str) -> Option<Path> {
        Path::ALL.into_iter().find(|path| path.name() == name)
    }

    /// Whether a path can have these types at all, by its own rules and not by the vendor's table.
    pub fn takes(self, types: Types) -> bool {
        let is_float = |e| matches!(e, Element::Float | Element::Half | Element::Bfloat);
        match self {
            Path::Scalar | Path::Tiled => !types.has_format() && types.left == types.right,
            Path::SimdGroup => {
                [types.left, types.right, types.dest].into_iter().all(is_float) && types.left == types.right
            }
            Path::Inline | Path::Cooperative => types.since().is_some(),
            // Tensors of the host are made with one plane.
            Path::Handle => types.since().is_some() && !types.has_scales(),
        }
    }

    /// Whether its kernel can add a bias to its sums and apply GELU to them before it stores them.
    pub fn finishes(self, types: Types) -> bool {
        matches!(self, Path::SimdGroup | Path::Cooperative) && types.dest == Element::Float
    }

    /// Launch tiles to try, best guess first. The study's sample tile is 64 × 32 over four SIMD-groups.
    pub const fn tiles(self) -> &'static [&'static str] {
        match self {
            Path::Scalar => &["16x16", "8x8"],
            Path::Tiled => &["16x16", "8x8", "32x32"],
            Path::SimdGroup => &["32x64s4", "32x32s2", "16x32s2", "64x64s4"],
            Path::Inline | Path::Cooperative | Path::Handle => {
                &["64x64s4", "64x32s4", "128x64s4", "64x64k32s4", "32x32s1", "16x32k32s1"]
            }
        }
    }
}

/// A product that is about to be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The path.
    pub path: Path,
    /// Types and tile.
    pub operation: Operation,
    /// Extents.
    pub shape: Shape,
}

impl Product {
    /// The product of a triple on a path with a launch tile.
    ///
    /// # Errors
    /// What there is not: element types, or a tile of this form.
    pub fn new(path: Path, triple: Triple, shape: Shape, tile: &str) -> Result<Product, String> {
        let types = types_of(triple).ok_or_else(|| format!("Metal has no element types for {triple}"))?;
        if types.has_scales() && !path.takes(types) {
            return Err(format!("{} makes no tensors with planes of scales", path.name()));
        }
        // The header takes a right operand with scales transposed only.
        let plain = Operation { transpose_right: types.right.is_scaled(), ..Operation::new(types, 1, 1) };
        let read = match path {
            Path::Scalar | Path::Tiled => plain.with_tile(&format!("{tile}t")).filter(|o| o.m == o.n && o.step == 0),
            _ => plain.with_tile(tile),
        };
        let read = read.filter(|o| !types.has_scales() || matches!(o.step, 0 | 32 | 64 | 128));
        let operation = read.ok_or_else(|| {
            format!("`{tile}` is no launch tile of {}; like {}", path.name(), path.tiles().join(", "))
        })?;
        Ok(Product { path, operation, shape })
    }

    /// The kernel and its entry.
    ///
    /// # Errors
    /// A tile that does not split over the SIMD-groups.
    pub fn kernel(&self) -> Result<(Kernel, &'static str), String> {
        self.finished(Finish::None)
    }

    /// The kernel that also does this to its sums, and its entry.
    ///
    /// # Errors
    /// A path whose kernel does not, or a tile that does not split over the SIMD-groups.
    pub fn finished(&self, finish: Finish) -> Result<(Kernel, &'static str), String> {
        let o = &self.operation;
        if finish != Finish::None && !self.path.finishes(o.types) {
            return Err(format!("the kernel of {} only multiplies", self.path.name()));
        }
        Ok(match self.path {
            Path::Scalar => (Kernel::Scalar { types: o.types, tile: o.m }, "scalar"),
            Path::Tiled => (Kernel::Tiled { types: o.types, tile: o.m }, "tiled"),
            Path::SimdGroup => {
                let Scope::SimdGroups(groups) = o.scope else {
                    return Err("simdgroup_matrix needs SIMD-groups: a tile like 32x64s4".into());
                };
                if groups == 0 || !o.m.is_multiple_of(8) || !o.n.is_multiple_of(8 * groups) {
                    return Err(format!("tile {o} does not split into matrices of 8 × 8 over {groups} SIMD-groups"));
                }
                let owned = (o.m / 8, o.n / (8 * groups));
                (Kernel::SimdGroup { types: o.types, owned, groups, finish }, "simdgroup_gemm")
            }
            Path::Inline | Path::Cooperative | Path::Handle => {
                let handle = self.path == Path::Handle;
                let cooperative = self.path == Path::Cooperative;
                (
                    Kernel::Matmul2d(
                        *o,
                        Placement { handle, cooperative, finish, scaled: o.types.scales(), ..Placement::default() },
                    ),
                    "matmul2d_gemm",
                )
            }
        })
    }

    /// One launch over the whole product.
    pub fn launch(&self, pipeline: Pipeline, placed: &Placed, [a, b, c]: [Buffer; 3]) -> Launch {
        let o = &self.operation;
        let threads = if matches!(self.path, Path::Scalar | Path::Tiled) { o.m * o.m } else { o.scope.threads() };
        let Shape { m, n, .. } = self.shape;
        let groups = [(n as u32).div_ceil(o.n), (m as u32).div_ceil(o.m), 1];
        let operands = if self.path == Path::Handle { self.tensors(placed, [a, b, c]) } else { [a, b, c].map(whole) };
        let mut bindings: Vec<(u32, Binding)> = (0..).zip(operands).collect();
        bindings.push((3, Binding::Bytes(placed.words())));
        let scales = [(5, a, placed.scales[0]), (6, b, placed.scales[1])];
        bindings.extend(scales.into_iter().filter_map(|(index, buffer, offset)| {
            let offset = offset? as u64;
            Some((index, Binding::Buffer { buffer, offset }))
        }));
        Launch { pipeline, groups, threads, bindings }
    }

    fn tensors(&self, placed: &Placed, [a, b, c]: [Buffer; 3]) -> [Binding; 3] {
        let Operation { types, transpose_left, transpose_right, .. } = self.operation;
        let Shape { m, n, .. } = self.shape;
        let tensor = |buffer, element, [columns, rows]: [usize; 2], pitch: usize| {
            let (extents, usage) = ([columns as i64, rows as i64], Usage::Compute);
            Binding::Tensor(HostTensor { buffer, offset: 0, element, extents, strides: [1, pitch as i64], usage })
        };
        let left = if transpose_left { [m, placed.k] } else { [placed.k, m] };
        let right = if transpose_right { [placed.k, n] } else { [placed.wide, placed.k] };
        [
            tensor(a, types.left, left, placed.pitch[0]),
            tensor(b, types.right, right, placed.pitch[1]),
            tensor(c, types.dest, [n, m], placed.pitch[2]),
        ]
    }
}

/// A buffer from its first byte on.
pub fn whole(buffer: Buffer) -> Binding {
    Binding::Buffer { buffer, offset: 0 }
}

/// The element types of a type triple, where Metal has them.
pub fn types_of(triple: Triple) -> Option<Types> {
    Some(Types::new(Element::of(triple.a)?, Element::of(triple.b)?, Element::of(triple.c)?))
}

/// The type triple of element types.
pub const fn triple_of(types: Types) -> Triple {
    Triple::new(types.left.format(), types.right.format(), types.dest.format())
}
