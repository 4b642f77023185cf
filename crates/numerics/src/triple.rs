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

    /// Whether an integer operand meets a floating sum, as in `f16,i8->f32`.
    pub const fn is_mixed(self) -> bool {
        !self.c.is_integer() && (self.a.is_integer() || self.b.is_integer())
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
    /// A sum of integers of floating operands, or an accumulate type of the other kind than the output.
    #[error(
        "`{0}` sums floating operands into integers, or accumulates in another kind of type than it returns: an integer output \
         needs integer operands, and output and accumulate type are both integers or both floats"
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
        // Integers may meet a floating sum, which holds them; a sum of integers has no place for fractions.
        let operands_fit = !t.c.is_integer() || t.a.is_integer() && t.b.is_integer();
        if operands_fit && t.acc.is_integer() == t.c.is_integer() { Ok(t) } else { Err(BadTriple::Mixed(s.to_owned())) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_may_meet_a_floating_sum_and_no_float_an_integer_one() {
        for text in ["f16,f16->f16+f32", "f16,i8->f32", "u2,bf16->bf16", "i8,i8->i32", "i8,i8->f32", "u8,u2->i32"] {
            let triple: Triple = text.parse().unwrap();
            assert_eq!(triple.to_string(), text);
            assert_eq!(triple.is_mixed(), text.contains("f16,i8") || text.contains("u2,bf16") || text == "i8,i8->f32");
        }
        for text in ["f32,f32->i32", "f16,i8->i32", "i8,i8->i32+f32", "f16,f16->f32+i32"] {
            assert_eq!(text.parse::<Triple>(), Err(BadTriple::Mixed(text.to_owned())));
        }
    }
}
