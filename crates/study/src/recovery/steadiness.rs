//! Is an output a function of its row, its column and c, and of nothing else?

use super::dice::Dice;
use super::question::{Asker, Batch, Question, Stage};
use rigel_device::unit::UnitError;
use rigel_numerics::arithmetic::Distribution;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why no model of the family can describe a unit: one question with two answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsteady {
    /// What was changed between the two answers.
    pub on: Dependence,
    /// The question.
    pub question: Question,
    /// The answer of the first element of a first tile that holds nothing but this question.
    pub first: u64,
    /// The other answer.
    pub other: u64,
    /// Row and column of the element that gave it.
    pub element: (usize, usize),
}

/// What an output must not depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dependence {
    /// The moment: the very same batch was executed twice.
    Repetition,
    /// Its place: all rows and all columns of the tile were alike.
    Element,
    /// Other rows and columns of its tile.
    Neighbours,
    /// Other tiles of the batch, or their number.
    Batch,
}

impl fmt::Display for Dependence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Dependence::Repetition => "the same batch gives different bits when it is repeated",
            Dependence::Element => "elements of one tile give different bits for the same row, column and c",
            Dependence::Neighbours => "an output depends on other rows and columns of its tile",
            Dependence::Batch => "an output depends on the batch that its tile rides in",
        })
    }
}

/// Questions that are repeated.
const QUESTIONS: usize = 12;
/// Most elements of a tile that are given strange neighbours.
const PLACES: usize = 8;

/// The first question found with two answers, if any.
///
/// # Errors
/// What the unit contract says.
pub(super) fn unsteady(asker: &mut Asker<'_>, seed: u64) -> Result<Option<Unsteady>, UnitError> {
    asker.enter(Stage::Steadiness);
    let spec = asker.spec().clone();
    let (m, n) = (spec.shape.m, spec.shape.n);
    let mut dice = Dice::new(seed, 1);
    let mut ask = |i: usize| {
        let distribution = Distribution::ALL[i % Distribution::ALL.len()];
        super::pool::drawn(&spec, distribution, dice.word(), i as u64)
    };
    let questions: Vec<Question> = (0..QUESTIONS).map(&mut ask).collect();
    let strangers: Vec<Question> = (0..m.max(n)).map(&mut ask).collect();

    let mut alike = Batch::zeroed(&spec, QUESTIONS);
    for (tile, question) in questions.iter().enumerate() {
        (0..m).for_each(|row| alike.place_row(&spec, tile, row, question));
        (0..n).for_each(|column| alike.place_column(&spec, tile, column, question));
        (0..m).for_each(|row| (0..n).for_each(|column| alike.c.set(tile * m + row, column, question.c)));
    }
    let once = asker.execute(&alike)?;
    let found = |on, tile: usize, element, other| {
        let (question, first) = (questions[tile].clone(), once.get(tile * m, 0));
        (first != other).then_some(Unsteady { on, question, first, other, element })
    };
    let elements = || (0..QUESTIONS).flat_map(|t| (0..m).flat_map(move |r| (0..n).map(move |c| (t, r, c))));
    for _ in 0..2 {
        let again = asker.execute(&alike)?;
        for (t, r, c) in elements() {
            if again.get(t * m + r, c) != once.get(t * m + r, c) {
                let question = questions[t].clone();
                let (first, other) = (once.get(t * m + r, c), again.get(t * m + r, c));
                return Ok(Some(Unsteady { on: Dependence::Repetition, question, first, other, element: (r, c) }));
            }
        }
    }
    if let Some(unsteady) =
        elements().find_map(|(t, r, c)| found(Dependence::Element, t, (r, c), once.get(t * m + r, c)))
    {
        return Ok(Some(unsteady));
    }

    // One element after another keeps its question while everything around it is strange.
    let places: Vec<(usize, usize)> = (0..PLACES.min(m * n)).map(|_| (dice.below(m), dice.below(n))).collect();
    let mut crowd = Batch::zeroed(&spec, QUESTIONS * places.len());
    let tiles = || (0..QUESTIONS).flat_map(|q| (0..places.len()).map(move |p| (q, p)));
    for (q, p) in tiles() {
        let tile = q * places.len() + p;
        (0..m).for_each(|row| crowd.place_row(&spec, tile, row, &strangers[(row + p) % strangers.len()]));
        (0..n).for_each(|column| crowd.place_column(&spec, tile, column, &strangers[(column + q) % strangers.len()]));
        (0..m).for_each(|r| (0..n).for_each(|c| crowd.c.set(tile * m + r, c, strangers[(r + c) % strangers.len()].c)));
        crowd.place(&spec, tile, places[p], &questions[q]);
    }
    let crowded = asker.execute(&crowd)?;
    for (q, p) in tiles() {
        let other = crowded.get((q * places.len() + p) * m + places[p].0, places[p].1);
        if let Some(unsteady) = found(Dependence::Neighbours, q, places[p], other) {
            return Ok(Some(unsteady));
        }
    }
    for (q, question) in questions.iter().enumerate() {
        let mut alone = Batch::zeroed(&spec, 1);
        alone.place(&spec, 0, (0, 0), question);
        let other = asker.execute(&alone)?.get(0, 0);
        if let Some(unsteady) = found(Dependence::Batch, q, (0, 0), other) {
            return Ok(Some(unsteady));
        }
    }
    Ok(None)
}
