//! How does a layout become an index function in CUDA C++ or in the Metal Shading Language?

use super::{Form, UNUSED, about, lines_of};
use crate::layout::{FragmentOperand, Layout};

/// What the two languages spell differently.
pub(super) struct Dialect {
    /// What stands above the functions, once.
    pub head: &'static str,
    /// Before a function.
    function: &'static str,
    /// Unsigned 32-bit.
    uint: &'static str,
    /// Before a reference to a variable of the caller.
    reference: &'static str,
    /// Before a table.
    table: &'static str,
    /// Whether a table may stand inside its function.
    table_inside: bool,
}

pub(super) const CUDA: Dialect = Dialect {
    head: "#if defined(__CUDACC__)\n#define LAYOUT_FUNCTION __host__ __device__ constexpr\n#else\n#define LAYOUT_FUNCTION constexpr\n#endif\n\n",
    function: "LAYOUT_FUNCTION",
    uint: "unsigned int",
    reference: "",
    table: "constexpr",
    table_inside: true,
};

pub(super) const MSL: Dialect = Dialect {
    head: "#include <metal_stdlib>\n\n",
    function: "inline",
    uint: "uint",
    reference: "thread ",
    table: "constant",
    table_inside: false,
};

pub(super) fn function(layout: &Layout, operand: FragmentOperand, name: &str, dialect: &Dialect) -> String {
    let Dialect { function, uint, reference, table, table_inside, .. } = dialect;
    let (about, lanes, slots) = (about(layout, operand), layout.lanes(), layout.slots());
    let comment = format!("// {about}\n// False for an unused slot and for a lane or slot that there is not.\n");
    let head = format!(
        "{function} bool {name}({uint} lane, {uint} slot, {reference}{uint} &row, {reference}{uint} &col) {{\n    if (lane >= {lanes}u || slot >= {slots}u) return false;\n"
    );
    match Form::of(layout) {
        Form::Expressions(row, col) => {
            format!("{comment}{head}    row = {row};\n    col = {col};\n    return true;\n}}\n")
        }
        Form::Table(words) => {
            let count = words.len();
            let words = lines_of(&words, "u");
            let declared = format!("{table} {uint} {name}_table[{count}] = {{\n{words}}};\n");
            let (above, inside) = if *table_inside {
                (String::new(), format!("    {}", declared.trim_end().replace('\n', "\n    ") + "\n"))
            } else {
                (declared, String::new())
            };
            format!(
                "{comment}{above}{head}{inside}    {uint} word = {name}_table[lane * {slots}u + slot];\n    if (word == 0x{UNUSED:x}u) return false;\n    row = word >> 16;\n    col = word & 0xffffu;\n    return true;\n}}\n"
            )
        }
    }
}
