//! Which published layouts put the tiles of an instruction into registers?
//!
//! The layouts are those of `rigel-numerics`, by name: every instruction here has all three.

use super::instruction::{Instruction, Major};
use rigel_numerics::Format;
use rigel_numerics::layout::{Fragment, Layout, library};

/// The layouts of an instruction.
///
/// # Errors
/// Which layout the library does not have.
pub fn fragment(instruction: &Instruction) -> Result<Fragment, String> {
    let [a, b, c] = names(instruction).map(|name| published(&name));
    Fragment::new(a?, b?, c?).map_err(|e| e.to_string())
}

fn published(name: &str) -> Result<Layout, String> {
    let found = library().iter().find(|published| published.name == name);
    found.map(|published| published.layout.clone()).ok_or_else(|| format!("no published layout is called `{name}`"))
}

/// Names of the layouts of A, B and C.
fn names(instruction: &Instruction) -> [String; 3] {
    let extents = format!("mma.sync.m{}n{}k{}", instruction.shape.m, instruction.shape.n, instruction.shape.k);
    if instruction.in_quad_pairs() {
        let order = |of_rows| if of_rows { "tn" } else { "nt" };
        let a = format!("{extents}.f16.a.{}", order(instruction.majors.0 == Major::Row));
        let b = format!("{extents}.f16.b.{}", order(instruction.majors.1 == Major::Col));
        // Accumulators of f16 lie otherwise than those of f32.
        let c = if instruction.triple.c == Format::F32 { "" } else { ".f16" };
        return [a, b, format!("{extents}.f16.c{c}")];
    }
    let operands = match (instruction.triple.a, instruction.shape.k) {
        (Format::Bf16, _) => "f16",
        (Format::F64, 4 | 8) if instruction.shape.m == 16 => "tf32",
        // The PTX ISA gives 8-bit integers and 8-bit floats one layout, of m16n8k16 as of m16n8k32.
        (Format::I8 | Format::U8 | Format::E4m3 | Format::E5m2, _) => "s8",
        (Format::I4 | Format::U4, _) => "s4",
        (other, _) => other.name(),
    };
    let c = format!("mma.sync.m{}n{}.c", instruction.shape.m, instruction.shape.n);
    [format!("{extents}.{operands}.a"), format!("{extents}.{operands}.b"), c]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::Shape;

    #[test]
    fn layouts_fit_their_instruction_and_hold_every_element_once() {
        for instruction in Instruction::all() {
            let fragment = fragment(&instruction).unwrap_or_else(|e| panic!("{}: {e}", instruction.name()));
            let slots = instruction.fragments();
            assert_eq!(fragment.shape(), instruction.shape, "{}", instruction.name());
            assert_eq!(fragment.lanes(), slots.lanes, "{}", instruction.name());
            for (layout, slots) in [(&fragment.a, slots.a), (&fragment.b, slots.b), (&fragment.c, slots.c)] {
                assert_eq!(layout.slots(), slots, "{}", instruction.name());
                assert!(layout.first_holders().iter().all(Option::is_some), "{}", instruction.name());
            }
        }
    }

    #[test]
    fn an_instruction_of_layouts_that_nobody_published_is_named_by_what_lacks() {
        let known = Instruction::named("mma.sync.m16n8k64.s32.s4.s4.s32").unwrap();
        let unknown = Instruction { shape: Shape::new(16, 8, 128), ..known };
        assert!(fragment(&unknown).unwrap_err().contains("mma.sync.m16n8k128.s4.a"));
    }
}
