//! In which order does a long black box add its products?
//!
//! [`recover`] takes anything that computes dot products of one length ([`DotProducts`]; [`GemmDots`] makes one of a device's
//! product) and gives the tree of its sums, in the manner of FPRev (arXiv 2411.00442), extended to sums of more than two terms.
//!
//! # How
//!
//! One row holds a unit in every place but two: +M in place i and −M in place j, M so large that it swallows all units together.
//! Units that are added to a partial sum with one of the two in it are lost; what comes out counts the others. So it
//! tells how many leaves lie below the lowest node that has both i and j below it. Where a pivot is one of the two, the
//! counts for all others give the pivot's whole path to the root; what branches off the path is asked in turn. A node of
//! more than two children is a fused sum: among the leaves that branch off in one place, some are as far from each other as
//! from the pivot. Every pair is asked with both signs, since a sum of two that is rounded toward zero swallows units under a positive mask
//! only; where both masks have units added to them, no number of units comes out and there is no tree.
//!
//! The tree is then held against pairs that were not asked before. One contradiction and there is no tree.
//!
//! # What it says and what not
//!
//! Split-K, interleaved partial sums and promotion intervals are parts of the tree and are said in words (`Display` of [`Tree`](rigel_numerics::order::Tree)).
//! A multiply-add and a product that is rounded before it is added have one tree. Sums that are exact (integers, long
//! accumulators), and fused sums whose terms are not cut, have no order that outputs could show, and are refused as such. The tree is that of one shape.

mod batch;
mod black_box;
mod masks;
mod recover;

pub use batch::row_zero;
pub use black_box::{DotProducts, GemmDots};
pub use masks::Unmaskable;
pub use recover::{Recovered, Unrecovered, recover};
