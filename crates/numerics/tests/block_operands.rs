//! Are block-scaled operands element times scale, wherever they are made, decoded, multiplied and checked?

use rigel_numerics::block::{MX_GROUP, MxElement, MxGroup, NVFP4_GROUP, NoPlanes, Nvfp4Group, planes, seed_of_scales};
use rigel_numerics::bound::tolerance;
use rigel_numerics::checksum::Checksums;
use rigel_numerics::decode_row::decode_row;
use rigel_numerics::exact::dot;
use rigel_numerics::recipe::fits;
use rigel_numerics::reference::reference;
use rigel_numerics::words::Line;
use rigel_numerics::{Format, Matrix, Operand, Overflow, Recipe, Rounding, Shape, Triple};

fn triple(format: Format) -> Triple {
    Triple::new(format, format, Format::F32)
}

#[test]
fn every_code_is_the_product_of_its_element_and_its_scale() {
    for format in Format::SCALED {
        let groups = format.scale_groups().unwrap();
        let mut all = Matrix::zeroed(format, 1, 1 << 16);
        (0..1 << 16).for_each(|code| all.set(0, code, code as u64));
        let mut row = vec![0.0; 1 << 16];
        decode_row(format, all.row(0), &mut row);
        for code in 0..1 << 16 {
            let (element, scale) = (code & groups.element.code_mask(), code >> 8);
            let value = groups.element.decode(element) * groups.scale.decode(scale);
            for found in [format.decode(code), row[code as usize], format.decode(code | 1 << 16)] {
                assert!(
                    found == value || found.is_nan() && value.is_nan(),
                    "{format} {code:#06x}: {found} is not {value}"
                );
            }
            assert_eq!(
                (format.is_nan(code), format.is_finite(code)),
                (value.is_nan(), value.is_finite()),
                "{format} {code:#06x}"
            );
            match format.parts(code) {
                Some((s, e)) => assert_eq!(s as f64 * 2f64.powi(e), value, "{format} {code:#06x}"),
                None => assert!(value.is_nan(), "{format} {code:#06x}"),
            }
            if value.is_finite() {
                assert!(value.abs() <= format.max_finite() && (value == 0.0 || value.abs() >= format.min_positive()));
                let bits = dot(format, format, [(code, code)]).unwrap().sum.to_f64();
                assert_eq!(bits, value * value, "{format} {code:#06x}");
                // What the declared precision says of the value's significand.
                let significand = format.parts(code).map_or(0, |(s, _)| s.unsigned_abs());
                let odd = significand >> significand.trailing_zeros().min(63);
                assert!(u64::BITS - odd.leading_zeros() <= format.precision(), "{format} {code:#06x}");
                // The upper half of an f32 holds it, as the kernels that convert it need.
                let upper = f64::from(f32::from_bits((value as f32).to_bits() & 0xFFFF_0000));
                assert!(
                    upper == value || !(2f64.powi(-126)..2f64.powi(128)).contains(&value.abs()),
                    "{format} {code:#06x}"
                );
            }
        }
        assert_eq!(format.decode(format.min_finite_code()), -format.max_finite());
        assert!(format.is_nan(format.nan_code().unwrap()));
        for value in [1.0, -2.0, 0.5] {
            let code = format.encode(value, Rounding::NearestEven, Overflow::Saturate);
            assert_eq!((format.decode(code), groups.scale.decode(code >> 8)), (value, 1.0), "{format}");
        }
    }
}

#[test]
fn codes_mean_what_scale_groups_mean() {
    for (element, format) in [(MxElement::E4m3, Format::Mxe4m3), (MxElement::E2m1, Format::Mxe2m1)] {
        let groups = format.scale_groups().unwrap();
        assert_eq!((groups.element, groups.size), (element.format(), MX_GROUP));
        for scale in [0, 1, 119, 127, 134, 0xFE, 0xFF] {
            for first in (0..=element.format().code_mask()).step_by(MX_GROUP) {
                let mask = element.format().code_mask();
                let codes = std::array::from_fn(|i| ((first + i as u64) & mask) as u8);
                let values = MxGroup { element, scale, codes }.decode();
                for (code, value) in codes.into_iter().zip(values) {
                    let found = format.decode(groups.code(code.into(), scale.into()));
                    assert!(found == value || found.is_nan() && value.is_nan(), "{format} {scale} {code}");
                }
            }
        }
    }
    for scale in 0..0x80 {
        let codes = std::array::from_fn(|i| i as u8);
        let values = Nvfp4Group { scale, codes }.decode(1.0);
        for (code, value) in (0..NVFP4_GROUP as u64).zip(values) {
            let found = Format::Nve2m1.decode(code | u64::from(scale) << 8);
            assert!(found == value || found.is_nan() && value.is_nan(), "{scale} {code}");
        }
    }
}

#[test]
fn operands_are_elements_and_scales_that_the_recipes_already_define() {
    // Whole scale groups, a ragged last one, less than one.
    for (m, n, k) in [(3, 5, 96), (2, 3, 81), (4, 2, 7)] {
        for format in Format::SCALED {
            let groups = format.scale_groups().unwrap();
            for recipe in Recipe::ALL {
                for (operand, rows, cols) in [(Operand::A, m, k), (Operand::B, k, n)] {
                    let whole = recipe.matrix(format, 9, operand, rows, cols);
                    let (elements, scales) = planes(&whole, operand).unwrap();
                    assert_eq!(elements, recipe.matrix(groups.element, 9, operand, rows, cols), "{format} {recipe}");
                    let (down, across) = if operand == Operand::A { (1, groups.size) } else { (groups.size, 1) };
                    let (down, across) = (rows.div_ceil(down), cols.div_ceil(across));
                    let drawn = recipe.of_scales();
                    assert_eq!(
                        scales,
                        drawn.matrix(groups.scale, seed_of_scales(9), operand, down, across),
                        "{format} {recipe}"
                    );
                    for row in 0..rows {
                        let mut line = vec![0; cols];
                        recipe.line(format, 9, operand, Line::Row(row as u64), &mut line);
                        for (col, code) in line.into_iter().enumerate() {
                            assert_eq!(code, whole.get(row, col));
                            assert_eq!(code, recipe.element(format, 9, operand, row as u64, col as u64));
                        }
                    }
                    for col in 0..cols {
                        let mut line = vec![0; rows];
                        recipe.line(format, 9, operand, Line::Column(col as u64), &mut line);
                        assert!(line.into_iter().enumerate().all(|(row, code)| code == whole.get(row, col)));
                    }
                }
            }
        }
    }
    let mut mixed = Recipe::Uniform.matrix(Format::Mxe4m3, 1, Operand::A, 2, 40);
    mixed.set(1, 35, mixed.get(1, 35) ^ 0x100);
    assert_eq!(planes(&mixed, Operand::A), Err(NoPlanes::Scale { row: 1, col: 35 }));
    assert_eq!(planes(&Matrix::zeroed(Format::F16, 1, 1), Operand::A), Err(NoPlanes::Format(Format::F16)));
}

#[test]
fn random_operands_have_many_scales_none_of_them_nan_and_products_stay_in_range() {
    for format in Format::SCALED {
        for recipe in [Recipe::Uniform, Recipe::NearNormal] {
            let codes = recipe.matrix(format, 5, Operand::A, 64, 2048);
            let (_, scales) = planes(&codes, Operand::A).unwrap();
            let mut seen: Vec<u64> =
                (0..64).flat_map(|r| (0..scales.cols).map(move |c| (r, c))).map(|(r, c)| scales.get(r, c)).collect();
            assert!(seen.iter().all(|&code| scales.format.is_finite(code)));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), if scales.format == Format::E8m0 { 16 } else { 127 }, "{format} {recipe}");
            fits(recipe, triple(format), 1 << 20).unwrap();
            let most = recipe.max_magnitude(format);
            assert!((0..64).flat_map(|r| (0..2048).map(move |c| (r, c))).all(|(r, c)| codes.value(r, c).abs() <= most));
        }
        assert!(tolerance(triple(format), 2048, Recipe::SmallIntegers).exact);
    }
}

/// The operand with some scales changed, element by element.
fn rescaled(matrix: &Matrix, change: impl Fn(usize, usize) -> u64) -> Matrix {
    let mut changed = matrix.clone();
    for (row, col) in (0..matrix.rows).flat_map(|row| (0..matrix.cols).map(move |col| (row, col))) {
        changed.set(row, col, matrix.get(row, col) & 0xFF | change(row, col) << 8);
    }
    changed
}

#[test]
fn a_wrong_scale_and_scales_that_are_shifted_by_one_group_are_seen() {
    let shape = Shape::new(40, 30, 200);
    for format in Format::SCALED {
        let (triple, size) = (triple(format), format.scale_groups().unwrap().size);
        for recipe in [Recipe::Uniform, Recipe::NearNormal] {
            let a = recipe.matrix(format, 3, Operand::A, shape.m, shape.k);
            let b = recipe.matrix(format, 3, Operand::B, shape.k, shape.n);
            let scale = |x: &Matrix, row: usize, col: usize| x.get(row, col) >> 8;
            let right = reference(triple, &a, &b).unwrap();
            let limit = tolerance(triple, shape.k, recipe);
            let output = |a: &Matrix, b: &Matrix| {
                let sums = reference(triple, a, b).unwrap();
                let mut output = Matrix::zeroed(Format::F32, shape.m, shape.n);
                for (row, col) in (0..shape.m).flat_map(|row| (0..shape.n).map(move |col| (row, col))) {
                    output.set(row, col, (sums.value(row, col) as f32).to_bits().into());
                }
                output
            };
            let sums = Checksums::new(triple, &a, &b, 7).unwrap();
            let said = |output: &Matrix| {
                let sampled = sums.check(output, limit, 0.0, 64, (16, 16)).unwrap();
                (right.compare(output, limit).unwrap().outside, sampled.passes())
            };
            assert_eq!(said(&output(&a, &b)), (0, true), "{format} {recipe}");
            // One scale of one row is off by one code; where its elements are zeros nothing is wrong.
            let one_off = rescaled(&a, |row, col| {
                let own = scale(&a, row, col);
                if (row, col / size) == (17, 1) { if own == 0 { 1 } else { own - 1 } } else { own }
            });
            let (outside, passes) = said(&output(&one_off, &b));
            assert!(outside > 0 && !passes, "{format} {recipe}: {outside}");
            // Every scale is that of the group before it.
            let shifted_a = rescaled(&a, |row, col| scale(&a, row, col.saturating_sub(size)));
            let shifted_b = rescaled(&b, |row, col| scale(&b, row.saturating_sub(size), col));
            // Groups begin one element too late.
            let late = rescaled(&a, |row, col| scale(&a, row, col.saturating_sub(1)));
            for (what, a, b) in [("A", &shifted_a, &b), ("B", &a, &shifted_b), ("late", &late, &b)] {
                let (outside, passes) = said(&output(a, b));
                assert!(outside > shape.m * shape.n / 2 && !passes, "{format} {recipe}, {what}: {outside}");
            }
        }
    }
}

#[test]
fn names_are_short_and_only_operands_have_them() {
    for (text, format) in [("mxe4m3", Format::Mxe4m3), ("mxe2m1", Format::Mxe2m1), ("nve2m1", Format::Nve2m1)] {
        assert_eq!((text.parse(), format.to_string().as_str()), (Ok(format), text));
        assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{text}\""));
        let written = format!("{text},{text}->f32");
        let parsed: Triple = written.parse().unwrap();
        assert_eq!((parsed, parsed.to_string()), (triple(format), written));
        let said = format!("f16,f16->{text}").parse::<Triple>().unwrap_err().to_string();
        assert!(said.contains("block-scaled") && said.contains(text), "{said}");
        assert!(format!("{text},{text}->i32").parse::<Triple>().is_err());
    }
    assert_eq!("mxe4m3,mxe2m1->f32".parse::<Triple>().unwrap().operand_bits(), 8);
    assert_eq!(triple(Format::Nve2m1).operand_bits(), 4);
}
