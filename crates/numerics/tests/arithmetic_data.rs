//! How are models read, written, said in words and refused?

use proptest::prelude::*;
use rigel_numerics::arithmetic::*;
use rigel_numerics::{Format, Rounding, Shape, Triple};

const TRIPLES: [&str; 6] =
    ["f16,f16->f32", "e4m3,e4m3->f32", "f32,f32->f32", "u8,i8->i32", "bf16,bf16->bf16", "e2m1,e2m1->f32"];

fn hopper() -> Model {
    library().iter().find(|p| p.name == "hopper wgmma f16 to f32").expect("a model").model.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn json_gives_the_model_back(seed in any::<u64>()) {
        let triple: Triple = TRIPLES[(seed % 6) as usize].parse().expect("a triple");
        let model = draw_model(seed, triple).expect("a model");
        prop_assert_eq!(Model::from_json(&model.to_json()), Ok(model.clone()));
        prop_assert!(!model.to_string().is_empty());
        prop_assert_eq!(draw_model(seed, triple), Some(model), "a seed stands for one model");
    }

    /// Whatever is done to the text of a model, reading it gives a model that evaluates or an error: never a panic.
    #[test]
    fn damaged_json_is_refused_or_evaluates(seed in any::<u64>(), cuts in prop::collection::vec((any::<u16>(), any::<u16>(), any::<i16>()), 1..4)) {
        let triple: Triple = TRIPLES[(seed % 6) as usize].parse().expect("a triple");
        let mut text = draw_model(seed, triple).expect("a model").to_json();
        for (at, length, number) in cuts {
            // Replace a number, or a stretch of text by another one.
            let start = usize::from(at) % text.len();
            let digits = text[start..].find(|c: char| c.is_ascii_digit()).map(|i| start + i);
            match (length % 3, digits) {
                (0 | 1, Some(i)) => {
                    let end = text[i..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |n| i + n);
                    text.replace_range(i..end, &number.to_string());
                }
                _ => {
                    let end = (start + usize::from(length) % 9).min(text.len());
                    let other = text[end / 2..(end / 2 + 4).min(text.len())].to_owned();
                    text.replace_range(start..end, &other);
                }
            }
        }
        if let Ok(model) = Model::from_json(&text)
            && model.k <= 256
        {
            let x = Distribution::RandomBits.inputs(&model, model.k, seed, 0);
            let inputs = x.codes();
            let evaluator = Evaluator::new(&model, model.k).expect("it was checked");
            prop_assert_eq!(Ok(evaluator.dot(&mut evaluator.scratch(), inputs)), slow::dot(&model, inputs));
        }
    }
}

#[test]
fn unknown_fields_and_impossible_parameters_are_refused_by_name() {
    let text = hopper().to_json();
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in\n{text}");
        Model::from_json(&text.replace(from, to)).expect_err(to).to_string()
    };
    assert!(refused("\"k\": 16", "\"k\": 16, \"m\": 4").contains("unknown field `m`"));
    assert!(refused("\"k\": 16", "\"k\": 0").contains("k is 0; it must be 1 to 65536"));
    assert!(refused("\"fraction_bits\": 25", "\"fraction_bits\": 101").contains("fraction_bits is 101"));
    assert!(refused("\"of\": 16", "\"of\": 0").contains("blocks of 0"));
    assert!(refused("\"format\": \"f32\"", "\"format\": \"f64\"").contains("not always a value of the output format"));
    assert!(refused("f16,f16->f32", "u8,i8->i32").contains("integer"));
    assert!(refused("2147483647", "1").contains("no NaN of f32"));
    assert!(refused("\"c\": true", "\"c\": false").contains("takes no c"));
    assert!(Model::from_json("{").expect_err("no JSON").to_string().contains("line 1"));
    assert!(matches!(Model::from_json(&"[".repeat(100_000)), Err(ModelError::Json(_))));
}

#[test]
fn deep_and_wide_models_are_refused() {
    let model = hopper();
    let mut deep = model.clone();
    for _ in 0..20 {
        deep.body = deep.body.chained(16);
    }
    assert!(matches!(deep.check(), Err(ModelError::Depth { .. })));
    let mut wide = model.clone();
    let sum = |fraction_bits, output| Sum {
        align: Align::Largest(Alignment::new(fraction_bits, Rounding::TowardZero)),
        zero: ZeroSign::Positive,
        output,
    };
    let each = Node::Step(Step { c: false, product_limit: None, sum: sum(70, Output::Unrounded) });
    let output = Output::Rounded(Rounded::to(Format::F32, Rounding::TowardZero));
    let order = JoinOrder::Together { c: true };
    wide.body = Node::Join(Join { split: Split::Whole, each: Box::new(each), order, sum: sum(25, output) });
    assert!(matches!(wide.check(), Err(ModelError::TooWide { .. })));
    assert_eq!(Evaluator::new(&model, 0).err(), Some(ModelError::K(0)));
    assert_eq!(Evaluator::new(&model, Shape::MAX + 1).err(), Some(ModelError::K(Shape::MAX + 1)));
    assert_eq!(slow::dot(&model, Inputs::new(&[], &[], 0)), Err(ModelError::K(0)));
}

#[test]
fn models_are_said_in_words() {
    let words = |name: &str| library().iter().find(|p| p.name == name).expect("a model").model.to_string();
    assert_eq!(
        words("hopper wgmma e4m3 to f32, floored"),
        "e4m3 → f32: [products and c aligned to 13 bits below the largest exponent, cut toward zero, \
         rounded to f32 of 14 significant bits toward zero, to +0 where it vanishes] in a chain over blocks of 32 k; NaN is 0x7fffffff"
    );
    assert_eq!(
        words("hopper mma e4m3 to f16, emulated"),
        "e4m3 → f16: [[[products and c aligned to 25 bits below the largest exponent, cut toward zero, rounded to f16 to \
         nearest even, to +0 where it vanishes] in a chain over k mod 4 in {0,1} then {2,3}] for all of k, added together with c, added exactly, \
         rounded to f16 to nearest even, zero sums signed as in IEEE 754] in a chain over blocks of 32 k; NaN is 0x7fff"
    );
    assert_eq!(
        words("vpdpbusds"),
        "u8·i8 → i32: [products and c added exactly, saturated to signed 32 bits] in a chain over blocks of 4 k"
    );
    let mut said = std::collections::HashMap::new();
    for p in library() {
        if let Some(other) = said.insert(p.model.to_string(), p) {
            assert!(
                p.model.body == other.model.body && p.model.triple == other.model.triple,
                "{} and {}",
                p.name,
                other.name
            );
        }
    }
}
