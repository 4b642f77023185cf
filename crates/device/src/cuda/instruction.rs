//! Which `mma.sync` instructions exist up to compute capability 9.0, and what do they declare?
//!
//! Source: NVIDIA, PTX ISA 9.0, section on `mma` among the warp-level matrix instructions, with its notes on PTX
//! versions and targets. Every dense shape and combination of types of that section is here but these:
//!
//! | left out | why |
//! | --- | --- |
//! | `.b1` operands with `.xor.popc` or `.and.popc` | no number format of one bit exists here, and no product is computed |
//! | `m8n8k4` with D of f32 and C of f16 | a unit has one format for C and D |
//! | `mma.sp` | its third operand, the positions of the elements that are not 0, has no place in the unit contract yet |
//! | `.kind` and `.block_scale` | compute capability 10 and later |
//!
//! A launch is one warp of 32 lanes. `m8n8k4` on f16 is the exception: a warp executes it four times over, once in each
//! of its quad pairs (lanes 4q to 4q + 3 and 4q + 16 to 4q + 19), so a launch is the 8 lanes of one quad pair.

use super::target::{PtxVersion, Target};
use crate::unit::{FragmentSpec, UnitSpec};
use rigel_numerics::{Format, Shape, Triple};

/// The order in which an operand's elements follow each other, as the instruction names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Major {
    /// `.row`.
    Row,
    /// `.col`.
    Col,
}

impl Major {
    const fn name(self) -> &'static str {
        match self {
            Major::Row => "row",
            Major::Col => "col",
        }
    }
}

/// One `mma.sync` instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Extents of the product.
    pub shape: Shape,
    /// Element types; C and D are of the same.
    pub triple: Triple,
    /// `.satfinite`: sums of integers saturate instead of wrapping.
    pub saturates: bool,
    /// Orders of A and B: `.row.col` for all but `m8n8k4` on f16.
    pub majors: (Major, Major),
    /// The first version of PTX that has it.
    pub ptx: PtxVersion,
    /// The first target that has it.
    pub target: Target,
}

/// Instructions that differ in operand types only.
struct Family {
    shape: (usize, usize, usize),
    operands: &'static [Format],
    c: Format,
    ptx: PtxVersion,
    target: Target,
}

const fn family(
    shape: (usize, usize, usize),
    operands: &'static [Format],
    c: Format,
    ptx: (u8, u8),
    target: u32,
) -> Family {
    Family { shape, operands, c, ptx: PtxVersion(ptx.0, ptx.1), target: Target(target) }
}

const F16: &[Format] = &[Format::F16];
const BF16: &[Format] = &[Format::Bf16];
const TF32: &[Format] = &[Format::Tf32];
const F64: &[Format] = &[Format::F64];
const F8: &[Format] = &[Format::E4m3, Format::E5m2];
const INT8: &[Format] = &[Format::I8, Format::U8];
const INT4: &[Format] = &[Format::I4, Format::U4];

const FAMILIES: &[Family] = &[
    family((8, 8, 4), F16, Format::F32, (6, 4), 70),
    family((8, 8, 4), F16, Format::F16, (6, 4), 70),
    family((16, 8, 8), F16, Format::F32, (6, 5), 75),
    family((16, 8, 8), F16, Format::F16, (6, 5), 75),
    family((16, 8, 16), F16, Format::F32, (7, 0), 80),
    family((16, 8, 16), F16, Format::F16, (7, 0), 80),
    family((16, 8, 8), BF16, Format::F32, (7, 0), 80),
    family((16, 8, 16), BF16, Format::F32, (7, 0), 80),
    family((16, 8, 4), TF32, Format::F32, (7, 0), 80),
    family((16, 8, 8), TF32, Format::F32, (7, 0), 80),
    family((8, 8, 4), F64, Format::F64, (7, 0), 80),
    family((16, 8, 4), F64, Format::F64, (7, 8), 90),
    family((16, 8, 8), F64, Format::F64, (7, 8), 90),
    family((16, 8, 16), F64, Format::F64, (7, 8), 90),
    family((16, 8, 32), F8, Format::F32, (8, 4), 89),
    family((16, 8, 32), F8, Format::F16, (8, 7), 89),
    family((16, 8, 16), F8, Format::F32, (8, 7), 89),
    family((16, 8, 16), F8, Format::F16, (8, 7), 89),
    family((8, 8, 16), INT8, Format::I32, (6, 5), 75),
    family((16, 8, 16), INT8, Format::I32, (7, 0), 80),
    family((16, 8, 32), INT8, Format::I32, (7, 0), 80),
    family((8, 8, 32), INT4, Format::I32, (6, 5), 75),
    family((16, 8, 32), INT4, Format::I32, (7, 0), 80),
    family((16, 8, 64), INT4, Format::I32, (7, 0), 80),
];

impl Instruction {
    /// Every instruction, in the order in which the device lists them.
    pub fn all() -> Vec<Instruction> {
        FAMILIES.iter().flat_map(Family::members).collect()
    }

    /// The instruction of a name.
    pub fn named(name: &str) -> Option<Instruction> {
        Instruction::all().into_iter().find(|instruction| instruction.name() == name)
    }

    /// Whether a warp executes it four times over, once in each quad pair.
    pub fn in_quad_pairs(&self) -> bool {
        self.triple.a == Format::F16 && self.shape.k == 4
    }

    /// The stable name of the unit: `mma.sync`, the shape, what else the instruction says, and the types of D, A, B and
    /// C.
    pub fn name(&self) -> String {
        let majors = if self.in_quad_pairs() { self.orders() } else { String::new() };
        format!("mma.sync.{}{majors}{}", self.extents(), self.suffix())
    }

    /// The instruction as PTX writes it, without its operands.
    pub fn mnemonic(&self) -> String {
        format!("mma.sync.aligned.{}{}{}", self.extents(), self.orders(), self.suffix())
    }

    fn extents(&self) -> String {
        format!("m{}n{}k{}", self.shape.m, self.shape.n, self.shape.k)
    }

    fn orders(&self) -> String {
        format!(".{}.{}", self.majors.0.name(), self.majors.1.name())
    }

    fn suffix(&self) -> String {
        let Triple { a, b, c, .. } = self.triple;
        let [a, b, c] = [a, b, c].map(ptx_type);
        format!("{}.{c}.{a}.{b}.{c}", if self.saturates { ".satfinite" } else { "" })
    }

    /// Lanes of a launch and the slots of each. The elements of a tile fill them exactly.
    pub fn fragments(&self) -> FragmentSpec {
        let lanes = if self.in_quad_pairs() { 8 } else { 32 };
        let Shape { m, n, k } = self.shape;
        FragmentSpec { lanes, a: m * k / lanes, b: k * n / lanes, c: m * n / lanes }
    }

    /// What the device declares of it.
    pub fn spec(&self) -> UnitSpec {
        UnitSpec {
            name: self.name(),
            path: "mma.sync".into(),
            triple: self.triple,
            shape: self.shape,
            scales: None,
            fragments: Some(self.fragments()),
            source: format!(
                "NVIDIA, PTX ISA 9.0, section on mma: {}, from PTX {} and {}",
                self.mnemonic(),
                self.ptx,
                self.target
            ),
        }
    }
}

impl Family {
    fn members(&self) -> Vec<Instruction> {
        let (m, n, k) = self.shape;
        let quad_pairs = self.operands == F16 && k == 4;
        let row_col = [(Major::Row, Major::Col)].as_slice();
        let any =
            [(Major::Row, Major::Col), (Major::Col, Major::Row), (Major::Row, Major::Row), (Major::Col, Major::Col)];
        let saturation = if self.c == Format::I32 { [false, true].as_slice() } else { &[false] };
        let mut members = Vec::new();
        for &a in self.operands {
            for &b in self.operands {
                for &majors in if quad_pairs { any.as_slice() } else { row_col } {
                    members.extend(saturation.iter().map(|&saturates| Instruction {
                        shape: Shape::new(m, n, k),
                        triple: Triple::new(a, b, self.c),
                        saturates,
                        majors,
                        ptx: self.ptx,
                        target: self.target,
                    }));
                }
            }
        }
        members
    }
}

/// PTX's name of an element type.
pub(super) fn ptx_type(format: Format) -> &'static str {
    match format {
        Format::I32 => "s32",
        Format::I8 => "s8",
        Format::I4 => "s4",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn declarations_hold_and_names_are_unique() {
        let all = Instruction::all();
        let names: HashSet<String> = all.iter().map(Instruction::name).collect();
        assert_eq!(names.len(), all.len());
        for instruction in &all {
            let spec = instruction.spec();
            assert_eq!(spec.check(), Ok(()), "{}", spec.name);
            assert_eq!(Instruction::named(&spec.name), Some(*instruction));
            let FragmentSpec { lanes, a, b, c } = instruction.fragments();
            let Shape { m, n, k } = spec.shape;
            assert_eq!([lanes * a, lanes * b, lanes * c], [m * k, k * n, m * n], "{}", spec.name);
            assert!(Target::KNOWN.contains(&instruction.target));
        }
    }

    #[test]
    fn names_say_what_the_instruction_says() {
        let names: Vec<String> = Instruction::all().iter().map(Instruction::name).collect();
        for name in [
            "mma.sync.m16n8k32.f32.e4m3.e5m2.f32",
            "mma.sync.m8n8k4.col.row.f16.f16.f16.f16",
            "mma.sync.m16n8k64.satfinite.s32.u4.s4.s32",
            "mma.sync.m8n8k4.f64.f64.f64.f64",
        ] {
            assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
        }
        let bf16 = Instruction::named("mma.sync.m16n8k16.f32.bf16.bf16.f32").unwrap();
        assert_eq!(bf16.mnemonic(), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
    }
}
