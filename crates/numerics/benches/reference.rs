//! How fast are the reference and exact dot products, and how much memory does the reference take?
//!
//! Before criterion's own figures it prints a report on 2048³: GFLOP/s over both products (decoding, allocation and
//! everything else included) as the best of several runs, and the peak of resident memory against encoded inputs + f64
//! outputs + 64 MiB. `integrations/python/against_openblas.py` compares with OpenBLAS.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rigel_numerics::bound::tolerance;
use rigel_numerics::exact::dot;
use rigel_numerics::reference::reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TRIPLES: [&str; 5] = ["f32,f32->f32", "bf16,bf16->f32", "e4m3,e4m3->f32", "i8,i8->i32", "f64,f64->f64"];

fn operands(triple: Triple, shape: Shape) -> (Matrix, Matrix) {
    let a = Recipe::NearNormal.matrix(triple.a, 1, Operand::A, shape.m, shape.k);
    let b = Recipe::NearNormal.matrix(triple.b, 1, Operand::B, shape.k, shape.n);
    (a, b)
}

/// A field of /proc/self/status in KiB; 0 where there is none.
fn memory(field: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

fn report() {
    let shape = Shape::cube(2048);
    for text in TRIPLES {
        let triple: Triple = text.parse().expect("a triple");
        let (a, b) = operands(triple, shape);
        let outputs = if text.starts_with("f64") { 3 } else { 2 } * 8 * shape.m * shape.n;
        // Linux only: restarts VmHWM at the present size.
        let restarted = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        let before = memory("VmRSS:") * 1024;
        let mut best = Duration::MAX;
        let rounds = if text.starts_with("f64") { 3 } else { 7 };
        for _ in 0..rounds {
            let start = Instant::now();
            black_box(reference(triple, &a, &b).expect("a reference"));
            best = best.min(start.elapsed());
        }
        let rate = 2.0 * shape.operations() as f64 / best.as_secs_f64() * 1e-9;
        let beyond = (memory("VmHWM:") * 1024).saturating_sub(before + outputs) >> 20;
        let beyond = if restarted && before > 0 { format!("{beyond} MiB") } else { "unknown".to_owned() };
        println!(
            "{text}: {rate:.1} GFLOP/s over both products ({best:.0?}); memory beyond inputs and outputs {beyond} (law: 64)"
        );
    }
}

fn references(c: &mut Criterion) {
    report();
    let mut group = c.benchmark_group("reference");
    group.sample_size(10);
    for text in TRIPLES {
        let triple: Triple = text.parse().expect("a triple");
        let shape = Shape::cube(1024);
        let (a, b) = operands(triple, shape);
        group.throughput(Throughput::Elements(2 * shape.operations()));
        group.bench_function(BenchmarkId::new(text, shape), |t| t.iter(|| reference(triple, &a, &b)));
        let made = reference(triple, &a, &b).expect("a reference");
        let zeros = Matrix::zeroed(triple.c, shape.m, shape.n);
        let bound = tolerance(triple, shape.k, Recipe::NearNormal);
        group.throughput(Throughput::Elements((shape.m * shape.n) as u64));
        group.bench_function(BenchmarkId::new("compare", text), |t| t.iter(|| made.compare(&zeros, bound)));
    }
    group.finish();
}

/// One dot product of K = 256 with its inputs made on the way, as `verify` does it; single-threaded.
fn dots(c: &mut Criterion) {
    let mut group = c.benchmark_group("dot of 256 with its inputs");
    for text in ["e4m3,e4m3->f32", "f16,f16->f32", "bf16,bf16->f32", "f32,f32->f32", "f64,f64->f64", "i8,i8->i32"] {
        let triple: Triple = text.parse().expect("a triple");
        let element = |operand, format, row, col| Recipe::NearNormal.element(format, 1, operand, row, col);
        let mut row = 0;
        group.bench_function(text, |t| {
            t.iter(|| {
                row += 1;
                let terms =
                    (0..256).map(|k| (element(Operand::A, triple.a, row, k), element(Operand::B, triple.b, k, row)));
                dot(triple.a, triple.b, terms).expect("finite").residual(triple.c, 0)
            })
        });
        let codes: Vec<(u64, u64)> =
            (0..256).map(|k| (element(Operand::A, triple.a, 1, k), element(Operand::B, triple.b, k, 1))).collect();
        group.bench_function(BenchmarkId::new("sum alone", text), |t| {
            t.iter(|| dot(triple.a, triple.b, black_box(&codes).iter().copied()).expect("finite").residual(triple.c, 0))
        });
    }
    group.finish();
}

criterion_group!(benches, references, dots);
criterion_main!(benches);
