//! What goes wrong, where, and from which repetition on?

use crate::contract::GemmSpec;
use rigel_numerics::{Shape, Triple};
use serde::{Deserialize, Serialize};

/// A fault at chosen cells. A missing key matches every cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedFault {
    /// Only on this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only for this triple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triple: Option<Triple>,
    /// Only at this shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Only with this launch tile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// Only in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Repetitions of the cell in its process that go well before. Only for effects that act in a repetition.
    #[serde(default)]
    pub after: u64,
    /// What goes wrong (required).
    pub effect: Effect,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// The compiler refuses.
    RefuseCompile {
        /// Verbatim diagnostic.
        diagnostic: String,
    },
    /// The loader refuses.
    RefuseLoad {
        /// Verbatim diagnostic.
        diagnostic: String,
    },
    /// `bind` reports that memory ran out.
    OutOfMemory {
        /// Text of the fault.
        message: String,
    },
    /// `bind` really allocates until the process's memory limit stops it, and aborts then as an allocator does. Where
    /// no limit stops it, it gives up at the truth's `memory_bytes` and reports that memory ran out.
    ExhaustMemory,
    /// The repetition aborts the process.
    Crash,
    /// The repetition never ends.
    Hang,
    /// The device stops answering, for the rest of the process.
    DeviceLost {
        /// Text of the fault.
        message: String,
    },
    /// The kernel reports an error.
    Failed {
        /// Text of the fault.
        message: String,
    },
    /// The repetition writes a wrong output.
    Wrong(Wrong),
}

/// How an output is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wrong {
    /// Every element is the all-zero code.
    Zeros,
    /// The last `step` terms of every dot product are left out.
    DroppedStep {
        /// Terms left out, at least 1.
        step: usize,
    },
    /// Two output elements at seeded places have changed places.
    Swapped,
    /// B is read as if its buffer held the transposed matrix (n × k, row by row).
    TransposedB,
    /// One output element at a seeded place is off by `by` × Σ|a·b| of its own dot product, rounded to C's format (for
    /// integers to a whole number, at least 1).
    Perturbed {
        /// Relative to Σ|a·b|.
        by: f64,
    },
    /// Rows and columns beyond the last whole tile hold arbitrary bits. Extents that are multiples of `tile` are right.
    TileEdge {
        /// Extent of the tile in rows and columns, at least 2.
        tile: usize,
    },
    /// The last `rows` rows are never written: they hold what lay in the output before.
    Unwritten {
        /// Rows, at least 1.
        rows: usize,
    },
    /// One output element at a seeded place is NaN; in a format without NaN its bits are all ones.
    NotANumber,
}

impl PlantedFault {
    /// Whether the fault acts on this cell in this process.
    pub fn hits(&self, spec: &GemmSpec, process: u32) -> bool {
        self.path.as_ref().is_none_or(|p| *p == spec.path)
            && self.triple.is_none_or(|t| t == spec.triple)
            && self.shape.is_none_or(|s| s == spec.shape)
            && self.tile.as_ref().is_none_or(|t| *t == spec.tile)
            && self.process.is_none_or(|p| p == process)
    }
}

impl Effect {
    /// Whether it acts in a repetition, so that a number of good ones may come before it.
    pub fn acts_in_repetition(&self) -> bool {
        matches!(self, Effect::Crash | Effect::Hang | Effect::DeviceLost { .. } | Effect::Failed { .. })
            || matches!(self, Effect::Wrong(_))
    }
}
