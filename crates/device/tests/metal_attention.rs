//! Do all forms of attention give the attention of the very bytes that they took?

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::attention::{MetalAttention, tiles};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::product::{Path, types_of};
use rigel_device::metal::software::planted::Planted;
use rigel_device::{Cache, Gemm};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// Two heads; no multiple of a tile, of the keys that are met at a time, or of a SIMD-group.
const SHAPE: Shape = Shape { m: 150, n: 32, k: 75 };

/// Q, keys and then values.
fn operands(triple: Triple) -> (Matrix, Matrix) {
    let of = |seed, rows, which| Recipe::NearNormal.matrix(triple.a, seed, which, rows, SHAPE.n);
    (of(1, SHAPE.m, Operand::A), of(2, 2 * SHAPE.m, Operand::B))
}

/// Each element of O in f64 by its definition, and the sum of its weights times |v|.
fn reference(a: &Matrix, b: &Matrix, scale: f64) -> Vec<(f64, f64)> {
    let Shape { m, n, k } = SHAPE;
    let mut expected = Vec::new();
    for row in 0..m {
        let first = row / k * k;
        let score = |key: usize| scale * (0..n).map(|i| a.value(row, i) * b.value(first + key, i)).sum::<f64>();
        let scores: Vec<f64> = (0..k).map(score).collect();
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
        let total: f64 = weights.iter().sum();
        for i in 0..n {
            let terms = || weights.iter().enumerate().map(|(key, w)| w / total * b.value(m + first + key, i));
            expected.push((terms().sum(), terms().map(f64::abs).sum()));
        }
    }
    expected
}

fn usual() -> f64 {
    1.0 / (SHAPE.n as f64).sqrt()
}

/// Elements that lie further from the reference than weights in the format of A explain.
fn outside(triple: Triple, found: &[f64], expected: &[(f64, f64)]) -> usize {
    let bound = 2.0 * rigel_numerics::bound::unit_roundoff(triple.a) + 1e-5;
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).filter(|(found, (e, all))| (*found - e).abs() > bound * (1e-3 + all)).count()
}

#[test]
fn every_form_on_every_path_gives_the_reference() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let mut tried = 0;
    for (sdk, triple) in [(Sdk::V26_1, "f16,f16->f32"), (Sdk::V27_0, "bf16,bf16->f32")] {
        let triple: Triple = triple.parse().unwrap();
        let gpu = Rc::new(RefCell::new(metal_host::simulated(clang, sdk, Planted::PLAIN)));
        let (a, b) = operands(triple);
        let expected = reference(&a, &b, usual());
        for (path, fused) in [(Path::Scalar, true), (Path::Cooperative, true), (Path::Cooperative, false)] {
            let known = tiles(path, types_of(triple).unwrap(), fused);
            assert!(!known.is_empty(), "{path:?} {fused}");
            for tile in known.iter().take(3) {
                let name = format!("{path:?} fused {fused} {tile} {triple}, header {sdk}");
                let mut attention = MetalAttention::new(&gpu, path, triple, SHAPE, tile, fused)
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                attention.load().unwrap();
                attention.bind(&a, &b).unwrap();
                attention.poison().unwrap();
                attention.run(2, Cache::Warm).unwrap();
                attention.run(1, Cache::Cold).unwrap();
                let o = attention.output().unwrap();
                let found: Vec<f64> = (0..SHAPE.m * SHAPE.n).map(|i| o.value(i / SHAPE.n, i % SHAPE.n)).collect();
                assert_eq!(outside(triple, &found, &expected), 0, "{name}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 14);
}

#[test]
fn what_is_not_there_is_refused_in_words() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let gpu = Rc::new(RefCell::new(metal_host::simulated(clang, Sdk::V27_0, Planted::PLAIN)));
    let refused = |path, triple: &str, shape, tile, fused| {
        let made = MetalAttention::new(&gpu, path, triple.parse().unwrap(), shape, tile, fused);
        made.map(|_| ()).unwrap_err().to_string()
    };
    let half = "f16,f16->f32";
    assert!(refused(Path::Tiled, half, SHAPE, "16x16", true).contains("no fused attention"));
    assert!(refused(Path::Cooperative, "f16,f16->f16", SHAPE, "16x32s1", true).contains("f16"));
    assert!(refused(Path::Cooperative, half, SHAPE, "16by32", true).contains("16x32s1"));
    assert!(refused(Path::Cooperative, half, Shape::new(100, 32, 75), "16x32s1", true).contains("100 queries"));
    // A fixed k of a head that is no multiple of 16: the header's own words.
    assert!(refused(Path::Cooperative, half, Shape::new(75, 24, 75), "16x32s1", true).contains("multiple of 16"));
}

#[test]
fn the_reference_sees_what_is_wrong() {
    let triple: Triple = "f16,f16->f32".parse().unwrap();
    let (a, b) = operands(triple);
    let expected = reference(&a, &b, usual());
    let values = |of: &[(f64, f64)]| of.iter().map(|(o, _)| *o).collect::<Vec<f64>>();
    let right = values(&expected);
    assert_eq!(outside(triple, &right, &expected), 0);
    assert!(outside(triple, &values(&reference(&a, &b, 1.0)), &expected) > right.len() / 2, "no scale");
    let moved = [&right[SHAPE.n..], &right[..SHAPE.n]].concat();
    assert!(outside(triple, &moved, &expected) > right.len() / 2, "rows that moved by one");
}
