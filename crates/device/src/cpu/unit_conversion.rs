//! Which conversions of single codes does this processor do, by instruction and in Rigel's own packing?
//!
//! Instructions take MXCSR as the process has it (subnormals kept) where they read it: `vcvtps2ph` names its rounding,
//! to nearest even, itself; `vcvtneps2bf16` neither reads nor writes MXCSR. The conversions called `packing …` are the
//! ones that the paths of this device apply to operands before they multiply.

use super::buffer::Plain;
use super::decode::{Bf16, Decode, E4m3, E5m2, F16};
use super::unit::present;
use crate::contract::{Absent, Fault};
use crate::unit::{Conversion, ConversionSpec};
use rigel_numerics::Format;

/// A conversion by one instruction, or by packing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    HalfToSingle,
    SingleToHalf,
    SingleToBf16,
    PackingF16,
    PackingBf16,
    PackingE4m3,
    PackingE5m2,
}

use How::*;

const ALL: [How; 7] = [HalfToSingle, SingleToHalf, SingleToBf16, PackingF16, PackingBf16, PackingE4m3, PackingE5m2];

impl How {
    fn spec(self) -> ConversionSpec {
        let instruction = |name: &str| format!("{}, instruction {name}", super::offers::REFERENCE);
        let packing = |how: &str| format!("Rigel's packing of operands: {how}");
        let (name, from, to, source) = match self {
            HalfToSingle => ("vcvtph2ps", Format::F16, Format::F32, instruction("VCVTPH2PS, on ymm registers")),
            SingleToHalf => {
                ("vcvtps2ph", Format::F32, Format::F16, instruction("VCVTPS2PH, on ymm registers, immediate 0"))
            }
            SingleToBf16 => {
                ("vcvtneps2bf16", Format::F32, Format::Bf16, instruction("VCVTNEPS2BF16, on zmm registers"))
            }
            PackingF16 => ("packing f16", Format::F16, Format::F32, packing("a shift and an exact product by 2^112")),
            PackingBf16 => ("packing bf16", Format::Bf16, Format::F32, packing("a shift by 16")),
            PackingE4m3 => ("packing e4m3", Format::E4m3, Format::F32, packing("a table of 256 values")),
            PackingE5m2 => ("packing e5m2", Format::E5m2, Format::F32, packing("a table of 256 values")),
        };
        ConversionSpec { name: name.into(), from, to, source }
    }

    fn absent(self) -> Result<(), Absent> {
        match self {
            HalfToSingle => present("vcvtph2ps", &["avx", "f16c"]),
            SingleToHalf => present("vcvtps2ph", &["avx", "f16c"]),
            SingleToBf16 => present("vcvtneps2bf16", &["avx512f", "avx512bf16"]),
            _ => Ok(()),
        }
    }
}

/// What the device declares of all its conversions, those that this processor lacks included: asking for one of these
/// gives the reason.
pub fn specs() -> Vec<ConversionSpec> {
    ALL.into_iter().map(How::spec).collect()
}

/// The conversion of a name.
///
/// # Errors
/// What is missing for it here, or which names there are.
pub fn conversion(name: &str) -> Result<Box<dyn Conversion>, Absent> {
    let Some(how) = ALL.into_iter().find(|how| how.spec().name == name) else {
        let known: Vec<String> = specs().into_iter().map(|spec| spec.name).collect();
        return Err(Absent(format!("device cpu has no conversion `{name}`; it has {}", known.join(", "))));
    };
    how.absent()?;
    Ok(Box::new(CpuConversion { how, spec: how.spec() }))
}

/// A conversion that this processor has.
struct CpuConversion {
    how: How,
    spec: ConversionSpec,
}

impl Conversion for CpuConversion {
    fn spec(&self) -> &ConversionSpec {
        &self.spec
    }

    fn convert(&mut self, codes: &[u64]) -> Result<Vec<u64>, Fault> {
        Ok(match self.how {
            PackingF16 => packed::<F16>(codes, |code| code as u16),
            PackingBf16 => packed::<Bf16>(codes, |code| code as u16),
            PackingE4m3 => packed::<E4m3>(codes, |code| code as u8),
            PackingE5m2 => packed::<E5m2>(codes, |code| code as u8),
            by_instruction => instructed(by_instruction, codes)?,
        })
    }
}

/// Codes converted as packing converts them to f32.
fn packed<D: Decode<Packed = f32>>(codes: &[u64], narrow: impl Fn(u64) -> D::Code) -> Vec<u64>
where
    D::Code: Plain,
{
    let table = D::table();
    codes.iter().map(|&code| u64::from(D::decode(table, narrow(code)).to_bits())).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn instructed(_: How, _: &[u64]) -> Result<Vec<u64>, Fault> {
    Err(Fault::Failed("this conversion needs an x86-64 processor".into()))
}

/// Codes converted by an instruction, a register at a time; the last one is filled up with zeros.
#[cfg(target_arch = "x86_64")]
fn instructed(how: How, codes: &[u64]) -> Result<Vec<u64>, Fault> {
    let mut converted = Vec::with_capacity(codes.len());
    for group in codes.chunks(16) {
        let code = |i: usize| group.get(i).copied().unwrap_or(0);
        let halves: [u16; 16] = std::array::from_fn(|i| code(i) as u16);
        let singles: [u32; 16] = std::array::from_fn(|i| code(i) as u32);
        // SAFETY: `conversion`, which alone makes users of this, found the features.
        let out: [u64; 16] = unsafe {
            match how {
                HalfToSingle => kernels::half_to_single(&halves).map(u64::from),
                SingleToHalf => kernels::single_to_half(&singles).map(u64::from),
                _ => kernels::single_to_bf16(&singles).map(u64::from),
            }
        };
        converted.extend_from_slice(&out[..group.len()]);
    }
    Ok(converted)
}

#[cfg(target_arch = "x86_64")]
mod kernels {
    use std::arch::asm;

    /// # Safety
    /// The processor has AVX and F16C.
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn half_to_single(from: &[u16; 16]) -> [u32; 16] {
        let mut to = [0; 16];
        for half in [0, 8] {
            // SAFETY: 16 bytes are read and 32 written from element 0 or 8 of 16; the register is declared.
            unsafe {
                asm!(
                    "vmovups {v:x}, [{from}]", "vcvtph2ps {v:y}, {v:x}", "vmovups [{to}], {v:y}",
                    from = in(reg) from.as_ptr().add(half), to = in(reg) to.as_mut_ptr().add(half),
                    v = out(ymm_reg) _, options(nostack)
                );
            }
        }
        to
    }

    /// # Safety
    /// The processor has AVX and F16C.
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn single_to_half(from: &[u32; 16]) -> [u16; 16] {
        let mut to = [0; 16];
        for half in [0, 8] {
            // SAFETY: 32 bytes are read and 16 written from element 0 or 8 of 16; the register is declared.
            unsafe {
                asm!(
                    "vmovups {v:y}, [{from}]", "vcvtps2ph {v:x}, {v:y}, 0", "vmovups [{to}], {v:x}",
                    from = in(reg) from.as_ptr().add(half), to = in(reg) to.as_mut_ptr().add(half),
                    v = out(ymm_reg) _, options(nostack)
                );
            }
        }
        to
    }

    /// # Safety
    /// The processor has AVX512F and AVX512_BF16.
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub unsafe fn single_to_bf16(from: &[u32; 16]) -> [u16; 16] {
        let mut to = [0; 16];
        // SAFETY: 64 bytes are read and 32 written; the register is declared.
        unsafe {
            asm!(
                "vmovups {v:z}, [{from}]", "vcvtneps2bf16 {v:y}, {v:z}", "vmovups [{to}], {v:y}",
                from = in(reg) from.as_ptr(), to = in(reg) to.as_mut_ptr(), v = out(zmm_reg) _, options(nostack)
            );
        }
        to
    }
}
