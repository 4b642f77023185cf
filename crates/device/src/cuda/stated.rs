//! How many operations a multiprocessor and cycle does NVIDIA state for a path?

use super::path::Path;
use super::source::multiplied;
use super::target::Target;
use crate::contract::Stated;
use rigel_numerics::{Format, Triple};

/// The stated limit of a path and triple on a device of this target; `None` where Rigel cites no document for it.
///
/// Sources are tables of peak rates at a stated clock, divided by multiprocessors and clock; rates of tensor instructions are stated
/// for the device, not for one of its instructions, so `mma.sync` and `wgmma` share them. Operands that are converted first have the
/// limit of what they become.
pub fn stated(target: Target, path: Path, triple: Triple) -> Option<Stated> {
    let triple = multiplied(triple);
    let (per_cycle, source) = match target {
        Target(90) => (
            hopper(path, triple)?,
            "NVIDIA H100 Tensor Core GPU Architecture, table of peak rates of the SXM5 form, dense, over 132 multiprocessors and \
             1.830 GHz (f64 and rates without tensor instructions: 1.980 GHz); the H200 has the same multiprocessors",
        ),
        Target(80) => (
            ampere(path, triple)?,
            "NVIDIA A100 Tensor Core GPU Architecture, table of peak rates, dense, over 108 multiprocessors and 1.410 GHz",
        ),
        _ => return None,
    };
    Some(Stated { operations_per_cycle_per_core: per_cycle, source: source.into() })
}

fn hopper(path: Path, triple: Triple) -> Option<f64> {
    if matches!(path, Path::Scalar | Path::Tiled) {
        return without_tensor_instructions(triple);
    }
    match triple.a {
        Format::F64 => Some(256.0),
        Format::Tf32 => Some(2048.0),
        Format::F16 | Format::Bf16 => Some(4096.0),
        Format::E4m3 | Format::E5m2 | Format::I8 => Some(8192.0),
        _ => None,
    }
}

fn ampere(path: Path, triple: Triple) -> Option<f64> {
    if matches!(path, Path::Scalar | Path::Tiled) {
        return without_tensor_instructions(triple).map(|rate| rate / 2.0);
    }
    match triple.a {
        Format::F64 => Some(128.0),
        Format::Tf32 => Some(1024.0),
        Format::F16 | Format::Bf16 => Some(2048.0),
        Format::I8 => Some(4096.0),
        _ => None,
    }
}

/// Rates of Hopper without tensor instructions; a multiplication with its addition counts as two.
fn without_tensor_instructions(triple: Triple) -> Option<f64> {
    match (triple.a, triple.c) {
        (Format::F64, _) => Some(128.0),
        (Format::F16, Format::F16) => Some(512.0),
        (Format::I8, _) => None,
        _ => Some(256.0),
    }
}

/// Operations a multiprocessor and cycle to the order of magnitude, for durations of loops and estimates; never reported.
pub fn roughly(path: Path, triple: Triple) -> f64 {
    let triple = multiplied(triple);
    let tensor = hopper(Path::Wgmma, triple).unwrap_or(256.0);
    match path {
        Path::Scalar | Path::Tiled => without_tensor_instructions(triple).unwrap_or(128.0),
        // 8-bit floats go through f16 where there is no instruction of their own.
        Path::MmaSync if matches!(triple.a, Format::E4m3 | Format::E5m2) => tensor / 4.0,
        Path::MmaSync if triple.a != Format::F64 => tensor / 2.0,
        _ => tensor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hopper_states_the_published_peak() {
        let half = Triple::new(Format::F16, Format::F16, Format::F32);
        let limit = stated(Target(90), Path::Wgmma, half).unwrap();
        let peak = limit.operations_per_cycle_per_core * 132.0 * 1.830e9;
        assert!((peak / 989.4e12 - 1.0).abs() < 1e-3, "{peak}");
        assert!(stated(Target(120), Path::MmaSync, half).is_none());
        assert!(limit.source.contains("1.830 GHz"));
    }
}
