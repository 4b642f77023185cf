//! How do bias and activation follow a product, in its kernel or behind it?
//!
//! Fused, the kernel that multiplies finishes its sums in registers, where the layout of the accumulator tells a lane which column each
//! of them belongs to; the library has its own epilogues, GELU by tanh alone. Decomposed, the product adds the bias and a kernel
//! of this crate goes over C.
//!
//! A repetition is the replay of a recorded chain of [`launches`](super::graph::launches) products, its time divided by their number: short products are then
//! timed without the host. Operands are warm.

use super::cublaslt::Epilogue as LibraryEpilogue;
use super::driver::DriverError;
use super::graph::{Graph, chain, launches};
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::product::CudaGemm;
use crate::contract::{Cache, Epilogue, Fault, Gemm, Refusal, Rung, Sample};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape, Triple};

/// Epilogues of a path with the library's engine, or with kernels of this crate.
pub fn all(library: bool) -> Vec<Epilogue> {
    let each = |fused| Activation::ALL.map(|activation| Epilogue { activation, fused });
    let has = |epilogue: &Epilogue| !(library && epilogue.fused && epilogue.activation == Activation::GeluErf);
    [false, true].into_iter().flat_map(each).filter(has).collect()
}

/// A bias on the device, zeros until it is bound.
pub struct Bias {
    memory: Memory,
    format: Format,
}

impl Bias {
    /// Room for the bias of so many columns.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(memory: Memory, format: Format) -> Bias {
        Bias { memory, format }
    }

    /// Where it lies.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// What the library is told of it.
    pub fn for_library(&self, gelu: bool) -> LibraryEpilogue {
        LibraryEpilogue { bias: self.address(), format: self.format, gelu }
    }

    /// Copies the last row of B into it.
    fn bind(&self, b: &Matrix) -> Result<(), DriverError> {
        let mut bias = Matrix::zeroed(self.format, 1, b.cols);
        for column in 0..b.cols {
            // Every format of operands is narrower than that of its bias, so nothing is rounded.
            let value = b.value(b.rows - 1, column);
            bias.set(0, column, self.format.encode(value, Rounding::NearestEven, Overflow::Saturate));
        }
        self.memory.write(&bias.bytes)
    }
}

/// A product with an epilogue.
pub struct FinishedGemm {
    // Before the product: a chain is gone before what it touches.
    chain: Option<Graph>,
    gemm: CudaGemm,
    bias: Bias,
    after: Option<Kernel>,
    triple: Triple,
    shape: Shape,
}

impl FinishedGemm {
    /// A product that adds `bias`, and a kernel that goes over C behind it.
    pub fn new(gemm: CudaGemm, bias: Bias, after: Option<Kernel>, shape: Shape, triple: Triple) -> FinishedGemm {
        FinishedGemm { chain: None, gemm, bias, after, triple, shape }
    }

    fn queue(&self) -> Result<(), Fault> {
        self.gemm.queue_warm()?;
        let (Some(after), Some(c)) = (&self.after, self.gemm.output_address()) else { return Ok(()) };
        let extents = self.gemm.extents();
        let fours = extents.rows_c * Matrix::row_bytes(self.triple.c, extents.pitch_c) / 16;
        let blocks = (fours.div_ceil(256) as u32).min(self.gemm.setting().multiprocessors * 8);
        let geometry = Geometry { grid: (blocks, 1), block: 256, shared: 0 };
        // SAFETY: the kernel takes the address of C and how many groups of four f32 it has; whoever queues finishes first.
        Ok(unsafe { after.launch(geometry, &[Argument::Address(c), Argument::Number(fours as i32)]) }?)
    }
}

impl Gemm for FinishedGemm {
    fn load(&mut self) -> Result<(), Refusal> {
        self.gemm.load()
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.chain = None;
        self.bias.bind(b)?;
        let rows = b.rows - 1;
        let length = rows * Matrix::row_bytes(b.format, b.cols);
        let operand = Matrix { format: b.format, rows, cols: b.cols, bytes: b.bytes[..length].to_vec() };
        self.gemm.bind(a, &operand)
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.gemm.poison()
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        let launches = launches(self.shape.operations());
        if self.chain.is_none() {
            self.gemm.ready()?;
            let recorded =
                Graph::record(&self.gemm.setting().context, || (0..launches).try_for_each(|_| self.queue()))?;
            self.chain = Some(recorded);
        }
        chain(&self.gemm.setting().timer, self.chain.as_ref(), launches, repetitions, cache)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        self.gemm.output()
    }
}

/// That a library has no such epilogue.
pub fn no_erf() -> Refusal {
    Refusal { rung: Rung::Compile, diagnostic: "cuBLASLt's GELU is that by tanh; it has none by erf".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_fuses_one_of_two_activations() {
        assert_eq!((all(false).len(), all(true).len()), (4, 3));
        assert!(!all(true).contains(&Epilogue { activation: Activation::GeluErf, fused: true }));
    }
}
