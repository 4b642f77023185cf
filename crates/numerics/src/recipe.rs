//! What is input element (row, column) of operand A or B, for a given seed and recipe?
//!
//! [`RECIPE_TEXT`] is the normative answer, for block-scaled formats that of elements and of scales ([`crate::block`]); `integrations/python/rigel_inputs.py` is the same in Python. Nothing
//! here uses floating arithmetic, so every language and machine makes the same bits.

use crate::Format;
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

pub use crate::fits::fits;
pub use crate::ladder::Ladder;

/// Which operand of C = A·B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operand {
    /// The left operand, m × k: row = m index, column = k index.
    A,
    /// The right operand, k × n: row = k index, column = n index.
    B,
}

/// How input bit patterns are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Uniform over the finite codes of the format (wide formats: over a window of exponents).
    Uniform,
    /// Bell-shaped, standard deviation near 1 for floats; scaled to the range for integers.
    NearNormal,
    /// Every element is 1.
    Constant,
    /// Every element is +0.
    Zeros,
    /// Small integers: products and partial sums are exact in every format that holds them.
    SmallIntegers,
    /// One large term among many tiny ones in every dot product, at rungs that grow with the row.
    HostileLadder,
}

impl Recipe {
    /// Every recipe.
    pub const ALL: [Recipe; 6] = [
        Recipe::Uniform,
        Recipe::NearNormal,
        Recipe::Constant,
        Recipe::Zeros,
        Recipe::SmallIntegers,
        Recipe::HostileLadder,
    ];

    /// The stable name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Recipe::Uniform => "uniform",
            Recipe::NearNormal => "near-normal",
            Recipe::Constant => "constant",
            Recipe::Zeros => "zeros",
            Recipe::SmallIntegers => "small-integers",
            Recipe::HostileLadder => "hostile-ladder",
        }
    }

    /// Whether the recipe has elements of a format, or why not.
    ///
    /// Few pairs are refused: E8M0, a scale without zero and sign, outside `uniform` and `constant`; the hostile ladder where a
    /// format has no rung; and the small integers of u2, for which [`RECIPE_TEXT`], which every run holds by its digest, names no
    /// range.
    pub fn supports(self, format: Format) -> Result<(), RecipeError> {
        let refuse = |reason| Err(RecipeError::Unsupported { recipe: self, format, reason });
        match (self, format) {
            (Recipe::Uniform | Recipe::Constant, _) => Ok(()),
            (_, Format::E8m0) => refuse("it is a scale without zero and sign; use uniform or constant"),
            (Recipe::SmallIntegers, Format::U2) => refuse(
                "the recipes' text names no range for it; use near-normal, whose elements are small integers too",
            ),
            (Recipe::HostileLadder, _) if Ladder::of(format).is_none() => {
                refuse("it holds no two positive values with the ratio of a rung; use another recipe")
            }
            _ => Ok(()),
        }
    }

    /// The largest magnitude that an element can have; 0 for pairs that [`Recipe::supports`] refuses.
    pub fn max_magnitude(self, format: Format) -> f64 {
        if self.supports(format).is_err() {
            return 0.0;
        }
        if let Some(groups) = format.scale_groups() {
            return self.max_magnitude(groups.element) * self.of_scales().max_magnitude(groups.scale);
        }
        let scale = f64::from(1u32 << format.bits().min(31)) / 8.0;
        match self {
            Recipe::Uniform => match format.floating() {
                Some(_) if windowed(format) => 256.0,
                Some(_) => format.max_finite(),
                None => format.max_finite().max(-format.decode(format.min_finite_code())),
            },
            Recipe::NearNormal => match format {
                Format::I32 => 3.0 * f64::from(1 << 29),
                _ if !format.is_integer() => 3.0,
                _ if format.is_signed() => 3.0 * scale,
                _ => 7.0 * scale,
            },
            Recipe::Constant => 1.0,
            Recipe::Zeros => 0.0,
            Recipe::SmallIntegers => {
                let (least, most) = small_integers(format);
                most.max(-least) as f64
            }
            Recipe::HostileLadder => Ladder::of(format).map_or(0.0, |ladder| ladder.large().max(2.0)),
        }
    }

    /// Whether every element is the same: elements swapped or an operand transposed leave the product as it was, so the
    /// gate of such a cell would show little and is inherited from a sibling of another recipe.
    pub const fn is_blind(self) -> bool {
        matches!(self, Recipe::Constant | Recipe::Zeros)
    }

    /// Whether every element is an integer: then sums that fit the significand are exact in any order.
    pub const fn is_integral(self) -> bool {
        matches!(self, Recipe::Constant | Recipe::Zeros | Recipe::SmallIntegers)
    }
}

/// Whether `uniform` draws from a window of exponents instead of all finite codes: formats of 8 exponent bits and more.
pub(crate) const fn windowed(format: Format) -> bool {
    match format.floating() {
        Some(fields) => fields.exponent_bits > 5,
        None => false,
    }
}

/// The range of `small-integers`: −4 … 4 inside the range of the format.
pub(crate) const fn small_integers(format: Format) -> (i64, i64) {
    match format {
        Format::I2 => (-2, 1),
        Format::U8 | Format::U4 | Format::Ue4m3 => (0, 4),
        _ => (-4, 4),
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Recipe {
    type Err = RecipeError;
    fn from_str(s: &str) -> Result<Self, RecipeError> {
        Recipe::ALL.into_iter().find(|r| r.name() == s).ok_or_else(|| RecipeError::Unknown(s.to_owned()))
    }
}

/// A recipe that does not exist, or does not suit what it is asked for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// Not one of [`Recipe::ALL`].
    #[error("unknown recipe `{0}`; known: uniform near-normal constant zeros small-integers hostile-ladder")]
    Unknown(String),
    /// The recipe has no elements of this format.
    #[error("recipe {recipe} has no elements of format {format}: {reason}")]
    Unsupported {
        /// The recipe.
        recipe: Recipe,
        /// The format.
        format: Format,
        /// Why, and what to use instead.
        reason: &'static str,
    },
    /// Σ|a||b| could leave the finite range of the output or accumulate type.
    #[error(
        "recipe {recipe} can reach a sum of {sum:e} at K = {k}, beyond {limit}, the largest finite {format}; \
         use a smaller K, a narrower recipe or a wider output"
    )]
    OutOfRange {
        /// The recipe.
        recipe: Recipe,
        /// Terms in each dot product.
        k: usize,
        /// The bound on Σ|a||b|.
        sum: f64,
        /// The type whose range it leaves.
        format: Format,
        /// Its largest finite value.
        limit: f64,
    },
}

/// The normative description of all recipes. Provenance hashes these bytes: any change of an element changes the text.
pub const RECIPE_TEXT: &str = "\
rigel input recipes, version 1. All arithmetic is on integers; words are 64 bits, modulo 2^64.

mix(z): z ^= z>>30; z *= 0xBF58476D1CE4E5B9; z ^= z>>27; z *= 0x94D049BB133111EB; z ^= z>>31.
G = 0x9E3779B97F4A7C15. Recipes are numbered uniform 0, near-normal 1, constant 2, zeros 3, small-integers 4,
hostile-ladder 5; operands A 0, B 1.
key = mix(mix(seed + G) + G*(1 + 2*recipe + operand)).
word(row, col) = mix(key + G*(row*2^32 + col + 1)). further(w) = mix(w + G). WHOLE = 2^32 - 2.
RNE is rounding to the nearest code, ties to the even code, saturating. A format has e exponent bits, f fraction
bits, M = its largest finite code without sign. H = M + 1. w = word(row, col).

uniform, integers of b bits: the top b bits of w.
uniform, e <= 5: i = w*N >> 64 where N = 2H with a sign (2H-1 for FNUZ), H without; magnitude code i if i < H,
else sign set and magnitude i-H (i-H+1 for FNUZ).
uniform, e >= 8: sign = bit 63 of w (dropped without a sign); exponent = bits 62..59 of w minus 8; fraction = the f
bits of w from bit 58 down. tf32 codes lie in the upper 19 bits of 32.

near-normal: S = sum of three terms 2u + 1 - 2^L. Formats of precision <= 11: L = 21, u = bits 0..20, 21..41, 42..62
of w. Others: L = 64, u = w, further(w), further(further(w)). Floats: RNE of S/2^L, of |S|/2^L without a sign.
Integers of b bits: RNE of S*2^(b-3)/2^L, plus 2^(b-1) inside the rounding if unsigned.

constant: 1. zeros: code 0.

small-integers: lo + (w*(hi-lo+1) >> 64), with lo, hi = -4, 4; 0, 4 for u8, u4, ue4m3; -2, 1 for i2.

hostile-ladder, A: q = word(row, WHOLE); position = (q & 127) mod 2^(q >> 61); s = 1 + (row mod R).
The element at col = position is 2^T, every other 2^(T-s). (T, R) by format: f64 0, 60; f32 tf32 bf16 0, 32;
f16 0, 24; e5m2 15, 31; e5m2_fnuz 15, 32; e4m3 ue4m3 8, 17; e4m3_fnuz 7, 17; e3m2 4, 8; e2m3 2, 5; e2m1 2, 3;
i32 30, 30; i8 6, 6; u8 7, 7; i4 2, 2; u4 3, 3.
hostile-ladder, B: q = word(WHOLE, col); magnitude 1 + bit 62 of q, negative if bit 63 of q (never without a sign).
";
