//! Is a planted output right where nothing is planted, and wrong exactly as planted where something is?

mod planted;

use planted::*;
use rigel_device::sim::{SimDevice, Truth};
use rigel_device::{Cache, Device, GemmSpec, POISON};
use rigel_numerics::bound::tolerance;
use rigel_numerics::reference::reference;
use rigel_numerics::{Matrix, Recipe, Triple};

/// Largest |ĉ − c| / Σ|a||b| of an output over the bound of the declared types: at most 1 is right.
fn excess(triple: Triple, shape: &str, output: &Matrix) -> f64 {
    let shape = shape.parse().unwrap();
    let (a, b) = operands(triple, shape);
    let reference = reference(triple, &a, &b).unwrap();
    let tolerance = tolerance(triple, shape.k, Recipe::NearNormal);
    let worst = reference.compare(output, tolerance).unwrap();
    let exact = tolerance.exact && worst.outside == 0;
    if exact { 0.0 } else { worst.residual.relative / tolerance.relative }
}

/// Places at which two outputs differ.
fn differences(x: &Matrix, y: &Matrix) -> Vec<(usize, usize)> {
    let all = (0..x.rows).flat_map(|r| (0..x.cols).map(move |c| (r, c)));
    all.filter(|&(r, c)| x.get(r, c) != y.get(r, c)).collect()
}

const TRIPLES: &[&str] = &[
    "f64,f64->f64",
    "f32,f32->f32",
    "bf16,bf16->bf16",
    "e4m3,e5m2->f32",
    "i8,i8->i32",
    "u8,i8->i32",
    "i4,i4->i32",
    "e2m1,e2m1->f16",
];

fn device_of(arithmetic: &str) -> SimDevice {
    let each = |t: &&str| {
        format!("[[path.triple]]\ntriple = \"{t}\"\nadvertised = true\nsource = \"p\"\nrate = 1e12\n{arithmetic}\n")
    };
    device(&format!("{arithmetic}\n{}", TRIPLES.iter().map(each).collect::<String>()))
}

#[test]
fn wide_arithmetic_is_right_for_every_triple_and_size() {
    for arithmetic in ["arithmetic = \"exact\"", "arithmetic = \"chain\""] {
        let mut device = device_of(arithmetic);
        for triple in TRIPLES.iter().chain(&["f16,f16->f32"]) {
            for shape in ["1", "9x5x33", "127x128x65", "129x7x40", "150x200x190"] {
                let spec = spec(triple, shape);
                let got = output(&mut device, &spec, 2);
                assert_eq!((got.format, got.rows, got.cols), (spec.triple.c, spec.shape.m, spec.shape.n));
                let excess = excess(spec.triple, shape, &got);
                assert!(excess <= 1.0, "{triple} {shape} {arithmetic}: {excess}");
            }
        }
    }
}

#[test]
fn a_narrow_accumulator_is_imprecise_small_and_large_but_never_far_off() {
    let mut device = SimDevice::new(Truth::select("sim:narrow").unwrap()).unwrap();
    for (triple, shape) in
        [("e4m3,e4m3->f32", "128"), ("e4m3,e4m3->f32", "384"), ("f32,f32->f32", "64"), ("f32,f32->f32", "200")]
    {
        let (path, tile) = ("wgmma".into(), "64x128".into());
        let spec = GemmSpec { path, tile, ..spec(triple, shape) };
        let got = output(&mut device, &spec, 1);
        let excess = excess(spec.triple, shape, &got);
        let relative = excess * tolerance(spec.triple, spec.shape.k, Recipe::NearNormal).relative;
        assert!(excess > 1.0 && relative < 0.01, "{triple} {shape}: {excess} times the bound, {relative}");
    }
    let (path, tile) = ("wgmma".into(), "64x128".into());
    let spec = GemmSpec { path, tile, ..half("200") };
    let got = output(&mut device, &spec, 1);
    assert!(excess(spec.triple, "200", &got) <= 1.0, "25 fraction bits are as good as f32 asks");
}

/// The right output and the one with a planted fault.
fn spoiled(effect: &str, shape: &str) -> (Matrix, Matrix) {
    let right = output(&mut device(""), &half(shape), 1);
    let fault = format!("[[fault]]\neffect = {{ wrong = {effect} }}");
    (right, output(&mut device(&fault), &half(shape), 1))
}

#[test]
fn every_planted_wrong_output_is_wrong_as_planted() {
    for shape in ["33x21x40", "150x140x130"] {
        let (rows, cols) = (half(shape).shape.m, half(shape).shape.n);
        let (right, zeros) = spoiled("\"zeros\"", shape);
        assert!(zeros.bytes.iter().all(|&b| b == 0));
        assert_ne!(right, zeros);

        let (right, dropped) = spoiled("{ dropped-step = { step = 4 } }", shape);
        let spec = half(shape);
        let (mut a, b) = operands(spec.triple, spec.shape);
        (0..a.rows).for_each(|r| (a.cols - 4..a.cols).for_each(|c| a.set(r, c, 0)));
        let mut device = device("");
        let mut gemm = device.compile(&spec).unwrap();
        gemm.bind(&a, &b).unwrap();
        gemm.run(1, Cache::Warm).unwrap();
        assert_eq!(gemm.output().unwrap(), dropped);
        assert!(excess(spec.triple, shape, &dropped) > 1.0 && right != dropped);

        let (right, swapped) = spoiled("\"swapped\"", shape);
        let places = differences(&right, &swapped);
        let [(r0, c0), (r1, c1)] = places[..] else { panic!("{places:?}") };
        assert_eq!((right.get(r0, c0), right.get(r1, c1)), (swapped.get(r1, c1), swapped.get(r0, c0)));

        let (_, transposed) = spoiled("\"transposed-b\"", shape);
        assert!(excess(spec.triple, shape, &transposed) > 1.0);

        let (right, perturbed) = spoiled("{ perturbed = { by = 1e-3 } }", shape);
        let [(r, c)] = differences(&right, &perturbed)[..] else { panic!("one element") };
        let (a, b) = operands(spec.triple, spec.shape);
        let scale: f64 = (0..spec.shape.k).map(|k| (a.value(r, k) * b.value(k, c)).abs()).sum();
        let by = (perturbed.value(r, c) - right.value(r, c)) / scale;
        assert!((by - 1e-3).abs() < 1e-6, "{by}");

        let (right, edge) = spoiled("{ tile-edge = { tile = 16 } }", shape);
        let inside = |&(r, c): &(usize, usize)| r < rows / 16 * 16 && c < cols / 16 * 16;
        let places = differences(&right, &edge);
        assert!(!places.is_empty() && !places.iter().any(inside));

        let (right, unwritten) = spoiled("{ unwritten = { rows = 2 } }", shape);
        assert!((rows - 2..rows).all(|r| unwritten.row(r).iter().all(|&b| b == POISON)));
        assert!((0..rows - 2).all(|r| unwritten.row(r) == right.row(r)));

        let (right, nan) = spoiled("\"not-a-number\"", shape);
        let [(r, c)] = differences(&right, &nan)[..] else { panic!("one element") };
        assert!(nan.value(r, c).is_nan());
    }
    let (right, whole) = spoiled("{ tile-edge = { tile = 16 } }", "32x48x5");
    assert_eq!(right, whole, "whole tiles are right");
}

#[test]
fn integers_are_perturbed_by_whole_numbers() {
    let more = "[[path.triple]]\ntriple = \"i8,i8->i32\"\nadvertised = true\nsource = \"p\"\nrate = 1e12\n";
    let spec = spec("i8,i8->i32", "20x30x7");
    let right = output(&mut device(more), &spec, 1);
    let wrong = output(
        &mut device(&format!("{more}[[fault]]\neffect = {{ wrong = {{ perturbed = {{ by = 1e-9 }} }} }}")),
        &spec,
        1,
    );
    let [(r, c)] = differences(&right, &wrong)[..] else { panic!("one element") };
    assert_eq!(wrong.value(r, c) - right.value(r, c), 1.0);
}

#[test]
fn a_fault_may_wait_for_its_repetition_and_keep_to_its_cell() {
    let mut device = device("[[fault]]\nshape = \"12x12x12\"\nprocess = 2\nafter = 5\neffect = { wrong = \"zeros\" }");
    let zero = |m: &Matrix| m.bytes.iter().all(|&b| b == 0);
    device.enter_process(2);
    let mut gemm = bound(&mut device, &half("12")).unwrap();
    gemm.run(5, Cache::Warm).unwrap();
    assert!(!zero(&gemm.output().unwrap()));
    gemm.run(1, Cache::Warm).unwrap();
    assert!(zero(&gemm.output().unwrap()));
    assert!(!zero(&output(&mut device, &half("13"), 9)));
    device.enter_process(1);
    assert!(!zero(&output(&mut device, &half("12"), 9)));
}

#[test]
fn poison_stays_until_the_next_repetition() {
    let mut device = device("");
    let mut gemm = bound(&mut device, &half("7x9x3")).unwrap();
    gemm.run(1, Cache::Warm).unwrap();
    let right = gemm.output().unwrap();
    gemm.poison().unwrap();
    assert!(gemm.output().unwrap().bytes.iter().all(|&b| b == POISON));
    gemm.run(0, Cache::Warm).unwrap();
    assert!(gemm.output().unwrap().bytes.iter().all(|&b| b == POISON), "no repetition wrote");
    gemm.run(1, Cache::Warm).unwrap();
    assert_eq!(gemm.output().unwrap(), right);
}
