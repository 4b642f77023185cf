//! Which number formats exist, and what are their widths, biases and special codes?
//!
//! Sources: IEEE 754-2019 (binary64, binary32, binary16); bfloat16 and tf32 as NVIDIA's PTX ISA describes
//! them; OCP OFP8 1.0 (E4M3, E5M2); OCP MX 1.0 (E2M1, E2M3, E3M2, E8M0, MXFP8, MXFP4); AMD's CDNA3 ISA (FNUZ forms);
//! NVIDIA's CUDA 13.0 documentation of block scaling (NVFP4).

use crate::block::{MX_GROUP, NVFP4_GROUP, ScaleGroups};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A number format: how a bit pattern becomes a value.
///
/// The wire name (`Display`, `FromStr`, serde) is lower case and stable: it stands in files and cell ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// 1 sign, 8 exponent, 10 fraction bits, held in 32 bits with the low 13 bits zero.
    Tf32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of binary32.
    Bf16,
    /// OCP E4M3 (the "FN" form): no infinity, one NaN magnitude, largest finite value 448.
    E4m3,
    /// OCP E5M2: IEEE-like, with infinities; largest finite value 57344.
    E5m2,
    /// E4M3 with bias 8, one NaN (0x80), no infinity, no negative zero; largest finite value 240.
    E4m3Fnuz,
    /// E5M2 with bias 16, one NaN (0x80), no infinity, no negative zero; largest finite value 57344.
    E5m2Fnuz,
    /// OCP MX FP4: {0, 0.5, 1, 1.5, 2, 3, 4, 6} with a sign; neither infinity nor NaN.
    E2m1,
    /// OCP MX FP6 with 3 fraction bits; largest value 7.5; neither infinity nor NaN.
    E2m3,
    /// OCP MX FP6 with 2 fraction bits; largest value 28; neither infinity nor NaN.
    E3m2,
    /// OCP MX scale: 2^(code − 127), no sign, no zero; 0xFF is NaN.
    E8m0,
    /// NVFP4 scale: E4M3 with the sign bit ignored.
    Ue4m3,
    /// Two's complement, 32 bits: the output of integer products.
    I32,
    /// Two's complement, 16 bits: operands of `vpdpwssd`.
    I16,
    /// Two's complement, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Two's complement, 4 bits.
    I4,
    /// Unsigned, 4 bits.
    U4,
    /// Two's complement, 2 bits.
    I2,
    /// Unsigned, 2 bits.
    U2,
    /// MXFP8: E4M3 elements, an E8M0 scale for each 32 of them along k.
    Mxe4m3,
    /// MXFP4: E2M1 elements, an E8M0 scale for each 32 of them along k.
    Mxe2m1,
    /// NVFP4: E2M1 elements, a UE4M3 scale for each 16 of them along k.
    Nve2m1,
}

/// What the all-ones exponent field means in a floating format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Specials {
    /// All-ones exponent: infinity (fraction 0) or NaN, as IEEE 754.
    Ieee,
    /// Finite except the one magnitude with all bits set, which is NaN (OCP "FN").
    AllOnesNan,
    /// Finite except the code of negative zero, which is NaN (FNUZ).
    NegativeZeroNan,
    /// Every code is finite.
    None,
}

/// The fields of a floating format; integers have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floating {
    /// 1 when the top bit is a sign, 0 for unsigned formats.
    pub sign_bits: u32,
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the fraction field (without the hidden bit).
    pub fraction_bits: u32,
    /// Exponent bias: a normal value is 2^(field − bias) × 1.fraction.
    pub bias: i32,
    /// Meaning of the extreme codes.
    pub specials: Specials,
}

impl Format {
    /// Every format whose codes are numbers of their own, in the order of their declaration.
    pub const ALL: [Format; 22] = [
        Format::F64,
        Format::F32,
        Format::Tf32,
        Format::F16,
        Format::Bf16,
        Format::E4m3,
        Format::E5m2,
        Format::E4m3Fnuz,
        Format::E5m2Fnuz,
        Format::E2m1,
        Format::E2m3,
        Format::E3m2,
        Format::E8m0,
        Format::Ue4m3,
        Format::I32,
        Format::I16,
        Format::I8,
        Format::U8,
        Format::I4,
        Format::U4,
        Format::I2,
        Format::U2,
    ];

    /// The block-scaled formats: operands of products, never outputs.
    pub const SCALED: [Format; 3] = [Format::Mxe4m3, Format::Mxe2m1, Format::Nve2m1];

    /// The stable lower-case name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Format::F64 => "f64",
            Format::F32 => "f32",
            Format::Tf32 => "tf32",
            Format::F16 => "f16",
            Format::Bf16 => "bf16",
            Format::E4m3 => "e4m3",
            Format::E5m2 => "e5m2",
            Format::E4m3Fnuz => "e4m3_fnuz",
            Format::E5m2Fnuz => "e5m2_fnuz",
            Format::E2m1 => "e2m1",
            Format::E2m3 => "e2m3",
            Format::E3m2 => "e3m2",
            Format::E8m0 => "e8m0",
            Format::Ue4m3 => "ue4m3",
            Format::I32 => "i32",
            Format::I16 => "i16",
            Format::I8 => "i8",
            Format::U8 => "u8",
            Format::I4 => "i4",
            Format::U4 => "u4",
            Format::I2 => "i2",
            Format::U2 => "u2",
            Format::Mxe4m3 => "mxe4m3",
            Format::Mxe2m1 => "mxe2m1",
            Format::Nve2m1 => "nve2m1",
        }
    }

    /// Bits that one code takes in a packed buffer: tf32 takes 32, fp6 takes 6, UE4M3 takes 8, block-scaled formats 16, the
    /// scale's code above the element's.
    pub const fn bits(self) -> u32 {
        match self {
            Format::F64 => 64,
            Format::F32 | Format::Tf32 | Format::I32 => 32,
            Format::F16 | Format::Bf16 | Format::I16 => 16,
            Format::Mxe4m3 | Format::Mxe2m1 | Format::Nve2m1 => 16,
            Format::E4m3 | Format::E5m2 | Format::E4m3Fnuz | Format::E5m2Fnuz => 8,
            Format::E8m0 | Format::Ue4m3 | Format::I8 | Format::U8 => 8,
            Format::E2m3 | Format::E3m2 => 6,
            Format::E2m1 | Format::I4 | Format::U4 => 4,
            Format::I2 | Format::U2 => 2,
        }
    }

    /// The fields of a floating format, `None` for integers and block-scaled formats.
    pub const fn floating(self) -> Option<Floating> {
        const fn f(
            sign_bits: u32,
            exponent_bits: u32,
            fraction_bits: u32,
            bias: i32,
            specials: Specials,
        ) -> Option<Floating> {
            Some(Floating { sign_bits, exponent_bits, fraction_bits, bias, specials })
        }
        match self {
            Format::F64 => f(1, 11, 52, 1023, Specials::Ieee),
            Format::F32 => f(1, 8, 23, 127, Specials::Ieee),
            Format::Tf32 => f(1, 8, 10, 127, Specials::Ieee),
            Format::F16 => f(1, 5, 10, 15, Specials::Ieee),
            Format::Bf16 => f(1, 8, 7, 127, Specials::Ieee),
            Format::E4m3 => f(1, 4, 3, 7, Specials::AllOnesNan),
            Format::E5m2 => f(1, 5, 2, 15, Specials::Ieee),
            Format::E4m3Fnuz => f(1, 4, 3, 8, Specials::NegativeZeroNan),
            Format::E5m2Fnuz => f(1, 5, 2, 16, Specials::NegativeZeroNan),
            Format::E2m1 => f(1, 2, 1, 1, Specials::None),
            Format::E2m3 => f(1, 2, 3, 1, Specials::None),
            Format::E3m2 => f(1, 3, 2, 3, Specials::None),
            Format::E8m0 => f(0, 8, 0, 127, Specials::AllOnesNan),
            Format::Ue4m3 => f(0, 4, 3, 7, Specials::AllOnesNan),
            Format::I32 | Format::I16 | Format::I8 | Format::U8 | Format::I4 | Format::U4 | Format::I2 | Format::U2 => {
                None
            }
            Format::Mxe4m3 | Format::Mxe2m1 | Format::Nve2m1 => None,
        }
    }

    /// What the elements and scales of a block-scaled format are; `None` for every other.
    pub const fn scale_groups(self) -> Option<ScaleGroups> {
        let (element, scale, size) = match self {
            Format::Mxe4m3 => (Format::E4m3, Format::E8m0, MX_GROUP),
            Format::Mxe2m1 => (Format::E2m1, Format::E8m0, MX_GROUP),
            Format::Nve2m1 => (Format::E2m1, Format::Ue4m3, NVFP4_GROUP),
            _ => return None,
        };
        Some(ScaleGroups { element, scale, size })
    }

    /// Bits of one element without its scale: what makes an operand narrow.
    pub const fn element_bits(self) -> u32 {
        match self.scale_groups() {
            Some(groups) => groups.element.bits(),
            None => self.bits(),
        }
    }

    /// Whether codes are integers.
    pub const fn is_integer(self) -> bool {
        self.floating().is_none() && self.scale_groups().is_none()
    }

    /// Significant bits of a normal value, hidden bit included (24 for f32; of block-scaled formats those of element times
    /// scale); for integers their magnitude bits.
    pub const fn precision(self) -> u32 {
        match self.floating() {
            Some(f) => f.fraction_bits + 1,
            None => match self {
                Format::I32 => 31,
                Format::I16 => 15,
                Format::I8 => 7,
                Format::U8 => 8,
                Format::I4 => 3,
                Format::U4 => 4,
                Format::U2 => 2,
                Format::Mxe4m3 => 4,
                Format::Mxe2m1 => 2,
                // Two bits by four.
                Format::Nve2m1 => 6,
                _ => 1,
            },
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A format name that is not one of [`Format::ALL`] or [`Format::SCALED`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown format `{0}`{hint}; known: f64 f32 tf32 f16 bf16 e4m3 e5m2 e4m3_fnuz e5m2_fnuz e2m1 e2m3 e3m2 e8m0 ue4m3 i32 i16 i8 u8 i4 u4 i2 u2 mxe4m3 mxe2m1 nve2m1",
    hint = crate::synonyms::hint(.0)
)]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Format::ALL.into_iter().chain(Format::SCALED).find(|f| f.name() == s).ok_or_else(|| UnknownFormat(s.to_owned()))
    }
}
