//! Do the fast and the slow evaluator give the same bits, whatever the model and the inputs?

use proptest::prelude::*;
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, Model, draw_model, slow};
use rigel_numerics::random::{below, draw, stream};
use rigel_numerics::{Format, Matrix, Triple};

const FLOATING: [&str; 16] = [
    "f16,f16->f32",
    "f16,f16->f16",
    "bf16,bf16->f32",
    "bf16,bf16->bf16",
    "tf32,tf32->f32",
    "f32,f32->f32",
    "f64,f64->f64",
    "e4m3,e4m3->f32",
    "e5m2,e4m3->f16",
    "e5m2,e5m2->f32",
    "e4m3_fnuz,e5m2_fnuz->f32",
    "e2m1,e2m1->f32",
    "e2m3,e3m2->f32",
    "e4m3,e4m3->e4m3",
    "f16,f16->e5m2",
    "e4m3_fnuz,e4m3_fnuz->e4m3_fnuz",
];

const INTEGERS: [&str; 6] = ["i8,i8->i32", "u8,i8->i32", "u8,u8->i32", "i4,i4->i32", "u4,i2->i8", "i32,i32->i32"];

fn scales(format: Option<Format>, groups: usize, key: u64) -> Vec<u64> {
    // Mostly near 1, now and then anything: zeros, NaN, the ends of the range.
    let one = |format: Format, i: u64| {
        let random = draw(key, i) & 0xFF;
        let middle = if format == Format::E8m0 { 119 + random % 16 } else { 0x28 + random % 0x20 };
        if below(key, i + 1000, 8) == 0 { random } else { middle }
    };
    (0..groups).map(|i| format.map_or(0, |f| one(f, i as u64))).collect()
}

/// Compares both evaluators on `count` inputs of each distribution; gives the number of outputs that were neither NaN nor
/// an infinity nor zero.
fn compare(model: &Model, k: usize, key: u64, count: u64) -> Result<usize, TestCaseError> {
    let evaluator = match Evaluator::new(model, k) {
        Ok(evaluator) => evaluator,
        // A K at which sums are wider than the fast evaluator's.
        Err(_) => return Ok(0),
    };
    let mut scratch = evaluator.scratch();
    let mut ordinary = 0;
    for distribution in Distribution::ALL {
        for i in 0..count {
            let x = distribution.inputs(model.triple, k, key, i);
            let groups = model.scale_groups(k);
            let a_scales = scales(model.scales.map(|s| s.a), groups, draw(key, i));
            let b_scales = scales(model.scales.map(|s| s.b), groups, draw(key, i + 500));
            let inputs = Inputs { a: &x.a, b: &x.b, c: x.c, a_scales: &a_scales, b_scales: &b_scales };
            let fast = evaluator.dot(&mut scratch, inputs);
            let slow = slow::dot(model, inputs).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(
                fast,
                slow,
                "{:#x} fast, {:#x} slow: {}\n{}\n{:?} {:x?}",
                fast,
                slow,
                model,
                model.to_json(),
                distribution,
                inputs
            );
            ordinary += usize::from(model.triple.c.is_finite(fast) && model.triple.c.decode(fast) != 0.0);
        }
    }
    Ok(ordinary)
}

fn agree(triples: &[&str], seed: u64, k: usize) -> Result<(), TestCaseError> {
    let triple: Triple = triples[(seed % triples.len() as u64) as usize].parse().expect("a triple");
    let Some(model) = draw_model(seed, triple) else { return Err(TestCaseError::fail("no model drawn")) };
    compare(&model, k, stream(seed, 1), 2).map(|_| ())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 64, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn on_random_floating_models(seed in any::<u64>(), k in 1usize..40) {
        agree(&FLOATING, seed, k)?;
    }

    #[test]
    fn on_random_integer_models(seed in any::<u64>(), k in 1usize..40) {
        agree(&INTEGERS, seed, k)?;
    }

    /// A tile is its dot products, one by one.
    #[test]
    fn a_tile_is_its_dots(seed in any::<u64>(), m in 1usize..4, n in 1usize..4, k in 1usize..20) {
        let triples = [FLOATING.as_slice(), INTEGERS.as_slice()].concat();
        let triple: Triple = triples[(seed % triples.len() as u64) as usize].parse().expect("a triple");
        let Some(model) = draw_model(seed, triple) else { return Err(TestCaseError::fail("no model drawn")) };
        let Ok(evaluator) = Evaluator::new(&model, k) else { return Ok(()) };
        let mut scratch = evaluator.scratch();
        let key = stream(seed, 2);
        let [mut a, mut b, mut c] = [(triple.a, m, k), (triple.b, k, n), (triple.c, m, n)].map(|(f, r, s)| Matrix::zeroed(f, r, s));
        for i in 0..m.max(n) {
            let x = Distribution::ALL[i % 6].inputs(triple, k, key, i as u64);
            (0..k).filter(|_| i < m).for_each(|j| a.set(i, j, x.a[j]));
            (0..k).filter(|_| i < n).for_each(|j| b.set(j, i, x.b[j]));
            (0..n).filter(|_| i < m).for_each(|j| c.set(i, j, x.c));
        }
        let tile = evaluator.tile(&a, &b, &c);
        if model.scales.is_some() {
            prop_assert!(tile.is_err());
            return Ok(());
        }
        let d = tile.expect("a tile");
        for i in 0..m {
            for j in 0..n {
                let row: Vec<u64> = (0..k).map(|l| a.get(i, l)).collect();
                let column: Vec<u64> = (0..k).map(|l| b.get(l, j)).collect();
                let one = evaluator.dot(&mut scratch, Inputs::new(&row, &column, c.get(i, j)));
                prop_assert_eq!(d.get(i, j), one);
            }
        }
    }
}

/// Every triple, by itself: no triple may pass only because the draw above seldom met it.
#[test]
fn on_every_triple() {
    for text in FLOATING.iter().chain(&INTEGERS) {
        let triple: Triple = text.parse().expect("a triple");
        let mut ordinary = 0;
        for seed in 0..30 {
            let model = draw_model(seed, triple).unwrap_or_else(|| panic!("no model drawn for {text}"));
            ordinary +=
                compare(&model, 1 + seed as usize, stream(seed, 3), 1).unwrap_or_else(|e| panic!("{text}: {e}"));
        }
        // A comparison of NaN with NaN shows little.
        assert!(ordinary > 30, "{text}: only {ordinary} of 180 outputs are ordinary numbers");
    }
}
