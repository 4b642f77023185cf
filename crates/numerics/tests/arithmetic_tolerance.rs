//! Is the bound of a model never exceeded, and is it near what a model does at worst?

use rigel_numerics::arithmetic::tolerance::{bound, measure};
use rigel_numerics::arithmetic::*;
use rigel_numerics::{Format, Rounding, Triple};

fn published(name: &str) -> Model {
    library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name}")).model.clone()
}

/// No model of the library is measured above its bound, on ordinary and on cancelling inputs.
#[test]
fn no_published_model_exceeds_its_bound() {
    for p in library().iter().filter(|p| p.model.scales.is_none()) {
        for k in [p.model.k, 4 * p.model.k + 1, 129] {
            let limit = bound(&p.model, k).unwrap_or_else(|e| panic!("{}: {e}", p.name)).relative;
            for distribution in [Distribution::Normal, Distribution::Cancellation] {
                let measured = measure(&p.model, k, distribution, 1, 200).unwrap();
                // Results of narrow formats can overflow or be subnormal, integers can wrap: then the bound does not speak.
                let Triple { a, b, c, .. } = p.model.triple;
                let bits = a.precision() + b.precision() + k.ilog2() + 1;
                let fits = !p.model.triple.is_integer() || bits <= c.precision();
                let subject = c != Format::F16 && c != Format::Bf16 && fits;
                if let Some(measured) = measured.filter(|_| subject) {
                    assert!(measured.most <= limit, "{} k {k} {distribution:?}: {measured:?} {limit:e}", p.name);
                    assert!(measured.rms <= measured.most && measured.count <= 200);
                }
            }
        }
    }
}

#[test]
fn bounds_grow_with_what_is_lost() {
    let of = |name: &str, k| bound(&published(name), k).unwrap().relative;
    // A chain of fused multiply-adds to nearest: K roundings of 2^-24.
    let chain = of("f32 fma ascending", 1024);
    let expected = (1.0 + f64::powi(2.0, -24)).powi(1024) - 1.0;
    assert!((chain / expected - 1.0).abs() < 1e-6, "{chain:e} {expected:e}");
    // Fourteen bits against twenty-four, and twice the steps.
    assert!(of("hopper wgmma e4m3 to f32", 4096) > 500.0 * of("hopper wgmma f16 to f32", 4096));
    assert!(of("hopper wgmma e4m3 to f32", 8192) > 1.9 * of("hopper wgmma e4m3 to f32", 4096));
    assert_eq!(of("vpdpbusd", 4096), 0.0);
}

/// The bound is not idle: inputs that are made for it come within a factor of two.
#[test]
fn one_step_comes_near_its_bound() {
    let triple: Triple = "f16,f16->f32".parse().unwrap();
    let sum = Sum {
        align: Align::Largest(Alignment::new(4, Rounding::TowardZero)),
        zero: ZeroSign::Positive,
        output: Output::Rounded(Rounded::to(Format::F32, Rounding::TowardZero)),
    };
    let step = Node::Step(Step { c: true, product_limit: None, sum });
    let (a, b, c) = (Intake::default(), Intake::default(), Intake::default());
    let model = Model {
        triple,
        k: 16,
        a,
        b,
        c,
        scales: None,
        body: step.chained(16),
        store: None,
        nan: NanRule::Word(0x7fff_ffff),
    };
    // One product of 1 and fifteen just below what four bits keep.
    let mut row = [Format::F16.encode(0.0624, Rounding::TowardZero, rigel_numerics::Overflow::Ieee); 16];
    row[0] = 0x3c00;
    let ones = [0x3c00; 16];
    let evaluator = Evaluator::new(&model, 16).unwrap();
    let d = Format::F32.decode(evaluator.dot(&mut evaluator.scratch(), Inputs::new(&row, &ones, 0)));
    let exact: f64 = row.iter().map(|&x| Format::F16.decode(x)).sum();
    let off = (exact - d) / exact;
    let limit = bound(&model, 16).unwrap().relative;
    assert!(off <= limit && off > limit / 3.0, "{off} {limit}");
}

#[test]
fn what_cannot_be_bounded_is_said() {
    let scaled = library().iter().find(|p| p.model.scales.is_some()).unwrap();
    assert!(measure(&scaled.model, scaled.model.k, Distribution::Normal, 1, 1).is_err());
    assert!(bound(&published("vdpbf16ps"), 0).is_err());
    let words = bound(&published("hopper wgmma f16 to f32"), 16).unwrap().unless.join("; ");
    assert!(words.contains("overflows") && words.contains("2^-126"), "{words}");
}
