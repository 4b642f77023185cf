//! What do the elements of a scale group mean, and how are values quantised into one?
//!
//! A scale group is a run of elements that share a scale. Two kinds exist here:
//!
//! * **MX** (OCP Microscaling Formats 1.0): 32 elements and an E8M0 scale X; value = X · element. A NaN scale makes
//!   the whole group NaN.
//! * **NVFP4**: 16 elements of E2M1, a UE4M3 scale and one f32 scale for the tensor; value = tensor · scale · element.
//!
//! As operands of products they are the formats of [`Format::SCALED`]. There a code holds its element's code in the low byte and
//! the code of the scale that its scale group shares in the high byte, so that it stands for one number, element · scale, wherever it
//! is looked at. Scale groups lie along k: along the rows of A, along the columns of B; where k is no multiple, the last one is
//! shorter. The f32 scale of an NVFP4 tensor is 1: it is a factor of the whole sum, applied after it, and rounds no product.
//! A device that wants elements and scales apart takes [`planes`].
//!
//! The scales of a recipe's operand are a matrix that the recipes already define: that of the scale's format, with one element a
//! scale group, under [`Recipe::of_scales`] and [`seed_of_scales`].
//!
//! Decoding is exact in `f64`. Quantising rounds to nearest even, exactly: no intermediate quotient is rounded.

use crate::{Format, Matrix, Operand, Overflow, Recipe, Rounding};

/// Elements of an MX scale group.
pub const MX_GROUP: usize = 32;
/// Elements of an NVFP4 scale group.
pub const NVFP4_GROUP: usize = 16;

/// What the elements of a block-scaled format are, and how many share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleGroups {
    /// Format of the elements.
    pub element: Format,
    /// Format of the scales.
    pub scale: Format,
    /// Elements of a scale group.
    pub size: usize,
}

impl ScaleGroups {
    /// The code of an element under a scale.
    pub const fn code(self, element: u64, scale: u64) -> u64 {
        scale << 8 | element
    }

    /// The code of an element under a scale of 1, which is exponent 0 of either format of scales.
    pub const fn under_one(self, element: u64) -> u64 {
        let one = if matches!(self.scale, Format::E8m0) { 127 } else { 7 << 3 };
        self.code(element, one)
    }

    /// The codes of element and scale.
    pub const fn split(self, code: u64) -> (u64, u64) {
        (code & self.element.code_mask(), code >> 8 & self.scale.code_mask())
    }
}

impl Recipe {
    /// The recipe that the scales of a block-scaled operand of this recipe come from.
    ///
    /// Random recipes have random scales, so that no two scale groups can change places unseen: `uniform`, the one that E8M0 has
    /// (2^−8 … 2^7; of UE4M3 every finite code). Recipes whose values are fixed keep them: every scale is 1.
    pub const fn of_scales(self) -> Recipe {
        match self {
            Recipe::Uniform | Recipe::NearNormal => Recipe::Uniform,
            _ => Recipe::Constant,
        }
    }
}

/// The seed of the scales of operands that come from `seed`. It differs from that of the elements, whose words they would
/// share.
pub const fn seed_of_scales(seed: u64) -> u64 {
    seed ^ 1 << 63
}

/// A scale group whose elements do not share one scale, or an operand that has no scales.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlanes {
    /// The format has no scales.
    #[error("{0} has no scales: only mxe4m3, mxe2m1 and nve2m1 have planes of elements and scales")]
    Format(Format),
    /// An element has another scale than the first of its scale group.
    #[error("element ({row}, {col}) has another scale than the first of its scale group")]
    Scale {
        /// Row of it.
        row: usize,
        /// Column of it.
        col: usize,
    },
}

/// The elements of a block-scaled operand, packed, and its scales: m × ⌈k / size⌉ of A, ⌈k / size⌉ × n of B.
///
/// # Errors
/// [`NoPlanes`] for another format, or codes of one scale group with unlike scales.
pub fn planes(matrix: &Matrix, operand: Operand) -> Result<(Matrix, Matrix), NoPlanes> {
    let groups = matrix.format.scale_groups().ok_or(NoPlanes::Format(matrix.format))?;
    let (down, across) = match operand {
        Operand::A => (1, groups.size),
        Operand::B => (groups.size, 1),
    };
    let mut elements = Matrix::zeroed(groups.element, matrix.rows, matrix.cols);
    let mut scales = Matrix::zeroed(groups.scale, matrix.rows.div_ceil(down), matrix.cols.div_ceil(across));
    for (row, col) in (0..matrix.rows).flat_map(|row| (0..matrix.cols).map(move |col| (row, col))) {
        let (element, scale) = groups.split(matrix.get(row, col));
        elements.set(row, col, element);
        if row % down == 0 && col % across == 0 {
            scales.set(row / down, col / across, scale);
        } else if scales.get(row / down, col / across) != scale {
            return Err(NoPlanes::Scale { row, col });
        }
    }
    Ok((elements, scales))
}

/// The element type of an MX scale group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MxElement {
    /// MXFP8, 5 exponent bits.
    E5m2,
    /// MXFP8, 4 exponent bits.
    E4m3,
    /// MXFP6, 3 exponent bits.
    E3m2,
    /// MXFP6, 2 exponent bits.
    E2m3,
    /// MXFP4.
    E2m1,
    /// MXINT8: two's complement with an implied scale of 2^−6, −2 … 1.984375.
    Int8,
}

impl MxElement {
    /// Every element type of OCP MX 1.0.
    pub const ALL: [MxElement; 6] =
        [MxElement::E5m2, MxElement::E4m3, MxElement::E3m2, MxElement::E2m3, MxElement::E2m1, MxElement::Int8];

    /// The format of the codes, before the implied scale of [`MxElement::implied_exponent`].
    pub const fn format(self) -> Format {
        match self {
            MxElement::E5m2 => Format::E5m2,
            MxElement::E4m3 => Format::E4m3,
            MxElement::E3m2 => Format::E3m2,
            MxElement::E2m3 => Format::E2m3,
            MxElement::E2m1 => Format::E2m1,
            MxElement::Int8 => Format::I8,
        }
    }

    /// log2 of the implied scale of an element: −6 for MXINT8, 0 for floats.
    pub const fn implied_exponent(self) -> i32 {
        if matches!(self, MxElement::Int8) { -6 } else { 0 }
    }

    /// The exponent of the largest power of two that an element can hold.
    pub const fn max_exponent(self) -> i32 {
        match self {
            MxElement::E5m2 => 15,
            MxElement::E4m3 => 8,
            MxElement::E3m2 => 4,
            MxElement::E2m3 | MxElement::E2m1 => 2,
            MxElement::Int8 => 0,
        }
    }
}

/// One MX scale group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MxGroup {
    /// Element type.
    pub element: MxElement,
    /// E8M0 code.
    pub scale: u8,
    /// Element codes, one a byte, in order.
    pub codes: [u8; MX_GROUP],
}

impl MxGroup {
    /// Quantises 32 values by the reference conversion of OCP MX 1.0 §6.3.
    ///
    /// X = 2^(⌊log2 amax⌋ − max_exponent), clamped to E8M0's 2^−127 … 2^127; each element is RNE(value / X),
    /// saturating at the largest normal magnitude, subnormals kept. MXINT8 saturates at ±1.984375 and leaves −2
    /// unused, so that quantising again changes nothing: −2 · X would raise X.
    ///
    /// The known weakness of that rule: a group whose amax lies between the largest element and the next power of two
    /// saturates it (7 in E2M1 becomes 6). Choices of this crate: a group of zeros gets the least scale, 2^−127; a NaN
    /// or an infinity makes the scale NaN, since nothing else in a group of E2M1 could tell of it, with codes of 0.
    pub fn quantise(element: MxElement, values: &[f64; MX_GROUP]) -> MxGroup {
        let Some(amax) = largest(values) else {
            return MxGroup { element, scale: 0xFF, codes: [0; MX_GROUP] };
        };
        let exponent = match Format::F64.parts(amax.to_bits()) {
            Some((significand, exponent)) if significand > 0 => {
                (exponent + significand.ilog2() as i32 - element.max_exponent()).clamp(-127, 127)
            }
            _ => -127,
        };
        let codes = values.map(|value| {
            let code =
                scaled(element.format(), value, |s, e| (i128::from(s), e - exponent - element.implied_exponent()));
            if element == MxElement::Int8 && code == 0x80 { 0x81 } else { code }
        });
        MxGroup { element, scale: (exponent + 127) as u8, codes }
    }

    /// The 32 values, exactly; all NaN when the scale is NaN.
    pub fn decode(&self) -> [f64; MX_GROUP] {
        let implied = crate::codec::power_of_two(self.element.implied_exponent());
        let scale = Format::E8m0.decode(self.scale.into());
        self.codes.map(|code| self.element.format().decode(code.into()) * implied * scale)
    }
}

/// One NVFP4 scale group. The scale of the tensor is kept by whoever holds the groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nvfp4Group {
    /// UE4M3 code.
    pub scale: u8,
    /// E2M1 codes, one a byte, in order.
    pub codes: [u8; NVFP4_GROUP],
}

impl Nvfp4Group {
    /// The usual scale of a tensor with the given largest magnitude: amax / (448 · 6), rounded to f32.
    ///
    /// 448 is the largest UE4M3 and 6 the largest E2M1 value, so that the largest element just fits. Non-finite
    /// and zero amax give 1, and a quotient below f32's range its smallest positive value.
    pub fn tensor_scale(amax: f64) -> f32 {
        if !amax.is_finite() || amax == 0.0 {
            return 1.0;
        }
        ((amax.abs() / (448.0 * 6.0)) as f32).clamp(f32::from_bits(1), f32::MAX)
    }

    /// Quantises 16 values under a tensor scale.
    ///
    /// scale = UE4M3(amax / (6 · tensor)), elements = E2M1(value / (scale · tensor)), both RNE and saturating. A
    /// scale that rounds to 0 makes every element 0. A NaN or an infinity in the group, or a tensor scale that is not
    /// finite and positive, makes the scale NaN.
    pub fn quantise(tensor: f32, values: &[f64; NVFP4_GROUP]) -> Nvfp4Group {
        let nan = Nvfp4Group { scale: 0x7F, codes: [0; NVFP4_GROUP] };
        let (Some(amax), Some((t, t_exponent))) = (largest(values), Format::F32.parts(tensor.to_bits().into())) else {
            return nan;
        };
        if t <= 0 {
            return nan;
        }
        let scale = scaled(Format::Ue4m3, amax, |s, e| quotient(s, e, 6 * t, t_exponent));
        let codes = match Format::Ue4m3.parts(scale.into()) {
            Some((s, s_exponent)) if s > 0 => {
                values.map(|value| scaled(Format::E2m1, value, |v, e| quotient(v, e, s * t, s_exponent + t_exponent)))
            }
            _ => [0; NVFP4_GROUP],
        };
        Nvfp4Group { scale, codes }
    }

    /// The 16 values under a tensor scale, exactly; all NaN when the scale is NaN.
    pub fn decode(&self, tensor: f32) -> [f64; NVFP4_GROUP] {
        let scale = f64::from(tensor) * Format::Ue4m3.decode(self.scale.into());
        self.codes.map(|code| Format::E2m1.decode(code.into()) * scale)
    }
}

/// The largest magnitude, `None` if a value is NaN or infinite.
fn largest(values: &[f64]) -> Option<f64> {
    values.iter().try_fold(0.0f64, |most, v| v.is_finite().then(|| most.max(v.abs())))
}

/// Encodes a finite value after an exact change of its (significand, exponent); zeros keep their sign.
fn scaled(format: Format, value: f64, change: impl Fn(i64, i32) -> (i128, i32)) -> u8 {
    let code = match Format::F64.parts(value.to_bits()) {
        Some((significand, exponent)) if significand != 0 => {
            let (significand, exponent) = change(significand, exponent);
            format.encode_scaled(significand, exponent, Rounding::NearestEven, Overflow::Saturate)
        }
        _ => format.encode(value, Rounding::NearestEven, Overflow::Saturate),
    };
    code as u8
}

/// A quotient with 64 bits more than its dividend and a sticky last bit: rounds as the exact one does.
fn quotient(dividend: i64, exponent: i32, divisor: i64, divisor_exponent: i32) -> (i128, i32) {
    let (wide, divisor) = (i128::from(dividend) << 64, i128::from(divisor));
    let sticky = i128::from(wide % divisor != 0);
    let magnitude = (wide / divisor).abs() | sticky;
    (if dividend < 0 { -magnitude } else { magnitude }, exponent - divisor_exponent - 64)
}
