//! How is a layout written in CuTe's notation, `((shape),(shape)):((stride),(stride))`, and read from it?
//!
//! A CuTe layout of this kind sends (thread, value), here (lane, slot), to one index of the operand. NVIDIA's atoms count A and
//! C down the columns (m + M·k, m + M·n) and B as n + N·k; in this project's B (k × n) that is along the rows.

use super::{FragmentOperand, Layout, LayoutError, MixedRadix, Mode};

/// How an index counts the elements of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexOrder {
    /// row + rows · column.
    DownColumns,
    /// column + columns · row.
    AlongRows,
}

impl IndexOrder {
    /// The order in which CuTe's atoms count an operand.
    pub const fn of(operand: FragmentOperand) -> IndexOrder {
        match operand {
            FragmentOperand::A | FragmentOperand::C => IndexOrder::DownColumns,
            FragmentOperand::B => IndexOrder::AlongRows,
        }
    }
}

impl Layout {
    /// The layout from CuTe's notation: one mode, plain or nested in one pair of brackets, for lanes and one for slots.
    ///
    /// # Errors
    /// [`LayoutError::Cute`] with what is wrong; as [`Layout::from_digits`] for strides that leave the operand.
    pub fn from_cute(text: &str, (rows, cols): (usize, usize), order: IndexOrder) -> Result<Layout, LayoutError> {
        let bad = |what: String| LayoutError::Cute { text: text.to_owned(), what };
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (shape, stride) = plain.split_once(':').ok_or_else(|| bad("there is no `:`".into()))?;
        let (shape, stride) = (pair(shape).map_err(bad)?, pair(stride).map_err(bad)?);
        let mut numbers = Vec::new();
        for (what, shape, stride) in [("lanes", &shape.0, &stride.0), ("slots", &shape.1, &stride.1)] {
            if shape.len() != stride.len() || shape.contains(&0) {
                let (shapes, strides) = (shape.len(), stride.len());
                return Err(bad(format!(
                    "the {what} have {shapes} extents, none of which may be 0, and {strides} strides"
                )));
            }
            numbers.push(shape.iter().fold(1usize, |n, &extent| n.saturating_mul(extent)));
        }
        super::table::check_extents(rows, cols, numbers[0], numbers[1])?;
        let index = |at: usize, (shape, stride): (&[usize], &[usize])| {
            let mut rest = at;
            shape.iter().zip(stride).fold(0usize, |sum, (extent, step)| {
                let digit = rest % extent;
                rest /= extent;
                sum.saturating_add(digit.saturating_mul(*step))
            })
        };
        let mut table = Vec::with_capacity(numbers[0] * numbers[1]);
        for lane in 0..numbers[0] {
            for slot in 0..numbers[1] {
                let at = index(lane, (&shape.0, &stride.0)).saturating_add(index(slot, (&shape.1, &stride.1)));
                if at >= rows * cols {
                    let what = format!("lane {lane}, slot {slot} has index {at} of {} elements", rows * cols);
                    return Err(bad(what));
                }
                let (row, col) = match order {
                    IndexOrder::DownColumns => (at % rows, at / rows),
                    IndexOrder::AlongRows => (at / cols, at % cols),
                };
                table.push(Some((row as u32, col as u32)));
            }
        }
        Layout::from_table(rows, cols, numbers[0], numbers[1], table)
    }
}

impl MixedRadix {
    /// The layout in CuTe's notation for an operand of these extents; an offset, which CuTe keeps apart, stands behind as ` + n`.
    pub fn cute(&self, (rows, cols): (usize, usize), order: IndexOrder) -> String {
        let index = |row: i64, col: i64| match order {
            IndexOrder::DownColumns => row + rows as i64 * col,
            IndexOrder::AlongRows => col + cols as i64 * row,
        };
        let side = |modes: &[Mode]| {
            let nested = |parts: Vec<String>| match parts.len() {
                0 => None,
                1 => parts.into_iter().next(),
                _ => Some(format!("({})", parts.join(","))),
            };
            let extents = nested(modes.iter().map(|mode| mode.extent.to_string()).collect());
            let strides = nested(modes.iter().map(|mode| index(mode.row, mode.col).to_string()).collect());
            (extents.unwrap_or_else(|| "1".into()), strides.unwrap_or_else(|| "0".into()))
        };
        let (lanes, slots) = (side(&self.lanes), side(&self.slots));
        let offset = match index(self.offset.0.into(), self.offset.1.into()) {
            0 => String::new(),
            offset => format!(" + {offset}"),
        };
        format!("({},{}):({},{}){offset}", lanes.0, slots.0, lanes.1, slots.1)
    }
}

/// The numbers of both sides of `(x,y)`, each a number or a bracketed list of numbers.
fn pair(text: &str) -> Result<(Vec<usize>, Vec<usize>), String> {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or("a side lacks its brackets")?;
    let mut depth = 0usize;
    let mut comma = None;
    for (i, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or("brackets do not match")?,
            ',' if depth == 0 && comma.is_none() => comma = Some(i),
            ',' if depth == 0 => return Err("a side has more than lanes and slots".into()),
            _ => {}
        }
    }
    let comma = comma.ok_or("a side lacks its slots")?;
    Ok((list(&inner[..comma])?, list(&inner[comma + 1..])?))
}

fn list(text: &str) -> Result<Vec<usize>, String> {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text);
    inner.split(',').map(|number| number.parse().map_err(|_| format!("`{number}` is no number"))).collect()
}
