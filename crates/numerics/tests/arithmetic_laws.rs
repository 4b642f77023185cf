//! Which laws must arithmetic models obey, whoever evaluates them?

use proptest::prelude::*;
use rigel_numerics::arithmetic::*;
use rigel_numerics::exact;
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Overflow, Rounding, Triple};

fn triple(text: &str) -> Triple {
    text.parse().expect("a triple")
}

fn model(text: &str, body: Node) -> Model {
    let triple = triple(text);
    let plain = Intake::default();
    let nan = NanRule::Word(triple.c.nan_code().unwrap_or(0));
    Model { triple, k: 1, a: plain, b: plain, c: plain, scales: None, body, store: None, nan }
}

fn ieee(format: Format) -> Sum {
    let form = Rounded { overflow: OverflowTo::Directed, ..Rounded::to(format, Rounding::NearestEven) };
    Sum { align: Align::Exact, zero: ZeroSign::Ieee, output: Output::Rounded(form) }
}

fn aligned(fraction_bits: u32, cut: Rounding, output: Rounded) -> Sum {
    let align = Align::Largest(Alignment::new(fraction_bits, cut));
    Sum { align, zero: ZeroSign::Positive, output: Output::Rounded(output) }
}

fn step(c: bool, sum: Sum) -> Node {
    Node::Step(Step { c, product_limit: None, sum })
}

fn dot(model: &Model, a: &[u64], b: &[u64], c: u64) -> u64 {
    let evaluator = Evaluator::new(model, a.len()).unwrap_or_else(|e| panic!("{e}\n{model}"));
    evaluator.dot(&mut evaluator.scratch(), Inputs::new(a, b, c))
}

fn inputs(triple: Triple, most: usize) -> impl Strategy<Value = DotInputs> {
    (0..6usize, 1..=most, any::<u64>())
        .prop_map(move |(d, k, seed)| Distribution::ALL[d].unscaled(triple, k, stream(seed, 0), 0))
}

fn same_f32(code: u64, expected: f32) -> bool {
    code as u32 == expected.to_bits() || (expected.is_nan() && Format::F32.is_nan(code))
}

fn f32s(codes: &[u64]) -> Vec<f32> {
    codes.iter().map(|&x| f32::from_bits(x as u32)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A chain of steps of one product is the processor's fused multiply-add, in any order, bit for bit.
    #[test]
    fn chains_of_single_products_are_fused_multiply_adds(x in inputs(triple("f32,f32->f32"), 40), y in inputs(triple("f64,f64->f64"), 20)) {
        let (a, b, c) = (f32s(&x.a), f32s(&x.b), f32::from_bits(x.c as u32));
        let up = model("f32,f32->f32", step(true, ieee(Format::F32)).chained(1));
        let expected = a.iter().zip(&b).fold(c, |c, (&a, &b)| a.mul_add(b, c));
        prop_assert!(same_f32(dot(&up, &x.a, &x.b, x.c), expected));

        let split = Split::Blocks { of: 1, descending: true };
        let chain = Chain { split, each: Box::new(step(true, ieee(Format::F32))), late_c: None };
        let down = model("f32,f32->f32", Node::Chain(chain));
        let expected = a.iter().zip(&b).rev().fold(c, |c, (&a, &b)| a.mul_add(b, c));
        prop_assert!(same_f32(dot(&down, &x.a, &x.b, x.c), expected));

        let double = model("f64,f64->f64", step(true, ieee(Format::F64)).chained(1));
        let terms = y.a.iter().zip(&y.b).map(|(&a, &b)| (f64::from_bits(a), f64::from_bits(b)));
        let expected = terms.fold(f64::from_bits(y.c), |c, (a, b)| a.mul_add(b, c));
        let got = dot(&double, &y.a, &y.b, y.c);
        prop_assert!(got == expected.to_bits() || (expected.is_nan() && Format::F64.is_nan(got)));
    }

    /// Lanes of a vector, products rounded apart, trees: what plain code on f32 does.
    #[test]
    fn joins_are_plain_code(x in inputs(triple("f32,f32->f32"), 40), lanes in 1usize..9) {
        let (a, b, c) = (f32s(&x.a), f32s(&x.b), f32::from_bits(x.c as u32));
        let products: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
        let join = |split, each, order| Node::Join(Join { split, each: Box::new(each), order, sum: ieee(Format::F32) });
        let each = step(false, ieee(Format::F32));
        let apart = model("f32,f32->f32", join(Split::blocks(1), each.clone(), JoinOrder::InTurn { c: CPlace::First }));
        prop_assert!(same_f32(dot(&apart, &x.a, &x.b, x.c), products.iter().fold(c, |c, p| c + p)));

        let tree = model("f32,f32->f32", join(Split::blocks(1), each, JoinOrder::Pairwise { c: CPlace::Last }));
        let mut leaves = products;
        while leaves.len() > 1 {
            leaves = leaves.chunks(2).map(|p| if let [x, y] = p { x + y } else { p[0] }).collect();
        }
        prop_assert!(same_f32(dot(&tree, &x.a, &x.b, x.c), leaves[0] + c));

        let chain = step(true, ieee(Format::F32)).chained(1);
        let order = JoinOrder::InTurn { c: CPlace::Last };
        let vector = model("f32,f32->f32", join(Split::Strided { count: lanes }, chain, order));
        let lane = |j: usize| (j..a.len()).step_by(lanes).fold(0f32, |s, k| a[k].mul_add(b[k], s));
        let sums = (0..lanes.min(a.len())).map(lane);
        let total = sums.reduce(|x, y| x + y).unwrap_or(0.0) + c;
        prop_assert!(same_f32(dot(&vector, &x.a, &x.b, x.c), total));
    }

    /// One exact step is the exact sum, correctly rounded; so is an aligned one that keeps every bit.
    #[test]
    fn wide_steps_are_the_exact_sum_rounded_once(x in inputs(triple("f64,f64->f64"), 30), y in inputs(triple("bf16,bf16->f32"), 30),
        z in inputs(triple("e4m3,e4m3->f32"), 30)) {
        let exact_sum = |t: Triple, x: &DotInputs| exact::dot(t.a, t.b, x.a.iter().copied().zip(x.b.iter().copied()));
        let double = model("f64,f64->f64", step(true, ieee(Format::F64)));
        if let Ok(truth) = exact_sum(double.triple, &x) {
            let got = f64::from_bits(dot(&double, &x.a, &x.b, 0));
            prop_assert!(got == truth.sum.to_f64(), "{} {}", got, truth.sum.to_f64());
        }
        let single = model("bf16,bf16->f32", step(true, ieee(Format::F32)));
        if let Ok(truth) = exact_sum(single.triple, &y) {
            let code = dot(&single, &y.a, &y.b, 0);
            let ulps = truth.residual(Format::F32, code).ulps;
            prop_assert!(ulps <= 0.5 || truth.sum.to_f64().abs() > Format::F32.max_finite(), "{}", ulps);
        }
        let narrow = model("e4m3,e4m3->f32", step(false, ieee(Format::F32)));
        let form = Rounded::to(Format::F32, Rounding::NearestEven);
        let kept = model("e4m3,e4m3->f32", step(false, aligned(50, Rounding::TowardZero, form)));
        let (one, other) = (dot(&narrow, &z.a, &z.b, 0), dot(&kept, &z.a, &z.b, 0));
        prop_assert!(one == other || one == 0x8000_0000 && other == 0, "{:#x} {:#x}", one, other);
    }

    /// |S − D| < n · 2^(η − F) + ulp(D) for a step of n terms that cuts and rounds toward zero, and each cut loses less than
    /// 2^(η − F): the bound that tc-lean-mp proves.
    #[test]
    fn steps_obey_the_error_bound(x in inputs(triple("f32,f32->f32"), 24), fraction_bits in 3u32..60, precision in 3u32..24) {
        let finite = |codes: &[u64]| codes.iter().all(|&c| Format::F32.is_finite(c));
        prop_assume!(finite(&x.a) && finite(&x.b) && finite(&[x.c]));
        let form = Rounded { precision: Some(precision), ..Rounded::to(Format::F32, Rounding::TowardZero) };
        let unit = model("f32,f32->f32", step(true, aligned(fraction_bits, Rounding::TowardZero, form)));
        let d = dot(&unit, &x.a, &x.b, x.c);
        prop_assume!(Format::F32.is_finite(d));
        let one = 0x3F80_0000u64;
        let mut pairs: Vec<(u64, u64)> = x.a.iter().copied().zip(x.b.iter().copied()).collect();
        pairs.push((x.c, one));
        let field = |code: u64| (Format::F32.decode(code) != 0.0).then(|| ((code >> 23 & 0xFF).max(1)) as i32 - 127);
        let largest = pairs.iter().filter_map(|&(a, b)| Some(field(a)? + field(b)?)).max();
        let truth = exact::dot(Format::F32, Format::F32, pairs.iter().copied()).expect("finite");
        let error = truth.sum.difference(Format::F32, d);
        let cut = largest.map_or(0.0, |e| pairs.len() as f64 * 2f64.powi(e - fraction_bits as i32));
        let ulp = 2f64.powi(field(d).unwrap_or(-126) - precision as i32 + 1);
        prop_assert!(error < cut + ulp, "error {error:e}, bound {:e}", cut + ulp);
        // Toward zero twice: a positive sum of positive terms never grows.
        let positive = pairs.iter().all(|&(a, b)| Format::F32.decode(a) * Format::F32.decode(b) >= 0.0);
        prop_assert!(!positive || Format::F32.decode(d) <= truth.sum.to_f64());
    }

    /// Inside a step the order of the products does not matter.
    #[test]
    fn products_of_a_step_may_be_permuted(x in inputs(triple("f16,f16->f32"), 24), rotation in 0usize..24, fraction_bits in 0u32..40) {
        for cut in Rounding::ALL {
            let unit = model("f16,f16->f32", step(true, aligned(fraction_bits, cut, Rounded::to(Format::F32, cut))));
            let one = dot(&unit, &x.a, &x.b, x.c);
            let (mut a, mut b) = (x.a.clone(), x.b.clone());
            let by = rotation % a.len();
            a.rotate_left(by);
            b.rotate_left(by);
            prop_assert_eq!(one, dot(&unit, &a, &b, x.c));
        }
    }

    /// Negating a, with c, negates the result where no rounding has a direction.
    #[test]
    fn sums_are_odd_functions(x in inputs(triple("bf16,bf16->f32"), 24), fraction_bits in 0u32..40) {
        for cut in [Rounding::TowardZero, Rounding::NearestEven, Rounding::NearestAway, Rounding::Odd] {
            let unit = model("bf16,bf16->f32", step(true, aligned(fraction_bits, cut, Rounded::to(Format::F32, cut))));
            let one = dot(&unit, &x.a, &x.b, x.c);
            let a: Vec<u64> = x.a.iter().map(|c| c ^ 0x8000).collect();
            let other = dot(&unit, &a, &x.b, x.c ^ 0x8000_0000);
            let nan = Format::F32.is_nan(one) && Format::F32.is_nan(other);
            // A zero sum is +0 on both sides.
            prop_assert!(nan || one ^ other == 0x8000_0000 || one == 0 && other == 0, "{one:#x} {other:#x}");
        }
    }

    /// An adder with bits for every carry is as good as one without end.
    #[test]
    fn enough_carry_bits_are_none_missing(x in inputs(triple("f16,f16->f32"), 32), fraction_bits in 0u32..40) {
        let form = Rounded::to(Format::F32, Rounding::TowardZero);
        let endless = model("f16,f16->f32", step(true, aligned(fraction_bits, Rounding::TowardZero, form)));
        let mut ended = endless.clone();
        if let Node::Step(Step { sum: Sum { align: Align::Largest(alignment), .. }, .. }) = &mut ended.body {
            // 33 terms below 4 · 2^η.
            alignment.carry_bits = Some(8);
        }
        prop_assert_ne!(&endless, &ended);
        prop_assert_eq!(dot(&endless, &x.a, &x.b, x.c), dot(&ended, &x.a, &x.b, x.c));
    }

    /// Integers are those of the processor.
    #[test]
    fn integers_wrap_and_saturate_as_the_processor_does(x in inputs(triple("u8,i8->i32"), 40), of in 1usize..9) {
        let chain = |overflow| {
            let output = Output::Integer(IntegerOutput { bits: 32, signed: true, overflow });
            let sum = Sum { align: Align::Exact, zero: ZeroSign::Positive, output };
            model("u8,i8->i32", step(true, sum).chained(of))
        };
        let products: Vec<i32> = x.a.iter().zip(&x.b).map(|(&a, &b)| i32::from(a as u8) * i32::from(b as i8)).collect();
        let c = x.c as u32 as i32;
        let wrapped = products.iter().fold(c, |c, &p| c.wrapping_add(p));
        prop_assert_eq!(dot(&chain(IntegerOverflow::Wrap), &x.a, &x.b, x.c) as u32, wrapped as u32);
        let saturated = products.chunks(of).fold(c, |c, block| c.saturating_add(block.iter().sum()));
        prop_assert_eq!(dot(&chain(IntegerOverflow::Saturate), &x.a, &x.b, x.c) as u32, saturated as u32);
    }

    /// The exact residual ledger of a chain: the exact sum is the result plus what every step lost, and the steps are
    /// seen one by one when the chain is run block by block.
    #[test]
    fn a_chain_is_its_steps_one_by_one(x in inputs(triple("f16,f16->f32"), 64), of in 1usize..17, fraction_bits in 5u32..40) {
        let form = Rounded::to(Format::F32, Rounding::TowardZero);
        let unit = step(true, aligned(fraction_bits, Rounding::TowardZero, form));
        let chain = model("f16,f16->f32", unit.clone().chained(of));
        let one = model("f16,f16->f32", unit);
        let stepped = x.a.chunks(of).zip(x.b.chunks(of)).fold(x.c, |c, (a, b)| dot(&one, a, b, c));
        prop_assert_eq!(dot(&chain, &x.a, &x.b, x.c), stepped);
    }
}

fn codes(format: Format, values: &[f64]) -> Vec<u64> {
    let code = |&v: &f64| {
        let code = format.encode(v, Rounding::NearestEven, Overflow::Ieee);
        assert_eq!(format.decode(code), v, "{v} is no {format}");
        code
    };
    values.iter().map(code).collect()
}

/// An accumulator of so many bits: products one by one, rounded to nearest.
fn accumulator(bits: u32) -> Model {
    let form = Rounded { precision: Some(bits), ..Rounded::to(Format::F32, Rounding::NearestEven) };
    model("e4m3,e4m3->f32", step(true, Sum { output: Output::Rounded(form), ..ieee(Format::F32) }).chained(1))
}

/// The hostile cell of arXiv 2606.12765, 448 + 127 · 1/16 = 455.9375: it needs 13 bits, and can tell no width beyond.
#[test]
fn the_hostile_cell_ends_at_thirteen_bits() {
    for (bits, expected) in [
        (8, [448.0, 456.0, 452.0]),
        (11, [448.0, 456.0, 452.0]),
        (12, [448.0, 456.0, 452.0]),
        (13, [455.9375; 3]),
        (14, [455.9375; 3]),
        (24, [455.9375; 3]),
    ] {
        for (place, expected) in [0, 127, 63].into_iter().zip(expected) {
            let mut a = [1.0 / 16.0; 128];
            a[place] = 448.0;
            let d = dot(&accumulator(bits), &codes(Format::E4m3, &a), &codes(Format::E4m3, &[1.0; 128]), 0);
            assert_eq!(Format::F32.decode(d), expected, "{bits} bits, 448 at {place}");
        }
    }
    let hopper = &library().iter().find(|p| p.name == "hopper wgmma e4m3 to f32").expect("a model").model;
    let mut a = [1.0 / 16.0; 128];
    a[0] = 448.0;
    let d = dot(hopper, &codes(Format::E4m3, &a), &codes(Format::E4m3, &[1.0; 128]), 0);
    assert_eq!(Format::F32.decode(d), 455.9375, "14 bits pass the cell");
}

/// The ladder that goes on: 2^16 + 127 · 2^(17 − s) comes back exact from accumulators of s bits and more.
#[test]
fn the_ladder_finds_the_width() {
    for bits in 12..=24u32 {
        for s in 13..=24i32 {
            let tiny = 2f64.powi((17 - s) / 2);
            let rest = 2f64.powi(17 - s) / tiny;
            let (mut a, mut b) = ([tiny; 128], [rest; 128]);
            (a[0], b[0]) = (256.0, 256.0);
            let d = dot(&accumulator(bits), &codes(Format::E4m3, &a), &codes(Format::E4m3, &b), 0);
            let exact = 65536.0 + 127.0 * 2f64.powi(17 - s);
            assert_eq!(Format::F32.decode(d) == exact, bits >= s as u32, "{bits} bits, rung {s}");
        }
    }
}

/// Where c enters: before, between and after the steps of a chain.
#[test]
fn c_enters_where_it_is_told_to() {
    let form = Rounded { precision: Some(3), ..Rounded::to(Format::F32, Rounding::TowardZero) };
    let sum = Sum { output: Output::Rounded(form), ..ieee(Format::F32) };
    let chain = |late: Option<usize>| {
        let late_c = late.map(|after| LateC { after, sum: sum.clone() });
        let each = Box::new(step(true, sum.clone()));
        model("f16,f16->f32", Node::Chain(Chain { split: Split::blocks(1), each, late_c }))
    };
    let ones = codes(Format::F16, &[1.0; 8]);
    let c = codes(Format::F32, &[8.0])[0];
    let value = |late| Format::F32.decode(dot(&chain(late), &ones, &ones, c));
    // Three bits count to 8 and no further by ones; 8 + 1 is 8 again.
    assert_eq!(value(None), 8.0);
    assert_eq!([0, 1, 2, 4, 8, 99].map(|n| value(Some(n))), [8.0, 8.0, 10.0, 12.0, 16.0, 16.0]);
}

/// What lies hundreds of places below the result still breaks a tie, at the last place of a normal value and at the least
/// subnormal one.
#[test]
fn the_smallest_term_breaks_a_tie() {
    let t = |e: i32| 2f64.powi(e);
    let sum = |text: &str, pairs: &[(f64, f64)]| {
        let m = model(text, step(true, ieee(Format::F32)));
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (a, b) = (codes(m.triple.a, &a), codes(m.triple.b, &b));
        let d = dot(&m, &a, &b, 0);
        assert_eq!(Ok(d), slow::dot(&m, Inputs::new(&a, &b, 0)));
        Format::F32.decode(d)
    };
    let tie = [(1.0, 1.0), (t(-24), 1.0), (0.0, 0.0)];
    let tail = |sign: f64| [(1.0, 1.0), (t(-24), 1.0), (t(-100), sign * t(-40))];
    assert_eq!(sum("bf16,bf16->f32", &tie), 1.0);
    assert_eq!(sum("bf16,bf16->f32", &tail(1.0)), 1.0 + t(-23));
    assert_eq!(sum("bf16,bf16->f32", &tail(-1.0)), 1.0);
    let least = [(t(-75), t(-75)), (0.0, 0.0), (0.0, 0.0)];
    let above = |sign: f64| [(t(-75), t(-75)), (t(-140), sign * t(-148)), (t(-140), sign * t(-149))];
    assert_eq!(sum("f32,f32->f32", &least), 0.0);
    assert_eq!(sum("f32,f32->f32", &above(1.0)), t(-149));
    assert_eq!(sum("f32,f32->f32", &above(-1.0)), 0.0);
}

/// A fused multiply-add of the widest significands, at every distance between product and c.
#[test]
fn fused_steps_hold_at_every_distance() {
    let unit = model("f64,f64->f64", step(true, ieee(Format::F64)));
    let evaluator = Evaluator::new(&unit, 1).expect("a model");
    let mut scratch = evaluator.scratch();
    let widest = (1u64 << 53) as f64 - 1.0;
    for a in [widest, 1.0, 1.0 + f64::EPSILON] {
        for c in [widest, -widest, 1.0] {
            for e in -130..=130 {
                let c = c * 2f64.powi(e);
                let d = evaluator.dot(&mut scratch, Inputs::new(&[a.to_bits()], &[a.to_bits()], c.to_bits()));
                assert_eq!(f64::from_bits(d), a.mul_add(a, c), "{a:e} squared + {c:e}");
            }
        }
    }
}
