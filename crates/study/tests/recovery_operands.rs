//! Are cut operands and conversions of planted units recognised?

mod recovery_unit;

use recovery_unit::{Deviation, Planted};
use rigel_device::Fault;
use rigel_device::unit::{Conversion, ConversionSpec};
use rigel_numerics::arithmetic::{Intake, Model, Rounded, library};
use rigel_numerics::{Format, Overflow, Rounding};
use rigel_study::recovery::{Asker, KeptBits, NamedConversion, name_conversion, operand_bits};

fn fma() -> Model {
    library().iter().find(|p| p.name == "f32 fma ascending").expect("a model").model.clone()
}

fn bits(model: &Model) -> [KeptBits; 2] {
    let mut unit = Planted::new(model, (2, 2), 4, Deviation::None).expect("a model that can be evaluated");
    operand_bits(&mut Asker::new(&mut unit)).expect("a unit that answers").expect("floating operands")
}

#[test]
fn whole_operands_come_through() {
    let [a, b] = bits(&fma());
    for kept in [a, b] {
        assert_eq!((kept.significand, kept.shown, kept.exponents), (24, true, Some(kept.tried)), "{kept}");
        assert!(kept.roundings.is_empty());
    }
}

#[test]
fn cut_operands_are_measured() {
    for (to, precision, rounding) in [
        (Format::Tf32, 11, Rounding::TowardZero),
        (Format::Tf32, 11, Rounding::NearestEven),
        (Format::F16, 11, Rounding::NearestAway),
        (Format::Bf16, 8, Rounding::NearestEven),
        (Format::Bf16, 8, Rounding::Odd),
    ] {
        let convert = Some(Rounded::to(to, rounding));
        let model = Model { a: Intake { convert, ..Intake::default() }, ..fma() };
        let [a, b] = bits(&model);
        assert_eq!((a.significand, a.shown), (precision, true), "{a}");
        assert_eq!(a.roundings, [rounding], "{a}");
        assert_eq!(b.significand, 24, "{b}");
        let largest = a.exponents.map(|e| e.1) == Some(a.tried.1);
        assert_eq!(largest, to != Format::F16, "f16 ends below f32, the others do not: {a}");
    }
}

/// A conversion by rule, but for some codes.
struct Rule {
    spec: ConversionSpec,
    rule: NamedConversion,
    odd: Option<(u64, u64)>,
}

impl Conversion for Rule {
    fn spec(&self) -> &ConversionSpec {
        &self.spec
    }
    fn convert(&mut self, codes: &[u64]) -> Result<Vec<u64>, Fault> {
        let of = |&code: &u64| match self.odd {
            Some((odd, d)) if odd == code => d,
            _ => self.rule.of(code),
        };
        Ok(codes.iter().map(of).collect())
    }
}

fn rule(from: Format, to: Format) -> NamedConversion {
    let (rounding, overflow) = (Rounding::NearestEven, Overflow::Saturate);
    NamedConversion { from, to, rounding, overflow, flushes_in: false, flushes_out: false }
}

fn planted(declared: (Format, Format), rule: NamedConversion, odd: Option<(u64, u64)>) -> Rule {
    let spec = ConversionSpec { name: "planted".into(), from: declared.0, to: declared.1, source: "a test".into() };
    Rule { spec, rule, odd }
}

#[test]
fn conversions_are_named() {
    use Format::{E4m3, E4m3Fnuz, E5m2, F16, F32};
    let rules = [
        rule(F16, E4m3),
        NamedConversion { overflow: Overflow::Ieee, ..rule(F16, E4m3) },
        NamedConversion { rounding: Rounding::TowardZero, ..rule(F16, E5m2) },
        NamedConversion { flushes_out: true, ..rule(F16, E4m3) },
        NamedConversion { flushes_in: true, ..rule(E5m2, F32) },
        NamedConversion { rounding: Rounding::Up, ..rule(F32, E4m3) },
    ];
    for planted_rule in rules {
        let mut conversion = planted((planted_rule.from, planted_rule.to), planted_rule, None);
        let converted = name_conversion(&mut conversion).expect("it converts");
        assert_eq!(converted.deviating, 0, "{converted:?}");
        assert!(converted.rule == planted_rule || converted.alike.contains(&planted_rule), "{converted:?}");
    }
    // Declared OCP, but its codes are FNUZ.
    let converted = name_conversion(&mut planted((E4m3, F32), rule(E4m3Fnuz, F32), None)).expect("it converts");
    assert_eq!((converted.rule.from, converted.deviating, converted.all), (E4m3Fnuz, 0, true));
}

#[test]
fn deviating_codes_are_listed() {
    let mut conversion = planted((Format::F16, Format::E4m3), rule(Format::F16, Format::E4m3), Some((0x3C00, 0x39)));
    let converted = name_conversion(&mut conversion).expect("it converts");
    assert_eq!((converted.codes, converted.deviating), (65_536, 1));
    let deviation = converted.deviations[0];
    assert_eq!((deviation.code, deviation.rule, deviation.found), (0x3C00, 0x38, 0x39));
}
