//! Into which parts does a node divide the indices of k that it was given?

use serde::{Deserialize, Serialize};

/// A division of an ordered list of indices into ordered parts. Positions below are positions in that list, so splits
/// nest; parts that would be empty are left out.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// One part: all of it.
    Whole,
    /// Consecutive blocks; the last one may be shorter.
    Blocks {
        /// Indices of a block.
        of: usize,
        /// Whether the last block comes first (each keeps its order inside).
        #[serde(default, skip_serializing_if = "super::sum::is_default")]
        descending: bool,
    },
    /// This many consecutive parts, of ⌈length ÷ count⌉ indices each: split-K.
    Parts {
        /// The number of parts.
        count: usize,
    },
    /// Part j holds the positions that are j modulo `count`.
    Strided {
        /// The number of parts.
        count: usize,
    },
    /// Part j holds, in every period, the positions listed for it, in the order of the list. The lists together hold every
    /// position of a period once.
    Pattern {
        /// Positions within a period, part by part.
        parts: Vec<Vec<usize>>,
    },
}

impl Split {
    /// Consecutive blocks in ascending order.
    pub const fn blocks(of: usize) -> Split {
        Split::Blocks { of, descending: false }
    }

    /// In a few words: `blocks of 4`, `k mod 4 in {0,1} then {2,3}`.
    pub fn words(&self) -> String {
        match self {
            Split::Whole => "all k".to_owned(),
            Split::Blocks { of, descending: false } => format!("blocks of {of}"),
            Split::Blocks { of, descending: true } => format!("blocks of {of} from the end"),
            Split::Parts { count } => format!("{count} parts"),
            Split::Strided { count } => format!("k mod {count}"),
            Split::Pattern { parts } => {
                let period: usize = parts.iter().map(Vec::len).sum();
                let list = |part: &Vec<usize>| {
                    let items: Vec<String> = part.iter().map(usize::to_string).collect();
                    format!("{{{}}}", items.join(","))
                };
                let lists: Vec<String> = parts.iter().map(list).collect();
                format!("k mod {period} in {}", lists.join(" then "))
            }
        }
    }

    /// The parts of a list of indices, none of them empty. A split that [`Split::flaw`] objects to gives one part.
    pub fn divide(&self, indices: &[usize]) -> Vec<Vec<usize>> {
        if self.flaw().is_some() {
            return vec![indices.to_vec()];
        }
        let blocks = |of: usize| indices.chunks(of.max(1)).map(<[usize]>::to_vec).collect::<Vec<_>>();
        let mut parts = match self {
            Split::Whole => vec![indices.to_vec()],
            Split::Blocks { of, descending } => {
                let mut parts = blocks(*of);
                if *descending {
                    parts.reverse();
                }
                parts
            }
            Split::Parts { count } => blocks(indices.len().div_ceil(*count)),
            Split::Strided { count } => (0..(*count).min(indices.len()))
                .map(|j| indices.iter().skip(j).step_by(*count).copied().collect())
                .collect(),
            Split::Pattern { parts } => {
                let period: usize = parts.iter().map(Vec::len).sum();
                let of = |part: &Vec<usize>| {
                    let starts = (0..indices.len()).step_by(period);
                    starts.flat_map(|s| part.iter().filter_map(move |&p| indices.get(s + p).copied())).collect()
                };
                parts.iter().map(of).collect()
            }
        };
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Why no list can be divided so, if none can.
    pub fn flaw(&self) -> Option<&'static str> {
        match self {
            Split::Whole => None,
            Split::Blocks { of: 0, .. } => Some("blocks of 0 indices"),
            Split::Parts { count: 0 } | Split::Strided { count: 0 } => Some("0 parts"),
            Split::Blocks { .. } | Split::Parts { .. } | Split::Strided { .. } => None,
            Split::Pattern { parts } => {
                let mut all: Vec<usize> = parts.iter().flatten().copied().collect();
                all.sort_unstable();
                if all.is_empty() || !all.iter().copied().eq(0..all.len()) {
                    return Some("a pattern whose parts do not hold every position of the period once");
                }
                parts.iter().any(Vec::is_empty).then_some("a pattern with an empty part")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_divide_as_they_say() {
        let ten: Vec<usize> = (0..10).collect();
        let parts = |split: Split| split.divide(&ten);
        assert_eq!(parts(Split::Whole), [(0..10).collect::<Vec<_>>()]);
        assert_eq!(parts(Split::blocks(4)), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        assert_eq!(parts(Split::Blocks { of: 4, descending: true }), [vec![8, 9], vec![4, 5, 6, 7], vec![0, 1, 2, 3]]);
        assert_eq!(parts(Split::Parts { count: 3 }), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
        assert_eq!(parts(Split::Strided { count: 3 }), [vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]]);
        let pattern = Split::Pattern { parts: vec![vec![1, 0], vec![3, 2]] };
        assert_eq!(parts(pattern.clone()), [vec![1, 0, 5, 4, 9, 8], vec![3, 2, 7, 6]]);
        assert_eq!(pattern.divide(&[20, 21, 22, 23]), [vec![21, 20], vec![23, 22]]);
        assert_eq!(Split::Strided { count: 5 }.divide(&[7, 8]), [vec![7], vec![8]]);
    }

    #[test]
    fn flawed_splits_are_named() {
        for split in [
            Split::blocks(0),
            Split::Parts { count: 0 },
            Split::Strided { count: 0 },
            Split::Pattern { parts: vec![] },
            Split::Pattern { parts: vec![vec![0], vec![]] },
            Split::Pattern { parts: vec![vec![0, 2]] },
            Split::Pattern { parts: vec![vec![0, 1], vec![1]] },
        ] {
            assert!(split.flaw().is_some(), "{split:?}");
            assert_eq!(split.divide(&[3, 4]), [vec![3, 4]]);
        }
    }
}
