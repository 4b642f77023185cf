//! How is a tree of sums said in words?

use super::tree::{Node, Tree};
use std::fmt;

impl fmt::Display for Tree {
    /// `4 parts (k mod 4 = 0, 1, …), added in pairs; each: 64 products, one after another`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&said(&self.root))
    }
}

fn said(node: &Node) -> String {
    let children = match node {
        Node::Product(_) => return "one product".to_owned(),
        Node::Sum(children) => children,
    };
    if children.iter().all(|child| matches!(child, Node::Product(_))) {
        return match children.len() {
            2 => "2 products, added".to_owned(),
            n => format!("{n} products in one fused sum"),
        };
    }
    parts(node).or_else(|| chain(node)).unwrap_or_else(|| {
        let tree = Tree { root: node.clone() };
        format!("an irregular tree over {} products, {} sums deep", node.size(), tree.depth())
    })
}

/// Whether the groups after the first two products come as 3, 2, 5, 4, … from the first on; which of the first two came first no
/// sum shows.
fn pairs_swapped(firsts: &[usize]) -> bool {
    let [base, rest @ ..] = firsts else { return false };
    firsts.len() > 2
        && !firsts.len().is_multiple_of(2)
        && rest.iter().enumerate().all(|(at, &first)| first == base + ((at + 2) ^ 1))
}

/// Parts of one size and shape, if the node is made of such.
fn parts(node: &Node) -> Option<String> {
    let mut found: Option<Vec<&Node>> = None;
    let mut frontier = vec![node];
    loop {
        let sizes: Vec<usize> = frontier.iter().map(|n| n.size()).collect();
        let most = *sizes.iter().max()?;
        let equal = frontier.len() > 1 && sizes.iter().all(|&size| size == most);
        if equal && (most > 1 || found.is_some()) {
            found = Some(frontier.clone());
        }
        // Parts that are halves of halves are looked into further; others are parts as they are.
        let splits_evenly = |n: &Node| match n {
            Node::Sum(children) => children.len() == 2 && children[0].size() == children[1].size(),
            Node::Product(_) => false,
        };
        if most == 1 || equal && !frontier.iter().all(|n| splits_evenly(n)) {
            break;
        }
        let mut next = Vec::new();
        for (n, size) in frontier.into_iter().zip(sizes) {
            match n {
                Node::Sum(children) if size == most => next.extend(children),
                other => next.push(other),
            }
        }
        frontier = next;
    }
    let parts = found?;
    let (count, each) = (parts.len(), parts[0].size());
    let each_said = said(parts[0]);
    if parts.iter().any(|part| said(part) != each_said) {
        return None;
    }
    let how = joined(node, each, count);
    if each == 1 {
        return Some(format!("{count} products, added {how}"));
    }
    Some(format!("{count} parts ({}), added {how}; each: {each_said}", places(&parts, each)))
}

/// How parts of `each` products are put together.
fn joined(node: &Node, each: usize, count: usize) -> &'static str {
    let Node::Sum(children) = node else { return "" };
    if children.len() == count {
        return if count == 2 { "to each other" } else { "together" };
    }
    let (mut depth, mut most, mut open) = (0, 0, vec![(node, 0)]);
    while let Some((n, d)) = open.pop() {
        if let Node::Sum(children) = n
            && n.size() > each
        {
            most = most.max(children.len());
            depth = depth.max(d + 1);
            open.extend(children.iter().map(|child| (child, d + 1)));
        }
    }
    match (most, depth) {
        (2, depth) if depth + 1 == count => "one after another",
        (2, depth) if depth == (usize::BITS - (count - 1).leading_zeros()) as usize => "in pairs",
        _ => "in a tree",
    }
}

/// Which indices the parts have.
fn places(parts: &[&Node], each: usize) -> String {
    let sorted = |part: &Node| {
        let mut leaves = part.leaves();
        leaves.sort_unstable();
        leaves
    };
    let all: Vec<Vec<usize>> = parts.iter().map(|part| sorted(part)).collect();
    let step = all[0].windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(1);
    let even = all.iter().all(|leaves| leaves.windows(2).all(|pair| pair[1] - pair[0] == step));
    match (even, step) {
        (true, 1) => format!("{each} consecutive k each"),
        (true, step) if step == parts.len() => format!("k mod {step} = 0, 1, …"),
        (true, step) => format!("{each} k each, {step} apart"),
        (false, _) => format!("{each} k each"),
    }
}

/// One value to which others are added in turn, if the node is that.
fn chain(node: &Node) -> Option<String> {
    let mut groups: Vec<Vec<&Node>> = Vec::new();
    let mut spine = node;
    loop {
        let Node::Sum(children) = spine else { return None };
        if children.iter().all(|child| matches!(child, Node::Product(_))) {
            groups.push(children.iter().collect());
            break;
        }
        let below = children.iter().max_by_key(|child| child.size())?;
        groups.push(children.iter().filter(|child| !std::ptr::eq(*child, below)).collect());
        spine = below;
    }
    groups.reverse();
    let products = groups.iter().flatten().all(|n| matches!(n, Node::Product(_)));
    let firsts: Vec<usize> = groups.iter().map(|g| g.iter().map(|n| n.first()).min().unwrap_or(0)).collect();
    let order = match () {
        () if firsts.windows(2).all(|pair| pair[0] < pair[1]) => "ascending",
        () if firsts.windows(2).all(|pair| pair[0] > pair[1]) => "descending",
        () if pairs_swapped(&firsts) => "ascending in pairs, the second of each pair first",
        () => "mixed",
    };
    let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
    let n = lengths[1..].iter().copied().max()?;
    let even = lengths[1..lengths.len() - 1].iter().all(|&length| length == n) && lengths.last()? <= &n;
    let count: usize = lengths.iter().sum();
    match (products, n) {
        // The first two products are one sum.
        (true, 1) if lengths[0] == 2 => Some(format!("{count} products, one after another, k {order}")),
        (true, n) if even && lengths[0] == n => {
            Some(format!("{count} products in fused sums of {n} and what came before, k {order}"))
        }
        _ => None,
    }
}
