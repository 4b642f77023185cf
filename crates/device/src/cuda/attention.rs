//! How does an attention run, in one kernel or in three?
//!
//! Fused, one kernel keeps scores and weights in registers: of the matrix unit on `mma.sync` and `wgmma`, of plain arithmetic on `tiled`.
//! Decomposed, on `cublaslt`, the library multiplies Q·Kᵀ into f32 for all heads at once, a kernel of this crate turns scores into weights
//! in f16, and the library multiplies these by V. Operands lie row by row. Heads have 64 or 128 columns, and a head's keys are a multiple of
//! 256, up to 8192 where scores pass through memory.
//!
//! A repetition is the replay of a recorded chain, as behind an epilogue ([`super::epilogue`]). Operands are warm.

use super::attention_source as source;
use super::cublaslt::{Multiplication, Strided};
use super::graph::Graph;
use super::graph::chain;
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::nvrtc::Cubin;
use super::operands::mapped;
use super::path::Path;
use super::product::Setting;
use super::tile::Tile;
use crate::contract::{Cache, Fault, Gemm, POISON, Refusal, Sample};
use rigel_numerics::attention::heads;
use rigel_numerics::{Calculation, Format, Matrix, Shape, Triple};

/// The only triple that attentions are written for.
pub const TRIPLE: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
/// What the keys of a head are a multiple of: every tile divides it.
const WHOLE: usize = 256;
/// Keys of a head at most where scores pass through memory: a block of the middle kernel holds a row of them.
const MOST: usize = 8192;

/// Launch tiles of a path, best guess first.
pub fn tiles(path: Path, triple: Triple, fused: bool) -> &'static [&'static str] {
    match (path, fused) {
        _ if triple != TRIPLE => &[],
        (Path::MmaSync, true) => &["128x64", "64x64", "128x32", "64x128"],
        (Path::Wgmma, true) => &["128x128", "128x64"],
        (Path::Tiled, true) => &["64x64"],
        (Path::CublasLt, false) => &["searched"],
        _ => &[],
    }
}

/// Why a shape has no kernel, if it has none.
pub fn misfit(shape: Shape, fused: bool) -> Option<String> {
    let Shape { n, k, .. } = shape;
    if let Some(why) = rigel_numerics::attention::misfit(shape) {
        return Some(why);
    }
    let columns = matches!(n, 64 | 128);
    let keys = k.is_multiple_of(WHOLE) && (fused || k <= MOST);
    (!columns || !keys).then(|| {
        format!(
            "attention of {shape}: heads have 64 or 128 columns and a multiple of {WHOLE} keys, decomposed at most {MOST}"
        )
    })
}

/// What attends.
pub enum Engine {
    /// One kernel.
    Fused {
        /// The path.
        path: Path,
        /// The launch tile.
        tile: Tile,
        /// Its machine code.
        cubin: Cubin,
    },
    /// Two products of the library and a kernel between them.
    Decomposed {
        /// Q·Kᵀ.
        scores: Box<Multiplication>,
        /// Scores to weights.
        cubin: Cubin,
        /// Weights times V.
        output: Box<Multiplication>,
    },
}

impl Engine {
    /// The products of a decomposed attention, before the library is asked.
    pub fn products(shape: Shape) -> [Strided; 2] {
        let (Shape { n, k, .. }, heads) = (shape, heads(shape));
        [
            Strided { shape: Shape::new(k, k, n), packed: true, heads },
            Strided { shape: Shape::new(k, n, k), packed: false, heads },
        ]
    }
}

struct Bound {
    q: Memory,
    k: Memory,
    v: Memory,
    o: Memory,
    /// Scores and weights, where they pass through memory.
    between: Option<(Memory, Memory)>,
    arguments: Vec<Argument>,
}

/// An attention of one shape.
pub struct CudaAttention {
    // Before what it touches.
    chain: Option<Graph>,
    setting: Setting,
    shape: Shape,
    engine: Engine,
    kernel: Option<Kernel>,
    bound: Option<Bound>,
}

impl CudaAttention {
    /// One of this shape.
    pub fn new(setting: Setting, shape: Shape, engine: Engine) -> CudaAttention {
        CudaAttention { chain: None, setting, shape, engine, kernel: None, bound: None }
    }

    fn queue(&self) -> Result<(), Fault> {
        let bound = self.bound.as_ref().ok_or_else(unbound)?;
        let kernel = self.kernel.as_ref().ok_or_else(|| Fault::Failed("the kernel is not loaded".into()))?;
        let launch = |geometry, arguments: &[Argument]| {
            // SAFETY: these are the kernel's arguments in its order; operands have whole tiles, and it writes the output or the weights
            // alone; whoever queues finishes before anything is dropped.
            unsafe { kernel.launch(geometry, arguments) }.map_err(Fault::from)
        };
        match (&self.engine, &bound.between) {
            (Engine::Decomposed { scores, output, .. }, Some((between, weights))) => {
                scores.multiply(&bound.q, &bound.k, between)?;
                let block = source::weights_threads(self.shape.k) as u32;
                launch(Geometry { grid: (self.shape.m as u32, 1), block, shared: 0 }, &bound.arguments)?;
                output.multiply(weights, &bound.v, &bound.o)
            }
            (Engine::Fused { path, tile, .. }, _) => {
                let geometry = Geometry {
                    grid: ((self.shape.m / tile.m) as u32, 1),
                    block: source::threads(*path) as u32,
                    shared: source::shared(*path, *tile, self.shape.n) as u32,
                };
                launch(geometry, &bound.arguments)
            }
            (Engine::Decomposed { .. }, None) => Err(unbound()),
        }
    }
}

fn unbound() -> Fault {
    Fault::Failed("no operands are bound yet".into())
}

impl Gemm for CudaAttention {
    fn load(&mut self) -> Result<(), Refusal> {
        let (cubin, entry, shared) = match &self.engine {
            Engine::Fused { path, tile, cubin } => {
                (cubin, source::ATTENTION_ENTRY, source::shared(*path, *tile, self.shape.n))
            }
            Engine::Decomposed { cubin, .. } => (cubin, source::WEIGHTS_ENTRY, 0),
        };
        self.kernel = Some(Kernel::of(&self.setting.context, cubin, entry, shared as u32)?);
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        use Argument::{Address, Map, Number};
        self.chain = None;
        let (context, Shape { m, n, k }) = (&self.setting.context, self.shape);
        let half = b.bytes.len() / 2;
        let of = |bytes: &[u8]| Memory::holding(context, bytes, 0);
        let (q, keys, v) = (of(&a.bytes)?, of(&b.bytes[..half])?, of(&b.bytes[half..])?);
        let o = Memory::filled(context, m * Matrix::row_bytes(TRIPLE.c, n), POISON)?;
        let plain = |all: &[&Memory]| all.iter().map(|memory| Address(memory.address())).collect::<Vec<_>>();
        let (between, arguments) = match &mut self.engine {
            Engine::Fused { path: Path::Wgmma, tile, .. } => {
                let row = Matrix::row_bytes(TRIPLE.a, n);
                let map = |memory: &Memory, high| mapped(memory.address(), m, (row, row), high).map(Map);
                let maps = vec![map(&q, tile.m)?, map(&keys, tile.n)?, map(&v, tile.n)?];
                (None, [maps, plain(&[&o]), vec![Number(k as i32)]].concat())
            }
            Engine::Fused { .. } => (None, [plain(&[&q, &keys, &v, &o]), vec![Number(k as i32)]].concat()),
            Engine::Decomposed { scores, output, .. } => {
                let room = |format| Memory::filled(context, m * Matrix::row_bytes(format, k), 0);
                let (between, weights) = (room(TRIPLE.c)?, room(TRIPLE.a)?);
                let timer = &self.setting.timer;
                scores.choose(timer, &q, &keys, &between)?;
                output.choose(timer, &weights, &v, &o)?;
                let arguments = plain(&[&between, &weights]);
                (Some((between, weights)), arguments)
            }
        };
        self.bound = Some(Bound { q, k: keys, v, o, between, arguments });
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        Ok(self.bound.as_ref().ok_or_else(unbound)?.o.fill(POISON)?)
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        let launches = super::graph::launches(Calculation::Attention.operations(self.shape));
        if self.chain.is_none() {
            let context = &self.setting.context;
            self.chain = Some(Graph::record(context, || (0..launches).try_for_each(|_| self.queue()))?);
        }
        chain(&self.setting.timer, self.chain.as_ref(), launches, repetitions, cache)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        let bound = self.bound.as_ref().ok_or_else(unbound)?;
        self.setting.context.finish()?;
        let mut output = Matrix::zeroed(TRIPLE.c, self.shape.m, self.shape.n);
        bound.o.read(&mut output.bytes)?;
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_without_a_kernel_are_told_what_there_is() {
        assert_eq!(misfit(Shape::new(16384, 128, 8192), false), None);
        assert_eq!(misfit(Shape::new(16384, 64, 16384), true), None);
        for (shape, fused) in [((512, 96, 512), true), ((512, 64, 128), true), ((16384, 64, 16384), false)] {
            let said = misfit(Shape::new(shape.0, shape.1, shape.2), fused).unwrap();
            assert!(said.contains("64 or 128 columns"), "{said}");
        }
        assert!(misfit(Shape::new(300, 64, 256), true).unwrap().contains("whole number of heads"));
    }

    #[test]
    fn the_products_of_a_decomposed_attention_are_those_of_its_heads() {
        let [scores, output] = Engine::products(Shape::new(2048, 64, 512));
        assert_eq!((scores.shape, scores.heads, scores.packed), (Shape::new(512, 512, 64), 4, true));
        assert_eq!((output.shape, output.heads, output.packed), (Shape::new(512, 64, 512), 4, false));
    }
}
