//! How is a compiled product bound and run, with what follows it?
//!
//! An activation in a kernel of its own is launched behind the product, every time. Times are slopes: see [`super::bound`].

use super::bound::Bound;
use super::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use super::place::Placed;
use super::product::{Product, whole};
use crate::contract::{Cache, Fault, Gemm, Refusal, Sample};
use rigel_numerics::block::NoPlanes;
use rigel_numerics::{Matrix, Triple};
use std::cell::RefCell;
use std::rc::Rc;

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
    library: Library,
    entry: &'static str,
    epilogue: Option<Epilogue>,
    launches: Launches,
    bound: Bound<G>,
}

/// What a repetition launches.
struct Launches {
    product: Product,
    placed: Placed,
    pipeline: Option<Pipeline>,
    activation: Option<Pipeline>,
    bias: Option<Buffer>,
}

impl Launches {
    fn chain(&self, pipeline: Pipeline, [a, b]: [Buffer; 2], output: Buffer) -> Vec<Launch> {
        let mut product = self.product.launch(pipeline, &self.placed, [a, b, output]);
        product.bindings.extend(self.bias.map(|bias| (4, whole(bias))));
        std::iter::once(product).chain(self.after(output)).collect()
    }

    /// The activation in a kernel of its own.
    fn after(&self, output: Buffer) -> Option<Launch> {
        let bindings = vec![(2, whole(output)), (3, Binding::Bytes(self.placed.words()))];
        let groups = [(self.product.shape.n as u32).div_ceil(ACTIVATION_THREADS), self.product.shape.m as u32, 1];
        self.activation.map(|pipeline| Launch { pipeline, groups, threads: ACTIVATION_THREADS, bindings })
    }
}

impl<G: Gpu> MetalGemm<G> {
    /// A product of a compiled library; it still needs [`Gemm::load`].
    pub fn new(gpu: Rc<RefCell<G>>, product: Product, triple: Triple, library: Library, entry: &'static str) -> Self {
        let placed = Placed::of(&product.operation, product.shape);
        let bound = Bound::new(Rc::clone(&gpu), triple.c, product.shape.m, product.shape.n);
        let launches = Launches { product, placed, pipeline: None, activation: None, bias: None };
        MetalGemm { gpu, library, entry, epilogue: None, launches, bound }
    }

    /// The same with an epilogue: B is then bound with the bias as one row more.
    pub fn with(self, epilogue: Epilogue) -> Self {
        MetalGemm { epilogue: Some(epilogue), ..self }
    }
}

impl<G: Gpu> Gemm for MetalGemm<G> {
    fn load(&mut self) -> Result<(), Refusal> {
        let mut gpu = self.gpu.borrow_mut();
        self.launches.pipeline = Some(gpu.pipeline(self.library, self.entry)?);
        if let Some(library) = self.epilogue.and_then(|epilogue| epilogue.apart) {
            self.launches.activation = Some(gpu.pipeline(library, "gelu")?);
        }
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        let Launches { product, placed, .. } = &self.launches;
        let k = product.shape.k;
        let own = Matrix { rows: k, bytes: b.bytes[..k * Matrix::row_bytes(b.format, b.cols)].to_vec(), ..*b };
        let unlike = |e: NoPlanes| Fault::Failed(e.to_string());
        let left = placed.left(&product.operation, a).map_err(unlike)?;
        let operands = [left, placed.right(&product.operation, &own).map_err(unlike)?];
        self.bound.bind([&operands[0], &operands[1]])?;
        if self.epilogue.is_some() {
            let bias: Vec<u8> = (0..b.cols).flat_map(|column| (b.value(k, column) as f32).to_le_bytes()).collect();
            self.launches.bias = Some(self.bound.holding(&bias)?);
        }
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.bound.poison()
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        let launches = &self.launches;
        let pipeline = launches.pipeline.ok_or_else(|| Fault::Failed("called before load".into()))?;
        self.bound.run(repetitions, cache, &|operands, output| launches.chain(pipeline, operands, output))
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        self.bound.output()
    }
}
