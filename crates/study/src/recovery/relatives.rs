//! Which simpler questions show what a puzzling one is about?
//!
//! A row on which a model is wrong has many terms; most have nothing to do with it. The same row without one of them, with
//! signs turned or without its last bits is answered as predicted or not, and so says which of them matter.

use super::dice::Dice;
use super::question::{Asker, Observation, Question};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_numerics::Format;

/// Relatives of each question.
const EACH: usize = 14;

/// Relatives of some questions, answered.
///
/// # Errors
/// What the unit contract says.
pub(super) fn of(asker: &mut Asker<'_>, puzzling: &[Observation], seed: u64) -> Result<Vec<Observation>, UnitError> {
    let spec = asker.spec().clone();
    let mut dice = Dice::new(seed, 2000);
    let questions =
        puzzling.iter().flat_map(|o| (0..EACH).map(|n| relative(&spec, &o.question, n, &mut dice)).collect::<Vec<_>>());
    let questions: Vec<Question> = questions.collect();
    asker.observe(questions)
}

fn relative(spec: &UnitSpec, question: &Question, number: usize, dice: &mut Dice) -> Question {
    let (t, k) = (spec.triple, spec.shape.k);
    let mut other = question.clone();
    let at = dice.below(k);
    match number {
        0 => other.c = 0,
        1 => other.c = negated(t.c, other.c),
        // One product alone, with c and without.
        2 | 3 => {
            for i in (0..k).filter(|&i| i != at) {
                (other.a[i], other.b[i]) = (0, 0);
            }
            if number == 3 {
                other.c = 0;
            }
        }
        4..=6 => (other.a[at], other.b[at]) = (0, 0),
        7 => other.a[at] = negated(t.a, other.a[at]),
        8 => other.a[at] = turned(t.a, other.a[at], dice),
        9 => other.b[at] = turned(t.b, other.b[at], dice),
        10 => other.c = turned(t.c, other.c, dice),
        // All signs turned.
        11 => {
            other.a.iter_mut().for_each(|x| *x = negated(t.a, *x));
            other.c = negated(t.c, other.c);
        }
        // A few terms only.
        _ => {
            for i in 0..k {
                if dice.one_in(2) {
                    (other.a[i], other.b[i]) = (0, 0);
                }
            }
        }
    }
    other
}

fn negated(format: Format, code: u64) -> u64 {
    if format.is_integer() { code } else { code ^ 1 << (format.bits() - 1) }
}

/// A code with one of its low bits turned.
fn turned(format: Format, code: u64, dice: &mut Dice) -> u64 {
    let ignored = if format == Format::Tf32 { 13 } else { 0 };
    let bits = (format.precision().max(3) as usize - 1).min(12);
    (code ^ 1 << (ignored + dice.below(bits) as u32)) & format.code_mask()
}
