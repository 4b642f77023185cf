//! How does a program take codes apart and put them together?

use super::build::Build;
use super::needs::{layout, specials};
use super::read::fill;
use crate::Format;
use crate::arithmetic::intake::{Flush, Intake};
use crate::arithmetic::model::NanRule;
use crate::arithmetic::sum::{Align, ProductExponent, ZeroProducts};
use crate::format::Specials;

/// What a code is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A factor, whose exponent follows the rules of products.
    Operand,
    /// c, or a scale.
    Value,
}

impl Build<'_> {
    /// Writes the function that gives the value of a code.
    pub(super) fn decoder(&mut self, name: &str, what: &str, format: Format, intake: &Intake, role: Role) {
        let text = match layout(format) {
            None => integer(format),
            Some(_) => self.floating(format, intake, role),
        };
        let of = if intake.convert.is_some() { format!("{format}, converted") } else { format.to_string() };
        let about = format!("/// The value of {what}, whose format is {of}.");
        self.add(&format!("{about}\nfn {name}(code: u64) -> Value {{\n{text}}}\n"));
    }

    fn floating(&mut self, format: Format, intake: &Intake, role: Role) -> String {
        let Some(place) = layout(format) else { return String::new() };
        let fields = place.fields;
        let bits = fields.fraction_bits;
        let numbers = |text: &str| {
            fill(
                text,
                &[
                    ("sign", &(place.ignored + bits + fields.exponent_bits).to_string()),
                    ("top", &hex((1 << fields.exponent_bits) - 1)),
                    ("shift", &(place.ignored + bits).to_string()),
                    ("ones", &hex((1 << bits) - 1)),
                    ("low", &place.ignored.to_string()),
                    ("hidden", &hex(1 << bits)),
                    ("bias", &fields.bias.to_string()),
                    ("bits", &bits.to_string()),
                ],
            )
        };
        let mut text = match fields.sign_bits {
            0 => numbers("let field: i32 = ((code >> $shift) & $top) as i32;\n"),
            _ => numbers(
                "let negative: bool = ((code >> $sign) & 1) == 1;\nlet field: i32 = ((code >> $shift) & $top) as i32;\n",
            ),
        };
        let negative = if fields.sign_bits == 0 { "false" } else { "negative" };
        if bits > 0 {
            text += &numbers(match place.ignored {
                0 => "let fraction: u64 = code & $ones;\n",
                _ => "let fraction: u64 = (code >> $low) & $ones;\n",
            });
        }
        let nan = match (self.needs.payload, bits) {
            (false, _) => "NOT_A_NUMBER".to_owned(),
            (true, 0) => self.value("A_NAN", negative, "0x8000000000000000", "0", "NONE"),
            (true, _) => {
                let fraction = format!("(fraction << {}) | 0x8000000000000000", 64 - bits);
                self.value("A_NAN", negative, &fraction, "0", "NONE")
            }
        };
        let infinite = match &intake.convert {
            Some(form) => self.infinite(form, negative),
            None => self.value("AN_INFINITY", negative, "0", "0", "NONE"),
        };
        text += &match (specials(format), bits) {
            (Specials::Ieee, _) => {
                numbers(&format!("if field == $top {{\nif fraction != 0 {{ return {nan}; }}\nreturn {infinite};\n}}\n"))
            }
            (Specials::AllOnesNan, 0) => numbers(&format!("if field == $top {{ return {nan}; }}\n")),
            (Specials::AllOnesNan, _) => {
                numbers(&format!("if field == $top && fraction == $ones {{ return {nan}; }}\n"))
            }
            (Specials::NegativeZeroNan, _) => {
                format!("if negative && field == 0 && fraction == 0 {{ return {nan}; }}\n")
            }
            (Specials::None, _) => String::new(),
        };
        if bits == 0 {
            let exponent = numbers("field - $bias");
            return format!("{text}return {};\n", self.value("A_FINITE", negative, "1", &exponent, &exponent));
        }
        let zero_exponent = self.zero_exponent(role);
        match intake.subnormals {
            Flush::Keep => {}
            flush => {
                let sign = if flush == Flush::ToSignedZero { negative } else { "false" };
                let zero = match &intake.convert {
                    // A zero has the exponent that its form gives it.
                    _ if role == Role::Operand => self.value("A_FINITE", sign, "0", "0", &zero_exponent),
                    _ => self.value("A_FINITE", sign, "0", "0", "NONE"),
                };
                text += &format!("if field == 0 && fraction != 0 {{ return {zero}; }}\n");
            }
        }
        text += &numbers(
            "let magnitude: u64 = if field == 0 { fraction } else { fraction | $hidden };\nlet exponent: i32 = max(field, 1) - $bias;\n",
        );
        let place = numbers("exponent - $bits");
        match &intake.convert {
            Some(form) => {
                let round = self.rounder(form);
                let total = self.total(negative, "magnitude as Word", &place, "false");
                if role == Role::Value {
                    return format!("{text}return {round}({total});\n");
                }
                text += &format!("let value: Value = {round}({total});\n");
                let exponent = self.operand_exponent("value", &zero_exponent);
                let kept = match (self.needs.special, exponent.as_str()) {
                    (_, "value.exponent") => "value".to_owned(),
                    (true, _) => {
                        let value =
                            self.value("A_FINITE", "value.negative", "value.magnitude", "value.place", &exponent);
                        text += "if value.kind != A_FINITE { return value; }\n";
                        value
                    }
                    (false, _) => self.value("A_FINITE", "value.negative", "value.magnitude", "value.place", &exponent),
                };
                format!("{text}return {kept};\n")
            }
            None => {
                let mut exponent = "exponent".to_owned();
                if role == Role::Operand {
                    if self.product_exponent() == ProductExponent::OperandsNormalised {
                        text += &format!("let place: i32 = {place};\n");
                        exponent = "place + bit_length(magnitude as Word) - 1".to_owned();
                    }
                    if zero_exponent != "NONE" {
                        exponent = format!("if magnitude == 0 {{ {zero_exponent} }} else {{ {exponent} }}");
                    }
                }
                format!("{text}return {};\n", self.value("A_FINITE", negative, "magnitude", &place, &exponent))
            }
        }
    }

    /// The exponent of a factor that may have been normalised, or be zero.
    fn operand_exponent(&self, value: &str, zero: &str) -> String {
        let own = match self.product_exponent() {
            ProductExponent::OperandsNormalised => format!("{value}.place + bit_length({value}.magnitude as Word) - 1"),
            _ => format!("{value}.exponent"),
        };
        if zero == "NONE" { own } else { format!("if {value}.magnitude == 0 {{ {zero} }} else {{ {own} }}") }
    }

    /// The exponent rule of products.
    pub(super) fn product_exponent(&self) -> ProductExponent {
        match &self.model.body.step().sum.align {
            Align::Largest(alignment) => alignment.products,
            Align::Exact => ProductExponent::Raw,
        }
    }

    /// The exponent of a zero.
    pub(super) fn zero_exponent(&self, role: Role) -> String {
        match &self.model.body.step().sum.align {
            Align::Largest(alignment) if role == Role::Operand => match alignment.zero_products {
                ZeroProducts::Operand(e) => e.to_string(),
                _ => "NONE".to_owned(),
            },
            _ => "NONE".to_owned(),
        }
    }

    /// Writes the function that gives the code of the result.
    pub(super) fn encoder(&mut self) {
        let format = self.model.triple.c;
        let Some(place) = layout(format) else {
            let mask = hex(format.code_mask());
            self.add(&format!(
                "/// The code of a result: {format}.\nfn code_of(value: Value) -> u64 {{\nreturn (value as u64) & {mask};\n}}\n"
            ));
            return;
        };
        let bits = place.fields.fraction_bits;
        let sign = place.ignored + bits + place.fields.exponent_bits;
        let code = |magnitude: u64| hex(magnitude << place.ignored);
        let signed = |magnitude: &str| format!("sign | {magnitude}");
        let mut text = String::new();
        if self.needs.special {
            let above = place.max_magnitude + 1;
            let nan = match (self.model.nan, format.nan_code(), specials(format)) {
                (NanRule::Word(word), ..) => hex(word),
                (NanRule::First { invalid, .. }, None, _) => hex(invalid),
                (_, Some(_), Specials::Ieee) => {
                    let fraction = format!("(value.magnitude >> {}) << {}", 64 - bits, place.ignored);
                    format!("(sign | {}) + ({fraction})", code(above))
                }
                (_, Some(_), Specials::AllOnesNan) => signed(&code(above)),
                (_, Some(nan), _) => hex(nan),
            };
            let infinity = match format.infinity_code(false) {
                Some(infinity) => hex(infinity),
                None => code(place.max_magnitude),
            };
            text += &format!(
                "if value.kind == A_NAN {{ return {nan}; }}\nif value.kind == AN_INFINITY {{ return {}; }}\n",
                signed(&infinity)
            );
        }
        let zero = if place.has_negative_zero() { "sign" } else { "0" };
        let least = place.min_exponent;
        text += &format!(
            "if value.magnitude == 0 {{ return {zero}; }}\nlet exponent: i32 = max(value.exponent, {least});\nlet shift: i32 = value.place - (exponent - {bits});\nlet significand: u64 = if shift >= 0 {{ value.magnitude << shift }} else {{ value.magnitude >> -shift }};\n"
        );
        let steps = format!("(((exponent - {least}) as u64) << {bits}) + significand").replace("- -", "+ ");
        let magnitude =
            if place.ignored == 0 { format!("({steps})") } else { format!("(({steps}) << {})", place.ignored) };
        text += &format!("return {};\n", signed(&magnitude));
        self.add(&format!(
            "/// The code of a result: {format}.\nfn code_of(value: Value) -> u64 {{\nlet sign: u64 = if value.negative {{ {} }} else {{ 0 }};\n{text}}}\n",
            hex(1 << sign)
        ));
    }
}

/// The body of a decoder of integers.
fn integer(format: Format) -> String {
    let (mask, bits) = (hex(format.code_mask()), format.bits());
    if !format.is_signed() {
        return format!("return (code & {mask}) as Value;\n");
    }
    format!(
        "let low: Value = (code & {mask}) as Value;\nreturn if low >= ((1 as Sum) << {}) {{ low - ((1 as Sum) << {bits}) }} else {{ low }};\n",
        bits - 1
    )
}

/// A number: decimal where small, hexadecimal where it is a pattern of bits.
pub(super) fn hex(number: u64) -> String {
    if number < 10 { number.to_string() } else { format!("0x{number:x}") }
}
