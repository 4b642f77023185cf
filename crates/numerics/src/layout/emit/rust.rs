//! How does a layout become a Rust index function?

use super::{Form, UNUSED, about, lines_of};
use crate::layout::{FragmentOperand, Layout};

pub(super) fn function(layout: &Layout, operand: FragmentOperand, name: &str) -> String {
    let (about, lanes, slots) = (about(layout, operand), layout.lanes(), layout.slots());
    let head = format!(
        "/// {about}\n/// `None` for an unused slot and for a lane or slot that there is not.\npub const fn {name}(lane: u32, slot: u32) -> Option<(u32, u32)> {{\n    if lane >= {lanes} || slot >= {slots} {{\n        return None;\n    }}\n"
    );
    match Form::of(layout) {
        Form::Expressions(row, col) => format!("{head}    Some(({row}, {col}))\n}}\n"),
        Form::Table(words) => {
            let table = lines_of(&words, "").replace("    ", "        ");
            let count = words.len();
            format!(
                "{head}    const TABLE: [u32; {count}] = [\n{table}    ];\n    match TABLE[(lane * {slots} + slot) as usize] {{\n        0x{UNUSED:x} => None,\n        word => Some((word >> 16, word & 0xffff)),\n    }}\n}}\n"
            )
        }
    }
}
