//! How is a model laid out as a list of sums for one K?

use super::aligned::Aligner;
use super::analysis::{Extent, Products, SumWidth, width};
use super::decoder::significant_bits;
use super::error::ModelError;
use super::intake::ScaledPart;
use super::model::Model;
use super::node::{CPlace, JoinOrder, Node};
use super::output::{IntegerOutput, Output};
use super::program::{Op, Program, Rule, RuleOutput};
use super::round::Rounder;
use super::sum::{Align, Sum};
use crate::{Format, Rounding};
use std::ops::Range;

/// What is known of the value in a slot.
#[derive(Debug, Clone, Copy)]
struct Known {
    extent: Extent,
    /// `None` for c and +0, which are of the output format.
    output: Option<Output>,
}

struct Builder<'a> {
    model: &'a Model,
    program: Program,
    known: Vec<Known>,
    free: Vec<u32>,
    /// What each rule was made of.
    rules: Vec<(&'a Sum, Option<i32>, bool)>,
    placed: u32,
    scale: Option<Products>,
}

impl Program {
    /// Lays a model out; `k` elements are filled up to whole instructions.
    pub(super) fn new(model: &Model, k: usize) -> Result<Program, ModelError> {
        if k == 0 || k > crate::Shape::MAX {
            return Err(ModelError::K(k));
        }
        let padded = model.padded(k);
        let t = model.triple;
        let (products, scale) = Products::of_model(model);
        let c_bits = model.c.convert.map_or(significant_bits(t.c) as u32, |form| form.significant_bits());
        let c = Known { extent: Extent { over: 0, bits: c_bits }, output: None };
        let program = Program {
            rules: Vec::new(),
            ops: Vec::new(),
            terms: Vec::new(),
            order: vec![0; padded],
            slots: 2,
            result: 0,
            products,
        };
        let rules = Vec::new();
        let mut builder = Builder { model, program, known: vec![c, c], free: Vec::new(), rules, placed: 0, scale };
        let indices: Vec<usize> = (0..padded).collect();
        let result = builder.node(&model.body, &indices, 0)?;
        builder.check_result(result)?;
        builder.program.result = result;
        builder.program.slots = builder.known.len();
        Ok(builder.program)
    }
}

impl<'a> Builder<'a> {
    /// Lays out a node over indices, c being in a slot; gives the slot of what goes out.
    fn node(&mut self, node: &'a Node, indices: &[usize], c: u32) -> Result<u32, ModelError> {
        match node {
            Node::Step(step) => {
                let first = self.placed;
                for &index in indices {
                    self.program.order[index] = self.placed;
                    self.placed += 1;
                }
                let terms: &[(u32, bool)] = if step.c { &[(c, true)] } else { &[] };
                let group = self.group(indices)?;
                self.sum(&step.sum, first..self.placed, terms, step.product_limit, group)
            }
            Node::Chain(chain) => {
                let blocks = chain.split.divide(indices);
                let late = chain.late_c.as_ref().map(|late| (late.after.min(blocks.len()), late));
                let mut value = if late.is_some() { 1 } else { c };
                for done in 0..=blocks.len() {
                    if let Some((_, late)) = late.filter(|&(after, _)| after == done) {
                        value = self.join(&late.sum, &[(value, false), (c, true)])?;
                    }
                    if let Some(block) = blocks.get(done) {
                        value = self.node(&chain.each, block, value)?;
                    }
                }
                Ok(value)
            }
            Node::Join(join) => {
                let mut parts = Vec::new();
                for part in join.split.divide(indices) {
                    parts.push((self.node(&join.each, &part, 1)?, false));
                }
                match join.order {
                    JoinOrder::Together { c: with_c } => {
                        if with_c {
                            parts.push((c, true));
                        }
                        self.join(&join.sum, &parts)
                    }
                    JoinOrder::InTurn { c: place } => {
                        let leaves = with_c(parts, c, place);
                        let mut value = leaves[0];
                        for &leaf in &leaves[1..] {
                            value = (self.join(&join.sum, &[value, leaf])?, false);
                        }
                        Ok(value.0)
                    }
                    JoinOrder::Pairwise { c: CPlace::Last } => {
                        let root = self.tree(&join.sum, parts)?;
                        self.join(&join.sum, &[root, (c, true)])
                    }
                    JoinOrder::Pairwise { c: place } => Ok(self.tree(&join.sum, with_c(parts, c, place))?.0),
                }
            }
        }
    }

    /// A tree of sums of two over leaves.
    fn tree(&mut self, sum: &'a Sum, mut leaves: Vec<(u32, bool)>) -> Result<(u32, bool), ModelError> {
        while leaves.len() > 1 {
            let mut next = Vec::with_capacity(leaves.len().div_ceil(2));
            for pair in leaves.chunks(2) {
                next.push(if pair.len() == 2 { (self.join(sum, pair)?, false) } else { pair[0] });
            }
            leaves = next;
        }
        Ok(leaves[0])
    }

    fn join(&mut self, sum: &'a Sum, terms: &[(u32, bool)]) -> Result<u32, ModelError> {
        self.sum(sum, self.placed..self.placed, terms, None, None)
    }

    /// Adds one sum; its terms are used up.
    fn sum(
        &mut self,
        sum: &'a Sum,
        products: Range<u32>,
        terms: &[(u32, bool)],
        limit: Option<i32>,
        group: Option<u32>,
    ) -> Result<u32, ModelError> {
        let extents: Vec<Extent> = terms.iter().map(|&(slot, _)| self.known[slot as usize].extent).collect();
        let some = (!products.is_empty()).then_some((products.len(), self.program.products));
        let scaled = self.scale.filter(|_| group.is_some());
        let SumWidth { narrow, left } = width(sum, some, &extents, self.model.triple.is_integer(), scaled)?;
        let rule = self.rule(sum, limit, narrow);
        let from = self.program.terms.len() as u32;
        self.program.terms.extend_from_slice(terms);
        self.free.extend(terms.iter().map(|t| t.0).filter(|&slot| slot > 1));
        let known = Known { extent: left, output: Some(sum.output) };
        let out = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.known.push(known);
                self.known.len() as u32 - 1
            }
        };
        self.known[out as usize] = known;
        let terms = from..self.program.terms.len() as u32;
        self.program.ops.push(Op { products, terms, rule, out, group });
        Ok(out)
    }

    fn rule(&mut self, sum: &'a Sum, product_limit: Option<i32>, narrow: bool) -> u32 {
        let same = |known: &(&Sum, Option<i32>, bool)| {
            std::ptr::eq(known.0, sum) && (known.1, known.2) == (product_limit, narrow)
        };
        let known = self.rules.iter().position(same);
        if known.is_none() {
            self.rules.push((sum, product_limit, narrow));
            let align = match &sum.align {
                Align::Exact => None,
                Align::Largest(rule) => Some(Aligner::new(rule, self.program.products.places, narrow)),
            };
            let output = match &sum.output {
                Output::Unrounded => RuleOutput::Unrounded,
                Output::Rounded(form) => Rounder::new(form).map_or(RuleOutput::Unrounded, RuleOutput::Rounded),
                Output::Integer(form) => RuleOutput::Integer(*form),
            };
            let down = matches!(sum.output, Output::Rounded(form) if form.rounding == Rounding::Down);
            self.program.rules.push(Rule { align, zero: sum.zero, down, output, product_limit });
        }
        known.unwrap_or(self.rules.len() - 1) as u32
    }

    /// The scale group that holds all of a step's indices, where sums are scaled.
    fn group(&self, indices: &[usize]) -> Result<Option<u32>, ModelError> {
        let Some(scales) = self.model.scales.filter(|s| s.on == ScaledPart::Sums) else { return Ok(None) };
        let mut groups = indices.iter().map(|i| i / scales.group);
        let first = groups.next();
        if groups.any(|g| Some(g) != first) {
            return Err(ModelError::Scales("a step whose sum is scaled reaches over two scale groups"));
        }
        Ok(first.map(|g| g as u32))
    }

    /// Whether the value in a slot is always one of the output format.
    fn check_result(&self, slot: u32) -> Result<(), ModelError> {
        let c = self.model.triple.c;
        let fits = self.model.store.is_some()
            || match self.known[slot as usize].output {
                None => true,
                Some(Output::Rounded(form)) => form.format == c && form.significant_bits() <= c.precision(),
                Some(Output::Integer(form)) => holds(c, &form),
                Some(Output::Unrounded) => false,
            };
        if fits { Ok(()) } else { Err(ModelError::Store(c)) }
    }
}

/// Whether an integer format holds every value of an integer output.
fn holds(format: Format, form: &IntegerOutput) -> bool {
    match (format.is_signed(), form.signed) {
        (true, true) | (false, false) => form.bits <= format.bits(),
        (true, false) => form.bits < format.bits(),
        (false, true) => false,
    }
}

fn with_c(mut parts: Vec<(u32, bool)>, c: u32, place: CPlace) -> Vec<(u32, bool)> {
    match place {
        CPlace::First => parts.insert(0, (c, true)),
        CPlace::After(after) => parts.insert(after.min(parts.len()), (c, true)),
        CPlace::Last => parts.push((c, true)),
        CPlace::Nowhere => {}
    }
    parts
}
