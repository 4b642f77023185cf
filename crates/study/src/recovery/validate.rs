//! Does a model predict every bit of fresh dot products, at every place of a tile?

use super::dice::Dice;
use super::directed::directed;
use super::hints::Hints;
use super::pool::Scope;
use super::question::{Asker, Batch, Observation, Question, Stage};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_ledger::units::{Tested, Validation};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Line, Model};
use std::collections::HashSet;

/// Tiles of one call, and their elements, at most.
const TILES: usize = 512;
const TILES_PRODUCTS: usize = 1 << 18;
/// Counterexamples that are kept.
const KEPT: usize = 60;

/// Whether a validation goes on after [`KEPT`] mismatches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// To the end: it says how near a model is.
    Whole,
    /// No: one mismatch refutes a model, and some more show where it is wrong.
    UntilRefuted,
}

/// Of so many dot products one brings a row and a column that no other one has: 10⁶ have 10⁵ distinct lines.
const PRODUCTS_A_LINE: u64 = 10;
/// Tiles that may be asked for the sake of distinct lines, as a multiple of those that would do if no draw came twice.
/// Short rows of narrow formats have few values.
const PATIENCE: u64 = 2;

/// Asks at least `count` fresh dot products, the same number of each distribution, and compares them with a model.
///
/// A tile's rows and columns are drawn one by one, or, every other tile, are small changes of one row and one column: so
/// cancellation and ladders are met by every element. Of a tile that has more elements than `count` needs at ten to a row
/// and a column, some are compared: every row and every column, and every place of the tile as often as any other.
///
/// # Errors
/// What the unit contract says.
pub(super) fn validate(
    asker: &mut Asker<'_>,
    model: &Model,
    count: u64,
    seed: u64,
    extent: Extent,
) -> Result<(Validation, Vec<Observation>), UnitError> {
    asker.enter(Stage::Validation);
    let spec = asker.spec().clone();
    let (m, n, k) = (spec.shape.m, spec.shape.n, spec.shape.k);
    let evaluator = Evaluator::new(model, k).ok();
    let kinds = Distribution::ALL.len() as u64;
    let lines = count.div_ceil(PRODUCTS_A_LINE).div_ceil(kinds);
    let for_lines = lines.div_ceil(m.min(n) as u64);
    let least = count.div_ceil(kinds).div_ceil((m * n) as u64).max(for_lines);
    let each_tile = count.div_ceil(kinds).max((m * n) as u64).div_ceil(least).max(m.max(n) as u64) as usize;
    let mut walked = 0;
    let mut seen = Lines::default();
    let mut wrong = vec![0u64; m * n];
    let mut at_each = vec![0u64; m * n];
    let mut counterexamples = Vec::new();
    let mut distributions = Vec::new();
    for (number, distribution) in Distribution::ALL.into_iter().enumerate() {
        let (mut done, mut asked, mut mismatches) = (0, 0, 0);
        let from = counterexamples.len();
        let wanted = lines * (number as u64 + 1);
        while done < least || seen.fewest() < wanted && done < PATIENCE * for_lines {
            if extent == Extent::UntilRefuted && counterexamples.len() - from >= KEPT / Distribution::ALL.len() {
                break;
            }
            let left = if done < least { least - done } else { for_lines.div_ceil(8) };
            let tiles = left.min((TILES_PRODUCTS / (m * n)).clamp(1, TILES) as u64) as usize;
            let mut batch = Batch::zeroed(&spec, tiles);
            let mut drawn_lines: Vec<(Vec<Question>, Vec<Question>)> = Vec::with_capacity(tiles);
            for tile in 0..tiles {
                let drawn = lines_of(&spec, distribution, seed, done + tile as u64);
                drawn.0.iter().enumerate().for_each(|(i, q)| batch.place_row(&spec, tile, i, q));
                drawn.1.iter().enumerate().for_each(|(j, q)| batch.place_column(&spec, tile, j, q));
                for (i, q) in drawn.0.iter().enumerate() {
                    (0..n).for_each(|j| batch.c.set(tile * m + i, j, added(q, &drawn.1[j], i + j)));
                }
                seen.rows.extend(drawn.0.iter().map(|q| digest(&q.a, &q.a_scales)));
                seen.columns.extend(drawn.1.iter().map(|q| digest(&q.b, &q.b_scales)));
                drawn_lines.push(drawn);
            }
            let d = asker.execute(&batch)?;
            let mut scratch = evaluator.as_ref().map(|e| e.scratch());
            for (tile, (row, column)) in drawn_lines.iter().enumerate() {
                let a: Vec<Line> =
                    row.iter().filter_map(|q| Some(evaluator.as_ref()?.line_of_a(&q.a, &q.a_scales))).collect();
                let b: Vec<Line> =
                    column.iter().filter_map(|q| Some(evaluator.as_ref()?.line_of_b(&q.b, &q.b_scales))).collect();
                for (i, j) in elements(m, n, walked, each_tile) {
                    let (x, y) = (&row[i], &column[j]);
                    let c = batch.c.get(tile * m + i, j);
                    let found = d.get(tile * m + i, j);
                    asked += 1;
                    at_each[i * n + j] += 1;
                    let same = match (&evaluator, &mut scratch) {
                        (Some(evaluator), Some(scratch)) => evaluator.dot_lines(scratch, &a[i], &b[j], c) == found,
                        _ => false,
                    };
                    if same {
                        continue;
                    }
                    mismatches += 1;
                    wrong[i * n + j] += 1;
                    if counterexamples.len() - from < KEPT / Distribution::ALL.len() {
                        let (a_scales, b_scales) = (x.a_scales.clone(), y.b_scales.clone());
                        let question = Question { a: x.a.clone(), b: y.b.clone(), c, a_scales, b_scales };
                        counterexamples.push(Observation { question, d: found });
                    }
                }
                walked += each_tile;
            }
            done += tiles as u64;
        }
        distributions.push(Tested { distribution, asked, mismatches, bound: 3.0 / asked as f64 });
    }
    let at_each_element = at_each.into_iter().min().unwrap_or(0);
    let places = (0..m * n).filter(|&p| wrong[p] > 0).map(|p| (p / n, p % n, wrong[p])).take(64);
    let validation = Validation {
        seed,
        distributions,
        rows: seen.rows.len() as u64,
        columns: seen.columns.len() as u64,
        at_each_element,
        element_bound: 3.0 / at_each_element as f64,
        elements: places.collect(),
    };
    Ok((validation, counterexamples))
}

/// Tiles of questions at the places where the parameters of a model show, all elements compared, and what refutes it.
///
/// Elements off the diagonal pair the row of one question with the column of another: few terms of sizes that matter, too.
///
/// # Errors
/// What the unit contract says.
pub(super) fn at_its_places(
    asker: &mut Asker<'_>,
    model: &Model,
    scope: &Scope,
    count: usize,
    seed: u64,
) -> Result<Vec<Observation>, UnitError> {
    asker.enter(Stage::Validation);
    let spec = asker.spec().clone();
    let (m, n, k) = (spec.shape.m, spec.shape.n, spec.shape.k);
    let Ok(evaluator) = Evaluator::new(model, k) else { return Ok(Vec::new()) };
    let hints = Hints::of(model);
    let mut scratch = evaluator.scratch();
    let mut wrong = Vec::new();
    let tiles = count.div_ceil(m * n).max(1);
    let a_call = (TILES_PRODUCTS / (m * n)).clamp(1, TILES);
    for first in (0..tiles).step_by(a_call) {
        let some = a_call.min(tiles - first);
        let mut batch = Batch::zeroed(&spec, some);
        let mut drawn: Vec<Vec<Question>> = Vec::with_capacity(some);
        for tile in 0..some {
            let one =
                |i: usize| directed(&spec, scope, &hints, Dice::new(seed, ((first + tile) * m.max(n) + i) as u64));
            let lines: Vec<Question> = (0..m.max(n)).map(one).collect();
            (0..m).for_each(|i| batch.place_row(&spec, tile, i, &lines[i]));
            (0..n).for_each(|j| batch.place_column(&spec, tile, j, &lines[j]));
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                batch.c.set(tile * m + i, j, added(&lines[i], &lines[j], i + j));
            }
            drawn.push(lines);
        }
        let d = asker.execute(&batch)?;
        for (tile, lines) in drawn.iter().enumerate() {
            let a: Vec<Line> = lines[..m].iter().map(|q| evaluator.line_of_a(&q.a, &q.a_scales)).collect();
            let b: Vec<Line> = lines[..n].iter().map(|q| evaluator.line_of_b(&q.b, &q.b_scales)).collect();
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let (c, found) = (batch.c.get(tile * m + i, j), d.get(tile * m + i, j));
                if evaluator.dot_lines(&mut scratch, &a[i], &b[j], c) != found && wrong.len() < KEPT {
                    let (x, y) = (&lines[i], &lines[j]);
                    let (a_scales, b_scales) = (x.a_scales.clone(), y.b_scales.clone());
                    let question = Question { a: x.a.clone(), b: y.b.clone(), c, a_scales, b_scales };
                    wrong.push(Observation { question, d: found });
                }
            }
        }
        if wrong.len() >= KEPT / 4 {
            break;
        }
    }
    Ok(wrong)
}

/// Digests of the rows and columns that were asked.
#[derive(Default)]
struct Lines {
    rows: HashSet<u64>,
    columns: HashSet<u64>,
}

impl Lines {
    /// How many distinct ones there are of those of which there are fewer.
    fn fewest(&self) -> u64 {
        self.rows.len().min(self.columns.len()) as u64
    }
}

/// `count` elements of a tile, from number `from` of an endless walk along its diagonals on. The walk meets every element
/// once before it meets one again, and every row and column in any max(m, n) elements of one diagonal.
fn elements(m: usize, n: usize, from: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    let common = (1..=m.min(n)).rev().find(|d| m.is_multiple_of(*d) && n.is_multiple_of(*d)).unwrap_or(1);
    let diagonal = m / common * n;
    (from..from + count).map(move |q| {
        let q = q % (m * n);
        (q % m, (q + q / diagonal) % n)
    })
}

/// c of an element: that of its row's or its column's draw.
fn added(row: &Question, column: &Question, turn: usize) -> u64 {
    if turn.is_multiple_of(2) { row.c } else { column.c }
}

/// The rows and the columns of one tile.
fn lines_of(spec: &UnitSpec, distribution: Distribution, seed: u64, tile: u64) -> (Vec<Question>, Vec<Question>) {
    let (m, n) = (spec.shape.m, spec.shape.n);
    let mut dice = Dice::new(seed ^ (distribution as u64 + 1) << 56, tile);
    let mut draw = |count: usize, near: Option<&Question>| -> Vec<Question> {
        let one = |index: usize, dice: &mut Dice| match near {
            Some(base) => changed(spec, base, index, dice),
            None => super::pool::drawn(spec, distribution, dice.word(), index as u64),
        };
        (0..count).map(|index| one(index, &mut dice)).collect()
    };
    if tile.is_multiple_of(2) {
        // Rows and columns of the same draws: elements on the diagonal are questions of the distribution as it is.
        let lines = draw(m.max(n), None);
        return (lines[..m].to_vec(), lines[..n].to_vec());
    }
    let base = draw(1, None);
    (draw(m, base.first()), draw(n, base.first()))
}

/// A question with a few low bits of its row, its column and its c changed; number 0 keeps all.
fn changed(spec: &UnitSpec, base: &Question, index: usize, dice: &mut Dice) -> Question {
    let mut question = base.clone();
    if index == 0 {
        return question;
    }
    let t = spec.triple;
    let turn = |format: rigel_numerics::Format, code: &mut u64, dice: &mut Dice| {
        let ignored = if format == rigel_numerics::Format::Tf32 { 13 } else { 0 };
        let bits = (format.precision().max(3) as usize - 1).min(6);
        let other = *code ^ 1 << (ignored + dice.below(bits) as u32);
        let sign = if format.is_signed() && dice.one_in(4) { 1 << (format.bits() - 1) } else { 0 };
        *code = (other ^ sign) & format.code_mask();
    };
    for _ in 0..1 + dice.below(2) {
        let (i, j) = (dice.below(question.a.len()), dice.below(question.b.len()));
        turn(t.a, &mut question.a[i], dice);
        turn(t.b, &mut question.b[j], dice);
    }
    if dice.one_in(2) {
        turn(t.c, &mut question.c, dice);
    }
    question
}

/// A word for a line; 10⁶ lines share one with probability below 10⁻⁷.
fn digest(codes: &[u64], scales: &[u64]) -> u64 {
    codes
        .iter()
        .chain(scales)
        .fold(0, |word, &code| rigel_numerics::random::mix(word.wrapping_add(rigel_numerics::random::GOLDEN) ^ code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_walk_over_a_tile_meets_every_element_alike_and_every_line_in_between() {
        for (m, n) in [(1, 16), (4, 4), (16, 8), (8, 12), (64, 96), (5, 7)] {
            let all: HashSet<(usize, usize)> = elements(m, n, 0, m * n).collect();
            assert_eq!(all.len(), m * n, "{m} x {n}");
            let part: Vec<(usize, usize)> = elements(m, n, 3 * m.max(n), m.max(n)).collect();
            let rows: HashSet<usize> = part.iter().map(|e| e.0).collect();
            let columns: HashSet<usize> = part.iter().map(|e| e.1).collect();
            assert!(rows.len() == m && columns.len() >= n - 1, "{m} x {n}: {part:?}");
        }
    }
}
