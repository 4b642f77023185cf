//! Do loops without memory and epilogues keep the contract's promises, through the kernels that ship?

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::device::MetalDevice;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Arithmetic, Planted};
use rigel_device::{Cache, CeilingSpec, Device, Epilogue, GemmSpec};
use rigel_numerics::epilogue::{self, Activation};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};

fn device(sdk: Sdk, planted: Planted) -> Option<MetalDevice<Simulated>> {
    let clang = metal_host::clang_or_skip()?;
    Some(MetalDevice::new(metal_host::simulated(clang, sdk, planted)))
}

fn loops(device: &mut MetalDevice<Simulated>, path: &str, triple: Triple) -> Vec<Result<(), String>> {
    let variants = device.ceiling_variants(path, triple);
    assert!(variants.len() > 2, "{path} {triple}: {variants:?}");
    let run = |variant: String| {
        let spec = CeilingSpec { path: path.to_owned(), triple, variant };
        let mut ceiling = device.ceiling(&spec).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        assert!(ceiling.check().is_err(), "{spec:?}: a loop that has not run holds nothing");
        let samples = ceiling.run(2).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        assert!(samples.iter().all(|sample| sample.time.0 > 0) && ceiling.operations() > 0, "{spec:?}");
        ceiling.check()
    };
    variants.into_iter().map(run).collect()
}

#[test]
fn every_loop_holds_the_integers_that_it_must() {
    // Cooperative inputs are there from 26.5 on; format types never have them.
    let cases = [
        (Sdk::V26_1, "scalar", "f16,f16->f16"),
        (Sdk::V26_1, "scalar", "bf16,bf16->f32"),
        (Sdk::V26_1, "simdgroup_matrix", "f16,f16->f32"),
        (Sdk::V26_1, "matmul2d", "i8,i8->i32"),
        (Sdk::V26_5, "matmul2d.cooperative", "bf16,bf16->bf16"),
        (Sdk::V26_5, "matmul2d", "u8,u8->i32"),
        (Sdk::V27_0, "matmul2d", "e4m3,e4m3->f16"),
        (Sdk::V27_0, "matmul2d.handle", "i8,i2->i32"),
        (Sdk::V27_0, "matmul2d", "f16,e2m1->f32"),
    ];
    for (sdk, path, triple) in cases {
        let Some(mut device) = device(sdk, Planted::PLAIN) else { return };
        let triple = triple.parse().unwrap();
        for found in loops(&mut device, path, triple) {
            assert_eq!(found, Ok(()), "{path} {triple}, header {sdk}");
        }
    }
}

#[test]
fn sums_that_are_not_kept_are_seen() {
    // Two significant bits: a sum that begins at 5 is lost.
    let arithmetic = Arithmetic { bits: 2, ..Arithmetic::FMA };
    let Some(mut device) = device(Sdk::V26_5, Planted { arithmetic, ..Planted::PLAIN }) else { return };
    for path in ["simdgroup_matrix", "matmul2d"] {
        let found = loops(&mut device, path, "f16,f16->f32".parse().unwrap());
        assert!(
            found.iter().any(|check| check.as_ref().is_err_and(|why| why.contains("must be"))),
            "{path}: {found:?}"
        );
    }
}

/// The output of a product with its bias below B, and how many elements lie outside the tolerance.
fn outside(device: &mut dyn Device, spec: &GemmSpec, epilogue: Epilogue) -> (Matrix, usize) {
    let Shape { m, n, k } = spec.shape;
    let a = Recipe::NearNormal.matrix(spec.triple.a, 7, Operand::A, m, k);
    let b = Recipe::NearNormal.matrix(spec.triple.b, 7, Operand::B, k + 1, n);
    let mut gemm = device.compile_with(spec, epilogue).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    gemm.load().unwrap();
    gemm.bind(&a, &b).unwrap();
    gemm.poison().unwrap();
    // Warm and cold operands, and more than one launch: an activation that is applied twice would show.
    gemm.run(2, Cache::Warm).unwrap();
    gemm.run(1, Cache::Cold).unwrap();
    let output = gemm.output().unwrap();
    let tolerance = epilogue::tolerance(spec.triple, k);
    let wrong = (0..m * n).filter(|at| {
        let (row, column) = (at / n, at % n);
        let terms = (0..k).map(|k| (a.get(row, k), b.get(k, column)));
        let dot = epilogue::dot(spec.triple, epilogue.activation, terms, b.get(k, column)).unwrap();
        dot.sum.difference(spec.triple.c, output.get(row, column)) > tolerance.allowed(dot.magnitude.to_f64())
    });
    let wrong = wrong.count();
    (output, wrong)
}

#[test]
fn every_path_that_has_epilogues_finishes_its_products() {
    let Some(mut device) = device(Sdk::V27_0, Planted::PLAIN) else { return };
    let mut tried = 0;
    for (path, triple) in [
        ("simdgroup_matrix", "f16,f16->f32"),
        ("matmul2d.cooperative", "f16,f16->f32"),
        ("matmul2d.cooperative", "e4m3,e4m3->f32"),
        ("matmul2d.cooperative", "f16,e2m1->f32"),
    ] {
        let triple: Triple = triple.parse().unwrap();
        let epilogues = device.epilogues(path, triple);
        assert_eq!(epilogues.len(), 2, "{path} {triple}");
        for shape in [Shape::new(1, 1, 1), Shape::new(37, 50, 40)] {
            let tile = device.tiles(path, triple)[0].clone();
            let spec = GemmSpec { path: path.into(), triple, shape, tile };
            let found: Vec<(Matrix, usize)> = epilogues.iter().map(|e| outside(&mut device, &spec, *e)).collect();
            assert!(found.iter().all(|(_, wrong)| *wrong == 0), "{spec:?}");
            // The same operations in the same order, wherever they happen.
            assert_eq!(found[0].0, found[1].0, "{spec:?}");
            tried += 1;
        }
    }
    assert_eq!(tried, 8);
    for (path, triple) in
        [("tiled", "f16,f16->f32"), ("matmul2d", "f16,f16->f32"), ("matmul2d.cooperative", "f16,f16->f16")]
    {
        assert!(device.epilogues(path, triple.parse().unwrap()).is_empty(), "{path} {triple}");
    }
    let spec = GemmSpec {
        path: "matmul2d.cooperative".into(),
        triple: "f16,f16->f32".parse().unwrap(),
        shape: Shape::cube(8),
        tile: "64x64s4".into(),
    };
    let erf = Epilogue { activation: Activation::GeluErf, fused: true };
    let said = device.compile_with(&spec, erf).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("no erf"), "{said}");
}
