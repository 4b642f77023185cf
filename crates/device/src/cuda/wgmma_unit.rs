//! How is one `wgmma` executed on raw bits?
//!
//! A batch is one kernel: a block of one warpgroup a launch, all independent. B, and A where it is not in registers, are laid out in shared
//! memory as the instruction demands; A in registers, C and D go through their published layouts ([`rigel_numerics::layout`]).
//!
//! By registers, an operand in shared memory has none: its lanes and slots are *positions*. The elements of a launch's window of shared
//! memory are numbered as they lie there, and slot s of lane l is position l · slots + s, so a launch's rows one after the other are the
//! window. The descriptor says rows of 32 bytes under the 32-byte swizzle, which one instruction reads whole; tiles lie under the
//! 128-byte swizzle of the products.

use super::driver::{Context, DriverError};
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::target::Target;
use super::tile::SLAB;
use super::wgmma::Wgmma;
use super::{nvrtc, source};
use crate::contract::{Absent, Fault, POISON};
use crate::unit::{FragmentSpec, Operands, Unit, UnitSpec};
use rigel_numerics::layout::{Layout, library};
use rigel_numerics::{Format, Matrix, Shape, Triple};
use std::rc::Rc;

/// Launches that one kernel takes at most.
const MOST_LAUNCHES: usize = 1 << 20;

/// Lanes of a warpgroup.
const LANES: usize = 128;

/// Columns of the instructions that are units; rates need more of them, arithmetic does not.
const COLUMNS: [usize; 2] = [8, 64];

/// Every instruction that is a unit, in the order in which the device lists them.
pub fn all() -> Vec<Wgmma> {
    let narrow = [Format::E4m3, Format::E5m2];
    let integers = [Format::I8, Format::U8];
    let pairs = |of: [Format; 2]| of.into_iter().flat_map(move |a| of.into_iter().map(move |b| (a, b)));
    let plain = [
        (Format::F16, Format::F32),
        (Format::F16, Format::F16),
        (Format::Bf16, Format::F32),
        (Format::Tf32, Format::F32),
    ];
    let triples: Vec<Triple> = plain
        .into_iter()
        .map(|(operand, c)| Triple::new(operand, operand, c))
        .chain(pairs(narrow).flat_map(|(a, b)| [Format::F32, Format::F16].map(|c| Triple::new(a, b, c))))
        .chain(pairs(integers).map(|(a, b)| Triple::new(a, b, Format::I32)))
        .collect();
    let forms = |triple| {
        COLUMNS.into_iter().flat_map(move |n| [false, true].map(|a_in_registers| Wgmma { n, triple, a_in_registers }))
    };
    triples.into_iter().flat_map(forms).collect()
}

/// What the device declares of an instruction.
pub fn spec(instruction: &Wgmma) -> UnitSpec {
    let operands = if instruction.a_in_registers {
        "A from registers, B from shared memory, whose slots are positions in it under the 32-byte swizzle"
    } else {
        "A and B from shared memory, whose slots are positions in it under the 32-byte swizzle"
    };
    UnitSpec {
        name: instruction.name(),
        path: "wgmma".into(),
        triple: instruction.triple,
        shape: instruction.shape(),
        scales: None,
        fragments: Some(fragments(instruction)),
        source: format!("NVIDIA, PTX ISA 9.0, section on wgmma: {}, {operands}, sm_90a", instruction.mnemonic()),
    }
}

/// Lanes and slots. A window smaller than a position a lane (8 columns of tf32) has positions behind it, which nothing reads.
fn fragments(instruction: &Wgmma) -> FragmentSpec {
    let Shape { m, n, k } = instruction.shape();
    FragmentSpec { lanes: LANES, a: m * k / LANES, b: (n * k).div_ceil(LANES), c: m * n / LANES }
}

/// An instruction, compiled for a device.
pub struct WgmmaUnit {
    context: Rc<Context>,
    kernel: Kernel,
    instruction: Wgmma,
    spec: UnitSpec,
    a: Option<&'static Layout>,
    c: &'static Layout,
}

impl WgmmaUnit {
    /// Compiles the kernel of an instruction.
    ///
    /// # Errors
    /// What is missing, or what the compiler says, word for word.
    pub fn compile(context: &Rc<Context>, instruction: &Wgmma, target: Target) -> Result<WgmmaUnit, Absent> {
        let source = source::wgmma_unit(instruction);
        let absent = |why: String| Absent(format!("{}: {why}", instruction.name()));
        let architecture = source.targets.compiled_for(target).map_err(absent)?;
        let cubin = nvrtc::compile(&source, &architecture).map_err(|e| absent(e.to_string()))?;
        let kernel =
            Kernel::of(context, &cubin, source.entry, shared(instruction)).map_err(|e| absent(e.to_string()))?;
        let published = |name: &str| {
            let found = library().iter().find(|published| published.name == name);
            found
                .map(|published| &published.layout)
                .ok_or_else(|| absent(format!("no published layout is called `{name}`")))
        };
        let a = match (instruction.a_in_registers, instruction.triple.operand_bits()) {
            (false, _) => None,
            (true, 16) => Some(published("wgmma.m64k16.f16.a")?),
            (true, 32) => Some(published("wgmma.m64k8.tf32.a")?),
            (true, _) => Some(published("wgmma.m64k32.e4m3.a")?),
        };
        let c = published(&format!("wgmma.m64n{}.c", instruction.n))?;
        let (context, spec) = (Rc::clone(context), spec(instruction));
        Ok(WgmmaUnit { context, kernel, instruction: *instruction, spec, a, c })
    }

    /// What the compiler said.
    pub fn log(&self) -> &str {
        self.kernel.log()
    }

    /// Executes a batch; `window` is how many bytes of B a launch has where A and B come as shared memory is to hold them, else 0.
    fn execute(&self, [a, b, c]: [&Matrix; 3], launches: usize, window: usize) -> Result<Matrix, DriverError> {
        let [a, b, c_in] = [a, b, c].map(|x| Memory::holding(&self.context, &x.bytes, x.bytes.len()));
        let (a, b, c_in) = (a?, b?, c_in?);
        let out = Memory::filled(&self.context, c.bytes.len(), POISON)?;
        let [a, b, c_in, d] = [&a, &b, &c_in, &out].map(|memory| Argument::Address(memory.address()));
        let arguments = [a, b, c_in, d, Argument::Number(window as i32)];
        let geometry = Geometry { grid: (launches as u32, 1), block: LANES as u32, shared: shared(&self.instruction) };
        // SAFETY: the kernel takes these four addresses and the bytes of B's window; block i reads and writes the rows of launch
        // i, of which each memory holds as many as there are blocks, and shared memory has room for a window of either kind.
        unsafe { self.kernel.launch(geometry, &arguments)? };
        self.context.finish()?;
        let mut d = Matrix::zeroed(c.format, c.rows, c.cols);
        out.read(&mut d.bytes)?;
        Ok(d)
    }
}

/// Bytes of dynamic shared memory: A and B as rows of a slab, and room to align them.
fn shared(instruction: &Wgmma) -> u32 {
    ((64 + instruction.n.max(8)) * SLAB + 1024) as u32
}

/// The columns of each tile of B as rows of 32 bytes.
fn columns(b: &Matrix, shape: Shape) -> Matrix {
    let mut turned = Matrix::zeroed(b.format, b.rows / shape.k * shape.n, shape.k);
    for r in 0..b.rows {
        for c in 0..shape.n {
            turned.set(r / shape.k * shape.n + c, r % shape.k, b.get(r, c));
        }
    }
    turned
}

fn enough(launches: usize) -> Result<usize, Fault> {
    if launches > MOST_LAUNCHES {
        return Err(Fault::Failed(format!("{launches} launches in one batch; at most {MOST_LAUNCHES} go")));
    }
    Ok(launches)
}

impl Unit for WgmmaUnit {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let failed = |e: rigel_numerics::layout::LayoutError| Fault::Failed(e.to_string());
        let launches = enough(operands.a.rows / self.spec.shape.m)?;
        let b = columns(operands.b, self.spec.shape);
        let c = self.c.gather(operands.c).map_err(failed)?;
        let d = match self.a {
            Some(layout) => self.execute([&layout.gather(operands.a).map_err(failed)?, &b, &c], launches, 0)?,
            None => self.execute([operands.a, &b, &c], launches, 0)?,
        };
        self.c.scatter(&d).map_err(failed)
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let launches = enough(operands.a.rows / LANES)?;
        let window = LANES * Matrix::row_bytes(operands.b.format, operands.b.cols);
        Ok(self.execute([operands.a, operands.b, operands.c], launches, window)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn declarations_hold_and_names_are_unique() {
        let all = all();
        let names: HashSet<String> = all.iter().map(Wgmma::name).collect();
        assert_eq!((names.len(), all.len()), (64, 64));
        for instruction in &all {
            assert_eq!(spec(instruction).check(), Ok(()), "{}", instruction.name());
            assert!(source::wgmma(instruction.triple, instruction.n).is_ok(), "{}", instruction.name());
        }
    }

    #[test]
    fn every_instruction_has_one_published_fragment_of_its_shape_and_slots() {
        for instruction in all() {
            let (name, declared) = (instruction.name(), fragments(&instruction));
            let from = if instruction.a_in_registers { "rs" } else { "ss" };
            let fits = |f: &&rigel_numerics::layout::PublishedFragment| {
                let slots = [&f.fragment.a, &f.fragment.b, &f.fragment.c].map(Layout::slots);
                f.name.starts_with("wgmma.")
                    && f.name.ends_with(from)
                    && f.fragment.shape() == instruction.shape()
                    && (f.fragment.lanes(), slots) == (declared.lanes, [declared.a, declared.b, declared.c])
            };
            assert_eq!(rigel_numerics::layout::fragments().iter().filter(fits).count(), 1, "{name}");
            // What the kernel copies: words of A and B as rows of 32 bytes, and room for them.
            let triple = instruction.triple;
            let [a, b] = [(triple.a, declared.a), (triple.b, declared.b)].map(|(f, s)| LANES * Matrix::row_bytes(f, s));
            assert_eq!((a, b % 4), (64 * 32, 0), "{name}");
            assert!(b >= instruction.n * 32 && a + b + 1024 <= shared(&instruction) as usize, "{name}");
        }
    }

    #[test]
    fn columns_of_b_become_rows() {
        let mut b = Matrix::zeroed(Format::I8, 64, 8);
        b.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        let turned = columns(&b, Shape::new(64, 8, 32));
        assert_eq!((turned.rows, turned.cols), (16, 32));
        assert!((0..64).all(|r| (0..8).all(|c| turned.get(r / 32 * 8 + c, r % 32) == b.get(r, c))));
    }
}
