//! Do the fused kernels give what their decomposed twins give, and do scale planes scale?

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::element::Element::*;
use rigel_device::metal::gpu::{Binding, Buffer, Gpu, Launch};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::operation::Operation;
use rigel_device::metal::place::Placed;
use rigel_device::metal::product::{Path, Product, whole};
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::Planted;
use rigel_device::metal::text::{Finish, Kernel, Placement};
use rigel_device::metal::triples::Types;
use rigel_numerics::{Format, Matrix, Operand, Recipe, Shape};

const RAGGED: Shape = Shape { m: 37, n: 50, k: 40 };
const HALF: Types = Types::new(Half, Half, Float);

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + (0.797_884_560_8 * (x + 0.044715 * x * x * x)).tanh())
}

fn bias(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 7) as f32 * 0.25 - 0.75).collect()
}

/// The bytes of C after launches of one product's kernel and what follows it.
fn output(
    gpu: &mut Simulated,
    product: Product,
    (kernel, entry): (Kernel, &str),
    [a, b]: [&Matrix; 2],
    extra: &[(u32, Vec<u8>)],
    after: Option<Kernel>,
) -> Vec<f32> {
    let placed = Placed::of(&product.operation, product.shape);
    let language = gpu.sdk().unwrap().language();
    let ready = |gpu: &mut Simulated, kernel: Kernel, entry: &str| {
        let library = gpu.compile(&kernel.source(language)).unwrap();
        gpu.pipeline(library, entry).unwrap()
    };
    let pipeline = ready(gpu, kernel, entry);
    let Shape { m, n, .. } = product.shape;
    let left = placed.left(&product.operation, a).unwrap();
    let buffers = [left, placed.right(&product.operation, b).unwrap(), vec![0xFF; m * n * 4]];
    let buffers: Vec<Buffer> = buffers.iter().map(|bytes| gpu.buffer(bytes).unwrap()).collect();
    let extra: Vec<(u32, Binding)> = extra.iter().map(|(i, bytes)| (*i, whole(gpu.buffer(bytes).unwrap()))).collect();
    let mut launch = product.launch(pipeline, &placed, [buffers[0], buffers[1], buffers[2]]);
    launch.bindings.extend(extra.clone());
    gpu.launch(&launch, 1).unwrap();
    if let Some(kernel) = after {
        let pipeline = ready(gpu, kernel, "gelu");
        let bindings = vec![(2, whole(buffers[2])), (3, Binding::Bytes(placed.words()))];
        gpu.launch(&Launch { pipeline, groups: [(n as u32).div_ceil(256), m as u32, 1], threads: 256, bindings }, 1)
            .unwrap();
    }
    let bytes = gpu.read(buffers[2]).unwrap();
    bytes.chunks_exact(4).map(|w| f32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn dot(a: &Matrix, b: &Matrix, r: usize, c: usize) -> f64 {
    (0..a.cols).map(|k| a.value(r, k) * b.value(k, c)).sum()
}

#[test]
fn fused_and_decomposed_twins_agree_with_the_reference() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let mut gpu = metal_host::simulated(clang, Sdk::V26_5, Planted::PLAIN);
    let Shape { m, n, k } = RAGGED;
    let a = Recipe::NearNormal.matrix(Format::F16, 3, Operand::A, m, k);
    let b = Recipe::NearNormal.matrix(Format::F16, 3, Operand::B, k, n);
    let bias = bias(n);
    let extra = [(4, bytes_of(&bias))];
    let of = |path, tile: &str| Product {
        path,
        operation: Operation::new(HALF, 1, 1).with_tile(tile).unwrap(),
        shape: RAGGED,
    };
    let tensor = of(Path::Cooperative, "32x32k16s2");
    let simd = of(Path::SimdGroup, "16x32s2");
    let with = |product: Product, finish| product.finished(finish).unwrap();
    let cases = [
        ("fused, cooperative", tensor, with(tensor, Finish::BiasGelu), None),
        ("decomposed, cooperative", tensor, with(tensor, Finish::Bias), Some(Kernel::Gelu(Float))),
        ("fused, simdgroup_matrix", simd, with(simd, Finish::BiasGelu), None),
        ("decomposed, simdgroup_matrix", simd, with(simd, Finish::Bias), Some(Kernel::Gelu(Float))),
    ];
    for (name, product, kernel, after) in cases {
        let got = output(&mut gpu, product, kernel, [&a, &b], &extra, after);
        for r in 0..m {
            for c in 0..n {
                let sum = dot(&a, &b, r, c) + f64::from(bias[c]);
                let (found, expected) = (f64::from(got[r * n + c]), gelu(sum));
                // GELU has a slope below 1.13; single precision and a tanh of some ulps.
                let magnitude: f64 = (0..k).map(|i| (a.value(r, i) * b.value(i, c)).abs()).sum();
                assert!((found - expected).abs() <= 1e-5 * (1.0 + magnitude), "{name} ({r}, {c}): {found}, {expected}");
            }
        }
    }
}

#[test]
fn planes_of_scales_multiply_their_groups() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let mut gpu = metal_host::simulated(clang, Sdk::V27_0, Planted::PLAIN);
    // Rows of whole 128 bytes, so that rows of scales are as far apart by either reading.
    let shape = Shape::new(20, 24, 256);
    let groups = shape.k / 32;
    for element in [E4m3, E5m2, E2m1] {
        let types = Types::new(element, element, Float);
        let plain = Operation::new(types, 1, 1).with_tile("16x32k32s1").unwrap();
        let operation = Operation { transpose_right: true, ..plain };
        let product = Product { path: Path::Inline, operation, shape };
        let format = element.format();
        let a = Recipe::SmallIntegers.matrix(format, 3, Operand::A, shape.m, shape.k);
        let b = Recipe::SmallIntegers.matrix(format, 3, Operand::B, shape.k, shape.n);
        let scale = |line: usize, group: usize, step: usize| ((line * 5 + group * step) % 6) as i32 - 3;
        let plane = |lines: usize, step: usize| -> Vec<u8> {
            (0..lines * groups).map(|i| (127 + scale(i / groups, i % groups, step)) as u8).collect()
        };
        for scaled in [(true, true), (false, true), (true, false)] {
            let kernel = Kernel::Matmul2d(operation, Placement { scaled, ..Placement::default() });
            let extra = [(5, plane(shape.m, 1)), (6, plane(shape.n, 2))];
            let got = output(&mut gpu, product, (kernel, "matmul2d_gemm"), [&a, &b], &extra, None);
            for r in 0..shape.m {
                for c in 0..shape.n {
                    let term = |k: usize| {
                        let left = if scaled.0 { scale(r, k / 32, 1) } else { 0 };
                        let right = if scaled.1 { scale(c, k / 32, 2) } else { 0 };
                        a.value(r, k) * b.value(k, c) * 2f64.powi(left + right)
                    };
                    let expected: f64 = (0..shape.k).map(term).sum();
                    // Whole numbers times powers of two: the sums are exact.
                    assert_eq!(f64::from(got[r * shape.n + c]), expected, "{element:?} {scaled:?} ({r}, {c})");
                }
            }
        }
    }
}
