//! What can be wrong with a model?

use crate::Format;

/// Why a model cannot be read or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The text is no model.
    #[error("not an arithmetic model: {0}")]
    Json(String),
    /// A number lies outside its range.
    #[error("{what} is {value}; it must be {allowed}")]
    Range {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: i64,
        /// The range.
        allowed: &'static str,
    },
    /// A format stands where it cannot.
    #[error("{what} cannot be {format}: {allowed}")]
    Format {
        /// What it was to be the format of.
        what: &'static str,
        /// The format.
        format: Format,
        /// Which formats can.
        allowed: &'static str,
    },
    /// A split that divides nothing.
    #[error("a node splits k into {0}")]
    Split(&'static str),
    /// A chain whose node does not use c.
    #[error(
        "a chain repeats a node that takes no c, so only the last block would count; let the node take c, or join the blocks"
    )]
    LosesBlocks,
    /// Nodes inside nodes inside nodes.
    #[error("nodes are nested {depth} deep; at most {limit} are allowed")]
    Depth {
        /// How deep.
        depth: usize,
        /// How deep they may be.
        limit: usize,
    },
    /// A sum that the fixed-width evaluator cannot hold.
    #[error(
        "a step needs {bits} bits for its sum where {limit} are there; keep fewer fraction bits, or round what leaves the step"
    )]
    TooWide {
        /// The bits that it needs.
        bits: u32,
        /// The bits that there are.
        limit: u32,
    },
    /// An exact sum of floating values that leaves unrounded.
    #[error(
        "an exact sum of floating values leaves a step unrounded; align it to a number of fraction bits, or round it"
    )]
    UnroundedValues,
    /// Integer and floating steps are mixed.
    #[error("{0}")]
    Mixed(&'static str),
    /// What the body leaves is no value of the output format.
    #[error(
        "what the body leaves is not always a value of the output format {0}; give the model a `store` rounding, or round its last step to {0}"
    )]
    Store(Format),
    /// Scales that cannot be applied.
    #[error("scales: {0}")]
    Scales(&'static str),
    /// A K that no evaluator takes.
    #[error("K is {0}; it must be 1 to {max}", max = crate::Shape::MAX)]
    K(usize),
    /// A word that is no NaN.
    #[error("{word:#x} is no NaN of {format}")]
    Nan {
        /// The word.
        word: u64,
        /// The output format.
        format: Format,
    },
}
