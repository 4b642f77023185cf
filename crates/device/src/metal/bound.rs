//! How is a chain of launches run over bound operands, and timed?
//!
//! A launch waits for a queue that takes longer than a small product does, so a repetition's time is a slope: 1 + r chains in
//! one command buffer against one, over r. r grows until the difference is [`ENOUGH`] long, and stays 1 for large products.

use super::gpu::{Buffer, Gpu, Launch};
use crate::contract::{Cache, Fault, POISON, Sample};
use rigel_numerics::{Format, Matrix, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// What the timed part of a repetition should last, against the clock's and the queue's unrest.
const ENOUGH: Time = Time::from_ns(2_000_000);

/// Most chains in a command buffer.
const MOST_LAUNCHES: u32 = 4096;

/// What a buffer takes at least: a page of Apple's systems.
const PAGE: usize = 16 << 10;

/// The launches of one repetition over both operands and the output.
pub type Chain<'a> = &'a dyn Fn([Buffer; 2], Buffer) -> Vec<Launch>;

/// Operands and an output in device memory.
pub struct Bound<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    format: Format,
    rows: usize,
    cols: usize,
    operands: Vec<[Buffer; 2]>,
    output: Option<Buffer>,
    /// What else the chain reads or writes.
    more: Vec<Buffer>,
    next: usize,
    launches: u32,
}

impl<G: Gpu> Bound<G> {
    /// Nothing yet; the output will be `rows` × `cols` of a format.
    pub fn new(gpu: Rc<RefCell<G>>, format: Format, rows: usize, cols: usize) -> Bound<G> {
        Bound { gpu, format, rows, cols, operands: Vec::new(), output: None, more: Vec::new(), next: 0, launches: 0 }
    }

    /// Takes both operands; what was there is given back.
    ///
    /// # Errors
    /// Too little memory.
    pub fn bind(&mut self, operands: [&[u8]; 2]) -> Result<(), Fault> {
        self.free();
        let mut gpu = self.gpu.borrow_mut();
        let [left, right] = operands;
        self.operands.push([gpu.buffer(left)?, gpu.buffer(right)?]);
        self.output = Some(gpu.buffer(&vec![POISON; self.bytes()])?);
        Ok(())
    }

    /// Memory that lives as long as these operands.
    ///
    /// # Errors
    /// Too little memory.
    pub fn holding(&mut self, bytes: &[u8]) -> Result<Buffer, Fault> {
        let buffer = self.gpu.borrow_mut().buffer(bytes)?;
        self.more.push(buffer);
        Ok(buffer)
    }

    fn bytes(&self) -> usize {
        self.rows * Matrix::row_bytes(self.format, self.cols)
    }

    fn bound(&self) -> Result<Buffer, Fault> {
        self.output.ok_or_else(|| Fault::Failed("called before load and bind".into()))
    }

    fn free(&mut self) {
        let mut gpu = self.gpu.borrow_mut();
        let more = self.more.drain(..).chain(self.output.take());
        self.operands.drain(..).flatten().chain(more).for_each(|buffer| gpu.free(buffer));
    }

    /// Fills the output with poison.
    ///
    /// # Errors
    /// Nothing was bound, or too little memory.
    pub fn poison(&mut self) -> Result<(), Fault> {
        let output = self.bound()?;
        let mut gpu = self.gpu.borrow_mut();
        gpu.free(output);
        self.output = None;
        self.output = Some(gpu.buffer(&vec![POISON; self.bytes()])?);
        Ok(())
    }

    /// Runs repetitions of a chain.
    ///
    /// # Errors
    /// Nothing was bound, or what the device reports.
    pub fn run(&mut self, repetitions: usize, cache: Cache, chain: Chain<'_>) -> Result<Vec<Sample>, Fault> {
        self.bound()?;
        if cache == Cache::Replayed {
            return Err(Fault::not_replayed("this backend records no chain of launches"));
        }
        if cache == Cache::Cold {
            self.widen()?;
            // Operands rotate between repetitions, so one launch is timed and the queue's time is in it.
            return (0..repetitions).map(|_| Ok(Sample { time: self.once(1, chain)?, clock: None })).collect();
        }
        if self.launches == 0 {
            self.settle(chain)?;
        }
        (0..repetitions).map(|_| Ok(Sample { time: self.sample(chain)?, clock: None })).collect()
    }

    /// The output as it is.
    ///
    /// # Errors
    /// Nothing was bound, or that a kernel wrote outside.
    pub fn output(&mut self) -> Result<Matrix, Fault> {
        let output = self.bound()?;
        let bytes = self.gpu.borrow_mut().read(output)?;
        Ok(Matrix { bytes, ..Matrix::zeroed(self.format, self.rows, self.cols) })
    }

    /// The device's time of so many chains, each on the next operands of the ring.
    fn once(&mut self, repeats: u32, chain: Chain<'_>) -> Result<Time, Fault> {
        let output = self.bound()?;
        let operands = self.operands[self.next % self.operands.len()];
        self.next += 1;
        self.gpu.borrow_mut().chain(&chain(operands, output), repeats)
    }

    fn sample(&mut self, chain: Chain<'_>) -> Result<Time, Fault> {
        let one = self.once(1, chain)?;
        let many = self.once(1 + self.launches, chain)?;
        Ok(Time(many.0.saturating_sub(one.0) / u64::from(self.launches)))
    }

    fn settle(&mut self, chain: Chain<'_>) -> Result<(), Fault> {
        self.launches = 1;
        while self.launches < MOST_LAUNCHES {
            let per_launch = self.sample(chain)?;
            if per_launch.0 * u64::from(self.launches) >= ENOUGH.0 {
                break;
            }
            self.launches *= 2;
        }
        Ok(())
    }

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

impl<G: Gpu> Drop for Bound<G> {
    fn drop(&mut self) {
        self.free();
    }
}
