//! In which order are products added? Trees of sums, in words and as text.

mod notation;
mod tree;
mod words;

pub use notation::{BadTree, MOST_PRODUCTS};
pub use tree::{Meetings, Node, Tree};
