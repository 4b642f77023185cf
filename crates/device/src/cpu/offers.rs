//! Which type triples does each path offer, and what do the vendors' documents say of them?

use super::path::Path;
use crate::contract::{Advertised, Offer};
use rigel_numerics::{Format, Triple};

/// The reference that instructions are cited from. AMD's processors are held to it too, since they report the same feature
/// flags by CPUID.
pub(super) const REFERENCE: &str = "Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2";

const F64: Triple = Triple::new(Format::F64, Format::F64, Format::F64);
const F32: Triple = Triple::new(Format::F32, Format::F32, Format::F32);
const BF16: Triple = Triple::new(Format::Bf16, Format::Bf16, Format::F32);
const F16: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
const E4M3: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
const E5M2: Triple = Triple::new(Format::E5m2, Format::E5m2, Format::F32);
const MXE4M3: Triple = Triple::new(Format::Mxe4m3, Format::Mxe4m3, Format::F32);
const MXE2M1: Triple = Triple::new(Format::Mxe2m1, Format::Mxe2m1, Format::F32);
const NVE2M1: Triple = Triple::new(Format::Nve2m1, Format::Nve2m1, Format::F32);
const U8I8: Triple = Triple::new(Format::U8, Format::I8, Format::I32);
const I8I8: Triple = Triple::new(Format::I8, Format::I8, Format::I32);

/// The type triples of a path, in a stable order.
pub fn triples(path: Path) -> &'static [Triple] {
    match path {
        Path::Scalar | Path::Tiled | Path::Avx2Fma | Path::Avx512Fma => {
            &[F64, F32, BF16, F16, E4M3, E5M2, MXE4M3, MXE2M1, NVE2M1, U8I8, I8I8]
        }
        Path::Avx512Bf16 => &[BF16],
        Path::Avx512Vnni => &[U8I8, I8I8],
    }
}

/// Every (path, triple) of the device `cpu`, those that this processor lacks included.
pub fn offers(cores: usize) -> Vec<Offer> {
    let mut offers = Vec::new();
    for path in Path::ALL {
        let absent = path.absent();
        for &triple in triples(path) {
            offers.push(Offer {
                path: path.name().into(),
                triple,
                advertised: advertised(path, triple),
                absent: absent.clone(),
                rough_rate: rough_rate(path, triple) * cores as f64,
                stated: super::stated::stated(path, triple),
                has_ceiling: true,
                conversion: conversion(path, triple).into(),
            });
        }
    }
    offers
}

/// What the instruction reference says: only what one instruction multiplies is advertised.
fn advertised(path: Path, triple: Triple) -> Advertised {
    let yes = |instruction: &str| Advertised { yes: true, source: format!("{REFERENCE}, {instruction}") };
    let no = |reason: &str| Advertised { yes: false, source: format!("{REFERENCE}: {reason}") };
    if !cfg!(target_arch = "x86_64") && matches!(path, Path::Scalar | Path::Tiled) {
        return Advertised { yes: false, source: format!("Rigel cites no document for {}", std::env::consts::ARCH) };
    }
    let converted = "no instruction of this path multiplies this type; Rigel converts it exactly to f32 while packing";
    match (path, triple) {
        (Path::Scalar, F64) => yes("instructions MULSD and ADDSD, SSE2"),
        (Path::Scalar, F32) => yes("instructions MULSS and ADDSS, SSE"),
        (Path::Scalar, U8I8 | I8I8) => {
            no("instruction IMUL multiplies 8 bits into 16 only; Rigel widens to 32 bits while packing")
        }
        (Path::Tiled, F64) => yes("instructions MULPD and ADDPD, SSE2"),
        (Path::Tiled, F32) => yes("instructions MULPS and ADDPS, SSE"),
        (Path::Avx2Fma, F64) => yes("instruction VFMADD231PD with 256-bit operands, FMA"),
        (Path::Avx2Fma, F32) => yes("instruction VFMADD231PS with 256-bit operands, FMA"),
        (Path::Avx512Fma, F64) => yes("instruction VFMADD231PD with 512-bit operands, AVX512F"),
        (Path::Avx512Fma, F32) => yes("instruction VFMADD231PS with 512-bit operands, AVX512F"),
        (Path::Tiled | Path::Avx2Fma | Path::Avx512Fma, U8I8 | I8I8) => {
            no("instruction PMADDWD multiplies 16-bit integers; Rigel widens to 16 bits while packing")
        }
        (Path::Avx512Bf16, _) => yes("instruction VDPBF16PS, AVX512_BF16"),
        (Path::Avx512Vnni, U8I8) => yes("instruction VPDPBUSD, AVX512_VNNI"),
        (Path::Avx512Vnni, _) => no(
            "instruction VPDPBUSD takes an unsigned first operand; Rigel adds 128 to A and takes 128 times the column sums of B off again",
        ),
        (_, F16) => no(
            "instruction VCVTPH2PS converts f16 and this path multiplies none; Rigel converts it exactly to f32 while packing",
        ),
        (_, MXE4M3 | MXE2M1 | NVE2M1) => no(
            "no instruction of this path multiplies elements under scales; Rigel multiplies each element by its scale, exactly in f32, while packing",
        ),
        _ => no(converted),
    }
}

/// What packing does to the operands of a triple that no instruction of the path multiplies.
fn conversion(path: Path, triple: Triple) -> &'static str {
    match (path, triple) {
        (_, F64 | F32) | (Path::Avx512Bf16 | Path::Avx512Vnni, _) => "",
        (Path::Scalar, U8I8 | I8I8) => "widened to 32 bits while packing",
        (_, U8I8 | I8I8) => "widened to 16 bits while packing",
        (_, MXE4M3 | MXE2M1 | NVE2M1) => "element times scale in f32 while packing",
        _ => "converted to f32 while packing",
    }
}

/// Operations per second and core, to the order of magnitude: for estimates of duration, never reported.
fn rough_rate(path: Path, triple: Triple) -> f64 {
    let f32_rate = match path {
        Path::Scalar => 1e10,
        Path::Tiled => 3e10,
        Path::Avx2Fma | Path::Avx512Fma => 1e11,
        Path::Avx512Bf16 => 2e11,
        Path::Avx512Vnni => 4e11,
    };
    if triple == F64 { f32_rate / 2.0 } else { f32_rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_offered_once_and_carries_its_sources() {
        let all = offers(1);
        assert_eq!(all.len(), 47);
        for (i, offer) in all.iter().enumerate() {
            assert!(!offer.advertised.source.is_empty());
            assert!(all[..i].iter().all(|o| (&o.path, o.triple) != (&offer.path, offer.triple)));
        }
    }

    #[test]
    fn portable_paths_are_always_here() {
        assert!(offers(1).iter().filter(|o| o.path == "scalar" || o.path == "tiled").all(|o| o.absent.is_empty()));
    }
}
