//! What does a model make of given codes, fast?

use super::aligned::Term;
use super::check::ModelError;
use super::intake::{Intake, ScaledPart};
use super::model::{Model, NanRule};
use super::operand::{Decoder, Row, scale};
use super::program::{Op, Program, RuleOutput};
use super::round::{Rounder, code, integer};
use super::special::Nans;
use super::sum::{Align, ProductExponent, ZeroProducts, ZeroSign};
use super::value::{Class, Total, Value};
use super::{Node, exactly};
use crate::{Format, Matrix, packing};
use rayon::prelude::*;

/// A model made ready for one K. It does not change and may be shared by threads; each brings a [`Scratch`].
#[derive(Debug, Clone)]
pub struct Evaluator {
    model: Model,
    k: usize,
    program: Program,
    a: Decoder,
    b: Decoder,
    c: Decoder,
    scales: Option<[Decoder; 2]>,
    nans: Nans,
    store: Option<Rounder>,
}

/// Memory that one evaluation leaves to the next. It belongs to the evaluator that made it.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    a: Row,
    b: Row,
    values: Vec<Value>,
    terms: Vec<Term>,
}

/// The codes that make one output element.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// K codes of a row of A.
    pub a: &'a [u64],
    /// K codes of a column of B.
    pub b: &'a [u64],
    /// The code of c.
    pub c: u64,
    /// ⌈K ÷ group⌉ scale codes of the row; empty for a model without scales.
    pub a_scales: &'a [u64],
    /// Scale codes of the column.
    pub b_scales: &'a [u64],
}

impl<'a> Inputs<'a> {
    /// Inputs without scales.
    pub const fn new(a: &'a [u64], b: &'a [u64], c: u64) -> Inputs<'a> {
        Inputs { a, b, c, a_scales: &[], b_scales: &[] }
    }
}

/// Matrices that do not make the tile of an evaluator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {rows} x {cols} of {format}; this evaluator takes {expected}")]
pub struct TileError {
    what: &'static str,
    rows: usize,
    cols: usize,
    format: Format,
    expected: String,
}

impl Evaluator {
    /// Makes a model ready for rows of `k` elements.
    ///
    /// # Errors
    /// What [`Model::check`] says, for this K.
    pub fn new(model: &Model, k: usize) -> Result<Evaluator, ModelError> {
        model.check_form()?;
        let program = Program::new(model, k)?;
        let t = model.triple;
        let (products, zeros) = product_rules(&model.body);
        let decoder = |format, intake: &Intake| Decoder::new(format, intake, products, zeros);
        let scales = model.scales.map(|s| [s.a, s.b].map(|f| plain(f, &Intake::default())));
        let output = plain(t.c, &Intake::default());
        Ok(Evaluator {
            a: decoder(t.a, &model.a),
            b: decoder(t.b, &model.b),
            c: plain(t.c, &model.c),
            scales,
            nans: Nans::new(&model.nan, |word| output.value(word)),
            store: model.store.as_ref().and_then(Rounder::new),
            model: model.clone(),
            k,
            program,
        })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Elements of a row of A and a column of B.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Memory for [`Evaluator::dot`].
    pub fn scratch(&self) -> Scratch {
        let mut scratch = Scratch { values: vec![Value::ZERO; self.program.slots], ..Scratch::default() };
        scratch.a.resize(self.program.order.len());
        scratch.b.resize(self.program.order.len());
        scratch
    }

    /// The code of d for one row, column and c.
    ///
    /// # Panics
    /// When a slice has not the length that [`Inputs`] states, or the scratch comes from an evaluator of another K.
    pub fn dot(&self, scratch: &mut Scratch, inputs: Inputs<'_>) -> u64 {
        assert_eq!((inputs.a.len(), inputs.b.len()), (self.k, self.k), "a row and a column of {} codes", self.k);
        let groups = self.model.scale_groups(self.k);
        assert_eq!((inputs.a_scales.len(), inputs.b_scales.len()), (groups, groups), "{groups} scales each");
        let factors = [self.scale_values(0, inputs.a_scales), self.scale_values(1, inputs.b_scales)];
        let Scratch { a, b, values, terms } = scratch;
        self.decode(&self.a, inputs.a, &factors[0], a);
        self.decode(&self.b, inputs.b, &factors[1], b);
        self.run(a, b, inputs.c, [&factors[0], &factors[1]], values, terms)
    }

    /// D of m × n from A (m × K), B (K × n) and C (m × n), over all cores. Rows and columns are decoded once each.
    ///
    /// # Errors
    /// [`TileError`] where a format or an extent does not fit, and for a model with scales: those take
    /// [`Evaluator::dot`].
    pub fn tile(&self, a: &Matrix, b: &Matrix, c: &Matrix) -> Result<Matrix, TileError> {
        let t = self.model.triple;
        let expect = |what, x: &Matrix, format: Format, rows: usize, cols: usize| {
            let (Matrix { rows: r, cols: s, format: f, .. }, expected) = (x, format!("{rows} x {cols} of {format}"));
            let fits = (*f, *r, *s) == (format, rows, cols) && x.bytes.len() == rows * Matrix::row_bytes(format, cols);
            if fits { Ok(()) } else { Err(TileError { what, rows: *r, cols: *s, format: *f, expected }) }
        };
        expect("A", a, t.a, a.rows, self.k)?;
        expect("B", b, t.b, self.k, b.cols)?;
        expect("C", c, t.c, a.rows, b.cols)?;
        if self.scales.is_some() {
            let expected = "rows with their scales: use `dot`".to_owned();
            return Err(TileError { what: "A", rows: a.rows, cols: a.cols, format: a.format, expected });
        }
        let decoded = |decoder: &Decoder, codes: Vec<u64>| {
            let mut row = Row::default();
            row.resize(self.program.order.len());
            self.decode(decoder, &codes, &[], &mut row);
            row
        };
        let columns: Vec<Row> = (0..b.cols)
            .into_par_iter()
            .map(|j| decoded(&self.b, (0..self.k).map(|i| b.get(i, j)).collect()))
            .collect();
        let mut d = Matrix::zeroed(t.c, a.rows, b.cols);
        let row_bytes = Matrix::row_bytes(t.c, b.cols);
        if row_bytes > 0 {
            d.bytes.par_chunks_mut(row_bytes).enumerate().for_each_init(
                || self.scratch(),
                |scratch, (i, bytes)| {
                    let row = decoded(&self.a, (0..self.k).map(|j| a.get(i, j)).collect());
                    for (j, column) in columns.iter().enumerate() {
                        let Scratch { values, terms, .. } = scratch;
                        packing::set(t.c, bytes, j, self.run(&row, column, c.get(i, j), [&[], &[]], values, terms));
                    }
                },
            );
        }
        Ok(d)
    }

    fn scale_values(&self, operand: usize, codes: &[u64]) -> Vec<Value> {
        let decoder = self.scales.as_ref().map(|s| &s[operand]);
        codes.iter().filter_map(|&code| decoder.map(|d| d.value(code))).collect()
    }

    fn decode(&self, decoder: &Decoder, codes: &[u64], scales: &[Value], row: &mut Row) {
        decoder.row(codes, &self.program.order, row);
        if let Some(s) = self.model.scales.filter(|s| s.on == ScaledPart::Products) {
            scale(row, &self.program.order, scales, s.group, decoder.zero_exponent);
        }
    }

    fn run(
        &self,
        a: &Row,
        b: &Row,
        c: u64,
        scales: [&[Value]; 2],
        values: &mut [Value],
        terms: &mut Vec<Term>,
    ) -> u64 {
        values[0] = self.c.value(c);
        values[1] = Value::ZERO;
        for op in &self.program.ops {
            let range = op.terms.start as usize..op.terms.end as usize;
            terms.clear();
            let slots = &self.program.terms[range];
            terms.extend(slots.iter().map(|&(slot, is_c)| Term { value: values[slot as usize], is_c }));
            values[op.out as usize] = self.sum(op, a, b, terms, scales);
        }
        let mut value = values[self.program.result as usize];
        if let Some(store) = &self.store {
            value = match value.class {
                Class::Nan => value,
                Class::Infinite => store.infinite(value.negative),
                _ => store.round(&Total {
                    negative: value.negative,
                    magnitude: u128::from(value.magnitude),
                    place: value.place,
                    sticky: false,
                    exponent: value.exponent,
                }),
            };
        }
        match (value.class, self.model.nan) {
            (Class::Nan, NanRule::Word(word)) => word,
            _ => code(self.model.triple.c, &value),
        }
    }

    #[inline]
    fn sum(&self, op: &Op, a: &Row, b: &Row, terms: &[Term], scales: [&[Value]; 2]) -> Value {
        let rule = &self.program.rules[op.rule as usize];
        let at = op.products.start as usize..op.products.end as usize;
        let places = self.program.products.places;
        let factor = op.group.map(|g| [scales[0], scales[1]].map(|s| s.get(g as usize).copied().unwrap_or(self.one())));
        let special = a.special || b.special || rule.product_limit.is_some();
        if special || terms.iter().any(|t| !t.value.is_finite()) {
            let found = self.nans.find(a, b, at.clone(), terms, rule.product_limit, places);
            if let Some(value) = found {
                return self.specially_left(&rule.output, value, factor);
            }
        }
        let mut total = match &rule.align {
            Some(aligner) => aligner.sum(a, b, at.clone(), terms),
            None => exactly::sum(a, b, at.clone(), terms, places),
        };
        if let Some([x, y]) = factor {
            if x.class == Class::Nan || y.class == Class::Nan {
                let nan = if x.class == Class::Nan { x } else { y };
                return self.specially_left(&rule.output, nan, None);
            }
            total.magnitude *= u128::from(x.magnitude) * u128::from(y.magnitude);
            total.place += x.place + y.place;
            total.exponent = x.exponent + y.exponent;
        }
        if total.magnitude == 0 {
            total.negative = rule.zero == ZeroSign::Ieee && all_negative(a, b, at, terms).unwrap_or(rule.down);
        }
        match &rule.output {
            RuleOutput::Rounded(rounder) => rounder.round(&total),
            RuleOutput::Integer(form) => {
                let magnitude = total.magnitude as i128;
                integer(form, if total.negative { -magnitude } else { magnitude })
            }
            RuleOutput::Unrounded => Value {
                class: Class::Unrounded,
                negative: total.negative,
                magnitude: total.magnitude as u64,
                place: total.place,
                exponent: total.exponent,
            },
        }
    }

    /// What an infinity or NaN becomes on its way out of a step whose sum is multiplied by scales.
    fn specially_left(&self, output: &RuleOutput, value: Value, factor: Option<[Value; 2]>) -> Value {
        let value = match factor {
            Some([x, y]) if value.class == Class::Infinite => {
                match [x, y].into_iter().find(|s| s.class == Class::Nan) {
                    Some(nan) => nan,
                    None if x.magnitude == 0 || y.magnitude == 0 => self.nans.arisen(),
                    None => value,
                }
            }
            _ => value,
        };
        match output {
            RuleOutput::Rounded(rounder) if value.class == Class::Infinite => rounder.infinite(value.negative),
            _ => value,
        }
    }

    /// The scale of groups that hold nothing but filling.
    fn one(&self) -> Value {
        Value { class: Class::Finite, negative: false, magnitude: 1, place: 0, exponent: 0 }
    }
}

/// Whether all terms are negative, zeros included; `None` where signs differ.
fn all_negative(a: &Row, b: &Row, at: std::ops::Range<usize>, terms: &[Term]) -> Option<bool> {
    let products = at.map(|i| a.negative[i] != b.negative[i]);
    let mut signs = products.chain(terms.iter().map(|t| t.value.negative));
    let first = signs.next()?;
    signs.all(|s| s == first).then_some(first)
}

/// A decoder for what is no factor of a product.
fn plain(format: Format, intake: &Intake) -> Decoder {
    Decoder::new(format, intake, ProductExponent::Raw, ZeroProducts::Ignored)
}

/// How the steps of a model count the exponents of products; [`Model::check`] sees to it that they agree.
fn product_rules(node: &Node) -> (ProductExponent, ZeroProducts) {
    match node {
        Node::Step(step) => match &step.sum.align {
            Align::Largest(alignment) => (alignment.products, alignment.zero_products),
            Align::Exact => (ProductExponent::Raw, ZeroProducts::Ignored),
        },
        Node::Chain(chain) => product_rules(&chain.each),
        Node::Join(join) => product_rules(&join.each),
    }
}
