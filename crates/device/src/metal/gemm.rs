//! How is a compiled product bound, run and timed?
//!
//! A launch waits for a queue that takes longer than a small product does, so a repetition's time is a slope: 1 + r launches in
//! one command buffer against one, over r. r grows until the difference is [`ENOUGH`] long, and stays 1 for large products.

use super::gpu::{Buffer, Gpu, Library, Pipeline};
use super::place::Placed;
use super::product::Product;
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

/// A product on a GPU.
pub struct MetalGemm<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    product: Product,
    triple: Triple,
    placed: Placed,
    library: Library,
    entry: &'static str,
    pipeline: Option<Pipeline>,
    operands: Vec<[Buffer; 2]>,
    output: Option<Buffer>,
    next: usize,
    launches: u32,
}

impl<G: Gpu> MetalGemm<G> {
    /// A product of a compiled library; it still needs [`Gemm::load`].
    pub fn new(gpu: Rc<RefCell<G>>, product: Product, triple: Triple, library: Library, entry: &'static str) -> Self {
        let placed = Placed::of(&product.operation, product.shape);
        let (pipeline, operands, output, next, launches) = (None, Vec::new(), None, 0, 0);
        MetalGemm { gpu, product, triple, placed, library, entry, pipeline, operands, output, next, launches }
    }

    fn bound(&self) -> Result<(Pipeline, Buffer), Fault> {
        let early = || Fault::Failed("called before load and bind".into());
        Ok((self.pipeline.ok_or_else(early)?, self.output.ok_or_else(early)?))
    }

    fn free(&mut self) {
        let mut gpu = self.gpu.borrow_mut();
        let output = self.output.take();
        self.operands.drain(..).flatten().chain(output).for_each(|buffer| gpu.free(buffer));
    }

    /// The device's time of so many launches, each on the next operands of the ring.
    fn once(&mut self, repeats: u32) -> Result<Time, Fault> {
        let (pipeline, output) = self.bound()?;
        let [a, b] = self.operands[self.next % self.operands.len()];
        self.next += 1;
        let launch = self.product.launch(pipeline, &self.placed, [a, b, output]);
        self.gpu.borrow_mut().launch(&launch, repeats)
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
        self.pipeline = Some(self.gpu.borrow_mut().pipeline(self.library, self.entry)?);
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.free();
        let left = self.placed.left(&self.product.operation, a);
        let right = self.placed.right(&self.product.operation, b);
        let mut gpu = self.gpu.borrow_mut();
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
