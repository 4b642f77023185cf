//! Do the three forms of attention give the attention of the very bytes that they took?

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::element::Element::{Float, Half};
use rigel_device::metal::gpu::{Binding, Buffer, Gpu, Launch};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::operation::Operation;
use rigel_device::metal::place::Placed;
use rigel_device::metal::product::{Path, Product, whole};
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::Planted;
use rigel_device::metal::text::Kernel;
use rigel_device::metal::triples::Types;
use rigel_numerics::{Format, Matrix, Operand, Recipe, Shape};

const HEAD: usize = 32;
/// No multiple of a tile, of the keys that are met at a time, or of a SIMD-group.
const QUERIES: usize = 37;
const KEYS: usize = 75;

struct Attention {
    q: Matrix,
    k: Matrix,
    v: Matrix,
    scale: f32,
}

impl Attention {
    fn drawn() -> Attention {
        let of = |seed, rows| Recipe::NearNormal.matrix(Format::F16, seed, Operand::A, rows, HEAD);
        Attention { q: of(1, QUERIES), k: of(2, KEYS), v: of(3, KEYS), scale: 1.0 / (HEAD as f32).sqrt() }
    }

    fn words(&self) -> Vec<u8> {
        [(QUERIES as i32).to_le_bytes(), (KEYS as i32).to_le_bytes(), self.scale.to_le_bytes()].concat()
    }

    /// Each element of O in f64, and the sum of its weights times |v|.
    fn reference(&self) -> Vec<(f64, f64)> {
        let mut expected = Vec::new();
        for row in 0..QUERIES {
            let score = |key: usize| -> f64 {
                let sum: f64 = (0..HEAD).map(|i| self.q.value(row, i) * self.k.value(key, i)).sum();
                sum * f64::from(self.scale)
            };
            let scores: Vec<f64> = (0..KEYS).map(score).collect();
            let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let weights: Vec<f64> = scores.iter().map(|s| (s - greatest).exp()).collect();
            let total: f64 = weights.iter().sum();
            for i in 0..HEAD {
                let terms = || weights.iter().enumerate().map(|(key, w)| w / total * self.v.value(key, i));
                expected.push((terms().sum(), terms().map(f64::abs).sum()));
            }
        }
        expected
    }

    /// Elements of O that lie further from the reference than weights in half precision explain.
    fn outside(&self, o: &[f32]) -> usize {
        let bound = 2.0 * 2f64.powi(-11) + 1e-5;
        let expected = self.reference();
        assert_eq!(o.len(), expected.len());
        o.iter().zip(expected).filter(|(found, (e, all))| (f64::from(**found) - e).abs() > bound * (1e-3 + all)).count()
    }
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|w| f32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
}

fn ready(gpu: &mut Simulated, kernel: Kernel, entry: &str) -> rigel_device::metal::gpu::Pipeline {
    let language = gpu.sdk().unwrap().language();
    let library = gpu.compile(&kernel.source(language)).unwrap_or_else(|e| panic!("{e}"));
    gpu.pipeline(library, entry).unwrap()
}

fn fused(
    gpu: &mut Simulated,
    attention: &Attention,
    kernel: Kernel,
    entry: &str,
    groups: u32,
    threads: u32,
) -> Vec<f32> {
    let pipeline = ready(gpu, kernel, entry);
    let bytes = [&attention.q.bytes, &attention.k.bytes, &attention.v.bytes, &vec![0xFF; QUERIES * HEAD * 4]];
    let buffers = bytes.map(|bytes| gpu.buffer(bytes).unwrap());
    let mut bindings: Vec<(u32, Binding)> = (0..).zip(buffers.map(whole)).collect();
    bindings.push((4, Binding::Bytes(attention.words())));
    gpu.launch(&Launch { pipeline, groups: [groups, 1, 1], threads, bindings }, 1).unwrap();
    floats(&gpu.read(buffers[3]).unwrap())
}

/// Scores by a product with K transposed, softmax in a kernel of its own, and a product with V.
fn decomposed(gpu: &mut Simulated, attention: &Attention) -> Vec<f32> {
    let plain = Operation::new(Types::new(Half, Half, Float), 1, 1).with_tile("32x32k32s2").unwrap();
    let products = [
        (Operation { transpose_right: true, ..plain }, Shape::new(QUERIES, KEYS, HEAD)),
        (plain, Shape::new(QUERIES, HEAD, KEYS)),
    ];
    let products = products.map(|(operation, shape)| Product { path: Path::Cooperative, operation, shape });
    let mut buffer = |bytes: &[u8]| gpu.buffer(bytes).unwrap();
    let [q, k, v] = [&attention.q, &attention.k, &attention.v].map(|m| buffer(&m.bytes));
    let scores = buffer(&vec![0xFF; QUERIES * KEYS * 4]);
    let weights = buffer(&vec![0xFF; QUERIES * KEYS * 2]);
    let out = buffer(&vec![0xFF; QUERIES * HEAD * 4]);
    let softmax = ready(gpu, Kernel::Softmax(Half), "softmax");
    let bindings = vec![(0, whole(scores)), (1, whole(weights)), (2, Binding::Bytes(attention.words()))];
    let softmax = Launch { pipeline: softmax, groups: [QUERIES as u32, 1, 1], threads: 32, bindings };
    let mut launch = |product: &Product, buffers: [Buffer; 3]| {
        let (kernel, entry) = product.kernel().unwrap();
        let pipeline = ready(gpu, kernel, entry);
        product.launch(pipeline, &Placed::of(&product.operation, product.shape), buffers)
    };
    let chain = [launch(&products[0], [q, k, scores]), softmax, launch(&products[1], [weights, v, out])];
    gpu.chain(&chain, 1).unwrap();
    floats(&gpu.read(out).unwrap())
}

#[test]
fn every_form_of_attention_gives_the_reference() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let attention = Attention::drawn();
    let types = (Half, Float);
    for sdk in [Sdk::V26_1, Sdk::V27_0] {
        let mut gpu = metal_host::simulated(clang, sdk, Planted::PLAIN);
        let head = HEAD as u32;
        let scalar = Kernel::AttentionScalar { types, head };
        let o = fused(&mut gpu, &attention, scalar, "attention_scalar", (QUERIES as u32).div_ceil(32), 32);
        assert_eq!(attention.outside(&o), 0, "scalar, {sdk}");
        for (rows, keys) in [(16, 32), (8, 16), (32, 64)] {
            let matrix = Kernel::AttentionMatmul2d { types, head, rows, keys };
            let o = fused(&mut gpu, &attention, matrix, "attention_matmul2d", (QUERIES as u32).div_ceil(rows), 32);
            assert_eq!(attention.outside(&o), 0, "matrix path, {rows} rows and {keys} keys, {sdk}");
        }
        assert_eq!(attention.outside(&decomposed(&mut gpu, &attention)), 0, "decomposed, {sdk}");
    }
}

#[test]
fn the_reference_sees_what_is_wrong() {
    let attention = Attention::drawn();
    let right: Vec<f32> = attention.reference().iter().map(|(o, _)| *o as f32).collect();
    assert_eq!(attention.outside(&right), 0);
    let other = Attention { scale: 2.0 * attention.scale, ..Attention::drawn() };
    let without_scale: Vec<f32> = other.reference().iter().map(|(o, _)| *o as f32).collect();
    assert!(attention.outside(&without_scale) > right.len() / 2, "another scale");
    let rows = [&right[HEAD..], &right[..HEAD]].concat();
    assert!(attention.outside(&rows) > right.len() / 2, "rows that moved by one");
}
