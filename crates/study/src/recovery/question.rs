//! How are single dot products asked of a unit, and how many tiles does that take?

use rigel_device::unit::{Operands, Unit, UnitError, UnitSpec, execute};
use rigel_numerics::arithmetic::Inputs;
use rigel_numerics::{Format, Matrix};
use serde::{Deserialize, Serialize};

/// The codes that make one output element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// A row of A.
    pub a: Vec<u64>,
    /// A column of B.
    pub b: Vec<u64>,
    /// c.
    pub c: u64,
    /// Scales of the row; empty for a unit without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub a_scales: Vec<u64>,
    /// Scales of the column.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub b_scales: Vec<u64>,
}

/// A question with the code that the unit gave.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// What was asked.
    pub question: Question,
    /// What came out.
    pub d: u64,
}

/// What tiles are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Whether an output is a function of its row, its column and c.
    Steadiness,
    /// Which k are added where.
    Structure,
    /// Widths, cuts, roundings, corners.
    Parameters,
    /// What remaining candidates differ on.
    Elimination,
    /// Fresh dot products.
    Validation,
}

impl Stage {
    /// Every stage, in the order in which they run.
    pub const ALL: [Stage; 5] =
        [Stage::Steadiness, Stage::Structure, Stage::Parameters, Stage::Elimination, Stage::Validation];
}

/// Tiles that were executed, by stage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    /// For [`Stage::Steadiness`].
    pub steadiness: u64,
    /// For [`Stage::Structure`].
    pub structure: u64,
    /// For [`Stage::Parameters`].
    pub parameters: u64,
    /// For [`Stage::Elimination`].
    pub elimination: u64,
    /// For [`Stage::Validation`].
    pub validation: u64,
}

impl Probes {
    /// Tiles of all stages but validation.
    pub const fn before_validation(&self) -> u64 {
        self.steadiness + self.structure + self.parameters + self.elimination
    }

    fn of(&mut self, stage: Stage) -> &mut u64 {
        match stage {
            Stage::Steadiness => &mut self.steadiness,
            Stage::Structure => &mut self.structure,
            Stage::Parameters => &mut self.parameters,
            Stage::Elimination => &mut self.elimination,
            Stage::Validation => &mut self.validation,
        }
    }
}

impl Question {
    /// Zeros everywhere, scales of 1.
    pub fn zero(spec: &UnitSpec) -> Question {
        let k = spec.shape.k;
        let scales = spec.scales.map_or(Vec::new(), |s| vec![scale_of_one(s.format); k / s.group.max(1)]);
        Question { a: vec![0; k], b: vec![0; k], c: 0, a_scales: scales.clone(), b_scales: scales }
    }

    /// As an evaluator takes it.
    pub fn inputs(&self) -> Inputs<'_> {
        Inputs { a: &self.a, b: &self.b, c: self.c, a_scales: &self.a_scales, b_scales: &self.b_scales }
    }
}

/// The code of 1 of a format of scales.
pub(super) fn scale_of_one(format: Format) -> u64 {
    use rigel_numerics::{Overflow, Rounding};
    format.encode(1.0, Rounding::NearestEven, Overflow::Saturate)
}

/// A unit, and a count of what it was asked.
pub struct Asker<'u> {
    unit: &'u mut dyn Unit,
    spec: UnitSpec,
    probes: Probes,
    stage: Stage,
}

/// Operands of a batch of tiles.
pub(super) struct Batch {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub scales: Option<(Matrix, Matrix)>,
}

/// Tiles of one call. The result does not depend on it unless the unit does.
const TILES_A_CALL: usize = 256;

impl<'u> Asker<'u> {
    /// Asks a unit.
    pub fn new(unit: &'u mut dyn Unit) -> Asker<'u> {
        let spec = unit.spec().clone();
        Asker { unit, spec, probes: Probes::default(), stage: Stage::Steadiness }
    }

    /// What the unit declares of itself.
    pub fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    /// What was asked so far.
    pub fn probes(&self) -> Probes {
        self.probes
    }

    /// From now on tiles count for this stage.
    pub fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// The unit's answers, in order. A tile holds min(m, n) questions, on its diagonal.
    ///
    /// # Errors
    /// What the unit contract says.
    pub fn ask(&mut self, questions: &[Question]) -> Result<Vec<u64>, UnitError> {
        let shape = self.spec.shape;
        let side = shape.m.min(shape.n).max(1);
        let mut answers = Vec::with_capacity(questions.len());
        for call in questions.chunks(side * TILES_A_CALL) {
            let mut batch = Batch::zeroed(&self.spec, call.len().div_ceil(side));
            for (q, question) in call.iter().enumerate() {
                batch.place(&self.spec, q / side, (q % side, q % side), question);
            }
            let d = self.execute(&batch)?;
            answers.extend((0..call.len()).map(|q| d.get(q / side * shape.m + q % side, q % side)));
        }
        Ok(answers)
    }

    /// The answers together with their questions.
    ///
    /// # Errors
    /// What the unit contract says.
    pub fn observe(&mut self, questions: Vec<Question>) -> Result<Vec<Observation>, UnitError> {
        let answers = self.ask(&questions)?;
        Ok(questions.into_iter().zip(answers).map(|(question, d)| Observation { question, d }).collect())
    }

    /// D of a batch.
    pub(super) fn execute(&mut self, batch: &Batch) -> Result<Matrix, UnitError> {
        *self.probes.of(self.stage) += (batch.c.rows / self.spec.shape.m.max(1)) as u64;
        let scales = batch.scales.as_ref().map(|(a, b)| (a, b));
        execute(self.unit, Operands { a: &batch.a, b: &batch.b, c: &batch.c, scales })
    }
}

impl Batch {
    /// Zeros, scales of 1.
    pub(super) fn zeroed(spec: &UnitSpec, tiles: usize) -> Batch {
        let (shape, t) = (spec.shape, spec.triple);
        let scales = spec.scales.map(|s| {
            let groups = shape.k / s.group.max(1);
            let ones = |rows, cols| {
                let mut matrix = Matrix::zeroed(s.format, rows, cols);
                (0..rows).for_each(|r| (0..cols).for_each(|c| matrix.set(r, c, scale_of_one(s.format))));
                matrix
            };
            (ones(tiles * shape.m, groups), ones(tiles * groups, shape.n))
        });
        Batch {
            a: Matrix::zeroed(t.a, tiles * shape.m, shape.k),
            b: Matrix::zeroed(t.b, tiles * shape.k, shape.n),
            c: Matrix::zeroed(t.c, tiles * shape.m, shape.n),
            scales,
        }
    }

    /// Puts a question where element (row, column) of a tile answers it.
    pub(super) fn place(&mut self, spec: &UnitSpec, tile: usize, (row, column): (usize, usize), question: &Question) {
        self.place_row(spec, tile, row, question);
        self.place_column(spec, tile, column, question);
        self.c.set(tile * spec.shape.m + row, column, question.c);
    }

    /// Puts the row of a question, with its scales.
    pub(super) fn place_row(&mut self, spec: &UnitSpec, tile: usize, row: usize, question: &Question) {
        let r = tile * spec.shape.m + row;
        question.a.iter().enumerate().for_each(|(l, &code)| self.a.set(r, l, code));
        if let Some((scales, _)) = &mut self.scales {
            question.a_scales.iter().enumerate().for_each(|(g, &code)| scales.set(r, g, code));
        }
    }

    /// Puts the column of a question, with its scales.
    pub(super) fn place_column(&mut self, spec: &UnitSpec, tile: usize, column: usize, question: &Question) {
        let k = spec.shape.k;
        question.b.iter().enumerate().for_each(|(l, &code)| self.b.set(tile * k + l, column, code));
        if let Some((_, scales)) = &mut self.scales {
            let groups = question.b_scales.len();
            question.b_scales.iter().enumerate().for_each(|(g, &code)| scales.set(tile * groups + g, column, code));
        }
    }
}
