//! How many products a second does an arithmetic model evaluate to, on one core and on all?
//!
//! The goal is 40 million products a second and core for steps of 16 products, linear in K. Rates are of whole calls, decoding of
//! the codes included.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, Model, library, slow};
use rigel_numerics::random::stream;
use rigel_numerics::{Matrix, Operand, Recipe};
use std::hint::black_box;

const MODELS: [&str; 9] = [
    "hopper wgmma f16 to f32",
    "hopper wgmma e4m3 to f32",
    "hopper mma e4m3 to f32, emulated, c last",
    "cdna3 f16 to f32, 8 products",
    "cdna1 f16 to f32, exact",
    "vdpbf16ps",
    "f32 fma ascending",
    "nvidia f64",
    "nvidia i8,i8 wrapping",
];

fn model(name: &str) -> &'static Model {
    &library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`")).model
}

/// One dot product after another, each with its own row and column.
fn dots(c: &mut Criterion) {
    let mut group = c.benchmark_group("dots on one core");
    for name in MODELS {
        let model = model(name);
        for k in [64, 1024] {
            let evaluator = Evaluator::new(model, k).expect("a model");
            let mut scratch = evaluator.scratch();
            let draw = |i| Distribution::Normal.inputs(model, k, stream(1, 1), i);
            let inputs: Vec<_> = (0..16).map(draw).collect();
            group.throughput(Throughput::Elements((k * inputs.len()) as u64));
            group.bench_function(BenchmarkId::new(name, k), |t| {
                t.iter(|| {
                    let each = inputs.iter().map(|x| evaluator.dot(&mut scratch, Inputs::new(&x.a, &x.b, x.c)));
                    each.fold(0, |sum, d| sum ^ d)
                })
            });
        }
    }
    group.finish();
}

/// Tiles of 64 × 64, rows and columns decoded once; on all cores, and on one.
fn tiles(c: &mut Criterion) {
    let mut group = c.benchmark_group("tiles of 64 x 64 x 256");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    for name in MODELS {
        let t = model(name).triple;
        let a = Recipe::NearNormal.matrix(t.a, 1, Operand::A, 64, 256);
        let b = Recipe::NearNormal.matrix(t.b, 1, Operand::B, 256, 64);
        let zeros = Matrix::zeroed(t.c, 64, 64);
        let evaluator = Evaluator::new(model(name), 256).expect("a model");
        group.throughput(Throughput::Elements(64 * 64 * 256));
        group.bench_function(BenchmarkId::new(name, "all cores"), |t| t.iter(|| evaluator.tile(&a, &b, &zeros)));
        group.bench_function(BenchmarkId::new(name, "one core"), |t| {
            t.iter(|| one.install(|| evaluator.tile(&a, &b, &zeros)))
        });
    }
    group.finish();
}

/// The slow evaluator, for the share of planted devices that run on it, and the cost of making an evaluator.
fn others(c: &mut Criterion) {
    let mut group = c.benchmark_group("slow, and making");
    for name in ["hopper wgmma f16 to f32", "f32 fma ascending"] {
        let model = model(name);
        let x = Distribution::Normal.inputs(model, 64, stream(1, 1), 0);
        group.throughput(Throughput::Elements(64));
        group.bench_function(BenchmarkId::new("slow", name), |t| {
            t.iter(|| slow::dot(model, black_box(Inputs::new(&x.a, &x.b, x.c))))
        });
        group.bench_function(BenchmarkId::new("making", name), |t| t.iter(|| Evaluator::new(black_box(model), 64)));
    }
    group.finish();
}

criterion_group!(benches, dots, tiles, others);
criterion_main!(benches);
