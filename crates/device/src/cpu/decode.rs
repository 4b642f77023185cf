//! How does the code of an operand become the element that a kernel multiplies?
//!
//! Every conversion here is exact: the wide type holds every value of the narrow one. NaN stays NaN (its
//! payload may change), infinities stay infinite. Element times scale of a block-scaled code is exact in f32 too, up to E8M0 scales
//! of 2^119; above these the product can leave f32's range.

use super::buffer::Plain;
use rigel_numerics::Format;
use std::sync::LazyLock;

/// A conversion that packing applies to each element of an operand.
pub trait Decode: 'static {
    /// The code as it lies in the operand.
    type Code: Plain;
    /// The element as the kernel reads it.
    type Packed: Plain;
    /// The format of the code.
    const FORMAT: Format;
    /// What a lookup needs; fetched once per panel.
    type Table: Copy;
    /// Fetches the table.
    fn table() -> Self::Table;
    /// Converts one code.
    fn decode(table: Self::Table, code: Self::Code) -> Self::Packed;
}

macro_rules! decode {
    ($(#[$doc:meta])* $name:ident, $code:ty => $packed:ty, $format:ident, |$value:ident| $body:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl Decode for $name {
            type Code = $code;
            type Packed = $packed;
            type Table = ();
            const FORMAT: Format = Format::$format;
            #[inline(always)]
            fn table() {}
            #[inline(always)]
            fn decode(_: (), $value: $code) -> $packed {
                $body
            }
        }
    };
}

decode!(
    /// f64 as it is.
    F64, f64 => f64, F64, |x| x
);
decode!(
    /// f32 as it is.
    F32, f32 => f32, F32, |x| x
);
decode!(
    /// bf16 to f32: the code is the upper half of the wider one.
    Bf16, u16 => f32, Bf16, |x| f32::from_bits(u32::from(x) << 16)
);
decode!(
    /// f16 to f32: exponent and fraction are moved into place and the bias is corrected by an exact product.
    F16, u16 => f32, F16, |x| f16_value(x)
);
decode!(
    /// bf16 codes as they are, for `VDPBF16PS`.
    Bf16Code, u16 => u16, Bf16, |x| x
);
decode!(
    /// i8 to i32.
    I8Wide, i8 => i32, I8, |x| i32::from(x)
);
decode!(
    /// u8 to i32.
    U8Wide, u8 => i32, U8, |x| i32::from(x)
);
decode!(
    /// i8 to i16, for `VPMADDWD`.
    I8Half, i8 => i16, I8, |x| i16::from(x)
);
decode!(
    /// u8 to i16, for `VPMADDWD`.
    U8Half, u8 => i16, U8, |x| i16::from(x)
);
decode!(
    /// i8 as it is, for `VPDPBUSD`'s signed operand.
    I8Code, i8 => i8, I8, |x| x
);
decode!(
    /// u8 as it is, for `VPDPBUSD`'s unsigned operand.
    U8Code, u8 => u8, U8, |x| x
);
decode!(
    /// i8 plus 128, for `VPDPBUSD`'s unsigned operand; the kernel takes the surplus off again.
    I8Offset, i8 => u8, I8, |x| (x as u8) ^ 0x80
);

/// The value of an f16 code.
#[inline(always)]
fn f16_value(code: u16) -> f32 {
    let magnitude = u32::from(code & 0x7FFF) << 13;
    // Subnormals of f16 become subnormals of f32 here; the product by 2^112 makes them normal without rounding.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = magnitude | 0x7F80_0000;
    let finite = code & 0x7C00 != 0x7C00;
    f32::from_bits((if finite { scaled } else { special }) | u32::from(code & 0x8000) << 16)
}

static E4M3: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|code| e4m3_value(code as u8)));
static E5M2: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|code| f16_value((code as u16) << 8)));

/// The value of an E4M3 code: exponent bias 7, all ones is NaN, no infinity.
fn e4m3_value(code: u8) -> f32 {
    let (exponent, fraction) = (i32::from(code >> 3 & 0xF), f32::from(code & 7));
    let magnitude = match (exponent, code & 7) {
        (15, 7) => f32::NAN,
        (0, _) => fraction * 2f32.powi(-9),
        _ => (8.0 + fraction) * 2f32.powi(exponent - 10),
    };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

macro_rules! decode_by_table {
    ($(#[$doc:meta])* $name:ident, $format:ident, $table:ident) => {
        $(#[$doc])*
        pub struct $name;
        impl Decode for $name {
            type Code = u8;
            type Packed = f32;
            type Table = &'static [f32; 256];
            const FORMAT: Format = Format::$format;
            #[inline(always)]
            fn table() -> Self::Table {
                &$table
            }
            #[inline(always)]
            fn decode(table: Self::Table, code: u8) -> f32 {
                table[usize::from(code)]
            }
        }
    };
}

decode_by_table!(
    /// E4M3 to f32 by a table of 256 values.
    E4m3, E4m3, E4M3
);
decode_by_table!(
    /// E5M2 to f32 by a table of 256 values.
    E5m2, E5m2, E5M2
);

static E2M1: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][code & 7];
        if code & 8 == 0 { magnitude } else { -magnitude }
    })
});
static UE4M3: LazyLock<[f32; 256]> = LazyLock::new(|| std::array::from_fn(|code| e4m3_value(code as u8 & 0x7F)));
static E8M0: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|code| match code {
        0 => f32::from_bits(1 << 22),
        0xFF => f32::NAN,
        _ => f32::from_bits((code as u32) << 23),
    })
});

macro_rules! decode_scaled {
    ($(#[$doc:meta])* $name:ident, $elements:ident, $scales:ident) => {
        $(#[$doc])*
        pub struct $name;
        impl Decode for $name {
            type Code = u16;
            type Packed = f32;
            type Table = (&'static [f32; 256], &'static [f32; 256]);
            const FORMAT: Format = Format::$name;
            #[inline(always)]
            fn table() -> Self::Table {
                (&$elements, &$scales)
            }
            #[inline(always)]
            fn decode((elements, scales): Self::Table, code: u16) -> f32 {
                elements[usize::from(code & 0xFF)] * scales[usize::from(code >> 8)]
            }
        }
    };
}

decode_scaled!(
    /// E4M3 times E8M0 in f32.
    Mxe4m3, E4M3, E8M0
);
decode_scaled!(
    /// E2M1 times E8M0 in f32.
    Mxe2m1, E2M1, E8M0
);
decode_scaled!(
    /// E2M1 times UE4M3 in f32.
    Nve2m1, E2M1, UE4M3
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a code from the fields of its format, in f64, without any of the tricks above.
    fn slow(format: Format, code: u32) -> f64 {
        let fields = format.floating().unwrap();
        let fraction_codes = 1_u32 << fields.fraction_bits;
        let fraction = f64::from(code % fraction_codes) / f64::from(fraction_codes);
        let exponent = code / fraction_codes % (1 << fields.exponent_bits);
        let sign = if code >> (format.bits() - 1) == 1 { -1.0 } else { 1.0 };
        let top = exponent == (1 << fields.exponent_bits) - 1;
        let magnitude = match fields.specials {
            rigel_numerics::format::Specials::Ieee if top && fraction == 0.0 => f64::INFINITY,
            rigel_numerics::format::Specials::Ieee if top => f64::NAN,
            rigel_numerics::format::Specials::AllOnesNan if top && code % fraction_codes == fraction_codes - 1 => {
                f64::NAN
            }
            _ if exponent == 0 => fraction * 2f64.powi(1 - fields.bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent as i32 - fields.bias),
        };
        sign * magnitude
    }

    fn agree(value: f32, expected: f64) -> bool {
        (value.is_nan() && expected.is_nan()) || f64::from(value).to_bits() == expected.to_bits()
    }

    #[test]
    fn every_code_of_16_bits_has_its_value() {
        for code in 0..=u16::MAX {
            assert!(agree(F16::decode((), code), slow(Format::F16, code.into())), "f16 {code:#06x}");
            assert!(agree(Bf16::decode((), code), slow(Format::Bf16, code.into())), "bf16 {code:#06x}");
        }
    }

    fn scaled<D: Decode<Code = u16, Packed = f32>>() {
        for code in 0..=u16::MAX {
            // Only what is beyond f32 is not exact.
            let expected = D::FORMAT.decode(code.into());
            let expected =
                if expected.abs() > f64::from(f32::MAX) { f64::INFINITY.copysign(expected) } else { expected };
            assert!(agree(D::decode(D::table(), code), expected), "{} {code:#06x}", D::FORMAT);
        }
    }

    #[test]
    fn every_block_scaled_code_has_its_value() {
        scaled::<Mxe4m3>();
        scaled::<Mxe2m1>();
        scaled::<Nve2m1>();
    }

    #[test]
    fn every_code_of_8_bits_has_its_value() {
        for code in 0..=u8::MAX {
            assert!(agree(E4m3::decode(E4m3::table(), code), slow(Format::E4m3, code.into())), "e4m3 {code:#04x}");
            assert!(agree(E5m2::decode(E5m2::table(), code), slow(Format::E5m2, code.into())), "e5m2 {code:#04x}");
            assert_eq!(i32::from(I8Offset::decode((), code as i8)), i32::from(code as i8) + 128);
        }
    }
}
