//! What happens inside one hardware step: how are its terms aligned, added and rounded?

use super::output::Output;
use crate::Rounding;
use serde::{Deserialize, Serialize};

/// One fused sum. Its terms are products a·b, the value c that comes in, or values that other steps left.
///
/// Terms are cut apart, each with its own sign, and then added exactly: a step is symmetric in its terms of one kind, and it
/// is not monotone, since a larger term can raise η and so cut the others.
///
/// The *exponent* of a term is that of its leading place as the hardware counts it: e_a + e_b for a product (which then
/// lies below 2^(e+2), not renormalised), the exponent field for a value, the least normal exponent for subnormals.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sum {
    /// How far the terms keep their low bits.
    pub align: Align,
    /// Sign of a sum that is zero.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zero: ZeroSign,
    /// What leaves the step.
    pub output: Output,
}

/// How far the terms of a sum keep their low bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    /// Every bit: the sum is exact before its output is rounded.
    Exact,
    /// As many as [`Alignment`] says, below the largest exponent.
    Largest(Alignment),
}

/// Alignment to η, the largest exponent among the terms of a step.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alignment {
    /// F: terms are cut to multiples of 2^(η − F). 0 … 100.
    pub fraction_bits: u32,
    /// How they are cut. [`Rounding::Odd`] keeps a sticky bit in the last place.
    pub cut: Rounding,
    /// How c is cut where that differs from the other terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c: Option<CAlignment>,
    /// Exponent of a product.
    #[serde(default, skip_serializing_if = "is_default")]
    pub products: ProductExponent,
    /// Exponent of c and of values that other steps left.
    #[serde(default, skip_serializing_if = "is_default")]
    pub values: ValueExponent,
    /// Whether a product that is zero takes part in η.
    #[serde(default, skip_serializing_if = "is_default")]
    pub zero_products: ZeroProducts,
    /// The exponent with which a value that is zero takes part in η; `None`: it takes none. Under
    /// [`ValueExponent::Raw`] an unrounded sum brings the η that it was aligned to even when it is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_values: Option<i32>,
    /// The least η.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<i32>,
    /// w: the adder holds sums in [−2^w, 2^w) · 2^η and wraps beyond, 1 … 40; `None`: wide enough for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carry_bits: Option<u32>,
}

impl Alignment {
    /// F fraction bits, cut by one rounding, nothing special.
    pub const fn new(fraction_bits: u32, cut: Rounding) -> Alignment {
        Alignment {
            fraction_bits,
            cut,
            c: None,
            products: ProductExponent::Raw,
            values: ValueExponent::Raw,
            zero_products: ZeroProducts::Ignored,
            zero_values: None,
            floor: None,
            carry_bits: None,
        }
    }
}

/// How c is aligned where that differs from the other terms of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CAlignment {
    /// Fraction bits of c below η, 0 … 100.
    pub fraction_bits: u32,
    /// How c is cut.
    pub cut: Rounding,
    /// c counts as zero where its exponent lies more than this below η; `None`: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<u32>,
}

/// Exponent of a product.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProductExponent {
    /// e_a + e_b of the exponent fields; a subnormal operand has the least normal exponent.
    #[default]
    Raw,
    /// e_a + e_b, where a subnormal operand was normalised first.
    OperandsNormalised,
    /// ⌊log2 |a·b|⌋.
    Normalised,
}

impl ProductExponent {
    /// Every rule.
    pub const ALL: [ProductExponent; 3] =
        [ProductExponent::Raw, ProductExponent::OperandsNormalised, ProductExponent::Normalised];
}

/// Exponent of c and of values that steps left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueExponent {
    /// The exponent field: subnormals have the least normal exponent, unrounded sums the η they were aligned to.
    #[default]
    Raw,
    /// ⌊log2 |v|⌋.
    Normalised,
}

impl ValueExponent {
    /// Both rules.
    pub const ALL: [ValueExponent; 2] = [ValueExponent::Raw, ValueExponent::Normalised];
}

/// Whether a product that is zero takes part in η.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroProducts {
    /// It takes none.
    #[default]
    Ignored,
    /// A zero operand has this exponent, to which that of its partner is added.
    Operand(i32),
    /// The product has this exponent, whatever its operands.
    Product(i32),
}

/// Sign of a sum that is zero before rounding; that of one that rounds to zero is [`Vanished`]'s.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZeroSign {
    /// Always +0.
    #[default]
    Positive,
    /// IEEE 754 §6.3: the terms' sign where all agree, else +0, or −0 when the output rounds down.
    Ieee,
}

impl ZeroSign {
    /// Both rules.
    pub const ALL: [ZeroSign; 2] = [ZeroSign::Positive, ZeroSign::Ieee];
}

/// Whether a field holds its default and may be left out of a file.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
