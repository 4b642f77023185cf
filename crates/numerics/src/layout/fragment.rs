//! Which three layouts does a unit have?

use super::{Layout, LayoutError};
use crate::{Matrix, Shape};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An operand that lanes hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FragmentOperand {
    /// m × k.
    A,
    /// k × n: rows are k.
    B,
    /// m × n, of the addend C and of the result D.
    C,
}

impl FragmentOperand {
    /// All three.
    pub const ALL: [FragmentOperand; 3] = [FragmentOperand::A, FragmentOperand::B, FragmentOperand::C];

    /// Its lower-case name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            FragmentOperand::A => "a",
            FragmentOperand::B => "b",
            FragmentOperand::C => "c",
        }
    }
}

impl fmt::Display for FragmentOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FragmentOperand::A => "A",
            FragmentOperand::B => "B",
            FragmentOperand::C => "C",
        })
    }
}

/// The layouts of a unit's operands; D lies as C does.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Fragment {
    /// Of A, m × k.
    pub a: Layout,
    /// Of B, k × n.
    pub b: Layout,
    /// Of C and D, m × n.
    pub c: Layout,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    a: Layout,
    b: Layout,
    c: Layout,
}

impl TryFrom<Raw> for Fragment {
    type Error = LayoutError;
    fn try_from(Raw { a, b, c }: Raw) -> Result<Fragment, LayoutError> {
        Fragment::new(a, b, c)
    }
}

impl Fragment {
    /// Three layouts of one product.
    ///
    /// # Errors
    /// [`LayoutError::Shapes`], [`LayoutError::Lanes`].
    pub fn new(a: Layout, b: Layout, c: Layout) -> Result<Fragment, LayoutError> {
        let extents = |layout: &Layout| (layout.rows(), layout.cols());
        if (a.cols(), a.rows(), b.cols()) != (b.rows(), c.rows(), c.cols()) {
            return Err(LayoutError::Shapes { a: extents(&a), b: extents(&b), c: extents(&c) });
        }
        if a.lanes() != b.lanes() || a.lanes() != c.lanes() {
            return Err(LayoutError::Lanes { a: a.lanes(), b: b.lanes(), c: c.lanes() });
        }
        Ok(Fragment { a, b, c })
    }

    /// Extents of the product.
    pub fn shape(&self) -> Shape {
        Shape::new(self.a.rows(), self.b.cols(), self.a.cols())
    }

    /// Lanes of a launch.
    pub fn lanes(&self) -> usize {
        self.a.lanes()
    }

    /// The layout of one operand.
    pub fn of(&self, operand: FragmentOperand) -> &Layout {
        match operand {
            FragmentOperand::A => &self.a,
            FragmentOperand::B => &self.b,
            FragmentOperand::C => &self.c,
        }
    }

    /// Registers that hold the tiles of a batch: [`Layout::gather`] of one operand.
    ///
    /// # Errors
    /// As [`Layout::gather`].
    pub fn gather(&self, operand: FragmentOperand, tiles: &Matrix) -> Result<Matrix, LayoutError> {
        self.of(operand).gather(tiles)
    }

    /// Tiles that the registers of a batch hold: [`Layout::scatter`] of one operand.
    ///
    /// # Errors
    /// As [`Layout::scatter`].
    pub fn scatter(&self, operand: FragmentOperand, registers: &Matrix) -> Result<Matrix, LayoutError> {
        self.of(operand).scatter(registers)
    }
}
