//! Which k can be exchanged without changing any output?
//!
//! Products that one step adds can be exchanged freely, whatever its widths and roundings; products of different steps
//! differ in when they are cut and rounded, and sooner or later an exchange shows. So exchanges find fused steps
//! where masking cannot: in formats too narrow for a mask, behind conversions, under any rounding.

use super::dice::Dice;
use super::question::{Asker, Question};
use super::scope::{Scope, halves};
use super::terms::{code, range};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_numerics::arithmetic::Distribution;

/// What exchanges showed of pairs of positions of k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchanges {
    /// Positions that were compared with all others, and their classes: positions that could always be exchanged with them.
    pub classes: Vec<Vec<usize>>,
    /// Positions in no class: there were too many.
    pub open: Vec<usize>,
}

/// Rows on which a pair is exchanged before it counts as exchangeable: so many, or as few as keep questions few where k is long.
const ROWS: usize = 96;
const FEWEST_ROWS: usize = 24;
/// Most questions.
const MOST: usize = 2000;

/// Exchanges pairs until every position is in a class or [`MOST`] questions were asked.
///
/// # Errors
/// What the unit contract says.
pub(super) fn exchanges(asker: &mut Asker<'_>, scope: &Scope, seed: u64) -> Result<Exchanges, UnitError> {
    let spec = asker.spec().clone();
    // Few questions fit a tile of few rows or columns.
    let most = MOST.min(1200 * spec.shape.m.min(spec.shape.n));
    let enough = (most / spec.shape.k).clamp(FEWEST_ROWS, ROWS);
    let rows: Vec<Question> = (0..enough).map(|i| row(&spec, scope, seed, i)).collect();
    let plain = asker.ask(&rows)?;
    let (mut classes, mut open) = (Vec::new(), (0..spec.shape.k).collect::<Vec<_>>());
    let mut asked = 0;
    while let Some((&first, others)) = open.split_first() {
        if asked > most {
            break;
        }
        let mut alike = others.to_vec();
        let mut at = 0;
        while at < enough && !alike.is_empty() {
            // One row at a time while many are alike, then several.
            let take = (64 / alike.len()).clamp(1, enough - at);
            let pairs: Vec<(usize, usize)> = (at..at + take).flat_map(|r| alike.iter().map(move |&j| (r, j))).collect();
            let exchanged: Vec<Question> = pairs.iter().map(|&(r, j)| exchange(&rows[r], first, j)).collect();
            asked += exchanged.len();
            let answers = asker.ask(&exchanged)?;
            for (&(r, j), d) in pairs.iter().zip(answers) {
                if d != plain[r] {
                    alike.retain(|&x| x != j);
                }
            }
            at += take;
        }
        let class: Vec<usize> = std::iter::once(first).chain(alike).collect();
        open.retain(|j| !class.contains(j));
        classes.push(class);
    }
    Ok(Exchanges { classes, open })
}

fn exchange(question: &Question, i: usize, j: usize) -> Question {
    let mut other = question.clone();
    other.a.swap(i, j);
    other.b.swap(i, j);
    other
}

/// A row on which the order of additions matters: products of like or unlike sizes, and a c that is far larger, or alike, or
/// cancels one of them. Scales are 1: they stay in place when elements move.
fn row(spec: &UnitSpec, scope: &Scope, seed: u64, index: usize) -> Question {
    let mut dice = Dice::new(seed, 1000 + index as u64);
    let t = spec.triple;
    if t.is_integer() {
        return super::terms::integers(spec, dice);
    }
    let mut question = Question::zero(spec);
    let spread = [0, 2, 1, 6, 2, 14, 0, 30][index % 8];
    let ((la, ta), (lb, tb), (lc, tc)) = (range(t.a), range(t.b), range(t.c));
    let (low, high) = scope.products;
    let size = match dice.below(4) {
        0 => dice.between(low, high),
        1 => dice.between(low, high).min(low + 24),
        2 => dice.between(-40, 16).clamp(low, high),
        _ => dice.between(-8, 8).clamp(low, high),
    };
    let (of_a, of_b) = halves(spec, size);
    let mut element = |format: rigel_numerics::Format, exponent: i32, most: i32, least: i32| {
        let bits = format.precision() as i32 - 1;
        let significand = i128::from(dice.word() & ((1 << bits) - 1) | 1 << bits);
        let exponent = exponent + dice.between(-spread / 2, spread / 2);
        code(format, if dice.one_in(2) { significand } else { -significand }, exponent.clamp(least, most) - bits)
    };
    for i in 0..spec.shape.k {
        question.a[i] = element(t.a, of_a, ta - 1, la);
        question.b[i] = element(t.b, of_b.clamp(lb, tb), tb - 1, lb);
    }
    let above = dice.between(0, 9) * [0, 0, 1, 1, 2, 3, 5][dice.below(7)];
    let bits = t.c.precision() as i32 - 1;
    let significand = i128::from(dice.word() & ((1 << bits) - 1) | 1 << bits);
    let exponent = (size + above).clamp(lc, tc - 1);
    question.c = match dice.below(4) {
        0 => 0,
        1 => code(t.c, significand, exponent - bits),
        _ => code(t.c, -significand, exponent - bits),
    };
    if index % 8 == 7 {
        let distribution = [Distribution::Cancellation, Distribution::Ladder][dice.below(2)];
        let inputs = distribution.unscaled(t, spec.shape.k, dice.word(), index as u64);
        (question.a, question.b, question.c) = (inputs.a, inputs.b, inputs.c);
    }
    question
}
