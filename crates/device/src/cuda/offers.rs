//! Which type triples does each path offer, and what do NVIDIA's documents say of them?

use super::path::Path;
use super::source;
use super::stated::{roughly, stated};
use super::target::Target;
use super::tile::tiles;
use super::{libraries, path::Declared};
use crate::contract::{Advertised, Offer};
use rigel_numerics::{Format, Triple};

const fn same(operand: Format, c: Format) -> Triple {
    Triple::new(operand, operand, c)
}

const F64: Triple = same(Format::F64, Format::F64);
const F32: Triple = same(Format::F32, Format::F32);
const TF32: Triple = same(Format::Tf32, Format::F32);
const F16: Triple = same(Format::F16, Format::F32);
const F16_IN_F16: Triple = same(Format::F16, Format::F16);
const BF16: Triple = same(Format::Bf16, Format::F32);
const E4M3: Triple = same(Format::E4m3, Format::F32);
const E5M2: Triple = same(Format::E5m2, Format::F32);
const I8: Triple = same(Format::I8, Format::I32);
const MXE4M3: Triple = same(Format::Mxe4m3, Format::F32);
const MXE2M1: Triple = same(Format::Mxe2m1, Format::F32);
const NVE2M1: Triple = same(Format::Nve2m1, Format::F32);

/// The type triples of a path, in a stable order.
pub fn triples(path: Path) -> &'static [Triple] {
    match path {
        Path::Scalar => &[F64, F32, F16, F16_IN_F16, BF16, E4M3, E5M2, I8],
        Path::Tiled => &[F64, F32, F16, F16_IN_F16, BF16, E4M3, E5M2, I8, MXE4M3, MXE2M1, NVE2M1],
        Path::MmaSync => &[F64, TF32, F16, F16_IN_F16, BF16, E4M3, E5M2, I8, MXE4M3, MXE2M1, NVE2M1],
        Path::Wgmma => &[TF32, F16, F16_IN_F16, BF16, E4M3, E5M2, I8, MXE4M3, MXE2M1, NVE2M1],
        Path::CublasLt => &[F64, F32, TF32, F16, F16_IN_F16, BF16, E4M3, E5M2, I8],
    }
}

/// Every (path, triple) of a device, those that it lacks included; `shared_bytes` is what a block may take of shared memory.
pub fn offers(target: Target, multiprocessors: u32, shared_bytes: usize) -> Vec<Offer> {
    let mut offers = Vec::new();
    for path in Path::ALL {
        for &triple in triples(path) {
            offers.push(Offer {
                path: path.name().into(),
                triple,
                advertised: advertised(path, triple),
                absent: absent(path, triple, target, shared_bytes).err().unwrap_or_default(),
                rough_rate: roughly(path, triple) * f64::from(multiprocessors) * 5e8 * share(path),
                stated: stated(target, path, triple),
                has_ceiling: path != Path::CublasLt,
                conversion: source::conversion(path, triple),
            });
        }
    }
    offers
}

/// The part of its rate that a product of a path reaches, for estimates of duration.
fn share(path: Path) -> f64 {
    match path {
        Path::Scalar => 0.1,
        Path::Tiled => 0.5,
        _ => 1.0,
    }
}

/// Why a path cannot be tried on this machine.
fn absent(path: Path, triple: Triple, target: Target, shared_bytes: usize) -> Result<(), String> {
    if path == Path::CublasLt {
        return libraries::cublaslt();
    }
    libraries::nvrtc()?;
    let tile = tiles(path, triple).last().ok_or("it has no launch tile")?;
    let declared: Declared = source::gemm(path, triple, *tile, shared_bytes, source::Finish::Plain)?.targets;
    declared.compiled_for(target).map(|_| ()).map_err(|why| format!("{path} for {triple}: {why}"))
}

const PTX: &str = "NVIDIA, PTX ISA 9.0";

/// What the documents say: only what one instruction multiplies is advertised, and what the library's table lists.
fn advertised(path: Path, triple: Triple) -> Advertised {
    let yes = |source: String| Advertised { yes: true, source };
    let no = |source: String| Advertised { yes: false, source };
    match (path, triple) {
        (_, MXE4M3 | MXE2M1 | NVE2M1) => no(format!(
            "{PTX}, sections on mma and tcgen05.mma: block scaling is for Blackwell's targets; up to sm_90 no instruction multiplies elements under scales"
        )),
        (Path::Scalar | Path::Tiled, F64 | F32) => yes(format!("{PTX}, instruction fma.rn.{}", triple.a)),
        (Path::Scalar | Path::Tiled, F16_IN_F16) => yes(format!("{PTX}, instruction fma.rn.f16")),
        (Path::Scalar | Path::Tiled, I8) => {
            no(format!("{PTX}: instruction mad multiplies integers of 16 bits and more; operands are widened"))
        }
        (Path::Scalar | Path::Tiled, _) => no(format!(
            "{PTX}: no instruction outside the tensor unit multiplies {} into f32; operands are converted",
            triple.a
        )),
        (Path::MmaSync, _) => match source::mma_sync(triple) {
            Ok(instruction) => yes(instruction.spec().source),
            Err(why) => no(format!("{PTX}, section on mma: {why}")),
        },
        (Path::Wgmma, _) => match source::wgmma(triple, 256) {
            Ok(instruction) => yes(format!("{PTX}, section on wgmma: {}", instruction.mnemonic())),
            Err(why) => no(format!("{PTX}, section on wgmma: {why}")),
        },
        (Path::CublasLt, E5M2) => {
            no("NVIDIA, cuBLAS 13.0, table of types of cublasLtMatmul: of 8-bit floats, e5m2 by e5m2 is not listed"
                .into())
        }
        (Path::CublasLt, _) => yes("NVIDIA, cuBLAS 13.0, table of types of cublasLtMatmul".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_offered_once_and_carries_its_sources() {
        let all = offers(Target(90), 132, 232_448);
        for (i, offer) in all.iter().enumerate() {
            assert!(!offer.advertised.source.is_empty());
            assert!(all[..i].iter().all(|o| (&o.path, o.triple) != (&offer.path, offer.triple)));
        }
        assert_eq!(all.len(), 49);
    }

    #[test]
    fn what_a_device_lacks_is_absent_with_the_reason() {
        if libraries::nvrtc().is_err() {
            let said = absent(Path::Scalar, F32, Target(90), 232_448).unwrap_err();
            assert!(said.contains("NVRTC") && said.contains("install"), "{said}");
            return;
        }
        assert_eq!(absent(Path::Wgmma, F16, Target(90), 232_448), Ok(()));
        assert!(absent(Path::Wgmma, F16, Target(80), 166_912).unwrap_err().contains("sm_90a alone"));
        assert!(absent(Path::Tiled, E4M3, Target(80), 166_912).unwrap_err().contains("sm_89 and later"));
    }
}
