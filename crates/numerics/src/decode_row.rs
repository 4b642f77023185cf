//! How are rows of codes decoded fast enough to feed a float64 product?
//!
//! Formats of up to 8 bits go through a table of at most 256 values, block-scaled ones through two, wider ones through shifts
//! that the compiler turns into vector code. Results are those of [`Format::decode`], element by element.

use crate::{Format, packing};
use std::sync::OnceLock;

/// Decodes the first `out.len()` elements of a packed row.
///
/// # Panics
/// When the row holds fewer elements than `out`.
pub fn decode_row(format: Format, row: &[u8], out: &mut [f64]) {
    decode_span(format, row, 0, out);
}

/// Decodes the absolute values of the first `out.len()` elements of a packed row.
///
/// # Panics
/// When the row holds fewer elements than `out`.
pub fn decode_row_abs(format: Format, row: &[u8], out: &mut [f64]) {
    decode_span(format, row, 0, out);
    out.iter_mut().for_each(|x| *x = x.abs());
}

/// Decodes columns `first` … `first + out.len() − 1` of a packed row: what a product that walks in panels needs.
///
/// # Panics
/// When the row holds fewer elements than that.
pub fn decode_span(format: Format, row: &[u8], first: usize, out: &mut [f64]) {
    let bits = format.bits() as usize;
    let end = (first + out.len()) * bits;
    assert!(end <= row.len() * 8, "columns {first}..{} do not lie in a row of {} bytes", first + out.len(), row.len());
    match bits {
        2 => return decode_sub_byte::<2>(format, row, first, out),
        4 => return decode_sub_byte::<4>(format, row, first, out),
        6 => return decode_sub_byte::<6>(format, row, first, out),
        _ => {}
    }
    let bytes = &row[first * bits / 8..end / 8];
    match format {
        Format::F64 => fill(bytes, out, |b| f64::from_le_bytes(*b)),
        Format::F32 => fill(bytes, out, |b| f64::from(f32::from_le_bytes(*b))),
        Format::Tf32 => fill(bytes, out, |b| f64::from(f32::from_bits(u32::from_le_bytes(*b) & !0x1FFF))),
        Format::I32 => fill(bytes, out, |b| f64::from(i32::from_le_bytes(*b))),
        Format::Bf16 => fill(bytes, out, |b| f64::from(f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16))),
        Format::F16 => fill(bytes, out, |b| decode_f16(u16::from_le_bytes(*b))),
        Format::I16 => fill(bytes, out, |b| f64::from(i16::from_le_bytes(*b))),
        Format::I8 => fill(bytes, out, |b: &[u8; 1]| f64::from(b[0] as i8)),
        Format::U8 => fill(bytes, out, |b: &[u8; 1]| f64::from(b[0])),
        _ => match format.scale_groups() {
            Some(groups) => {
                let (elements, scales) = (table(groups.element), table(groups.scale));
                fill(bytes, out, |b: &[u8; 2]| elements[b[0] as usize] * scales[b[1] as usize]);
            }
            None => {
                let table = table(format);
                fill(bytes, out, |b: &[u8; 1]| table[b[0] as usize]);
            }
        },
    }
}

#[inline]
fn fill<const N: usize>(bytes: &[u8], out: &mut [f64], decode: impl Fn(&[u8; N]) -> f64) {
    for (x, b) in out.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *x = decode(b);
    }
}

/// Without branches: subnormals as an integer times 2^−24, normals by moving the fields into f32.
#[inline]
fn decode_f16(code: u16) -> f64 {
    let code = u32::from(code);
    let (sign, magnitude) = ((code & 0x8000) << 16, code & 0x7FFF);
    let rebias = if magnitude >= 0x7C00 { (255 - 31) << 23 } else { (127 - 15) << 23 };
    let normal = f32::from_bits((magnitude << 13) + rebias);
    let subnormal = magnitude as i32 as f32 * f32::from_bits((127 - 24) << 23);
    let value = if magnitude < 0x0400 { subnormal } else { normal };
    f64::from(f32::from_bits(value.to_bits() | sign))
}

fn decode_sub_byte<const BITS: usize>(format: Format, row: &[u8], first: usize, out: &mut [f64]) {
    let table = table(format);
    // Three bytes hold a whole number of elements of 2, 4 and 6 bits.
    let group = 24 / BITS;
    let head = (first.next_multiple_of(group) - first).min(out.len());
    let (unaligned, aligned) = out.split_at_mut(head);
    for (i, x) in unaligned.iter_mut().enumerate() {
        *x = table[packing::get(format, row, first + i) as usize];
    }
    let bytes = row.get((first + head) * BITS / 8..).unwrap_or_default();
    for (values, bytes) in aligned.chunks_mut(group).zip(bytes.chunks(3)) {
        let packed = bytes.iter().rev().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte));
        for (j, x) in values.iter_mut().enumerate() {
            *x = table[(packed >> (j * BITS) & ((1 << BITS) - 1)) as usize];
        }
    }
}

/// The values of all codes of a format of at most 8 bits, in code order, padded to 256 by repetition.
fn table(format: Format) -> &'static [f64; 256] {
    static TABLES: [OnceLock<[f64; 256]>; Format::ALL.len()] = [const { OnceLock::new() }; Format::ALL.len()];
    TABLES[format as usize].get_or_init(|| std::array::from_fn(|code| format.decode(code as u64)))
}
