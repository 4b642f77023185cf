//! Is the reference as near to the exact sums as it says, and does a comparison find what was planted?

use rayon::ThreadPoolBuilder;
use rigel_numerics::bound::{Tolerance, tolerance};
use rigel_numerics::exact::Residual;
use rigel_numerics::reference::{Reference, ReferenceError, Values, reference};
use rigel_numerics::{Format, Matrix, Operand, Overflow, Recipe, Rounding, Shape, Triple};

fn operands(triple: Triple, shape: Shape, recipe: Recipe, seed: u64) -> (Matrix, Matrix) {
    let a = recipe.matrix(triple.a, seed, Operand::A, shape.m, shape.k);
    let b = recipe.matrix(triple.b, seed, Operand::B, shape.k, shape.n);
    (a, b)
}

fn triple(text: &str) -> Triple {
    text.parse().expect("a triple")
}

/// An output whose every element is the exact sum rounded to nearest: what an ideal device returns.
fn ideal(reference: &Reference<&Matrix>) -> Matrix {
    let Shape { m, n, .. } = reference.shape;
    let mut output = Matrix::zeroed(reference.triple.c, m, n);
    for row in 0..m {
        for col in 0..n {
            let code = match &reference.values {
                Values::Integer { sum, .. } => sum[row * n + col] as u64,
                _ => {
                    let sum = reference.exact(row, col).expect("finite").sum.to_f64();
                    reference.triple.c.encode(sum, Rounding::NearestEven, Overflow::Ieee)
                }
            };
            output.set(row, col, code);
        }
    }
    output
}

const TRIPLES: [&str; 16] = [
    "f64,f64->f64",
    "f64,f32->f64",
    "f32,f32->f32",
    "tf32,tf32->f32",
    "bf16,bf16->f32",
    "f16,f16->f16+f32",
    "e4m3,e5m2->f32",
    "e4m3_fnuz,e5m2_fnuz->f32",
    "e2m1,e3m2->f32",
    "u8,i8->i32",
    "i4,u4->i32",
    "i2,i2->i32",
    "u8,u2->i32",
    "f16,i8->f32",
    "u8,bf16->bf16",
    "bf16,u2->f32",
];

#[test]
fn sums_are_within_the_stated_error_of_the_exact_ones() {
    for text in TRIPLES {
        for recipe in [Recipe::NearNormal, Recipe::Uniform, Recipe::SmallIntegers] {
            let shape = Shape::new(19, 37, 83);
            let (a, b) = operands(triple(text), shape, recipe, 5);
            let reference = reference(triple(text), &a, &b).expect("a reference");
            let gamma = 83.0 * f64::EPSILON / 2.0 * 1.001;
            for (row, col) in (0..shape.m).flat_map(|r| (0..shape.n).map(move |c| (r, c))) {
                let at = row * shape.n + col;
                let exact = reference.exact(row, col).expect("finite");
                let (c, size) = (exact.sum.to_f64(), exact.magnitude.to_f64());
                match &reference.values {
                    Values::Single { sum, magnitude } => {
                        assert!(
                            exact.sum.difference(Format::F64, sum[at].to_bits()) <= gamma * size,
                            "{text} {recipe:?}"
                        );
                        assert!(exact.magnitude.difference(Format::F64, magnitude[at].to_bits()) <= gamma * size);
                    }
                    Values::Double { high, low, magnitude } => {
                        // The pair's error is (high − c) + low, where the first difference is rounded to f64.
                        let first = exact.sum.difference(Format::F64, high[at].to_bits());
                        let error = (first - low[at].abs()).abs();
                        assert!(error <= gamma * gamma * size + f64::EPSILON * first, "{text} {recipe:?}");
                        assert!(exact.magnitude.difference(Format::F64, magnitude[at].to_bits()) <= gamma * size);
                        assert!(first == 0.0 || (high[at] + low[at] - c).abs() <= f64::EPSILON * c.abs());
                    }
                    Values::Integer { sum, magnitude } => {
                        assert_eq!(sum[at] as f64, c);
                        assert_eq!(magnitude[at] as f64, size);
                    }
                }
            }
        }
    }
}

/// Extents beyond one panel in each direction, so that blocks are placed and depths are added up.
#[test]
fn panels_join_without_a_seam() {
    for (shape, text) in [
        (Shape::new(2051, 3, 1030), "bf16,bf16->f32"),
        (Shape::new(2, 2053, 2049), "i8,i8->i32"),
        (Shape::new(3, 2050, 1027), "f64,f64->f64"),
        (Shape::new(2049, 2, 1025), "f64,f64->f64"),
    ] {
        let (a, b) = operands(triple(text), shape, Recipe::NearNormal, 11);
        let reference = reference(triple(text), &a, &b).expect("a reference");
        let output = ideal(&reference);
        let relative = 2f64.powi(1 - triple(text).c.precision() as i32);
        let tolerance = Tolerance { relative, absolute: 0.0, exact: triple(text).is_integer() };
        let comparison = reference.compare(&output, tolerance).expect("comparable");
        assert_eq!(comparison.outside, 0, "{text}");
        assert!(comparison.residual.relative <= relative);
        assert!(comparison.residual.ulps <= 0.5);
    }
}

/// The comparison by brute force, from exact sums alone.
fn brute(reference: &Reference<&Matrix>, output: &Matrix, tolerance: Tolerance) -> (usize, usize, f64, usize) {
    let (mut worst, mut outside) = ((0, 0, 0.0), 0);
    for row in 0..reference.shape.m {
        for col in 0..reference.shape.n {
            let exact = reference.exact(row, col).expect("finite");
            let code = output.get(row, col);
            let relative = exact.residual(output.format, code).relative;
            if relative > worst.2 {
                worst = (row, col, relative);
            }
            let difference = exact.sum.difference(output.format, code);
            let allowed = tolerance.allowed(exact.magnitude.to_f64());
            outside += usize::from(difference > allowed || difference.is_infinite());
        }
    }
    (worst.0, worst.1, worst.2, outside)
}

#[test]
fn comparisons_agree_with_brute_force_whatever_the_threads() {
    let shape = Shape::new(23, 31, 47);
    for text in TRIPLES {
        let triple = triple(text);
        for recipe in Recipe::ALL.into_iter().filter(|r| r.supports(triple.a).is_ok() && r.supports(triple.b).is_ok()) {
            let (a, b) = operands(triple, shape, recipe, 3);
            let reference = reference(triple, &a, &b).expect("a reference");
            let output = ideal(&reference);
            // Tolerances that cut through the elements, to the bit: some element's own residual.
            let own = reference.exact(7, 9).expect("finite");
            let difference = own.sum.difference(triple.c, output.get(7, 9));
            let size = own.magnitude.to_f64();
            let mut tolerances = vec![tolerance(triple, shape.k, recipe), Tolerance::EXACT];
            if size > 0.0 {
                tolerances.push(Tolerance { relative: difference / size, absolute: 0.0, exact: false });
            }
            tolerances.push(Tolerance { relative: 0.0, absolute: difference, exact: false });
            for tolerance in tolerances {
                let expected = brute(&reference, &output, tolerance);
                for threads in [1, 2, 5] {
                    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
                    let got = pool.install(|| {
                        let again = rigel_numerics::reference::reference(triple, &a, &b).expect("a reference");
                        again.compare(&output, tolerance).expect("comparable")
                    });
                    let got = (got.row, got.col, got.residual.relative, got.outside);
                    assert_eq!(got, expected, "{text} {recipe:?} {tolerance:?} {threads} threads");
                }
            }
        }
    }
}

#[test]
fn one_wrong_element_is_found_wherever_it_stands() {
    let shape = Shape::new(33, 29, 64);
    for text in TRIPLES {
        let triple = triple(text);
        let (a, b) = operands(triple, shape, Recipe::NearNormal, 8);
        let reference = reference(triple, &a, &b).expect("a reference");
        let right = ideal(&reference);
        let bound = tolerance(triple, shape.k, Recipe::NearNormal);
        assert_eq!(reference.compare(&right, bound).expect("comparable").outside, 0, "{text}");
        for (row, col) in [(0, 0), (0, 28), (32, 0), (32, 28), (17, 11)] {
            let mut output = right.clone();
            let size = reference.exact(row, col).expect("finite").magnitude.to_f64();
            let code = if triple.is_integer() {
                output.get(row, col) ^ 1
            } else {
                triple.c.encode(output.value(row, col) + 2.0 * bound.allowed(size), Rounding::Up, Overflow::Ieee)
            };
            output.set(row, col, code);
            let found = reference.compare(&output, bound).expect("comparable");
            assert_eq!((found.row, found.col, found.outside), (row, col, 1), "{text}");
            let exact = reference.exact(row, col).expect("finite");
            assert_eq!(found.residual, exact.residual(triple.c, code));
        }
        if let Some(nan) = triple.c.nan_code() {
            let mut output = right.clone();
            output.set(20, 3, nan);
            output.set(31, 2, triple.c.infinity_code(true).unwrap_or(nan));
            let found = reference.compare(&output, bound).expect("comparable");
            assert_eq!((found.row, found.col, found.outside), (20, 3, 2));
            assert_eq!(found.residual, Residual::INFINITE);
        }
    }
}

#[test]
fn integer_sums_wrap_at_the_width_of_the_output() {
    let triple = triple("u8,u8->i8");
    let shape = Shape::new(4, 5, 40);
    let (a, b) = operands(triple, shape, Recipe::Uniform, 2);
    let reference = reference(triple, &a, &b).expect("a reference");
    let output = ideal(&reference);
    let comparison = reference.compare(&output, Tolerance::EXACT).expect("comparable");
    assert_eq!((comparison.row, comparison.col, comparison.outside), (0, 0, 0));
    assert_eq!(comparison.residual, Residual { relative: 0.0, ulps: 0.0 });
}

#[test]
fn misfits_are_refused_with_their_place() {
    let f16 = triple("f16,f16->f32");
    let (mut a, b) = operands(f16, Shape::new(5, 6, 7), Recipe::NearNormal, 1);
    assert!(matches!(
        reference(triple("bf16,f16->f32"), &a, &b),
        Err(ReferenceError::Format { operand: Operand::A, .. })
    ));
    assert!(matches!(reference(f16, &b, &b), Err(ReferenceError::Shape { m: 7, k: 6, rows: 7, n: 6 })));
    let none = Matrix::zeroed(Format::F16, 0, 7);
    assert!(matches!(reference(f16, &none, &b), Err(ReferenceError::Shape { m: 0, .. })));
    let i32s = Matrix::zeroed(Format::I32, 2, 2);
    assert!(matches!(reference(triple("i32,i32->i32"), &i32s, &i32s), Err(ReferenceError::WideInteger { .. })));
    let output = Matrix::zeroed(Format::F16, 5, 6);
    let checked = reference(f16, &a, &b).expect("a reference");
    assert!(checked.compare(&output, Tolerance::EXACT).is_err());
    assert!(checked.compare(&Matrix::zeroed(Format::F32, 6, 5), Tolerance::EXACT).is_err());
    let mut torn = Matrix::zeroed(Format::F32, 5, 6);
    torn.bytes.pop();
    assert!(checked.compare(&torn, Tolerance::EXACT).is_err());

    a.set(3, 2, 0x7C00);
    a.set(4, 0, 0x7E01);
    let error = reference(f16, &a, &b).expect_err("an infinity");
    assert_eq!(error, ReferenceError::NotFinite { operand: Operand::A, row: 3, col: 2, code: 0x7C00 });
    a.bytes.pop();
    assert!(matches!(reference(f16, &a, &b), Err(ReferenceError::Bytes { operand: Operand::A, .. })));
}

/// f64 sums that overflow float64 leave nothing to bracket with: every element is then computed exactly.
#[test]
fn sums_beyond_f64_are_still_compared() {
    let f64s = triple("f64,f64->f64");
    let mut a = Matrix::zeroed(Format::F64, 2, 2);
    let mut b = Matrix::zeroed(Format::F64, 2, 2);
    for (i, x) in [1e300, 1e300, 3.0, 4.0].into_iter().enumerate() {
        a.set(i / 2, i % 2, f64::to_bits(x));
        b.set(i / 2, i % 2, f64::to_bits(if i / 2 == 0 { 1e300 } else { -1e300 }));
    }
    let reference = reference(f64s, &a, &b).expect("finite inputs");
    // Row 0 sums to 1e600 − 1e600 = 0, row 1 to −1e300.
    let mut output = Matrix::zeroed(Format::F64, 2, 2);
    let row: Vec<u64> = (0..2).map(|c| reference.exact(1, c).expect("finite").sum.to_f64().to_bits()).collect();
    row.iter().enumerate().for_each(|(c, &code)| output.set(1, c, code));
    let tolerance = Tolerance { relative: 1e-15, absolute: 0.0, exact: false };
    assert_eq!(reference.compare(&output, tolerance).expect("comparable").outside, 0);
    output.set(0, 1, 1);
    let found = reference.compare(&output, tolerance).expect("comparable");
    assert_eq!((found.row, found.col), (0, 1));
}

/// Σa·b and Σ|a||b| of narrow operands are the plain loop's, bit for bit, whatever the threads, tiles and panels.
#[test]
fn sums_are_those_of_the_plain_loop_to_the_bit() {
    let pools = [1, 3].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"));
    for (shape, text) in [
        (Shape::new(1, 1, 1), "f32,f32->f32"),
        (Shape::new(7, 17, 513), "f32,f32->f32"),
        (Shape::new(53, 15, 1025), "f16,f16->f16+f32"),
        (Shape::new(13, 2065, 5), "bf16,bf16->f32"),
        (Shape::new(6, 31, 512), "e2m1,e3m2->f32"),
    ] {
        let triple = triple(text);
        let (a, b) = operands(triple, shape, Recipe::NearNormal, 17);
        let products = pools.each_ref().map(|pool| pool.install(|| reference(triple, &a, &b).expect("a reference")));
        for (row, col) in (0..shape.m).flat_map(|r| (0..shape.n).map(move |c| (r, c))) {
            let (mut sum, mut magnitude) = (0.0, 0.0);
            for k in 0..shape.k {
                let product = triple.a.decode(a.get(row, k)) * triple.b.decode(b.get(k, col));
                sum += product;
                magnitude += product.abs();
            }
            for product in &products {
                let found = (product.value(row, col), product.magnitude(row, col));
                assert_eq!(found, (sum, magnitude), "{text} {shape} at {row}, {col}");
            }
        }
    }
}

/// Outputs large enough for a map of their own hold what smaller ones do: integers are converted in place in both.
#[test]
fn large_outputs_hold_what_the_rows_of_small_ones_hold() {
    for text in ["i8,i8->i32", "f64,f64->f64", "bf16,bf16->f32"] {
        let (triple, shape) = (triple(text), Shape::new(1031, 640, 3));
        let (a, b) = operands(triple, shape, Recipe::NearNormal, 23);
        let whole = reference(triple, &a, &b).expect("a reference");
        for row in [0, 511, 1030] {
            let line = Matrix { rows: 1, bytes: a.row(row).to_vec(), ..Matrix::zeroed(triple.a, 0, shape.k) };
            let part = reference(triple, &line, &b).expect("a reference");
            for col in 0..shape.n {
                assert_eq!(whole.value(row, col), part.value(0, col), "{text} at {row}, {col}");
                assert_eq!(whole.magnitude(row, col), part.magnitude(0, col), "{text} at {row}, {col}");
            }
        }
        assert_eq!(whole.values, whole.values.clone());
    }
}
