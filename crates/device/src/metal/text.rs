//! Which text is compiled for a kernel?
//!
//! The files beside this one hold the kernels; what must be a constant (types, tiles, scopes, switches) is written before them as
//! macros. The text is what is compiled at run time on a Mac and what the tests compile for this processor.

use super::batch;
use super::element::Element;
use super::level::{Language, Sdk};
use super::operation::{Mode, Operation, Scope};
use super::traps::Trap;
use super::triples::Types;
use std::fmt::Write;

/// What a kernel that multiplies does with its sums before it stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Finish {
    /// Nothing.
    #[default]
    None,
    /// It adds a bias.
    Bias,
    /// It adds a bias and applies GELU.
    BiasGelu,
}

/// Where the operands and the sum of a `matmul2d` product live, and what is done besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Placement {
    /// The host makes the tensors, and not the kernel.
    pub handle: bool,
    /// The sum is kept in a cooperative tensor until the end.
    pub cooperative: bool,
    /// What is done before the store; needs `cooperative`.
    pub finish: Finish,
    /// Scale planes on the left and on the right.
    pub scaled: (bool, bool),
    /// Tiles of operands with scales are cut from the whole as slices, and not made anew: whether a slice moves its scales is
    /// disputed.
    pub slices_scales: bool,
}

/// How a single operation is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// By tensors that the kernel makes.
    Inline,
    /// By these, and by registers, where both inputs can be cooperative.
    Registers,
    /// By tensors that the host makes.
    Handle,
}

/// A kernel file with its constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Multiply-adds of the scalar ALUs, without memory: `roofline`.
    Roofline {
        /// Float or half.
        element: Element,
        /// Independent sums of a thread.
        chains: u32,
    },
    /// The loop of `simdgroup_matrix`, without memory: `ceiling`.
    CeilingSimdGroup {
        /// Element types.
        types: Types,
        /// Independent sums of a SIMD-group.
        chains: u32,
    },
    /// The loop of `matmul2d`, without traffic to memory: `ceiling`.
    CeilingMatmul2d {
        /// One SIMD-group's operation.
        operation: Operation,
        /// Whether inputs are cooperative tensors.
        fragments: bool,
        /// Independent sums of a SIMD-group.
        chains: u32,
    },
    /// One thread an element, nothing shared: `scalar`.
    Scalar {
        /// Element types.
        types: Types,
        /// Rows and columns of a threadgroup.
        tile: u32,
    },
    /// Threadgroup tiles without a matrix instruction: `tiled`.
    Tiled {
        /// Element types.
        types: Types,
        /// Rows, columns and depth of a tile.
        tile: u32,
    },
    /// `simdgroup_matrix`: `simdgroup_gemm`.
    SimdGroup {
        /// Element types.
        types: Types,
        /// Matrices of 8 × 8 that a SIMD-group owns, down and across.
        owned: (u32, u32),
        /// SIMD-groups, side by side.
        groups: u32,
        /// What is done before the store.
        finish: Finish,
    },
    /// `matmul2d` over whole matrices: `matmul2d_gemm`.
    Matmul2d(Operation, Placement),
    /// Attention without the matrix path: `attention_scalar`.
    AttentionScalar {
        /// Of Q, K and V, and of O.
        types: (Element, Element),
        /// Columns of Q.
        head: u32,
    },
    /// Attention by `matmul2d`: `attention_matmul2d`.
    AttentionMatmul2d {
        /// Of Q, K and V, and of O.
        types: (Element, Element),
        /// Columns of Q.
        head: u32,
        /// Rows of Q of a SIMD-group.
        rows: u32,
        /// Keys that it meets at a time.
        keys: u32,
    },
    /// Softmax over rows of scores in float: `softmax`.
    Softmax(Element),
    /// One `matmul2d` a SIMD-group: `unit_tile`, and `unit_fragment` by registers.
    UnitMatmul2d(Operation, Reach),
    /// One `simdgroup_multiply_accumulate` a SIMD-group: `unit_tile`, `unit_fragment`, `matrix_layout`.
    UnitSimdGroup(Types),
    /// What the device says of its cooperative tensors: `layout`.
    Layout(Operation, bool),
    /// GELU in place: `gelu`.
    Gelu(Element),
    /// What a slice is: `slices`.
    Slices(Element),
    /// A small mistake, or its mended form: `trap`.
    Trap(Trap, bool),
    /// Language version and oldest system: `versions`.
    Versions,
}

/// Elements of an 8 × 8 matrix that a lane holds.
pub const MATRIX_SLOTS: u32 = 2;

/// Elements of a tile that a lane's memory has room for in the loop of `matmul2d`: twice as many as each lane holds where all hold
/// the same.
pub const TENSOR_SLOTS: u32 = 32;

/// Threads of a threadgroup of the attention that leaves the matrix path.
pub const ATTENTION_THREADS: u32 = 64;

/// A text to compile and the language to compile it in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// Name of the file, for messages.
    pub name: &'static str,
    /// The whole text.
    pub text: String,
    /// The language version that is asked for.
    pub language: Language,
}

/// Every kernel file, by name.
pub const FILES: [(&str, &str); 17] = [
    ("roofline.metal", include_str!("kernels/roofline.metal")),
    ("ceiling_simdgroup.metal", include_str!("kernels/ceiling_simdgroup.metal")),
    ("ceiling_matmul2d.metal", include_str!("kernels/ceiling_matmul2d.metal")),
    ("scalar.metal", include_str!("kernels/scalar.metal")),
    ("tiled.metal", include_str!("kernels/tiled.metal")),
    ("simdgroup.metal", include_str!("kernels/simdgroup.metal")),
    ("matmul2d.metal", include_str!("kernels/matmul2d.metal")),
    ("unit_matmul2d.metal", include_str!("kernels/unit_matmul2d.metal")),
    ("unit_simdgroup.metal", include_str!("kernels/unit_simdgroup.metal")),
    ("layout.metal", include_str!("kernels/layout.metal")),
    ("gelu.metal", include_str!("kernels/gelu.metal")),
    ("attention_scalar.metal", include_str!("kernels/attention_scalar.metal")),
    ("attention_matmul2d.metal", include_str!("kernels/attention_matmul2d.metal")),
    ("softmax.metal", include_str!("kernels/softmax.metal")),
    ("slices.metal", include_str!("kernels/slices.metal")),
    ("traps.metal", include_str!("kernels/traps.metal")),
    ("versions.metal", include_str!("kernels/versions.metal")),
];

/// FNV-1a over the kernel files. Identity, not authenticity.
pub fn digest() -> u64 {
    let bytes = FILES.iter().flat_map(|(name, text)| name.bytes().chain(text.bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Kernel {
    /// Name of its file.
    pub const fn file(&self) -> &'static str {
        match self {
            Kernel::Roofline { .. } => "roofline.metal",
            Kernel::CeilingSimdGroup { .. } => "ceiling_simdgroup.metal",
            Kernel::CeilingMatmul2d { .. } => "ceiling_matmul2d.metal",
            Kernel::Scalar { .. } => "scalar.metal",
            Kernel::Tiled { .. } => "tiled.metal",
            Kernel::SimdGroup { .. } => "simdgroup.metal",
            Kernel::Matmul2d(..) => "matmul2d.metal",
            Kernel::UnitMatmul2d(..) => "unit_matmul2d.metal",
            Kernel::UnitSimdGroup(..) => "unit_simdgroup.metal",
            Kernel::Layout(..) => "layout.metal",
            Kernel::Gelu(..) => "gelu.metal",
            Kernel::AttentionScalar { .. } => "attention_scalar.metal",
            Kernel::AttentionMatmul2d { .. } => "attention_matmul2d.metal",
            Kernel::Softmax(..) => "softmax.metal",
            Kernel::Slices(..) => "slices.metal",
            Kernel::Trap(..) => "traps.metal",
            Kernel::Versions => "versions.metal",
        }
    }

    /// The text for a language version.
    pub fn source(&self, language: Language) -> Source {
        let name = self.file();
        let body = FILES.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| text);
        Source { name, text: format!("{}{body}", self.constants()), language }
    }

    /// The oldest language that has everything it uses.
    pub fn language(&self) -> Language {
        match self {
            Kernel::Matmul2d(operation, placement) if placement.scaled != (false, false) => {
                operation.types.language().max(Language::V4_1)
            }
            Kernel::Matmul2d(operation, _)
            | Kernel::UnitMatmul2d(operation, _)
            | Kernel::Layout(operation, _)
            | Kernel::CeilingMatmul2d { operation, .. } => operation.types.language(),
            Kernel::Trap(trap, _) => trap.language(),
            Kernel::Slices(_) | Kernel::AttentionMatmul2d { .. } => Language::V4_0,
            _ => Language::V3_1,
        }
    }

    fn constants(&self) -> String {
        let mut c = Constants::new();
        match *self {
            Kernel::Roofline { element, chains } => {
                c.set("ELEMENT", element.spelled());
                c.set("CHAINS", chains);
            }
            Kernel::CeilingSimdGroup { types, chains } => {
                c.types(types);
                c.set("CHAINS", chains);
                c.set("SLOTS", MATRIX_SLOTS);
            }
            Kernel::CeilingMatmul2d { operation, fragments, chains } => {
                c.operation(&operation);
                c.set("SCALED_LEFT", u8::from(operation.types.left.is_scaled()));
                c.set("SCALED_RIGHT", u8::from(operation.types.right.is_scaled()));
                c.set("FRAGMENTS", u8::from(fragments));
                c.set("CHAINS", chains);
                c.set("SLOTS", TENSOR_SLOTS);
                c.set("EACH(X)", (0..chains).map(|i| format!("X({i}) ")).collect::<String>());
            }
            Kernel::Scalar { types, tile } | Kernel::Tiled { types, tile } => {
                c.types(types);
                c.set("TILE", tile);
                c.set("ACCUMULATE", accumulator(types).spelled());
                let by = if types.dest.is_integer() { "((x) * (y) + (z))" } else { "fma(x, y, z)" };
                c.set("MULTIPLY_ADD(x, y, z)", by);
            }
            Kernel::SimdGroup { types, owned: (rows, columns), groups, finish } => {
                c.types(types);
                c.set("ACCUMULATE", accumulator(types).spelled());
                c.set("ROWS", rows);
                c.set("COLUMNS", columns);
                c.set("GROUPS", groups);
                c.finish(finish);
            }
            Kernel::Matmul2d(operation, placement) => {
                c.operation(&operation);
                c.set("HANDLE", u8::from(placement.handle));
                c.set("COOPERATIVE", u8::from(placement.cooperative));
                c.finish(placement.finish);
                c.set("SCALED_LEFT", u8::from(placement.scaled.0));
                c.set("SCALED_RIGHT", u8::from(placement.scaled.1));
                c.set("REBUILT_LEFT", u8::from(placement.scaled.0 && !placement.slices_scales));
                c.set("REBUILT_RIGHT", u8::from(placement.scaled.1 && !placement.slices_scales));
            }
            Kernel::Layout(operation, fragments) => {
                c.operation(&operation);
                c.set("FRAGMENTS", u8::from(fragments));
            }
            Kernel::UnitMatmul2d(operation, reach) => {
                c.operation(&operation);
                c.set("FRAGMENTS", u8::from(reach == Reach::Registers));
                c.set("HANDLE", u8::from(reach == Reach::Handle));
                c.set("SCALED", u8::from(operation.types.has_scales()));
                let [left, right, _] = batch::pitch(&operation, reach);
                c.set("LEFT_PITCH", left);
                c.set("RIGHT_PITCH", right);
            }
            Kernel::UnitSimdGroup(types) => c.types(types),
            Kernel::AttentionScalar { types, head } => {
                c.attention(types, head);
                c.set("THREADS", ATTENTION_THREADS);
            }
            Kernel::AttentionMatmul2d { types, head, rows, keys } => {
                c.attention(types, head);
                c.set("ROWS", rows);
                c.set("KEYS", keys);
            }
            Kernel::Softmax(element) => c.set("INPUT", element.spelled()),
            Kernel::Gelu(element) => c.set("DEST", element.spelled()),
            Kernel::Slices(element) => c.set("LEFT", element.spelled()),
            Kernel::Trap(trap, is_mended) => {
                for known in Trap::ALL {
                    c.set(known.constant(), u8::from(known == trap));
                }
                c.set("EDIT", u8::from(is_mended));
            }
            Kernel::Versions => {}
        }
        c.0
    }
}

/// Whether both inputs of an operation can be cooperative tensors under a header: one SIMD-group, no format type, extents of 16 or 32.
pub fn has_fragments(operation: &Operation, sdk: Sdk) -> bool {
    let extents = [operation.m, operation.n, operation.step];
    sdk.has_inputs()
        && operation.scope == Scope::SimdGroups(1)
        && !operation.types.has_format()
        && extents.iter().all(|e| matches!(e, 16 | 32))
        && extents.contains(&32)
}

/// The type in which the kernels that add by hand add.
fn accumulator(types: Types) -> Element {
    if types.dest.is_integer() { Element::Int32 } else { Element::Float }
}

/// Macros, one a line.
struct Constants(String);

impl Constants {
    /// A device has threadgroup arrays; the tests, which have none, define the macro first.
    fn new() -> Constants {
        Constants("#ifndef THREADGROUP_ARRAY\n#define THREADGROUP_ARRAY threadgroup\n#endif\n".into())
    }

    fn set(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "#define {name} {value}");
    }

    fn types(&mut self, types: Types) {
        for (name, element) in [("LEFT", types.left), ("RIGHT", types.right), ("DEST", types.dest)] {
            self.set(name, element.spelled());
            self.set(&format!("{name}_DATA"), element.data());
            self.set(&format!("{name}_BITS"), element.bits());
        }
    }

    fn attention(&mut self, (input, output): (Element, Element), head: u32) {
        self.set("INPUT", input.spelled());
        self.set("OUTPUT", output.spelled());
        self.set("HEAD", head);
    }

    fn finish(&mut self, finish: Finish) {
        self.set("BIAS", u8::from(finish != Finish::None));
        self.set("GELU", u8::from(finish == Finish::BiasGelu));
    }

    fn operation(&mut self, operation: &Operation) {
        self.types(operation.types);
        self.set("TILE_M", operation.m);
        self.set("TILE_N", operation.n);
        self.set("STEP", operation.step);
        self.set("SCOPE", operation.scope.spelled());
        self.set("TRANSPOSE_LEFT", operation.transpose_left);
        self.set("TRANSPOSE_RIGHT", operation.transpose_right);
        self.set("RELAXED", operation.relaxed);
        self.set("MODE", Mode::spelled(operation.mode));
    }
}
