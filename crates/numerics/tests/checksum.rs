//! Does the sampled check see what it says it would, and nothing else?

use rayon::ThreadPoolBuilder;
use rigel_numerics::bound::tolerance;
use rigel_numerics::checksum::{CheckError, Checksums, SampledCheck};
use rigel_numerics::reference::{Values, reference};
use rigel_numerics::sample::sample;
use rigel_numerics::{Matrix, Operand, Overflow, Recipe, Rounding, Shape, Triple};

struct Case {
    triple: Triple,
    shape: Shape,
    recipe: Recipe,
    a: Matrix,
    b: Matrix,
    output: Matrix,
}

/// Elements that are sampled, tile whose edges are, and seed of vectors and sample.
const ELEMENTS: usize = 128;
const TILE: (usize, usize) = (32, 16);
const SEED: u64 = 17;

/// Operands, and the output of a device that adds up in f32 from left to right, or in f64 or integers as declared.
fn case(text: &str, shape: Shape, recipe: Recipe) -> Case {
    let triple: Triple = text.parse().expect("a triple");
    let a = recipe.matrix(triple.a, 4, Operand::A, shape.m, shape.k);
    let b = recipe.matrix(triple.b, 4, Operand::B, shape.k, shape.n);
    let mut output = Matrix::zeroed(triple.c, shape.m, shape.n);
    for row in 0..shape.m {
        for col in 0..shape.n {
            let terms = (0..shape.k).map(|k| (a.value(row, k), b.value(k, col)));
            let code = if triple.is_integer() {
                terms.map(|(x, y)| (x * y) as i64).sum::<i64>() as u64
            } else if triple.acc.precision() > 24 {
                terms.fold(0.0, |s, (x, y)| s + x * y).to_bits()
            } else {
                let sum = terms.fold(0.0f32, |s, (x, y)| (f64::from(s) + x * y) as f32);
                triple.c.encode(f64::from(sum), Rounding::NearestEven, Overflow::Ieee)
            };
            output.set(row, col, code);
        }
    }
    Case { triple, shape, recipe, a, b, output }
}

impl Case {
    fn check(&self, output: &Matrix) -> SampledCheck {
        self.check_within(output, 0.0)
    }

    fn check_within(&self, output: &Matrix, cap: f64) -> SampledCheck {
        let bound = tolerance(self.triple, self.shape.k, self.recipe);
        let sums = Checksums::new(self.triple, &self.a, &self.b, SEED).expect("sums");
        sums.check(output, bound, cap, ELEMENTS, TILE).expect("a check")
    }

    /// The output with `change` added to one element, rounded away from the value before.
    fn planted(&self, row: usize, col: usize, change: f64) -> Matrix {
        let mut output = self.output.clone();
        let code = if self.triple.is_integer() {
            output.get(row, col).wrapping_add(change as i64 as u64) & self.triple.c.code_mask()
        } else {
            let rounding = if change > 0.0 { Rounding::Up } else { Rounding::Down };
            self.triple.c.encode(output.value(row, col) + change, rounding, Overflow::Ieee)
        };
        output.set(row, col, code);
        output
    }

    /// Places that the sample leaves out.
    fn unsampled(&self) -> Vec<(usize, usize)> {
        let sampled = sample(self.shape, TILE, ELEMENTS, SEED);
        let places = (0..self.shape.m).flat_map(|r| (0..self.shape.n).map(move |c| (r, c)));
        places.filter(|p| sampled.binary_search(p).is_err()).collect()
    }
}

const CASES: [(&str, Shape); 6] = [
    ("f32,f32->f32", Shape::new(90, 57, 100)),
    ("e4m3,e4m3->f32", Shape::new(50, 90, 80)),
    ("bf16,bf16->bf16+f32", Shape::new(77, 44, 64)),
    ("f64,f64->f64", Shape::new(60, 65, 50)),
    ("u8,i8->i32", Shape::new(70, 61, 90)),
    ("f16,f16->f32", Shape::new(1, 200, 33)),
];

#[test]
fn right_outputs_pass_whatever_the_recipe() {
    for (text, shape) in CASES {
        for recipe in Recipe::ALL {
            let case = case(text, shape, recipe);
            let check = case.check(&case.output);
            assert!(check.passes(), "{text} {recipe:?} {check:?}");
        }
    }
}

#[test]
fn a_single_error_of_the_stated_size_is_seen_wherever_it_stands() {
    for (text, shape) in CASES {
        let case = case(text, shape, Recipe::NearNormal);
        let visible = case.check(&case.output).smallest_visible;
        assert!(visible > 0.0 && visible.is_finite());
        let tolerance = tolerance(case.triple, shape.k, case.recipe);
        for (i, (row, col)) in case.unsampled().into_iter().step_by(397).take(12).enumerate() {
            let size = rigel_numerics::exact::dot(
                case.triple.a,
                case.triple.b,
                (0..shape.k).map(|k| (case.a.get(row, k), case.b.get(k, col))),
            )
            .expect("finite")
            .magnitude
            .to_f64();
            // Below the tolerance an element is right by definition, and its line is cleared.
            let change = visible.max(2.0 * tolerance.allowed(size)) * if i % 2 == 0 { 1.0 } else { -1.0 };
            let check = case.check(&case.planted(row, col, change));
            assert!(!check.passes(), "{text}: {change} at ({row}, {col}) was not seen");
            // One of the two suffices: the longer line has the larger bound.
            assert!(check.rows.iter().all(|&r| r == row) && check.columns.iter().all(|&c| c == col), "{text}");
            assert_eq!((check.elements.row, check.elements.col, check.elements.outside), (row, col, 1));
        }
    }
}

/// The stated size means something: it is far below the elements themselves, so that a lost element is seen.
#[test]
fn the_stated_size_is_small() {
    for (text, limit) in
        [("f32,f32->f32", 1e-4), ("e4m3,e4m3->f32", 1e-4), ("f64,f64->f64", 1e-12), ("bf16,bf16->bf16+f32", 0.5)]
    {
        let (_, shape) = CASES.into_iter().find(|c| c.0 == text).expect("listed");
        let case = case(text, shape, Recipe::NearNormal);
        let check = case.check(&case.output);
        assert!(check.smallest_visible_relative < limit, "{text}: {}", check.smallest_visible_relative);
        assert!(check.smallest_visible_relative > 0.0);
    }
}

#[test]
fn lost_rows_columns_steps_and_poison_are_seen() {
    let case = case("f32,f32->f32", Shape::new(90, 57, 100), Recipe::NearNormal);
    let mut columns_lost = case.output.clone();
    (0..90).for_each(|row| columns_lost.set(row, 41, 0));
    assert!(case.check(&columns_lost).columns.contains(&41));

    let mut poisoned = case.output.clone();
    let (row, col) = case.unsampled()[777];
    poisoned.set(row, col, 0x7FC0_0000);
    let check = case.check(&poisoned);
    assert_eq!((check.rows, check.columns), (vec![row], vec![col]));
    assert!(check.elements.residual.relative.is_infinite());

    // The last step over k dropped: every line is wrong, more than can be followed up.
    let mut a = Matrix::zeroed(case.triple.a, 90, 100);
    (0..90).for_each(|row| (0..99).for_each(|k| a.set(row, k, case.a.get(row, k))));
    let dropped = reference(case.triple, &a, &case.b).expect("a reference");
    let Values::Single { sum, .. } = &dropped.values else { panic!("f32 operands") };
    let mut output = Matrix::zeroed(case.triple.c, 90, 57);
    sum.iter().enumerate().for_each(|(i, &x)| output.set(i / 57, i % 57, u64::from((x as f32).to_bits())));
    let check = case.check(&output);
    assert!(check.elements.outside > 0 && check.rows.len() > 80 && check.columns.len() > 50);
}

/// One element in each of many rows is wrong, none of them sampled: a few rows are followed until one is found.
#[test]
fn errors_in_more_lines_than_are_followed_are_still_found() {
    for text in ["f32,f32->f32", "u8,i8->i32"] {
        let case = case(text, Shape::new(90, 57, 100), Recipe::NearNormal);
        let mut output = case.output.clone();
        let mut wrong: Vec<(usize, usize)> = Vec::new();
        for place in case.unsampled() {
            if wrong.iter().all(|w| w.0 != place.0) {
                output.set(place.0, place.1, case.planted(place.0, place.1, 16.0).get(place.0, place.1));
                wrong.push(place);
            }
        }
        assert!(wrong.len() > 80);
        let check = case.check(&output);
        assert!(!check.passes() && check.rows.len() > 80, "{text} {check:?}");
        assert!(check.elements.outside > 0, "{text} {check:?}");
        assert!(wrong.contains(&(check.elements.row, check.elements.col)), "{text} {check:?}");
        assert!(check.stopped, "{text}: one element beyond the limit is enough");
    }
}

/// Wrong elements in few rows are all found, and the worst is that of a comparison of every element.
#[test]
fn few_wrong_rows_are_compared_as_a_whole() {
    for (text, shape) in CASES {
        let case = case(text, shape, Recipe::NearNormal);
        let mut output = case.output.clone();
        let rows = 5.min(shape.m);
        for (i, (row, col)) in (0..rows).flat_map(|i| (0..shape.n).step_by(3).map(move |col| (i, col))).enumerate() {
            let row = row * (shape.m / rows);
            output.set(row, col, case.planted(row, col, 16.0 + i as f64).get(row, col));
        }
        let bound = tolerance(case.triple, shape.k, case.recipe);
        let whole = reference(case.triple, &case.a, &case.b).expect("a reference").compare(&output, bound);
        assert_eq!(case.check(&output).elements, whole.expect("a comparison"), "{text}");
    }
}

/// Sums that were made once serve every output.
#[test]
fn checks_of_one_product_do_not_disturb_each_other() {
    let case = case("bf16,bf16->bf16+f32", Shape::new(77, 44, 64), Recipe::NearNormal);
    let sums = Checksums::new(case.triple, &case.a, &case.b, SEED).expect("sums");
    let bound = tolerance(case.triple, 64, case.recipe);
    for output in [case.output.clone(), case.planted(7, 9, 1e3), case.output.clone()] {
        let found = sums.check(&output, bound, 0.0, ELEMENTS, TILE).expect("a check");
        assert_eq!(found, case.check(&output));
    }
}

#[test]
fn integers_of_every_size_are_seen_modulo_the_width() {
    let case = case("u8,i8->i32", Shape::new(70, 61, 90), Recipe::Uniform);
    let (row, col) = case.unsampled()[55];
    for bit in 0..32 {
        let mut output = case.output.clone();
        output.set(row, col, output.get(row, col) ^ 1 << bit);
        let check = case.check(&output);
        assert_eq!((check.rows, check.columns, check.smallest_visible), (vec![row], vec![col], 1.0));
    }
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    for (text, shape) in CASES {
        let case = case(text, shape, Recipe::NearNormal);
        let wrong = case.planted(0, 33, 1e3);
        let run = |threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            pool.install(|| (case.check(&case.output), case.check(&wrong)))
        };
        assert_eq!(run(1), run(3));
    }
}

#[test]
fn misfits_are_refused() {
    let case = case("f16,f16->f32", Shape::new(4, 5, 6), Recipe::NearNormal);
    let bound = tolerance(case.triple, 6, case.recipe);
    let narrow = Matrix::zeroed(case.triple.c, 4, 4);
    let sums = Checksums::new(case.triple, &case.a, &case.b, SEED).expect("sums");
    let refused = sums.check(&narrow, bound, 0.0, ELEMENTS, TILE);
    assert!(matches!(refused, Err(CheckError::Output(_))));
    let mut b = case.b.clone();
    b.set(2, 3, 0x7C00);
    assert!(Checksums::new(case.triple, &case.a, &b, SEED).is_err());
}

/// A device that sums in bf16 although f32 was declared: outside the tolerance everywhere, inside the cap.
#[test]
fn a_narrow_output_is_held_to_its_own_errors() {
    for text in ["f32,f32->f32", "e4m3,e4m3->f32", "f16,f16->f32"] {
        let shape = Shape::new(90, 77, 64);
        let mut case = case(text, shape, Recipe::NearNormal);
        let short = |x: f64| {
            rigel_numerics::Format::Bf16.decode(rigel_numerics::Format::Bf16.encode(
                x,
                Rounding::NearestEven,
                Overflow::Ieee,
            ))
        };
        for (row, col) in (0..shape.m).flat_map(|row| (0..shape.n).map(move |col| (row, col))) {
            let code = case.triple.c.encode(short(case.output.value(row, col)), Rounding::NearestEven, Overflow::Ieee);
            case.output.set(row, col, code);
        }
        let cap = 0.01;
        let clean = case.check_within(&case.output, cap);
        assert!(clean.elements.outside > 0 && clean.rows.is_empty() && clean.columns.is_empty(), "{text} {clean:?}");
        assert!(!clean.stopped && clean.elements.residual.relative < cap);
        let strict = case.check(&case.output);
        assert!(strict.stopped && strict.rows.len() > shape.m / 2, "{text}: held to the tolerance alone");
        for (row, col) in case.unsampled().into_iter().step_by(401).take(12) {
            let terms = (0..shape.k).map(|k| (case.a.get(row, k), case.b.get(k, col)));
            let size =
                rigel_numerics::exact::dot(case.triple.a, case.triple.b, terms).expect("finite").magnitude.to_f64();
            for wrong in [case.planted(row, col, 0.1 * size), case.planted(row, col, f64::NAN)] {
                let check = case.check_within(&wrong, cap);
                assert_eq!((check.elements.row, check.elements.col), (row, col), "{text} {check:?}");
                assert!(check.elements.residual.relative > 0.05);
                let infinite = case.check_within(&wrong, f64::INFINITY);
                assert_eq!((infinite.elements.row, infinite.elements.col), (row, col), "{text} {infinite:?}");
            }
        }
    }
}

#[test]
fn sums_of_an_output_that_differs_in_rows_say_what_its_own_sums_say() {
    for (text, shape) in CASES {
        let case = case(text, shape, Recipe::NearNormal);
        let sums = Checksums::new(case.triple, &case.a, &case.b, SEED).expect("sums");
        let bound = tolerance(case.triple, shape.k, case.recipe);
        let known = sums.sums(&case.output).expect("sums of the output");
        let rows = [shape.m / 3, shape.m - 1];
        for code in [0, 1, case.triple.c.code_mask()] {
            let mut changed = case.output.clone();
            for (at, &row) in rows.iter().enumerate() {
                (at..shape.n).step_by(3).for_each(|column| changed.set(row, column, code));
            }
            let found = sums.changed(&known, &case.output, &changed, &rows).expect("sums of the changed output");
            let said = sums.check_by(&found, &changed, bound, 0.0, ELEMENTS, TILE);
            assert_eq!(said, sums.check(&changed, bound, 0.0, ELEMENTS, TILE), "{text} {code:x}");
            assert!(!said.expect("a check").passes(), "{text} {code:x}");
        }
    }
}
