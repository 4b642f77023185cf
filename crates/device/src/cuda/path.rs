//! Which paths does an NVIDIA GPU have, and for which targets is each written?

use super::target::{PtxVersion, Target};
use std::{fmt, str::FromStr};

/// A way to multiply matrices on an NVIDIA GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// One multiplication a thread at a time, operands straight from global memory.
    Scalar,
    /// Tiles in shared memory and registers, no tensor instruction.
    Tiled,
    /// The warp's matrix instruction, `mma.sync`.
    MmaSync,
    /// The warpgroup's matrix instruction, `wgmma`.
    Wgmma,
    /// NVIDIA's library.
    CublasLt,
}

/// The targets that a kernel is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Declared {
    /// This one and every later.
    From(Target),
    /// The architecture-specific form (`sm_90a`) of this one alone.
    Only(Target),
}

impl Declared {
    /// What the compiler is asked for on a device of this target; the reason where the kernel is not for it.
    ///
    /// # Errors
    /// Which targets it is for.
    pub fn compiled_for(self, device: Target) -> Result<String, String> {
        match self {
            Declared::From(first) if device >= first => Ok(device.to_string()),
            Declared::From(first) => Err(format!("it is written for {first} and later; this device is {device}")),
            Declared::Only(only) if device == only => Ok(format!("{only}a")),
            Declared::Only(only) => Err(format!("it exists on {only}a alone; this device is {device}")),
        }
    }
}

impl Path {
    /// Every path, the dullest first.
    pub const ALL: [Path; 5] = [Path::Scalar, Path::Tiled, Path::MmaSync, Path::Wgmma, Path::CublasLt];

    /// The stable name, as it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Scalar => "scalar",
            Path::Tiled => "tiled",
            Path::MmaSync => "mma.sync",
            Path::Wgmma => "wgmma",
            Path::CublasLt => "cublaslt",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no path of this backend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("backend cuda has no path `{0}`; it has scalar, tiled, mma.sync, wgmma, cublaslt")]
pub struct UnknownPath(pub String);

impl FromStr for Path {
    type Err = UnknownPath;

    fn from_str(name: &str) -> Result<Path, UnknownPath> {
        Path::ALL.into_iter().find(|path| path.name() == name).ok_or_else(|| UnknownPath(name.to_owned()))
    }
}

/// The first version of PTX that has `wgmma`.
pub const WGMMA_PTX: PtxVersion = PtxVersion(8, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for path in Path::ALL {
            assert_eq!(path.name().parse(), Ok(path));
        }
        assert!("tensor".parse::<Path>().unwrap_err().to_string().contains("wgmma"));
    }

    #[test]
    fn a_device_outside_the_declared_targets_is_told_which_they_are() {
        assert_eq!(Declared::From(Target(80)).compiled_for(Target(90)), Ok("sm_90".into()));
        assert_eq!(Declared::Only(Target(90)).compiled_for(Target(90)), Ok("sm_90a".into()));
        assert!(Declared::From(Target(89)).compiled_for(Target(80)).unwrap_err().contains("sm_89 and later"));
        assert!(Declared::Only(Target(90)).compiled_for(Target(100)).unwrap_err().contains("sm_90a alone"));
    }
}
