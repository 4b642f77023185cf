//! Which type triples does `matmul2d` list, and since which version of the vendor's header?
//!
//! The table is the header's own comment table. Adding a triple is one line here: kernels, offers, the host-side headers of
//! the tests and their refusals all read it.
//!
//! Sources: MPPTensorOpsMatMul2d.h of SDKs 26.1, 26.5 and 27.0. Format types are for SIMD-group scopes only (the thread branch of
//! the header lists 37 triples), and the rows of 27.0 need language 4.1 and a minimum system of 27.0 besides.

use super::element::Element::{self, *};
use super::level::{Language, Sdk};

/// Left and right element types, and the destinations that they may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The first header that lists it.
    pub since: Sdk,
    /// Element type of the left operand.
    pub left: Element,
    /// Element type of the right operand.
    pub right: Element,
    /// Element types that the destination may have.
    pub dest: &'static [Element],
}

const fn row(since: Sdk, left: Element, right: Element, dest: &'static [Element]) -> Row {
    Row { since, left, right, dest }
}

/// Every listed combination, oldest first.
pub const TABLE: &[Row] = &[
    row(Sdk::V26_1, Half, Half, &[Half, Float]),
    row(Sdk::V26_1, Half, Int8, &[Half, Float]),
    row(Sdk::V26_1, Int8, Half, &[Half, Float]),
    row(Sdk::V26_1, Half, Float, &[Float]),
    row(Sdk::V26_1, Float, Half, &[Float]),
    row(Sdk::V26_1, Float, Float, &[Float]),
    row(Sdk::V26_1, Float, Int8, &[Float]),
    row(Sdk::V26_1, Int8, Float, &[Float]),
    row(Sdk::V26_1, Int8, Int8, &[Int32]),
    row(Sdk::V26_1, Bfloat, Bfloat, &[Bfloat, Float]),
    row(Sdk::V26_1, Bfloat, Float, &[Float]),
    row(Sdk::V26_1, Float, Bfloat, &[Float]),
    row(Sdk::V26_1, Bfloat, Int8, &[Bfloat, Float]),
    row(Sdk::V26_1, Int8, Bfloat, &[Bfloat, Float]),
    row(Sdk::V26_1, Bfloat, Half, &[Bfloat, Half, Float]),
    row(Sdk::V26_1, Half, Bfloat, &[Bfloat, Half, Float]),
    row(Sdk::V26_5, Half, Uint8, &[Half, Float]),
    row(Sdk::V26_5, Uint8, Half, &[Half, Float]),
    row(Sdk::V26_5, Float, Uint8, &[Float]),
    row(Sdk::V26_5, Uint8, Float, &[Float]),
    row(Sdk::V26_5, Uint8, Uint8, &[Int32]),
    row(Sdk::V26_5, Bfloat, Uint8, &[Bfloat, Float]),
    row(Sdk::V26_5, Uint8, Bfloat, &[Bfloat, Float]),
    row(Sdk::V26_5, Half, Int4, &[Half, Float]),
    row(Sdk::V26_5, Half, Uint4, &[Half, Float]),
    row(Sdk::V26_5, Bfloat, Int4, &[Bfloat, Float]),
    row(Sdk::V26_5, Bfloat, Uint4, &[Bfloat, Float]),
    row(Sdk::V26_5, Int8, Int4, &[Int32]),
    row(Sdk::V26_5, Uint8, Uint4, &[Int32]),
    row(Sdk::V27_0, Int8, Int2, &[Int32]),
    row(Sdk::V27_0, Uint8, Uint2, &[Int32]),
    row(Sdk::V27_0, Half, Int2, &[Half, Float]),
    row(Sdk::V27_0, Half, Uint2, &[Half, Float]),
    row(Sdk::V27_0, Bfloat, Int2, &[Bfloat, Float]),
    row(Sdk::V27_0, Bfloat, Uint2, &[Bfloat, Float]),
    row(Sdk::V27_0, Half, E2m1, &[Half, Float]),
    row(Sdk::V27_0, Half, E4m3, &[Half, Float]),
    row(Sdk::V27_0, Half, E5m2, &[Half, Float]),
    row(Sdk::V27_0, E2m1, E2m1, &[Half, Float]),
    row(Sdk::V27_0, E4m3, E4m3, &[Half, Float]),
    row(Sdk::V27_0, E5m2, E5m2, &[Half, Float]),
];

/// Combinations whose operands have planes of scales: not rows of the header's table, but rows of format types of it whose tensors
/// carry the tag. The header asks for language 4.1 and takes them on the left, on the right, or on both; NVFP4, with a scale of each
/// 16 in another format, has no form there.
pub const SCALED: &[Row] = &[
    row(Sdk::V27_0, Mxe4m3, Mxe4m3, &[Half, Float]),
    row(Sdk::V27_0, Mxe2m1, Mxe2m1, &[Half, Float]),
    row(Sdk::V27_0, Mxe4m3, E4m3, &[Half, Float]),
    row(Sdk::V27_0, E4m3, Mxe4m3, &[Half, Float]),
    row(Sdk::V27_0, Mxe2m1, E2m1, &[Half, Float]),
    row(Sdk::V27_0, E2m1, Mxe2m1, &[Half, Float]),
    row(Sdk::V27_0, Half, Mxe4m3, &[Half, Float]),
    row(Sdk::V27_0, Half, Mxe2m1, &[Half, Float]),
];

fn spread(table: &'static [Row]) -> impl Iterator<Item = (Sdk, Types)> {
    table.iter().flat_map(|r| r.dest.iter().map(|&dest| (r.since, Types::new(r.left, r.right, dest))))
}

/// Element types of left, right and destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Types {
    /// Left.
    pub left: Element,
    /// Right.
    pub right: Element,
    /// Destination.
    pub dest: Element,
}

impl Types {
    /// Three element types.
    pub const fn new(left: Element, right: Element, dest: Element) -> Types {
        Types { left, right, dest }
    }

    /// Every listed triple with the first header that lists it, in the order of the table.
    pub fn listed() -> impl Iterator<Item = (Sdk, Types)> {
        spread(TABLE)
    }

    /// Every triple with planes of scales that there is, with the first header that has it.
    pub fn scaled() -> impl Iterator<Item = (Sdk, Types)> {
        spread(SCALED)
    }

    /// Which inputs have planes of scales: left, right.
    pub const fn scales(self) -> (bool, bool) {
        (self.left.is_scaled(), self.right.is_scaled())
    }

    /// Whether an input has a plane of scales.
    pub const fn has_scales(self) -> bool {
        self.left.is_scaled() || self.right.is_scaled()
    }

    /// The first header that lists it, or has it with planes of scales; `None`: none does.
    pub fn since(self) -> Option<Sdk> {
        Types::listed().chain(Types::scaled()).find(|(_, types)| *types == self).map(|(since, _)| since)
    }

    /// The oldest language that has all three names.
    pub fn language(self) -> Language {
        self.since().map_or(Language::V4_1, Sdk::language)
    }

    /// Whether an input is a format type: no thread scope, no cooperative input of that side.
    pub const fn has_format(self) -> bool {
        self.left.is_format() || self.right.is_format()
    }

    /// Steps of k that a fixed step must be a multiple of.
    pub const fn step_multiple(self) -> u32 {
        if self.left.bits() < 8 || self.right.bits() < 8 { 32 } else { 16 }
    }
}
