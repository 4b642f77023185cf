//! How long do a million dot products of a unit take?
//!
//! ```text
//! cargo bench -p rigel-device --bench units -- [NAME]
//! ```
//!
//! Every instruction that this processor has, by tiles and by registers; then software units with the model of one, and with a
//! deviation. The rate counts dot products.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rigel_device::Device;
use rigel_device::cpu::Cpu;
use rigel_device::sim::{SimDevice, Truth};
use rigel_device::unit::{Operands, Unit, execute, execute_fragments};
use rigel_numerics::{Matrix, Operand, Recipe, Shape};

/// Dot products of one measurement.
const DOTS: usize = 1 << 20;

fn by_tiles(criterion: &mut Criterion, name: &str, unit: &mut dyn Unit) {
    let (Shape { m, n, k }, t) = (unit.spec().shape, unit.spec().triple);
    let tiles = DOTS / (m * n);
    let a = Recipe::NearNormal.matrix(t.a, 1, Operand::A, tiles * m, k);
    let b = Recipe::NearNormal.matrix(t.b, 2, Operand::B, tiles * k, n);
    let c = Matrix::zeroed(t.c, tiles * m, n);
    measure(criterion, name, || execute(unit, Operands { a: &a, b: &b, c: &c, scales: None }).is_ok());
}

fn by_registers(criterion: &mut Criterion, name: &str, unit: &mut dyn Unit) {
    let (Shape { m, n, .. }, t) = (unit.spec().shape, unit.spec().triple);
    let Some(registers) = unit.spec().fragments else { return };
    let rows = DOTS / (m * n) * registers.lanes;
    let a = Recipe::NearNormal.matrix(t.a, 1, Operand::A, rows, registers.a);
    let b = Recipe::NearNormal.matrix(t.b, 2, Operand::B, rows, registers.b);
    let c = Matrix::zeroed(t.c, rows, registers.c);
    measure(criterion, name, || execute_fragments(unit, Operands { a: &a, b: &b, c: &c, scales: None }).is_ok());
}

fn measure(criterion: &mut Criterion, name: &str, mut ask: impl FnMut() -> bool) {
    let mut group = criterion.benchmark_group("units");
    group.throughput(Throughput::Elements(DOTS as u64)).sample_size(10);
    group.bench_function(name, |bencher| bencher.iter(|| assert!(ask())));
    group.finish();
}

fn units(criterion: &mut Criterion) {
    let mut cpu = Cpu::new();
    for spec in cpu.units() {
        let Ok(mut unit) = cpu.unit(&spec.name) else { continue };
        by_tiles(criterion, &format!("{}, tiles", spec.name), &mut *unit);
        by_registers(criterion, &format!("{}, registers", spec.name), &mut *unit);
    }
    let Some(mut sim) = Truth::select("sim:units").ok().and_then(|truth| SimDevice::new(truth).ok()) else { return };
    for name in [
        "hopper mma f16 to f32",
        "hopper wgmma e4m3 to f32",
        "registers: mma.sync.m16n8k16",
        "hostile: last bit turned by data",
        "hostile: chance",
    ] {
        let Ok(mut unit) = sim.unit(name) else { continue };
        by_tiles(criterion, &format!("sim {name}, tiles"), &mut *unit);
        by_registers(criterion, &format!("sim {name}, registers"), &mut *unit);
    }
}

criterion_group!(benches, units);
criterion_main!(benches);
