//! Do the fast and the slow evaluator give the same bits, whatever the model and the inputs?

use proptest::prelude::*;
use rigel_numerics::arithmetic::{Distribution, DotInputs, Evaluator, Model, draw_model, slow};
use rigel_numerics::random::stream;
use rigel_numerics::{Matrix, Triple};

const FLOATING: [&str; 18] = [
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
    "e2m3,e2m3->e2m1",
    "bf16,bf16->tf32",
];

const INTEGERS: [&str; 6] = ["i8,i8->i32", "u8,i8->i32", "u8,u8->i32", "i4,i4->i32", "u4,i2->i8", "i32,i32->i32"];

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
            let x = distribution.inputs(model, k, key, i);
            let inputs = x.codes();
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

    /// A tile is its dot products, one by one; so is a batch.
    #[test]
    fn a_tile_is_its_dots(seed in any::<u64>(), m in 1usize..4, n in 1usize..4, k in 1usize..20) {
        let triples = [FLOATING.as_slice(), INTEGERS.as_slice()].concat();
        let triple: Triple = triples[(seed % triples.len() as u64) as usize].parse().expect("a triple");
        let Some(model) = draw_model(seed, triple) else { return Err(TestCaseError::fail("no model drawn")) };
        let Ok(evaluator) = Evaluator::new(&model, k) else { return Ok(()) };
        let mut scratch = evaluator.scratch();
        let drawn = |i: usize| Distribution::ALL[i % 6].inputs(&model, k, stream(seed, 2), i as u64);
        let (rows, columns): (Vec<_>, Vec<_>) = ((0..m).map(drawn).collect(), (m..m + n).map(drawn).collect());
        let by_rows = |format, lines: &[&Vec<u64>]| {
            let mut x = Matrix::zeroed(format, lines.len(), lines[0].len());
            lines.iter().enumerate().for_each(|(i, l)| l.iter().enumerate().for_each(|(j, &code)| x.set(i, j, code)));
            x
        };
        let by_columns = |format, lines: &[&Vec<u64>]| {
            let mut x = Matrix::zeroed(format, lines[0].len(), lines.len());
            lines.iter().enumerate().for_each(|(j, l)| l.iter().enumerate().for_each(|(i, &code)| x.set(i, j, code)));
            x
        };
        let cs: Vec<Vec<u64>> = rows.iter().map(|row| (0..n as u64).map(|j| row.c ^ j).collect()).collect();
        let a = by_rows(triple.a, &rows.iter().map(|x| &x.a).collect::<Vec<_>>());
        let b = by_columns(triple.b, &columns.iter().map(|x| &x.b).collect::<Vec<_>>());
        let c = by_rows(triple.c, &cs.iter().collect::<Vec<_>>());
        let tile = match model.scales {
            None => evaluator.tile(&a, &b, &c),
            Some(s) => {
                prop_assert!(evaluator.tile(&a, &b, &c).is_err());
                let a_scales = by_rows(s.a, &rows.iter().map(|x| &x.a_scales).collect::<Vec<_>>());
                let b_scales = by_columns(s.b, &columns.iter().map(|x| &x.b_scales).collect::<Vec<_>>());
                evaluator.scaled_tile(&a, &b, &c, &a_scales, &b_scales)
            }
        };
        let d = tile.map_err(|e| TestCaseError::fail(e.to_string()))?;
        for i in 0..m {
            for j in 0..n {
                let column = &columns[j];
                let one = DotInputs { b: column.b.clone(), b_scales: column.b_scales.clone(), c: cs[i][j], ..rows[i].clone() };
                prop_assert_eq!(d.get(i, j), evaluator.dot(&mut scratch, one.codes()));
                prop_assert_eq!(evaluator.dots(&[one.clone(), one]), [d.get(i, j); 2]);
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
