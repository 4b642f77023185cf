//! Which element types go in, which come out, and in which type does the vendor say it accumulates?

use crate::format::{Format, UnknownFormat};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A type triple: A, B → C, with the accumulate type that the vendor declares.
///
/// Written `e4m3,e4m3->f32`, or `f16,f16->f16+f32` when the declared accumulate type (after `+`) is not the output type. Operands
/// may be block-scaled: `mxe4m3,mxe4m3->f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Triple {
    /// Element type of A.
    pub a: Format,
    /// Element type of B.
    pub b: Format,
    /// Element type of C.
    pub c: Format,
    /// Declared accumulate type.
    pub acc: Format,
}

impl Triple {
    /// A triple whose declared accumulate type is its output type.
    pub const fn new(a: Format, b: Format, c: Format) -> Self {
        Triple { a, b, c, acc: c }
    }

    /// The width in bits of the wider operand's elements, without their scales; what makes a triple "narrow".
    pub const fn operand_bits(self) -> u32 {
        let (a, b) = (self.a.element_bits(), self.b.element_bits());
        if a > b { a } else { b }
    }

    /// Whether the product is an integer product (compared modulo the output's width).
    pub const fn is_integer(self) -> bool {
        self.c.is_integer()
    }

    /// For people: `e4m3·e4m3 → f32`, or just `e4m3 → f32` when both operands share a type.
    pub fn pretty(self) -> String {
        let acc = if self.acc == self.c { String::new() } else { format!(" (acc {})", self.acc) };
        if self.a == self.b {
            format!("{} → {}{acc}", self.a, self.c)
        } else {
            format!("{}·{} → {}{acc}", self.a, self.b, self.c)
        }
    }
}

impl fmt::Display for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = format!("{},{}->{}", self.a, self.b, self.c);
        if self.acc != self.c {
            s.push('+');
            s.push_str(self.acc.name());
        }
        f.pad(&s)
    }
}

/// A text that is not a type triple.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTriple {
    /// Not of the form `A,B->C` or `A,B->C+ACC`.
    #[error("`{0}` is not a type triple: write `f16,f16->f32`, or `f16,f16->f16+f32` to name the accumulate type")]
    Form(String),
    /// One of its names is no format.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// Integers and floats are mixed between operands and output.
    #[error(
        "`{0}` mixes integer operands with a floating output or the reverse; both sides must be integers or both floats"
    )]
    Mixed(String),
    /// The output or the accumulate type is block-scaled.
    #[error(
        "`{0}` sums in a block-scaled format: {1} is a type of operands; C and the accumulate type are plain formats"
    )]
    Scaled(String, Format),
}

impl FromStr for Triple {
    type Err = BadTriple;
    fn from_str(s: &str) -> Result<Self, BadTriple> {
        let form = || BadTriple::Form(s.to_owned());
        let (operands, output) = s.split_once("->").ok_or_else(form)?;
        let (a, b) = operands.split_once(',').ok_or_else(form)?;
        let (c, acc) = output.split_once('+').unwrap_or((output, output));
        let t = Triple { a: a.trim().parse()?, b: b.trim().parse()?, c: c.trim().parse()?, acc: acc.trim().parse()? };
        if let Some(scaled) = [t.c, t.acc].into_iter().find(|f| f.scale_groups().is_some()) {
            return Err(BadTriple::Scaled(s.to_owned(), scaled));
        }
        let kinds = [t.a.is_integer(), t.b.is_integer(), t.c.is_integer(), t.acc.is_integer()];
        if kinds.iter().all(|&k| k) || kinds.iter().all(|&k| !k) { Ok(t) } else { Err(BadTriple::Mixed(s.to_owned())) }
    }
}

impl TryFrom<String> for Triple {
    type Error = BadTriple;
    fn try_from(s: String) -> Result<Self, BadTriple> {
        s.parse()
    }
}

impl From<Triple> for String {
    fn from(t: Triple) -> String {
        t.to_string()
    }
}
