//! Which parts of a plan are not in a run?
//!
//! `run --partition slice:m/n` measures every n-th piece of a plan, `run --block NAME` one block and several such options
//! several; provenance keeps which, `block:NAME;NAME`. A
//! run of some shards is whole for each of its blocks, and says nothing of the others.

use crate::provenance::Provenance;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What keeps runs from being the whole plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingParts {
    /// Shards `slice:m/n` that are not here.
    Shards {
        /// n.
        count: u32,
        /// Every m that is missing, in order.
        missing: Vec<u32>,
    },
    /// Single blocks are here, and none says which others the plan has.
    OnlyBlocks(BTreeSet<String>),
}

/// The parts that no record measured; none when one record measured all, or all shards of one division are there.
///
/// Of several divisions the one that lacks the fewest shards is told. A part that does not read counts as nothing.
pub fn missing_parts(provenance: &[Provenance]) -> Option<MissingParts> {
    let mut divisions: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut blocks = BTreeSet::new();
    for record in provenance {
        match record.partition.as_str() {
            "" => return None,
            part => match (shard(part), part.strip_prefix("block:")) {
                (Some((index, count)), _) => drop(divisions.entry(count).or_default().insert(index)),
                (None, Some(names)) => blocks.extend(names.split(';').map(str::to_owned)),
                (None, None) => {}
            },
        }
    }
    let lacks = |(count, there): &(u32, BTreeSet<u32>)| *count as usize - there.len();
    let Some((count, there)) = divisions.into_iter().min_by_key(lacks) else {
        return (!provenance.is_empty()).then_some(MissingParts::OnlyBlocks(blocks));
    };
    let missing: Vec<u32> = (1..=count).filter(|index| !there.contains(index)).collect();
    (!missing.is_empty()).then_some(MissingParts::Shards { count, missing })
}

/// m and n of `slice:m/n`.
fn shard(part: &str) -> Option<(u32, u32)> {
    let (index, count) = part.strip_prefix("slice:")?.split_once('/')?;
    let (index, count) = (index.parse().ok()?, count.parse().ok()?);
    ((1..=count).contains(&index) && count <= 65_536).then_some((index, count))
}

impl fmt::Display for MissingParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingParts::Shards { count, missing } => {
                let named: Vec<String> = missing.iter().take(12).map(|m| format!("slice:{m}/{count}")).collect();
                let more = if missing.len() > named.len() { ", …" } else { "" };
                let (n, is) = (missing.len(), if missing.len() == 1 { "is" } else { "are" });
                write!(f, "{n} of {count} shards {is} not here: {}{more}", named.join(", "))
            }
            MissingParts::OnlyBlocks(blocks) if blocks.is_empty() => {
                write!(f, "which part of the plan is here is not known")
            }
            MissingParts::OnlyBlocks(blocks) => {
                let named: Vec<&str> = blocks.iter().take(12).map(String::as_str).collect();
                let more = if blocks.len() > named.len() { ", …" } else { "" };
                write!(f, "of all blocks of the plan only these are here: {}{more}", named.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn record(partition: &str) -> Provenance {
        Provenance { partition: partition.to_owned(), ..Provenance::planted(&Plan::planted("parts"), "parts") }
    }

    fn said(parts: &[&str]) -> Option<String> {
        missing_parts(&parts.iter().map(|part| record(part)).collect::<Vec<_>>()).map(|missing| missing.to_string())
    }

    #[test]
    fn a_plan_is_whole_when_undivided_or_when_every_shard_is_there() {
        assert_eq!(said(&[""]), None);
        assert_eq!(said(&["slice:1/3", ""]), None);
        assert_eq!(said(&["slice:2/2", "slice:1/2"]), None);
        assert_eq!(said(&["slice:1/1"]), None);
        assert_eq!(said(&[]), None, "what has no provenance says so elsewhere");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(said(&["slice:1/3", "slice:1/3"]).unwrap(), "2 of 3 shards are not here: slice:2/3, slice:3/3");
        assert_eq!(said(&["slice:1/3", "slice:2/2", "block:b"]).unwrap(), "1 of 2 shards is not here: slice:1/2");
        assert_eq!(said(&["block:b", "block:a"]).unwrap(), "of all blocks of the plan only these are here: a, b");
        assert_eq!(said(&["block:b;a", "block:c"]).unwrap(), "of all blocks of the plan only these are here: a, b, c");
        for odd in ["slice:0/3", "slice:4/3", "slice:x/3", "slice:1/99999999", "half"] {
            assert!(said(&[odd]).unwrap().contains("not known"), "{odd}");
        }
        assert!(said(&["slice:1/65536"]).unwrap().ends_with(", …"));
    }
}
