//! How does a compiled kernel become a product behind the contract?
//!
//! Operands are packed and copied once, at bind ([`super::operands`]); a repetition is one launch. Block-scaled operands become bf16 by
//! two launches before it, which are part of the repetition. Cold repetitions take turns over
//! sets of operands that fill twice the L2 cache; replayed ones are a recorded chain of launches ([`super::graph`]).

use super::cublaslt::Multiplication;
use super::driver::{Context, DriverError};
use super::graph::{Graph, chain, launches};
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::nvrtc::Cubin;
use super::operands::{Bound, Coded, Extents, Operands, mapped};
use super::path::Path;
use super::source;
use super::tile::{SLAB, Tile};
use super::timer::Timer;
use crate::contract::{Cache, Fault, Gemm, POISON, Refusal, Rung, Sample};
use rigel_numerics::placement::Placement;
use rigel_numerics::{Matrix, Shape, Triple};
use std::rc::Rc;

/// What all products of a device share.
#[derive(Clone)]
pub struct Setting {
    /// The device's context.
    pub context: Rc<Context>,
    /// Its timer.
    pub timer: Rc<Timer>,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of the second-level cache.
    pub l2_bytes: usize,
    /// Bytes of shared memory that a block may take.
    pub shared_bytes: usize,
}

/// A kernel of this crate for one path, triple and tile.
pub struct Own {
    /// The path, not `cublaslt`.
    pub path: Path,
    /// The launch tile.
    pub tile: Tile,
    /// Its machine code.
    pub cubin: Cubin,
    /// Where the bias lies that it adds, if it adds one.
    pub bias: Option<u64>,
    /// Machine code of what makes bf16 of block-scaled operands.
    pub dequantise: Option<Cubin>,
    /// Its block, where that is not the one of the path's products.
    pub block: Option<Block>,
}

/// Threads of a block, and bytes of its dynamic shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Threads.
    pub threads: usize,
    /// Bytes.
    pub shared: usize,
}

/// What multiplies.
enum Engine {
    Own { own: Box<Own>, kernel: Option<Kernel>, dequantise: Option<Kernel>, arguments: Vec<Vec<Argument>> },
    Library(Box<Multiplication>),
}

/// A product of one shape.
pub struct CudaGemm {
    // Before the operands: a chain is gone before what it touches.
    chain: Option<Graph>,
    setting: Setting,
    shape: Shape,
    triple: Triple,
    engine: Engine,
    placement: Option<Placement>,
    operands: Option<Operands>,
}

impl CudaGemm {
    /// A product by a kernel of this crate.
    pub fn own(setting: Setting, shape: Shape, triple: Triple, own: Own) -> CudaGemm {
        let engine = Engine::Own { own: Box::new(own), kernel: None, dequantise: None, arguments: Vec::new() };
        CudaGemm { chain: None, setting, shape, triple, engine, placement: None, operands: None }
    }

    /// A product by the vendor's library.
    pub fn library(setting: Setting, shape: Shape, triple: Triple, multiplication: Multiplication) -> CudaGemm {
        let engine = Engine::Library(Box::new(multiplication));
        CudaGemm { chain: None, setting, shape, triple, engine, placement: None, operands: None }
    }

    /// The same product with its operands placed; its kernel, or the library, was made for that.
    pub fn placed(self, placement: Placement) -> CudaGemm {
        CudaGemm { placement: Some(placement), ..self }
    }

    /// How operands and output lie, once they are bound.
    pub(super) fn extents(&self) -> Extents {
        Extents::of(self.shape, self.triple)
    }

    /// Address of C; nothing before operands are bound.
    pub(super) fn output_address(&self) -> Option<u64> {
        self.operands.as_ref().map(|operands| operands.c.address())
    }

    /// What all products of the device share.
    pub(super) fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Makes sets of operands for a cache state, and the arguments that go with them; how many there are.
    fn prepare(&mut self, cache: Cache) -> Result<usize, Fault> {
        let (shape, triple) = (self.shape, self.triple);
        let (operands, engine) = self.bound()?;
        let sets = operands.sets_for(cache)?;
        if let Engine::Own { own, arguments, .. } = engine {
            for set in &operands.sets[arguments.len()..] {
                arguments.push(own.arguments(operands.extents(), shape, triple, set, operands.c.address())?);
            }
        }
        Ok(sets)
    }

    /// Queues one product of the set with this number, and waits for nothing.
    fn queue(&self, set: usize) -> Result<(), Fault> {
        let operands = self.operands.as_ref().ok_or_else(|| Fault::Failed("no operands are bound yet".into()))?;
        match &self.engine {
            Engine::Library(multiplication) => {
                let Bound { a, b, .. } = &operands.sets[set];
                multiplication.multiply(a, b, &operands.c)
            }
            Engine::Own { own, kernel, dequantise, arguments } => {
                if let (Some(dequantise), Bound { a, b, coded: Some(coded) }) = (dequantise, &operands.sets[set]) {
                    for (coded, to) in coded.iter().zip([a, b]) {
                        self.convert(dequantise, coded, to)?;
                    }
                }
                let kernel = kernel.as_ref().ok_or_else(|| Fault::Failed("the kernel is not loaded".into()))?;
                let geometry = own.geometry(&self.setting, self.shape, self.triple);
                // SAFETY: these are the arguments of the path's kernel, in its order; operands are padded to whole tiles, and the
                // kernel writes C inside its padded extents alone; whoever queues finishes before anything is dropped.
                unsafe { kernel.launch(geometry, &arguments[set]) }.map_err(Fault::from)
            }
        }
    }

    /// Queues the conversion of an operand to bf16.
    fn convert(&self, kernel: &Kernel, coded: &Coded, to: &Memory) -> Result<(), Fault> {
        let blocks = (coded.eights.div_ceil(256) as u32).min(self.setting.multiprocessors * 16);
        let geometry = Geometry { grid: (blocks, 1), block: 256, shared: 0 };
        let [elements, scales, to] =
            [&coded.elements, &coded.scales, to].map(|memory| Argument::Address(memory.address()));
        let arguments = [elements, scales, to, Argument::Number(coded.eights as i32)];
        // SAFETY: the kernel takes these and writes 16 bytes for each eight; the operand has that many rows of as many elements.
        Ok(unsafe { kernel.launch(geometry, &arguments) }?)
    }

    /// Queues one product of warm operands, which [`CudaGemm::ready`] made ready.
    pub(super) fn queue_warm(&self) -> Result<(), Fault> {
        self.queue(0)
    }

    /// Makes ready for [`CudaGemm::queue_warm`].
    pub(super) fn ready(&mut self) -> Result<(), Fault> {
        self.prepare(Cache::Warm).map(|_| ())
    }

    fn bound(&mut self) -> Result<(&mut Operands, &mut Engine), Fault> {
        let operands = self.operands.as_mut().ok_or_else(|| Fault::Failed("no operands are bound yet".into()))?;
        Ok((operands, &mut self.engine))
    }
}

impl Gemm for CudaGemm {
    fn load(&mut self) -> Result<(), Refusal> {
        let Engine::Own { own, kernel, dequantise, .. } = &mut self.engine else { return Ok(()) };
        let shared = own.block_in(&self.setting, self.triple).shared;
        *kernel = Some(Kernel::of(&self.setting.context, &own.cubin, source::GEMM_ENTRY, shared as u32)?);
        if let Some(cubin) = &own.dequantise {
            *dequantise = Some(Kernel::of(&self.setting.context, cubin, source::DEQUANTISE_ENTRY, 0)?);
        }
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.chain = None;
        let Setting { context, l2_bytes, .. } = &self.setting;
        let mut operands = Operands::bind(context, self.shape, self.triple, *l2_bytes, self.placement, a, b)?;
        if source::multiplied(self.triple) != self.triple {
            operands.add_codes(a, b)?;
        }
        if let Engine::Library(multiplication) = &mut self.engine {
            let Bound { a, b, .. } = &operands.sets[0];
            multiplication.choose(&self.setting.timer, a, b, &operands.c)?;
        }
        self.operands = Some(operands);
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        Ok(self.bound()?.0.c.fill(POISON)?)
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        if cache == Cache::Replayed {
            let launches = launches(self.shape.operations());
            if self.chain.is_none() {
                self.ready()?;
                let queued = || (0..launches).try_for_each(|_| self.queue_warm());
                self.chain = Some(Graph::record(&self.setting.context, queued)?);
            }
            return chain(&self.setting.timer, self.chain.as_ref(), launches, repetitions, cache);
        }
        let sets = self.prepare(cache)?;
        self.setting.timer.time(repetitions, |i| self.queue(i % sets))
    }

    fn repeat(&mut self, repetitions: usize) -> Result<(), Fault> {
        self.ready()?;
        (0..repetitions).try_for_each(|_| self.queue_warm())?;
        Ok(self.setting.context.finish()?)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        Ok(self.bound()?.0.output()?)
    }
}

impl Own {
    fn tiles(&self, shape: Shape) -> (usize, usize) {
        (shape.m.div_ceil(self.tile.m), shape.n.div_ceil(self.tile.n))
    }

    fn block_in(&self, setting: &Setting, triple: Triple) -> Block {
        self.block.unwrap_or_else(|| Block {
            threads: source::gemm_threads(self.path, triple, self.tile),
            shared: source::gemm_shared(self.path, self.tile, setting.shared_bytes),
        })
    }

    fn geometry(&self, setting: &Setting, shape: Shape, triple: Triple) -> Geometry {
        let (down, across) = self.tiles(shape);
        let grid = match self.path {
            Path::MmaSync => (down * across, 1),
            Path::Wgmma => {
                // Blocks stay, so there are as many as the device holds; a cluster takes a pair of tiles.
                let cluster = self.tile.cluster;
                let clusters = (down.div_ceil(cluster) * across).min(setting.multiprocessors as usize / cluster);
                (clusters.max(1) * cluster, 1)
            }
            _ => (across, down),
        };
        let Block { threads, shared } = self.block_in(setting, triple);
        Geometry { grid: (grid.0 as u32, grid.1 as u32), block: threads as u32, shared: shared as u32 }
    }

    /// The arguments of the path's kernel, as its file declares them.
    fn arguments(
        &self,
        extents: Extents,
        shape: Shape,
        triple: Triple,
        set: &Bound,
        c: u64,
    ) -> Result<Vec<Argument>, DriverError> {
        use Argument::{Address, Map, Number};
        let (down, across) = self.tiles(shape);
        let number = |n: usize| Number(n as i32);
        let Extents { rows_a, rows_b, pitch, apart, rows_c, pitch_c } = extents;
        let row_c = Matrix::row_bytes(triple.c, pitch_c);
        let mut arguments = match self.path {
            Path::Wgmma => vec![
                Map(mapped(set.a.address(), rows_a, (pitch, apart), self.tile.m)?),
                Map(mapped(set.b.address(), rows_b, (pitch, apart), self.tile.n / self.tile.cluster)?),
                Map(mapped(c, rows_c, (row_c, row_c), 16)?),
                number(pitch / SLAB),
                number(down),
                number(across),
            ],
            Path::MmaSync => vec![
                Address(set.a.address()),
                Address(set.b.address()),
                Address(c),
                number(rows_c),
                number(apart),
                number(pitch_c),
                number(down),
                number(across),
            ],
            _ => vec![
                Address(set.a.address()),
                Address(set.b.address()),
                Address(c),
                number(shape.m),
                number(shape.n),
                number(apart * 8 / triple.a.bits() as usize),
                number(pitch_c),
            ],
        };
        arguments.extend(self.bias.map(Address));
        Ok(arguments)
    }
}

/// A refusal to load, in the driver's words.
pub fn refused(error: &DriverError) -> Refusal {
    Refusal { rung: Rung::Load, diagnostic: error.to_string() }
}
