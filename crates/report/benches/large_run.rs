//! How long do figures and page of a run of 10⁵ cells take?
#![allow(missing_docs, reason = "criterion's macros make public functions")]

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use criterion::{Criterion, criterion_group, criterion_main};
use rigel_ledger::CellId;
use rigel_ledger::provenance::RunKind;
use rigel_ledger::rows::Work;
use rigel_numerics::Shape;
use synthetic::{Synthetic, cell, fact, identity, parse};

/// 10⁵ cells of 5000 paths, each with a rate, a ratio and a verdict; marked simulated. Twenty cells have repetitions.
fn large() -> Synthetic {
    let mut run = Synthetic::new(RunKind::Simulated, 2);
    let triple = parse("f16,f16->f32");
    for i in 0..100_000usize {
        let path = format!("path-{}", i / 20);
        let shape = Shape::cube(64 + i % 20);
        let identity = identity(Work::Gemm, &path, triple, Some(shape), "64x32");
        let mut row = cell(&identity, 0);
        (row.operations, row.median_ns) = (Some(shape.operations()), Some(1e6));
        (row.gate_error, row.gate_tolerance) = (Some(1e-9), Some(1e-7));
        for (name, value) in [("rate", 1e12), ("ratio.match_device", 1.7)] {
            let mut row = fact(name, &path, triple, &format!("{}", value + i as f64 * 1e-6), "");
            (row.shape, row.recipe, row.cache) = (Some(shape), identity.recipe, Some(identity.cache));
            (row.low, row.high, row.evidence) =
                (Some(value * 0.99), Some(value * 1.01), CellId::of(&identity).to_string());
            run.facts.push(row);
        }
        if i % 20 == 0 {
            let mut verdict = fact("verdict.acceleration", &path, triple, "accelerated", "");
            verdict.evidence = CellId::of(&identity).to_string();
            run.facts.push(verdict);
        }
        run.cells.push(row);
    }
    run
}

fn large_run(criterion: &mut Criterion) {
    let run = large();
    let mut group = criterion.benchmark_group("large run");
    group.sample_size(10);
    group.bench_function("figures", |b| b.iter(|| rigel_report::figures(run.source())));
    group.bench_function("page", |b| b.iter(|| rigel_report::page(run.source())));
    group.finish();
}

criterion_group!(benches, large_run);
criterion_main!(benches);
