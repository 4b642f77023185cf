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

macro_rules! pin_vector {
    ($(#[$doc:meta])* $name:ident, $type:ty, $x86:ident, $arm:ident) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(value: $type) -> $type {
            #[cfg(target_arch = "x86_64")]
            {
                // SAFETY: both types are 128 bits in which every pattern is a value.
                let mut vector = unsafe { std::mem::transmute::<$type, std::arch::x86_64::$x86>(value) };
                // SAFETY: the block is empty; registers, memory and flags stay as they are.
                unsafe { std::arch::asm!("/* {0} */", inout(xmm_reg) vector, options(nomem, nostack, preserves_flags)) };
                // SAFETY: as above.
                unsafe { std::mem::transmute::<std::arch::x86_64::$x86, $type>(vector) }
            }
            #[cfg(target_arch = "aarch64")]
            {
                // SAFETY: both types are 128 bits in which every pattern is a value.
                let mut vector = unsafe { std::mem::transmute::<$type, std::arch::aarch64::$arm>(value) };
                // SAFETY: the block is empty; registers, memory and flags stay as they are.
                unsafe { std::arch::asm!("/* {0:v} */", inout(vreg) vector, options(nomem, nostack, preserves_flags)) };
                // SAFETY: as above.
                unsafe { std::mem::transmute::<std::arch::aarch64::$arm, $type>(vector) }
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            std::hint::black_box(value)
        }
    };
}

pin_vector!(
    /// Four f32 in a vector register.
    pin_f32x4, [f32; 4], __m128, float32x4_t
);
pin_vector!(
    /// Two f64 in a vector register.
    pin_f64x2, [f64; 2], __m128d, float64x2_t
);
pin_vector!(
    /// Eight i16 in a vector register.
    pin_i16x8, [i16; 8], __m128i, int16x8_t
);
