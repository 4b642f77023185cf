//! What does a model make of given codes, fast?

use super::aligned::Term;
use super::decoder::Decoder;
use super::distribution::DotInputs;
use super::error::ModelError;
use super::intake::{Intake, ScaledPart};
use super::model::Model;
use super::operand::{Row, scale};
use super::program::Program;
use super::round::Rounder;
use super::special::Nans;
use super::sum::{Align, ProductExponent, ZeroProducts};
use super::value::Value;
use crate::Format;
use crate::random::{GOLDEN, mix};
use rayon::prelude::*;

/// A model made ready for one K. It does not change and may be shared by threads; each brings a [`Scratch`].
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(super) model: Model,
    pub(super) k: usize,
    pub(super) program: Program,
    pub(super) a: Decoder,
    pub(super) b: Decoder,
    pub(super) c: Decoder,
    pub(super) scales: Option<[Decoder; 2]>,
    pub(super) nans: Nans,
    pub(super) store: Option<Rounder>,
}

/// Memory that one evaluation leaves to the next. It belongs to the evaluator that made it.
#[derive(Debug, Clone)]
pub struct Scratch {
    pub(super) a: Row,
    pub(super) b: Row,
    pub(super) values: Vec<Value>,
    pub(super) terms: Vec<Term>,
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
    /// ⌈K ÷ group⌉ scale codes of the row ([`Model::scale_groups`]); empty for a model without scales.
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

impl Evaluator {
    /// Makes a model ready for rows of `k` elements.
    ///
    /// # Errors
    /// What [`Model::check`] says, for this K.
    pub fn new(model: &Model, k: usize) -> Result<Evaluator, ModelError> {
        Evaluator::made(model, k, None)
    }

    /// As [`Evaluator::new`]; decoders are taken from `like` where it reads codes alike.
    pub(super) fn made(model: &Model, k: usize, like: Option<&Evaluator>) -> Result<Evaluator, ModelError> {
        model.check_form()?;
        let program = Program::new(model, k, like.filter(|e| e.k == k).map(|e| (&e.model, &e.program)))?;
        let t = model.triple;
        let (products, zeros) = match &model.body.step().sum.align {
            Align::Largest(alignment) => (alignment.products, alignment.zero_products),
            Align::Exact => (ProductExponent::Raw, ZeroProducts::Ignored),
        };
        let decoder = |format, intake: &Intake, known: Option<&Decoder>| match known {
            Some(known) if known.reads(format, intake, products, zeros) => known.clone(),
            _ => Decoder::new(format, intake, products, zeros),
        };
        let scales = match like {
            Some(like) if like.model.scales == model.scales => like.scales.clone(),
            _ => model.scales.map(|s| [s.a, s.b].map(|f| plain(f, &Intake::default()))),
        };
        let output = plain(t.c, &Intake::default());
        Ok(Evaluator {
            a: decoder(t.a, &model.a, like.map(|e| &e.a)),
            b: decoder(t.b, &model.b, like.map(|e| &e.b)),
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
        let values = vec![Value::ZERO; self.program.outline.slots];
        Scratch { a: self.row(), b: self.row(), values, terms: Vec::new() }
    }

    /// A row to decode into.
    pub(super) fn row(&self) -> Row {
        let mut row = Row::default();
        row.resize(self.program.outline.order.len());
        row
    }

    /// The code of d for one row, column and c.
    ///
    /// # Panics
    /// When a slice has not the length that [`Inputs`] states, or the scratch comes from an evaluator of another K.
    pub fn dot(&self, scratch: &mut Scratch, inputs: Inputs<'_>) -> u64 {
        assert_eq!((inputs.a.len(), inputs.b.len()), (self.k, self.k), "a row and a column of {} codes", self.k);
        let groups = self.model.scale_groups(self.k);
        assert_eq!((inputs.a_scales.len(), inputs.b_scales.len()), (groups, groups), "{groups} scales each");
        let Scratch { a, b, values, terms } = scratch;
        self.decode_a(inputs.a, inputs.a_scales, a);
        self.decode_b(inputs.b, inputs.b_scales, b);
        self.run(a, b, inputs.c, values, terms)
    }

    /// As [`Evaluator::dot`], with a word for all that the sums left on the way: models of one tree whose words differ part
    /// somewhere, even where their codes are the same.
    ///
    /// # Panics
    /// As [`Evaluator::dot`].
    pub fn dot_traced(&self, scratch: &mut Scratch, inputs: Inputs<'_>) -> (u64, u64) {
        assert_eq!((inputs.a.len(), inputs.b.len()), (self.k, self.k), "a row and a column of {} codes", self.k);
        let Scratch { a, b, values, terms } = scratch;
        self.decode_a(inputs.a, inputs.a_scales, a);
        self.decode_b(inputs.b, inputs.b_scales, b);
        let mut word = GOLDEN;
        let code = self.run_seen(a, b, inputs.c, values, terms, |value| {
            // A value is the same however its significand is written.
            let zeros = value.magnitude.trailing_zeros() % 64;
            let place = if value.magnitude == 0 { 0 } else { value.place + zeros as i32 };
            let ends = u64::from(place as u32) << 32 | u64::from(value.exponent as u32);
            let kind = (value.class as u64) << 1 | u64::from(value.negative);
            word = mix(mix(mix(word ^ value.magnitude >> zeros) ^ ends) ^ kind);
        });
        (code, word)
    }

    /// The codes of d for many rows, columns and c, over all cores.
    ///
    /// # Panics
    /// As [`Evaluator::dot`].
    pub fn dots(&self, inputs: &[DotInputs]) -> Vec<u64> {
        let each = inputs.par_iter().with_min_len(1 + 4096 / self.k);
        each.map_init(|| self.scratch(), |scratch, inputs| self.dot(scratch, inputs.codes())).collect()
    }

    /// Decodes a row of A and its scales.
    pub(super) fn decode_a(&self, codes: &[u64], scales: &[u64], row: &mut Row) {
        self.decode(&self.a, self.scales.as_ref().map(|s| &s[0]), codes, scales, row);
    }

    /// Decodes a column of B and its scales.
    pub(super) fn decode_b(&self, codes: &[u64], scales: &[u64], row: &mut Row) {
        self.decode(&self.b, self.scales.as_ref().map(|s| &s[1]), codes, scales, row);
    }

    fn decode(&self, decoder: &Decoder, scale_decoder: Option<&Decoder>, codes: &[u64], scales: &[u64], row: &mut Row) {
        decoder.row(codes, &self.program.outline.order, row);
        row.scales.clear();
        if let Some(of_scales) = scale_decoder {
            row.scales.extend(scales.iter().map(|&code| of_scales.value(code)));
        }
        if let Some(s) = self.model.scales.filter(|s| s.on == ScaledPart::Products) {
            scale(row, &self.program.outline.order, s.group, decoder.zero_exponent);
        }
    }
}

/// A decoder for what is no factor of a product.
fn plain(format: Format, intake: &Intake) -> Decoder {
    Decoder::new(format, intake, ProductExponent::Raw, ZeroProducts::Ignored)
}
