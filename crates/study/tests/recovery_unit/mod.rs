//! A unit that computes what a planted model says, or deviates from it.
#![allow(dead_code)]

use rigel_device::Fault;
use rigel_device::unit::{Operands, ScaleSpec, Unit, UnitSpec};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, Line, Model, ModelError, Scratch};
use rigel_numerics::random::{draw, mix, stream};
use rigel_numerics::{Matrix, Shape};
use rigel_study::recovery::Question;

/// How a planted unit deviates from its model.
#[derive(Debug, Clone)]
pub enum Deviation {
    /// Not at all.
    None,
    /// One output in so many, at random, has its last bit turned.
    Random(u64),
    /// One output in so many, chosen by a digest of its operands.
    ByData(u64),
    /// One element of the tile is always off by its last bit.
    Element(usize, usize),
    /// What lies above this k is computed by another model, from what the first one left.
    Above(usize, Box<Evaluator>, Box<Evaluator>),
    /// The first row of a tile leaks into the others.
    Neighbours,
}

/// A planted unit.
pub struct Planted {
    spec: UnitSpec,
    evaluator: Evaluator,
    deviation: Deviation,
    outputs: u64,
    /// Tiles that it was asked.
    pub tiles: u64,
}

impl Planted {
    pub fn new(model: &Model, (m, n): (usize, usize), k: usize, deviation: Deviation) -> Result<Planted, ModelError> {
        let evaluator = Evaluator::new(model, k)?;
        let spec = UnitSpec {
            name: "planted".into(),
            path: "planted".into(),
            triple: model.triple,
            shape: Shape::new(m, n, k),
            scales: model.scales.map(|s| ScaleSpec { format: s.a, group: s.group }),
            fragments: None,
            source: "a planted model".into(),
        };
        Ok(Planted { spec, evaluator, deviation, outputs: 0, tiles: 0 })
    }

    /// Whether a unit can declare the scales of a model: both of one format, groups that divide k.
    pub fn can_declare(model: &Model, k: usize) -> bool {
        model.scales.is_none_or(|s| s.a == s.b && k.is_multiple_of(s.group))
    }

    /// What the model gives, or the two of them.
    fn computed(&self, scratch: &mut Scratch, (a, b): (&Line, &Line), inputs: Inputs<'_>) -> u64 {
        let Deviation::Above(at, below, above) = &self.deviation else {
            return self.evaluator.dot_lines(scratch, a, b, inputs.c);
        };
        let (a, b) = (inputs.a.split_at(*at), inputs.b.split_at(*at));
        let middle = below.dot(&mut below.scratch(), Inputs::new(a.0, b.0, inputs.c));
        above.dot(&mut above.scratch(), Inputs::new(a.1, b.1, middle))
    }

    fn is_off(&mut self, (row, column): (usize, usize), inputs: Inputs<'_>, first_row: &[u64]) -> bool {
        self.outputs += 1;
        let digest =
            || inputs.a.iter().chain(inputs.b).fold(mix(!inputs.c), |w, &x| mix(w ^ x.wrapping_mul(0x9e37_79b9)));
        match &self.deviation {
            Deviation::None | Deviation::Above(..) => false,
            Deviation::Random(n) => draw(0xDEAD, self.outputs).is_multiple_of(*n),
            Deviation::ByData(n) => digest().is_multiple_of(*n),
            Deviation::Element(r, c) => (row, column) == (*r, *c),
            Deviation::Neighbours => row > 0 && first_row.first().is_some_and(|x| x & 1 == 1),
        }
    }
}

impl Unit for Planted {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let Shape { m, n, k } = self.spec.shape;
        let mut d = Matrix::zeroed(self.spec.triple.c, operands.c.rows, n);
        let groups = self.spec.scales.map_or(0, |s| k / s.group);
        let row_of = |x: &Matrix, r: usize| (0..x.cols).map(|c| x.get(r, c)).collect::<Vec<u64>>();
        let column_of = |x: &Matrix, c: usize, from: usize, rows: usize| {
            (from..from + rows).map(|r| x.get(r, c)).collect::<Vec<u64>>()
        };
        for tile in 0..operands.c.rows / m {
            self.tiles += 1;
            let columns: Vec<Vec<u64>> = (0..n).map(|c| column_of(operands.b, c, tile * k, k)).collect();
            let scales: Vec<Vec<u64>> = (0..n)
                .map(|c| operands.scales.map_or(Vec::new(), |(_, s)| column_of(s, c, tile * groups, groups)))
                .collect();
            let first = row_of(operands.a, tile * m);
            let decoded: Vec<Line> =
                columns.iter().zip(&scales).map(|(b, scales)| self.evaluator.line_of_b(b, scales)).collect();
            let mut scratch = self.evaluator.scratch();
            for r in 0..m {
                let row = row_of(operands.a, tile * m + r);
                let a_scales = operands.scales.map_or(Vec::new(), |(s, _)| row_of(s, tile * m + r));
                let line = self.evaluator.line_of_a(&row, &a_scales);
                for c in 0..n {
                    let (a, b) = (row.as_slice(), columns[c].as_slice());
                    let addend = operands.c.get(tile * m + r, c);
                    let inputs = Inputs { a, b, c: addend, a_scales: &a_scales, b_scales: &scales[c] };
                    let code = self.computed(&mut scratch, (&line, &decoded[c]), inputs);
                    let off = self.is_off((r, c), inputs, &first);
                    d.set(tile * m + r, c, code ^ u64::from(off));
                }
            }
        }
        Ok(d)
    }
}

/// Whether two models are one function on `count` inputs of each distribution.
pub fn same_function(one: &Model, other: &Model, k: usize, seed: u64, count: u64) -> bool {
    let (Ok(first), Ok(second)) = (Evaluator::new(one, k), Evaluator::new(other, k)) else { return false };
    let (mut scratch, mut other_scratch) = (first.scratch(), second.scratch());
    Distribution::ALL.into_iter().all(|distribution| {
        (0..count).all(|index| {
            let inputs = distribution.inputs(one, k, stream(seed, 9), index);
            first.dot(&mut scratch, inputs.codes()) == second.dot(&mut other_scratch, inputs.codes())
        })
    })
}

/// What a model gives for a question.
pub fn answer(model: &Model, k: usize, question: &Question) -> Option<u64> {
    let evaluator = Evaluator::new(model, k).ok()?;
    Some(evaluator.dot(&mut evaluator.scratch(), question.inputs()))
}
