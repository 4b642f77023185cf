//! Which slot of C is added to which register of D?

use super::ask::{Asker, Fill, Launch};
use super::error::Unrecovered;
use super::grid::Grid;
use rigel_numerics::layout::FragmentOperand::C;

/// How C is added.
#[derive(Debug, Clone)]
pub(super) struct Addends {
    /// The slot of C (lane · slots + slot) that each used register of D adds.
    pub of: Vec<Option<usize>>,
    /// The element of every slot of C that some register of D adds; `None` for slots that none does.
    pub held: Vec<Option<(u32, u32)>>,
}

/// Reads off every used register of D which slot of C it adds; elements are numbered as in the grid.
///
/// # Errors
/// `Reading` where a register of D adds nothing or more than one slot, `NotOneElement` for a slot that feeds two elements.
pub(super) fn addends(asker: &mut Asker<'_>, grid: &Grid) -> Result<Addends, Unrecovered> {
    let width = asker.number_width(C);
    let launch = |c| Launch { a: Fill::All(0), b: Fill::All(0), c };
    let mut launches = vec![launch(Fill::All(1))];
    launches.extend((0..width).map(|bit| launch(asker.number_bits(C, bit))));
    let answers = asker.ask(&launches)?;
    let mut held: Vec<Option<(u32, u32)>> = vec![None; asker.registers(C)];
    let mut of = vec![None; held.len()];
    for (register, element) in grid.element.iter().enumerate() {
        let Some(element) = *element else { continue };
        let (lane, slot) = asker.place(C, register);
        let mut named = 0;
        for (i, answer) in answers.iter().enumerate() {
            let seen = answer[register];
            let allowed = if i == 0 { seen == 1.0 } else { seen == 0.0 || seen == 1.0 };
            if !allowed {
                return Err(Unrecovered::Reading { operand: C, lane, slot, expected: 1.0, seen });
            }
            if i > 0 && seen == 1.0 {
                named |= 1usize << (i - 1);
            }
        }
        if named >= held.len() {
            return Err(Unrecovered::Reading { operand: C, lane, slot, expected: 1.0, seen: 0.0 });
        }
        of[register] = Some(named);
        if *held[named].get_or_insert(element) != element {
            let (lane, slot) = asker.place(C, named);
            let what = "is added to two elements".to_owned();
            return Err(Unrecovered::NotOneElement { operand: C, lane, slot, what });
        }
    }
    Ok(Addends { of, held })
}
