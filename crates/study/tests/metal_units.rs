//! Are the arithmetic and the registers of planted Metal units recovered through the very kernels that ship?
//!
//! `RIGEL_METAL_DEVICES` sets how many devices are drawn.

#[path = "../../device/tests/metal_host/mod.rs"]
mod metal_host;
mod planted_metal;

use planted_metal::{HALF, TILE, recovered};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Alignment, Arithmetic, Misaligned, Planted};
use rigel_device::metal::text::Source;
use rigel_device::metal::unit::{Instruction, MetalUnit};
use rigel_device::unit::{Operands, Unit, execute};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Model};
use rigel_numerics::random::below;
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};
use rigel_study::recovery::{Asker, Effort, operand_bits, recover};
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

/// What is planted in a unit whose tiles could be read amiss: rows of the host's tensors that must be far apart, and scales whose place
/// is disputed.
fn awkward(arithmetic: Arithmetic) -> Planted {
    let handle = Alignment { bytes: 128, outcome: Misaligned::Wrong };
    Planted { arithmetic, handle, scales_stay: true, scales_by_stride: true, ..Planted::PLAIN }
}

const FUSED: Arithmetic =
    Arithmetic { group: 16, fraction_bits: Some(25), cut_down: false, bits: 24, toward_zero: true };

/// What a unit is recovered as, and the dot products on which it is not the model that was planted.
fn recovered_as(unit: &mut dyn Unit, planted: &Model) -> (String, usize) {
    let effort = Effort { validation: 20_000, evaluations: 6_000_000, ..Effort::full(1) };
    let recovery = recover(unit, &effort).unwrap();
    let k = unit.spec().shape.k;
    let found = recovery.recovered.model().filter(|_| recovery.recovered.is_exact());
    let found = found.unwrap_or_else(|| panic!("planted {planted}\n{recovery}"));
    let [of_found, of_planted] = [found, planted].map(|model| Evaluator::new(model, k).unwrap());
    let (mut one, mut other) = (of_found.scratch(), of_planted.scratch());
    let mut differs = |distribution: &Distribution, i: u64| {
        let drawn = distribution.inputs(planted, k, 9, i);
        of_found.dot(&mut one, drawn.codes()) != of_planted.dot(&mut other, drawn.codes())
    };
    let drawn = Distribution::ALL.iter().flat_map(|distribution| (0..500).map(move |i| (distribution, i)));
    (found.to_string(), drawn.filter(|&(distribution, i)| differs(distribution, i)).count())
}

/// A chain of steps in which products and c are aligned and cut as [`FUSED`] plants it.
fn fused(triple: &str, k: usize, scales: &str) -> Model {
    Model::from_json(&format!(
        "{{\"triple\": \"{triple}\", \"k\": {k}, {scales}\"body\": {{\"chain\": {{\"split\": {{\"blocks\": {{\"of\": 16}}}}, \"each\": \
         {{\"step\": {{\"c\": true, \"sum\": {{\"align\": {{\"largest\": {{\"fraction_bits\": 25, \"cut\": \"toward_zero\"}}}}, \
         \"output\": {{\"rounded\": {{\"format\": \"f32\", \"rounding\": \"toward_zero\", \"overflow\": \"directed\"}}}}}}}}}}}}}}, \
         \"nan\": {{\"word\": 2143289344}}}}"
    ))
    .unwrap()
}

#[test]
fn units_over_tensors_of_the_host_are_recovered_wherever_their_rows_must_lie() {
    let Some(gpu) = device(awkward(FUSED)) else { return };
    let mut unit = MetalUnit::new(&gpu, &Instruction::handle(HALF, TILE)).unwrap();
    assert_eq!((unit.spec().path.as_str(), unit.spec().fragments), ("matmul2d.handle", None));
    let (words, differ) = recovered_as(&mut unit, &fused("f16,f16->f32", TILE.k, ""));
    assert_eq!(differ, 0, "{words}");
    // Every triple that a model takes: small integers come out, in packed types as well.
    let all = Instruction::all(Sdk::V27_0).into_iter().filter(|i| i.spec(None).path == "matmul2d.handle");
    let all: Vec<Instruction> = all.collect();
    assert!(all.len() > 20, "{} units", all.len());
    prepared(&gpu, &all);
    for instruction in &all {
        small_integers_come_out(&mut MetalUnit::new(&gpu, instruction).unwrap());
    }
}

/// Compiles the kernels of units together, which is faster than one by one.
fn prepared(gpu: &Rc<RefCell<Simulated>>, instructions: &[Instruction]) {
    let source = |instruction: &Instruction| instruction.kernel(Sdk::V27_0).source(Sdk::V27_0.language());
    let sources: Vec<Source> = instructions.iter().map(source).collect();
    gpu.borrow_mut().prepare(&sources).unwrap();
}

/// Three tiles of small whole numbers, and a scale of 2 or 1/2 of each group where the unit has them.
fn small_integers_come_out(unit: &mut dyn Unit) {
    let spec = unit.spec().clone();
    let (Shape { m, n, k }, tiles) = (spec.shape, 3);
    let draw = |format: Format, rows, cols, stream: u64| {
        let most = if format.bits() < 4 { 2 } else { 3 };
        let mut x = Matrix::zeroed(format, rows, cols);
        for at in 0..rows * cols {
            let value = below(stream, at as u64, most) as f64;
            x.set(at / cols, at % cols, format.encode(value, Rounding::NearestEven, Overflow::Saturate));
        }
        x
    };
    let a = draw(spec.triple.a, tiles * m, k, 1);
    let b = draw(spec.triple.b, tiles * k, n, 2);
    let c = draw(spec.triple.c, tiles * m, n, 3);
    let scales = spec.scales.map(|scales| {
        let of = |rows, cols, stream| {
            let mut x = Matrix::zeroed(scales.format, rows, cols);
            (0..rows * cols).for_each(|at| x.set(at / cols, at % cols, 126 + 2 * below(stream, at as u64, 2)));
            x
        };
        (of(tiles * m, k / scales.group, 4), of(tiles * (k / scales.group), n, 5))
    });
    let d = execute(unit, Operands { a: &a, b: &b, c: &c, scales: scales.as_ref().map(|(a, b)| (a, b)) }).unwrap();
    let groups = spec.scales.map_or(1, |scales| k / scales.group);
    for row in 0..tiles * m {
        for col in 0..n {
            let tile = row / m;
            let scale = |l: usize| {
                scales.as_ref().map_or(1.0, |(a, b)| {
                    let group = l * groups / k;
                    a.value(row, group) * b.value(tile * groups + group, col)
                })
            };
            let products = (0..k).map(|l| a.value(row, l) * b.value(tile * k + l, col) * scale(l));
            assert_eq!(d.value(row, col), products.sum::<f64>() + c.value(row, col), "{} {row} {col}", spec.name);
        }
    }
}

#[test]
fn units_with_planes_of_scales_are_recovered_and_those_with_one_say_why_they_are_not_asked() {
    let Some(gpu) = device(awkward(FUSED)) else { return };
    let scaled: Vec<Instruction> =
        Instruction::named(Sdk::V27_0).into_iter().filter(|i| i.spec(None).scales.is_some()).collect();
    let mut asked = Vec::new();
    for instruction in &scaled {
        match MetalUnit::new(&gpu, instruction) {
            Ok(mut unit) => {
                small_integers_come_out(&mut unit);
                asked.push(instruction.name());
            }
            Err(why) => {
                let whose =
                    if instruction.spec(None).path == "matmul2d" { "those of one" } else { "made with one plane" };
                assert!(why.0.contains(whose), "{why:?}");
            }
        }
    }
    let both = ["mxe4m3.mxe4m3.f16", "mxe4m3.mxe4m3.f32", "mxe2m1.mxe2m1.f16", "mxe2m1.mxe2m1.f32"];
    asked.sort();
    let mut expected = both.map(|types| format!("matmul2d.m16n32k64.{types}.tr"));
    expected.sort();
    assert_eq!(asked, expected);
    let listed = Instruction::all(Sdk::V27_0);
    assert!(scaled.iter().all(|instruction| listed.contains(instruction) == expected.contains(&instruction.name())));
    assert_eq!(scaled.len(), 32);
    for name in ["e4m3", "e2m1"] {
        let instruction = scaled.iter().find(|i| i.name() == format!("matmul2d.m16n32k64.mx{name}.mx{name}.f32.tr"));
        let mut unit = MetalUnit::new(&gpu, instruction.unwrap()).unwrap();
        let scales = "\"scales\": {\"a\": \"e8m0\", \"b\": \"e8m0\", \"group\": 32, \"on\": \"products\"}, ";
        let (words, differ) = recovered_as(&mut unit, &fused(&format!("{name},{name}->f32"), 64, scales));
        assert_eq!(differ, 0, "{words}");
    }
}

#[test]
fn what_relaxed_precision_keeps_of_float_operands_is_found() {
    let Some(gpu) = device(Planted::PLAIN) else { return };
    let all = Instruction::all(Sdk::V27_0);
    for (name, cut) in [("matmul2d.m16n32k32.f32.f32.f32", false), ("matmul2d.m16n32k32.f32.f32.f32.relaxed", true)] {
        let mut unit = MetalUnit::new(&gpu, all.iter().find(|i| i.name() == name).unwrap()).unwrap();
        for relaxed_bits in [24, 11, 8] {
            gpu.borrow_mut().plant(Planted { relaxed_bits, ..Planted::PLAIN }).unwrap();
            let bits = if cut { relaxed_bits as u32 } else { 24 };
            for kept in operand_bits(&mut Asker::new(&mut unit)).unwrap().unwrap() {
                assert_eq!((kept.significand, kept.shown), (bits, true), "{name}, {relaxed_bits} planted: {kept}");
                let ways: &[Rounding] = if bits < 24 { &[Rounding::TowardZero] } else { &[] };
                assert_eq!(kept.roundings, ways, "{name}, {relaxed_bits} planted");
            }
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
