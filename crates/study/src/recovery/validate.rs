//! Does a model predict every bit of fresh dot products, at every place of a tile?

use super::dice::Dice;
use super::question::{Asker, Batch, Observation, Question, Stage};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_ledger::units::{Tested, Validation};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Line, Model};
use std::collections::HashSet;

/// Tiles of one call.
const TILES: usize = 512;
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

/// Asks at least `count` fresh dot products, the same number of each distribution, and compares every output.
///
/// A tile's rows and columns are drawn one by one, or, every other tile, are small changes of one row and one column: so
/// cancellation and ladders are met by every element. All m · n outputs of a tile are compared.
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
    let each = count.div_ceil(Distribution::ALL.len() as u64).div_ceil((m * n) as u64);
    let (mut rows, mut columns): (HashSet<u64>, HashSet<u64>) = (HashSet::new(), HashSet::new());
    let mut wrong = vec![0u64; m * n];
    let mut counterexamples = Vec::new();
    let mut distributions = Vec::new();
    for distribution in Distribution::ALL {
        let (mut done, mut mismatches) = (0, 0);
        let from = counterexamples.len();
        while done < each {
            if extent == Extent::UntilRefuted && counterexamples.len() - from >= KEPT / Distribution::ALL.len() {
                break;
            }
            let tiles = (each - done).min(TILES as u64) as usize;
            let mut batch = Batch::zeroed(&spec, tiles);
            let mut drawn_lines: Vec<(Vec<Question>, Vec<Question>)> = Vec::with_capacity(tiles);
            for tile in 0..tiles {
                let drawn = lines_of(&spec, distribution, seed, done + tile as u64);
                drawn.0.iter().enumerate().for_each(|(i, q)| batch.place_row(&spec, tile, i, q));
                drawn.1.iter().enumerate().for_each(|(j, q)| batch.place_column(&spec, tile, j, q));
                for (i, q) in drawn.0.iter().enumerate() {
                    (0..n).for_each(|j| batch.c.set(tile * m + i, j, added(q, &drawn.1[j], i + j)));
                }
                rows.extend(drawn.0.iter().map(|q| digest(&q.a, &q.a_scales)));
                columns.extend(drawn.1.iter().map(|q| digest(&q.b, &q.b_scales)));
                drawn_lines.push(drawn);
            }
            let d = asker.execute(&batch)?;
            let mut scratch = evaluator.as_ref().map(|e| e.scratch());
            for (tile, (row, column)) in drawn_lines.iter().enumerate() {
                let a: Vec<Line> =
                    row.iter().filter_map(|q| Some(evaluator.as_ref()?.line_of_a(&q.a, &q.a_scales))).collect();
                let b: Vec<Line> =
                    column.iter().filter_map(|q| Some(evaluator.as_ref()?.line_of_b(&q.b, &q.b_scales))).collect();
                for (i, x) in row.iter().enumerate() {
                    for (j, y) in column.iter().enumerate() {
                        let c = batch.c.get(tile * m + i, j);
                        let found = d.get(tile * m + i, j);
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
                }
            }
            done += tiles as u64;
        }
        let asked = done * (m * n) as u64;
        distributions.push(Tested { distribution, asked, mismatches, bound: 3.0 / asked as f64 });
    }
    let at_each_element = distributions.iter().map(|t: &Tested| t.asked).sum::<u64>() / (m * n) as u64;
    let places = (0..m * n).filter(|&p| wrong[p] > 0).map(|p| (p / n, p % n, wrong[p])).take(64);
    let validation = Validation {
        seed,
        distributions,
        rows: rows.len() as u64,
        columns: columns.len() as u64,
        at_each_element,
        element_bound: 3.0 / at_each_element as f64,
        elements: places.collect(),
    };
    Ok((validation, counterexamples))
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
