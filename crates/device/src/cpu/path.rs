//! Which paths does a CPU have, and what must the processor offer for each?

use std::{fmt, str::FromStr};

/// A way to multiply matrices on this processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// One element per instruction: a multiplication, then an addition, each rounded.
    Scalar,
    /// Portable, blocked Rust that the compiler vectorises for the target it builds for.
    Tiled,
    /// 256-bit vectors with fused multiply–add (integers: `VPMADDWD` on operands widened to 16 bits).
    Avx2Fma,
    /// 512-bit vectors with fused multiply–add (integers: `VPMADDWD` on operands widened to 16 bits).
    Avx512Fma,
    /// `VDPBF16PS`: two bf16 products per f32 lane.
    Avx512Bf16,
    /// `VPDPBUSD`: four u8·i8 products per i32 lane.
    Avx512Vnni,
}

impl Path {
    /// Every path, the dullest first.
    pub const ALL: [Path; 6] =
        [Path::Scalar, Path::Tiled, Path::Avx2Fma, Path::Avx512Fma, Path::Avx512Bf16, Path::Avx512Vnni];

    /// The stable name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Scalar => "scalar",
            Path::Tiled => "tiled",
            Path::Avx2Fma => "avx2-fma",
            Path::Avx512Fma => "avx512-fma",
            Path::Avx512Bf16 => "avx512-bf16",
            Path::Avx512Vnni => "avx512-vnni",
        }
    }

    /// Features that the processor and the operating system must both offer.
    pub const fn needs(self) -> &'static [&'static str] {
        match self {
            Path::Scalar | Path::Tiled => &[],
            Path::Avx2Fma => &["avx2", "fma"],
            Path::Avx512Fma => &["avx512f", "avx512bw", "avx512dq", "avx512vl"],
            Path::Avx512Bf16 => &["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512bf16"],
            Path::Avx512Vnni => &["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni"],
        }
    }

    /// Why this path cannot run here; empty when it can.
    pub fn absent(self) -> String {
        if self.needs().is_empty() {
            return String::new();
        }
        if !cfg!(target_arch = "x86_64") {
            return format!("{} needs an x86-64 processor; this build is for {}", self, std::env::consts::ARCH);
        }
        let here = super::detect::features();
        let missing: Vec<&str> = self.needs().iter().copied().filter(|need| !here.contains(need)).collect();
        if missing.is_empty() {
            String::new()
        } else {
            format!("this processor or operating system does not offer {}", missing.join(", "))
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A path name that is not one of [`Path::ALL`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("device cpu has no path `{0}`; it has scalar, tiled, avx2-fma, avx512-fma, avx512-bf16, avx512-vnni")]
pub struct UnknownPath(pub String);

impl FromStr for Path {
    type Err = UnknownPath;
    fn from_str(s: &str) -> Result<Self, UnknownPath> {
        Path::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| UnknownPath(s.to_owned()))
    }
}
