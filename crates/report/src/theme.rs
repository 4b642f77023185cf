//! Which colours, lines and letters do drawings and pages use, in light and in dark?
//!
//! Hues follow the colour-blind-safe palette of Okabe and Ito, darkened or lightened until they stand out from the
//! paper; none carries a meaning alone: shape, dash or a word always says the same.

use std::fmt::Write as _;

/// A colour by its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// The ground.
    Paper,
    /// Text and ceilings.
    Text,
    /// Secondary text, axis labels.
    Quiet,
    /// Grid lines and rules.
    Grid,
    /// Bands and matrix fields.
    Field,
    /// What a run measured (or a simulated run produced).
    Measured,
    /// What was derived from rows.
    Derived,
    /// What a vendor states.
    Stated,
    /// What others published.
    Published,
    /// A check that said no.
    Bad,
}

impl Ink {
    /// Every ink.
    pub const ALL: [Ink; 10] = [
        Ink::Paper,
        Ink::Text,
        Ink::Quiet,
        Ink::Grid,
        Ink::Field,
        Ink::Measured,
        Ink::Derived,
        Ink::Stated,
        Ink::Published,
        Ink::Bad,
    ];

    /// Its CSS name: the custom property is `--name`.
    pub const fn name(self) -> &'static str {
        match self {
            Ink::Paper => "paper",
            Ink::Text => "text",
            Ink::Quiet => "quiet",
            Ink::Grid => "grid",
            Ink::Field => "field",
            Ink::Measured => "measured",
            Ink::Derived => "derived",
            Ink::Stated => "stated",
            Ink::Published => "published",
            Ink::Bad => "bad",
        }
    }

    /// Its colour on light paper.
    pub const fn light(self) -> &'static str {
        match self {
            Ink::Paper => "#ffffff",
            Ink::Text => "#1c1c1a",
            Ink::Quiet => "#5e5d58",
            Ink::Grid => "#dcdbd5",
            Ink::Field => "#f3f2ee",
            Ink::Measured => "#0072b2",
            Ink::Derived => "#00755a",
            Ink::Stated => "#b84600",
            Ink::Published => "#a0497a",
            Ink::Bad => "#b03a00",
        }
    }

    /// Its colour on dark paper.
    pub const fn dark(self) -> &'static str {
        match self {
            Ink::Paper => "#171716",
            Ink::Text => "#ecebe6",
            Ink::Quiet => "#a6a59e",
            Ink::Grid => "#3a3936",
            Ink::Field => "#232321",
            Ink::Measured => "#56b4e9",
            Ink::Derived => "#35c39a",
            Ink::Stated => "#f08a4b",
            Ink::Published => "#dc9cc4",
            Ink::Bad => "#f08a4b",
        }
    }
}

/// Fonts of a drawing and of a page, best first; all are present on the system or not asked for.
pub const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// How a drawing's classes look, by custom properties. A stand-alone drawing and a page share these rules.
const RULES: &str = "\
text{font-size:12px;fill:var(--text)}
.quiet{fill:var(--quiet)}.small{font-size:11px}.strong{font-weight:600}.head{font-size:16px;font-weight:600}
.number{font-variant-numeric:tabular-nums}
.fill-text{fill:var(--text)}.fill-field{fill:var(--field)}.fill-paper{fill:var(--paper)}.fill-grid{fill:var(--grid)}
.fill-measured{fill:var(--measured)}.fill-derived{fill:var(--derived)}.fill-published{fill:var(--published)}
.pale-measured{fill:var(--measured);fill-opacity:.38}.pale-derived{fill:var(--derived);fill-opacity:.35}
.line{fill:none;stroke-linecap:butt}
.grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--quiet);stroke-width:1}.ink{stroke:var(--text);stroke-width:1.5}
.ceiling{stroke:var(--text);stroke-width:2}.limit{stroke:var(--text);stroke-width:1;stroke-dasharray:5 3}
.stated{stroke:var(--stated);stroke-width:1.75;stroke-dasharray:3 2}
.measured{stroke:var(--measured);stroke-width:1.5}.derived{stroke:var(--derived);stroke-width:1.5}
.published{stroke:var(--published);stroke-width:1.5}.bad{stroke:var(--bad);stroke-width:1.75}
.trend{stroke:var(--measured);stroke-width:1;stroke-opacity:.45}
.strip{fill:none;stroke:var(--measured);stroke-width:2.2;stroke-linecap:round;stroke-opacity:.5}
.hollow{fill:var(--paper)}
.watermark{font-size:40px;font-weight:700;letter-spacing:.14em;fill:var(--stated);fill-opacity:.13}
.stamp{fill:var(--stated);font-weight:600;letter-spacing:.06em}
";

/// The custom properties of both themes, on `selector`; print always takes the light one.
fn properties(selector: &str) -> String {
    let all = |pick: fn(Ink) -> &'static str| -> String {
        Ink::ALL.iter().fold(String::new(), |mut s, ink| {
            write!(s, "--{}:{};", ink.name(), pick(*ink)).unwrap_or(());
            s
        })
    };
    format!(
        "{selector}{{{}}}\n@media screen and (prefers-color-scheme:dark){{{selector}{{{}}}}}\n",
        all(Ink::light),
        all(Ink::dark)
    )
}

/// The style sheet inside a stand-alone drawing.
pub fn drawing_css() -> String {
    format!("{}svg{{font-family:{FONTS};color-scheme:light dark}}\n{RULES}", properties(":root"))
}

/// What a page needs for the drawings inside it: custom properties on the root, then the rules of the classes.
pub fn page_css() -> String {
    format!("{}{RULES}", properties(":root"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("two hex digits")) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn everything_read_stands_out_from_the_paper() {
        let read = [Ink::Text, Ink::Quiet, Ink::Measured, Ink::Derived, Ink::Stated, Ink::Published, Ink::Bad];
        for ink in read {
            for pick in [Ink::light, Ink::dark] {
                for ground in [Ink::Paper, Ink::Field] {
                    let c = contrast(pick(ink), pick(ground));
                    assert!(c >= 4.5, "{} on {}: {c:.2}", ink.name(), ground.name());
                }
            }
        }
    }

    #[test]
    fn rules_name_only_inks_that_exist() {
        for part in RULES.split("var(--").skip(1) {
            let name = part.split(')').next().unwrap_or_default();
            assert!(Ink::ALL.iter().any(|ink| ink.name() == name), "no ink is called `{name}`");
        }
    }
}
