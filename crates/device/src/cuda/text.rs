//! What is the PTX of an instruction's kernel, for a target?

use super::instruction::Instruction;
use super::target::{PtxVersion, Target};
use rigel_numerics::Format;

const MMA_SYNC: &str = include_str!("mma_sync.ptx");
const HEALTH: &str = include_str!("health.ptx");
const STAMP: &str = include_str!("stamp.ptx");

/// Entry of the kernel that executes an instruction.
pub const UNIT_ENTRY: &str = "unit";
/// Entry of the kernel that answers for the device's health.
pub const HEALTH_ENTRY: &str = "health";
/// Entry of the kernel that reads cycles and time of every multiprocessor.
pub const STAMP_ENTRY: &str = "stamp";

/// The row of the batch that a thread works on: its own.
const OWN_ROW: &str = "    mov.b32 %row, %thread;";

/// The row of the batch that a thread of a quad pair works on: lanes 4q … 4q + 3 hold the first half of launch q, lanes
/// 4q + 16 … 4q + 19 the second half. Bits 2 and 3 of the thread become bits 3 and 4 of the row, and bit 4 becomes bit
/// 2.
const ROW_IN_QUAD_PAIRS: &str = "    and.b32 %row, %thread, 0xFFFFFFE3;
    and.b32 %part, %thread, 0x0000000C;
    shl.b32 %part, %part, 1;
    or.b32 %row, %row, %part;
    and.b32 %part, %thread, 0x00000010;
    shr.u32 %part, %part, 2;
    or.b32 %row, %row, %part;";

/// The version of PTX in which an instruction's kernel for a target is written: the first that has both.
pub fn version(instruction: &Instruction, target: Target) -> PtxVersion {
    instruction.ptx.max(target.ptx())
}

/// The kernel of an instruction for a target. Whether the target has the instruction is the compiler's to say.
pub fn unit(instruction: &Instruction, target: Target) -> String {
    unit_in(instruction, target, version(instruction, target))
}

/// [`unit`] in another version of PTX than the first that will do.
pub fn unit_in(instruction: &Instruction, target: Target, version: PtxVersion) -> String {
    let slots = instruction.fragments();
    let triple = instruction.triple;
    let [a, b, c, d] = [
        Registers { name: 'a', slots: slots.a, format: triple.a },
        Registers { name: 'b', slots: slots.b, format: triple.b },
        Registers { name: 'c', slots: slots.c, format: triple.c },
        Registers { name: 'd', slots: slots.c, format: triple.c },
    ];
    let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n");
    let declared = lines([&a, &b, &c, &d].map(Registers::declaration).into());
    let loads =
        lines([&a, &b, &c].iter().flat_map(|r| r.each("ld", |at, register| format!("{register}, {at}"))).collect());
    let stores = lines(d.each("st", |at, register| format!("{at}, {register}")));
    let executed =
        format!("{} {}, {}, {}, {};", instruction.mnemonic(), d.vector(), a.vector(), b.vector(), c.vector());
    let row = if instruction.in_quad_pairs() { ROW_IN_QUAD_PAIRS } else { OWN_ROW };
    let [bytes_a, bytes_b, bytes_c] = [&a, &b, &c].map(|r| r.bytes().to_string());
    fill(
        MMA_SYNC,
        &[
            ("version", &version.to_string()),
            ("target", &target.to_string()),
            ("registers", &declared),
            ("row", row),
            ("bytes_a", &bytes_a),
            ("bytes_b", &bytes_b),
            ("bytes_c", &bytes_c),
            ("loads", &loads),
            ("instruction", &executed),
            ("stores", &stores),
        ],
    )
}

/// The kernel that answers for a device's health.
pub fn health(target: Target) -> String {
    health_in(target, target.ptx())
}

/// The kernel that reads cycles and time of every multiprocessor.
pub fn stamp(target: Target) -> String {
    fill(STAMP, &[("version", &target.ptx().to_string()), ("target", &target.to_string())])
}

/// [`health`] in another version of PTX than the first that names the target.
pub fn health_in(target: Target, version: PtxVersion) -> String {
    fill(HEALTH, &[("version", &version.to_string()), ("target", &target.to_string())])
}

/// FNV-1a, 64 bits, over the kernels of all instructions for a target and every file of CUDA C++: which sources a run used.
/// Identity, not authenticity.
pub fn hash(target: Target) -> u64 {
    let texts = Instruction::all().into_iter().map(|instruction| unit(&instruction, target));
    let more = [health(target), stamp(target)].into_iter().chain(super::source::FILES.map(str::to_owned));
    fnv1a(texts.chain(more).flat_map(String::into_bytes))
}

/// FNV-1a, 64 bits.
pub fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn fill(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value))
}

/// The registers of one operand in a lane. Slots lie in them as in a row of a packed matrix: the lowest bits first.
struct Registers {
    name: char,
    slots: usize,
    format: Format,
}

impl Registers {
    /// Bits of one register: 64 for f64, else 32.
    fn width(&self) -> usize {
        if self.format == Format::F64 { 64 } else { 32 }
    }

    /// PTX's type of one: the accumulators of floats are typed, everything else is bits.
    fn kind(&self) -> &'static str {
        match (self.format, self.name) {
            (Format::F64, _) => ".f64",
            (Format::F32, _) => ".f32",
            _ => ".b32",
        }
    }

    fn bytes(&self) -> usize {
        self.slots * self.format.bits() as usize / 8
    }

    fn count(&self) -> usize {
        self.bytes() * 8 / self.width()
    }

    fn register(&self, index: usize) -> String {
        format!("%{}{index}", self.name)
    }

    fn declaration(&self) -> String {
        format!(".reg {} %{}<{}>;", self.kind(), self.name, self.count())
    }

    fn vector(&self) -> String {
        let names: Vec<String> = (0..self.count()).map(|i| self.register(i)).collect();
        format!("{{{}}}", names.join(", "))
    }

    /// One load or store a register.
    fn each(&self, operation: &str, operands: impl Fn(String, String) -> String) -> Vec<String> {
        let line = |i| {
            let at = format!("[%at_{} + {}]", self.name, i * self.width() / 8);
            format!("{operation}.global{} {};", self.kind(), operands(at, self.register(i)))
        };
        (0..self.count()).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_templates_is_filled() {
        for instruction in Instruction::all() {
            let text = unit(&instruction, Target(90));
            assert!(!text.contains("{{") && !text.contains("}}"), "{text}");
            assert!(text.contains(&instruction.mnemonic()) && text.contains(".target sm_90\n"), "{text}");
        }
        assert!(!health(Target(90)).contains("{{"));
    }

    #[test]
    fn registers_hold_a_lane_exactly() {
        for instruction in Instruction::all() {
            let slots = instruction.fragments();
            for (slots, format) in
                [(slots.a, instruction.triple.a), (slots.b, instruction.triple.b), (slots.c, instruction.triple.c)]
            {
                let r = Registers { name: 'a', slots, format };
                assert_eq!(r.count() * r.width(), slots * format.bits() as usize, "{}", instruction.name());
            }
        }
    }

    #[test]
    fn lanes_of_a_quad_pair_become_eight_rows_in_order() {
        // What the lines of ROW_IN_QUAD_PAIRS compute.
        let row = |t: u32| t & 0xFFFF_FFE3 | (t & 0xC) << 1 | (t & 0x10) >> 2;
        for q in 0..4 {
            let lanes = (0..4).map(|i| 4 * q + i).chain((0..4).map(|i| 4 * q + 16 + i));
            let rows: Vec<u32> = lanes.map(|lane| row(64 + lane)).collect();
            assert_eq!(rows, (64 + 8 * q..64 + 8 * q + 8).collect::<Vec<_>>());
        }
    }

    #[test]
    fn kernels_tell_their_sources_apart() {
        assert_ne!(hash(Target(80)), hash(Target(90)));
        assert_eq!(hash(Target(90)), hash(Target(90)));
    }
}
