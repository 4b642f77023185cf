//! What is the text of a kernel for a path, type triple and launch tile, and for which targets is it?
//!
//! Texts are the files under `kernels/`, behind definitions written here: sizes, types, and the matrix instruction as an inlined
//! function. Extents of the product are parameters of a kernel, not part of its text, so one compilation serves every shape.

use super::attention_source;
use super::instruction::{Instruction, ptx_type};
use super::path::{Declared, Path};
use super::target::Target;
use super::tile::{SLAB, Tile, stages};
use super::wgmma::Wgmma;
use rigel_numerics::epilogue::Activation;
use rigel_numerics::{Format, Overflow, Rounding, Triple};

pub(super) const ELEMENTS: &str = include_str!("kernels/elements.cu");
const SCALAR: &str = include_str!("kernels/scalar_gemm.cu");
const SCALAR_CEILING: &str = include_str!("kernels/scalar_ceiling.cu");
const TILED: &str = include_str!("kernels/tiled_gemm.cu");
const MMA_SYNC: &str = include_str!("kernels/mma_sync_gemm.cu");
const MMA_SYNC_CEILING: &str = include_str!("kernels/mma_sync_ceiling.cu");
pub(super) const WGMMA_SHARED: &str = include_str!("kernels/wgmma_shared.cu");
const WGMMA: &str = include_str!("kernels/wgmma_gemm.cu");
const WGMMA_CEILING: &str = include_str!("kernels/wgmma_ceiling.cu");
pub(super) const COPY_ENGINE: &str = include_str!("kernels/copy_engine.cu");
const EPILOGUE: &str = include_str!("kernels/epilogue.cu");
const WGMMA_UNIT: &str = include_str!("kernels/wgmma_unit.cu");
const DEQUANTISE: &str = include_str!("kernels/dequantise.cu");

/// Every kernel file of CUDA C++, for the hash in provenance.
pub const FILES: [&str; 19] = [
    ELEMENTS,
    EPILOGUE,
    SCALAR,
    SCALAR_CEILING,
    TILED,
    MMA_SYNC,
    MMA_SYNC_CEILING,
    WGMMA_SHARED,
    WGMMA,
    WGMMA_CEILING,
    WGMMA_UNIT,
    DEQUANTISE,
    COPY_ENGINE,
    attention_source::ATTENTION_SOFTMAX,
    attention_source::ATTENTION_TILED,
    attention_source::ATTENTION_MMA_SYNC,
    attention_source::ATTENTION_WGMMA,
    attention_source::ATTENTION_WEIGHTS,
    super::placed::FILE,
];

/// Entry of a product's kernel.
pub const GEMM_ENTRY: &str = "gemm";
/// Entry of a ceiling loop.
pub const CEILING_ENTRY: &str = "ceiling";
/// Entry of a unit in CUDA C++.
pub const UNIT_ENTRY: &str = "unit";

/// A kernel in CUDA C++.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// Name in compile logs.
    pub name: String,
    /// The text.
    pub text: String,
    /// Its entry.
    pub entry: &'static str,
    /// The targets that it is for.
    pub targets: Declared,
}

/// Bytes of shared memory that barriers and alignment take beside the stages of `wgmma`.
pub const WGMMA_RESERVED: usize = 1024 + 256;

/// The same with two places of 16 rows of 128 bytes for the results of every warp that multiplies.
fn wgmma_reserved(tile: Tile) -> usize {
    WGMMA_RESERVED + wgmma_workers(tile) * 4 * 2 * 16 * SLAB
}

/// What the kernel that multiplies does to its sums before it stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Nothing.
    Plain,
    /// It adds the bias.
    Bias,
    /// It adds the bias and applies the activation.
    Activated(Activation),
}

impl Finish {
    /// Definitions in front of a product's kernel.
    fn text(self) -> String {
        match self {
            Finish::Plain => "#define BIAS\n#define FINISHED(pair, added) (pair)\n".into(),
            finish => format!(
                "#define EPILOGUE {}\n{EPILOGUE}#define BIAS , const float* bias\n\
                 #define FINISHED(pair, added) finished(pair, added)\n",
                finish.number()
            ),
        }
    }

    fn number(self) -> usize {
        match self {
            Finish::Plain | Finish::Bias => 0,
            Finish::Activated(Activation::GeluTanh) => 1,
            Finish::Activated(Activation::GeluErf) => 2,
        }
    }
}

/// Entry of the kernel that applies an activation to C.
pub const ACTIVATE_ENTRY: &str = "activate";

/// An activation of C in place.
pub fn activate(activation: Activation) -> Source {
    let number = Finish::Activated(activation).number();
    let text = format!("#define ALONE\n#define EPILOGUE {number}\n{EPILOGUE}");
    Source { name: activation.to_string(), text, entry: ACTIVATE_ENTRY, targets: Declared::From(Target(75)) }
}

/// Entry of the kernel that multiplies elements by their scales.
pub const DEQUANTISE_ENTRY: &str = "dequantise";

/// The kernel that makes bf16 of a block-scaled operand; `None` for other formats.
pub fn dequantise(format: Format) -> Option<Source> {
    let groups = format.scale_groups()?;
    let sizes = defines(&[("ELEMENT_BITS", groups.element.bits() as usize), ("GROUP", groups.size)]);
    let scales = if groups.scale == Format::Ue4m3 { "#define SCALES_UE4M3\n" } else { "" };
    let text = join(&[&sizes, scales, DEQUANTISE]);
    let name = format!("{format} to bf16");
    Some(Source { name, text, entry: DEQUANTISE_ENTRY, targets: Declared::From(Target(75)) })
}

/// The triple that the instructions of a path meet: block-scaled operands have become bf16, which holds every product of element and
/// scale.
pub fn multiplied(triple: Triple) -> Triple {
    let met = |format: Format| if format.scale_groups().is_some() { Format::Bf16 } else { format };
    Triple { a: met(triple.a), b: met(triple.b), ..triple }
}

/// Whether products of a path and triple can have an epilogue: those of the matrix instructions into f32, whose operands no kernel
/// converts first.
pub fn finishes(path: Path, triple: Triple) -> bool {
    let matrix = matches!(path, Path::MmaSync | Path::Wgmma | Path::CublasLt);
    matrix && triple.c == Format::F32 && multiplied(triple) == triple
}

/// A product; `shared_bytes` is what a block may take of shared memory.
///
/// # Errors
/// Why there is no such kernel.
pub fn gemm(path: Path, triple: Triple, tile: Tile, shared_bytes: usize, finish: Finish) -> Result<Source, String> {
    let name = match finish {
        Finish::Plain => format!("{path} {triple} {tile}"),
        Finish::Bias => format!("{path} {triple} {tile} bias"),
        Finish::Activated(activation) => format!("{path} {triple} {tile} bias {activation}"),
    };
    if finish != Finish::Plain && !finishes(path, triple) {
        return Err(format!("no kernel of path {path} adds a bias to {triple}"));
    }
    let triple = multiplied(triple);
    let sizes = [("TILE_M", tile.m), ("TILE_N", tile.n)];
    let source = |text, targets| Ok(Source { name: name.clone(), text, entry: GEMM_ENTRY, targets });
    match path {
        Path::Scalar => source(join(&[&elements(triple)?, &defines(&sizes), ELEMENTS, SCALAR]), plain(triple)),
        Path::Tiled => {
            let each = if tile.m * tile.n >= 128 * 128 { 8 } else { 4 };
            let more = [("EACH_M", each), ("EACH_N", each), ("DEPTH", 16)];
            source(join(&[&elements(triple)?, &defines(&sizes), &defines(&more), ELEMENTS, TILED]), plain(triple))
        }
        Path::MmaSync => {
            let instruction = mma_sync(triple)?;
            let warp = mma_sync_warp(triple, tile);
            let more = [
                ("WARP_M", warp.0),
                ("WARP_N", warp.1),
                ("UNIT_M", instruction.shape.m),
                ("UNIT_N", instruction.shape.n),
                ("GROUP", 8),
                ("STAGES", enough_stages(stages(tile, shared_bytes, 0, MMA_SYNC_STAGES), &name)?),
            ];
            let text =
                [&defines(&sizes), &defines(&more), &finish.text(), doubles(triple), &instruction.function(), MMA_SYNC];
            source(join(&text), Declared::From(instruction.target))
        }
        Path::Wgmma => {
            let instruction = wgmma(triple, tile.n)?;
            let stages = enough_stages(stages(tile, shared_bytes, wgmma_reserved(tile), 6), &name)?;
            let more = [
                ("WORKERS", wgmma_workers(tile)),
                ("TURNS", usize::from(tile.turns)),
                ("CLUSTER", tile.cluster),
                ("GROUP", 16 / tile.cluster),
                ("STAGES", stages),
            ];
            let text = [
                &defines(&sizes),
                &defines(&more),
                &finish.text(),
                &accumulators(triple.c),
                WGMMA_SHARED,
                COPY_ENGINE,
                &instruction.function(),
                WGMMA,
            ];
            source(join(&text), Declared::Only(Target(90)))
        }
        Path::CublasLt => Err("kernels of path cublaslt are the library's own".into()),
    }
}

/// Bytes of dynamic shared memory that a product's block takes.
pub fn gemm_shared(path: Path, tile: Tile, shared_bytes: usize) -> usize {
    let stage = (tile.m + tile.n) * SLAB;
    match path {
        Path::MmaSync => stages(tile, shared_bytes, 0, MMA_SYNC_STAGES) * stage,
        Path::Wgmma => stages(tile, shared_bytes, wgmma_reserved(tile), 6) * stage + wgmma_reserved(tile),
        Path::Scalar | Path::Tiled | Path::CublasLt => 0,
    }
}

/// Threads of a product's block.
pub fn gemm_threads(path: Path, triple: Triple, tile: Tile) -> usize {
    match path {
        Path::Scalar => tile.m * tile.n,
        Path::Tiled => 256,
        Path::MmaSync => {
            let warp = mma_sync_warp(triple, tile);
            32 * (tile.m / warp.0) * (tile.n / warp.1)
        }
        Path::Wgmma => 128 * (1 + wgmma_workers(tile)),
        Path::CublasLt => 0,
    }
}

/// Stages of `mma.sync` at most: two blocks of 128 × 128 then fit on a multiprocessor of Hopper.
const MMA_SYNC_STAGES: usize = 3;

/// Rows and columns of C that a warp works on.
fn mma_sync_warp(triple: Triple, tile: Tile) -> (usize, usize) {
    let small = matches!(triple.a, Format::F64 | Format::E4m3 | Format::E5m2) || tile.m * tile.n < 128 * 128;
    if small { (tile.m / 2, tile.n / 4) } else { (64, 64) }
}

/// Warpgroups that multiply.
fn wgmma_workers(tile: Tile) -> usize {
    if tile.m == 64 && !tile.turns { 1 } else { 2 }
}

/// Says that elements are f64, which `ldmatrix` does not move.
fn doubles(triple: Triple) -> &'static str {
    if triple.a == Format::F64 { "#define DOUBLES\n" } else { "" }
}

/// A ceiling loop of `chains` independent sums; for `wgmma` of 64 × `n` each, in `groups` warpgroups a block.
///
/// # Errors
/// Why there is no such kernel.
pub fn ceiling(path: Path, triple: Triple, chains: usize, n: usize, groups: usize) -> Result<Source, String> {
    let triple = multiplied(triple);
    let one = triple.a.encode(1.0, Rounding::NearestEven, Overflow::Saturate);
    let more = [("CHAINS", chains)];
    let (text, targets) = match path {
        Path::Scalar | Path::Tiled => {
            (join(&[&elements(triple)?, &defines(&more), ELEMENTS, SCALAR_CEILING]), plain(triple))
        }
        Path::MmaSync => {
            let instruction = mma_sync(triple)?;
            let one = if triple.a == Format::F64 { "1.0".to_owned() } else { one.to_string() };
            let one = format!("#define ONE {one}\n");
            let text = [&defines(&more), &one, doubles(triple), &instruction.function(), MMA_SYNC_CEILING];
            (join(&text), Declared::From(instruction.target))
        }
        Path::Wgmma => {
            let more = [("CHAINS", chains), ("TILE_N", n), ("WORKERS", groups), ("ONE", one as usize)];
            let function = wgmma(triple, n)?.function();
            let text = [&defines(&more), &accumulators(triple.c), WGMMA_SHARED, &function, WGMMA_CEILING];
            (join(&text), Declared::Only(Target(90)))
        }
        Path::CublasLt => return Err("a library has no loop of its own".into()),
    };
    Ok(Source {
        name: format!("{path} {triple} ceiling, {chains} chains of {groups} groups"),
        text,
        entry: CEILING_ENTRY,
        targets,
    })
}

/// A `wgmma` instruction on a batch.
pub fn wgmma_unit(instruction: &Wgmma) -> Source {
    let from = if instruction.a_in_registers { "#define A_IN_REGISTERS\n" } else { "" };
    let n = defines(&[("TILE_N", instruction.n)]);
    let text = [&n, from, &accumulators(instruction.triple.c), WGMMA_SHARED, &instruction.function(), WGMMA_UNIT];
    Source { name: instruction.name(), text: join(&text), entry: UNIT_ENTRY, targets: Declared::Only(Target(90)) }
}

/// The instruction that path `mma.sync` multiplies a triple with: 32 bytes of k deep, f64 128.
///
/// # Errors
/// That there is none.
pub fn mma_sync(triple: Triple) -> Result<Instruction, String> {
    let k = if triple.a == Format::F64 { 16 } else { 256 / triple.operand_bits() as usize };
    let fits = |i: &Instruction| i.triple == triple && !i.saturates && (i.shape.m, i.shape.n, i.shape.k) == (16, 8, k);
    Instruction::all().into_iter().find(fits).ok_or_else(|| format!("no mma.sync.m16n8k{k} multiplies {triple}"))
}

/// The instruction that path `wgmma` multiplies a triple with.
///
/// # Errors
/// That there is none.
pub fn wgmma(triple: Triple, n: usize) -> Result<Wgmma, String> {
    let into = match triple.a {
        Format::F16 => [Format::F32, Format::F16].as_slice(),
        Format::Bf16 | Format::Tf32 => &[Format::F32],
        Format::E4m3 | Format::E5m2 => &[Format::F32, Format::F16],
        Format::I8 | Format::U8 => &[Format::I32],
        _ => &[],
    };
    let same = triple.a.bits() == triple.b.bits() && (triple.a == triple.b || triple.operand_bits() == 8);
    if !same || triple.a.is_integer() != triple.b.is_integer() || !into.contains(&triple.c) {
        return Err(format!("no wgmma multiplies {triple}"));
    }
    Ok(Wgmma { n, triple, a_in_registers: false })
}

fn enough_stages(stages: usize, name: &str) -> Result<usize, String> {
    if stages >= 2 {
        Ok(stages)
    } else {
        Err(format!("{name} needs two stages and the device's shared memory has no room for them"))
    }
}

/// Targets of the kernels without a tensor instruction: conversions of 8-bit floats are from sm_89.
pub(super) fn plain(triple: Triple) -> Declared {
    match triple.a {
        Format::E4m3 | Format::E5m2 => Declared::From(Target(89)),
        _ => Declared::From(Target(75)),
    }
}

/// Names the element type for `elements.cu`.
pub(super) fn elements(triple: Triple) -> Result<String, String> {
    let name = match (triple.a, triple.c) {
        _ if triple.a != triple.b => None,
        (Format::F64, Format::F64) => Some("F64"),
        (Format::F32, Format::F32) => Some("F32"),
        (Format::F16, Format::F32) => Some("F16"),
        (Format::F16, Format::F16) => Some("F16_IN_F16"),
        (Format::Bf16, Format::F32) => Some("BF16"),
        (Format::E4m3, Format::F32) => Some("E4M3"),
        (Format::E5m2, Format::F32) => Some("E5M2"),
        (Format::I8, Format::I32) => Some("I8"),
        _ => None,
    };
    name.map(|name| format!("#define ELEMENT_{name}\n"))
        .ok_or_else(|| format!("no kernel without a tensor instruction multiplies {triple}"))
}

/// The constraint of inline assembly for a register of C.
pub(super) fn constraint(c: Format) -> char {
    match c {
        Format::F64 => 'd',
        Format::F32 => 'f',
        _ => 'r',
    }
}

/// Types of sums and of C, how an integer becomes a sum, and the two neighbours that a lane stores together.
pub(super) fn accumulators(c: Format) -> String {
    let (accumulator, out, pair, of, made, each) = match c {
        Format::F64 => ("double", "double", "double2", "x", "make_double2(sums[at], sums[at + 1])", 2),
        Format::F32 => ("float", "float", "float2", "x", "make_float2(sums[at], sums[at + 1])", 2),
        Format::F16 => ("unsigned int", "unsigned short", "unsigned int", "halves(x)", "sums[at]", 1),
        _ => ("int", "int", "int2", "x", "make_int2(sums[at], sums[at + 1])", 2),
    };
    let halves = if c == Format::F16 {
        "__device__ __forceinline__ unsigned int halves(int x) {\n  unsigned short half;\n  \
         asm(\"cvt.rn.f16.s32 %0, %1;\" : \"=h\"(half) : \"r\"(x));\n  return half * 0x10001u;\n}\n"
    } else {
        ""
    };
    format!(
        "typedef {accumulator} Accumulator;\ntypedef {out} Out;\ntypedef {pair} Pair;\n{halves}\
         __device__ __forceinline__ Accumulator accumulator(int x) {{ return {of}; }}\n\
         // Neighbours of eight columns: those of block j, in the upper or lower eight rows.\n\
         __device__ __forceinline__ Pair pair(const Accumulator* sums, int j, int half) {{\n  \
         const int at = {each} * (2 * j + half);\n  return {made};\n}}\n"
    )
}

impl Instruction {
    /// Types and register counts, and the function `multiply` that executes the instruction.
    pub fn function(&self) -> String {
        let slots = self.fragments();
        let wide = self.triple.a == Format::F64;
        let count = |slots: usize, format: Format| slots * format.bits() as usize / if wide { 64 } else { 32 };
        let (a, b, c) = (count(slots.a, self.triple.a), count(slots.b, self.triple.b), count(slots.c, self.triple.c));
        let (register, input) = if wide { ("double", 'd') } else { ("unsigned int", 'r') };
        let list =
            |from: usize, count: usize| (from..from + count).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
        let all = |open: &str, name: char, count: usize| {
            (0..count).map(|i| format!("\"{open}\"({name}[{i}])")).collect::<Vec<_>>().join(", ")
        };
        format!(
            "{types}typedef {register} Register;\n{counts}\
             __device__ __forceinline__ void multiply(Accumulator (&d)[{c}], const Register (&a)[{a}], const Register (&b)[{b}]) {{\n  \
             asm volatile(\"{mnemonic} {{{sums}}}, {{{left}}}, {{{right}}}, {{{sums}}};\"\n    : {d}\n    : {x}, {y});\n}}\n",
            types = accumulators(self.triple.c),
            counts = defines(&[("REGISTERS_A", a), ("REGISTERS_B", b), ("SUMS", c)]),
            mnemonic = self.mnemonic(),
            sums = list(0, c),
            left = list(c, a),
            right = list(c + a, b),
            d = all(&format!("+{}", constraint(self.triple.c)), 'd', c),
            x = all(&input.to_string(), 'a', a),
            y = all(&input.to_string(), 'b', b),
        )
    }
}

pub(super) fn defines(values: &[(&str, usize)]) -> String {
    values.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect()
}

pub(super) fn join(parts: &[&str]) -> String {
    parts.concat()
}

/// What a conversion in front of the multiplication is called, where the path has one; empty where an instruction takes the type.
pub fn conversion(path: Path, triple: Triple) -> String {
    let narrow = !matches!(triple.a, Format::F64 | Format::F32) && triple.c == Format::F32;
    match path {
        _ if multiplied(triple) != triple => {
            format!("a kernel before it makes bf16 of {} elements and scales, in every repetition", triple.a)
        }
        Path::Scalar | Path::Tiled if narrow => {
            format!("{} becomes f32 in the kernel before it is multiplied", ptx_type(triple.a))
        }
        Path::Scalar | Path::Tiled if triple.is_integer() => {
            "widened to 32 bits in the kernel before it is multiplied".into()
        }
        _ => String::new(),
    }
}
