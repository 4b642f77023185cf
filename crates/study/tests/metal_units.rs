//! Are the arithmetic and the registers of planted Metal units recovered through the very kernels that ship?
//!
//! `RIGEL_METAL_DEVICES` sets how many devices are drawn.

#[path = "../../device/tests/metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::element::Element::*;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Arithmetic, BaseTile, Planted};
use rigel_device::metal::triples::Types;
use rigel_device::metal::unit::{Instruction, MetalUnit};
use rigel_device::unit::{Operands, Unit, execute};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Model};
use rigel_numerics::layout::{Fragment, Layout};
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};
use rigel_study::layouts::{self, Numbering};
use rigel_study::recovery::{Effort, recover};
use std::cell::RefCell;
use std::rc::Rc;

const HALF: Types = Types::new(Half, Half, Float);
const TILE: Shape = Shape { m: 16, n: 32, k: 32 };

fn devices() -> u64 {
    std::env::var("RIGEL_METAL_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(3)
}

fn device(planted: Planted) -> Option<Rc<RefCell<Simulated>>> {
    let clang = metal_host::clang_or_skip()?;
    Some(Rc::new(RefCell::new(metal_host::simulated(clang, Sdk::V27_0, planted))))
}

/// The planted arithmetic as a model of half into float over k products.
fn model(a: &Arithmetic, k: usize) -> Model {
    let align = match a.fraction_bits {
        None => "\"exact\"".to_owned(),
        Some(bits) => {
            let cut = if a.cut_down { "down" } else { "toward_zero" };
            format!("{{\"largest\": {{\"fraction_bits\": {bits}, \"cut\": \"{cut}\"}}}}")
        }
    };
    let zero = if a.fraction_bits.is_none() { "\"zero\": \"ieee\", " } else { "" };
    let rounding = if a.toward_zero { "toward_zero" } else { "nearest_even" };
    Model::from_json(&format!(
        "{{\"triple\": \"f16,f16->f32\", \"k\": {k}, \"body\": {{\"chain\": {{\"split\": {{\"blocks\": {{\"of\": {}}}}}, \"each\": \
         {{\"step\": {{\"c\": true, \"sum\": {{\"align\": {align}, {zero}\"output\": {{\"rounded\": {{\"format\": \"f32\", \
         \"rounding\": \"{rounding}\", \"overflow\": \"directed\"}}}}}}}}}}}}}}, \"nan\": {{\"word\": 2143289344}}}}",
        a.group
    ))
    .unwrap()
}

/// Outputs of a unit that differ from a model, over tiles whose rows and columns hold dot products of every distribution.
fn mismatches(unit: &mut dyn Unit, model: &Model, seed: u64) -> usize {
    let Shape { m, n, k } = unit.spec().shape;
    let evaluator = Evaluator::new(model, k).unwrap();
    let mut scratch = evaluator.scratch();
    let mut differ = 0;
    for (t, distribution) in Distribution::ALL.into_iter().enumerate() {
        let (mut a, mut b) = (Matrix::zeroed(Format::F16, m, k), Matrix::zeroed(Format::F16, k, n));
        let mut c = Matrix::zeroed(Format::F32, m, n);
        let mut expected = Vec::new();
        // Row r and column c of a tile are those of dot product r and c.
        let dots: Vec<_> =
            (0..n.max(m) as u64).map(|i| distribution.inputs(model, k, stream(seed, t as u64), i)).collect();
        for (i, dot) in dots.iter().enumerate() {
            let codes = dot.codes();
            for at in 0..k {
                if i < m {
                    a.set(i, at, codes.a[at]);
                }
                if i < n {
                    b.set(at, i, codes.b[at]);
                }
            }
        }
        for r in 0..m {
            for col in 0..n {
                let (x, y) = (dots[r].codes(), dots[col].codes());
                c.set(r, col, x.c);
                expected.push(evaluator.dot(&mut scratch, rigel_numerics::arithmetic::Inputs::new(x.a, y.b, x.c)));
            }
        }
        let d = execute(unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        differ += (0..m * n).filter(|i| d.get(i / n, i % n) != expected[*i]).count();
    }
    differ
}

fn layout(base: &BaseTile, rows: usize, cols: usize) -> Layout {
    let (high, wide) = (1 << base.bits.0, 1 << base.bits.1);
    let (down, across, each) = (rows / high, cols / wide, high * wide / 32);
    let slots = down * across * each;
    Layout::from_fn((rows, cols), (32, slots), |lane, slot| {
        let tile = slot as usize / each;
        let (r, c) = if base.along_rows { (tile % down, tile / down) } else { (tile / across, tile % across) };
        let (row, col) = base.at(lane as usize, slot as usize % each);
        Some(((r * high + row) as u32, (c * wide + col) as u32))
    })
    .unwrap()
}

#[test]
fn planted_units_are_recovered_bit_by_bit() {
    for index in 0..devices() {
        let planted = Planted::drawn(5, index);
        let Some(gpu) = device(Planted { inlined: Planted::PLAIN.inlined, ..planted }) else { return };
        for instruction in [Instruction::matmul2d(HALF, TILE), Instruction::SimdGroup(HALF)] {
            let mut unit = MetalUnit::new(&gpu, &instruction).unwrap();
            let (name, k) = (instruction.name(), instruction.shape().k);
            let model = model(&planted.arithmetic, k);
            assert_eq!(
                mismatches(&mut unit, &model, index),
                0,
                "device {index}, {name}: the headers do not compute {model}"
            );
            let effort = Effort { validation: 6_000, evaluations: 3_000_000, ..Effort::full(index) };
            let recovery = recover(&mut unit, &effort).unwrap();
            let recovered = recovery.recovered.model().unwrap_or_else(|| panic!("device {index}, {name}: {recovery}"));
            assert!(recovery.recovered.is_exact(), "device {index}, {name}: planted {model}\n{recovery}");
            assert_eq!(mismatches(&mut unit, recovered, index + 1000), 0, "device {index}, {name}: {recovery}");
        }
    }
}

#[test]
fn planted_registers_are_recovered() {
    for index in 0..devices() {
        let planted = Planted::drawn(9, index);
        let Some(gpu) = device(Planted { inlined: Planted::PLAIN.inlined, ..planted }) else { return };
        let of = |a: &BaseTile, b: &BaseTile, c: &BaseTile, s: Shape| {
            Fragment::new(layout(a, s.m, s.k), layout(b, s.k, s.n), layout(c, s.m, s.n)).unwrap()
        };
        let eight = Shape::new(8, 8, 8);
        for (instruction, fragment) in [
            (Instruction::matmul2d(HALF, TILE), of(&planted.left, &planted.right, &planted.destination, TILE)),
            (Instruction::SimdGroup(HALF), of(&planted.matrix, &planted.matrix, &planted.matrix, eight)),
        ] {
            let mut unit = MetalUnit::new(&gpu, &instruction).unwrap();
            let recovered = layouts::recover(&mut unit, Numbering::Appearance, index);
            let recovered = recovered.unwrap_or_else(|e| panic!("device {index}, {}: {e}", instruction.name()));
            let same = recovered.fragment.same_up_to_relabelling(&fragment);
            assert!(same.is_ok(), "device {index}, {}: {same:?}", instruction.name());
        }
    }
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
