//! Which colour has a lane?
//!
//! Hue from the lowest three bits of the lane, lightness from the next two, saturation from the two above: neighbours in a
//! quad or pair differ most, and 128 lanes are 128 colours; lanes beyond repeat them. Text stands out from every one, on light
//! and on dark paper. Colour only helps the eye: numbers, or tooltips and the enlarged corner, say the same.

use std::fmt::Write as _;

/// Hues in degrees, far apart and in an order that sets neighbours apart.
const HUES: [u32; 8] = [210, 35, 150, 330, 265, 60, 185, 5];
/// Lightness in percent of the four steps.
const LIGHT: [u32; 4] = [88, 80, 73, 94];
const DARK: [u32; 4] = [22, 18, 14, 10];
/// Saturation in percent of the four steps.
const SATURATION: [u32; 4] = [62, 34, 85, 14];
const COLOURS: usize = 128;

/// The class of a lane's fields.
pub(super) fn of_lane(lane: usize) -> String {
    format!("lane-{}", lane % COLOURS)
}

/// Rules of the classes that a layout of so many lanes needs, in both themes.
pub(super) fn colour_rules(lanes: usize) -> String {
    let rules = |lightness: &[u32; 4]| {
        (0..lanes.min(COLOURS)).fold(String::new(), |mut text, lane| {
            let (r, g, b) = colour(lane, lightness);
            write!(text, ".lane-{lane}{{fill:#{r:02x}{g:02x}{b:02x}}}").unwrap_or(());
            text
        })
    };
    format!("{}\n@media screen and (prefers-color-scheme:dark){{{}}}\n", rules(&LIGHT), rules(&DARK))
}

fn colour(lane: usize, lightness: &[u32; 4]) -> (u32, u32, u32) {
    rgb(HUES[lane % 8], SATURATION[lane / 32 % 4], lightness[lane / 8 % 4])
}

/// From hue in degrees and saturation and lightness in percent, in whole numbers.
fn rgb(hue: u32, saturation: u32, lightness: u32) -> (u32, u32, u32) {
    let chroma = saturation * lightness.min(100 - lightness);
    let channel = |turn: u32| {
        // Twelfths of the circle, times 10 000 for fractions.
        let k = (turn * 300_000 + hue * 10_000) / 30 % 120_000;
        let rise = (k as i64 - 30_000).min(90_000 - k as i64).clamp(-10_000, 10_000);
        let level = i64::from(lightness) * 100 - i64::from(chroma) * rise / 10_000;
        ((level * 255 + 5_000) / 10_000).clamp(0, 255) as u32
    };
    (channel(0), channel(8), channel(4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Ink;

    fn luminance((r, g, b): (u32, u32, u32)) -> f64 {
        let channel = |value: u32| {
            let c = f64::from(value) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b)
    }

    fn hex(text: &str) -> (u32, u32, u32) {
        let part = |at: usize| u32::from_str_radix(&text[at..at + 2], 16).expect("two hex digits");
        (part(1), part(3), part(5))
    }

    #[test]
    fn text_stands_out_from_every_lane() {
        for (lightness, ink) in [(&LIGHT, Ink::Text.light()), (&DARK, Ink::Text.dark())] {
            for lane in 0..COLOURS {
                let (one, other) = (luminance(colour(lane, lightness)), luminance(hex(ink)));
                let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                assert!(contrast >= 4.5, "lane {lane} on {ink}: {contrast:.2}");
            }
        }
    }

    #[test]
    fn lanes_have_colours_of_their_own() {
        for lightness in [&LIGHT, &DARK] {
            let all: std::collections::HashSet<_> = (0..COLOURS).map(|lane| colour(lane, lightness)).collect();
            assert_eq!(all.len(), COLOURS);
        }
    }

    #[test]
    fn pure_hues_are_what_they_are_called() {
        assert_eq!(rgb(0, 100, 50), (255, 0, 0));
        assert_eq!(rgb(120, 100, 50), (0, 255, 0));
        assert_eq!(rgb(240, 100, 50), (0, 0, 255));
        assert_eq!(rgb(60, 0, 50), (128, 128, 128));
    }
}
