//! Do scale groups keep the laws of OCP MX 1.0 and of NVFP4?

use proptest::prelude::*;
use rigel_numerics::Format;
use rigel_numerics::block::{MX_GROUP, MxElement, MxGroup, NVFP4_GROUP, Nvfp4Group};

/// Distance from v to the value of the nearest code that quantising uses times `scale`, all exact for these formats.
fn nearest_distance(format: Format, implied: f64, scale: f64, v: f64) -> f64 {
    (0..=format.code_mask())
        .filter(|&c| format.is_finite(c) && (format, c) != (Format::I8, 0x80))
        .map(|c| (v - format.decode(c) * implied * scale).abs())
        .fold(f64::INFINITY, f64::min)
}

fn values() -> impl Strategy<Value = [f64; MX_GROUP]> {
    let value = prop_oneof![1 => Just(0.0), 8 => (-(1i64 << 30)..1 << 30, -60i32..20).prop_map(|(s, e)| s as f64 * 2f64.powi(e))];
    prop::array::uniform32(value)
}

proptest! {
    #[test]
    fn mx_follows_the_reference_conversion(values in values()) {
        let amax = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for element in MxElement::ALL {
            let group = MxGroup::quantise(element, &values);
            let scale = Format::E8m0.decode(group.scale.into());
            if amax > 0.0 {
                let floor = amax.log2().floor() as i32;
                prop_assert_eq!(scale, 2f64.powi((floor - element.max_exponent()).clamp(-127, 127)));
            }
            let implied = 2f64.powi(element.implied_exponent());
            for (v, back) in values.iter().zip(group.decode()) {
                prop_assert_eq!((v - back).abs(), nearest_distance(element.format(), implied, scale, *v), "{:?} {}", element, v);
            }
        }
    }

    #[test]
    fn mx_is_idempotent(values in values()) {
        for element in MxElement::ALL {
            let once = MxGroup::quantise(element, &values).decode();
            prop_assert_eq!(MxGroup::quantise(element, &once).decode(), once, "{:?}", element);
        }
    }

    #[test]
    fn nvfp4_takes_the_nearest_scale_and_elements(values in values(), tensor in 1e-6f32..1e6) {
        let values: [f64; NVFP4_GROUP] = values[..NVFP4_GROUP].try_into().unwrap();
        let group = Nvfp4Group::quantise(tensor, &values);
        let amax = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let scale = Format::Ue4m3.decode(group.scale.into());
        // The scale's neighbours are no nearer to amax / (6 · tensor); products of these few bits are exact.
        let unit = 6.0 * f64::from(tensor);
        for other in (0..0x7F).map(|c| Format::Ue4m3.decode(c)) {
            let midpoint = (scale + other) / 2.0 * unit;
            let nearest = if other < scale { midpoint <= amax } else { other == scale || amax <= midpoint };
            prop_assert!(nearest, "scale {} against {}", scale, other);
        }
        let step = scale * f64::from(tensor);
        for (v, back) in values.iter().zip(group.decode(tensor)) {
            let magnitude = back.abs() / if step > 0.0 { step } else { 1.0 };
            for other in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0] {
                let midpoint = (magnitude + other) / 2.0 * step;
                let nearest = if other < magnitude { midpoint <= v.abs() } else { other == magnitude || v.abs() <= midpoint };
                prop_assert!(nearest || step == 0.0, "{} became {}", v, back);
            }
            prop_assert!(back == 0.0 || (back < 0.0) == (*v < 0.0));
        }
    }
}

#[test]
fn a_nan_scale_makes_the_whole_group_nan() {
    for element in MxElement::ALL {
        let group = MxGroup { element, scale: 0xFF, codes: [1; MX_GROUP] };
        assert!(group.decode().iter().all(|v| v.is_nan()), "{element:?}");
        for poison in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut values = [1.0; MX_GROUP];
            values[17] = poison;
            assert_eq!(MxGroup::quantise(element, &values).scale, 0xFF, "{element:?}");
        }
    }
    let group = Nvfp4Group { scale: 0x7F, codes: [1; NVFP4_GROUP] };
    assert!(group.decode(1.0).iter().all(|v| v.is_nan()));
    for tensor in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert_eq!(Nvfp4Group::quantise(tensor, &[1.0; NVFP4_GROUP]).scale, 0x7F, "{tensor}");
    }
}

#[test]
fn corners_of_the_scale() {
    // The known weakness of the floor rule: 7 lies between the largest E2M1 value and the next power of two.
    let mut values = [0.0; MX_GROUP];
    values[0] = 7.0;
    let group = MxGroup::quantise(MxElement::E2m1, &values);
    assert_eq!((group.scale, group.decode()[0]), (127, 6.0));
    let zeros = MxGroup::quantise(MxElement::E4m3, &[-0.0; MX_GROUP]);
    assert_eq!((zeros.scale, zeros.codes), (0, [0x80; MX_GROUP]), "the least scale, zeros with their sign");
    let tiny = MxGroup::quantise(MxElement::E4m3, &[2f64.powi(-130); MX_GROUP]);
    assert_eq!((tiny.scale, tiny.decode()[0]), (0, 2f64.powi(-130)));
    let huge = MxGroup::quantise(MxElement::E2m1, &[1e300; MX_GROUP]);
    assert_eq!((huge.scale, huge.decode()[0]), (0xFE, 6.0 * 2f64.powi(127)));
    assert_eq!(MxGroup::quantise(MxElement::Int8, &[-1.999; MX_GROUP]).decode()[0], -1.984375, "-2 stays unused");
    let fits = Nvfp4Group::tensor_scale(448.0 * 6.0);
    assert_eq!((fits, Nvfp4Group::quantise(fits, &[2688.0; 16]).decode(fits)), (1.0, [2688.0; 16]));
    assert_eq!([0.0, f64::NAN].map(Nvfp4Group::tensor_scale), [1.0, 1.0]);
}
