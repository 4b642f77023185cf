//! Which element types does the Metal Shading Language give a matrix, and how is each spelled?

use rigel_numerics::Format;

/// An element type of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// 32-bit float.
    Float,
    /// IEEE half precision.
    Half,
    /// bfloat16.
    Bfloat,
    /// Signed 8-bit integer.
    Int8,
    /// Unsigned 8-bit integer.
    Uint8,
    /// Signed 32-bit integer: a destination only.
    Int32,
    /// Packed signed 4-bit integer.
    Int4,
    /// Packed unsigned 4-bit integer.
    Uint4,
    /// Packed signed 2-bit integer.
    Int2,
    /// Packed unsigned 2-bit integer.
    Uint2,
    /// OCP FP4 E2M1, packed.
    E2m1,
    /// OCP FP8 E4M3.
    E4m3,
    /// OCP FP8 E5M2.
    E5m2,
    /// OCP FP8 E4M3 under a scale of each 32: an operand only.
    Mxe4m3,
    /// OCP FP4 E2M1, packed, under a scale of each 32: an operand only.
    Mxe2m1,
}

use Element::*;

impl Element {
    /// Every type, widest first; then those of tensors that have a plane of scales.
    pub const ALL: [Element; 15] =
        [Float, Int32, Half, Bfloat, Int8, Uint8, E4m3, E5m2, Int4, Uint4, E2m1, Int2, Uint2, Mxe4m3, Mxe2m1];

    /// As written in a kernel. Format types are only a label of a tensor: their memory is bytes ([`Element::data`]).
    pub const fn spelled(self) -> &'static str {
        match self {
            Float => "float",
            Half => "half",
            Bfloat => "bfloat",
            Int8 => "int8_t",
            Uint8 => "uint8_t",
            Int32 => "int32_t",
            Int4 => "int4b_format",
            Uint4 => "uint4b_format",
            Int2 => "int2b_format",
            Uint2 => "uint2b_format",
            E2m1 | Mxe2m1 => "metal_fp4_e2m1_format",
            E4m3 | Mxe4m3 => "metal_fp8_e4m3_format",
            E5m2 => "metal_fp8_e5m2_format",
        }
    }

    /// The type that a pointer to its memory has in a kernel.
    pub const fn data(self) -> &'static str {
        if self.is_format() { "uchar" } else { self.spelled() }
    }

    /// Width of an element, without its scale.
    pub const fn bits(self) -> u32 {
        match self {
            Float | Int32 => 32,
            Half | Bfloat => 16,
            Int8 | Uint8 | E4m3 | E5m2 | Mxe4m3 => 8,
            Int4 | Uint4 | E2m1 | Mxe2m1 => 4,
            Int2 | Uint2 => 2,
        }
    }

    /// Whether it is a format type, which has no values in a kernel of its own: no cooperative input, no thread scope.
    pub const fn is_format(self) -> bool {
        matches!(self, Int4 | Uint4 | Int2 | Uint2 | E2m1 | E4m3 | E5m2) || self.is_scaled()
    }

    /// Whether tensors of it have a plane of UE8M0 scales, one of each 32 elements along dimension 0.
    pub const fn is_scaled(self) -> bool {
        matches!(self, Mxe4m3 | Mxe2m1)
    }

    /// The element type without its scales.
    pub const fn unscaled(self) -> Element {
        match self {
            Mxe4m3 => E4m3,
            Mxe2m1 => E2m1,
            plain => plain,
        }
    }

    /// Whether it holds integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Int8 | Uint8 | Int32 | Int4 | Uint4 | Int2 | Uint2)
    }

    /// The number format.
    pub const fn format(self) -> Format {
        match self {
            Float => Format::F32,
            Half => Format::F16,
            Bfloat => Format::Bf16,
            Int8 => Format::I8,
            Uint8 => Format::U8,
            Int32 => Format::I32,
            Int4 => Format::I4,
            Uint4 => Format::U4,
            Int2 => Format::I2,
            Uint2 => Format::U2,
            E2m1 => Format::E2m1,
            E4m3 => Format::E4m3,
            E5m2 => Format::E5m2,
            Mxe4m3 => Format::Mxe4m3,
            Mxe2m1 => Format::Mxe2m1,
        }
    }

    /// The element type of a number format, where there is one.
    pub fn of(format: Format) -> Option<Element> {
        Element::ALL.into_iter().find(|e| e.format() == format)
    }

    /// Raw value of `MTLTensorDataType` (26.4 brought the 4-bit integers, 27.0 the other format types).
    pub const fn tensor_data_type(self) -> isize {
        match self {
            Float => 3,
            Half => 16,
            Bfloat => 121,
            Int8 => 45,
            Uint8 => 49,
            Int32 => 29,
            E5m2 => 141,
            E4m3 | Mxe4m3 => 142,
            Int4 => 143,
            Uint4 => 144,
            E2m1 | Mxe2m1 => 148,
            Uint2 => 149,
            Int2 => 150,
        }
    }
}
