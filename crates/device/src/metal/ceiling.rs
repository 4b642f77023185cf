//! How fast can a unit go when no memory is in the way?
//!
//! A loop keeps independent sums in registers and adds to them what the next step takes away again, so that after an even number of
//! steps every sum is the small integer that it began as; where the left type has no negative numbers the steps add up, and the
//! host knows to what. Sums are stored and checked.

use super::element::Element;
use super::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use super::level::Language;
use super::operation::{Mode, Operation, Scope};
use super::place::Placed;
use super::product::{Path, whole};
use super::text::{Kernel, MATRIX_SLOTS, TENSOR_SLOTS, has_fragments};
use super::triples::Types;
use crate::contract::{Ceiling, Fault, Kind, Refusal, Rung, Sample};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};
use std::cell::RefCell;
use std::rc::Rc;

/// Threadgroups a core: enough that every ALU has several SIMD-groups to turn to.
const GROUPS_A_CORE: u32 = 16;

/// Threads of a threadgroup of the scalar loop, and of the matrices' loops: four SIMD-groups.
const SCALAR_THREADS: u32 = 256;
const MATRIX_THREADS: u32 = 128;

/// Steps of one launch of the scalar loop, and multiply-adds of a SIMD-group and chain in one of the others; about a millisecond.
const SCALAR_STEPS: u32 = 8192;
const MULTIPLY_ADDS: u32 = 1 << 22;

/// The same of a device in software: enough that starting a thread costs nothing beside it.
const SOFTWARE_STEPS: u32 = 2048;
const SOFTWARE_MULTIPLY_ADDS: u32 = 1 << 17;

/// The tile of a `matmul2d` in the loop: the smallest that both inputs can be cooperative for.
const TILE: Shape = Shape { m: 16, n: 32, k: 32 };

/// What a loop repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// Multiply-adds of one thread, in float or half.
    Scalar(Element),
    /// `simdgroup_multiply_accumulate`.
    SimdGroup(Types),
    /// `matmul2d` of one SIMD-group.
    Matmul2d(Operation),
}

impl Repeated {
    /// What the loop of a path and triple repeats, where there is one.
    pub fn of(path: Path, types: Types) -> Option<Repeated> {
        match path {
            // Half operands of a sum in float are converted before they are multiplied, so the loop is float's.
            Path::Scalar if types == Types::new(Element::Half, Element::Half, Element::Half) => {
                Some(Repeated::Scalar(Element::Half))
            }
            Path::Scalar if !types.dest.is_integer() && !types.has_format() => Some(Repeated::Scalar(Element::Float)),
            Path::Scalar | Path::Tiled => None,
            Path::SimdGroup => Some(Repeated::SimdGroup(types)),
            Path::Inline | Path::Cooperative | Path::Handle => {
                let (step, scope, mode) = (TILE.k as u32, Scope::SimdGroups(1), Mode::MultiplyAccumulate);
                let plain = Operation::new(types, TILE.m as u32, TILE.n as u32);
                let transpose_right = types.right.is_scaled();
                Some(Repeated::Matmul2d(Operation { step, scope, mode, transpose_right, ..plain }))
            }
        }
    }

    /// Variants in order of growing parallelism: independent sums × SIMD-groups of a threadgroup.
    pub const fn variants(self) -> &'static [&'static str] {
        match self {
            Repeated::Scalar(_) => &["ilp1x8", "ilp2x8", "ilp4x8", "ilp8x8", "ilp12x8", "ilp16x8"],
            Repeated::SimdGroup(_) => &["ilp1x4", "ilp2x4", "ilp4x4", "ilp8x4", "ilp12x4"],
            Repeated::Matmul2d(_) => &["ilp1x4", "ilp2x4", "ilp3x4", "ilp4x4"],
        }
    }

    /// Multiply-adds of a chain in one step: of a thread, or of a SIMD-group.
    fn multiply_adds(self) -> u32 {
        match self {
            Repeated::Scalar(_) => 1,
            Repeated::SimdGroup(_) => 512,
            Repeated::Matmul2d(o) => o.m * o.n * o.step,
        }
    }

    /// k of one step.
    fn depth(self) -> u32 {
        match self {
            Repeated::Scalar(_) => 1,
            Repeated::SimdGroup(_) => 8,
            Repeated::Matmul2d(o) => o.step,
        }
    }

    /// The type in which the sums lie in memory.
    fn sum(self) -> Element {
        match self {
            Repeated::Scalar(element) => element,
            Repeated::SimdGroup(types) => types.dest,
            Repeated::Matmul2d(o) => o.types.dest,
        }
    }

    /// The left values of the two steps of a pair.
    fn turns(self) -> [f64; 2] {
        match self {
            Repeated::Matmul2d(o) if matches!(o.types.left, Element::Uint8 | Element::Uint4 | Element::Uint2) => {
                [1.0, 1.0]
            }
            _ => [1.0, -1.0],
        }
    }
}

/// A loop, compiled.
pub struct Loop<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    repeated: Repeated,
    pipeline: Pipeline,
    chains: u32,
    groups: u32,
    threads: u32,
    steps: u32,
    /// Parameters beside the sums.
    bindings: Vec<(u32, Binding)>,
    held: Vec<Buffer>,
    out: Option<Buffer>,
}

impl<G: Gpu> Loop<G> {
    /// Compiles a variant.
    ///
    /// # Errors
    /// An unknown variant, or what the compiler or the device says.
    pub fn new(gpu: &Rc<RefCell<G>>, repeated: Repeated, variant: &str) -> Result<Loop<G>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let known = repeated.variants().iter().find(|known| **known == variant);
        let chains = known.and_then(|known| known.trim_start_matches("ilp").split_once('x')?.0.parse().ok());
        let chains: u32 = chains
            .ok_or_else(|| refused(format!("no variant `{variant}`; there are {}", repeated.variants().join(", "))))?;
        let mut device = gpu.borrow_mut();
        let (library, entry) = compiled(&mut *device, repeated, chains)?;
        let pipeline = device.pipeline(library, entry)?;
        let description = device.describe();
        // A device in software has one core and no ALUs to fill.
        let is_real = description.kind == Kind::Measured;
        let is_scalar = matches!(repeated, Repeated::Scalar(_));
        let (groups, threads, steps) = match (is_real, is_scalar) {
            (false, true) => (1, 32, SOFTWARE_STEPS),
            (false, false) => (1, 32, SOFTWARE_MULTIPLY_ADDS / repeated.multiply_adds()),
            (true, true) => (description.cores.max(1) * GROUPS_A_CORE, SCALAR_THREADS, SCALAR_STEPS),
            (true, false) => {
                let steps = MULTIPLY_ADDS / repeated.multiply_adds();
                (description.cores.max(1) * GROUPS_A_CORE, MATRIX_THREADS, steps.next_multiple_of(2))
            }
        };
        drop(device);
        let mut made = Loop {
            gpu: Rc::clone(gpu),
            repeated,
            pipeline,
            chains,
            groups,
            threads,
            steps,
            bindings: Vec::new(),
            held: Vec::new(),
            out: None,
        };
        made.bind().map_err(|fault| Refusal { rung: Rung::Load, diagnostic: fault.to_string() })?;
        Ok(made)
    }

    /// The loop's parameters, and the tiles that inputs without cooperative form lie in.
    fn bind(&mut self) -> Result<(), Fault> {
        let mut words = self.steps.to_le_bytes().to_vec();
        let [plus, minus] = self.repeated.turns();
        match self.repeated {
            Repeated::Scalar(element) => {
                let format = if element == Element::Half { Format::F16 } else { Format::F32 };
                for value in [-1.0, 1.0] {
                    let code = format.encode(value, Rounding::NearestEven, Overflow::Ieee);
                    words.extend(&code.to_le_bytes()[..element.bits() as usize / 8]);
                }
            }
            Repeated::SimdGroup(_) => {
                words.extend([plus, minus, 1.0].iter().flat_map(|x| (*x as f32).to_le_bytes()));
            }
            Repeated::Matmul2d(o) => {
                let placed = Placed::of(&o, TILE);
                words.extend([plus, minus, 1.0].iter().flat_map(|x| (*x as f32).to_le_bytes()));
                words.extend([placed.pitch[0], placed.pitch[1]].iter().flat_map(|p| (*p as i32).to_le_bytes()));
                let tiles = [
                    placed.left(&o, &full(o.types.left, TILE.m, TILE.k, plus)),
                    placed.left(&o, &full(o.types.left, TILE.m, TILE.k, minus)),
                    placed.right(&o, &full(o.types.right, TILE.k, TILE.n, 1.0)),
                ];
                // All scales are 1, so one plane serves both left tiles.
                let planes = [placed.scales[0].map(|at| (5, at)), None, placed.scales[1].map(|at| (6, at))];
                for ((index, bytes), plane) in (2..).zip(tiles).zip(planes) {
                    let bytes = bytes.map_err(|e| Fault::Failed(e.to_string()))?;
                    let buffer = self.gpu.borrow_mut().buffer(&bytes)?;
                    self.held.push(buffer);
                    self.bindings.push((index, whole(buffer)));
                    self.bindings
                        .extend(plane.map(|(index, at)| (index, Binding::Buffer { buffer, offset: at as u64 })));
                }
            }
        }
        self.bindings.push((1, Binding::Bytes(words)));
        Ok(())
    }

    /// Sums of a lane and chain that memory has room for.
    fn slots(&self) -> u32 {
        match self.repeated {
            Repeated::Scalar(_) => 1,
            Repeated::SimdGroup(_) => MATRIX_SLOTS,
            Repeated::Matmul2d(_) => TENSOR_SLOTS,
        }
    }

    /// What chain `chain` of thread `thread` must be after the loop.
    fn expected(&self, thread: usize, chain: usize) -> f64 {
        let began = match self.repeated {
            Repeated::Scalar(_) => chain + thread % 4,
            _ => chain + thread / 32 % 4,
        };
        let [plus, minus] = self.repeated.turns();
        began as f64 + f64::from(self.steps / 2 * self.repeated.depth()) * (plus + minus)
    }
}

/// The library of a loop and its entry.
fn compiled(gpu: &mut dyn Gpu, repeated: Repeated, chains: u32) -> Result<(Library, &'static str), Refusal> {
    let (kernel, entry) = match repeated {
        Repeated::Scalar(element) => (Kernel::Roofline { element, chains }, "roofline"),
        Repeated::SimdGroup(types) => (Kernel::CeilingSimdGroup { types, chains }, "ceiling"),
        Repeated::Matmul2d(operation) => {
            // The first header has cooperative destinations only.
            let fragments = gpu.sdk().is_some_and(|sdk| has_fragments(&operation, sdk));
            (Kernel::CeilingMatmul2d { operation, fragments, chains }, "ceiling")
        }
    };
    let language = gpu.sdk().map_or(Language::V3_2, |sdk| sdk.language()).max(kernel.language());
    Ok((gpu.compile(&kernel.source(language))?, entry))
}

/// A matrix of one value.
fn full(element: Element, rows: usize, cols: usize, value: f64) -> Matrix {
    let format = element.format();
    let mut x = Matrix::zeroed(format, rows, cols);
    let code = match format.scale_groups() {
        None => format.encode(value, Rounding::NearestEven, Overflow::Saturate),
        Some(groups) => groups.under_one(groups.element.encode(value, Rounding::NearestEven, Overflow::Saturate)),
    };
    for row in 0..rows {
        for col in 0..cols {
            x.set(row, col, code);
        }
    }
    x
}

impl<G: Gpu> Drop for Loop<G> {
    fn drop(&mut self) {
        let mut gpu = self.gpu.borrow_mut();
        self.held.drain(..).chain(self.out.take()).for_each(|buffer| gpu.free(buffer));
    }
}

impl<G: Gpu> Ceiling for Loop<G> {
    fn operations(&self) -> u64 {
        let carriers = self.groups * if self.slots() == 1 { self.threads } else { self.threads / 32 };
        2 * u64::from(carriers)
            * u64::from(self.chains)
            * u64::from(self.steps)
            * u64::from(self.repeated.multiply_adds())
    }

    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        let sums = (self.groups * self.threads * self.chains * self.slots()) as usize;
        let mut gpu = self.gpu.borrow_mut();
        let out = match self.out {
            Some(out) => out,
            None => gpu.buffer(&vec![0xFF; sums * self.repeated.sum().bits() as usize / 8])?,
        };
        self.out = Some(out);
        let bindings = [&[(0, whole(out))], self.bindings.as_slice()].concat();
        let launch = Launch { pipeline: self.pipeline, groups: [self.groups, 1, 1], threads: self.threads, bindings };
        (0..repetitions).map(|_| Ok(Sample { time: gpu.launch(&launch, 1)?, clock: None })).collect()
    }

    fn check(&self) -> Result<(), String> {
        let out = self.out.ok_or("the loop has not run")?;
        let bytes = self.gpu.borrow_mut().read(out).map_err(|e| e.to_string())?;
        let format = self.repeated.sum().format();
        let (threads, slots) = ((self.groups * self.threads) as usize, self.slots() as usize);
        let unwritten = (1_u64 << format.bits()) - 1;
        let sums = Matrix { bytes, ..Matrix::zeroed(format, threads * self.chains as usize, slots) };
        for row in 0..sums.rows {
            let (thread, chain) = (row / self.chains as usize, row % self.chains as usize);
            let expected = self.expected(thread, chain);
            let written: Vec<usize> = (0..slots).filter(|&slot| sums.get(row, slot) != unwritten).collect();
            if written.is_empty() {
                return Err(format!("thread {thread} stored nothing of sum {chain}"));
            }
            if let Some(&slot) = written.iter().find(|&&slot| sums.value(row, slot) != expected) {
                let found = sums.value(row, slot);
                return Err(format!("thread {thread}, sum {chain} is {found} and must be {expected}"));
            }
        }
        Ok(())
    }
}
