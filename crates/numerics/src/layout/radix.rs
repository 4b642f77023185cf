//! Do digits of lane and slot add up to row and column, and with which strides?

use super::{Layout, LayoutError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// One digit of a lane or slot number: how many values it has, and how far each step moves in the operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(usize, i64, i64)", into = "(usize, i64, i64)")]
pub struct Mode {
    /// Values of the digit.
    pub extent: usize,
    /// Rows that a step moves.
    pub row: i64,
    /// Columns that a step moves.
    pub col: i64,
}

impl From<(usize, i64, i64)> for Mode {
    fn from((extent, row, col): (usize, i64, i64)) -> Mode {
        Mode { extent, row, col }
    }
}

impl From<Mode> for (usize, i64, i64) {
    fn from(mode: Mode) -> Self {
        (mode.extent, mode.row, mode.col)
    }
}

/// A layout as sums over digits: row and column are an offset plus, for every digit, its value times its stride.
///
/// Digits are listed lowest first; their extents multiply to the number of lanes or slots and need not be powers of two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixedRadix {
    /// Element of lane 0, slot 0.
    pub offset: (u32, u32),
    /// Digits of the lane.
    pub lanes: Vec<Mode>,
    /// Digits of the slot.
    pub slots: Vec<Mode>,
}

/// Why a layout is no sum over digits: the first place where it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lane {lane}, slot {slot} is no sum over digits of lane and slot")]
pub struct NotMixedRadix {
    /// Lane.
    pub lane: usize,
    /// Slot.
    pub slot: usize,
}

impl Layout {
    /// The layout as sums over digits, with as few digits as it takes, checked at every lane and slot.
    ///
    /// # Errors
    /// [`NotMixedRadix`] with the first lane and slot that is none, unused slots included.
    pub fn mixed_radix(&self) -> Result<MixedRadix, NotMixedRadix> {
        let read = |lane, slot| self.at(lane, slot).ok_or(NotMixedRadix { lane, slot });
        let offset = read(0, 0)?;
        let from =
            |(row, col): (u32, u32)| (i64::from(row) - i64::from(offset.0), i64::from(col) - i64::from(offset.1));
        let of_lanes = (0..self.lanes()).map(|lane| read(lane, 0).map(from)).collect::<Result<Vec<_>, _>>()?;
        let of_slots = (0..self.slots()).map(|slot| read(0, slot).map(from)).collect::<Result<Vec<_>, _>>()?;
        let lanes = digits(of_lanes).map_err(|lane| NotMixedRadix { lane, slot: 0 })?;
        let slots = digits(of_slots).map_err(|slot| NotMixedRadix { lane: 0, slot })?;
        let found = MixedRadix { offset, lanes, slots };
        for (lane, slot, element) in self.entries() {
            let (row, col) = found.at(lane, slot);
            if element.map(|(r, c)| (i64::from(r), i64::from(c))) != Some((row, col)) {
                return Err(NotMixedRadix { lane, slot });
            }
        }
        Ok(found)
    }

    /// A layout from digits, every slot used.
    ///
    /// # Errors
    /// [`LayoutError::Digits`], [`LayoutError::Outside`], [`LayoutError::Extent`].
    pub fn from_digits(
        (rows, cols): (usize, usize),
        (lanes, slots): (usize, usize),
        digits: &MixedRadix,
    ) -> Result<Layout, LayoutError> {
        super::table::check_extents(rows, cols, lanes, slots)?;
        for (what, modes, declared) in [("lanes", &digits.lanes, lanes), ("slots", &digits.slots, slots)] {
            let found = modes.iter().fold(1usize, |n, mode| n.saturating_mul(mode.extent));
            if found != declared {
                return Err(LayoutError::Digits { what, found, declared });
            }
        }
        let mut table = Vec::with_capacity(lanes * slots);
        for lane in 0..lanes {
            for slot in 0..slots {
                let (row, col) = digits.at(lane, slot);
                let inside = (0..rows as i64).contains(&row) && (0..cols as i64).contains(&col);
                if !inside {
                    return Err(LayoutError::Outside { lane, slot, row, col, rows, cols });
                }
                table.push(Some((row as u32, col as u32)));
            }
        }
        Layout::from_table(rows, cols, lanes, slots, table)
    }
}

/// The digits of a function of a number whose value at 0 is 0; the first number that is no sum otherwise.
///
/// The longest run f(i) = i · f(1) gives the lowest digit: a longer run than a digit's extent means that the next digit goes on
/// with the same stride, so the two are one.
fn digits(mut values: Vec<(i64, i64)>) -> Result<Vec<Mode>, usize> {
    let mut modes = Vec::new();
    let mut place = 1;
    while values.len() > 1 {
        let (row, col) = values[1];
        let run = (0..values.len()).take_while(|&i| values[i] == (i as i64 * row, i as i64 * col)).count();
        if !values.len().is_multiple_of(run) {
            return Err(run * place);
        }
        let above: Vec<_> = values.iter().step_by(run).copied().collect();
        for (i, &(r, c)) in values.iter().enumerate() {
            let (base, digit) = (above[i / run], (i % run) as i64);
            if (r, c) != (base.0 + digit * row, base.1 + digit * col) {
                return Err(i * place);
            }
        }
        modes.push(Mode { extent: run, row, col });
        place *= run;
        values = above;
    }
    Ok(modes)
}

impl MixedRadix {
    /// The element of (lane, slot).
    pub fn at(&self, lane: usize, slot: usize) -> (i64, i64) {
        let sum = |from: (i64, i64), modes: &[Mode], number: usize| {
            let mut rest = number;
            modes.iter().fold(from, |(row, col), mode| {
                let digit = (rest % mode.extent) as i64;
                rest /= mode.extent;
                (row.wrapping_add(digit.wrapping_mul(mode.row)), col.wrapping_add(digit.wrapping_mul(mode.col)))
            })
        };
        let start = (self.offset.0.into(), self.offset.1.into());
        sum(sum(start, &self.lanes, lane), &self.slots, slot)
    }

    /// The row as an expression in `lane` and `slot`: `lane/4 + slot/2%2*8`. Valid in MSL, CUDA C++ and Rust on unsigned integers
    /// unless a stride is negative.
    pub fn row_formula(&self) -> String {
        self.formula(self.offset.0, |mode| mode.row)
    }

    /// The column likewise.
    pub fn col_formula(&self) -> String {
        self.formula(self.offset.1, |mode| mode.col)
    }

    /// Whether some stride is negative, so that the formulas need signed integers.
    pub fn has_negative_stride(&self) -> bool {
        self.lanes.iter().chain(&self.slots).any(|mode| mode.row < 0 || mode.col < 0)
    }

    fn formula(&self, offset: u32, stride: impl Fn(&Mode) -> i64) -> String {
        let mut text = String::new();
        if offset > 0 {
            text = offset.to_string();
        }
        for (name, modes) in [("lane", &self.lanes), ("slot", &self.slots)] {
            let mut place = 1;
            for (i, mode) in modes.iter().enumerate() {
                let step = stride(mode);
                if step != 0 {
                    text.push_str(if step < 0 {
                        " - "
                    } else if text.is_empty() {
                        ""
                    } else {
                        " + "
                    });
                    text.push_str(name);
                    if place > 1 {
                        text.push_str(&format!("/{place}"));
                    }
                    if i + 1 < modes.len() {
                        text.push_str(&format!("%{}", mode.extent));
                    }
                    if step.abs() != 1 {
                        text.push_str(&format!("*{}", step.abs()));
                    }
                }
                place *= mode.extent;
            }
        }
        if text.is_empty() { "0".to_owned() } else { text.trim_start().to_owned() }
    }
}

impl fmt::Display for MixedRadix {
    /// `row = lane/4 + slot/2*8, column = lane%4*2 + slot%2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row = {}, column = {}", self.row_formula(), self.col_formula())
    }
}
