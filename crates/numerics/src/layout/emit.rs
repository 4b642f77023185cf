//! How does a layout become an index function, or text, that others can use?
//!
//! An index function takes a lane and a slot and gives the row and column, or says that the slot is unused. Its body is the
//! shortest form that the layout has: sums over digits, else exclusive ors over bits, else the table.

use super::{Fragment, FragmentOperand, IndexOrder, Layout, NotAffine, NotMixedRadix, csv};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

mod c_family;
mod rust;

/// What a layout is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Index functions in Metal Shading Language.
    Msl,
    /// Index functions in CUDA C++; plain C++14 compiles them too.
    Cuda,
    /// Index functions in Rust.
    Rust,
    /// The table, as CSV.
    Csv,
    /// CuTe's `shape:stride`.
    Cute,
    /// Bases over F2, rank and kernel.
    F2,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 6] = [Target::Msl, Target::Cuda, Target::Rust, Target::Csv, Target::Cute, Target::F2];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Msl => "msl",
            Target::Cuda => "cuda",
            Target::Rust => "rust",
            Target::Csv => "csv",
            Target::Cute => "cute",
            Target::F2 => "f2",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`Target`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is nothing that a layout is written as; known: msl cuda rust csv cute f2")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;
    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        Target::ALL.into_iter().find(|target| target.name() == text).ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}

/// Why a layout cannot be written so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmitError {
    /// The name is no identifier.
    #[error("`{0}` cannot name a function; allowed: 1 to 64 of a-z, A-Z, 0-9 and _, not starting with a digit")]
    Name(String),
    /// CuTe's notation cannot express it.
    #[error("{operand} has no CuTe shape:stride: {why}; csv, rust, cuda and msl can express it")]
    Cute {
        /// Which operand.
        operand: FragmentOperand,
        /// The first place that is no sum over digits.
        why: NotMixedRadix,
    },
    /// Bases over F2 cannot express it.
    #[error("{operand} has no bases over F2: {why}; csv, rust, cuda and msl can express it")]
    F2 {
        /// Which operand.
        operand: FragmentOperand,
        /// The first counterexample.
        why: NotAffine,
    },
}

/// A fragment as text: index functions `NAME_a`, `NAME_b` and `NAME_c`, one CSV file, or one line an operand.
///
/// # Errors
/// [`EmitError`].
pub fn fragment(fragment: &Fragment, target: Target, name: &str) -> Result<String, EmitError> {
    check_name(name)?;
    if target == Target::Csv {
        return Ok(csv::write(fragment));
    }
    let mut text = head(target).to_owned();
    for operand in FragmentOperand::ALL {
        text.push_str(&body(fragment.of(operand), operand, target, name)?);
    }
    Ok(text)
}

/// The layout of one operand as text: the index function `NAME_a` (or `_b`, `_c`), its rows of CSV, or one line.
///
/// # Errors
/// [`EmitError`].
pub fn layout(layout: &Layout, operand: FragmentOperand, target: Target, name: &str) -> Result<String, EmitError> {
    check_name(name)?;
    if target == Target::Csv {
        return Ok(format!("{}\n{}", csv::HEAD, csv::write_rows(operand, layout)));
    }
    Ok(format!("{}{}", head(target), body(layout, operand, target, name)?))
}

fn check_name(name: &str) -> Result<(), EmitError> {
    let fine = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.as_bytes()[0].is_ascii_digit();
    if fine { Ok(()) } else { Err(EmitError::Name(name.to_owned())) }
}

fn head(target: Target) -> &'static str {
    match target {
        Target::Msl => c_family::MSL.head,
        Target::Cuda => c_family::CUDA.head,
        Target::Rust | Target::Csv | Target::Cute | Target::F2 => "",
    }
}

fn body(layout: &Layout, operand: FragmentOperand, target: Target, name: &str) -> Result<String, EmitError> {
    let name = format!("{name}_{}", operand.name());
    Ok(match target {
        Target::Msl => c_family::function(layout, operand, &name, &c_family::MSL),
        Target::Cuda => c_family::function(layout, operand, &name, &c_family::CUDA),
        Target::Rust => rust::function(layout, operand, &name),
        Target::Csv => csv::write_rows(operand, layout),
        Target::Cute => {
            let digits = layout.mixed_radix().map_err(|why| EmitError::Cute { operand, why })?;
            format!("{operand} {}\n", digits.cute((layout.rows(), layout.cols()), IndexOrder::of(operand)))
        }
        Target::F2 => format!("{operand} {}\n", layout.affine().map_err(|why| EmitError::F2 { operand, why })?),
    })
}

/// The body of an index function.
enum Form {
    /// Expressions of row and column in unsigned `lane` and `slot`.
    Expressions(String, String),
    /// Row · 2^16 + column of every lane and slot, all bits set where unused.
    Table(Vec<u32>),
}

/// Word of an unused slot; no element has it, for an operand has at most 2^24.
const UNUSED: u32 = u32::MAX;

impl Form {
    fn of(layout: &Layout) -> Form {
        match layout.mixed_radix() {
            Ok(digits) if !digits.has_negative_stride() => {
                Form::Expressions(digits.row_formula(), digits.col_formula())
            }
            _ => match layout.affine() {
                Ok(map) => Form::Expressions(
                    exclusive_or(map.offset.0, &map, |basis| basis.0),
                    exclusive_or(map.offset.1, &map, |basis| basis.1),
                ),
                Err(_) => {
                    let word = |e: &Option<(u32, u32)>| e.map_or(UNUSED, |(row, col)| row << 16 | col);
                    Form::Table(layout.table().iter().map(word).collect())
                }
            },
        }
    }
}

/// `(lane>>2&1)*8 ^ (slot&1)*3`.
fn exclusive_or(offset: u32, map: &super::Affine, part: impl Fn(&(u32, u32)) -> u32) -> String {
    let mut terms = if offset == 0 { Vec::new() } else { vec![offset.to_string()] };
    for (name, bases) in [("lane", &map.lanes), ("slot", &map.slots)] {
        for (bit, image) in bases.iter().map(&part).enumerate().filter(|(_, image)| *image != 0) {
            let shifted = if bit == 0 { format!("({name}&1)") } else { format!("({name}>>{bit}&1)") };
            terms.push(if image == 1 { shifted } else { format!("{shifted}*{image}") });
        }
    }
    if terms.is_empty() { "0".to_owned() } else { terms.join(" ^ ") }
}

/// Words of a table, sixteen to a line of code.
fn lines_of(words: &[u32], suffix: &str) -> String {
    let line = |chunk: &[u32]| {
        let words: Vec<_> = chunk.iter().map(|word| format!("0x{word:x}{suffix}")).collect();
        format!("    {},\n", words.join(", "))
    };
    words.chunks(16).map(line).collect()
}

/// What the function does, for its comment.
fn about(layout: &Layout, operand: FragmentOperand) -> String {
    format!(
        "Element of {operand} ({} x {}) that a lane holds in a slot: {} lanes of {} slots.",
        layout.rows(),
        layout.cols(),
        layout.lanes(),
        layout.slots()
    )
}
