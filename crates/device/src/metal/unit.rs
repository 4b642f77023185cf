//! How is one matrix operation executed on raw bits?
//!
//! A batch is one launch with one SIMD-group a tile. Tiles by coordinates lie in device memory, in tensors that the kernel makes or the
//! host; fragments are each lane's slots of cooperative tensors, or the two elements of a `simdgroup_matrix`, written and read one by one.

use super::batch::{Laid, pitch, taken};
use super::gpu::{Binding, Buffer, Gpu, HostTensor, Launch, Pipeline};
use super::level::{Language, Sdk};
use super::operation::{Mode, Operation, Scope};
use super::product::{Path, triple_of, whole};
use super::text::{Kernel, Reach, has_fragments};
use super::triples::Types;
use super::usage::Usage;
use crate::contract::{Absent, Fault, POISON};
use crate::unit::{FragmentSpec, Operands, ScaleSpec, Unit, UnitSpec};
use rigel_numerics::block::MX_GROUP;
use rigel_numerics::{Format, Matrix, Shape, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// Lanes of a SIMD-group.
pub const LANES: usize = 32;

/// Extents of the units of `matmul2d`, and of those whose operands have planes of scales: two groups of them.
const TILE: Shape = Shape { m: 16, n: 32, k: 32 };
const SCALED_TILE: Shape = Shape { k: 2 * MX_GROUP, ..TILE };

/// What a unit executes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// One `matmul2d` into a cooperative tensor, over tensors that the kernel makes.
    Matmul2d(Operation),
    /// One `matmul2d` into a tensor, over tensors that the host makes.
    Handle(Operation),
    /// One `simdgroup_multiply_accumulate`.
    SimdGroup(Types),
}

/// The operation of types on a tile of one SIMD-group. The header takes a right operand with scales transposed only.
fn operation(types: Types, shape: Shape) -> Operation {
    let (m, n, step) = (shape.m as u32, shape.n as u32, shape.k as u32);
    let (scope, transpose_right) = (Scope::SimdGroups(1), types.right.is_scaled());
    Operation { step, scope, transpose_right, mode: Mode::MultiplyAccumulate, ..Operation::new(types, m, n) }
}

impl Instruction {
    /// `matmul2d` of types on a tile, over tensors that the kernel makes.
    pub fn matmul2d(types: Types, shape: Shape) -> Instruction {
        Instruction::Matmul2d(operation(types, shape))
    }

    /// `matmul2d` of types on a tile, over tensors that the host makes.
    pub fn handle(types: Types, shape: Shape) -> Instruction {
        Instruction::Handle(operation(types, shape))
    }

    fn types(&self) -> Types {
        match self {
            Instruction::Matmul2d(operation) | Instruction::Handle(operation) => operation.types,
            Instruction::SimdGroup(types) => *types,
        }
    }

    fn path(&self) -> Path {
        match self {
            Instruction::Matmul2d(_) => Path::Inline,
            Instruction::Handle(_) => Path::Handle,
            Instruction::SimdGroup(_) => Path::SimdGroup,
        }
    }

    /// Extents of its tile.
    pub fn shape(&self) -> Shape {
        match self {
            Instruction::Matmul2d(o) | Instruction::Handle(o) => {
                Shape::new(o.m as usize, o.n as usize, o.step as usize)
            }
            Instruction::SimdGroup(_) => Shape::new(8, 8, 8),
        }
    }

    /// How its operation is reached under a header.
    fn reach(&self, sdk: Sdk) -> Reach {
        match self {
            Instruction::Handle(_) => Reach::Handle,
            Instruction::Matmul2d(operation) if !has_fragments(operation, sdk) => Reach::Inline,
            _ => Reach::Registers,
        }
    }

    /// Its kernel under a header.
    pub fn kernel(&self, sdk: Sdk) -> Kernel {
        match self {
            Instruction::Matmul2d(operation) | Instruction::Handle(operation) => {
                Kernel::UnitMatmul2d(*operation, self.reach(sdk))
            }
            Instruction::SimdGroup(types) => Kernel::UnitSimdGroup(*types),
        }
    }

    /// Its name as a unit; relaxed precision and transposed operands show in it.
    pub fn name(&self) -> String {
        let Types { left, right, dest } = self.types();
        let types = [left, right, dest].map(|e| e.format().name()).join(".");
        let (path, Shape { m, n, k }) = (self.path().name(), self.shape());
        match self {
            Instruction::Matmul2d(o) | Instruction::Handle(o) => {
                let marks = [(o.transpose_left, ".tl"), (o.transpose_right, ".tr"), (o.relaxed, ".relaxed")];
                let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, mark)| *mark).collect();
                format!("{path}.m{m}n{n}k{k}.{types}{marks}")
            }
            Instruction::SimdGroup(_) => format!("{path}.m{m}n{n}k{k}.{types}"),
        }
    }

    /// Every unit of a header's tables that can be asked.
    pub fn all(sdk: Sdk) -> Vec<Instruction> {
        Instruction::named(sdk).into_iter().filter(|instruction| instruction.lacks().is_empty()).collect()
    }

    /// Every unit of a header's tables, those among them that cannot be asked and say why when they are opened.
    pub fn named(sdk: Sdk) -> Vec<Instruction> {
        use super::element::Element::*;
        let simd = [(Half, Float), (Half, Half), (Bfloat, Float), (Bfloat, Bfloat), (Float, Float)];
        let simd = simd.map(|(x, d)| Instruction::SimdGroup(Types::new(x, x, d)));
        let here = move |(since, types): (Sdk, Types)| (since <= sdk).then_some(types);
        let listed: Vec<Types> = Types::listed().filter_map(here).collect();
        let scaled: Vec<Types> = Types::scaled().filter_map(here).collect();
        let relaxed = Operation { relaxed: true, ..operation(Types::new(Float, Float, Float), TILE) };
        let mut all = simd.to_vec();
        all.extend(listed.iter().map(|&types| Instruction::matmul2d(types, TILE)));
        all.push(Instruction::Matmul2d(relaxed));
        all.extend(scaled.iter().map(|&types| Instruction::matmul2d(types, SCALED_TILE)));
        all.extend(listed.iter().map(|&types| Instruction::handle(types, TILE)));
        all.extend(scaled.iter().map(|&types| Instruction::handle(types, SCALED_TILE)));
        all
    }

    /// Why it cannot be asked at all; empty when it can.
    fn lacks(&self) -> &'static str {
        let types = self.types();
        match self {
            Instruction::Handle(_) if types.has_scales() => {
                "tensors of the host are made with one plane, so they have no scales"
            }
            Instruction::Handle(_) if triple_of(types).is_mixed() => {
                "no arithmetic model takes integers beside floating operands, and tensors of the host hide the registers"
            }
            _ if types.has_scales() && types.scales() != (true, true) => {
                "the units' contract has scales of both operands or of none, and these types have those of one"
            }
            _ => "",
        }
    }

    /// Slots of a lane of each operand where registers can be reached under a header: an equal share for each of the lanes, which the
    /// device is asked about when the unit is opened.
    pub fn share(&self, sdk: Sdk) -> Option<[usize; 3]> {
        let Shape { m, n, k } = self.shape();
        (self.reach(sdk) == Reach::Registers).then_some([m * k / LANES, k * n / LANES, m * n / LANES])
    }

    /// What it declares, with `slots` of a lane where they are known.
    pub fn spec(&self, slots: Option<[usize; 3]>) -> UnitSpec {
        let types = self.types();
        let scales = types.has_scales().then_some(ScaleSpec { format: Format::E8m0, group: MX_GROUP });
        // Beside planes of scales the codes are those of elements.
        let [a, b] = [types.left, types.right].map(|element| element.unscaled().format());
        UnitSpec {
            name: self.name(),
            path: self.path().name().into(),
            triple: Triple::new(a, b, types.dest.format()),
            shape: self.shape(),
            scales,
            fragments: slots.map(|[a, b, c]| FragmentSpec { lanes: LANES, a, b, c }),
            source: "Metal Performance Primitives, matmul2d; Metal Shading Language, simdgroup_matrix".into(),
        }
    }
}

/// An instruction, compiled for a GPU.
pub struct MetalUnit<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    instruction: Instruction,
    spec: UnitSpec,
    tile: Pipeline,
    fragment: Option<Pipeline>,
}

impl<G: Gpu> MetalUnit<G> {
    /// Compiles an instruction and asks the device how many slots its lanes have.
    ///
    /// # Errors
    /// What the interface does not give, or what the compiler or the device says.
    pub fn new(gpu: &Rc<RefCell<G>>, instruction: &Instruction) -> Result<MetalUnit<G>, Absent> {
        let absent = |words: String| Absent(format!("{}: {words}", instruction.name()));
        if !instruction.lacks().is_empty() {
            return Err(absent(instruction.lacks().into()));
        }
        let mut device = gpu.borrow_mut();
        let sdk = device.sdk().unwrap_or(Sdk::V26_1);
        let kernel = instruction.kernel(sdk);
        let language = device.sdk().map_or(Language::V3_2, |sdk| sdk.language()).max(kernel.language());
        let library = device.compile(&kernel.source(language)).map_err(|e| absent(e.to_string()))?;
        let tile = device.pipeline(library, "unit_tile").map_err(|e| absent(e.to_string()))?;
        let slots = match (instruction, instruction.reach(sdk)) {
            (Instruction::SimdGroup(_), _) => Some([2, 2, 2]),
            (Instruction::Matmul2d(o), Reach::Registers) => {
                let told = super::layout::told(&mut *device, o).map_err(absent)?;
                Some(told.capacities())
            }
            _ => None,
        };
        let fragment = match slots {
            Some(_) => Some(device.pipeline(library, "unit_fragment").map_err(|e| absent(e.to_string()))?),
            None => None,
        };
        let spec = instruction.spec(slots);
        Ok(MetalUnit { gpu: Rc::clone(gpu), instruction: *instruction, spec, tile, fragment })
    }

    /// Launches over buffers of these bytes, and reads one of them.
    fn launched(
        &self,
        pipeline: Pipeline,
        groups: usize,
        bytes: &[&[u8]],
        bindings: impl FnOnce(&[Buffer]) -> Vec<(u32, Binding)>,
        result: usize,
    ) -> Result<Vec<u8>, Fault> {
        let mut gpu = self.gpu.borrow_mut();
        let mut buffers: Vec<Buffer> = Vec::new();
        let run = || {
            for bytes in bytes {
                buffers.push(gpu.buffer(bytes)?);
            }
            let bindings = bindings(&buffers);
            gpu.launch(&Launch { pipeline, groups: [groups as u32, 1, 1], threads: LANES as u32, bindings }, 1)?;
            gpu.read(buffers[result])
        };
        let out = run();
        buffers.into_iter().for_each(|buffer| gpu.free(buffer));
        out
    }

    /// Operands and a result in buffers, tensors made by the kernel.
    fn by_memory(
        &self,
        pipeline: Pipeline,
        groups: usize,
        laid: &Laid,
        extents: (usize, usize),
        words: Option<Vec<u8>>,
    ) -> Result<Matrix, Fault> {
        let [a, b, c] = &laid.elements;
        let poison = vec![POISON; c.len()];
        let mut bytes: Vec<&[u8]> = vec![a, b, c, &poison];
        bytes.extend(laid.scales.iter().flatten().map(Vec::as_slice));
        let bindings = |buffers: &[Buffer]| {
            let mut bindings: Vec<(u32, Binding)> = (0..4).zip(buffers.iter().copied().map(whole)).collect();
            bindings.extend(words.map(|words| (4, Binding::Bytes(words))));
            bindings.extend((5..).zip(buffers[4..].iter().copied().map(whole)));
            bindings
        };
        let d = self.launched(pipeline, groups, &bytes, bindings, 3)?;
        taken(self.spec.triple.c, extents, extents.1, &d)
    }

    /// Operands in tensors of the host, the result where C was.
    fn by_handle(&self, o: &Operation, operands: Operands<'_>, tiles: usize) -> Result<Matrix, Fault> {
        let Laid { elements, .. } = Laid::of(o, Reach::Handle, operands);
        let pitch = pitch(o, Reach::Handle);
        let (m, n, k) = (i64::from(o.m), i64::from(o.n), i64::from(o.step));
        let left = if o.transpose_left { [m, k] } else { [k, m] };
        let right = if o.transpose_right { [k, n] } else { [n, k] };
        let types = [o.types.left, o.types.right, o.types.dest];
        let bytes: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
        let bindings = |buffers: &[Buffer]| {
            let tensor = |(i, [across, down]): (usize, [i64; 2])| {
                let (extents, strides) = ([across, down * tiles as i64], [1, pitch[i] as i64]);
                let (buffer, element, usage) = (buffers[i], types[i], Usage::Compute);
                (i as u32, Binding::Tensor(HostTensor { buffer, offset: 0, element, extents, strides, usage }))
            };
            [left, right, [n, m]].into_iter().enumerate().map(tensor).collect()
        };
        let d = self.launched(self.tile, tiles, &bytes, bindings, 2)?;
        taken(self.spec.triple.c, (operands.c.rows, operands.c.cols), pitch[2], &d)
    }
}

impl<G: Gpu> Unit for MetalUnit<G> {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let tiles = operands.a.rows / self.spec.shape.m;
        let extents = (operands.c.rows, operands.c.cols);
        match &self.instruction {
            Instruction::Handle(o) => self.by_handle(o, operands, tiles),
            Instruction::Matmul2d(o) => {
                self.by_memory(self.tile, tiles, &Laid::of(o, Reach::Inline, operands), extents, None)
            }
            Instruction::SimdGroup(_) => self.by_memory(self.tile, tiles, &Laid::packed(operands), extents, None),
        }
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let (Some(pipeline), Some(slots)) = (self.fragment, self.spec.fragments) else {
            return Err(Fault::Failed(format!("{} cannot be reached by registers", self.spec.name)));
        };
        let words = [slots.a, slots.b, slots.c].iter().flat_map(|&s| (s as i32).to_le_bytes()).collect();
        let (launches, extents) = (operands.a.rows / LANES, (operands.c.rows, operands.c.cols));
        self.by_memory(pipeline, launches, &Laid::packed(operands), extents, Some(words))
    }
}
