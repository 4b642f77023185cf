//! What are the extents of a product?

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Extents of C (m × n) = A (m × k) · B (k × n), in elements. Always at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shape {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Shape {
    /// The largest extent that Rigel accepts: 2^20 elements.
    pub const MAX: usize = 1 << 20;

    /// A shape from its extents.
    pub const fn new(m: usize, n: usize, k: usize) -> Self {
        Shape { m, n, k }
    }

    /// n × n × n.
    pub const fn cube(n: usize) -> Self {
        Shape { m: n, n, k: n }
    }

    /// Operations of one product: a multiplication and an addition for each term, 2·m·n·k.
    pub const fn operations(self) -> u64 {
        2 * self.m as u64 * self.n as u64 * self.k as u64
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.m, self.n, self.k))
    }
}

/// A shape that cannot be read or lies outside 1 … 2^20.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shape: write MxNxK (`512x512x256`) or one number for a cube (`512`), each from 1 to 1048576")]
pub struct BadShape(pub String);

/// A whole number in its one spelling: no sign, no leading zero.
fn extent(text: &str) -> Option<usize> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    text.parse().ok().filter(|_| plain)
}

impl FromStr for Shape {
    type Err = BadShape;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let bad = || BadShape(s.to_owned());
        let parts: Vec<usize> = s.split('x').map(|p| extent(p).ok_or_else(bad)).collect::<Result<_, _>>()?;
        let shape = match parts[..] {
            [n] => Shape::cube(n),
            [m, n, k] => Shape::new(m, n, k),
            _ => return Err(bad()),
        };
        let fine = |x: usize| (1..=Shape::MAX).contains(&x);
        if fine(shape.m) && fine(shape.n) && fine(shape.k) { Ok(shape) } else { Err(bad()) }
    }
}

impl TryFrom<String> for Shape {
    type Error = BadShape;
    fn try_from(s: String) -> Result<Self, BadShape> {
        s.parse()
    }
}

impl From<Shape> for String {
    fn from(s: Shape) -> String {
        s.to_string()
    }
}
