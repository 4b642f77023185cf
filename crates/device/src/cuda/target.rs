//! Which targets does a kernel compile for, and which version of PTX names them?
//!
//! Plain targets (`sm_90`, not `sm_90a`) run on every later device, so a device newer than this list gets the newest
//! target below it. Versions: NVIDIA, PTX ISA, section on `.target`, table of the version that introduced each.

use std::fmt;

/// A version of the PTX language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion(pub u8, pub u8);

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// A plain compile target: ten times the major compute capability plus the minor one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target(pub u32);

impl Target {
    /// Targets that kernels are written for, ascending.
    pub const KNOWN: [Target; 11] = [
        Target(70),
        Target(72),
        Target(75),
        Target(80),
        Target(86),
        Target(87),
        Target(89),
        Target(90),
        Target(100),
        Target(103),
        Target(120),
    ];

    /// The newest known target that runs on a device of this compute capability; the oldest one where there is none, so
    /// that the driver can refuse it in its own words.
    pub fn of_device(major: u32, minor: u32) -> Target {
        let device = Target(10 * major + minor);
        Target::KNOWN.into_iter().rfind(|known| *known <= device).unwrap_or(Target::KNOWN[0])
    }

    /// The first version of PTX that names it.
    pub const fn ptx(self) -> PtxVersion {
        match self.0 {
            ..=71 => PtxVersion(6, 0),
            72..=74 => PtxVersion(6, 1),
            75..=79 => PtxVersion(6, 3),
            80..=85 => PtxVersion(7, 0),
            86 => PtxVersion(7, 1),
            87..=88 => PtxVersion(7, 4),
            89..=99 => PtxVersion(7, 8),
            100..=102 => PtxVersion(8, 6),
            103..=119 => PtxVersion(8, 8),
            _ => PtxVersion(8, 7),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_gets_the_newest_target_that_runs_on_it() {
        for (capability, target) in
            [((8, 0), 80), ((8, 9), 89), ((9, 0), 90), ((10, 1), 100), ((11, 0), 103), ((15, 3), 120)]
        {
            assert_eq!(Target::of_device(capability.0, capability.1), Target(target), "{capability:?}");
        }
        assert_eq!(Target::of_device(5, 0), Target(70));
        assert!(Target::KNOWN.is_sorted());
    }
}
