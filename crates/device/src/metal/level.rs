//! Which versions of the language and of the vendor's header are there?

use std::fmt;

/// A version of the header of Metal Performance Primitives that the project knows, which comes with the running system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sdk {
    /// 26.1: no rule on shapes, cooperative destinations only.
    V26_1,
    /// 26.5: shape rules (met from 26.4 on), cooperative inputs (narrated for 26.3), 4-bit integers.
    V26_5,
    /// 27.0: fp8, fp4, 2-bit integers, scale planes.
    V27_0,
}

impl Sdk {
    /// All, oldest first.
    pub const ALL: [Sdk; 3] = [Sdk::V26_1, Sdk::V26_5, Sdk::V27_0];

    /// As one number, 10 · major + minor.
    pub const fn number(self) -> u32 {
        match self {
            Sdk::V26_1 => 261,
            Sdk::V26_5 => 265,
            Sdk::V27_0 => 270,
        }
    }

    /// The newest known header that a system of this version has; `None` before 26.1.
    pub fn of_system(major: u32, minor: u32) -> Option<Sdk> {
        Sdk::ALL.into_iter().rfind(|sdk| sdk.number() <= major * 10 + minor.min(9))
    }

    /// Whether inputs can be cooperative tensors.
    pub const fn has_inputs(self) -> bool {
        !matches!(self, Sdk::V26_1)
    }

    /// The newest language that it goes with.
    pub const fn language(self) -> Language {
        match self {
            Sdk::V26_1 | Sdk::V26_5 => Language::V4_0,
            Sdk::V27_0 => Language::V4_1,
        }
    }

    /// The system's version as the macro of the oldest system has it.
    pub const fn minimum_os(self) -> u32 {
        match self {
            Sdk::V26_1 => 260_100,
            Sdk::V26_5 => 260_500,
            Sdk::V27_0 => 270_000,
        }
    }
}

impl fmt::Display for Sdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number() / 10, self.number() % 10)
    }
}

/// A language version, always asked for by name: left unset it follows the SDK that the program was linked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Language {
    /// Metal 3.1, macOS 14.
    V3_1,
    /// Metal 3.2, macOS 15.
    V3_2,
    /// Metal 4.0, macOS 26: `tensor`, `matmul2d`.
    V4_0,
    /// Metal 4.1, macOS 27.
    V4_1,
}

impl Language {
    /// All, newest first: the ladder of the probe `versions`.
    pub const LADDER: [Language; 4] = [Language::V4_1, Language::V4_0, Language::V3_2, Language::V3_1];

    /// Major and minor.
    pub const fn parts(self) -> (usize, usize) {
        match self {
            Language::V3_1 => (3, 1),
            Language::V3_2 => (3, 2),
            Language::V4_0 => (4, 0),
            Language::V4_1 => (4, 1),
        }
    }

    /// Raw value of `MTLLanguageVersion`: bindings older than a version lack its name.
    pub const fn raw(self) -> usize {
        let (major, minor) = self.parts();
        (major << 16) + minor
    }

    /// The macro `__METAL_VERSION__` under it.
    pub const fn macro_value(self) -> u32 {
        let (major, minor) = self.parts();
        (major * 100 + minor * 10) as u32
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.parts();
        write!(f, "{major}.{minor}")
    }
}
