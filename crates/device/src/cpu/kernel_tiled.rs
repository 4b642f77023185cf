//! How fast is plain, blocked Rust that the compiler vectorises for the target it was told to build for?
//!
//! Products and sums are rounded each: Rust never fuses them on its own. Without compiler flags the target
//! is the oldest x86-64, so vectors are 128 bits wide.

use super::kernel::{Kernel, Output};

macro_rules! tiled_kernel {
    ($(#[$doc:meta])* $name:ident, $operand:ty => $sum:ty, $rows:literal x $columns:literal by $group:literal, |$x:ident, $y:ident, $acc:ident| $step:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl Kernel for $name {
            type A = $operand;
            type B = $operand;
            type C = $sum;
            const ROWS: usize = $rows;
            const COLUMNS: usize = $columns;
            const GROUP: usize = $group;

            unsafe fn multiply(groups: usize, a: *const $operand, b: *const $operand, c: *mut $sum, stride: usize, first: bool) {
                let mut sums = [[<$sum>::default(); $columns]; $rows];
                // SAFETY: the caller vouches for the panels, and arrays of numbers have their elements' alignment.
                let (a, b) = unsafe {
                    (
                        std::slice::from_raw_parts(a.cast::<[[$operand; $group]; $rows]>(), groups),
                        std::slice::from_raw_parts(b.cast::<[[$operand; $group]; $columns]>(), groups),
                    )
                };
                for (a, b) in a.iter().zip(b) {
                    for i in 0..$rows {
                        let $x = a[i];
                        for j in 0..$columns {
                            let ($y, $acc) = (b[j], sums[i][j]);
                            sums[i][j] = $step;
                        }
                    }
                }
                for i in 0..$rows {
                    // SAFETY: the caller vouches for the tile of C, which no other thread touches.
                    let row = unsafe { &mut *c.add(i * stride).cast::<[$sum; $columns]>() };
                    for j in 0..$columns {
                        row[j] = if first { sums[i][j] } else { row[j].plus(sums[i][j]) };
                    }
                }
            }
        }
    };
}

tiled_kernel!(
    /// f32.
    TiledF32, f32 => f32, 4 x 8 by 1, |x, y, sum| sum + x[0] * y[0]
);
tiled_kernel!(
    /// f64.
    TiledF64, f64 => f64, 4 x 4 by 1, |x, y, sum| sum + x[0] * y[0]
);
tiled_kernel!(
    /// 8-bit integers, widened to 16 bits while packed: a product of two of them still fits there
    /// (255 · −128 ≥ −2^15), so it is computed in 16 bits and widened to be summed.
    TiledI16, i16 => i32, 2 x 16 by 1, |x, y, sum| sum.wrapping_add(i32::from(x[0].wrapping_mul(y[0])))
);
