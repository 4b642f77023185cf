//! Which element does a lane hold in a slot, and who holds an element?

use super::LayoutError;
use serde::{Deserialize, Serialize};

/// The layout of one operand: a table from (lane, slot) to (row, column), with unused slots.
///
/// B is k × n: its row is the k index and its column the n index. Nothing but the range of the entries is required: whether every
/// element is held, and by how many, is asked with [`Layout::coverage`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "Raw")]
pub struct Layout {
    rows: usize,
    cols: usize,
    lanes: usize,
    slots: usize,
    /// Entry of (lane, slot) at lane · slots + slot.
    table: Vec<Option<(u32, u32)>>,
}

/// A layout as it stands in JSON, before it is checked.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    rows: usize,
    cols: usize,
    lanes: usize,
    slots: usize,
    table: Vec<Option<(u32, u32)>>,
}

impl Layout {
    /// Largest extent, number of lanes and of slots: 2^16, as of a unit's declaration.
    pub const MOST: usize = 1 << 16;
    /// Largest number of entries: 2^24.
    pub const MOST_ENTRIES: usize = 1 << 24;

    /// A layout from its table: the entry of (lane, slot) stands at lane · slots + slot, `None` for an unused slot.
    ///
    /// # Errors
    /// [`LayoutError::Extent`], [`LayoutError::Length`], [`LayoutError::Outside`].
    pub fn from_table(
        operand_rows: usize,
        operand_cols: usize,
        lanes: usize,
        slots: usize,
        table: Vec<Option<(u32, u32)>>,
    ) -> Result<Layout, LayoutError> {
        check_extents(operand_rows, operand_cols, lanes, slots)?;
        if table.len() != lanes * slots {
            return Err(LayoutError::Length { found: table.len(), lanes, slots });
        }
        for (at, entry) in table.iter().enumerate() {
            if let Some((row, col)) = *entry
                && (row as usize >= operand_rows || col as usize >= operand_cols)
            {
                let (lane, slot) = (at / slots, at % slots);
                let (row, col) = (row.into(), col.into());
                return Err(LayoutError::Outside { lane, slot, row, col, rows: operand_rows, cols: operand_cols });
            }
        }
        Ok(Layout { rows: operand_rows, cols: operand_cols, lanes, slots, table })
    }

    /// A layout from a function of lane and slot.
    ///
    /// # Errors
    /// As [`Layout::from_table`].
    pub fn from_fn(
        (rows, cols): (usize, usize),
        (lanes, slots): (usize, usize),
        element: impl Fn(u32, u32) -> Option<(u32, u32)>,
    ) -> Result<Layout, LayoutError> {
        check_extents(rows, cols, lanes, slots)?;
        let table = (0..lanes * slots).map(|i| element((i / slots) as u32, (i % slots) as u32)).collect();
        Layout::from_table(rows, cols, lanes, slots, table)
    }

    /// Rows of the operand.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the operand.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Lanes of a launch.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Slots of a lane.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The element that a lane holds in a slot; `None` for an unused slot and outside the table.
    pub fn at(&self, lane: usize, slot: usize) -> Option<(u32, u32)> {
        if lane < self.lanes && slot < self.slots { self.table[lane * self.slots + slot] } else { None }
    }

    /// Everybody who holds an element, as (lane, slot) in ascending order; empty where nobody does.
    pub fn inverse(&self, row: usize, col: usize) -> Vec<(usize, usize)> {
        self.entries().filter(|(_, _, e)| *e == Some((row as u32, col as u32))).map(|(l, s, _)| (l, s)).collect()
    }

    /// Every (lane, slot, element), lane by lane.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, Option<(u32, u32)>)> + '_ {
        self.table.iter().enumerate().map(|(i, &e)| (i / self.slots, i % self.slots, e))
    }

    /// The table itself: the entry of (lane, slot) at lane · slots + slot.
    pub fn table(&self) -> &[Option<(u32, u32)>] {
        &self.table
    }

    /// The layout of the transposed operand: rows and columns change places, lanes and slots stay.
    pub fn transposed(&self) -> Layout {
        let table = self.table.iter().map(|e| e.map(|(row, col)| (col, row))).collect();
        Layout { rows: self.cols, cols: self.rows, table, ..*self }
    }
}

pub(super) fn check_extents(rows: usize, cols: usize, lanes: usize, slots: usize) -> Result<(), LayoutError> {
    for (what, found) in [("rows", rows), ("columns", cols), ("lanes", lanes), ("slots", slots)] {
        if !(1..=Layout::MOST).contains(&found) {
            return Err(LayoutError::Extent { what, found, most: Layout::MOST });
        }
    }
    for (what, found) in [("elements", rows * cols), ("entries", lanes * slots)] {
        if found > Layout::MOST_ENTRIES {
            return Err(LayoutError::Extent { what, found, most: Layout::MOST_ENTRIES });
        }
    }
    Ok(())
}

impl TryFrom<Raw> for Layout {
    type Error = LayoutError;
    fn try_from(raw: Raw) -> Result<Layout, LayoutError> {
        Layout::from_table(raw.rows, raw.cols, raw.lanes, raw.slots, raw.table)
    }
}

impl From<Layout> for Raw {
    fn from(layout: Layout) -> Raw {
        let Layout { rows, cols, lanes, slots, table } = layout;
        Raw { rows, cols, lanes, slots, table }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_cannot_be_are_refused_with_the_place() {
        let table = |n: usize| vec![Some((0, 0)); n];
        assert!(matches!(Layout::from_table(0, 1, 1, 1, table(1)), Err(LayoutError::Extent { what: "rows", .. })));
        assert!(matches!(Layout::from_table(1, 1, 1 << 17, 1, vec![]), Err(LayoutError::Extent { what: "lanes", .. })));
        assert!(matches!(
            Layout::from_table(1, 1, 1 << 16, 1 << 16, vec![]),
            Err(LayoutError::Extent { what: "entries", .. })
        ));
        assert_eq!(Layout::from_table(2, 2, 2, 2, table(3)), Err(LayoutError::Length { found: 3, lanes: 2, slots: 2 }));
        let mut outside = table(4);
        outside[3] = Some((1, 2));
        let said = Layout::from_table(2, 2, 2, 2, outside).unwrap_err().to_string();
        assert_eq!(said, "lane 1, slot 1 holds (1, 2), which lies outside an operand of 2 × 2");
    }

    #[test]
    fn json_is_checked_and_reads_back() {
        let layout = Layout::from_table(2, 2, 2, 2, vec![Some((0, 0)), None, Some((1, 1)), Some((0, 0))]).unwrap();
        let text = serde_json::to_string(&layout).unwrap();
        assert_eq!(serde_json::from_str::<Layout>(&text).unwrap(), layout);
        assert!(serde_json::from_str::<Layout>(&text.replace("\"rows\":2", "\"rows\":1")).is_err());
        assert!(serde_json::from_str::<Layout>(&text.replace("\"rows\"", "\"rowz\"")).is_err());
        assert_eq!(layout.inverse(0, 0), [(0, 0), (1, 1)]);
        assert_eq!(layout.at(2, 0), None);
    }
}
