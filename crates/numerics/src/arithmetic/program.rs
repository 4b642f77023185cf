//! Which sums, in which order, does a model come to for one K?

use super::aligned::Aligner;
use super::analysis::Products;
use super::node::Node;
use super::output::IntegerOutput;
use super::round::Rounder;
use super::sum::{Sum, ZeroSign};
use std::ops::Range;
use std::sync::Arc;

/// A model laid out for one K.
#[derive(Debug, Clone)]
pub(super) struct Program {
    /// How each sum of the model is done, in the order of [`sums`].
    pub rules: Vec<Rule>,
    /// Which sums are done; models that differ in their rules alone share it.
    pub outline: Arc<Outline>,
    pub products: Products,
}

/// Which sums, in which order, a tree of steps comes to for one K, however each of them is done.
#[derive(Debug, Clone)]
pub(super) struct Outline {
    pub ops: Vec<Op>,
    /// Slots of the terms of all sums, and whether a term is c.
    pub terms: Vec<(u32, bool)>,
    /// Where in the decoded rows element k lies.
    pub order: Vec<u32>,
    /// Slots that values need. Slot 0 is c, slot 1 is +0.
    pub slots: usize,
    /// The slot of the result.
    pub result: u32,
}

/// One sum to be done.
#[derive(Debug, Clone)]
pub(super) struct Op {
    /// Products, as places in the decoded rows.
    pub products: Range<u32>,
    /// Terms, as places in [`Outline::terms`].
    pub terms: Range<u32>,
    /// Which sum of the model it is, and so which rule.
    pub sum: u32,
    pub out: u32,
    /// The scale group whose scales multiply the sum.
    pub group: Option<u32>,
}

/// A sum's rule, worked out.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// `None`: exactly.
    pub align: Option<Aligner>,
    pub zero: ZeroSign,
    /// Whether the output rounds down, so that a zero from terms of both signs is −0.
    pub down: bool,
    pub output: RuleOutput,
    pub product_limit: Option<i32>,
}

#[derive(Debug, Clone)]
pub(super) enum RuleOutput {
    Unrounded,
    Rounded(Rounder),
    Integer(IntegerOutput),
}

/// The sums of a node: that of its step first, then those of what stands around it, from the inside out.
pub(super) fn sums(node: &Node) -> Vec<&Sum> {
    match node {
        Node::Step(step) => vec![&step.sum],
        Node::Chain(chain) => {
            let mut all = sums(&chain.each);
            all.extend(chain.late_c.as_ref().map(|late| &late.sum));
            all
        }
        Node::Join(join) => {
            let mut all = sums(&join.each);
            all.push(&join.sum);
            all
        }
    }
}

/// Whether two nodes differ in their sums and product limits at most: then they have one outline.
pub(super) fn same_tree(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Step(x), Node::Step(y)) => x.c == y.c,
        (Node::Chain(x), Node::Chain(y)) => {
            x.split == y.split
                && x.late_c.as_ref().map(|late| late.after) == y.late_c.as_ref().map(|late| late.after)
                && same_tree(&x.each, &y.each)
        }
        (Node::Join(x), Node::Join(y)) => x.split == y.split && x.order == y.order && same_tree(&x.each, &y.each),
        _ => false,
    }
}
