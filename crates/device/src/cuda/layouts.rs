//! Which published layouts put the tiles of an instruction into registers?
//!
//! The layouts are those of `rigel-numerics`, by name. An instruction with an operand that the library does not name is
//! reached by registers only, and says so.

use super::instruction::{Instruction, Major};
use rigel_numerics::Format;
use rigel_numerics::layout::{Fragment, Layout, library};

/// The layouts of an instruction.
///
/// # Errors
/// Which layout the library does not have.
pub fn fragment(instruction: &Instruction) -> Result<Fragment, String> {
    let names = names(instruction).ok_or_else(|| {
        format!(
            "no published layout of all operands of {} is in the library: it is reached by registers only",
            instruction.name()
        )
    })?;
    let [a, b, c] = names.map(|name| published(&name));
    Fragment::new(a?, b?, c?).map_err(|e| e.to_string())
}

fn published(name: &str) -> Result<Layout, String> {
    let found = library().iter().find(|published| published.name == name);
    found.map(|published| published.layout.clone()).ok_or_else(|| format!("no published layout is called `{name}`"))
}

/// Names of the layouts of A, B and C, where the library has all three.
fn names(instruction: &Instruction) -> Option<[String; 3]> {
    let extents = format!("mma.sync.m{}n{}k{}", instruction.shape.m, instruction.shape.n, instruction.shape.k);
    if instruction.in_quad_pairs() {
        // That of f16 accumulators differs and is not in the library.
        return (instruction.triple.c == Format::F32).then(|| {
            let order = |of_rows| if of_rows { "tn" } else { "nt" };
            let a = format!("{extents}.f16.a.{}", order(instruction.majors.0 == Major::Row));
            let b = format!("{extents}.f16.b.{}", order(instruction.majors.1 == Major::Col));
            [a, b, format!("{extents}.f16.c")]
        });
    }
    let operands = match (instruction.triple.a, instruction.shape.k) {
        (Format::F16 | Format::Bf16, _) => "f16",
        (Format::Tf32, _) => "tf32",
        (Format::F64, 4 | 8) if instruction.shape.m == 16 => "tf32",
        (Format::F64, _) => "f64",
        // The PTX ISA gives 8-bit integers and 8-bit floats one layout, of m16n8k16 as of m16n8k32.
        (Format::I8 | Format::U8 | Format::E4m3 | Format::E5m2, _) => "s8",
        _ => return None,
    };
    let c = format!("mma.sync.m{}n{}.c", instruction.shape.m, instruction.shape.n);
    Some([format!("{extents}.{operands}.a"), format!("{extents}.{operands}.b"), c])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_fit_their_instruction_and_hold_every_element_once() {
        for instruction in Instruction::all() {
            let Some(names) = names(&instruction) else { continue };
            let fragment = fragment(&instruction).unwrap_or_else(|e| panic!("{names:?}: {e}"));
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
    fn what_has_no_layout_is_named() {
        let without: Vec<String> =
            Instruction::all().iter().filter(|i| names(i).is_none()).map(Instruction::name).collect();
        for name in ["mma.sync.m16n8k64.s32.s4.s4.s32", "mma.sync.m8n8k4.row.col.f16.f16.f16.f16"] {
            assert!(without.iter().any(|n| n == name), "{name} is not among {without:?}");
            let said = fragment(&Instruction::named(name).unwrap()).unwrap_err();
            assert!(said.contains(name) && said.contains("registers only"), "{said}");
        }
    }
}
