//! Where do two models differ as functions?

use super::distribution::{Distribution, DotInputs};
use super::evaluator::Evaluator;
use rayon::prelude::*;

/// Inputs on which two models differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// How the inputs were drawn.
    pub distribution: Distribution,
    /// Their number in the stream.
    pub index: u64,
    /// The inputs.
    pub inputs: DotInputs,
    /// The code that each model gives.
    pub codes: [u64; 2],
}

/// Inputs that one core tries before it looks whether another has found a difference.
const CHUNK: u64 = 64;

/// The first of `count` inputs of a stream, per distribution, on which two models differ; distributions are searched in their
/// order, each over all cores. The outcome does not depend on the number of cores.
///
/// `None` says that these inputs do not tell the models apart: with 95 % confidence fewer than 3 in `count` inputs of each
/// distribution do. It does not say that the models are one function.
///
/// # Panics
/// When the evaluators are not of one triple, one K and the same scales.
pub fn first_difference(one: &Evaluator, other: &Evaluator, stream: u64, count: u64) -> Option<Difference> {
    let what = |e: &Evaluator| {
        let t = e.model().triple;
        (t.a, t.b, t.c, e.k(), e.model().scales)
    };
    assert_eq!(what(one), what(other), "models of different inputs cannot be compared");
    let chunks = count.div_ceil(CHUNK) as usize;
    Distribution::ALL.into_iter().find_map(|distribution| {
        (0..chunks).into_par_iter().find_map_first(|chunk| {
            let mut scratches = [one.scratch(), other.scratch()];
            let first = chunk as u64 * CHUNK;
            (first..count.min(first + CHUNK)).find_map(|index| {
                let inputs = distribution.inputs(one.model(), one.k(), stream, index);
                let [x, y] = &mut scratches;
                let codes = [one.dot(x, inputs.codes()), other.dot(y, inputs.codes())];
                (codes[0] != codes[1]).then_some(Difference { distribution, index, inputs, codes })
            })
        })
    })
}
