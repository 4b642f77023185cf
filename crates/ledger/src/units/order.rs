//! What is recorded of the order in which a product adds?

use super::codes::Codes;
use super::record::{Claim, Origin, UnitIdentity, Versioned};
use crate::rows::CellId;
use rigel_numerics::arithmetic::Distribution;
use rigel_numerics::order::Tree;
use rigel_numerics::random::{below, stream};
use rigel_numerics::{Shape, Triple};
use serde::{Deserialize, Serialize};

/// Pairs of products that a finished tree is held against.
pub const MET: u64 = 256;

/// The order in which a path adds the products of one K, and whether row 0 depends on its batch: `orders/*.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderRecord {
    /// Version of this form.
    pub schema: u32,
    /// The cell.
    #[schemars(with = "String")]
    pub cell: CellId,
    /// Where it comes from.
    pub origin: Origin,
    /// The product: its name is the launch tile, its shape the largest batch × columns × K.
    pub unit: UnitIdentity,
    /// `exact`: a tree that every answer agrees with, or exact sums of integers, which have no order to be seen.
    pub claim: Claim,
    /// Why there is no order; empty when exact.
    pub why: String,
    /// The tree, or what stands in its place, in words.
    pub words: String,
    /// The tree in postfix notation: `0..3 +4` is a fused sum of four products.
    #[schemars(with = "Option<String>")]
    pub tree: Option<Tree>,
    /// Extents of the products by which it was asked, where any was: a library may choose another kernel for others.
    #[schemars(with = "Option<String>")]
    pub by: Option<Shape>,
    /// Dot products that were computed for it.
    pub dots: u64,
    /// Seed of the pairs and of the rows.
    pub seed: u64,
    /// Of each drawn pair of products ([`drawn_pairs`]) how many products lie below the lowest sum that has both below it, as
    /// counted on the device; empty without a tree.
    pub met: Vec<u64>,
    /// Row 0 of D over batches of 1, 2, … rows ([`batches`]): an entry where its bits change.
    pub row_zero: Vec<RowZero>,
}

/// Row 0 of D in every batch from one size up to the next entry's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RowZero {
    /// The smallest batch.
    pub from: u64,
    /// Its codes.
    pub d: Codes,
}

/// What is said of integers.
pub const EXACT_SUMS: &str = "exact sums of integers: no order shows";

impl OrderRecord {
    /// What its tree, or the lack of one, is in words.
    pub fn described(&self) -> String {
        match &self.tree {
            Some(tree) => tree.to_string(),
            None if self.claim == Claim::Exact => EXACT_SUMS.to_owned(),
            None => String::new(),
        }
    }

    /// Whether row 0 depends on the batch, as `independent` or `dependent`, and in words; `None` where no batch was multiplied.
    pub fn dependence(&self) -> Option<(&'static str, String)> {
        let (k, most, columns) = (self.unit.shape.k, self.unit.shape.m, self.unit.shape.n);
        let changes: Vec<String> = self
            .row_zero
            .windows(2)
            .map(|pair| {
                let changed = pair[0].d.0.iter().zip(&pair[1].d.0).filter(|(x, y)| x != y).count();
                format!("m = {} ({changed} of {columns} elements)", pair[1].from)
            })
            .collect();
        let same = || format!("row 0 has the same bits in every batch of 1 to {most} rows that was tried (K {k})");
        let differ =
            || format!("the bits of row 0 change with the rows it rides with (K {k}): at {}", changes.join(", "));
        match self.row_zero.len() {
            0 => None,
            1 => Some(("independent", same())),
            _ => Some(("dependent", differ())),
        }
    }

    pub(super) fn flaws(&self) -> Vec<String> {
        let mut flaws = Vec::new();
        let mut must = |holds: bool, what: &str| {
            if !holds {
                flaws.push(what.to_owned());
            }
        };
        let exact = self.claim == Claim::Exact;
        let shape = self.unit.shape;
        let integers = self.unit.triple.is_integer();
        must(exact == self.why.is_empty(), "`why` says why a claim is inexact, and nothing of an exact one");
        must(self.words == self.described(), "`words` are not those of the tree");
        must(
            exact == (self.tree.is_some() || (integers && exact)),
            "an exact claim needs a tree, a tree an exact claim",
        );
        must(!(integers && self.tree.is_some()), "sums of integers have no tree");
        must(self.by.is_none_or(|by| by.k == shape.k), "the tree was asked by products of another K");
        must(self.tree.is_none() || self.by.is_some(), "a tree was asked by products");
        match &self.tree {
            None => must(self.met.is_empty(), "pairs are counted without a tree"),
            Some(tree) if tree.root.size() != shape.k => must(false, "the tree has other products than the shape"),
            Some(tree) => {
                let meetings = tree.meetings();
                let said = drawn_pairs(shape.k, self.seed).into_iter().map(|(i, j)| meetings.size(i, j) as u64);
                must(self.met.iter().copied().eq(said), "the counts of the drawn pairs are not those of the tree");
            }
        }
        must(!exact || !self.row_zero.is_empty(), "an exact claim needs row 0 of its batches");
        must(self.dots >= 2 * self.met.len() as u64, "fewer dot products were computed than pairs were counted");
        let fits = |code: &u64| code & !self.unit.triple.c.code_mask() == 0;
        must(self.row_zero.iter().all(|row| row.d.0.iter().all(fits)), "a code of row 0 is wider than the output");
        let asked = |from: u64| from >= 1 && from <= shape.m as u64;
        must(
            self.row_zero.iter().all(|row| row.d.0.len() == shape.n && asked(row.from)),
            "a row is not as the shape has it",
        );
        must(self.row_zero.first().is_none_or(|row| row.from == 1), "the first batch has one row");
        let changes = self.row_zero.windows(2).all(|pair| pair[0].from < pair[1].from && pair[0].d != pair[1].d);
        must(changes, "rows change nothing, or are not in the order of their batches");
        if exact && integers && flaws.is_empty() && !self.sums_are_exact() {
            flaws.push("row 0 is not the exact sum of the drawn integers".to_owned());
        }
        flaws
    }

    /// Whether row 0 of every batch is the exact sum of the drawn integers modulo the width of the output. Of integers only.
    pub fn sums_are_exact(&self) -> bool {
        let row = exact_row(self.unit.triple, self.unit.shape.k, self.unit.shape.n, self.seed);
        self.row_zero.iter().all(|found| found.d.0 == row)
    }
}

/// The pairs of different products that a tree over `k` of them is held against.
pub fn drawn_pairs(k: usize, seed: u64) -> Vec<(usize, usize)> {
    let key = stream(seed, k as u64);
    let pair = |n: u64| {
        let i = below(key, 2 * n, k as u64) as usize;
        let j = below(key, 2 * n + 1, k as u64 - 1) as usize;
        (i, if j >= i { j + 1 } else { j })
    };
    if k < 2 { Vec::new() } else { (0..MET).map(pair).collect() }
}

/// The batches that are multiplied first: every one up to 64, then each multiple of 32 with its neighbours, and the largest.
/// Where row 0 differs between two of them, those between are halved until the change is found.
pub fn batches(most: usize) -> Vec<usize> {
    let around = (96..).step_by(32).take_while(|m| m - 1 <= most).flat_map(|m| [m - 1, m, m + 1]);
    let mut all: Vec<usize> = (1..=64).chain(around).chain([most]).filter(|&m| m >= 1 && m <= most).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Row `i` of A, and column `i` of B, of the products whose row 0 is looked at: ordinary values.
pub fn drawn_row(triple: Triple, k: usize, seed: u64, of_a: bool, i: usize) -> Vec<u64> {
    let seed = if of_a { seed } else { !seed };
    let inputs = Distribution::Normal.unscaled(triple, k, stream(seed, 0x6f72_6472), i as u64);
    if of_a { inputs.a } else { inputs.b }
}

/// Row 0 of D where sums are exact, modulo the width of the output.
fn exact_row(triple: Triple, k: usize, columns: usize, seed: u64) -> Vec<u64> {
    let row = drawn_row(triple, k, seed, true, 0);
    let value = |format: rigel_numerics::Format, code: u64| format.decode(code) as i64;
    let dot = |j| {
        let column = drawn_row(triple, k, seed, false, j);
        let sum: i64 = row.iter().zip(column).map(|(&a, b)| value(triple.a, a) * value(triple.b, b)).sum();
        sum as u64 & triple.c.code_mask()
    };
    (0..columns).map(dot).collect()
}

impl Versioned for OrderRecord {
    fn schema(&self) -> u32 {
        self.schema
    }
}
