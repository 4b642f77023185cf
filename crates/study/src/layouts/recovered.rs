//! What is known of a unit's layouts after all, and how many launches did it take?

use super::ask::Asker;
use super::assemble::{Numbers, Seen};
use super::error::Unrecovered;
use super::lines::{Owners, Spent};
use super::sight::Sight;
use super::{addend, confirm, lines, outputs, sight};
use rigel_device::unit::Unit;
use rigel_numerics::layout::{Agreement, Fragment, Layout};

/// How m, n and k are numbered, which products cannot show.
#[derive(Debug, Clone, Copy)]
pub enum Numbering<'a> {
    /// m and n in the order in which they appear in D's registers (lane by lane, slot by slot), k in the order of A's.
    Appearance,
    /// m and n as the C of a published fragment has them, k as its A. Where the published layout is another one, by appearance.
    Published(&'a Fragment),
}

/// Launches spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Launches {
    /// On first sight and on D.
    pub d: usize,
    /// On A.
    pub a: usize,
    /// On B.
    pub b: usize,
    /// On C.
    pub c: usize,
    /// On confirming the whole.
    pub confirmation: usize,
}

/// Layouts that were seen and confirmed. Valid for one driver and toolchain.
#[derive(Debug, Clone, PartialEq)]
pub struct Recovered {
    /// A, B and D. A slot is unused here when no product reads it, which a copy that the hardware ignores looks like too.
    pub fragment: Fragment,
    /// C: as D, but for slots that no register of D adds and for copies that are added elsewhere.
    pub addend: Layout,
    /// Independent products that the unit falls into: 1, or more where copies of A or B are each read by some of D's registers.
    /// How the numbers of one part correspond to those of another is not observable; it is fixed as m, n and k are.
    pub parts: usize,
    /// Whether the published fragment gave the numbers; `None` where none was named.
    pub published: Option<bool>,
    /// Launches spent.
    pub launches: Launches,
}

impl Recovered {
    /// Compares A, B and D with a published fragment: [`Fragment::agreement`].
    pub fn agreement(&self, published: &Fragment) -> Agreement {
        self.fragment.agreement(published)
    }

    /// What is convention in the result, in words.
    pub fn convention(&self) -> String {
        let how = match self.published {
            Some(true) => "m and n are numbered as in C of the published layout, k as in its A (convention)",
            Some(false) => {
                "the published layout is another one; m and n are numbered in the order of D's registers, k in that of A's (convention)"
            }
            None => "m and n are numbered in the order of D's registers, k in that of A's (convention)",
        };
        let parts = if self.parts == 1 {
            String::new()
        } else {
            format!(
                "; copies are each read by one of {} independent parts, whose numbers correspond by the same convention",
                self.parts
            )
        };
        format!("products do not show how m, n and k are numbered: {how}{parts}")
    }
}

/// The layouts of a unit, from its registers alone; the seed chooses which slots are lit together.
///
/// # Errors
/// [`Unrecovered`]: never a map beside a doubt.
pub fn recover(unit: &mut dyn Unit, numbering: Numbering<'_>, seed: u64) -> Result<Recovered, Unrecovered> {
    let mut asker = Asker::new(unit, seed)?;
    let sight = sight::look(&mut asker)?;
    let (seen, launches) = match attempt(&mut asker, &sight, outputs::BATCH) {
        Ok(found) => found,
        Err(first) => {
            // Either the unit is no function, or rows or columns were taken for one that more launches tell apart.
            sight::steady(&mut asker, &sight.used, 64)?;
            if matches!(first, Unrecovered::Outputs { .. } | Unrecovered::Unit(_)) {
                return Err(first);
            }
            attempt(&mut asker, &sight, outputs::MOST)?
        }
    };
    let shape = asker.spec.shape;
    let numbered = match numbering {
        Numbering::Published(published) => Some(Numbers::by_published(&asker, &seen, published)),
        Numbering::Appearance => None,
    };
    let published = numbered.as_ref().map(Option::is_some);
    let numbers = numbered.flatten().unwrap_or_else(|| Numbers::by_appearance(&seen, (shape.m, shape.n)));
    let (fragment, addend) = numbers.layouts(&asker, &seen)?;
    Ok(Recovered { fragment, addend, parts: seen.grid.parts.len(), published, launches })
}

/// Everything but the numbers, with at least so many launches to tell rows, and columns, apart.
fn attempt(asker: &mut Asker<'_>, sight: &Sight, least: usize) -> Result<(Seen, Launches), Unrecovered> {
    let grid = outputs::grid(asker, sight, least)?;
    let d = asker.asked;
    let mut owners = Owners::none(asker);
    let mut spent = Spent::default();
    let lines = lines::lines(asker, &grid.parts, &mut owners, &mut spent)?;
    let before = asker.asked;
    let addends = addend::addends(asker, &grid)?;
    let c = asker.asked - before;
    let seen = Seen { grid, lines, owners, addends };
    let before = asker.asked;
    confirm::confirm(asker, &seen, &sight.used)?;
    Ok((seen, Launches { d, a: spent.a, b: spent.b, c, confirmation: asker.asked - before }))
}
