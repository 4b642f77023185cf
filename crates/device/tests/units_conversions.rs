//! Do the processor's conversions give what is documented, and planted ones what is planted?

use proptest::prelude::*;
use rigel_device::cpu::Cpu;
use rigel_device::sim::{SimDevice, Truth, draw_conversion};
use rigel_device::unit::Conversion;
use rigel_device::{Absent, Device, backends};
use rigel_numerics::{Format, Overflow, Rounding};

/// The conversion, or a line that says why it is left out.
fn cpu(name: &str) -> Option<Box<dyn Conversion>> {
    match Cpu::new().conversion(name) {
        Ok(conversion) => Some(conversion),
        Err(Absent(reason)) => {
            eprintln!("left out: {reason}");
            None
        }
    }
}

fn encode(format: Format, value: f64) -> u64 {
    format.encode(value, Rounding::NearestEven, Overflow::Ieee)
}

/// Codes of f32 around everything that a 16-bit format can round to: every value, the middle to the next one, and one
/// place on either side of both.
fn around(format: Format) -> Vec<u64> {
    let singles = (0..=0xFFFFu64).filter(|&code| format.is_finite(code)).flat_map(|code| {
        let value = format.decode(code);
        let next = format.decode(code + 1);
        let middle = if next.is_finite() { (value + next) / 2.0 } else { value * 1.5 };
        [value as f32, middle as f32]
    });
    singles
        .flat_map(|x| {
            let code = x.to_bits();
            [code, code.wrapping_add(1), code.wrapping_sub(1)].map(u64::from)
        })
        .collect()
}

#[test]
fn f16_to_f32_is_exact_for_every_code_and_makes_nan_quiet() {
    let codes: Vec<u64> = (0..=0xFFFF).collect();
    for name in ["vcvtph2ps", "packing f16"] {
        let Some(mut conversion) = cpu(name) else { continue };
        let given = conversion.convert(&codes).unwrap();
        for (&code, &single) in codes.iter().zip(&given) {
            if Format::F16.is_nan(code) {
                let kept = (code & 0x8000) << 16 | 0x7F80_0000 | (code & 0x3FF) << 13;
                let quiet = if name == "vcvtph2ps" { 0x0040_0000 } else { 0 };
                assert_eq!(single, kept | quiet, "{name} {code:#06x}");
            } else {
                assert_eq!(single, encode(Format::F32, Format::F16.decode(code)), "{name} {code:#06x}");
            }
        }
    }
}

#[test]
fn packing_converts_every_code_of_8_and_16_bits_exactly() {
    for (name, format) in
        [("packing bf16", Format::Bf16), ("packing e4m3", Format::E4m3), ("packing e5m2", Format::E5m2)]
    {
        let mut conversion = cpu(name).unwrap();
        let codes: Vec<u64> = (0..=format.code_mask()).collect();
        for (code, single) in codes.iter().zip(conversion.convert(&codes).unwrap()) {
            let value = format.decode(*code);
            let nan = value.is_nan() && Format::F32.is_nan(single);
            assert!(nan || single == encode(Format::F32, value), "{name} {code:#06x} gives {single:#010x}");
        }
    }
}

#[test]
fn f32_to_f16_rounds_to_nearest_even_around_every_code() {
    let Some(mut conversion) = cpu("vcvtps2ph") else { return };
    let codes = around(Format::F16);
    for (&code, half) in codes.iter().zip(conversion.convert(&codes).unwrap()) {
        let value = Format::F32.decode(code);
        let expected =
            if value.is_nan() { code >> 16 & 0x8000 | 0x7E00 | code >> 13 & 0x3FF } else { encode(Format::F16, value) };
        assert_eq!(half, expected, "{code:#010x}");
    }
}

#[test]
fn f32_to_bf16_rounds_to_nearest_even_around_every_code_and_takes_subnormals_as_zero() {
    let Some(mut conversion) = cpu("vcvtneps2bf16") else { return };
    let mut codes = around(Format::Bf16);
    codes.extend([0x7F80_0001, 0xFF80_0001, 0x7FC0_0000, 0xFFFF_FFFF, 0x7F80_0000, 0xFF80_0000]);
    for (&code, narrow) in codes.iter().zip(conversion.convert(&codes).unwrap()) {
        let value = Format::F32.decode(code);
        let expected = match value {
            nan if nan.is_nan() => code >> 16 | 0x40,
            tiny if tiny.abs() < Format::F32.min_normal() => code >> 16 & 0x8000,
            value => encode(Format::Bf16, value),
        };
        assert_eq!(narrow, expected, "{code:#010x}");
    }
}

#[test]
fn conversions_take_any_number_of_codes_and_unknown_names_are_refused() {
    for spec in Cpu::new().conversions() {
        let Some(mut conversion) = cpu(&spec.name) else { continue };
        let codes: Vec<u64> = (0..37).collect();
        let all = conversion.convert(&codes).unwrap();
        for n in [0, 1, 16, 17, 37] {
            assert_eq!(conversion.convert(&codes[..n]).unwrap(), all[..n], "{}", spec.name);
        }
    }
    let said = Cpu::new().conversion("vcvtph2pd").err().unwrap().to_string();
    assert!(said.contains("`vcvtph2pd`") && said.contains("vcvtph2ps"), "{said}");
}

fn sim(name: &str) -> Box<dyn Conversion> {
    backends::open("sim:units").unwrap().conversion(name).unwrap()
}

#[test]
fn built_in_conversions_do_what_their_names_say_for_every_code() {
    let all = |name: &str| {
        let mut conversion = sim(name);
        let mask = conversion.spec().from.code_mask();
        conversion.convert(&(0..=mask).collect::<Vec<u64>>()).unwrap()
    };
    let (plain, hardware) = (all("f16 to f32"), cpu("vcvtph2ps"));
    if let Some(mut hardware) = hardware {
        assert_eq!(plain, hardware.convert(&(0..=0xFFFF).collect::<Vec<u64>>()).unwrap());
    }
    for (code, (saturating, not)) in
        all("f16 to e4m3, saturating").into_iter().zip(all("f16 to e4m3, not saturating")).enumerate()
    {
        let value = Format::F16.decode(code as u64);
        let clamped = if value.is_nan() { 0x7F } else { encode(Format::E4m3, value.clamp(-448.0, 448.0)) };
        assert_eq!(saturating, clamped, "{code:#06x}");
        let beyond = value.is_infinite() || Format::E4m3.is_nan(encode(Format::E4m3, value));
        assert_eq!(Format::E4m3.is_nan(not), value.is_nan() || beyond, "{code:#06x}");
    }
    let (fnuz, ocp) = (all("e4m3_fnuz to f16"), all("e4m3 to f16"));
    // The same code stands for half the value, and one code for NaN in place of -0.
    assert_eq!(Format::F16.decode(ocp[0x38]), 2.0 * Format::F16.decode(fnuz[0x38]));
    assert!(Format::F16.is_nan(fnuz[0x80]) && ocp[0x80] == 0x8000 && ocp[0x7F] == 0x7FFF);
    let flushed = all("f16 to e5m2, stored subnormals flushed");
    assert!(flushed.iter().all(|&code| code & 0x7C != 0 || code & 3 == 0));
    let (low, high) = (all("e2m1 to f16"), all("e2m1 to f16, high nibble first"));
    assert!((0..16).all(|i| low[i] == high[i ^ 1]));
    let (right, wrong) = (all("e5m2 to f16"), all("e5m2 to f16, two codes wrong"));
    let differ: Vec<usize> = (0..256).filter(|&i| right[i] != wrong[i]).collect();
    assert_eq!(differ, [0x3C, 0xFB]);
}

#[test]
fn bf16_by_instruction_is_the_planted_one_that_flushes() {
    let Some(mut hardware) = cpu("vcvtneps2bf16") else { return };
    let codes = around(Format::Bf16);
    assert_eq!(hardware.convert(&codes).unwrap(), sim("f32 to bf16, flushing").convert(&codes).unwrap());
}

#[test]
fn impossible_conversions_in_a_truth_name_key_and_line() {
    let good = rigel_device::sim::BUILT_IN.iter().find(|(name, _)| *name == "units").unwrap().1;
    for (from, to, words) in [
        ("nan = { word = 127 }", "nan = { word = 300 }", &["conversion[2].nan.word", "300", "0 to 255"][..]),
        ("nibbles = \"high-first\"", "nibbles = \"sideways\"", &["sideways", "high-first"]),
        ("subnormals_out = \"flush_stored\"", "subnormals_out = \"drop\"", &["drop", "flush_before"]),
        ("from = \"e2m1\"", "from = \"e9m9\"", &["e9m9", "e2m1"]),
        ("exceptions = [[0x3c,", "exceptions = [[0x13c,", &["conversion[10].exceptions[0]", "0 to 255"]),
        ("name = \"e2m1 to f16\"", "name = \"e5m2 to f16\"", &["conversion[8].name", "each name once"]),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let said = Truth::parse(&bad).unwrap_err().to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
}

proptest! {
    /// A drawn conversion is a function of its truth: the same after TOML, and code by code what it is in a batch.
    #[test]
    fn drawn_conversions_are_their_truth(seed in any::<u64>(), codes in prop::collection::vec(any::<u64>(), 2..40)) {
        let (mut conversion, planted) = draw_conversion(seed).unwrap();
        let text = rigel_device::sim::BUILT_IN[0].1;
        let mut truth = Truth::parse(text).unwrap();
        truth.conversions.push(planted.clone());
        let mut device = SimDevice::new(Truth::parse(&truth.to_toml()).unwrap()).unwrap();
        let again = device.conversion(&planted.name).unwrap().convert(&codes).unwrap();
        let given = conversion.convert(&codes).unwrap();
        prop_assert_eq!(&given, &again);
        prop_assert!(given.iter().all(|&code| code <= planted.to.code_mask()));
        // Pairs may change places, and nothing else looks beyond its own code.
        let pair = conversion.convert(&codes[..2]).unwrap();
        prop_assert_eq!(&pair[..], &given[..2]);
    }
}
