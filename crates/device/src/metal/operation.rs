//! What is fixed in one `matmul2d` operation?

use super::triples::Types;
use std::fmt;

/// The threads that carry an operation out together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// One thread.
    Thread,
    /// So many SIMD-groups: all of the threadgroup, or the behaviour is undefined.
    SimdGroups(u32),
}

impl Scope {
    /// As written in a kernel.
    pub fn spelled(self) -> String {
        match self {
            Scope::Thread => "execution_thread".into(),
            Scope::SimdGroups(1) => "execution_simdgroup".into(),
            Scope::SimdGroups(n) => format!("execution_simdgroups<{n}>"),
        }
    }

    /// Threads of a threadgroup that holds the scope, at 32 lanes a SIMD-group.
    pub const fn threads(self) -> u32 {
        match self {
            Scope::Thread => 1,
            Scope::SimdGroups(n) => 32 * n,
        }
    }
}

/// What becomes of the destination's old content, as declared. What a device makes of it is for the probe to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `multiply`.
    Multiply,
    /// `multiply_accumulate`.
    MultiplyAccumulate,
}

impl Mode {
    /// As written in a kernel.
    pub const fn spelled(self) -> &'static str {
        match self {
            Mode::Multiply => "multiply",
            Mode::MultiplyAccumulate => "multiply_accumulate",
        }
    }
}

/// An operation: each combination is a kernel of its own, because the descriptor is a template argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Element types.
    pub types: Types,
    /// Rows of C that one operation computes.
    pub m: u32,
    /// Columns of C that one operation computes.
    pub n: u32,
    /// k of one operation; 0: as many as the operands have.
    pub step: u32,
    /// Who carries it out.
    pub scope: Scope,
    /// Whether the left operand is stored with its rows along dimension 0.
    pub transpose_left: bool,
    /// Whether the right operand is stored with its columns along dimension 1.
    pub transpose_right: bool,
    /// Whether accuracy may be traded for speed.
    pub relaxed: bool,
    /// What becomes of the destination's old content.
    pub mode: Mode,
}

impl Operation {
    /// A product of plain operands over four SIMD-groups with as many k as there are.
    pub const fn new(types: Types, m: u32, n: u32) -> Operation {
        Operation {
            types,
            m,
            n,
            step: 0,
            scope: Scope::SimdGroups(4),
            transpose_left: false,
            transpose_right: false,
            relaxed: false,
            mode: Mode::Multiply,
        }
    }

    /// The launch tile's name: `64x32s4`, `64x32k16s4`, `8x8t`.
    pub fn tile(&self) -> String {
        self.to_string()
    }

    /// Reads a launch tile's name over otherwise given settings.
    pub fn with_tile(self, tile: &str) -> Option<Operation> {
        let (m, rest) = tile.split_once('x')?;
        let (extents, scope) = match rest.strip_suffix('t') {
            Some(extents) => (extents, Scope::Thread),
            None => {
                let (extents, groups) = rest.split_once('s')?;
                (extents, Scope::SimdGroups(groups.parse().ok()?))
            }
        };
        let (n, step) = extents.split_once('k').unwrap_or((extents, "0"));
        Some(Operation { m: m.parse().ok()?, n: n.parse().ok()?, step: step.parse().ok()?, scope, ..self })
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.m, self.n)?;
        if self.step > 0 {
            write!(f, "k{}", self.step)?;
        }
        match self.scope {
            Scope::Thread => write!(f, "t"),
            Scope::SimdGroups(n) => write!(f, "s{n}"),
        }
    }
}
