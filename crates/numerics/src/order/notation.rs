//! How does a tree of sums stand in one line of text?
//!
//! In postfix order, so that a stack is all a reader needs: a number is the product at that index, `a..b` the products from a to
//! b in turn, and `+n` the sum of the last n values. `0..3 +4 4..7 +5` is a fused sum of four products and one of four more and
//! what came before. There is one notation of each tree: the children of a sum stand in the order of their first products, and
//! three or more consecutive products in a row are written as a range.

use super::tree::{Node, Tree};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Most products of a tree that is read from text: chains are as deep as they are long, and depth costs stack.
pub const MOST_PRODUCTS: usize = 8192;
/// Consecutive products from which on a range is written.
const RANGE: usize = 3;

/// A text that is no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTree {
    /// A word that is neither product, range nor sum.
    #[error("`{0}` is no product (`7`), no range of products (`0..15`) and no sum (`+2`)")]
    Word(String),
    /// A sum of more values than there are, or of fewer than two.
    #[error("`+{asked}` where {there} values are: a sum takes at least 2 of them")]
    Sum {
        /// Values of the sum.
        asked: usize,
        /// Values that there are.
        there: usize,
    },
    /// More than one value is left, or none.
    #[error("{0} values are left at the end; a tree leaves 1")]
    Left(usize),
    /// A product is missing or doubled, or there are too many.
    #[error("its products are not 0 to {0}, each once, with at most {MOST_PRODUCTS} of them")]
    Products(usize),
    /// Another text is the notation of the same tree.
    #[error(
        "the tree is written otherwise than its notation, in which children stand in the order of their first products"
    )]
    Form,
}

impl Tree {
    /// The notation: see the top of this file. Linear in the products.
    pub fn notation(&self) -> String {
        enum Item<'a> {
            Visit(&'a Node),
            Sum(usize),
        }
        let mut out = String::new();
        let mut range: Option<(usize, usize)> = None;
        let mut open = vec![Item::Visit(&self.root)];
        while let Some(item) = open.pop() {
            match item {
                Item::Visit(Node::Product(index)) => match &mut range {
                    Some((_, last)) if *last + 1 == *index => *last = *index,
                    _ => {
                        flush(&mut out, range.replace((*index, *index)));
                    }
                },
                Item::Visit(Node::Sum(children)) => {
                    open.push(Item::Sum(children.len()));
                    open.extend(children.iter().rev().map(Item::Visit));
                }
                Item::Sum(count) => {
                    flush(&mut out, range.take());
                    push(&mut out, format_args!("+{count}"));
                }
            }
        }
        flush(&mut out, range);
        out
    }
}

fn push(out: &mut String, word: std::fmt::Arguments<'_>) {
    if !out.is_empty() {
        out.push(' ');
    }
    // Writing to a string cannot fail.
    let _ = out.write_fmt(word);
}

fn flush(out: &mut String, range: Option<(usize, usize)>) {
    match range {
        Some((first, last)) if last - first + 1 >= RANGE => push(out, format_args!("{first}..{last}")),
        Some((first, last)) => (first..=last).for_each(|index| push(out, format_args!("{index}"))),
        None => {}
    }
}

impl std::str::FromStr for Tree {
    type Err = BadTree;

    fn from_str(text: &str) -> Result<Tree, BadTree> {
        let mut stack: Vec<(usize, Node)> = Vec::new();
        let mut seen = Vec::new();
        let mut product = |index: usize, stack: &mut Vec<(usize, Node)>| {
            if index >= MOST_PRODUCTS {
                return Err(BadTree::Products(index));
            }
            if seen.len() <= index {
                seen.resize(index + 1, false);
            }
            if std::mem::replace(&mut seen[index], true) {
                return Err(BadTree::Products(seen.len() - 1));
            }
            stack.push((index, Node::Product(index)));
            Ok(())
        };
        for word in text.split(' ') {
            let number = |text: &str| {
                let digits = !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit());
                digits.then(|| text.parse().ok()).flatten().ok_or_else(|| BadTree::Word(shortened(word)))
            };
            if let Some(count) = word.strip_prefix('+') {
                let (asked, there): (usize, usize) = (number(count)?, stack.len());
                if asked < 2 || asked > there {
                    return Err(BadTree::Sum { asked, there });
                }
                let children = stack.split_off(there - asked);
                let first = children.iter().map(|(first, _)| *first).min().unwrap_or(0);
                stack.push((first, Node::Sum(children.into_iter().map(|(_, node)| node).collect())));
            } else if let Some((first, last)) = word.split_once("..") {
                let (first, last) = (number(first)?, number(last)?);
                for index in first..=last {
                    product(index, &mut stack)?;
                }
            } else {
                product(number(word)?, &mut stack)?;
            }
        }
        if stack.len() != 1 {
            return Err(BadTree::Left(stack.len()));
        }
        let (_, root) = stack.remove(0);
        let products = seen.len();
        if !seen.into_iter().all(|seen| seen) {
            return Err(BadTree::Products(products.saturating_sub(1)));
        }
        let tree = Tree { root };
        if tree.is_sorted() && tree.notation() == text { Ok(tree) } else { Err(BadTree::Form) }
    }
}

fn shortened(word: &str) -> String {
    word.chars().take(20).collect()
}

impl Serialize for Tree {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.notation())
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A tree over `k` products in any order, whose sums have two to five children, in canonical order.
    fn tree(k: usize, order: &[usize], counts: &[usize]) -> Tree {
        let mut nodes: Vec<(usize, Node)> = order.iter().map(|&i| (i, Node::Product(i))).collect();
        for &count in counts.iter().cycle().take(k) {
            if nodes.len() == 1 {
                break;
            }
            let mut children: Vec<(usize, Node)> = nodes.drain(..count.min(nodes.len())).collect();
            children.sort_by_key(|(first, _)| *first);
            nodes.push((children[0].0, Node::Sum(children.into_iter().map(|(_, node)| node).collect())));
        }
        Tree { root: nodes.remove(0).1 }
    }

    proptest! {
        #[test]
        fn every_tree_reads_back(
            order in (1usize..60).prop_flat_map(|k| Just((0..k).collect::<Vec<_>>()).prop_shuffle()),
            counts in prop::collection::vec(2usize..6, 1..9),
        ) {
            let tree = tree(order.len(), &order, &counts);
            prop_assert_eq!(tree.notation().parse::<Tree>(), Ok(tree));
        }

        #[test]
        fn no_text_panics_and_what_is_read_is_the_notation(text in "[0-9+. a-]{0,24}") {
            if let Ok(tree) = text.parse::<Tree>() {
                prop_assert_eq!(tree.notation(), text);
            }
        }
    }

    #[test]
    fn the_notation_is_short_for_what_hardware_does() {
        let said = |text: &str| text.parse::<Tree>().map(|tree| tree.to_string());
        assert_eq!(
            said("0..3 +4 4..7 +5"),
            Ok("8 products in fused sums of 4 and what came before, k ascending".to_owned())
        );
        assert_eq!(said("0"), Ok("one product".to_owned()));
        for bad in
            ["", "0 1", "+2", "0 +1", "0 0 +2", "0 2 +2", "1 0 +2", "0 1 2 +3", "0 1  +2", "0 1 +02", "a", "0..9000"]
        {
            assert!(said(bad).is_err(), "{bad}");
        }
    }

    /// As deep as text may make it, on the small stack of a test's thread.
    #[test]
    fn the_deepest_chain_is_read_compared_and_dropped() {
        let mut text = "0".to_owned();
        (1..MOST_PRODUCTS).for_each(|index| text.push_str(&format!(" {index} +2")));
        let tree: Tree = text.parse().expect("a chain");
        assert_eq!(tree, tree.clone());
        assert_eq!((tree.depth(), tree.root.size()), (MOST_PRODUCTS - 1, MOST_PRODUCTS));
        assert_eq!(tree.to_string(), format!("{MOST_PRODUCTS} products, one after another, k ascending"));
    }
}
