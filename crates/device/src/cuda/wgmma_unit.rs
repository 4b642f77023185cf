//! How is one `wgmma` executed on raw bits?
//!
//! A batch is one kernel: a block of one warpgroup a launch, all independent. B, and A where it is not in registers, are laid out in shared
//! memory as the instruction demands; A in registers, C and D go through their published layouts ([`rigel_numerics::layout`]). There are
//! tiles and no registers: B has none, and the contract knows no address in shared memory.

use super::driver::{Context, DriverError};
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::target::Target;
use super::tile::SLAB;
use super::wgmma::Wgmma;
use super::{nvrtc, source};
use crate::contract::{Absent, Fault, POISON};
use crate::unit::{Operands, Unit, UnitSpec};
use rigel_numerics::layout::{Layout, library};
use rigel_numerics::{Format, Matrix, Shape, Triple};
use std::rc::Rc;

/// Launches that one kernel takes at most.
const MOST_LAUNCHES: usize = 1 << 20;

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
    let from = if instruction.a_in_registers { "registers" } else { "shared memory" };
    UnitSpec {
        name: instruction.name(),
        path: "wgmma".into(),
        triple: instruction.triple,
        shape: instruction.shape(),
        scales: None,
        fragments: None,
        source: format!("NVIDIA, PTX ISA 9.0, section on wgmma: {}, A from {from}, sm_90a", instruction.mnemonic()),
    }
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

    fn execute(&self, a: &Matrix, b: &Matrix, c: &Matrix, launches: usize) -> Result<Matrix, DriverError> {
        let [a, b, c_in] = [a, b, c].map(|x| Memory::holding(&self.context, &x.bytes, x.bytes.len()));
        let (a, b, c_in) = (a?, b?, c_in?);
        let out = Memory::filled(&self.context, c.bytes.len(), POISON)?;
        let addresses = [&a, &b, &c_in, &out].map(|memory| Argument::Address(memory.address()));
        let geometry = Geometry { grid: (launches as u32, 1), block: 128, shared: shared(&self.instruction) };
        // SAFETY: the kernel takes these four addresses; block i reads and writes the rows of launch i, of which each memory
        // holds as many as there are blocks.
        unsafe { self.kernel.launch(geometry, &addresses)? };
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

impl Unit for WgmmaUnit {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let failed = |e: rigel_numerics::layout::LayoutError| Fault::Failed(e.to_string());
        let launches = operands.a.rows / self.spec.shape.m;
        if launches > MOST_LAUNCHES {
            return Err(Fault::Failed(format!("{launches} tiles in one batch; at most {MOST_LAUNCHES} go")));
        }
        let b = columns(operands.b, self.spec.shape);
        let c = self.c.gather(operands.c).map_err(failed)?;
        let d = match self.a {
            Some(layout) => self.execute(&layout.gather(operands.a).map_err(failed)?, &b, &c, launches)?,
            None => self.execute(operands.a, &b, &c, launches)?,
        };
        self.c.scatter(&d).map_err(failed)
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
    fn columns_of_b_become_rows() {
        let mut b = Matrix::zeroed(Format::I8, 64, 8);
        b.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
        let turned = columns(&b, Shape::new(64, 8, 32));
        assert_eq!((turned.rows, turned.cols), (16, 32));
        assert!((0..64).all(|r| (0..8).all(|c| turned.get(r / 32 * 8 + c, r % 32) == b.get(r, c))));
    }
}
