//! What do the statistics of one cell cost?

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rigel_ledger::statistics::{
    Bootstrap, LEVEL, RESAMPLES, bootstrap_interval_closed, bootstrap_resample, drift, modality, order_interval,
    sorted, summary,
};
use rigel_numerics::Time;
use rigel_numerics::random::{draw, stream};
use std::hint::black_box;

/// A cell of n repetitions around 50 µs with bell-shaped noise of 0.4 %.
fn cell(seed: u64, n: u64) -> Vec<Time> {
    let source = stream(seed, n);
    let noise = |i: u64| (0..6).map(|j| draw(source, 6 * i + j) >> 44).sum::<u64>();
    (0..n).map(|i| Time(50_000_000 + noise(i) / 4)).collect()
}

fn consume<T>(value: T) {
    let _ = black_box(value);
}

fn statistics(c: &mut Criterion) {
    for n in [50, 300] {
        let cells: Vec<Vec<Time>> = (0..64).map(|seed| cell(seed, n)).collect();
        let mut group = c.benchmark_group(format!("{n} repetitions"));
        let mut turn = 0;
        let mut next = move || {
            turn += 1;
            cells[turn % cells.len()].clone()
        };
        let mut bench = |name: &str, work: &dyn Fn(Vec<Time>)| {
            group.bench_function(name, |b| b.iter_batched(&mut next, work, BatchSize::SmallInput));
        };
        bench("order-statistic interval", &|t| consume(order_interval(&sorted(&t), LEVEL)));
        bench("bootstrap interval, closed form", &|t| consume(bootstrap_interval_closed(&sorted(&t), LEVEL)));
        bench("bootstrap interval, 10^4 resamples", &|t| consume(bootstrap_resample(&sorted(&t), LEVEL, 1, RESAMPLES)));
        bench("drift", &|t| consume(drift(&t)));
        bench("modality", &|t| consume(modality(&t, &[])));
        bench("summary", &|t| consume(summary(&t, &[], Bootstrap::Closed)));
        group.finish();
    }
}

criterion_group!(benches, statistics);
criterion_main!(benches);
