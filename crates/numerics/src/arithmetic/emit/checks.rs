//! Which inputs and results does a program carry, so that a reader can try it where it is?

use crate::arithmetic::distribution::{Distribution, DotInputs};
use crate::arithmetic::evaluator::Evaluator;
use crate::arithmetic::model::Model;
use crate::random::stream;

/// Inputs of each distribution.
const EACH: u64 = 2;

/// Inputs and the code that the model gives.
pub(super) fn checks(model: &Model) -> Vec<(DotInputs, u64)> {
    let group = model.scales.map_or(1, |s| s.group.max(1));
    // An instruction, or a few short ones, so that what passes between steps is seen.
    let k = if model.k < 4 { model.k * 4 } else { model.k }.next_multiple_of(group);
    let Ok(evaluator) = Evaluator::new(model, k) else { return Vec::new() };
    let mut scratch = evaluator.scratch();
    let inputs = Distribution::ALL
        .into_iter()
        .flat_map(|distribution| (0..EACH).map(move |i| distribution.inputs(model, k, stream(0x63_6865_636b, 0), i)));
    inputs.map(|inputs| (inputs.clone(), evaluator.dot(&mut scratch, inputs.codes()))).collect()
}

/// Codes between brackets, in hexadecimal.
pub(super) fn list(codes: &[u64], suffix: &str) -> String {
    codes.iter().map(|code| format!("0x{code:x}{suffix}")).collect::<Vec<_>>().join(", ")
}
