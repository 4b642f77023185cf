//! How is one `mma.sync` executed on raw bits?
//!
//! A batch is one kernel: 32 lanes a launch, as many launches as the batch has, all independent. Nothing is converted
//! on the way: a lane's row of a register matrix is the bytes of its registers, and the kernel loads, executes once and
//! stores. Tiles go through the published layout of the instruction ([`super::layouts`]).

use super::driver::{Context, DriverError};
use super::instruction::Instruction;
use super::kernel::Kernel;
use super::memory::Memory;
use super::target::Target;
use super::{layouts, text};
use crate::contract::{Absent, Fault, POISON};
use crate::unit::{Operands, Unit, UnitSpec};
use rigel_numerics::Matrix;
use rigel_numerics::layout::{Fragment, FragmentOperand};
use std::rc::Rc;

/// Lanes of a warp.
const WARP: usize = 32;

/// Rows that one kernel takes at most: its count of threads has 32 bits.
const MOST_ROWS: usize = 1 << 30;

/// An instruction, compiled for a device.
#[derive(Debug)]
pub struct CudaUnit {
    context: Rc<Context>,
    kernel: Kernel,
    spec: UnitSpec,
    fragment: Result<Fragment, String>,
}

impl CudaUnit {
    /// Compiles the kernel of an instruction.
    ///
    /// # Errors
    /// What the driver's compiler says, word for word: that the target lacks the instruction, or that the driver does
    /// not know the version of PTX.
    pub fn compile(context: &Rc<Context>, instruction: &Instruction, target: Target) -> Result<CudaUnit, Absent> {
        let kernel = Kernel::load(context, &text::unit(instruction, target), text::UNIT_ENTRY);
        let kernel = kernel.map_err(|refusal| Absent(format!("{} for {target}: {refusal}", instruction.name())))?;
        let (spec, fragment) = (instruction.spec(), layouts::fragment(instruction));
        Ok(CudaUnit { context: Rc::clone(context), kernel, spec, fragment })
    }

    /// What the compiler logged; empty when it had nothing to say.
    pub fn log(&self) -> &str {
        self.kernel.log()
    }

    /// The layouts by which tiles become registers; else why there are no tiles.
    ///
    /// # Errors
    /// Which layout is not in the library.
    pub fn fragment(&self) -> Result<&Fragment, &str> {
        self.fragment.as_ref().map_err(String::as_str)
    }

    fn execute(&self, operands: Operands<'_>) -> Result<Matrix, DriverError> {
        let mut d = Matrix::zeroed(self.spec.triple.c, operands.c.rows, operands.c.cols);
        let threads = operands.a.rows.next_multiple_of(WARP);
        let bytes = |x: &Matrix| threads * Matrix::row_bytes(x.format, x.cols);
        let [a, b, c] =
            [operands.a, operands.b, operands.c].map(|x| Memory::holding(&self.context, &x.bytes, bytes(x)));
        let (a, b, c) = (a?, b?, c?);
        let out = Memory::filled(&self.context, bytes(&d), POISON)?;
        // SAFETY: the kernel takes these four addresses and the number of threads; thread t touches row t of each, or
        // another row of its own warp, and each memory holds `threads` rows.
        unsafe { self.kernel.run(&[a.address(), b.address(), c.address(), out.address()], threads as u32)? };
        out.read(&mut d.bytes)?;
        Ok(d)
    }
}

impl Unit for CudaUnit {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let fragment = self.fragment.as_ref().map_err(|why| Fault::Failed(why.clone()))?;
        let gather =
            |operand, tiles: &Matrix| fragment.gather(operand, tiles).map_err(|e| Fault::Failed(e.to_string()));
        let a = gather(FragmentOperand::A, operands.a)?;
        let b = gather(FragmentOperand::B, operands.b)?;
        let c = gather(FragmentOperand::C, operands.c)?;
        let d = self.fragments(Operands { a: &a, b: &b, c: &c, scales: None })?;
        let fragment = self.fragment.as_ref().map_err(|why| Fault::Failed(why.clone()))?;
        fragment.scatter(FragmentOperand::C, &d).map_err(|e| Fault::Failed(e.to_string()))
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        if operands.a.rows > MOST_ROWS {
            let launches = MOST_ROWS / WARP;
            return Err(Fault::Failed(format!(
                "{} rows of registers in one batch; at most {launches} launches go",
                operands.a.rows
            )));
        }
        Ok(self.execute(operands)?)
    }
}
