//! Which `wgmma` instructions are there, and how does a kernel call one?
//!
//! Source: NVIDIA, PTX ISA 9.0, section on asynchronous warpgroup-level matrix instructions. Every instruction takes 64 rows,
//! 32 bytes of k, and N columns, a multiple of 8 up to 256. B lies in shared memory; A there or in registers.

use super::instruction::ptx_type;
use rigel_numerics::{Format, Shape, Triple};

/// One `wgmma` instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wgmma {
    /// Columns.
    pub n: usize,
    /// Element types; C and D are of the same.
    pub triple: Triple,
    /// Whether A comes from registers instead of shared memory.
    pub a_in_registers: bool,
}

impl Wgmma {
    /// Extents of the product.
    pub fn shape(&self) -> Shape {
        Shape::new(64, self.n, 256 / self.triple.operand_bits() as usize)
    }

    /// The stable name of the unit.
    pub fn name(&self) -> String {
        let from = if self.a_in_registers { "rs" } else { "ss" };
        format!("wgmma.{}.{from}", self.suffix())
    }

    /// The instruction as PTX writes it, without its operands.
    pub fn mnemonic(&self) -> String {
        format!("wgmma.mma_async.sync.aligned.{}", self.suffix())
    }

    fn suffix(&self) -> String {
        let (Shape { m, n, k }, [a, b, c]) =
            (self.shape(), [self.triple.a, self.triple.b, self.triple.c].map(ptx_type));
        format!("m{m}n{n}k{k}.{c}.{a}.{b}")
    }

    /// 32-bit registers of C and D in a lane.
    pub fn sums(&self) -> usize {
        if self.triple.c == Format::F16 { self.n / 4 } else { self.n / 2 }
    }

    /// The function `multiply` that executes it: sums, A, B, and whether the sums go in.
    pub fn function(&self) -> String {
        self.function_of(false)
    }

    /// The same for a B whose columns lie side by side, which 16-bit types alone can have.
    pub fn function_of(&self, transposed: bool) -> String {
        let sums = self.sums();
        let constraint = super::source::constraint(self.triple.c);
        let list =
            |from: usize, count: usize| (from..from + count).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
        let (a, a_type, next) = if self.a_in_registers {
            (format!("{{{}}}", list(sums, 4)), "const u32 (&a)[4]", sums + 4)
        } else {
            (format!("%{sums}"), "u64 a", sums + 1)
        };
        let signs = match (self.triple.is_integer(), self.triple.operand_bits() == 16, self.a_in_registers) {
            (true, ..) => "",
            (_, true, false) => {
                if transposed {
                    ", 1, 1, 0, 1"
                } else {
                    ", 1, 1, 0, 0"
                }
            }
            (_, true, true) => {
                if transposed {
                    ", 1, 1, 1"
                } else {
                    ", 1, 1, 0"
                }
            }
            _ => ", 1, 1",
        };
        let outputs = (0..sums).map(|i| format!("\"+{constraint}\"(d[{i}])")).collect::<Vec<_>>().join(", ");
        let inputs = match self.a_in_registers {
            true => (0..4).map(|i| format!("\"r\"(a[{i}])")).collect::<Vec<_>>().join(", "),
            false => "\"l\"(a)".into(),
        };
        format!(
            "#define SUMS {sums}\n__device__ __forceinline__ void multiply(Accumulator (&d)[{sums}], {a_type}, u64 b, int add) {{\n  \
             asm volatile(\"{{\\n\\t.reg .pred added;\\n\\tsetp.ne.b32 added, %{add}, 0;\\n\\t{mnemonic} {{{d}}}, {a}, %{next}, added{signs};\\n\\t}}\"\n    \
             : {outputs}\n    : {inputs}, \"l\"(b), \"r\"(add) : \"memory\");\n}}\n\
             // Nothing that reads the sums may move before the wait that this follows.\n\
             __device__ __forceinline__ void settled(Accumulator (&d)[{sums}]) {{\n  asm volatile(\"\" : {outputs} :: \"memory\");\n}}\n",
            add = next + 1,
            mnemonic = self.mnemonic(),
            d = list(0, sums),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_the_instruction_says() {
        let unit = Wgmma { n: 256, triple: Triple::new(Format::E4m3, Format::E5m2, Format::F32), a_in_registers: true };
        assert_eq!(unit.name(), "wgmma.m64n256k32.f32.e4m3.e5m2.rs");
        assert_eq!(unit.mnemonic(), "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e5m2");
        assert_eq!((unit.shape(), unit.sums()), (Shape::new(64, 256, 32), 128));
        let halves = Wgmma { n: 64, triple: Triple::new(Format::F16, Format::F16, Format::F16), a_in_registers: false };
        assert_eq!((halves.shape().k, halves.sums()), (16, 16));
    }
}
