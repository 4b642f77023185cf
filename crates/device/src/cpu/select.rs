//! Which kernel, conversions and ceiling loop stand behind a path and a type triple?

use super::blocking::Blocking;
use super::decode::{self, Decode};
use super::gemm::CpuGemm;
use super::kernel::Kernel;
use super::kernel_scalar::{ScalarF32, ScalarF64, ScalarI32};
use super::kernel_tiled::{TiledF32, TiledF64, TiledI16};
use super::path::Path;
use super::pool::Pool;
use crate::contract::{Epilogue, Gemm};
use rigel_numerics::placement::Placement;
use rigel_numerics::{Format, Shape, Triple};
use std::rc::Rc;

/// What every product of this device shares.
pub struct Setting {
    /// Extents.
    pub shape: Shape,
    /// Launch tile.
    pub blocking: Blocking,
    /// The device's threads.
    pub pool: Rc<Pool>,
    /// Bytes of the last-level cache.
    pub last_level_cache: usize,
    /// What follows the product; outputs are f32 then.
    pub epilogue: Option<Epilogue>,
    /// Where the operands lie, where that is asked: rows a whole number of codes apart.
    pub placement: Option<Placement>,
}

impl Setting {
    /// # Safety
    /// The processor has the features of the kernel's path.
    unsafe fn product<K: Kernel, A: Decode<Packed = K::A>, B: Decode<Packed = K::B>>(self, c: Format) -> Box<dyn Gemm> {
        // SAFETY: the same condition.
        unsafe {
            Box::new(CpuGemm::<K, A, B>::new(
                self.shape,
                self.blocking,
                c,
                self.epilogue,
                self.placement,
                self.pool,
                self.last_level_cache,
            ))
        }
    }

    /// A product with f32 accumulators, its operands converted to f32 while they are packed.
    ///
    /// # Safety
    /// The processor has the features of the kernel's path.
    unsafe fn floats<K: Kernel<A = f32, B = f32>>(self, operands: Format) -> Option<Box<dyn Gemm>> {
        use decode::{Bf16, E4m3, E5m2, F16, F32, Mxe2m1, Mxe4m3, Nve2m1};
        // SAFETY: the same condition.
        unsafe {
            Some(match operands {
                Format::F32 => self.product::<K, F32, F32>(Format::F32),
                Format::Bf16 => self.product::<K, Bf16, Bf16>(Format::F32),
                Format::F16 => self.product::<K, F16, F16>(Format::F32),
                Format::E4m3 => self.product::<K, E4m3, E4m3>(Format::F32),
                Format::E5m2 => self.product::<K, E5m2, E5m2>(Format::F32),
                Format::Mxe4m3 => self.product::<K, Mxe4m3, Mxe4m3>(Format::F32),
                Format::Mxe2m1 => self.product::<K, Mxe2m1, Mxe2m1>(Format::F32),
                Format::Nve2m1 => self.product::<K, Nve2m1, Nve2m1>(Format::F32),
                _ => return None,
            })
        }
    }

    /// A product with i32 accumulators, its operands decoded by `U` (A of u8), `I` (A of i8) and `B`.
    ///
    /// # Safety
    /// The processor has the features of the kernel's path.
    unsafe fn integers<K, U, I, B>(self, a: Format) -> Option<Box<dyn Gemm>>
    where
        K: Kernel,
        U: Decode<Packed = K::A>,
        I: Decode<Packed = K::A>,
        B: Decode<Packed = K::B>,
    {
        // SAFETY: the same condition.
        unsafe {
            match a {
                Format::U8 => Some(self.product::<K, U, B>(Format::I32)),
                Format::I8 => Some(self.product::<K, I, B>(Format::I32)),
                _ => None,
            }
        }
    }

    /// The product behind a path and an offered triple; `None` for any other.
    ///
    /// # Safety
    /// The processor has the features of the path.
    pub unsafe fn gemm(self, path: Path, triple: Triple) -> Option<Box<dyn Gemm>> {
        use decode::{F64, I8Half, I8Wide, U8Half, U8Wide};
        let Triple { a, c, .. } = triple;
        // SAFETY: the same condition.
        unsafe {
            match (path, c) {
                (Path::Scalar, Format::F64) => Some(self.product::<ScalarF64, F64, F64>(c)),
                (Path::Scalar, Format::F32) => self.floats::<ScalarF32>(a),
                (Path::Scalar, _) => self.integers::<ScalarI32, U8Wide, I8Wide, I8Wide>(a),
                (Path::Tiled, Format::F64) => Some(self.product::<TiledF64, F64, F64>(c)),
                (Path::Tiled, Format::F32) => self.floats::<TiledF32>(a),
                (Path::Tiled, _) => self.integers::<TiledI16, U8Half, I8Half, I8Half>(a),
                #[cfg(target_arch = "x86_64")]
                _ => self.vectors(path, triple),
                #[cfg(not(target_arch = "x86_64"))]
                _ => None,
            }
        }
    }

    /// The products of the paths that only x86-64 has.
    ///
    /// # Safety
    /// The processor has the features of the path.
    #[cfg(target_arch = "x86_64")]
    unsafe fn vectors(self, path: Path, triple: Triple) -> Option<Box<dyn Gemm>> {
        use super::{kernel_avx2::*, kernel_avx512::*, kernel_bf16::Avx512Bf16, kernel_vnni::*};
        use decode::{Bf16Code, F64, I8Code, I8Half, I8Offset, U8Code, U8Half};
        let Triple { a, c, .. } = triple;
        // SAFETY: the same condition.
        unsafe {
            match (path, c) {
                (Path::Avx2Fma, Format::F64) => Some(self.product::<Avx2F64, F64, F64>(c)),
                (Path::Avx2Fma, Format::F32) => self.floats::<Avx2F32>(a),
                (Path::Avx2Fma, _) => self.integers::<Avx2I16, U8Half, I8Half, I8Half>(a),
                (Path::Avx512Fma, Format::F64) => Some(self.product::<Avx512F64, F64, F64>(c)),
                (Path::Avx512Fma, Format::F32) => self.floats::<Avx512F32>(a),
                (Path::Avx512Fma, _) => self.integers::<Avx512I16, U8Half, I8Half, I8Half>(a),
                (Path::Avx512Bf16, _) => Some(self.product::<Avx512Bf16, Bf16Code, Bf16Code>(c)),
                (Path::Avx512Vnni, _) if a == Format::U8 => Some(self.product::<VnniU8, U8Code, I8Code>(c)),
                (Path::Avx512Vnni, _) => Some(self.product::<VnniI8, I8Offset, I8Code>(c)),
                _ => None,
            }
        }
    }
}
