//! How is one instruction executed, and nothing else?
//!
//! Each is written in assembly by name, since a compiler may choose another of its forms, and the forms differ in which
//! NaN comes out. No option promises more of an assembly block than is true: it reads and writes memory, and the flags
//! of MXCSR change.

use super::unit::Instruction;
use std::arch::asm;

macro_rules! instruction {
    ($(#[$doc:meta])* $name:ident, $features:literal, $register:ident, $bytes:literal, $load:literal,
     [$($step:literal),+]) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The processor has the features.
        #[target_feature(enable = $features)]
        unsafe fn $name(a: &[u8; $bytes], b: &[u8; $bytes], c: &mut [u8; $bytes]) {
            // SAFETY: every access is to the whole of an array of a register's length; the registers are declared.
            unsafe {
                asm!(
                    concat!($load, " {x}, [{a}]"),
                    concat!($load, " {y}, [{b}]"),
                    concat!($load, " {z}, [{c}]"),
                    $($step,)+
                    concat!($load, " [{c}], {z}"),
                    a = in(reg) a.as_ptr(), b = in(reg) b.as_ptr(), c = in(reg) c.as_mut_ptr(),
                    x = out($register) _, y = out($register) _, z = out($register) _,
                    options(nostack)
                );
            }
        }
    };
}

instruction!(
    /// c + round(a · b), SSE.
    mulps_addps, "sse2", xmm_reg, 16, "movups", ["mulps {x}, {y}", "addps {z}, {x}"]
);
instruction!(
    /// c + round(a · b), SSE2.
    mulpd_addpd, "sse2", xmm_reg, 16, "movups", ["mulpd {x}, {y}", "addpd {z}, {x}"]
);
instruction!(
    /// Fused, 8 × f32.
    vfmadd231ps, "avx,fma", ymm_reg, 32, "vmovups", ["vfmadd231ps {z}, {x}, {y}"]
);
instruction!(
    /// Fused, 4 × f64.
    vfmadd231pd, "avx,fma", ymm_reg, 32, "vmovups", ["vfmadd231pd {z}, {x}, {y}"]
);
instruction!(
    /// Fused, 16 × f32.
    vfmadd231ps_zmm, "avx512f", zmm_reg, 64, "vmovups", ["vfmadd231ps {z}, {x}, {y}"]
);
instruction!(
    /// Fused, 8 × f64.
    vfmadd231pd_zmm, "avx512f", zmm_reg, 64, "vmovups", ["vfmadd231pd {z}, {x}, {y}"]
);
instruction!(
    /// Pairs of bf16.
    vdpbf16ps, "avx512f,avx512bf16", zmm_reg, 64, "vmovups", ["vdpbf16ps {z}, {x}, {y}"]
);
instruction!(
    /// Groups of four bytes; the first source is the unsigned one.
    vpdpbusd, "avx512f,avx512vnni", zmm_reg, 64, "vmovups", ["vpdpbusd {z}, {x}, {y}"]
);
instruction!(
    /// The same, saturating.
    vpdpbusds, "avx512f,avx512vnni", zmm_reg, 64, "vmovups", ["vpdpbusds {z}, {x}, {y}"]
);
instruction!(
    /// Pairs of 16-bit integers.
    vpdpwssd, "avx512f,avx512vnni", zmm_reg, 64, "vmovups", ["vpdpwssd {z}, {x}, {y}"]
);
instruction!(
    /// The same, saturating.
    vpdpwssds, "avx512f,avx512vnni", zmm_reg, 64, "vmovups", ["vpdpwssds {z}, {x}, {y}"]
);

/// Executes an instruction on registers that follow each other, as many as there are of all three; `c` becomes D.
///
/// # Safety
/// The processor has [`Instruction::needs`].
pub unsafe fn execute(instruction: Instruction, a: &[u8], b: &[u8], c: &mut [u8]) {
    macro_rules! each {
        ($kernel:ident) => {{
            let (a, _) = a.as_chunks();
            let (b, _) = b.as_chunks();
            let (c, _) = c.as_chunks_mut();
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                // SAFETY: the caller vouches for the features.
                unsafe { $kernel(a, b, c) };
            }
        }};
    }
    match instruction {
        Instruction::MulAddF32 => each!(mulps_addps),
        Instruction::MulAddF64 => each!(mulpd_addpd),
        Instruction::FmaF32 => each!(vfmadd231ps),
        Instruction::FmaF64 => each!(vfmadd231pd),
        Instruction::WideFmaF32 => each!(vfmadd231ps_zmm),
        Instruction::WideFmaF64 => each!(vfmadd231pd_zmm),
        Instruction::DotBf16 => each!(vdpbf16ps),
        Instruction::DotU8I8 => each!(vpdpbusd),
        Instruction::DotU8I8Saturating => each!(vpdpbusds),
        Instruction::DotI16 => each!(vpdpwssd),
        Instruction::DotI16Saturating => each!(vpdpwssds),
    }
}
