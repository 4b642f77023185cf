//! Are the arithmetic and the registers of planted Metal units recovered through the very kernels that ship?
//!
//! `RIGEL_METAL_DEVICES` sets how many devices are drawn.

#[path = "../../device/tests/metal_host/mod.rs"]
mod metal_host;
mod planted_metal;

use planted_metal::{HALF, TILE, recovered};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Arithmetic, Planted};
use rigel_device::metal::unit::{Instruction, MetalUnit};
use rigel_device::unit::{Operands, Unit, execute};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};
use std::cell::RefCell;
use std::rc::Rc;

fn devices() -> u64 {
    std::env::var("RIGEL_METAL_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

fn device(planted: Planted) -> Option<Rc<RefCell<Simulated>>> {
    let clang = metal_host::clang_or_skip()?;
    Some(Rc::new(RefCell::new(metal_host::simulated(clang, Sdk::V27_0, planted))))
}

#[test]
fn planted_units_and_registers_are_recovered() {
    let Some(gpu) = device(Planted::PLAIN) else { return };
    let wrong: Vec<String> = (0..devices()).filter_map(|index| recovered(&gpu, index).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// One large product and 127 tiny ones in the k of eight operations, the large one first; what comes out.
fn ladder(unit: &mut dyn Unit, large: [f64; 2], tiny: [f64; 2]) -> f64 {
    let Shape { m, n, k } = unit.spec().shape;
    let code = |x: f64| Format::F16.encode(x, Rounding::NearestEven, Overflow::Ieee);
    let mut c = Matrix::zeroed(Format::F32, m, n);
    for step in 0..128 / k {
        let (mut a, mut b) = (Matrix::zeroed(Format::F16, m, k), Matrix::zeroed(Format::F16, k, n));
        for at in 0..k {
            let [x, y] = if step == 0 && at == 0 { large } else { tiny };
            a.set(0, at, code(x));
            b.set(at, 0, code(y));
        }
        c = execute(unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
    }
    c.value(0, 0)
}

#[test]
fn the_studys_cell_cannot_tell_what_its_ladder_tells() {
    let narrow = |bits| Planted { arithmetic: Arithmetic { bits, ..Arithmetic::FMA }, ..Planted::PLAIN };
    // Fourteen bits, aligned and cut: it passes the study's cell and fails the next rungs.
    let aligned = Arithmetic { group: 32, fraction_bits: Some(13), cut_down: false, bits: 24, toward_zero: true };
    let devices = [
        (8, narrow(8)),
        (11, narrow(11)),
        (12, narrow(12)),
        (13, narrow(13)),
        (14, narrow(14)),
        (22, narrow(22)),
        (24, narrow(24)),
    ];
    let Some(gpu) = device(Planted::PLAIN) else { return };
    let mut unit = MetalUnit::new(&gpu, &Instruction::matmul2d(HALF, TILE)).unwrap();
    for (bits, planted) in devices {
        gpu.borrow_mut().plant(planted).unwrap();
        // 448 + 127 · 1/16 needs 13 bits and tells nothing beyond.
        let cell = ladder(&mut unit, [448.0, 1.0], [0.0625, 1.0]);
        assert_eq!(cell == 455.9375, bits >= 13, "{bits} bits: {cell}");
        if bits < 13 {
            assert_eq!(cell, 448.0, "{bits} bits");
        }
        // 2^16 + 127 · 2^(17 − s) spans s bits.
        for s in 8..=24 {
            let tiny = 2f64.powi(17 - s);
            let exact = 65536.0 + 127.0 * tiny;
            let rung = ladder(&mut unit, [256.0, 256.0], [tiny, 1.0]);
            assert_eq!(rung == exact, bits >= s, "{bits} bits, rung {s}: {rung}");
        }
    }
    gpu.borrow_mut().plant(Planted { arithmetic: aligned, ..Planted::PLAIN }).unwrap();
    assert_eq!(ladder(&mut unit, [448.0, 1.0], [0.0625, 1.0]), 455.9375, "the counterexample passes the study's cell");
    let rung = ladder(&mut unit, [256.0, 256.0], [2f64.powi(17 - 24), 1.0]);
    assert_ne!(rung, 65536.0 + 127.0 * 2f64.powi(17 - 24), "and a higher rung refutes it");
}
