//! How is a model laid out as a list of sums for one K?

use super::aligned::Aligner;
use super::analysis::{Extent, Products, width};
use super::decoder::significant_bits;
use super::error::ModelError;
use super::intake::ScaledPart;
use super::model::Model;
use super::node::{CPlace, JoinOrder, Node};
use super::output::{IntegerOutput, Output};
use super::program::{Op, Outline, Program, Rule, RuleOutput, same_tree, sums};
use super::round::Rounder;
use super::sum::{Align, Sum};
use crate::{Format, Rounding};
use std::ops::Range;
use std::sync::Arc;

/// What is known of the value in a slot.
#[derive(Debug, Clone, Copy)]
struct Known {
    extent: Extent,
    /// `None` for c and +0, which are of the output format.
    output: Option<Output>,
}

struct Builder<'a> {
    model: &'a Model,
    outline: Outline,
    free: Vec<u32>,
    placed: u32,
}

impl Program {
    /// Lays a model out; `k` elements are filled up to whole instructions. The outline is that of `like` where one will do.
    pub(super) fn new(model: &Model, k: usize, like: Option<(&Model, &Program)>) -> Result<Program, ModelError> {
        if k == 0 || k > crate::Shape::MAX {
            return Err(ModelError::K(k));
        }
        let outline = match like {
            Some((known, program))
                if (known.k, &known.scales) == (model.k, &model.scales) && same_tree(&known.body, &model.body) =>
            {
                program.outline.clone()
            }
            _ => Arc::new(outline(model, k)?),
        };
        let (products, scale) = Products::of_model(model);
        let rules = rules(model, &outline, products, scale)?;
        Ok(Program { rules, outline, products })
    }
}

fn outline(model: &Model, k: usize) -> Result<Outline, ModelError> {
    let padded = model.padded(k);
    let outline = Outline { ops: Vec::new(), terms: Vec::new(), order: vec![0; padded], slots: 2, result: 0 };
    let mut builder = Builder { model, outline, free: Vec::new(), placed: 0 };
    let indices: Vec<usize> = (0..padded).collect();
    builder.outline.result = builder.node(&model.body, &indices, 0)?.0;
    Ok(builder.outline)
}

/// How each sum is done; an error if some sum is too wide, or the result not always one of the output format.
fn rules(
    model: &Model,
    outline: &Outline,
    products: Products,
    scale: Option<Products>,
) -> Result<Vec<Rule>, ModelError> {
    let sums = sums(&model.body);
    let t = model.triple;
    let c_bits = model.c.convert.map_or(significant_bits(t.c) as u32, |form| form.significant_bits());
    let c = Known { extent: Extent { over: 0, bits: c_bits }, output: None };
    let mut known = vec![c; outline.slots];
    let mut narrow = vec![true; sums.len()];
    let mut extents: Vec<Extent> = Vec::new();
    for op in &outline.ops {
        let sum = sums[op.sum as usize];
        extents.clear();
        let terms = &outline.terms[op.terms.start as usize..op.terms.end as usize];
        extents.extend(terms.iter().map(|&(slot, _)| known[slot as usize].extent));
        let some = (!op.products.is_empty()).then_some((op.products.len(), products));
        let width = width(sum, some, &extents, t.is_integer(), scale.filter(|_| op.group.is_some()))?;
        narrow[op.sum as usize] &= width.narrow;
        known[op.out as usize] = Known { extent: width.left, output: Some(sum.output) };
    }
    check_result(model, &known[outline.result as usize])?;
    let each = sums.iter().zip(&narrow).enumerate();
    // Products are those of the first sum, which is the step's.
    let limit = |n: usize| model.body.step().product_limit.filter(|_| n == 0);
    Ok(each.map(|(n, (sum, &narrow))| rule(sum, limit(n), products.places, narrow)).collect())
}

fn rule(sum: &Sum, product_limit: Option<i32>, places: i32, narrow: bool) -> Rule {
    let align = match &sum.align {
        Align::Exact => None,
        Align::Largest(rule) => Some(Aligner::new(rule, places, narrow)),
    };
    let output = match &sum.output {
        Output::Unrounded => RuleOutput::Unrounded,
        Output::Rounded(form) => Rounder::new(form).map_or(RuleOutput::Unrounded, RuleOutput::Rounded),
        Output::Integer(form) => RuleOutput::Integer(*form),
    };
    let down = matches!(sum.output, Output::Rounded(form) if form.rounding == Rounding::Down);
    Rule { align, zero: sum.zero, down, output, product_limit }
}

/// Whether the result is always a value of the output format.
fn check_result(model: &Model, result: &Known) -> Result<(), ModelError> {
    let c = model.triple.c;
    let fits = model.store.is_some()
        || match result.output {
            None => true,
            Some(Output::Rounded(form)) => form.format == c && form.significant_bits() <= c.precision(),
            Some(Output::Integer(form)) => holds(c, &form),
            Some(Output::Unrounded) => false,
        };
    if fits { Ok(()) } else { Err(ModelError::Store(c)) }
}

impl Builder<'_> {
    /// Lays out a node over indices, c being in a slot; gives the slot of what goes out, and the number of its sums.
    fn node(&mut self, node: &Node, indices: &[usize], c: u32) -> Result<(u32, u32), ModelError> {
        match node {
            Node::Step(step) => {
                let first = self.placed;
                for &index in indices {
                    self.outline.order[index] = self.placed;
                    self.placed += 1;
                }
                let terms: &[(u32, bool)] = if step.c { &[(c, true)] } else { &[] };
                let group = self.group(indices)?;
                Ok((self.sum(0, first..self.placed, terms, group), 1))
            }
            Node::Chain(chain) => {
                let blocks = chain.split.divide(indices);
                let late = chain.late_c.as_ref().map(|late| late.after.min(blocks.len()));
                let inner = sums(&chain.each).len() as u32;
                let mut value = if late.is_some() { 1 } else { c };
                for done in 0..=blocks.len() {
                    if late == Some(done) {
                        value = self.join(inner, &[(value, false), (c, true)]);
                    }
                    if let Some(block) = blocks.get(done) {
                        value = self.node(&chain.each, block, value)?.0;
                    }
                }
                Ok((value, inner + u32::from(late.is_some())))
            }
            Node::Join(join) => {
                let mut parts = Vec::new();
                let sum = sums(&join.each).len() as u32;
                for part in join.split.divide(indices) {
                    parts.push((self.node(&join.each, &part, 1)?.0, false));
                }
                let value = match join.order {
                    JoinOrder::Together { c: with_c } => {
                        if with_c {
                            parts.push((c, true));
                        }
                        self.join(sum, &parts)
                    }
                    JoinOrder::InTurn { c: place } => {
                        let leaves = with_c(parts, c, place);
                        let mut value = leaves[0];
                        for &leaf in &leaves[1..] {
                            value = (self.join(sum, &[value, leaf]), false);
                        }
                        value.0
                    }
                    JoinOrder::Pairwise { c: CPlace::Last } => {
                        let root = self.tree(sum, parts);
                        self.join(sum, &[root, (c, true)])
                    }
                    JoinOrder::Pairwise { c: place } => self.tree(sum, with_c(parts, c, place)).0,
                };
                Ok((value, sum + 1))
            }
        }
    }

    /// A tree of sums of two over leaves.
    fn tree(&mut self, sum: u32, mut leaves: Vec<(u32, bool)>) -> (u32, bool) {
        while leaves.len() > 1 {
            let mut next = Vec::with_capacity(leaves.len().div_ceil(2));
            for pair in leaves.chunks(2) {
                next.push(if pair.len() == 2 { (self.join(sum, pair), false) } else { pair[0] });
            }
            leaves = next;
        }
        leaves[0]
    }

    fn join(&mut self, sum: u32, terms: &[(u32, bool)]) -> u32 {
        self.sum(sum, self.placed..self.placed, terms, None)
    }

    /// Adds one sum; its terms are used up.
    fn sum(&mut self, sum: u32, products: Range<u32>, terms: &[(u32, bool)], group: Option<u32>) -> u32 {
        let from = self.outline.terms.len() as u32;
        self.outline.terms.extend_from_slice(terms);
        self.free.extend(terms.iter().map(|t| t.0).filter(|&slot| slot > 1));
        let out = self.free.pop().unwrap_or_else(|| {
            self.outline.slots += 1;
            self.outline.slots as u32 - 1
        });
        let terms = from..self.outline.terms.len() as u32;
        self.outline.ops.push(Op { products, terms, sum, out, group });
        out
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
