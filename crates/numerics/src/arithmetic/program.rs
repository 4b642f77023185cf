//! Which sums, in which order, does a model come to for one K?

use super::aligned::Aligner;
use super::analysis::Products;
use super::output::IntegerOutput;
use super::round::Rounder;
use super::sum::ZeroSign;
use std::ops::Range;

/// A model laid out for one K.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub rules: Vec<Rule>,
    pub ops: Vec<Op>,
    /// Slots of the terms of all sums, and whether a term is c.
    pub terms: Vec<(u32, bool)>,
    /// Where in the decoded rows element k lies.
    pub order: Vec<u32>,
    /// Slots that values need. Slot 0 is c, slot 1 is +0.
    pub slots: usize,
    /// The slot of the result.
    pub result: u32,
    pub products: Products,
}

/// One sum to be done.
#[derive(Debug, Clone)]
pub(super) struct Op {
    /// Products, as places in the decoded rows.
    pub products: Range<u32>,
    /// Terms, as places in [`Program::terms`].
    pub terms: Range<u32>,
    pub rule: u32,
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
