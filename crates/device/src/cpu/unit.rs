//! Which instructions of this processor can be asked one at a time, and what do they declare?
//!
//! # Levels
//!
//! - **fragments**: a launch is one execution of the instruction on three vector registers. A lane is one element of
//!   the accumulator register (32 bits, or 64 for f64): `vdpbf16ps` on a zmm register has 16. A slot is an element of
//!   an operand inside its lane, the lowest bits first. Lane l gets c of lane l plus the products of its own slots of A
//!   and B; nothing crosses lanes. A is the first source (VEX.vvvv), B the second one, C the destination; of the
//!   two-operand SSE instructions A is the destination of the product, which is added to C.
//! - **tiles**: D (1 × lanes) = A (1 × k) · B (k × lanes) + C, as a product uses the instruction: the row of A is
//!   repeated in every lane, column j of B lies in lane j.
//!
//! **MXCSR** stays as the process has it; Rust leaves it as the system sets it up: to nearest even, subnormals kept,
//! exceptions masked. `vdpbf16ps` neither reads nor writes it, integer instructions have no use for it.

use super::detect;
use super::path::Path;
use super::unit_registers as registers;
use crate::contract::{Absent, Fault};
use crate::unit::{FragmentSpec, Operands, Unit, UnitSpec};
use rigel_numerics::{Format, Matrix, Shape, Triple};

/// An instruction, or two that make a step of a product, on registers of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// `mulps` then `addps` on xmm registers: the product is rounded before it is added.
    MulAddF32,
    /// `mulpd` then `addpd` on xmm registers.
    MulAddF64,
    /// `vfmadd231ps` on ymm registers.
    FmaF32,
    /// `vfmadd231pd` on ymm registers.
    FmaF64,
    /// `vfmadd231ps` on zmm registers.
    WideFmaF32,
    /// `vfmadd231pd` on zmm registers.
    WideFmaF64,
    /// `vdpbf16ps` on zmm registers.
    DotBf16,
    /// `vpdpbusd` on zmm registers: wraps.
    DotU8I8,
    /// `vpdpbusds` on zmm registers: saturates.
    DotU8I8Saturating,
    /// `vpdpwssd` on zmm registers: wraps.
    DotI16,
    /// `vpdpwssds` on zmm registers: saturates.
    DotI16Saturating,
}

use Instruction::*;

const F64: Triple = Triple::new(Format::F64, Format::F64, Format::F64);
const F32: Triple = Triple::new(Format::F32, Format::F32, Format::F32);
const BF16: Triple = Triple::new(Format::Bf16, Format::Bf16, Format::F32);
const U8I8: Triple = Triple::new(Format::U8, Format::I8, Format::I32);
const I16: Triple = Triple::new(Format::I16, Format::I16, Format::I32);

impl Instruction {
    /// Every instruction, in the order in which the device lists them.
    pub const ALL: [Instruction; 11] = [
        MulAddF32,
        MulAddF64,
        FmaF32,
        FmaF64,
        WideFmaF32,
        WideFmaF64,
        DotBf16,
        DotU8I8,
        DotU8I8Saturating,
        DotI16,
        DotI16Saturating,
    ];

    /// The stable name of the unit. Of instructions that exist in several widths the zmm form says so.
    pub const fn name(self) -> &'static str {
        match self {
            MulAddF32 => "mulps+addps",
            MulAddF64 => "mulpd+addpd",
            FmaF32 => "vfmadd231ps",
            FmaF64 => "vfmadd231pd",
            WideFmaF32 => "vfmadd231ps.zmm",
            WideFmaF64 => "vfmadd231pd.zmm",
            DotBf16 => "vdpbf16ps",
            DotU8I8 => "vpdpbusd",
            DotU8I8Saturating => "vpdpbusds",
            DotI16 => "vpdpwssd",
            DotI16Saturating => "vpdpwssds",
        }
    }

    /// The path whose products rest on it. `vpdpbusds` and those of 16-bit integers serve none; they stand beside their sibling.
    pub const fn path(self) -> Path {
        match self {
            MulAddF32 | MulAddF64 => Path::Tiled,
            FmaF32 | FmaF64 => Path::Avx2Fma,
            WideFmaF32 | WideFmaF64 => Path::Avx512Fma,
            DotBf16 => Path::Avx512Bf16,
            DotU8I8 | DotU8I8Saturating | DotI16 | DotI16Saturating => Path::Avx512Vnni,
        }
    }

    /// Element types.
    pub const fn triple(self) -> Triple {
        match self {
            MulAddF32 | FmaF32 | WideFmaF32 => F32,
            MulAddF64 | FmaF64 | WideFmaF64 => F64,
            DotBf16 => BF16,
            DotU8I8 | DotU8I8Saturating => U8I8,
            DotI16 | DotI16Saturating => I16,
        }
    }

    /// Bytes of a register.
    pub const fn register_bytes(self) -> usize {
        match self {
            MulAddF32 | MulAddF64 => 16,
            FmaF32 | FmaF64 => 32,
            _ => 64,
        }
    }

    /// Elements of the accumulator register.
    pub const fn lanes(self) -> usize {
        self.register_bytes() * 8 / self.triple().c.bits() as usize
    }

    /// Products of a lane.
    pub const fn products(self) -> usize {
        (self.triple().c.bits() / self.triple().a.bits()) as usize
    }

    /// Features that the processor and the operating system must both offer.
    pub const fn needs(self) -> &'static [&'static str] {
        match self {
            MulAddF32 | MulAddF64 => &[],
            FmaF32 | FmaF64 => &["avx", "fma"],
            WideFmaF32 | WideFmaF64 => &["avx512f"],
            DotBf16 => &["avx512f", "avx512bf16"],
            DotU8I8 | DotU8I8Saturating | DotI16 | DotI16Saturating => &["avx512f", "avx512vnni"],
        }
    }

    /// What the device declares of it, whether or not it is there.
    pub fn spec(self) -> UnitSpec {
        let (lanes, k) = (self.lanes(), self.products());
        UnitSpec {
            name: self.name().into(),
            path: self.path().name().into(),
            triple: self.triple(),
            shape: Shape::new(1, lanes, k),
            scales: None,
            fragments: Some(FragmentSpec { lanes, a: k, b: k, c: 1 }),
            source: self.source(),
        }
    }

    fn source(self) -> String {
        let (instructions, register) = match self {
            MulAddF32 => ("instructions MULPS and ADDPS", "xmm"),
            MulAddF64 => ("instructions MULPD and ADDPD", "xmm"),
            FmaF32 => ("instruction VFMADD231PS", "ymm"),
            FmaF64 => ("instruction VFMADD231PD", "ymm"),
            WideFmaF32 => ("instruction VFMADD231PS", "zmm"),
            WideFmaF64 => ("instruction VFMADD231PD", "zmm"),
            DotBf16 => ("instruction VDPBF16PS", "zmm"),
            DotU8I8 => ("instruction VPDPBUSD", "zmm"),
            DotU8I8Saturating => ("instruction VPDPBUSDS", "zmm"),
            DotI16 => ("instruction VPDPWSSD", "zmm"),
            DotI16Saturating => ("instruction VPDPWSSDS", "zmm"),
        };
        format!("{}, {instructions}, on {register} registers", super::offers::REFERENCE)
    }
}

/// What the device declares of all its instructions, those that this processor lacks included: asking for one of these
/// gives the reason.
pub fn specs() -> Vec<UnitSpec> {
    Instruction::ALL.into_iter().map(Instruction::spec).collect()
}

/// The unit of a name.
///
/// # Errors
/// What is missing for it here, or which names there are.
pub fn unit(name: &str) -> Result<Box<dyn Unit>, Absent> {
    let Some(instruction) = Instruction::ALL.into_iter().find(|i| i.name() == name) else {
        let known: Vec<&str> = Instruction::ALL.into_iter().map(Instruction::name).collect();
        return Err(Absent(format!("device cpu has no unit `{name}`; it has {}", known.join(", "))));
    };
    present(name, instruction.needs())?;
    Ok(Box::new(CpuUnit { instruction, spec: instruction.spec() }))
}

/// Whether this is an x86-64 processor that offers all of these features.
pub(super) fn present(name: &str, needs: &[&'static str]) -> Result<(), Absent> {
    if !cfg!(target_arch = "x86_64") {
        let here = std::env::consts::ARCH;
        return Err(Absent(format!("{name} needs an x86-64 processor; this build is for {here}")));
    }
    let here = detect::features();
    let missing: Vec<&str> = needs.iter().copied().filter(|need| !here.contains(need)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(", ");
    Err(Absent(format!("{name}: this processor or operating system does not offer {missing}")))
}

/// An instruction that this processor has.
struct CpuUnit {
    instruction: Instruction,
    spec: UnitSpec,
}

impl Unit for CpuUnit {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let a = registers::repeated(operands.a, self.instruction.lanes());
        let b = registers::by_columns(operands.b, self.instruction.products());
        let mut d = operands.c.clone();
        self.execute(&a, &b, &mut d.bytes)?;
        Ok(d)
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let mut d = operands.c.clone();
        self.execute(&operands.a.bytes, &operands.b.bytes, &mut d.bytes)?;
        Ok(d)
    }
}

impl CpuUnit {
    /// Executes the instruction on as many registers as there are; `c` becomes D.
    #[cfg(target_arch = "x86_64")]
    fn execute(&self, a: &[u8], b: &[u8], c: &mut [u8]) -> Result<(), Fault> {
        // SAFETY: `unit`, which alone makes this, found the features.
        unsafe { super::unit_kernels::execute(self.instruction, a, b, c) };
        Ok(())
    }

    /// Never reached: no such unit is made on these processors.
    #[cfg(not(target_arch = "x86_64"))]
    fn execute(&self, _: &[u8], _: &[u8], _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault::Failed(format!("{} needs an x86-64 processor", self.spec.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_hold_and_fill_their_registers() {
        for (i, instruction) in Instruction::ALL.into_iter().enumerate() {
            let spec = instruction.spec();
            assert_eq!(spec.check(), Ok(()), "{}", spec.name);
            assert!(Instruction::ALL[..i].iter().all(|other| other.name() != spec.name));
            let bytes = |format: Format, slots: usize| instruction.lanes() * slots * format.bits() as usize / 8;
            let t = spec.triple;
            let operands = [(t.a, spec.shape.k), (t.b, spec.shape.k), (t.c, 1)];
            assert!(
                operands.iter().all(|&(f, slots)| bytes(f, slots) == instruction.register_bytes()),
                "{}",
                spec.name
            );
        }
    }

    #[test]
    fn what_is_missing_is_said_by_name() {
        let said = unit("vdpfp64").err().unwrap().to_string();
        assert!(said.contains("`vdpfp64`") && said.contains("vdpbf16ps"), "{said}");
        let said = present("vdpbf16ps", &["avx512f", "no-such-feature"]).unwrap_err().to_string();
        assert!(said.contains("vdpbf16ps") && said.contains("no-such-feature"), "{said}");
    }
}
