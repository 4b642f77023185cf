//! How do counts of units become a tree?

use super::black_box::DotProducts;
use super::masks::{Masks, Unmaskable};
use rigel_device::contract::Fault;
use rigel_ledger::units::drawn_pairs;
use rigel_numerics::order::{Node, Tree};

/// A tree that every count agrees with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The tree.
    pub tree: Tree,
    /// Dot products that were computed.
    pub dots: usize,
    /// Of them those that the finished tree was held against.
    pub confirmed: usize,
}

/// Why there is no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unrecovered {
    /// No masks.
    #[error(transparent)]
    Unmaskable(#[from] Unmaskable),
    /// Fewer than two products.
    #[error("a dot product of {0} has no order; it needs at least 2")]
    Short(usize),
    /// What computes the dot products failed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A result is no number of units.
    #[error(
        "with masks in places {i} and {j} no number of units comes out, so sums are not rounded as sums of floats are"
    )]
    NoCount {
        /// One place.
        i: usize,
        /// The other.
        j: usize,
    },
    /// Counts that no tree has.
    #[error("{leaves} products meet product {pivot} in a node of {size}, which leaves room for {room}: {why}")]
    NoTree {
        /// The product whose path was looked for.
        pivot: usize,
        /// Products that branch off in one place.
        leaves: usize,
        /// Leaves of that place.
        size: usize,
        /// Leaves that there is room for.
        room: usize,
        /// What that may mean.
        why: &'static str,
    },
    /// A tree that a fresh pair contradicts.
    #[error(
        "products {i} and {j} meet in a node of {found}, and the tree that all counts before agree with says {expected}"
    )]
    Contradicted {
        /// One product.
        i: usize,
        /// The other.
        j: usize,
        /// What was counted.
        found: usize,
        /// What the tree says.
        expected: usize,
    },
}

/// Leaves that branch off one node and are not yet divided among its children.
struct Open {
    leaves: Vec<usize>,
    size: usize,
    parent: usize,
}

/// The order in which a black box adds, deterministic for a seed, which chooses the pairs that confirm it.
///
/// # Errors
/// [`Unrecovered`]: never a tree beside a doubt.
pub fn recover(box_: &mut dyn DotProducts, seed: u64) -> Result<Recovered, Unrecovered> {
    let k = box_.k();
    if k < 2 {
        return Err(Unrecovered::Short(k));
    }
    let masks = Masks::new(box_.triple(), k)?;
    // Children of every sum; the first one holds the root alone.
    let mut sums: Vec<Vec<Child>> = vec![Vec::new()];
    let mut open = vec![Open { leaves: (0..k).collect(), size: k + 1, parent: 0 }];
    let mut dots = 0;
    while !open.is_empty() {
        let pairs: Vec<(usize, usize)> =
            open.iter().flat_map(|o| o.leaves[1..].iter().map(|&j| (o.leaves[0], j))).collect();
        let sizes = masks.sizes(box_, &pairs)?;
        dots += 2 * pairs.len();
        let mut counted = pairs.iter().zip(sizes);
        let mut next = Vec::new();
        for item in open {
            let of: Vec<(usize, Option<usize>)> =
                counted.by_ref().take(item.leaves.len() - 1).map(|(&(_, j), size)| (j, size)).collect();
            divide(&item, &of, &mut sums, &mut next)?;
        }
        open = next;
    }
    let tree = Tree { root: built(&sums, 0).unwrap_or(Node::Product(0)) };
    let confirmed = confirm(box_, &masks, &tree, seed)?;
    Ok(Recovered { tree, dots: dots + 2 * confirmed, confirmed })
}

/// A child of a sum.
enum Child {
    Product(usize),
    Sum(usize),
}

/// The pivot's path to the node that an item hangs on, and what branches off it.
fn divide(
    item: &Open,
    counted: &[(usize, Option<usize>)],
    sums: &mut Vec<Vec<Child>>,
    next: &mut Vec<Open>,
) -> Result<(), Unrecovered> {
    let pivot = item.leaves[0];
    let mut met: Vec<(usize, usize)> = Vec::with_capacity(counted.len());
    for &(j, size) in counted {
        met.push((size.ok_or(Unrecovered::NoCount { i: pivot, j })?, j));
    }
    met.sort_unstable();
    let mut path = Child::Product(pivot);
    let mut below = 1;
    let mut rest: &[(usize, usize)] = &met;
    while let Some(&(size, _)) = rest.first().filter(|(size, _)| *size < item.size) {
        let group = rest.iter().take_while(|(other, _)| *other == size).count();
        let leaves: Vec<usize> = rest[..group].iter().map(|&(_, j)| j).collect();
        if below + group != size {
            let why =
                if size == 2 { "sums that lose nothing have no order to be seen" } else { "counts that no tree has" };
            return Err(Unrecovered::NoTree { pivot, leaves: group, size, room: size.saturating_sub(below), why });
        }
        let node = sums.len();
        sums.push(vec![path]);
        hang(leaves, size, node, sums, next);
        (path, below) = (Child::Sum(node), size);
        rest = &rest[group..];
    }
    let others: Vec<usize> = rest.iter().map(|&(_, j)| j).collect();
    if let Some(&(size, _)) = rest.last().filter(|(size, _)| *size > item.size) {
        let why = "counts that no tree has";
        return Err(Unrecovered::NoTree { pivot, leaves: others.len(), size, room: item.size, why });
    }
    sums[item.parent].push(path);
    hang(others, item.size, item.parent, sums, next);
    Ok(())
}

/// Hangs leaves on a node: one as it is, several to be divided.
fn hang(leaves: Vec<usize>, size: usize, parent: usize, sums: &mut [Vec<Child>], next: &mut Vec<Open>) {
    match leaves.as_slice() {
        [] => {}
        [one] => sums[parent].push(Child::Product(*one)),
        _ => next.push(Open { leaves, size, parent }),
    }
}

/// The tree below a sum, without recursion: chains are as deep as k. The outermost sum has one child, the root.
fn built(sums: &[Vec<Child>], root: usize) -> Option<Node> {
    // Nodes whose children have larger numbers or smaller: an order in which every child comes before its parent.
    let mut order = Vec::with_capacity(sums.len());
    let mut open = vec![root];
    while let Some(sum) = open.pop() {
        order.push(sum);
        open.extend(
            sums[sum].iter().filter_map(|child| if let Child::Sum(below) = child { Some(*below) } else { None }),
        );
    }
    let mut nodes: Vec<Option<(usize, Node)>> = sums.iter().map(|_| None).collect();
    for &sum in order.iter().rev() {
        let of = |child: &Child, nodes: &mut Vec<Option<(usize, Node)>>| match child {
            Child::Product(index) => Some((*index, Node::Product(*index))),
            Child::Sum(below) => nodes[*below].take(),
        };
        let mut children: Vec<(usize, Node)> = sums[sum].iter().filter_map(|child| of(child, &mut nodes)).collect();
        children.sort_by_key(|(first, _)| *first);
        let first = children.first()?.0;
        let node = match children.len() {
            1 => children.pop()?.1,
            _ => Node::Sum(children.into_iter().map(|(_, node)| node).collect()),
        };
        nodes[sum] = Some((first, node));
    }
    nodes[root].take().map(|(_, node)| node)
}

/// Holds a tree against pairs drawn at random; gives their number.
fn confirm(box_: &mut dyn DotProducts, masks: &Masks, tree: &Tree, seed: u64) -> Result<usize, Unrecovered> {
    let k = box_.k();
    let pairs = drawn_pairs(k, seed);
    let sizes = masks.sizes(box_, &pairs)?;
    let meetings = tree.meetings();
    for (&(i, j), size) in pairs.iter().zip(sizes) {
        let found = size.ok_or(Unrecovered::NoCount { i, j })?;
        let expected = meetings.size(i, j);
        if found != expected {
            return Err(Unrecovered::Contradicted { i, j, found, expected });
        }
    }
    Ok(pairs.len())
}
