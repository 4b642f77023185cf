//! Are the published models well formed, and do they give the words that their sources predict?

use rigel_numerics::arithmetic::{
    Confidence, Distribution, Evaluator, Inputs, Model, Node, Published, Split, first_difference, library, slow,
};
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Overflow, Rounding};
use std::collections::HashSet;

fn published(name: &str) -> &'static Published {
    library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`"))
}

fn code(format: Format, value: f64) -> u64 {
    let code = format.encode(value, Rounding::NearestEven, Overflow::Ieee);
    assert_eq!(format.decode(code), value, "{value} is no {format}");
    code
}

/// The word for products of the given factors, the rest of an instruction being zero.
fn word_of(model: &Model, pairs: &[(f64, f64)], c: f64) -> u64 {
    let k = model.padded(pairs.len());
    let t = model.triple;
    let mut a: Vec<u64> = pairs.iter().map(|p| code(t.a, p.0)).collect();
    let mut b: Vec<u64> = pairs.iter().map(|p| code(t.b, p.1)).collect();
    a.resize(k, 0);
    b.resize(k, 0);
    let evaluator = Evaluator::new(model, k).expect("a model that can be evaluated");
    evaluator.dot(&mut evaluator.scratch(), Inputs::new(&a, &b, code(t.c, c)))
}

fn word(name: &str, pairs: &[(f64, f64)], c: f64) -> u64 {
    word_of(&published(name).model, pairs, c)
}

fn value(name: &str, pairs: &[(f64, f64)], c: f64) -> f64 {
    let model = &published(name).model;
    model.triple.c.decode(word_of(model, pairs, c))
}

fn t(e: i32) -> f64 {
    2f64.powi(e)
}

#[test]
fn every_entry_says_what_it_is_and_where_it_comes_from() {
    let mut names = HashSet::new();
    for p in library() {
        assert!(names.insert(&p.name), "two models are called {}", p.name);
        assert!(!p.source.is_empty() && !p.device.is_empty() && !p.path.is_empty(), "{}", p.name);
        assert!(p.confidence != Confidence::Inferred || !p.note.is_empty(), "{}: inferred from what?", p.name);
        assert_eq!(Model::from_json(&p.model.to_json()).as_ref(), Ok(&p.model), "{}", p.name);
    }
    for device in ["V100", "T4", "A100", "L40S", "H100", "B200", "MI100", "MI200", "MI300", "x86", "any"] {
        assert!(library().iter().any(|p| p.device.contains(device)), "nothing for {device}");
    }
}

/// Both evaluators on every model, all distributions, one instruction and several.
#[test]
fn both_evaluators_agree_on_every_model() {
    for (i, p) in library().iter().enumerate() {
        for k in [p.model.k, 2 * p.model.k + 1] {
            let evaluator = Evaluator::new(&p.model, k).expect("a model that can be evaluated");
            let mut scratch = evaluator.scratch();
            for distribution in Distribution::ALL {
                for j in 0..2 {
                    let x = distribution.inputs(&p.model, k, stream(7, i as u64), j);
                    let inputs = x.codes();
                    let fast = evaluator.dot(&mut scratch, inputs);
                    assert_eq!(Ok(fast), slow::dot(&p.model, inputs), "{}: {distribution:?} {inputs:x?}", p.name);
                }
            }
        }
    }
}

/// A product does not care which factor is called a, unless a rule about NaN does.
#[test]
fn factors_commute() {
    for (i, p) in library().iter().enumerate().filter(|(_, p)| p.model.triple.a == p.model.triple.b) {
        if p.model.scales.is_some() || p.name.contains("x86") {
            continue;
        }
        let k = p.model.k * 2;
        let evaluator = Evaluator::new(&p.model, k).expect("a model that can be evaluated");
        let mut scratch = evaluator.scratch();
        for distribution in Distribution::ALL {
            let x = distribution.inputs(&p.model, k, stream(8, i as u64), 0);
            let one = evaluator.dot(&mut scratch, Inputs::new(&x.a, &x.b, x.c));
            let other = evaluator.dot(&mut scratch, Inputs::new(&x.b, &x.a, x.c));
            let nan = p.model.triple.c.is_nan(one) && p.model.triple.c.is_nan(other);
            assert!(one == other || nan, "{}: {distribution:?}", p.name);
        }
    }
}

/// Probes P1 to P11 of the literature on Hopper's units, with the words that they predict.
#[test]
fn hopper_answers_the_published_probes() {
    let half = "hopper wgmma f16 to f32";
    for e in 20..=28 {
        let p1 = value(half, &[(1.0, 1.0), (1.0, -1.0), (t(-12), t(12 - e))], 0.0);
        assert_eq!(p1, if e <= 25 { t(-e) } else { 0.0 }, "P1, e = {e}");
    }
    let (native, emulated) = ("hopper wgmma e4m3 to f32", "hopper mma e4m3 to f32, emulated, c last");
    for e in 4..=18 {
        let pairs = [(1.0, 1.0), (1.0, -1.0), (t(-9), t(9 - e))];
        assert_eq!(value(native, &pairs, 0.0), if e <= 13 { t(-e) } else { 0.0 }, "P1-fp8, e = {e}");
        assert_eq!(value(emulated, &pairs, 0.0), t(-e), "P1-fp8 emulated, e = {e}");
    }
    assert_eq!(word(half, &[(1.0, 1.0), (1.0, -1.0), (-t(-12), t(-14))], 0.0), 0, "P2");
    assert_eq!(value(half, &[(1.5, 1.5), (-1.5, 1.5), (t(-12), t(-13))], 0.0), t(-25), "P3a");
    assert_eq!(value(half, &[(1.0, 2.25), (-1.0, 2.25), (t(-12), t(-13))], 0.0), 0.0, "P3b");
    for sign in [1.0, -1.0] {
        let p4 = [(1.0, sign), (t(-12), sign * t(-12)), (t(-12), sign * t(-13))];
        assert_eq!(value(half, &p4, 0.0), sign, "P4");
    }
    let sixteen = [(t(-12), t(-14)); 16];
    assert_eq!(word(half, &sixteen, 1.0), 0x3F80_0000, "P5a");
    assert_eq!(word(half, &sixteen, 1.0 - t(-24)), 0x3F80_0001, "P5b");
    assert_eq!(word(half, &sixteen[..11], 1.0 - t(-24)), 0x3F80_0000, "P5b with 11 products");
    assert_eq!(word(half, &sixteen[..12], 1.0 - t(-24)), 0x3F80_0001, "P5b with 12 products");
    let to_half = "hopper wgmma f16 to f16";
    assert_eq!(value(to_half, &[(1.0, 1.0), (t(-5), t(-6))], 0.0), 1.0, "P7, a tie");
    assert_eq!(value(to_half, &[(1.0, 1.0), (t(-5), t(-6)), (t(-12), t(-12))], 0.0), 1.0 + t(-10), "P7, above it");
    let big = [(t(100), t(100)), (-t(100), t(100))];
    assert_eq!(word("hopper wgmma bf16 to f32", &big, 0.0), 0, "P8");
    assert_eq!(word(half, &[(1.0, 1.0)], f64::from(f32::MAX)), 0x7F7F_FFFF, "P10, below");
    assert_eq!(word("hopper wgmma bf16 to f32", &[(t(64), t(64))], 0.0), 0x7F80_0000, "P10");
    let model = &published(half).model;
    let evaluator = Evaluator::new(model, 16).expect("a model");
    let nan = evaluator.dot(&mut evaluator.scratch(), Inputs::new(&[0; 16], &[0; 16], 0x7FC1_2345));
    assert_eq!(nan, 0x7FFF_FFFF, "P9");
}

#[test]
fn hopper_fp8_keeps_fourteen_bits() {
    let model = &published("hopper wgmma e4m3 to f32").model;
    let evaluator = Evaluator::new(model, 64).expect("a model");
    let mut scratch = evaluator.scratch();
    for i in 0..200 {
        let x = Distribution::Normal.inputs(model, 64, stream(9, 9), i);
        let d = evaluator.dot(&mut scratch, Inputs::new(&x.a, &x.b, x.c));
        assert_eq!(d & 0x3FF, 0, "P11: {d:#x}");
    }
}

/// The corners in which the two published models of NVIDIA's units disagree (D1 to D3), each as its source has it.
#[test]
fn disputed_corners_differ_as_their_sources_do() {
    let bf16 = ["hopper mma bf16 to f32", "hopper mma bf16 to f32, floored"];
    let d1 = [(0.0, t(127)), (t(-15), t(-15))];
    assert_eq!(bf16.map(|name| value(name, &d1, 0.0)), [0.0, t(-30)], "D1");
    assert_eq!(bf16.map(|name| word(name, &[(t(-76), t(-76)); 16], 0.0)), [0, 2], "D2");
    assert_eq!(bf16.map(|name| word(name, &[(t(-76), t(-77)); 16], 0.0)), [0, 1], "D2b");
    let f16 = ["hopper mma f16 to f16", "hopper mma f16 to f16, floored"];
    let d3 = [(t(-12), t(-13)), (-t(-20), t(-22))];
    assert_eq!(f16.map(|name| value(name, &d3, t(-24))), [t(-23), t(-24)], "D3");
}

/// The small product of arXiv 2403.00232's kind that tells architectures apart: tiny terms between two large ones.
#[test]
fn architectures_differ_in_what_they_lose() {
    // 2^15 − 2^15 with 2^-9 between: 24 binades.
    let pairs = [(t(15), 1.0), (t(-9), 1.0), (-t(15), 1.0), (0.0, 0.0)];
    assert_eq!(value("volta f16 to f32", &pairs, 0.0), 0.0);
    assert_eq!(value("ampere f16 to f32", &pairs, 0.0), t(-9));
    assert_eq!(value("cdna1 f16 to f32, pairwise", &pairs, 0.0), 0.0);
    assert_eq!(value("cdna1 f16 to f32, exact", &pairs, 0.0), t(-9));
    assert_eq!(value("cdna3 f16 to f32, 8 products", &pairs, 0.0), t(-9));
    // CDNA2 flushes what goes in; others keep it.
    let subnormal = [(t(-24), 1.0)];
    assert_eq!(word("cdna2 f16 to f32, 4 products", &subnormal, 0.0), 0);
    assert_eq!(value("ampere f16 to f32", &subnormal, 0.0), t(-24));
    // A product beyond f32 is infinite before it meets its opposite.
    let big = [(t(100), t(100)), (-t(100), t(100))];
    assert!(published("cdna2 bf16 to f32, 4 products").model.triple.c.is_nan(word(
        "cdna2 bf16 to f32, 4 products",
        &big,
        0.0
    )));
    assert!(published("cdna3 bf16 to f32, 8 products").model.triple.c.is_nan(word(
        "cdna3 bf16 to f32, 8 products",
        &big,
        0.0
    )));
    assert_eq!(word("ampere bf16 to f32", &big, 0.0), 0);
    // CDNA3 rounds the sum of a block down where c is large: a tiny negative product takes a whole unit.
    let down = value("cdna3 f16 to f32, 8 products", &[(-t(-14), t(-14))], 1.0);
    assert_eq!(down, 1.0, "a unit of 2^-31 is lost in f32 again");
    let held = value("cdna3 f16 to f32, 8 products", &[(-t(-14), t(-14)), (1.0, 1.0)], -1.0);
    assert_eq!(held, 0.0, "F = 24 cuts 2^-28 toward zero beside a product of 1");
    let lower = value("cdna3 f16 to f32, 8 products", &[(-t(-14), t(-21))], 1.0 - t(-24));
    assert_eq!(lower, 1.0 - t(-24));
}

/// vdpbf16ps: the pair's upper element first, each accumulation rounded to nearest, tininess after rounding, NaN by priority.
#[test]
fn vdpbf16ps_follows_its_order() {
    let name = "vdpbf16ps";
    // Upper first: 2^24 + 1 is a tie and stays; then the lower one cancels it. The other order would keep the 1.
    assert_eq!(value(name, &[(-t(12), t(12)), (1.0, 1.0)], t(24)), 0.0);
    assert_eq!(value(name, &[(1.0, 1.0), (-t(12), t(12))], t(24)), 1.0);
    let raw = |a: [u64; 2], b: [u64; 2], c: u64| {
        let evaluator = Evaluator::new(&published(name).model, 2).expect("a model");
        evaluator.dot(&mut evaluator.scratch(), Inputs::new(&a, &b, c))
    };
    assert_eq!(raw([0, 0x0001], [0, 0x3F80], 0), 0, "a subnormal operand is zero");
    assert_eq!(raw([0, 0], [0, 0], 0x807F_FFFF), 0, "a subnormal c is zero, and −0 + 0 = +0");
    // 2^-126 − 2^-150 rounds to 24 bits below the least normal value; 2^-126 − 2^-151 rounds up to it.
    let tiny = |e: i32| code(Format::Bf16, -t(e + 70));
    assert_eq!(raw([0, code(Format::Bf16, t(-70))], [0, tiny(-150)], 0x0080_0000), 0);
    assert_eq!(raw([0, code(Format::Bf16, t(-70))], [0, tiny(-151)], 0x0080_0000), 0x0080_0000);
    assert_eq!(raw([0x7FC1, 0x7FC3], [0x7FC2, 0x7FC4], 0x7FC1_2345), 0x7FC1_0000, "src1 low first");
    assert_eq!(raw([0, 0x7FC3], [0x7FC2, 0x7FC4], 0x7FC1_2345), 0x7FC2_0000, "then src2 low");
    assert_eq!(raw([0, 0x7FC3], [0, 0x7FC4], 0x7FC1_2345), 0x7FC3_0000, "then src1 high");
    assert_eq!(raw([0, 0], [0, 0], 0x7F81_2345), 0x7FC1_2345, "c last, made quiet");
    assert_eq!(raw([0x7F80, 0], [0, 0], 0), 0xFFC0_0000, "the default NaN");
}

/// Scaled groups: the scale exponents move whole groups, and NaN scales make NaN.
#[test]
fn block_scales_multiply_their_groups() {
    let eval = |name: &str, a: u64, a_scales: &[u64], b_scales: &[u64]| {
        let model = &published(name).model;
        let evaluator = Evaluator::new(model, model.k).expect("a model");
        let (a, b) = (vec![a; model.k], vec![code(model.triple.b, 1.0); model.k]);
        evaluator.dot(&mut evaluator.scratch(), Inputs { a: &a, b: &b, c: 0, a_scales, b_scales })
    };
    let one = code(Format::E2m1, 1.0);
    // 64 products of 1: four groups of 16 by scales 2^1, 2^-1 (MX: two groups of 32) and 1.5 · 2 (NVFP4).
    assert_eq!(f32::from_bits(eval("blackwell mxfp4 to f32", one, &[128, 126], &[127, 127]) as u32), 64.0 + 16.0);
    let scales = [1.5, 1.0, 2.0, 0.0].map(|s| code(Format::Ue4m3, s));
    let ones = [code(Format::Ue4m3, 1.0); 4];
    assert_eq!(f32::from_bits(eval("blackwell nvfp4 to f32", one, &scales, &ones) as u32), 16.0 * 4.5);
    assert_eq!(eval("blackwell mxfp4 to f32", one, &[0xFF, 127], &[127, 127]), 0x7FFF_FFFF);
    let e4m3 = code(Format::E4m3, 1.0);
    assert_eq!(f32::from_bits(eval("blackwell mx e4m3 to f32", e4m3, &[120], &[130]) as u32), 32.0 * t(-4) as f32);
}

/// A hundred random rows of ordinary numbers tell a wrong width from a right one, and equal functions never differ.
#[test]
fn wrong_parameters_are_found_and_equal_functions_are_not() {
    let evaluator = |name: &str, k| Evaluator::new(&published(name).model, k).expect("a model");
    let hopper = evaluator("hopper wgmma f16 to f32", 16);
    for name in ["hopper mma k8 f16 to f32", "ampere f16 to f32", "volta f16 to f32", "cdna3 f16 to f32, 8 products"] {
        let found = first_difference(&hopper, &evaluator(name, 16), stream(1, 1), 100).expect(name);
        assert_eq!(found.distribution, Distribution::Normal, "{name}");
        assert_eq!(hopper.dot(&mut hopper.scratch(), found.inputs.codes()), found.codes[0]);
        assert_ne!(found.codes[0], found.codes[1]);
    }
    // The same steps under two names; and a chain of one block said otherwise.
    assert_eq!(first_difference(&hopper, &evaluator("hopper mma f16 to f32", 16), stream(1, 2), 200), None);
    let mut whole = published("hopper wgmma f16 to f32").model.clone();
    if let Node::Chain(chain) = &mut whole.body {
        chain.split = Split::Whole;
    }
    assert_eq!(first_difference(&hopper, &Evaluator::new(&whole, 16).expect("a model"), stream(1, 3), 200), None);
    let longer = [Evaluator::new(&whole, 32), Evaluator::new(&published("hopper wgmma f16 to f32").model, 32)];
    let [one, other] = longer.map(|e| e.expect("a model"));
    assert!(first_difference(&one, &other, stream(1, 4), 200).is_some(), "at K = 32 they are two functions");
}
