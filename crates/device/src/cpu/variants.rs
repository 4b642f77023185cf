//! Which variants does a ceiling loop have, and which loop is behind each?

use super::ceiling::{CpuCeiling, Lane, Loop};
use super::ceiling_portable as portable;
use super::path::Path;
use super::pool::Pool;
use crate::contract::Ceiling;
use rigel_numerics::{Format, Triple};
use std::fmt;
use std::rc::Rc;

/// Independent chains × threads, written `ilp8x2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Independent accumulator registers.
    pub chains: usize,
    /// Threads.
    pub threads: usize,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ilp{}x{}", self.chains, self.threads)
    }
}

/// Every number of chains, fewest first, on all threads: a core runs one thread, so chains are all there is to vary.
pub fn variants(path: Path, triple: Triple, threads: usize) -> impl Iterator<Item = Variant> {
    chains(path, triple).iter().map(move |&chains| Variant { chains, threads })
}

fn chains(path: Path, triple: Triple) -> &'static [usize] {
    match (path, triple.is_integer()) {
        (Path::Scalar, true) => &portable::SCALAR_INTEGER_CHAINS,
        (Path::Tiled, true) => &portable::TILED_INTEGER_CHAINS,
        (Path::Scalar | Path::Tiled, _) => &portable::CHAINS,
        #[cfg(target_arch = "x86_64")]
        (Path::Avx2Fma, true) => &super::ceiling_avx2::INTEGER_CHAINS,
        #[cfg(target_arch = "x86_64")]
        (Path::Avx2Fma, _) => &super::ceiling_avx2::CHAINS,
        #[cfg(target_arch = "x86_64")]
        _ => &super::ceiling_avx512::CHAINS,
        #[cfg(not(target_arch = "x86_64"))]
        _ => &[],
    }
}

/// The loop of a variant. A triple whose operands are converted while they are packed has the loop of the
/// type they are converted to: that is the unit it meets.
///
/// # Safety
/// The processor has the features of the path.
pub unsafe fn ceiling(path: Path, triple: Triple, variant: Variant, pool: &Rc<Pool>) -> Option<Box<dyn Ceiling>> {
    // SAFETY: the same condition.
    unsafe {
        match triple.c {
            Format::F64 => on_threads(f64_loop(path, variant.chains)?, variant, pool),
            Format::F32 => on_threads(f32_loop(path, variant.chains)?, variant, pool),
            _ => on_threads(i32_loop(path, variant.chains)?, variant, pool),
        }
    }
}

/// # Safety
/// The processor has the features of the loop's path.
unsafe fn on_threads<T: Lane>(body: Loop<T>, variant: Variant, pool: &Rc<Pool>) -> Option<Box<dyn Ceiling>> {
    // SAFETY: the same condition.
    Some(unsafe { Box::new(CpuCeiling::new(body, variant.threads, Rc::clone(pool))) })
}

fn f64_loop(path: Path, chains: usize) -> Option<Loop<f64>> {
    match path {
        Path::Scalar => portable::scalar_f64(chains),
        Path::Tiled => portable::tiled_f64(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2Fma => super::ceiling_avx2::fma_f64(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Fma => super::ceiling_avx512::fma_f64(chains),
        _ => None,
    }
}

fn f32_loop(path: Path, chains: usize) -> Option<Loop<f32>> {
    match path {
        Path::Scalar => portable::scalar_f32(chains),
        Path::Tiled => portable::tiled_f32(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2Fma => super::ceiling_avx2::fma_f32(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Fma => super::ceiling_avx512::fma_f32(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Bf16 => super::ceiling_avx512::dot_bf16(chains),
        _ => None,
    }
}

fn i32_loop(path: Path, chains: usize) -> Option<Loop<i32>> {
    match path {
        Path::Scalar => portable::scalar_i32(chains),
        Path::Tiled => portable::tiled_i32(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2Fma => super::ceiling_avx2::madd_i16(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Fma => super::ceiling_avx512::madd_i16(chains),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512Vnni => super::ceiling_avx512::dot_u8i8(chains),
        _ => None,
    }
}
