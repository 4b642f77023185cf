//! How long does it take to make, pack and decode input elements?

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rigel_numerics::decode_row::decode_row;
use rigel_numerics::{Format, Operand, Overflow, Recipe, Rounding};
use std::hint::black_box;

/// Rows and columns of the operand that is made.
const EXTENT: usize = 512;

fn elements(c: &mut Criterion) {
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let mut group = c.benchmark_group("matrix, one core");
    group.throughput(Throughput::Elements((EXTENT * EXTENT) as u64));
    for recipe in Recipe::ALL {
        for format in [Format::F64, Format::F32, Format::F16, Format::Bf16, Format::E4m3, Format::E2m1, Format::I8] {
            group.bench_function(format!("{recipe} {format}"), |b| {
                b.iter(|| one_core.install(|| recipe.matrix(format, black_box(1), Operand::A, EXTENT, EXTENT)));
            });
        }
    }
}

fn decoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("decode_row");
    group.throughput(Throughput::Elements((EXTENT * EXTENT) as u64));
    for format in Format::ALL {
        let matrix = Recipe::Uniform.matrix(format, 1, Operand::A, EXTENT, EXTENT);
        let mut out = vec![0.0; EXTENT];
        group.bench_function(format.name(), |b| {
            b.iter(|| (0..EXTENT).for_each(|r| decode_row(format, matrix.row(r), black_box(&mut out))));
        });
    }
}

fn encoding(c: &mut Criterion) {
    let mut group = c.benchmark_group("encode");
    let values: Vec<f64> = (0..1024).map(|i| f64::from(i - 512) * 0.0123).collect();
    group.throughput(Throughput::Elements(values.len() as u64));
    for format in [Format::F32, Format::F16, Format::E4m3, Format::I8] {
        let encode = |&v: &f64| format.encode(v, Rounding::NearestEven, Overflow::Saturate);
        group.bench_function(format.name(), |b| b.iter(|| black_box(&values).iter().map(encode).sum::<u64>()));
    }
}

criterion_group!(benches, elements, decoding, encoding);
criterion_main!(benches);
