//! Do the distributions of inputs bring out what they are meant to?

use rigel_numerics::arithmetic::{Distribution, DotInputs, library};
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Triple};

const TRIPLES: [&str; 8] = [
    "f16,f16->f32",
    "f16,f16->f16",
    "bf16,bf16->f32",
    "tf32,tf32->f32",
    "f32,f32->f32",
    "f64,f64->f64",
    "e4m3,e5m2->f32",
    "e2m1,e2m1->f32",
];

const K: usize = 16;
const COUNT: u64 = 400;

fn triple(text: &str) -> Triple {
    text.parse().expect("a triple")
}

fn drawn(distribution: Distribution, text: &str) -> Vec<DotInputs> {
    (0..COUNT).map(|i| distribution.unscaled(triple(text), K, stream(5, 0), i)).collect()
}

fn products(t: Triple, x: &DotInputs) -> Vec<f64> {
    x.a.iter().zip(&x.b).map(|(&a, &b)| t.a.decode(a) * t.b.decode(b)).collect()
}

/// The share of inputs of which something holds.
fn share(inputs: &[DotInputs], holds: impl Fn(&DotInputs) -> bool) -> f64 {
    inputs.iter().filter(|x| holds(x)).count() as f64 / inputs.len() as f64
}

#[test]
fn inputs_are_functions_of_stream_and_index() {
    for text in TRIPLES.iter().chain(&["i8,i8->i32"]) {
        for distribution in Distribution::ALL {
            let one = |s, i| distribution.unscaled(triple(text), K, stream(s, 0), i);
            assert_eq!(one(1, 7), one(1, 7));
            assert_ne!(one(1, 7), one(1, 8), "{text} {distribution:?}");
            assert_ne!(one(1, 7), one(2, 7), "{text} {distribution:?}");
            assert!(distribution.unscaled(triple(text), 0, 1, 1).a.is_empty());
            let codes = one(3, 3);
            assert!(codes.a.iter().all(|&c| c & !triple(text).a.code_mask() == 0));
        }
    }
}

#[test]
fn only_random_bits_and_specials_hold_infinities_and_nan() {
    for text in TRIPLES {
        let t = triple(text);
        let finite = |x: &DotInputs| {
            let operands = x.a.iter().all(|&c| t.a.is_finite(c)) && x.b.iter().all(|&c| t.b.is_finite(c));
            operands && t.c.is_finite(x.c)
        };
        for distribution in Distribution::ALL {
            let finite = share(&drawn(distribution, text), finite);
            match distribution {
                // Every sixteenth code of e4m3 and fewer of others are special, and there are 33 of them.
                Distribution::Specials if t.a.infinity_code(false).is_some() => {
                    assert!(finite < 0.5, "{text} {finite}")
                }
                Distribution::RandomBits | Distribution::Specials => {}
                _ => assert_eq!(finite, 1.0, "{text} {distribution:?}"),
            }
        }
    }
    let nan = |x: &DotInputs| x.a.iter().any(|&c| Format::F16.is_nan(c));
    assert!(share(&drawn(Distribution::Specials, "f16,f16->f32"), nan) > 0.05);
    assert!(share(&drawn(Distribution::RandomBits, "f16,f16->f32"), nan) > 0.2);
}

#[test]
fn cancellation_cancels() {
    for text in ["f16,f16->f32", "bf16,bf16->f32", "f32,f32->f32", "e4m3,e5m2->f32"] {
        let t = triple(text);
        let cancels = |x: &DotInputs| {
            let p = products(t, x);
            let (sum, size): (f64, f64) = (p.iter().sum(), p.iter().map(|p| p.abs()).sum());
            size > 0.0 && sum.abs() < size / 32.0
        };
        let (cancelling, normal) = (drawn(Distribution::Cancellation, text), drawn(Distribution::Normal, text));
        let (here, there) = (share(&cancelling, cancels), share(&normal, cancels));
        assert!(here > 0.25 && here > 3.0 * there, "{text}: {here} against {there}");
    }
}

#[test]
fn ladders_reach_below_an_accumulator() {
    for text in ["f16,f16->f32", "bf16,bf16->f32", "f32,f32->f32", "e4m3,e5m2->f32"] {
        let t = triple(text);
        let ratio = |x: &DotInputs| {
            let sizes: Vec<f64> = products(t, x).into_iter().map(f64::abs).filter(|&p| p > 0.0).collect();
            let (largest, least) =
                (sizes.iter().copied().fold(0.0, f64::max), sizes.iter().copied().fold(f64::MAX, f64::min));
            largest / least
        };
        let inputs = drawn(Distribution::Ladder, text);
        assert!(share(&inputs, |x| ratio(x) > 8192.0) > 0.5, "{text}: beyond 13 bits");
        if text != "e4m3,e5m2->f32" {
            assert!(share(&inputs, |x| ratio(x) > 2f64.powi(25)) > 0.25, "{text}: beyond 25 bits");
        }
    }
}

#[test]
fn subnormals_come_up_in_operands_and_outputs() {
    for text in ["f16,f16->f32", "bf16,bf16->f32", "f32,f32->f32", "f16,f16->f16", "e4m3,e5m2->f32"] {
        let t = triple(text);
        let inputs = drawn(Distribution::Subnormal, text);
        let subnormal = |f: Format, code: u64| f.decode(code) != 0.0 && f.decode(code).abs() < f.min_normal();
        assert!(share(&inputs, |x| x.a.iter().any(|&c| subnormal(t.a, c))) > 0.5, "{text}: operands");
        assert!(share(&inputs, |x| subnormal(t.c, x.c)) > 0.05, "{text}: c");
        assert!(share(&inputs, |x| x.a.iter().any(|&c| t.a.decode(c) == 0.0)) > 0.5, "{text}: zeros");
        let low = |x: &DotInputs| products(t, x).iter().any(|&p| p != 0.0 && p.abs() < t.c.min_normal());
        let reaches = t.a.min_normal() * t.b.min_normal() < t.c.min_normal();
        assert_eq!(share(&inputs, low) > 0.2, reaches, "{text}: products");
    }
}

#[test]
fn scaled_models_get_scales() {
    for p in library().iter().filter(|p| p.model.scales.is_some()) {
        let x = Distribution::Normal.inputs(&p.model, 2 * p.model.k, stream(1, 1), 0);
        let groups = p.model.scale_groups(2 * p.model.k);
        assert_eq!((x.a_scales.len(), x.b_scales.len()), (groups, groups));
        assert_ne!(x.a_scales, x.b_scales);
    }
}
