//! How is a compiled product bound, run and timed?
//!
//! A launch waits for a queue that takes longer than a small product does, so a repetition's time is a slope: 1 + r launches in
//! one command buffer against one, over r. r grows until the difference is [`ENOUGH`] long, and stays 1 for large products. An
//! activation in a kernel of its own is launched behind the product, every time.

use super::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use super::place::Placed;
use super::product::{Product, whole};
use crate::contract::{Cache, Fault, Gemm, POISON, Refusal, Sample};
use rigel_numerics::{Matrix, Time, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// What the timed part of a repetition should last, against the clock's and the queue's unrest.
const ENOUGH: Time = Time::from_ns(2_000_000);

/// Most launches in a command buffer.
const MOST_LAUNCHES: u32 = 4096;

/// What a buffer takes at least: a page of Apple's systems.
const PAGE: usize = 16 << 10;

/// Threads of a threadgroup of the activation's own kernel, which its text knows.
const ACTIVATION_THREADS: u32 = 256;

/// A bias, and the kernel of its own that applies the activation, if it has one.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue {
    /// The activation's library, where the kernel that multiplies does not apply it.
    pub apart: Option<Library>,
}

/// A product on a GPU.
pub struct MetalGemm<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    product: Product,
    triple: Triple,
    placed: Placed,
    library: Library,
    entry: &'static str,
    epilogue: Option<Epilogue>,
    pipeline: Option<Pipeline>,
    activation: Option<Pipeline>,
    bias: Option<Buffer>,
    operands: Vec<[Buffer; 2]>,
    output: Option<Buffer>,
    next: usize,
    launches: u32,
}

impl<G: Gpu> MetalGemm<G> {
    /// A product of a compiled library; it still needs [`Gemm::load`].
    pub fn new(gpu: Rc<RefCell<G>>, product: Product, triple: Triple, library: Library, entry: &'static str) -> Self {
        let placed = Placed::of(&product.operation, product.shape);
        MetalGemm {
            gpu,
            product,
            triple,
            placed,
            library,
            entry,
            epilogue: None,
            pipeline: None,
            activation: None,
            bias: None,
            operands: Vec::new(),
            output: None,
            next: 0,
            launches: 0,
        }
    }

    /// The same with an epilogue: B is then bound with the bias as one row more.
    pub fn with(mut self, epilogue: Epilogue) -> Self {
        self.epilogue = Some(epilogue);
        self
    }

    fn bound(&self) -> Result<(Pipeline, Buffer), Fault> {
        let early = || Fault::Failed("called before load and bind".into());
        Ok((self.pipeline.ok_or_else(early)?, self.output.ok_or_else(early)?))
    }

    fn free(&mut self) {
        let mut gpu = self.gpu.borrow_mut();
        let more = [self.output.take(), self.bias.take()].into_iter().flatten();
        self.operands.drain(..).flatten().chain(more).for_each(|buffer| gpu.free(buffer));
    }

    /// The device's time of so many launches, each on the next operands of the ring.
    fn once(&mut self, repeats: u32) -> Result<Time, Fault> {
        let (pipeline, output) = self.bound()?;
        let [a, b] = self.operands[self.next % self.operands.len()];
        self.next += 1;
        let mut product = self.product.launch(pipeline, &self.placed, [a, b, output]);
        product.bindings.extend(self.bias.map(|bias| (4, whole(bias))));
        let chain: Vec<Launch> = std::iter::once(product).chain(self.after(output)).collect();
        self.gpu.borrow_mut().chain(&chain, repeats)
    }

    /// The activation in a kernel of its own.
    fn after(&self, output: Buffer) -> Option<Launch> {
        let bindings = vec![(2, whole(output)), (3, Binding::Bytes(self.placed.words()))];
        let groups = [(self.product.shape.n as u32).div_ceil(ACTIVATION_THREADS), self.product.shape.m as u32, 1];
        let launch = |pipeline| Launch { pipeline, groups, threads: ACTIVATION_THREADS, bindings };
        self.activation.map(launch)
    }

    fn sample(&mut self) -> Result<Time, Fault> {
        let one = self.once(1)?;
        let many = self.once(1 + self.launches)?;
        Ok(Time(many.0.saturating_sub(one.0) / u64::from(self.launches)))
    }

    fn settle(&mut self) -> Result<(), Fault> {
        self.launches = 1;
        while self.launches < MOST_LAUNCHES {
            let per_launch = self.sample()?;
            if per_launch.0 * u64::from(self.launches) >= ENOUGH.0 {
                break;
            }
            self.launches *= 2;
        }
        Ok(())
    }
}

impl<G: Gpu> Drop for MetalGemm<G> {
    fn drop(&mut self) {
        self.free();
    }
}

impl<G: Gpu> Gemm for MetalGemm<G> {
    fn load(&mut self) -> Result<(), Refusal> {
        let mut gpu = self.gpu.borrow_mut();
        self.pipeline = Some(gpu.pipeline(self.library, self.entry)?);
        if let Some(library) = self.epilogue.and_then(|epilogue| epilogue.apart) {
            self.activation = Some(gpu.pipeline(library, "gelu")?);
        }
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.free();
        let left = self.placed.left(&self.product.operation, a);
        let k = self.product.shape.k;
        let own = Matrix { rows: k, bytes: b.bytes[..k * Matrix::row_bytes(b.format, b.cols)].to_vec(), ..*b };
        let right = self.placed.right(&self.product.operation, &own);
        let mut gpu = self.gpu.borrow_mut();
        if self.epilogue.is_some() {
            let bias: Vec<u8> = (0..b.cols).flat_map(|column| (b.value(k, column) as f32).to_le_bytes()).collect();
            self.bias = Some(gpu.buffer(&bias)?);
        }
        self.operands.push([gpu.buffer(&left)?, gpu.buffer(&right)?]);
        let shape = self.product.shape;
        let bytes = shape.m * Matrix::row_bytes(self.triple.c, shape.n);
        self.output = Some(gpu.buffer(&vec![POISON; bytes])?);
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        let (_, output) = self.bound()?;
        let mut gpu = self.gpu.borrow_mut();
        let bytes = gpu.read(output)?.len();
        gpu.free(output);
        self.output = None;
        self.output = Some(gpu.buffer(&vec![POISON; bytes])?);
        Ok(())
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        self.bound()?;
        if cache == Cache::Cold {
            self.widen()?;
            // Operands rotate between repetitions, so one launch is timed and the queue's time is in it.
            return (0..repetitions).map(|_| Ok(Sample { time: self.once(1)?, clock: None })).collect();
        }
        if self.launches == 0 {
            self.settle()?;
        }
        (0..repetitions).map(|_| Ok(Sample { time: self.sample()?, clock: None })).collect()
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        let (_, output) = self.bound()?;
        let shape = self.product.shape;
        let bytes = self.gpu.borrow_mut().read(output)?;
        Ok(Matrix { bytes, ..Matrix::zeroed(self.triple.c, shape.m, shape.n) })
    }
}

impl<G: Gpu> MetalGemm<G> {
    /// Copies of the operands until they fill the last-level cache twice.
    fn widen(&mut self) -> Result<(), Fault> {
        let mut gpu = self.gpu.borrow_mut();
        let [a, b] = self.operands[0];
        let (left, right) = (gpu.read(a)?, gpu.read(b)?);
        let taken = left.len().max(PAGE) + right.len().max(PAGE);
        let copies = (2 * gpu.last_level_bytes()).div_ceil(taken as u64) + 1;
        while (self.operands.len() as u64) < copies {
            let copy = [gpu.buffer(&left)?, gpu.buffer(&right)?];
            self.operands.push(copy);
        }
        Ok(())
    }
}
