//! What is left of a sum once c takes away what its output shows?
//!
//! An output of few bits hides nearly all of what steps did: rows on which two trees part give one and the same output. But c is
//! an operand. Where it takes away the output that was seen, the next output shows the bits below, and so on down to what
//! the sums themselves have lost.

use super::question::{Asker, Observation, Question};
use rigel_device::unit::UnitError;
use rigel_numerics::{Format, Overflow, Rounding, Triple};

/// Times that c takes something away, at most.
const ROUNDS: usize = 8;

/// Significant bits that outputs show; no more come out of the last rounding.
pub(super) fn shown_bits(format: Format, outputs: impl Iterator<Item = u64>) -> u32 {
    let ignored = if format == Format::Tf32 { 13 } else { 0 };
    let full = format.precision();
    let bits = |d: u64| {
        let fraction = d >> ignored & ((1 << (full - 1)) - 1);
        full - fraction.trailing_zeros().min(full - 1)
    };
    outputs.filter(|&d| format.decode(d).is_finite()).map(bits).max().unwrap_or(full)
}

/// Whether outputs show at most half the bits of their format.
pub(super) fn are_coarse(triple: Triple, outputs: impl Iterator<Item = u64>) -> bool {
    !triple.is_integer() && 2 * shown_bits(triple.c, outputs) <= triple.c.precision()
}

/// Observations with c such that as little as possible is left of each sum, as long as something is.
///
/// # Errors
/// What the unit contract says.
pub(super) fn residues(asker: &mut Asker<'_>, observed: Vec<Observation>) -> Result<Vec<Observation>, UnitError> {
    let (c, shape) = (asker.spec().triple.c, asker.spec().shape);
    // A tile holds few questions where it has few rows or columns.
    let rounds = ROUNDS.min(2 * shape.m.min(shape.n));
    let mut all = observed;
    let mut open: Vec<usize> = (0..all.len()).collect();
    for _ in 0..rounds {
        let taken: Vec<(usize, Question)> = open.iter().filter_map(|&i| Some((i, taken_away(c, &all[i])?))).collect();
        let answers = asker.ask(&taken.iter().map(|(_, question)| question.clone()).collect::<Vec<_>>())?;
        open.clear();
        for ((i, question), d) in taken.into_iter().zip(answers) {
            let (left, before) = (c.decode(d).abs(), c.decode(all[i].d).abs());
            if left > 0.0 && left < before {
                all[i] = Observation { question, d };
                open.push(i);
            }
        }
    }
    Ok(all)
}

/// The question with c less by the output; `None` where that is no other finite c.
fn taken_away(format: Format, seen: &Observation) -> Option<Question> {
    let less = format.decode(seen.question.c) - format.decode(seen.d);
    let c = format.encode(less, Rounding::NearestEven, Overflow::Saturate);
    (less.is_finite() && c != seen.question.c).then(|| Question { c, ..seen.question.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_show_the_bits_of_the_last_rounding_and_no_more() {
        let seen = |values: &[f32]| shown_bits(Format::F32, values.iter().map(|x| u64::from(x.to_bits())));
        assert_eq!(seen(&[1.0, 0.0, f32::INFINITY, f32::NAN]), 1);
        assert_eq!(seen(&[1.5, -3.0, 4.0]), 2);
        assert_eq!(seen(&[1.5, 1.0 + f32::EPSILON]), 24);
    }
}
