//! Are input elements what the recipes state, whoever asks for them and in whatever order?

use rigel_numerics::recipe::{Ladder, RECIPE_TEXT, RecipeError, fits};
use rigel_numerics::words::{Line, Words, further};
use rigel_numerics::{Format, Matrix, Operand, Overflow, Recipe, Rounding, Triple};

/// Every pair of recipe and format that has elements.
fn pairs() -> impl Iterator<Item = (Recipe, Format)> {
    Recipe::ALL
        .into_iter()
        .flat_map(|r| Format::ALL.into_iter().filter(move |&f| r.supports(f).is_ok()).map(move |f| (r, f)))
}

fn values(matrix: &Matrix) -> impl Iterator<Item = f64> + '_ {
    (0..matrix.rows).flat_map(move |r| (0..matrix.cols).map(move |c| matrix.value(r, c)))
}

fn codes(matrix: &Matrix) -> impl Iterator<Item = u64> + '_ {
    (0..matrix.rows).flat_map(move |r| (0..matrix.cols).map(move |c| matrix.get(r, c)))
}

/// A few elements of each recipe, written down once: a change here changes every committed run's inputs.
#[test]
fn golden_elements() {
    let seed = 0x5EED;
    let four =
        |recipe: Recipe, format, operand| [0, 1, 2, 1000].map(|col| recipe.element(format, seed, operand, 3, col));
    for (recipe, format, operand, expected) in GOLDEN {
        assert_eq!(four(recipe, format, operand), expected, "{recipe} {format} {operand:?}");
    }
}

const GOLDEN: [(Recipe, Format, Operand, [u64; 4]); 15] = [
    (
        Recipe::Uniform,
        Format::F64,
        Operand::A,
        [0xbf712e8e2179c25a, 0xbf7eb575cff2c188, 0x3fd4bd989512f2f9, 0xbffdb2e03c3031db],
    ),
    (Recipe::Uniform, Format::F16, Operand::A, [0x8092, 0x871f, 0x30cb, 0xc4a2]),
    (Recipe::Uniform, Format::E4m3Fnuz, Operand::B, [0xcc, 0x78, 0x27, 0x60]),
    (Recipe::Uniform, Format::Bf16, Operand::B, [0xc041, 0x4313, 0x3df9, 0x418f]),
    (Recipe::Uniform, Format::I4, Operand::A, [0x8, 0x8, 0x3, 0xc]),
    (
        Recipe::NearNormal,
        Format::F64,
        Operand::B,
        [0xbfb551eea73b9123, 0x40039b36b32ffa08, 0xbfcdd485a7ae5c39, 0xbfd7775c23192021],
    ),
    (Recipe::NearNormal, Format::Tf32, Operand::A, [0xbeca8000, 0xbfc0a000, 0x3eee6000, 0x3f2c8000]),
    (Recipe::NearNormal, Format::F16, Operand::B, [0x3061, 0x3d4c, 0xbdc2, 0xba40]),
    (Recipe::NearNormal, Format::E4m3, Operand::A, [0xad, 0xbc, 0x2f, 0x33]),
    (Recipe::NearNormal, Format::U8, Operand::A, [0x73, 0x50, 0x8f, 0x96]),
    (Recipe::Constant, Format::E2m3, Operand::A, [0x8, 0x8, 0x8, 0x8]),
    (Recipe::Zeros, Format::F32, Operand::B, [0x0, 0x0, 0x0, 0x0]),
    (Recipe::SmallIntegers, Format::E5m2, Operand::A, [0xc0, 0x0, 0x0, 0xc0]),
    (Recipe::HostileLadder, Format::E4m3, Operand::A, [0x58, 0x58, 0x58, 0x58]),
    (Recipe::HostileLadder, Format::F32, Operand::B, [0xc0000000, 0xc0000000, 0xc0000000, 0xbf800000]),
];

#[test]
fn a_matrix_is_its_elements() {
    for (recipe, format) in pairs() {
        for operand in [Operand::A, Operand::B] {
            let matrix = recipe.matrix(format, 7, operand, 5, 131);
            for r in 0..5 {
                for c in 0..131 {
                    let element = recipe.element(format, 7, operand, r as u64, c as u64);
                    assert_eq!(matrix.get(r, c), element, "{recipe} {format} {operand:?} ({r}, {c})");
                }
            }
        }
    }
    // Long enough for several tasks of the thread pool.
    let tall = Recipe::NearNormal.matrix(Format::F16, 7, Operand::B, 40_000, 3);
    for r in (0..40_000).step_by(997) {
        assert_eq!(tall.get(r, 2), Recipe::NearNormal.element(Format::F16, 7, Operand::B, r as u64, 2));
    }
    assert!(Recipe::Uniform.matrix(Format::F16, 7, Operand::A, 4, 0).bytes.is_empty());
}

#[test]
fn lines_are_their_elements() {
    for (recipe, format) in pairs() {
        for operand in [Operand::A, Operand::B] {
            for index in [0, 5, 70, 1 << 20] {
                let (mut row, mut column) = ([0; 130], [0; 130]);
                recipe.line(format, 7, operand, Line::Row(index), &mut row);
                recipe.line(format, 7, operand, Line::Column(index), &mut column);
                for i in 0..130 {
                    let (r, c) =
                        (recipe.element(format, 7, operand, index, i), recipe.element(format, 7, operand, i, index));
                    assert_eq!(
                        (row[i as usize], column[i as usize]),
                        (r, c),
                        "{recipe} {format} {operand:?} {index} {i}"
                    );
                }
            }
        }
    }
}

/// The table-driven rounding against [`Format::encode_scaled`], on the sums that the recipe text states.
#[test]
fn near_normal_is_the_rounded_sum() {
    for format in Format::ALL.into_iter().filter(|&f| Recipe::NearNormal.supports(f).is_ok()) {
        let words = Words::new(1, Recipe::NearNormal, Operand::A).along(Line::Row(2));
        for col in 0..20_000 {
            let w = words.word(col);
            let (lane, lanes) = if format.precision() <= 11 {
                (21, [w & 0x1F_FFFF, w >> 21 & 0x1F_FFFF, w >> 42 & 0x1F_FFFF])
            } else {
                (64, [w, further(w), further(further(w))])
            };
            let sum: i128 = lanes.iter().map(|&u| 2 * i128::from(u) + 1 - (1 << lane)).sum();
            let (significand, exponent) = match (format.is_integer(), format.is_signed()) {
                (false, true) => (sum, -lane),
                (false, false) => (sum.abs(), -lane),
                (true, true) => (sum, format.bits() as i32 - 3 - lane),
                (true, false) => (sum + (1 << (lane + 2)), format.bits() as i32 - 3 - lane),
            };
            let expected = format.encode_scaled(significand, exponent, Rounding::NearestEven, Overflow::Saturate);
            assert_eq!(Recipe::NearNormal.element(format, 1, Operand::A, 2, col), expected, "{format} column {col}");
        }
    }
}

#[test]
fn elements_are_finite_and_bounded() {
    for (recipe, format) in pairs() {
        let matrix = recipe.matrix(format, 11, Operand::A, 64, 257);
        let most = recipe.max_magnitude(format);
        for (code, value) in codes(&matrix).zip(values(&matrix)) {
            assert!(format.is_finite(code), "{recipe} {format} {code:#x}");
            assert!(value.abs() <= most, "{recipe} {format}: {value} beyond {most}");
            assert!(format != Format::Tf32 || code & 0x1FFF == 0, "tf32 inputs are tf32 values");
        }
    }
}

#[test]
fn uniform_reaches_every_finite_code_evenly() {
    for format in Format::ALL.into_iter().filter(|&f| f.bits() <= 8) {
        let matrix = Recipe::Uniform.matrix(format, 5, Operand::A, 256, 2048);
        let mut counts = vec![0f64; 256];
        codes(&matrix).for_each(|code| counts[code as usize] += 1.0);
        let drawn = |code: u64| match format {
            Format::E8m0 => (119..135).contains(&code),
            Format::Ue4m3 => code < 0x7F,
            _ => code <= format.code_mask() && format.is_finite(code),
        };
        let n = (0..256).filter(|&c| drawn(c)).count() as f64;
        let mean = (256 * 2048) as f64 / n;
        let mut chi_squared = 0.0;
        for code in 0..256u64 {
            let count = counts[code as usize];
            assert_eq!(count > 0.0, drawn(code), "{format} {code:#x}: {count}");
            chi_squared += if drawn(code) { (count - mean).powi(2) / mean } else { 0.0 };
        }
        // Mean n − 1, standard deviation √(2(n − 1)): the seed is fixed, so this either holds for ever or never.
        assert!((chi_squared - (n - 1.0)).abs() < 4.0 * (2.0 * (n - 1.0)).sqrt(), "{format}: {chi_squared} of {n}");
    }
}

#[test]
fn uniform_wide_floats_fill_sixteen_octaves() {
    for format in [Format::F64, Format::F32, Format::Tf32, Format::Bf16] {
        let matrix = Recipe::Uniform.matrix(format, 5, Operand::B, 100, 1000);
        let mut octaves = [0; 16];
        let (mut negative, mut or, mut and) = (0, 0, u64::MAX);
        for (code, value) in codes(&matrix).zip(values(&matrix)) {
            octaves[(value.abs().log2().floor() + 8.0) as usize] += 1;
            negative += usize::from(value < 0.0);
            (or, and) = (or | code, and & code);
        }
        assert!(octaves.iter().all(|&n| (5900..6600).contains(&n)), "{format} {octaves:?}");
        assert!((49_000..51_000).contains(&negative), "{format} {negative}");
        let fraction = format.precision() - 1;
        let ignored = if format == Format::Tf32 { 13 } else { 0 };
        let mask = ((1u64 << fraction) - 1) << ignored;
        assert_eq!((or & mask, and & mask), (mask, 0), "{format}: every fraction bit takes both values");
    }
}

#[test]
fn near_normal_has_mean_zero_and_deviation_one() {
    for format in Format::ALL.into_iter().filter(|&f| Recipe::NearNormal.supports(f).is_ok()) {
        let matrix = Recipe::NearNormal.matrix(format, 9, Operand::A, 400, 1000);
        let n = 400_000.0;
        let mean = values(&matrix).sum::<f64>() / n;
        let deviation = (values(&matrix).map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        let fourth = values(&matrix).map(|v| ((v - mean) / deviation).powi(4)).sum::<f64>() / n;
        let quarter = 2f64.powi(format.bits() as i32 - 3);
        let (centre, spread) = match (format.is_integer(), format.is_signed()) {
            (false, true) => (0.0, 1.0),
            (false, false) => (0.8125, (1.0f64 - 0.8125 * 0.8125).sqrt()),
            (true, true) => (0.0, quarter),
            (true, false) => (4.0 * quarter, quarter),
        };
        // Rounding to a coarse grid of step h adds about h²/12 to the variance.
        let coarse = if format.precision() <= 3 || format.bits() <= 4 { 0.2 } else { 0.01 };
        assert!((mean - centre).abs() < 0.01 * spread, "{format}: mean {mean}, not {centre}");
        assert!((deviation / spread - 1.0).abs() < coarse, "{format}: deviation {deviation}, not {spread}");
        // Three uniform terms: kurtosis 3 − 6/5/3 = 2.6.
        let signed_and_fine = coarse < 0.1 && format.is_signed();
        assert!(!signed_and_fine || (fourth - 2.6).abs() < 0.02, "{format}: kurtosis {fourth}");
    }
    let f64s = Recipe::NearNormal.matrix(Format::F64, 9, Operand::A, 1, 10_000);
    assert!(codes(&f64s).any(|c| c & 1 == 1), "f64 significands are filled to the last bit");
}

#[test]
fn small_integers_take_every_value_of_their_range() {
    for format in Format::ALL.into_iter().filter(|&f| Recipe::SmallIntegers.supports(f).is_ok()) {
        let matrix = Recipe::SmallIntegers.matrix(format, 1, Operand::B, 30, 30);
        let mut seen: Vec<f64> = values(&matrix).collect();
        seen.sort_by(f64::total_cmp);
        seen.dedup();
        let least = if format == Format::I2 {
            -2
        } else if format.is_signed() {
            -4
        } else {
            0
        };
        let most = if format == Format::I2 { 1 } else { 4 };
        assert_eq!(seen, (least..=most).map(f64::from).collect::<Vec<_>>(), "{format}");
    }
    for (recipe, value) in [(Recipe::Constant, 1.0), (Recipe::Zeros, 0.0)] {
        for format in Format::ALL.into_iter().filter(|&f| recipe.supports(f).is_ok()) {
            assert!(values(&recipe.matrix(format, 1, Operand::A, 3, 5)).all(|v| v.to_bits() == f64::to_bits(value)));
        }
    }
}

#[test]
fn every_rung_of_a_ladder_is_a_value() {
    for format in Format::ALL {
        let Some(ladder) = Ladder::of(format) else { continue };
        assert!(ladder.large() * 2.0 > format.max_finite() || ladder.top == 0, "{format}: L is not the largest power");
        let a = Recipe::HostileLadder.matrix(format, 3, Operand::A, ladder.rungs as usize, 128);
        for row in 0..ladder.rungs {
            let large: Vec<usize> = (0..128).filter(|&c| a.value(row as usize, c) == ladder.large()).collect();
            assert_eq!(large.len(), 1, "{format}: one large term in every row of 128");
            let tiny = ladder.large() / 2f64.powi(1 + row as i32);
            assert!((0..128).all(|c| c == large[0] || a.value(row as usize, c) == tiny), "{format} row {row}");
        }
        assert!(ladder.rungs >= 30 || ladder.large() / 2f64.powi(1 + ladder.rungs as i32) < format.min_positive());
        let b = Recipe::HostileLadder.matrix(format, 3, Operand::B, 64, 64);
        for c in 0..64 {
            assert!((0..64).all(|r| b.get(r, c) == b.get(0, c)), "{format}: a column of B is constant");
            assert!([1.0, 2.0].contains(&b.value(0, c).abs()), "{format}");
        }
    }
    // The position of the large term is sometimes first, sometimes inside, and known for every K that reaches it.
    let a = Recipe::HostileLadder.matrix(Format::F32, 3, Operand::A, 1000, 128);
    let first = (0..1000).filter(|&r| a.value(r, 0) == 1.0).count();
    let beyond_64 = (0..1000).filter(|&r| (64..128).any(|c| a.value(r, c) == 1.0)).count();
    assert!((150..350).contains(&first) && (30..100).contains(&beyond_64), "{first} {beyond_64}");
}

#[test]
fn seeds_recipes_and_operands_give_unrelated_elements() {
    let base = Recipe::Uniform.matrix(Format::F32, 1, Operand::A, 100, 100);
    let others = [
        Recipe::Uniform.matrix(Format::F32, 2, Operand::A, 100, 100),
        Recipe::Uniform.matrix(Format::F32, 1, Operand::B, 100, 100),
        Recipe::NearNormal.matrix(Format::F32, 1, Operand::A, 100, 100),
    ];
    for other in &others {
        let equal = codes(&base).zip(codes(other)).filter(|(a, b)| a == b).count();
        assert!(equal < 3, "{equal} equal elements of 10000");
    }
    let transposed = (0..100).flat_map(|c| (0..100).map(move |r| (r, c)));
    let symmetric = transposed.filter(|&(r, c)| r != c && base.get(r, c) == base.get(c, r)).count();
    assert_eq!(symmetric, 0);
    let x: Vec<f64> = values(&others[2]).collect();
    let products = |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| a * b).sum::<f64>() / (x.len() - lag) as f64;
    for lag in [1, 2, 100, 101] {
        assert!(products(lag).abs() < 0.04, "correlation {} at lag {lag}", products(lag));
    }
}

#[test]
fn names_come_back_and_others_are_refused() {
    for recipe in Recipe::ALL {
        assert_eq!(recipe.to_string().parse(), Ok(recipe));
        assert!(RECIPE_TEXT.contains(recipe.name()));
    }
    let message = "gaussian".parse::<Recipe>().unwrap_err().to_string();
    assert!(Recipe::ALL.iter().all(|r| message.contains(r.name())), "{message}");
    for format in Format::ALL {
        let Some(ladder) = Ladder::of(format) else { continue };
        let stated = format!("{}, {}", ladder.top, ladder.rungs);
        assert!(RECIPE_TEXT.contains(&stated), "{format}: the text does not state {stated}");
    }
}

#[test]
fn pairs_without_elements_are_refused_with_a_reason() {
    for (recipe, format) in
        [(Recipe::Zeros, Format::E8m0), (Recipe::HostileLadder, Format::I2), (Recipe::SmallIntegers, Format::U2)]
    {
        let refusal = recipe.supports(format);
        assert!(matches!(refusal, Err(RecipeError::Unsupported { .. })), "{refusal:?}");
        assert_eq!(recipe.element(format, 1, Operand::A, 2, 3), 0);
        assert_eq!(recipe.matrix(format, 1, Operand::A, 2, 3), Matrix::zeroed(format, 2, 3));
        assert_eq!(recipe.max_magnitude(format), 0.0);
    }
}

#[test]
fn what_fits_does_not_overflow_in_any_order() {
    for text in
        ["f16,f16->f16", "e4m3,e4m3->f16", "e4m3,e4m3->f32", "bf16,bf16->f32", "f16,f16->f16+f32", "f64,f64->f64"]
    {
        let triple: Triple = text.parse().unwrap();
        for recipe in Recipe::ALL {
            for k in [1, 9, 130, 2048, 65536] {
                if let Err(why) = fits(recipe, triple, k) {
                    assert!(matches!(why, RecipeError::OutOfRange { .. }), "{text} {recipe} {k}: {why}");
                    continue;
                }
                let k = k.min(2048);
                let (a, b) =
                    (recipe.matrix(triple.a, 4, Operand::A, 8, k), recipe.matrix(triple.b, 4, Operand::B, k, 8));
                for (i, j) in (0..8).flat_map(|i| (0..8).map(move |j| (i, j))) {
                    let sum: f64 = (0..k).map(|l| (a.value(i, l) * b.value(l, j)).abs()).sum();
                    assert!(sum <= triple.c.max_finite().min(triple.acc.max_finite()), "{text} {recipe} {k}: {sum}");
                }
            }
        }
    }
    let f16: Triple = "f16,f16->f16".parse().unwrap();
    assert!(fits(Recipe::NearNormal, f16, 4096).is_ok());
    assert!(fits(Recipe::Uniform, f16, 1).is_err(), "65504² is beyond f16");
    assert!(fits(Recipe::HostileLadder, f16, 32768).is_ok());
    assert!(fits(Recipe::Uniform, "i8,i8->i32".parse().unwrap(), 1 << 20).is_ok(), "integers wrap");
    let why = fits(Recipe::Uniform, f16, 8).unwrap_err().to_string();
    assert!(why.contains("65504") && why.contains("K = 8"), "{why}");
}
