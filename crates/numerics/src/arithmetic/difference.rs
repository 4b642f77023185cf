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
    Distribution::ALL.into_iter().find_map(|distribution| {
        (0..count as usize).into_par_iter().with_min_len(1 + 4096 / one.k()).find_map_first(|index| {
            let index = index as u64;
            let inputs = distribution.inputs(one.model(), one.k(), stream, index);
            let codes = [one, other].map(|e| e.dot(&mut e.scratch(), inputs.codes()));
            (codes[0] != codes[1]).then_some(Difference { distribution, index, inputs, codes })
        })
    })
}
