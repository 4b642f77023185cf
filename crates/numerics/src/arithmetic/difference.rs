//! Where do two models differ as functions?

use super::distribution::{Distribution, DotInputs};
use super::evaluator::Evaluator;
use super::model::Model;
use crate::Format;
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

impl Difference {
    /// The same difference on inputs of which as many as possible are zero.
    ///
    /// # Panics
    /// As [`first_difference`].
    pub fn reduced(&self, one: &Evaluator, other: &Evaluator) -> Difference {
        let mut best = self.clone();
        let mut scratches = [one.scratch(), other.scratch()];
        let mut try_it = |inputs: DotInputs, best: &mut Difference| {
            let [x, y] = &mut scratches;
            let codes = [one.dot(x, inputs.codes()), other.dot(y, inputs.codes())];
            if codes[0] != codes[1] {
                *best = Difference { inputs, codes, ..best.clone() };
            }
        };
        let mut inputs = best.inputs.clone();
        inputs.c = 0;
        try_it(inputs, &mut best);
        for i in 0..best.inputs.a.len() {
            let mut inputs = best.inputs.clone();
            (inputs.a[i], inputs.b[i]) = (0, 0);
            try_it(inputs, &mut best);
        }
        best
    }

    /// What differs, in words, for models whose output has a format.
    pub fn behaviour(&self, format: Format) -> String {
        let [x, y] = self.codes;
        let values = [x, y].map(|code| format.decode(code));
        let [one, other] = values;
        match (one.is_nan(), other.is_nan()) {
            (true, true) => return "another NaN comes out".to_owned(),
            (true, false) | (false, true) => return "one gives NaN where the other gives a number".to_owned(),
            (false, false) => {}
        }
        if one.is_infinite() != other.is_infinite() {
            return "one overflows where the other does not".to_owned();
        }
        if one == 0.0 && other == 0.0 {
            return "zeros have another sign".to_owned();
        }
        if format.is_integer() {
            return "integers differ where the width is left".to_owned();
        }
        if one == 0.0 || other == 0.0 {
            return "one keeps small terms, or a subnormal, where the other gives zero".to_owned();
        }
        if one.signum() != other.signum() {
            return "signs differ: what is left after cancellation depends on what was kept".to_owned();
        }
        let steps = x.abs_diff(y) >> if format == Format::Tf32 { 13 } else { 0 };
        match steps {
            1 => "the last place differs: another rounding, or another width".to_owned(),
            steps => format!("results differ by {steps} units in the last place: other bits are kept on the way"),
        }
    }

    /// The inputs without zeros, as codes and values.
    pub fn shown(&self, model: &Model) -> String {
        let t = model.triple;
        let DotInputs { a, b, c, a_scales, b_scales } = &self.inputs;
        let mut terms: Vec<String> = Vec::new();
        for (i, (&x, &y)) in a.iter().zip(b).enumerate().filter(|(_, (x, y))| (**x, **y) != (0, 0)) {
            terms.push(format!("k {i}: {x:#x} · {y:#x} ({:e} · {:e})", t.a.decode(x), t.b.decode(y)));
        }
        terms.push(format!("c: {c:#x} ({:e})", t.c.decode(*c)));
        if !a_scales.is_empty() {
            terms.push(format!("scales {a_scales:x?} and {b_scales:x?}"));
        }
        terms.join(", ")
    }
}

impl Model {
    /// The phrases in which two models are said differently, pairwise where they are of one kind; empty where the words
    /// are the same.
    pub fn differing_words(&self, other: &Model) -> Vec<(String, String)> {
        let phrases = |model: &Model| -> Vec<String> {
            let text = model.to_string();
            let text = text.split_once(": ").map_or(text.clone(), |(_, rest)| rest.to_owned());
            text.split([',', ';', '[', ']']).map(|p| p.trim().to_owned()).filter(|p| !p.is_empty()).collect()
        };
        let (one, other) = (phrases(self), phrases(other));
        let only = |these: &[String], those: &[String]| -> Vec<String> {
            these.iter().filter(|p| !those.contains(p)).cloned().collect()
        };
        let (mut left, mut right) = (only(&one, &other), only(&other, &one));
        let count = left.len().max(right.len());
        left.resize(count, String::new());
        right.resize(count, String::new());
        left.into_iter().zip(right).collect()
    }
}
