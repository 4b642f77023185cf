//! Which k can be exchanged without changing any output?
//!
//! Products that one step adds can be exchanged freely, whatever its widths and roundings; products of different steps
//! differ in when they are cut and rounded, and sooner or later an exchange shows. So exchanges find fused steps
//! where masking cannot: in formats too narrow for a mask, behind conversions, under any rounding.

use super::dice::Dice;
use super::question::{Asker, Question};
use super::residues;
use super::scope::{Scope, halves};
use super::terms::{code, range};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_numerics::arithmetic::Distribution;
use std::collections::HashSet;

/// What exchanges showed of pairs of positions of k.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exchanges {
    /// Positions that were compared with all others, and their classes: positions that could always be exchanged with them.
    pub classes: Vec<Vec<usize>>,
    /// Positions in no class: there were too many.
    pub open: Vec<usize>,
    /// Pairs that could not be exchanged, the lesser position first. Others may belong to one step even if they are of
    /// two classes: not every pair is tried.
    pub apart: HashSet<(usize, usize)>,
}

impl Exchanges {
    /// Whether one step may hold all of some positions.
    pub(super) fn allow(&self, step: &[usize]) -> bool {
        let apart = |i: usize, j: usize| self.apart.contains(&(i.min(j), i.max(j)));
        step.iter().enumerate().all(|(n, &i)| step[n + 1..].iter().all(|&j| !apart(i, j)))
    }
}

/// Rows on which a pair is exchanged before it counts as exchangeable: so many, or as few as keep questions few where k is long.
const ROWS: usize = 192;
const FEWEST_ROWS: usize = 24;
/// Binary orders between the least product and the largest one of formats of a narrow range.
const NARROW: i32 = 20;
/// Most questions.
const MOST: usize = 4000;
/// Further rows on which classes are tried again.
const SIBLINGS: usize = 32;

/// Exchanges pairs until every position is in a class or [`MOST`] questions were asked.
///
/// # Errors
/// What the unit contract says.
pub(super) fn exchanges(asker: &mut Asker<'_>, scope: &Scope, seed: u64) -> Result<Exchanges, UnitError> {
    let spec = asker.spec().clone();
    // Few questions fit a tile of few rows or columns.
    let most = MOST.min(2400 * spec.shape.m.min(spec.shape.n));
    let enough = (most / spec.shape.k).clamp(FEWEST_ROWS, ROWS);
    let mut seen = asker.observe((0..enough).map(|i| row(&spec, scope, seed, i)).collect())?;
    if residues::are_coarse(spec.triple, seen.iter().map(|o| o.d)) {
        let (kept, finer): (Vec<_>, Vec<_>) = seen.into_iter().enumerate().partition(|(i, _)| i % 4 == 3);
        seen = residues::residues(asker, finer.into_iter().map(|(_, o)| o).collect())?;
        seen.extend(kept.into_iter().map(|(_, o)| o));
    }
    let (rows, plain): (Vec<Question>, Vec<u64>) = seen.into_iter().map(|o| (o.question, o.d)).unzip();
    let mut found = Exchanges { classes: Vec::new(), open: (0..spec.shape.k).collect(), apart: HashSet::new() };
    let mut telling: Vec<usize> = Vec::new();
    let mut asked = 0;
    while let Some((&first, others)) = found.open.split_first() {
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
                    telling.push(r);
                    found.apart.insert((first, j));
                    alike.retain(|&x| x != j);
                }
            }
            at += take;
        }
        let class: Vec<usize> = std::iter::once(first).chain(alike).collect();
        found.open.retain(|j| !class.contains(j));
        found.classes.push(class);
    }
    if !telling.is_empty() {
        telling.sort_unstable();
        telling.dedup();
        let siblings = siblings(&rows, &telling, seed);
        let plain = asker.ask(&siblings)?;
        found.classes = again(asker, std::mem::take(&mut found.classes), &siblings, &plain, &mut found.apart)?;
    }
    Ok(found)
}

/// Rows that told positions apart, their products in other places.
fn siblings(rows: &[Question], telling: &[usize], seed: u64) -> Vec<Question> {
    let mut dice = Dice::new(seed, 3000);
    let other = |n: usize| {
        let mut row = rows[telling[n % telling.len()]].clone();
        for i in (1..row.a.len()).rev() {
            let j = dice.below(i + 1);
            row = exchange(&row, i, j);
        }
        row
    };
    (0..SIBLINGS).map(other).collect()
}

/// Classes that hold together on further rows; what falls out of one is tried against the first of the others.
fn again(
    asker: &mut Asker<'_>,
    classes: Vec<Vec<usize>>,
    rows: &[Question],
    plain: &[u64],
    apart: &mut HashSet<(usize, usize)>,
) -> Result<Vec<Vec<usize>>, UnitError> {
    let mut whole: Vec<Vec<usize>> = Vec::new();
    let mut loose: Vec<usize> = Vec::new();
    let mut hold = |asker: &mut Asker<'_>, first: usize, others: &[usize]| -> Result<Vec<usize>, UnitError> {
        let pairs: Vec<(usize, usize)> = others.iter().flat_map(|&j| (0..rows.len()).map(move |r| (r, j))).collect();
        let answers = asker.ask(&pairs.iter().map(|&(r, j)| exchange(&rows[r], first, j)).collect::<Vec<_>>())?;
        for (&(r, j), d) in pairs.iter().zip(answers) {
            if d != plain[r] {
                apart.insert((first.min(j), first.max(j)));
            }
        }
        let alike = |j: &usize| !apart.contains(&(first.min(*j), first.max(*j)));
        Ok(others.iter().copied().filter(alike).collect())
    };
    for class in classes {
        let kept = hold(asker, class[0], &class[1..])?;
        loose.extend(class[1..].iter().filter(|j| !kept.contains(j)));
        whole.push(std::iter::once(class[0]).chain(kept).collect());
    }
    loose.sort_unstable();
    for j in loose {
        let mut home = None;
        for (n, class) in whole.iter().enumerate() {
            if home.is_none() && !hold(asker, class[0], &[j])?.is_empty() {
                home = Some(n);
            }
        }
        match home {
            Some(n) => whole[n].push(j),
            None => whole.push(vec![j]),
        }
    }
    whole.iter_mut().for_each(|class| class.sort_unstable());
    whole.sort_by_key(|class| class[0]);
    Ok(whole)
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
    // Where all products have one sign, sums grow and are rounded on their way.
    let one_sign = dice.one_in(3);
    let mut element = |format: rigel_numerics::Format, exponent: i32, most: i32, least: i32| {
        let bits = format.precision() as i32 - 1;
        let significand = i128::from(dice.word() & ((1 << bits) - 1) | 1 << bits);
        let exponent = exponent + dice.between(-spread / 2, spread / 2);
        let negative = dice.one_in(2) && !one_sign;
        code(format, if negative { -significand } else { significand }, exponent.clamp(least, most) - bits)
    };
    // Sums of products of a narrow range lose a bit only where most are the largest, and few the least.
    let ends = index % 4 == 2 && ta + tb - la - lb <= NARROW;
    for i in 0..spec.shape.k {
        let (of_a, of_b) = match (ends, index * 7 + i * 5 % 11) {
            (true, n) if n % 3 == 0 => (la, lb),
            (true, _) => (ta, tb),
            (false, _) => (of_a, of_b),
        };
        question.a[i] = element(t.a, of_a, if ends { ta } else { ta - 1 }, la);
        question.b[i] = element(t.b, of_b.clamp(lb, tb), if ends { tb } else { tb - 1 }, lb);
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
    if matches!(index % 8, 2 | 5 | 7) && !ends {
        // Where large sums cancel, what was cut from each of them is left.
        let distribution = if dice.one_in(4) { Distribution::Ladder } else { Distribution::Cancellation };
        let inputs = distribution.unscaled(t, spec.shape.k, dice.word(), index as u64);
        (question.a, question.b) = (inputs.a, inputs.b);
        // An output of few bits shows what is left where nothing large is left beside it.
        question.c = if index % 8 == 5 { 0 } else { inputs.c };
    }
    question
}
