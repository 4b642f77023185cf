//! How is attention compiled, bound and run: softmax(Q Kᵀ / √n) V?
//!
//! A shape m × n × k is m queries in m / k heads of k keys and values each, and n columns a head; A is Q, B is all keys and then all
//! values. Fused it is one launch over all heads, on the matrix path or by scalar code. Decomposed it is three launches a head: scores
//! by a product, softmax, a product with the values.

use super::bound::Bound;
use super::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use super::level::Language;
use super::operation::Operation;
use super::place::Placed;
use super::product::{Path, Product, types_of};
use super::text::{ATTENTION_THREADS, Kernel};
use super::triples::Types;
use crate::contract::{Cache, Fault, Gemm, Refusal, Rung, Sample};
use rigel_numerics::{Matrix, Shape, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// Rows of Q of a SIMD-group and the keys that it meets at a time.
const MATRIX_TILES: [&str; 3] = ["16x32s1", "32x32s1", "16x64s1"];

/// Tiles of a form of attention on a path, best guess first; none where there is no such attention.
pub fn tiles(path: Path, types: Types, fused: bool) -> &'static [&'static str] {
    use super::element::Element::{Bfloat, Float, Half};
    let has = types.left == types.right && matches!(types.left, Half | Bfloat) && types.dest == Float;
    match (path, fused) {
        (Path::Scalar, true) if has => &["64x1t"],
        (Path::Cooperative, true) if has => &MATRIX_TILES,
        (Path::Cooperative, false) if has => path.tiles(),
        _ => &[],
    }
}

/// The kernels of a form.
enum Form {
    /// One kernel: its pipeline, and queries of a threadgroup and its threads.
    Fused { pipeline: Pipeline, rows: u32, threads: u32 },
    /// Scores, softmax, output: each product with its pipeline.
    Apart { products: [(Product, Pipeline); 2], softmax: Pipeline },
}

/// What is compiled of a form.
enum Texts {
    Fused { library: Library, entry: &'static str, rows: u32, threads: u32 },
    Apart { products: [(Product, Library, &'static str); 2], softmax: Library },
}

/// An attention on a GPU.
pub struct MetalAttention<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    shape: Shape,
    triple: Triple,
    texts: Texts,
    form: Option<Form>,
    /// Scores in float and weights in the format of A, of one head.
    between: Option<[Buffer; 2]>,
    bound: Bound<G>,
}

impl<G: Gpu> MetalAttention<G> {
    /// Compiles a form with a tile.
    ///
    /// # Errors
    /// A path without such an attention, an unknown tile, or what the compiler says.
    pub fn new(
        gpu: &Rc<RefCell<G>>,
        path: Path,
        triple: Triple,
        shape: Shape,
        tile: &str,
        fused: bool,
    ) -> Result<MetalAttention<G>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let how = if fused { "fused" } else { "decomposed" };
        let types = types_of(triple).filter(|types| !tiles(path, *types, fused).is_empty());
        let types = types.ok_or_else(|| refused(format!("path {} has no {how} attention of {triple}", path.name())))?;
        let known = tiles(path, types, fused);
        let unknown =
            || refused(format!("`{tile}` is no tile of {how} attention on {}; like {}", path.name(), known.join(", ")));
        if !shape.m.is_multiple_of(shape.k) {
            let words = format!("{shape}: {} queries are no whole number of heads of {} keys", shape.m, shape.k);
            return Err(refused(words));
        }
        let plain = Operation::new(types, 1, 1).with_tile(tile).ok_or_else(unknown)?;
        let (head, of) = (shape.n as u32, (types.left, types.dest));
        let mut device = gpu.borrow_mut();
        let language = device.sdk().map_or(Language::V3_2, |sdk| sdk.language());
        let mut compiled = |kernel: Kernel| device.compile(&kernel.source(language.max(kernel.language())));
        let texts = match (path, fused) {
            (Path::Scalar, _) => {
                let library = compiled(Kernel::AttentionScalar { types: of, head })?;
                let (rows, threads) = (ATTENTION_THREADS, ATTENTION_THREADS);
                Texts::Fused { library, entry: "attention_scalar", rows, threads }
            }
            (_, true) => {
                let (rows, keys) = (plain.m, plain.n);
                let library = compiled(Kernel::AttentionMatmul2d { types: of, head, rows, keys })?;
                Texts::Fused { library, entry: "attention_matmul2d", rows, threads: 32 }
            }
            (_, false) => {
                let scores = Operation { transpose_right: true, ..plain };
                let shapes =
                    [(scores, Shape::new(shape.k, shape.k, shape.n)), (plain, Shape::new(shape.k, shape.n, shape.k))];
                let mut products = Vec::new();
                for (operation, shape) in shapes {
                    let product = Product { path, operation, shape };
                    let (kernel, entry) = product.kernel().map_err(refused)?;
                    products.push((product, compiled(kernel)?, entry));
                }
                let softmax = compiled(Kernel::Softmax(types.left))?;
                Texts::Apart { products: [products[0], products[1]], softmax }
            }
        };
        drop(device);
        let bound = Bound::new(Rc::clone(gpu), triple.c, shape.m, shape.n);
        Ok(MetalAttention { gpu: Rc::clone(gpu), shape, triple, texts, form: None, between: None, bound })
    }
}

/// Queries, keys and scale, as the kernels have them.
fn words(shape: Shape) -> Vec<u8> {
    let scale = 1.0 / (shape.n as f64).sqrt();
    let keys = (shape.k as i32).to_le_bytes();
    [keys, keys, (scale as f32).to_le_bytes()].concat()
}

/// A buffer from a byte on.
fn from(buffer: Buffer, offset: usize) -> Binding {
    Binding::Buffer { buffer, offset: offset as u64 }
}

impl Form {
    fn chain(
        &self,
        shape: Shape,
        [in_bytes, out_bytes]: [usize; 2],
        [q, kv]: [Buffer; 2],
        o: Buffer,
        between: Option<[Buffer; 2]>,
    ) -> Vec<Launch> {
        let Shape { m, n, k } = shape;
        let values = m * n * in_bytes;
        match self {
            Form::Fused { pipeline, rows, threads } => {
                let bindings = [from(q, 0), from(kv, 0), from(kv, values), from(o, 0), Binding::Bytes(words(shape))];
                let bindings = (0..).zip(bindings).collect();
                let groups = [(k as u32).div_ceil(*rows), (m / k) as u32, 1];
                vec![Launch { pipeline: *pipeline, groups, threads: *threads, bindings }]
            }
            Form::Apart { products, softmax } => {
                let Some([scores, weights]) = between else { return Vec::new() };
                let mut chain = Vec::new();
                let product = |(product, pipeline): &(Product, Pipeline), operands: [(Buffer, usize); 3]| {
                    let placed = Placed::of(&product.operation, product.shape);
                    let mut launch = product.launch(*pipeline, &placed, operands.map(|(buffer, _)| buffer));
                    let moved = operands.map(|(buffer, offset)| from(buffer, offset));
                    launch.bindings.iter_mut().zip(moved).for_each(|((_, binding), moved)| *binding = moved);
                    launch
                };
                for head in 0..m / k {
                    let (own, own_out) = (head * k * n * in_bytes, head * k * n * out_bytes);
                    chain.push(product(&products[0], [(q, own), (kv, own), (scores, 0)]));
                    let bindings = vec![(0, from(scores, 0)), (1, from(weights, 0)), (2, Binding::Bytes(words(shape)))];
                    chain.push(Launch { pipeline: *softmax, groups: [k as u32, 1, 1], threads: 32, bindings });
                    chain.push(product(&products[1], [(weights, 0), (kv, values + own), (o, own_out)]));
                }
                chain
            }
        }
    }
}

impl<G: Gpu> Gemm for MetalAttention<G> {
    fn load(&mut self) -> Result<(), Refusal> {
        let mut gpu = self.gpu.borrow_mut();
        self.form = Some(match &self.texts {
            Texts::Fused { library, entry, rows, threads } => {
                Form::Fused { pipeline: gpu.pipeline(*library, entry)?, rows: *rows, threads: *threads }
            }
            Texts::Apart { products, softmax } => {
                let mut ready = |(product, library, entry): &(Product, Library, &str)| {
                    Ok::<_, Refusal>((*product, gpu.pipeline(*library, entry)?))
                };
                let products = [ready(&products[0])?, ready(&products[1])?];
                Form::Apart { products, softmax: gpu.pipeline(*softmax, "softmax")? }
            }
        });
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.bound.bind([&a.bytes, &b.bytes])?;
        self.between = None;
        if let Texts::Apart { .. } = self.texts {
            let scores = self.shape.k * self.shape.k;
            let between = [4 * scores, Matrix::row_bytes(self.triple.a, scores)];
            let [scores, weights] = between.map(|bytes| self.bound.holding(&vec![0; bytes]));
            self.between = Some([scores?, weights?]);
        }
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.bound.poison()
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        let form = self.form.as_ref().ok_or_else(|| Fault::Failed("called before load".into()))?;
        let (shape, between) = (self.shape, self.between);
        let bytes = [self.triple.a, self.triple.c].map(|format| Matrix::row_bytes(format, 1));
        self.bound.run(repetitions, cache, &|operands, o| form.chain(shape, bytes, operands, o, between))
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        self.bound.output()
    }
}
