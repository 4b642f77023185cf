//! How does a fragment stand in a CSV file?
//!
//! One row a lane and slot under the head `operand,lane,slot,row,column`; row and column are empty where the slot is unused.
//! Operands are written `a`, `b`, `c`; D lies as C does, but where the file has rows `d`. Rows are written in the order of
//! operands, lanes and slots, and read in any order.

use super::{Fragment, FragmentOperand, Layout, LayoutError};
use crate::Shape;
use std::fmt::Write as _;

/// The head line.
pub const HEAD: &str = "operand,lane,slot,row,column";

/// The rows of one layout, without the head.
pub fn write_rows(operand: FragmentOperand, layout: &Layout) -> String {
    rows_of(operand.name(), layout)
}

fn rows_of(operand: &str, layout: &Layout) -> String {
    let mut text = String::new();
    for (lane, slot, element) in layout.entries() {
        let (row, col) = element.map_or_else(Default::default, |(row, col)| (row.to_string(), col.to_string()));
        writeln!(text, "{operand},{lane},{slot},{row},{col}").unwrap_or(());
    }
    text
}

/// A whole fragment with its head.
pub fn write(fragment: &Fragment) -> String {
    let rows: String = FragmentOperand::ALL.iter().map(|&operand| write_rows(operand, fragment.of(operand))).collect();
    format!("{HEAD}\n{rows}")
}

/// A fragment whose C is that of D, and the layout of the addend, which has rows of its own where it differs.
pub fn write_with_addend(fragment: &Fragment, addend: &Layout) -> String {
    if *addend == fragment.c {
        return write(fragment);
    }
    let [a, b, c] = [("a", &fragment.a), ("b", &fragment.b), ("c", addend)].map(|(name, layout)| rows_of(name, layout));
    format!("{HEAD}\n{a}{b}{c}{}", rows_of("d", &fragment.c))
}

/// A fragment of a unit of this shape from its CSV. Its C is D's layout where the file has rows `d`.
///
/// # Errors
/// [`LayoutError::Csv`] with the line; [`LayoutError::NoRows`]; whatever [`Layout::from_table`] and [`Fragment::new`] refuse.
pub fn read(text: &str, shape: Shape) -> Result<Fragment, LayoutError> {
    read_with_addend(text, shape).map(|(fragment, _)| fragment)
}

/// What [`write_with_addend`] wrote: A, B and D, and the addend.
///
/// # Errors
/// As [`read`].
pub fn read_with_addend(text: &str, shape: Shape) -> Result<(Fragment, Layout), LayoutError> {
    let mut lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim_end_matches('\r')));
    match lines.next() {
        Some((_, HEAD)) => {}
        Some((line, _)) => return Err(bad(line, format!("the head is not `{HEAD}`"))),
        None => return Err(bad(1, format!("the file is empty; the head is `{HEAD}`"))),
    }
    let mut rows: [Vec<Row>; 4] = Default::default();
    for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
        let (operand, row) = read_row(line, text)?;
        rows[operand].push(row);
    }
    let [a, b, c, d] = rows;
    let [a, b] = [table(FragmentOperand::A, (shape.m, shape.k), a)?, table(FragmentOperand::B, (shape.k, shape.n), b)?];
    let addend = table(FragmentOperand::C, (shape.m, shape.n), c)?;
    let result = if d.is_empty() { addend.clone() } else { table(FragmentOperand::C, (shape.m, shape.n), d)? };
    Ok((Fragment::new(a, b, result)?, addend))
}

/// The smallest shape that holds every row of a file, for files that come without their unit.
///
/// # Errors
/// [`LayoutError::Csv`] with the line that is no row.
pub fn least_shape(text: &str) -> Result<Shape, LayoutError> {
    let mut shape = Shape::new(1, 1, 1);
    for (i, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.trim().is_empty()) {
        let (operand, row) = read_row(i + 1, line.trim_end_matches('\r'))?;
        let Some((row, col)) = row.element.map(|(row, col)| (row as usize + 1, col as usize + 1)) else { continue };
        let (rows, cols) = match OPERANDS[operand] {
            "a" => (&mut shape.m, &mut shape.k),
            "b" => (&mut shape.k, &mut shape.n),
            _ => (&mut shape.m, &mut shape.n),
        };
        (*rows, *cols) = ((*rows).max(row), (*cols).max(col));
    }
    Ok(shape)
}

/// Operands as they stand in a file.
const OPERANDS: [&str; 4] = ["a", "b", "c", "d"];

struct Row {
    line: usize,
    lane: usize,
    slot: usize,
    element: Option<(u32, u32)>,
}

fn bad(line: usize, what: String) -> LayoutError {
    LayoutError::Csv { line, what }
}

fn read_row(line: usize, text: &str) -> Result<(usize, Row), LayoutError> {
    let fields: Vec<&str> = text.split(',').collect();
    let &[operand, lane, slot, row, col] = fields.as_slice() else {
        return Err(bad(line, format!("{} fields; a row has 5: {HEAD}", fields.len())));
    };
    let known = OPERANDS.iter().position(|known| *known == operand);
    let known = known.ok_or_else(|| bad(line, format!("operand `{operand}`; allowed: {}", OPERANDS.join(", "))))?;
    let number = |what: &str, text: &str| {
        text.parse::<u32>().map_err(|_| bad(line, format!("{what} `{text}` is no number from 0 to 4294967295")))
    };
    let element = match (row, col) {
        ("", "") => None,
        ("", _) | (_, "") => return Err(bad(line, "one of row and column is empty; both are, or none".into())),
        (row, col) => Some((number("row", row)?, number("column", col)?)),
    };
    let (lane, slot) = (number("lane", lane)? as usize, number("slot", slot)? as usize);
    Ok((known, Row { line, lane, slot, element }))
}

fn table(operand: FragmentOperand, (rows, cols): (usize, usize), given: Vec<Row>) -> Result<Layout, LayoutError> {
    let lanes = given.iter().map(|row| row.lane + 1).max().ok_or(LayoutError::NoRows(operand))?;
    let slots = given.iter().map(|row| row.slot + 1).max().unwrap_or(1);
    super::table::check_extents(rows, cols, lanes, slots)?;
    let mut entries = vec![None; lanes * slots];
    let mut seen = vec![false; lanes * slots];
    for row in given {
        let at = row.lane * slots + row.slot;
        if std::mem::replace(&mut seen[at], true) {
            return Err(bad(row.line, format!("lane {}, slot {} of {operand} stands there twice", row.lane, row.slot)));
        }
        entries[at] = row.element;
    }
    if let Some(at) = seen.iter().position(|&there| !there) {
        let (lane, slot) = (at / slots, at % slots);
        let what =
            format!("lane {lane}, slot {slot} of {operand} has no row; {lanes} lanes × {slots} slots are needed");
        return Err(bad(1, what));
    }
    Layout::from_table(rows, cols, lanes, slots, entries)
}
