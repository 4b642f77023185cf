//! How many operations per core and cycle does the vendor state for a path?

use super::detect::{Identity, identity};
use super::path::Path;
use crate::contract::Stated;
use rigel_numerics::{Format, Triple};

/// The stated limit of a path and triple on this processor; `None` where Rigel cites no document for it.
pub fn stated(path: Path, triple: Triple) -> Option<Stated> {
    identity().and_then(|who| stated_for(&who, path, triple))
}

/// Zen 4 by family and model: Genoa, Storm Peak, Bergamo (19h, 10h–1Fh and A0h–AFh) and the client chips (60h–7Fh).
fn is_zen4(who: &Identity) -> bool {
    who.vendor == "AuthenticAMD" && who.family == 0x19 && matches!(who.model, 0x10..=0x1F | 0x60..=0x7F | 0xA0..=0xAF)
}

/// A fused multiply–add, and a multiplication with its addition, count as two operations. The guide was not at hand when this
/// was written: published descriptions and measurements of the core agree with it, and the source says what was not checked.
fn stated_for(who: &Identity, path: Path, triple: Triple) -> Option<Stated> {
    if !is_zen4(who) {
        return None;
    }
    let lanes_of_256_bits = if triple.c == Format::F64 { 4.0 } else { 8.0 };
    let (operations, reason) = match (path, triple.is_integer()) {
        (Path::Scalar, false) => (2.0 * 2.0, "two multiplication and two addition pipes, one element each"),
        (Path::Tiled, false) if cfg!(all(target_arch = "x86_64", not(target_feature = "avx"))) => {
            (2.0 * 2.0 * lanes_of_256_bits / 2.0, "two multiplication and two addition pipes, 128-bit operands")
        }
        (Path::Avx2Fma, false) => (2.0 * 2.0 * lanes_of_256_bits, "two 256-bit fused multiply-add pipes"),
        (Path::Avx512Fma, false) => (
            2.0 * 2.0 * lanes_of_256_bits,
            "two 256-bit fused multiply-add pipes; 512-bit operands take both halves in turn",
        ),
        _ => return None,
    };
    let source = format!(
        "AMD, Software Optimization Guide for the AMD Zen4 Microarchitecture (publication 57647; section not checked): {reason}"
    );
    Some(Stated { operations_per_cycle_per_core: operations, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(family: u32, model: u32, path: Path, format: Format) -> Option<f64> {
        let who = Identity { vendor: "AuthenticAMD".into(), family, model, stepping: 1, name: String::new() };
        stated_for(&who, path, Triple::new(format, format, format)).map(|s| s.operations_per_cycle_per_core)
    }

    #[test]
    fn zen4_states_two_fma_pipes_of_256_bits() {
        for path in [Path::Avx2Fma, Path::Avx512Fma] {
            assert_eq!(limit(0x19, 0x11, path, Format::F32), Some(32.0));
            assert_eq!(limit(0x19, 0x61, path, Format::F64), Some(16.0));
        }
    }

    #[test]
    fn other_processors_state_nothing_here() {
        assert_eq!(limit(0x19, 0x21, Path::Avx2Fma, Format::F32), None, "Zen 3");
        assert_eq!(limit(0x1A, 0x11, Path::Avx512Fma, Format::F32), None, "Zen 5");
    }
}
