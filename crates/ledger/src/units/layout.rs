//! What is recorded of a unit's layouts, and what does a map say of a launch?

use super::record::{Claim, Origin, UnitIdentity, Versioned};
use crate::rows::CellId;
use rigel_numerics::layout::{Fragment, Layout, LayoutError, csv};
use rigel_numerics::random::{draw, stream};
use serde::{Deserialize, Serialize};

/// How a map was seen: `layouts/*.json`; the map itself lies beside it as CSV.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutRecord {
    /// Version of this form.
    pub schema: u32,
    /// The cell.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Where it comes from: a map is valid for this driver and toolchain.
    pub origin: Origin,
    /// The unit.
    pub unit: UnitIdentity,
    /// Lanes that take part in a launch.
    pub lanes: usize,
    /// Slots of A, B and C in a lane.
    pub slots: [usize; 3],
    /// `exact`: a map was seen and every slot of it confirmed.
    pub claim: Claim,
    /// What speaks against every map; empty when exact.
    pub why: String,
    /// What is convention in the numbering, in words.
    pub convention: String,
    /// Published layouts that are the same up to one relabelling each of m, n and k.
    pub published: Vec<String>,
    /// Independent products that the unit falls into.
    pub parts: usize,
    /// Launches spent.
    pub launches: LaunchCounts,
    /// Seed of all draws.
    pub seed: u64,
    /// Launches drawn through the map after it was confirmed, with what came out.
    pub sample: Vec<SampledLaunch>,
}

/// Launches spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LaunchCounts {
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

/// One launch: the value of every register, lane by lane, slot by slot, parted by spaces. Values are whole numbers that the
/// formats hold exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampledLaunch {
    /// Of A.
    pub a: String,
    /// Of B.
    pub b: String,
    /// Of C.
    pub c: String,
    /// Of D, as the unit gave them.
    pub d: String,
}

/// The registers of a launch as whole numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// Of A, lanes × slots.
    pub a: Vec<u32>,
    /// Of B.
    pub b: Vec<u32>,
    /// Of C.
    pub c: Vec<u32>,
    /// What the map says of D; `None` for registers that hold no element, and where the value is beyond what the format
    /// holds exactly.
    pub d: Vec<Option<u32>>,
}

/// Launches of a sample.
pub const SAMPLED: u64 = 4;

/// Launch number `index` of a record's sample: elements are 0 or 1, more of them 0 in B where k is large, and every register
/// holds its element; registers that hold none are drawn as well.
pub fn drawn_launch(fragment: &Fragment, addend: &Layout, unit: &UnitIdentity, seed: u64, index: u64) -> Registers {
    let (m, n, k) = (fragment.a.rows(), fragment.b.cols(), fragment.a.cols());
    let largest = f64::from(1u32 << unit.triple.c.precision().min(16)).min(unit.triple.c.max_finite()) as u64;
    // On average a quarter of what the output holds exactly, c left out.
    let rare = (2 * k as u64).div_ceil(largest.max(1)).max(2);
    let key = |operand: u64| stream(seed ^ u64::from_le_bytes(*b"launches"), 8 * index + operand);
    let bit = |operand: u64, at: usize, one_in: u64| u32::from(draw(key(operand), at as u64).is_multiple_of(one_in));
    let fill = |layout: &Layout, operand: u64, one_in: u64| {
        let elements = layout.entries().map(|(_, _, element)| element).enumerate();
        let held = elements.map(|(register, element)| match element {
            Some((row, col)) => bit(operand, row as usize * layout.cols() + col as usize, one_in),
            None => bit(operand + 4, register, 2),
        });
        held.collect::<Vec<u32>>()
    };
    let (a, b, c) = (fill(&fragment.a, 0, 2), fill(&fragment.b, 1, rare), fill(addend, 2, 2));
    let mut sums = vec![0u32; m * n];
    for (at, sum) in sums.iter_mut().enumerate() {
        let (row, col) = (at / n, at % n);
        *sum = (0..k).map(|l| bit(0, row * k + l, 2) * bit(1, l * n + col, rare)).sum::<u32>() + bit(2, at, 2);
    }
    let d = fragment.c.entries().map(|(_, _, element)| {
        let (row, col) = element?;
        Some(sums[row as usize * n + col as usize]).filter(|&sum| u64::from(sum) <= largest)
    });
    Registers { d: d.collect(), a, b, c }
}

impl SampledLaunch {
    /// A launch with what the unit gave.
    pub fn new(registers: &Registers, d: &[f64]) -> SampledLaunch {
        let text = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let d = d.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        SampledLaunch { a: text(&registers.a), b: text(&registers.b), c: text(&registers.c), d }
    }

    /// The first place where it is not what the map says: inputs that were not drawn so, or an output that differs.
    pub fn flaw(&self, said: &Registers, slots: usize) -> Option<String> {
        let text = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        let operands = [("a", &self.a, &said.a), ("b", &self.b, &said.b), ("c", &self.c, &said.c)];
        if let Some((name, ..)) = operands.into_iter().find(|(_, stated, drawn)| **stated != text(drawn)) {
            return Some(format!("registers of {name} are not those that the seed gives"));
        }
        let seen: Vec<&str> = self.d.split(' ').collect();
        if seen.len() != said.d.len() {
            return Some(format!("{} registers of d; the map has {}", seen.len(), said.d.len()));
        }
        let at =
            said.d.iter().zip(&seen).position(|(said, seen)| said.is_some_and(|said| said.to_string() != **seen))?;
        let (lane, slot) = (at / slots.max(1), at % slots.max(1));
        Some(format!("lane {lane}, slot {slot} of d is {}, the map says {}", seen[at], said.d[at].unwrap_or(0)))
    }
}

impl LayoutRecord {
    /// A, B and D, and C's layout, from the table beside the record.
    ///
    /// # Errors
    /// The table is no CSV of a fragment of the unit's shape.
    pub fn layouts(&self, table: &str) -> Result<(Fragment, Layout), LayoutError> {
        csv::read_with_addend(table, self.unit.shape)
    }

    /// Whether layouts have the registers that the unit declares.
    pub fn declares(&self, fragment: &Fragment, addend: &Layout) -> bool {
        let [a, b, c] = self.slots;
        let is = |layout: &Layout, slots| (layout.lanes(), layout.slots()) == (self.lanes, slots);
        is(&fragment.a, a) && is(&fragment.b, b) && is(&fragment.c, c) && is(addend, c)
    }
}

impl Versioned for LayoutRecord {
    fn schema(&self) -> u32 {
        self.schema
    }
}
