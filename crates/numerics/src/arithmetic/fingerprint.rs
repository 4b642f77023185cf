//! Is one unit a composition of another unit's steps?
//!
//! An instruction that is emulated leaves a trace: its steps are those of the instruction that does the work, over a split of k
//! that no single step has, perhaps with c added apart. Exact sums and plain conversions prove nothing, since any hardware
//! would give the same bits; so only steps that cut or round their terms count, and only where the composition differs from
//! one step over all of k.

use super::*;
use crate::{Format, Overflow, Rounding};

/// A unit with its recovered model.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The unit's name.
    pub unit: &'a str,
    /// Its model; `model.k` is the number of products of one instruction.
    pub model: &'a Model,
}

/// A unit that computes as others' steps do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Composition {
    /// The unit that is composed.
    pub unit: String,
    /// The unit whose steps it is composed of.
    pub of: String,
    /// The composition, in words.
    pub words: String,
    /// Dot products of each distribution on which the unit's model and the composition agreed.
    pub agreed: u64,
    /// Inputs on which a single step over all of k gives another code, and both codes.
    pub witness: DotInputs,
    /// The code of the unit.
    pub code: u64,
    /// The code of a single step.
    pub single: u64,
}

/// Every pair of units of which one is a non-trivial composition of the other's steps. Models are compared as functions, on
/// `count` dot products of each distribution.
///
/// The answer is about arithmetic. It is a sign of emulation, not a proof that machine code contains the other
/// instruction; two instructions may share a data path.
pub fn compositions(parts: &[Part<'_>], seed: u64, count: u64) -> Vec<Composition> {
    let pairs = parts.iter().flat_map(|x| parts.iter().map(move |y| (x, y)));
    pairs.filter_map(|(x, y)| composition(x, y, seed, count)).collect()
}

fn composition(x: &Part<'_>, y: &Part<'_>, seed: u64, count: u64) -> Option<Composition> {
    let (own, other) = (x.model, y.model);
    let same_operands = (own.triple.a, own.triple.b) == (other.triple.a, other.triple.b);
    let holds = holds(own.triple.a, other.triple.a) && holds(own.triple.b, other.triple.b);
    if same_operands || own.triple.c != other.triple.c || !holds || own.triple.is_integer() || own.scales.is_some() {
        return None;
    }
    let (steps, width) = steps(&own.body, &(0..own.k).collect::<Vec<_>>());
    let (_, other_width) = steps_of(other);
    let apart = !matches!(leaf_path(&own.body), Path::Steps);
    if (steps < 2 && !apart) || width > other_width {
        return None;
    }
    // An exact sum is the same on every device.
    let theirs = leaf(&other.body);
    matches!(theirs.sum.align, Align::Largest(_)).then_some(())?;

    let mut composed = own.clone();
    let target = leaf_mut(&mut composed.body);
    (target.sum, target.product_limit) = (theirs.sum.clone(), theirs.product_limit);
    let evaluator = Evaluator::new(own, own.k).ok()?;
    let candidate = Evaluator::new(&composed, own.k).ok()?;
    if first_difference(&evaluator, &candidate, seed, count).is_some() {
        return None;
    }
    let single = |sum: Sum| {
        let body = Node::Step(Step { c: true, product_limit: theirs.product_limit, sum });
        Evaluator::new(&Model { body, ..own.clone() }, own.k).ok()
    };
    for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
        let output = Output::Rounded(Rounded::to(own.triple.c, rounding));
        let exact = Sum { align: Align::Exact, zero: ZeroSign::Positive, output };
        // Every single step that might be meant must be told from it by some input.
        first_difference(&evaluator, &single(exact)?, seed, count)?;
    }
    let single = single(theirs.sum.clone())?;
    let Difference { inputs, codes, .. } = first_difference(&evaluator, &single, seed, count)?;
    Some(Composition {
        unit: x.unit.to_owned(),
        of: y.unit.to_owned(),
        words: words(own, other, steps),
        agreed: count,
        witness: inputs,
        code: codes[0],
        single: codes[1],
    })
}

/// Whether every finite value of one format is a value of the other.
fn holds(narrow: Format, wide: Format) -> bool {
    if narrow == wide {
        return true;
    }
    let kept = |code: u64| {
        let value = narrow.decode(code);
        !narrow.is_finite(code) || wide.decode(wide.encode(value, Rounding::TowardZero, Overflow::Saturate)) == value
    };
    narrow.bits() <= 16 && (0..1u64 << narrow.bits()).all(kept)
}

/// The number of steps of a node, and the most products of one.
fn steps(node: &Node, indices: &[usize]) -> (usize, usize) {
    let (split, each) = match node {
        Node::Step(_) => return (1, indices.len()),
        Node::Chain(chain) => (&chain.split, &chain.each),
        Node::Join(join) => (&join.split, &join.each),
    };
    let parts: Vec<(usize, usize)> = split.divide(indices).iter().map(|part| steps(each, part)).collect();
    (parts.iter().map(|p| p.0).sum(), parts.iter().map(|p| p.1).max().unwrap_or(0))
}

fn steps_of(model: &Model) -> (usize, usize) {
    steps(&model.body, &(0..model.k).collect::<Vec<_>>())
}

/// Whether the way down to the steps is by chains alone.
enum Path {
    Steps,
    Apart,
}

fn leaf_path(node: &Node) -> Path {
    match node {
        Node::Step(_) => Path::Steps,
        Node::Chain(chain) if chain.late_c.is_none() => leaf_path(&chain.each),
        Node::Chain(_) | Node::Join(_) => Path::Apart,
    }
}

fn leaf(node: &Node) -> &Step {
    match node {
        Node::Step(step) => step,
        Node::Chain(chain) => leaf(&chain.each),
        Node::Join(join) => leaf(&join.each),
    }
}

fn leaf_mut(node: &mut Node) -> &mut Step {
    match node {
        Node::Step(step) => step,
        Node::Chain(chain) => leaf_mut(&mut chain.each),
        Node::Join(join) => leaf_mut(&mut join.each),
    }
}

fn words(own: &Model, other: &Model, count: usize) -> String {
    let steps = if count == 1 { "one step".to_owned() } else { format!("{count} steps") };
    format!("{steps} of {} over {}", other.triple.pretty(), order(&own.body, own.k))
}

/// Whether a split leaves k in one part.
fn undivided(split: &Split, k: usize) -> bool {
    split.divide(&(0..k).collect::<Vec<_>>()).len() == 1
}

/// Over which k the steps go, and where c comes in.
fn order(node: &Node, k: usize) -> String {
    match node {
        Node::Step(_) => "all k".to_owned(),
        Node::Chain(Chain { split, each, late_c }) => {
            let inside = match &**each {
                Node::Step(_) => split.words(),
                _ if undivided(split, k) => order(each, k),
                _ => format!("{}, for each of {}", order(each, k), split.words()),
            };
            let late =
                late_c.as_ref().map_or(String::new(), |late| format!(", c added apart after {} of them", late.after));
            inside + &late
        }
        Node::Join(Join { split, each, order: how, .. }) => {
            let inside = match &**each {
                Node::Step(_) => split.words(),
                _ if undivided(split, k) => order(each, k),
                _ => format!("{}, for each of {}", order(each, k), split.words()),
            };
            let with_c = |place: &CPlace| if *place == CPlace::Nowhere { "" } else { " with c" };
            match (how, split) {
                (JoinOrder::Together { c: true }, Split::Whole) => format!("{inside}, then c added apart"),
                (JoinOrder::Together { c }, _) => {
                    format!("{inside}, then their results added together{}", if *c { " with c" } else { "" })
                }
                (JoinOrder::InTurn { c }, _) => format!("{inside}, then their results added in turn{}", with_c(c)),
                (JoinOrder::Pairwise { c }, _) => format!("{inside}, then their results added in pairs{}", with_c(c)),
            }
        }
    }
}
