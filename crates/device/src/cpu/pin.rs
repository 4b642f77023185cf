//! How is the compiler kept from seeing through a value that stays in its register?
//!
//! `std::hint::black_box` sends a value through memory. An empty inline assembly block that claims to change the
//! register costs no instruction: the value before and after are unrelated to the compiler, so it can neither
//! merge neighbouring scalars into a vector, nor hoist, nor fold.

macro_rules! pin {
    ($(#[$doc:meta])* $name:ident, $type:ty, $x86:ident $x86_text:literal, $arm:ident $arm_text:literal) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(value: $type) -> $type {
            #[cfg(target_arch = "x86_64")]
            {
                let mut value = value;
                // SAFETY: the block is empty; registers, memory and flags stay as they are.
                unsafe { std::arch::asm!($x86_text, inout($x86) value, options(nomem, nostack, preserves_flags)) };
                value
            }
            #[cfg(target_arch = "aarch64")]
            {
                let mut value = value;
                // SAFETY: the block is empty; registers, memory and flags stay as they are.
                unsafe { std::arch::asm!($arm_text, inout($arm) value, options(nomem, nostack, preserves_flags)) };
                value
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            std::hint::black_box(value)
        }
    };
}

pin!(
    /// An f32 in a floating-point register.
    pin_f32, f32, xmm_reg "/* {0} */", vreg "/* {0:s} */"
);
pin!(
    /// An f64 in a floating-point register.
    pin_f64, f64, xmm_reg "/* {0} */", vreg "/* {0:d} */"
);
pin!(
    /// An i32 in a general register.
    pin_i32, i32, reg "/* {0:e} */", reg "/* {0:w} */"
);

/// Eight i16 in a vector register, where the target has one of 128 bits.
#[inline(always)]
pub fn pin_i16x8(value: [i16; 8]) -> [i16; 8] {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        // SAFETY: both types are 128 bits in which every pattern is a value.
        let mut vector: std::arch::x86_64::__m128i = unsafe { std::mem::transmute(value) };
        // SAFETY: the block is empty; registers, memory and flags stay as they are.
        unsafe { std::arch::asm!("/* {0} */", inout(xmm_reg) vector, options(nomem, nostack, preserves_flags)) };
        // SAFETY: as above.
        unsafe { std::mem::transmute(vector) }
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    std::hint::black_box(value)
}
