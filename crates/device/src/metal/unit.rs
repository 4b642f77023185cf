//! How is one matrix operation executed on raw bits?
//!
//! A batch is one launch with one SIMD-group a tile. Tiles by coordinates lie in device memory; fragments are each lane's slots of
//! cooperative tensors, or the two elements of a `simdgroup_matrix`, written and read one by one.

use super::gpu::{Binding, Buffer, Gpu, Launch, Pipeline};
use super::level::{Language, Sdk};
use super::operation::{Mode, Operation, Scope};
use super::product::{triple_of, whole};
use super::text::{Kernel, has_fragments};
use super::triples::Types;
use crate::contract::{Absent, Fault, POISON};
use crate::unit::{FragmentSpec, Operands, Unit, UnitSpec};
use rigel_numerics::{Matrix, Shape};
use std::cell::RefCell;
use std::rc::Rc;

/// Lanes of a SIMD-group.
pub const LANES: usize = 32;

/// What a unit executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// One `matmul2d`.
    Matmul2d(Operation),
    /// One `simdgroup_multiply_accumulate`.
    SimdGroup(Types),
}

impl Instruction {
    /// The operation of types on a tile of one SIMD-group.
    pub fn matmul2d(types: Types, shape: Shape) -> Instruction {
        let (m, n, step) = (shape.m as u32, shape.n as u32, shape.k as u32);
        let scope = Scope::SimdGroups(1);
        Instruction::Matmul2d(Operation { step, scope, mode: Mode::MultiplyAccumulate, ..Operation::new(types, m, n) })
    }

    fn types(&self) -> Types {
        match self {
            Instruction::Matmul2d(operation) => operation.types,
            Instruction::SimdGroup(types) => *types,
        }
    }

    /// Extents of its tile.
    pub fn shape(&self) -> Shape {
        match self {
            Instruction::Matmul2d(o) => Shape::new(o.m as usize, o.n as usize, o.step as usize),
            Instruction::SimdGroup(_) => Shape::new(8, 8, 8),
        }
    }

    /// Its kernel under a header.
    pub fn kernel(&self, sdk: Sdk) -> Kernel {
        match self {
            Instruction::Matmul2d(operation) => Kernel::UnitMatmul2d(*operation, has_fragments(operation, sdk)),
            Instruction::SimdGroup(types) => Kernel::UnitSimdGroup(*types),
        }
    }

    /// Its name as a unit; relaxed precision and transposed operands show in it.
    pub fn name(&self) -> String {
        let Types { left, right, dest } = self.types();
        let types = [left, right, dest].map(|e| e.format().name()).join(".");
        match self {
            Instruction::Matmul2d(o) => {
                let Shape { m, n, k } = self.shape();
                let marks = [(o.transpose_left, ".tl"), (o.transpose_right, ".tr"), (o.relaxed, ".relaxed")];
                let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect();
                format!("matmul2d.m{m}n{n}k{k}.{types}{marks}")
            }
            Instruction::SimdGroup(_) => format!("simdgroup_matrix.m8n8k8.{types}"),
        }
    }

    /// Every unit of a header's table. Where integers meet a floating sum there is none yet: no arithmetic model takes such operands.
    pub fn all(sdk: Sdk) -> Vec<Instruction> {
        use super::element::Element::*;
        let simd = [(Half, Float), (Half, Half), (Bfloat, Float), (Bfloat, Bfloat), (Float, Float)];
        let simd = simd.map(|(x, d)| Instruction::SimdGroup(Types::new(x, x, d)));
        let listed = Types::listed().filter(|(since, types)| *since <= sdk && !triple_of(*types).is_mixed());
        let tile = Shape::new(16, 32, 32);
        let relaxed = Types::new(Float, Float, Float);
        let relaxed = match Instruction::matmul2d(relaxed, tile) {
            Instruction::Matmul2d(o) => Instruction::Matmul2d(Operation { relaxed: true, ..o }),
            other => other,
        };
        let listed = listed.map(|(_, types)| Instruction::matmul2d(types, tile));
        simd.into_iter().chain(listed).chain([relaxed]).collect()
    }

    /// Slots of a lane of each operand where registers can be reached under a header: an equal share for each of the lanes, which the
    /// device is asked about when the unit is opened.
    pub fn share(&self, sdk: Sdk) -> Option<[usize; 3]> {
        let Shape { m, n, k } = self.shape();
        let reached = match self {
            Instruction::SimdGroup(_) => true,
            Instruction::Matmul2d(o) => has_fragments(o, sdk),
        };
        reached.then_some([m * k / LANES, k * n / LANES, m * n / LANES])
    }

    /// What it declares, with `slots` of a lane where they are known.
    pub fn spec(&self, slots: Option<[usize; 3]>) -> UnitSpec {
        let path = match self {
            Instruction::Matmul2d(_) => "matmul2d",
            Instruction::SimdGroup(_) => "simdgroup_matrix",
        };
        UnitSpec {
            name: self.name(),
            path: path.into(),
            triple: triple_of(self.types()),
            shape: self.shape(),
            scales: None,
            fragments: slots.map(|[a, b, c]| FragmentSpec { lanes: LANES, a, b, c }),
            source: "Metal Performance Primitives, matmul2d; Metal Shading Language, simdgroup_matrix".into(),
        }
    }
}

/// An instruction, compiled for a GPU.
pub struct MetalUnit<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    spec: UnitSpec,
    tile: Pipeline,
    fragment: Option<Pipeline>,
}

impl<G: Gpu> MetalUnit<G> {
    /// Compiles an instruction and asks the device how many slots its lanes have.
    ///
    /// # Errors
    /// What the compiler or the device says.
    pub fn new(gpu: &Rc<RefCell<G>>, instruction: &Instruction) -> Result<MetalUnit<G>, Absent> {
        let absent = |words: String| Absent(format!("{}: {words}", instruction.name()));
        let mut device = gpu.borrow_mut();
        let sdk = device.sdk().unwrap_or(Sdk::V26_1);
        let kernel = instruction.kernel(sdk);
        let language = device.sdk().map_or(Language::V3_2, |sdk| sdk.language()).max(kernel.language());
        let library = device.compile(&kernel.source(language)).map_err(|e| absent(e.to_string()))?;
        let tile = device.pipeline(library, "unit_tile").map_err(|e| absent(e.to_string()))?;
        let slots = match instruction {
            Instruction::SimdGroup(_) => Some([2, 2, 2]),
            Instruction::Matmul2d(o) if has_fragments(o, sdk) => {
                let told = super::layout::told(&mut *device, o).map_err(absent)?;
                Some(told.capacities())
            }
            Instruction::Matmul2d(_) => None,
        };
        let fragment = match slots {
            Some(_) => Some(device.pipeline(library, "unit_fragment").map_err(|e| absent(e.to_string()))?),
            None => None,
        };
        let spec = instruction.spec(slots);
        Ok(MetalUnit { gpu: Rc::clone(gpu), spec, tile, fragment })
    }

    fn execute(
        &self,
        pipeline: Pipeline,
        operands: Operands<'_>,
        tiles: usize,
        words: Option<Vec<u8>>,
    ) -> Result<Matrix, Fault> {
        let mut gpu = self.gpu.borrow_mut();
        let mut d = Matrix::zeroed(self.spec.triple.c, operands.c.rows, operands.c.cols);
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut run = || {
            for bytes in [&operands.a.bytes, &operands.b.bytes, &operands.c.bytes] {
                buffers.push(gpu.buffer(bytes)?);
            }
            buffers.push(gpu.buffer(&vec![POISON; d.bytes.len()])?);
            let mut bindings: Vec<(u32, Binding)> = (0..).zip(buffers.iter().copied().map(whole)).collect();
            bindings.extend(words.clone().map(|w| (4, Binding::Bytes(w))));
            gpu.launch(&Launch { pipeline, groups: [tiles as u32, 1, 1], threads: LANES as u32, bindings }, 1)?;
            gpu.read(buffers[3])
        };
        let out = run();
        buffers.into_iter().for_each(|buffer| gpu.free(buffer));
        d.bytes = out?;
        Ok(d)
    }
}

impl<G: Gpu> Unit for MetalUnit<G> {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        self.execute(self.tile, operands, operands.a.rows / self.spec.shape.m, None)
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let (Some(pipeline), Some(slots)) = (self.fragment, self.spec.fragments) else {
            return Err(Fault::Failed(format!("{} cannot be reached by registers", self.spec.name)));
        };
        let words = [slots.a, slots.b, slots.c].iter().flat_map(|&s| (s as i32).to_le_bytes()).collect();
        self.execute(pipeline, operands, operands.a.rows / LANES, Some(words))
    }
}
