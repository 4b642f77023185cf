//! Does every kernel that multiplies give the product, at ragged edges and tails of k, for every type triple?

#[path = "metal_host/mod.rs"]
mod metal_host;

use metal_host::products::{Shared, sources, wrong};
use rigel_device::metal::element::Element::*;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::operation::{Mode, Operation};
use rigel_device::metal::product::{Path, Product, triple_of};
use rigel_device::metal::software::planted::Planted;
use rigel_device::metal::triples::Types;
use rigel_numerics::Shape;
use std::cell::RefCell;
use std::rc::Rc;

/// One, eight, nine, a tile and one more, tails of k; none a multiple of what format types are filled up to but the last.
const SHAPES: [Shape; 4] = [
    Shape { m: 1, n: 1, k: 1 },
    Shape { m: 8, n: 9, k: 17 },
    Shape { m: 33, n: 65, k: 70 },
    Shape { m: 32, n: 32, k: 64 },
];

fn device(sdk: Sdk) -> Option<Shared> {
    let clang = metal_host::clang_or_skip()?;
    Some(Rc::new(RefCell::new(metal_host::simulated(clang, sdk, Planted::PLAIN))))
}

fn all_right(gpu: &Shared, products: &[Product]) {
    let texts = sources(products, gpu);
    gpu.borrow_mut().prepare(&texts).unwrap_or_else(|e| panic!("{e}"));
    let wrong: Vec<String> = products.iter().filter_map(|p| wrong(gpu, *p)).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} products are wrong:\n{}",
        wrong.len(),
        products.len(),
        wrong[..wrong.len().min(8)].join("\n")
    );
}

fn products(path: Path, operations: impl IntoIterator<Item = Operation>) -> Vec<Product> {
    let each = |operation| SHAPES.map(|shape| Product { path, operation, shape });
    operations.into_iter().flat_map(each).collect()
}

#[test]
fn every_listed_triple_multiplies() {
    let Some(gpu) = device(Sdk::V27_0) else { return };
    let plain = Operation::new(Types::new(Half, Half, Float), 1, 1).with_tile("32x32s2").unwrap();
    all_right(&gpu, &products(Path::Inline, Types::listed().map(|(_, types)| Operation { types, ..plain })));
}

#[test]
fn every_triple_with_planes_of_scales_multiplies_and_no_path_without_them_takes_one() {
    let Some(gpu) = device(Sdk::V27_0) else { return };
    let of = |path, types, shape, tile: &str| Product::new(path, triple_of(types), shape, tile);
    let mut products = Vec::new();
    for (_, types) in Types::scaled() {
        products.extend(SHAPES.map(|shape| of(Path::Inline, types, shape, "32x32s2").unwrap()));
        for path in [Path::Scalar, Path::Tiled, Path::SimdGroup, Path::Handle] {
            assert!(!path.takes(types), "{path:?} {types:?}");
        }
    }
    // Several tiles in each direction, in steps that begin inside a row of scales, into cooperative sums too.
    let wide = Shape { m: 70, n: 65, k: 300 };
    for types in [Types::new(Mxe4m3, Mxe4m3, Float), Types::new(Half, Mxe2m1, Float)] {
        for (path, tile) in
            [(Path::Inline, "16x32k32s1"), (Path::Cooperative, "64x64k32s4"), (Path::Cooperative, "32x32s1")]
        {
            products.push(of(path, types, wide, tile).unwrap());
        }
        let inside_a_group = of(Path::Inline, types, wide, "24x16k48s2");
        assert!(inside_a_group.is_err_and(|why| why.contains("64x64k32s4")));
        assert!(of(Path::Handle, types, wide, "64x64s4").is_err_and(|why| why.contains("planes of scales")));
    }
    all_right(&gpu, &products);
}

#[test]
fn every_tile_scope_step_and_placement_multiplies() {
    let Some(gpu) = device(Sdk::V27_0) else { return };
    let plain = Operation::new(Types::new(Half, Half, Float), 1, 1);
    let tiles = ["16x8s1", "32x32k16s1", "64x64s4", "64x32k32s4", "128x64s4", "24x16k48s2", "32x64s3"];
    for path in [Path::Inline, Path::Cooperative, Path::Handle] {
        all_right(&gpu, &products(path, tiles.map(|tile| plain.with_tile(tile).unwrap())));
    }
    let threads = ["1x1t", "2x4t", "4x1k16t", "8x8t", "8x16k16t"];
    all_right(&gpu, &products(Path::Inline, threads.map(|tile| plain.with_tile(tile).unwrap())));
}

#[test]
fn transposed_operands_and_both_modes_multiply() {
    let Some(gpu) = device(Sdk::V26_5) else { return };
    let mut operations = Vec::new();
    for types in [Types::new(Half, Half, Half), Types::new(Bfloat, Half, Float), Types::new(Uint8, Uint4, Int32)] {
        for (transpose_left, transpose_right) in [(false, true), (true, false), (true, true)] {
            let plain = Operation::new(types, 1, 1).with_tile("32x32k32s2").unwrap();
            operations.push(Operation { transpose_left, transpose_right, ..plain });
        }
    }
    all_right(&gpu, &products(Path::Inline, operations.clone()));
    // A cooperative sum begins with zeros, so both modes give the product.
    let both = operations.into_iter().map(|o| Operation { mode: Mode::MultiplyAccumulate, ..o });
    all_right(&gpu, &products(Path::Cooperative, both));
}

#[test]
fn tiles_and_simdgroup_matrices_multiply() {
    let Some(gpu) = device(Sdk::V26_1) else { return };
    let of = |x, d| Operation::new(Types::new(x, x, d), 1, 1);
    let plain = [of(Half, Half), of(Half, Float), of(Bfloat, Float), of(Float, Float)];
    let whole = [of(Int8, Int32), of(Uint8, Int32)];
    let tiled = plain.into_iter().chain(whole).map(|o| o.with_tile("8x8t").unwrap());
    all_right(&gpu, &products(Path::Tiled, tiled.chain([plain[1].with_tile("16x16t").unwrap()])));
    let simd = ["32x64s4", "16x32s2", "8x8s1", "64x64s4"];
    let simd = plain.into_iter().zip(simd).map(|(o, tile)| o.with_tile(tile).unwrap());
    all_right(&gpu, &products(Path::SimdGroup, simd));
}

#[test]
fn the_table_has_the_counts_of_the_headers() {
    let count = |sdk| Types::listed().filter(|(since, _)| *since <= sdk).count();
    assert_eq!(Sdk::ALL.map(count), [26, 47, 69]);
    let mut all: Vec<Types> = Types::listed().map(|(_, types)| types).collect();
    all.sort_by_key(|t| format!("{t:?}"));
    all.dedup();
    assert_eq!(all.len(), 69, "a triple is listed twice");
    // Tensors with scales are rows of the table whose tensors carry a tag, and are not counted again.
    for (since, Types { left, right, dest }) in Types::scaled() {
        let plain = Types::new(left.unscaled(), right.unscaled(), dest);
        assert!(since == Sdk::V27_0 && !all.contains(&Types { left, right, dest }));
        assert_eq!(plain.since(), Some(Sdk::V27_0), "{plain:?}");
    }
    // What the thread branch of the header lists: no format type.
    let threads = Types::listed().filter(|(_, types)| !types.has_format()).count();
    assert_eq!(threads, 37);
}
