//! How is a product bound and run whose operands lie at other addresses?
//!
//! The kernel text is that of any product: distances between rows are parameters of every kernel, offsets those of its bindings. So the
//! rules that show are those of `matmul2d` over tensors that the kernel makes (`matmul2d`), of the host's tensors (`matmul2d.handle`), and of
//! plain loads (`scalar`, `tiled`, `simdgroup_matrix`). A host that refuses a tensor says so when it is bound, in its own words.

use super::bound::Bound;
use super::element::Element;
use super::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use super::operation::Operation;
use super::place::Placed;
use super::product::{Path, Product};
use super::usage::Usage;
use crate::contract::{Cache, Fault, GUARD, Gemm, Refusal, Rung, Sample};
use rigel_numerics::block::NoPlanes;
use rigel_numerics::placement::{ALIGNED, Placement};
use rigel_numerics::{Format, Matrix, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// The launch tiles of placed products: the best guess of the path, where its operands are whole bytes; with tensors of the host once for
/// each use that they can be made for.
pub fn tiles(path: Path, triple: Triple) -> Vec<String> {
    let whole = |format: &Format| format.scale_groups().is_none() && format.bits().is_multiple_of(8);
    let whole = [triple.a, triple.b].iter().all(whole);
    let usages = if path == Path::Handle { &Usage::ALL[..] } else { &[Usage::Compute] };
    let tiles = path.tiles().first().filter(|_| whole).into_iter();
    tiles.flat_map(|tile| usages.iter().map(move |usage| format!("{tile}{}", usage.suffix()))).collect()
}

/// A product whose operands are placed.
pub struct PlacedGemm<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    library: Library,
    entry: &'static str,
    places: Places,
    pipeline: Option<Pipeline>,
    bound: Bound<G>,
}

/// What a repetition launches, and how its operands lie.
struct Places {
    product: Product,
    placed: Placed,
    /// Bytes from one stored row of A, and of B, to the next.
    apart: [usize; 2],
    placement: Placement,
    usage: Usage,
}

impl<G: Gpu> PlacedGemm<G> {
    /// A product of a compiled library.
    ///
    /// # Errors
    /// A distance that is no whole number of elements, in which kernels and tensors count.
    pub fn new(
        gpu: Rc<RefCell<G>>,
        product: Product,
        triple: Triple,
        (library, entry): (Library, &'static str),
        (placement, usage): (Placement, Usage),
    ) -> Result<Self, Refusal> {
        let mut placed = Placed::of(&product.operation, product.shape);
        let (types, shape) = (product.operation.types, product.shape);
        let columns = stored_columns(&product.operation, &placed, shape.m);
        let mut apart = [0; 2];
        for (i, element) in [types.left, types.right].into_iter().enumerate() {
            let each = bytes_of(element);
            apart[i] = placement.stride.bytes(columns[i] * each);
            if !apart[i].is_multiple_of(each) {
                let (apart, spelled) = (apart[i], element.spelled());
                let diagnostic =
                    format!("rows {apart} bytes apart: strides count elements of {spelled}, of {each} bytes each");
                return Err(Refusal { rung: Rung::Compile, diagnostic });
            }
            placed.pitch[i] = apart[i] / each;
        }
        let bound = Bound::new(Rc::clone(&gpu), triple.c, shape.m, shape.n);
        let places = Places { product, placed, apart, placement, usage };
        Ok(PlacedGemm { gpu, library, entry, places, pipeline: None, bound })
    }
}

impl Places {
    /// Rows with guards between, before and behind them.
    fn guarded(&self, stored: &[u8], row: usize, apart: usize) -> Vec<u8> {
        let mut bytes = vec![GUARD; ALIGNED + self.placement.offset + stored.len().next_multiple_of(apart) + ALIGNED];
        let lines = bytes[ALIGNED + self.placement.offset..].chunks_mut(apart);
        stored.chunks(apart).zip(lines).for_each(|(from, to)| to[..row].copy_from_slice(&from[..row]));
        bytes
    }

    fn launch(&self, pipeline: Pipeline, [a, b]: [Buffer; 2], output: Buffer) -> Launch {
        let mut launch = self.usage.of(self.product.launch(pipeline, &self.placed, [a, b, output]));
        let first = (ALIGNED + self.placement.offset) as u64;
        for (index, binding) in &mut launch.bindings {
            match binding {
                Binding::Buffer { offset, .. } if *index < 2 => *offset = first,
                Binding::Tensor(tensor) if *index < 2 => tensor.offset = first,
                _ => {}
            }
        }
        launch
    }
}

/// Columns of both operands as they are stored.
fn stored_columns(operation: &Operation, placed: &Placed, m: usize) -> [usize; 2] {
    let left = if operation.transpose_left { m } else { placed.k };
    let right = if operation.transpose_right { placed.k } else { placed.wide };
    [left, right]
}

/// Bytes of an element of whole bytes.
fn bytes_of(element: Element) -> usize {
    (element.bits() as usize / 8).max(1)
}

impl<G: Gpu> Gemm for PlacedGemm<G> {
    fn load(&mut self) -> Result<(), Refusal> {
        self.pipeline = Some(self.gpu.borrow_mut().pipeline(self.library, self.entry)?);
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        let Places { product, placed, apart, .. } = &self.places;
        let operation = &product.operation;
        let unlike = |e: NoPlanes| Fault::Failed(e.to_string());
        let stored = [placed.left(operation, a).map_err(unlike)?, placed.right(operation, b).map_err(unlike)?];
        let columns = stored_columns(operation, placed, product.shape.m);
        let elements = [operation.types.left, operation.types.right];
        let rows = |i: usize| self.places.guarded(&stored[i], columns[i] * bytes_of(elements[i]), apart[i]);
        let [left, right] = [rows(0), rows(1)];
        self.bound.bind([&left, &right])
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.bound.poison()
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        let pipeline = self.pipeline.ok_or_else(|| Fault::Failed("called before load".into()))?;
        let places = &self.places;
        self.bound.run(repetitions, cache, &|operands, output| vec![places.launch(pipeline, operands, output)])
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        self.bound.output()
    }
}
