//! How do steps follow one another over k, and where does c enter?

use super::Split;
use super::sum::Sum;
use serde::{Deserialize, Serialize};

/// A computation over some indices of k, in an order, with a value c coming in and one value going out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Node {
    /// One step over all the indices.
    Step(Step),
    /// A node over each block of the indices in turn, what one leaves being the next one's c.
    Chain(Chain),
    /// A node over each part of the indices, each starting from c = +0, and then sums of what they left.
    Join(Join),
}

/// A fused sum of the products at all indices.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Whether c is a term.
    pub c: bool,
    /// L: a product of magnitude 2^L or more counts as an infinity of its sign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_limit: Option<i32>,
    /// The sum.
    pub sum: Sum,
}

/// A fold over blocks of k.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The blocks.
    pub split: Split,
    /// What is done with each; it must use c, or earlier blocks would be lost.
    pub each: Box<Node>,
    /// Where c enters if not with the first block, which then starts from +0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_c: Option<LateC>,
}

/// c added to a chain on its way, in a sum of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateC {
    /// After how many blocks; after the last one where there are fewer.
    pub after: usize,
    /// The sum of what the chain has come to, and c.
    pub sum: Sum,
}

/// Independent parts of k, joined by sums of values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The parts.
    pub split: Split,
    /// What is done with each part, from c = +0.
    pub each: Box<Node>,
    /// In which order what they left is added, and where c enters.
    pub order: JoinOrder,
    /// Each of these sums.
    pub sum: Sum,
}

/// In which order the values of a join are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinOrder {
    /// All in one fused sum, c among them or not.
    Together {
        /// Whether c is a term.
        c: bool,
    },
    /// One after another, each in a sum of two.
    InTurn {
        /// Where c enters.
        c: CPlace,
    },
    /// In a tree of sums of two: neighbours first, an odd one out moving up as it is.
    Pairwise {
        /// Where c enters.
        c: CPlace,
    },
}

/// Where c enters among the values of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CPlace {
    /// Before the first part: the first value of the turn, the first leaf of the tree.
    First,
    /// After this many parts (or all, where there are fewer): between two values of the turn, between two leaves.
    After(usize),
    /// After all parts: added to what they came to.
    Last,
    /// Nowhere.
    Nowhere,
}

impl Node {
    /// Whether what goes out depends on c.
    pub fn uses_c(&self) -> bool {
        match self {
            Node::Step(step) => step.c,
            Node::Chain(chain) => chain.late_c.is_some() || chain.each.uses_c(),
            Node::Join(join) => match join.order {
                JoinOrder::Together { c } => c,
                JoinOrder::InTurn { c } | JoinOrder::Pairwise { c } => c != CPlace::Nowhere,
            },
        }
    }

    /// The step that takes the products: every node has exactly one, whatever stands around it.
    pub fn step(&self) -> &Step {
        match self {
            Node::Step(step) => step,
            Node::Chain(chain) => chain.each.step(),
            Node::Join(join) => join.each.step(),
        }
    }

    /// A chain of a node over consecutive blocks of k.
    pub fn chained(self, of: usize) -> Node {
        Node::Chain(Chain { split: Split::blocks(of), each: Box::new(self), late_c: None })
    }
}

impl From<Step> for Node {
    fn from(step: Step) -> Node {
        Node::Step(step)
    }
}
