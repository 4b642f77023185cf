//! How fast is a product without vectors: one multiplication and one addition per instruction pair?
//!
//! The accumulators are pinned to their registers after every step, so the compiler cannot combine
//! neighbouring elements into vectors; it compiles to `MULSS`, `ADDSS` and their kin, and the path answers for
//! a processor without a matrix or vector unit.

use super::kernel::Kernel;
use super::pin::{pin_f32, pin_f64, pin_i32};

macro_rules! scalar_kernel {
    ($(#[$doc:meta])* $name:ident, $type:ty, $rows:literal x $columns:literal, $pin:ident, |$x:ident, $y:ident, $sum:ident| $step:expr, $plus:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl Kernel for $name {
            type A = $type;
            type B = $type;
            type C = $type;
            const ROWS: usize = $rows;
            const COLUMNS: usize = $columns;
            const GROUP: usize = 1;

            unsafe fn multiply(groups: usize, a: *const $type, b: *const $type, c: *mut $type, stride: usize, first: bool) {
                let mut sums = [[<$type>::default(); $columns]; $rows];
                // SAFETY: the caller vouches for the panels and for the tile of C.
                unsafe {
                    for k in 0..groups {
                        let y: [$type; $columns] = std::array::from_fn(|j| *b.add(k * $columns + j));
                        for i in 0..$rows {
                            let $x = *a.add(k * $rows + i);
                            for j in 0..$columns {
                                let ($y, $sum) = (y[j], sums[i][j]);
                                sums[i][j] = $pin($step);
                            }
                        }
                    }
                    for i in 0..$rows {
                        for j in 0..$columns {
                            let to = c.add(i * stride + j);
                            *to = if first { sums[i][j] } else { $plus(*to, sums[i][j]) };
                        }
                    }
                }
            }
        }
    };
}

scalar_kernel!(
    /// f32, product and sum rounded each.
    ScalarF32, f32, 4 x 2, pin_f32, |x, y, sum| sum + x * y, |old: f32, new: f32| old + new
);
scalar_kernel!(
    /// f64, product and sum rounded each.
    ScalarF64, f64, 4 x 2, pin_f64, |x, y, sum| sum + x * y, |old: f64, new: f64| old + new
);
scalar_kernel!(
    /// i32, modulo 2^32.
    ScalarI32, i32, 2 x 3, pin_i32, |x, y, sum| sum.wrapping_add(x.wrapping_mul(y)), i32::wrapping_add
);
