//! How does a program round a sum to the form that leaves a step?

use super::build::Build;
use super::needs::{layout, name_of, specials};
use super::read::fill;
use crate::Rounding;
use crate::arithmetic::output::{IntegerOutput, IntegerOverflow, OverflowTo, Rounded, Subnormals, Vanished};
use crate::format::Specials;

/// What a form comes to in numbers.
struct Numbers {
    precision: i32,
    least: i32,
    top: i32,
    most: u64,
}

impl Numbers {
    fn of(form: &Rounded) -> Numbers {
        let precision = form.significant_bits();
        let Some(place) = layout(form.format) else { return Numbers { precision: 1, least: 0, top: 0, most: 1 } };
        let bits = place.fields.fraction_bits;
        let fraction = place.max_magnitude & ((1 << bits) - 1);
        let own = precision == form.format.precision();
        Numbers {
            precision: precision as i32,
            least: place.min_exponent,
            top: (place.max_magnitude >> bits) as i32 - place.fields.bias,
            most: if own { fraction | 1 << bits } else { u64::MAX >> (64 - precision) },
        }
    }
}

impl Build<'_> {
    /// The name of the function that drops low bits of a magnitude by a rounding.
    pub(super) fn cut(&mut self, rounding: Rounding) -> String {
        let name = format!("cut_{}", name_of(rounding));
        let signed = directed(rounding);
        let sticky = self.sticky() && rounding != Rounding::TowardZero;
        let (up, about) = match rounding {
            Rounding::TowardZero => ("", "cut toward zero"),
            Rounding::NearestEven => {
                ("rest > half || (rest == half && ($more(kept & 1) == 1))", "rounded to nearest, ties to even")
            }
            Rounding::NearestAway => ("rest >= half", "rounded to nearest, ties away from zero"),
            Rounding::Up => ("!negative && (rest != 0$or)", "rounded up"),
            Rounding::Down => ("negative && (rest != 0$or)", "rounded down"),
            Rounding::Odd => ("(kept & 1) == 0 && (rest != 0$or)", "rounded to odd: what is dropped sets the last bit"),
        };
        if self.made(&name) {
            return name;
        }
        let sticky = sticky && rounding != Rounding::NearestAway;
        let up = fill(
            up,
            &[("more", if sticky { "sticky || " } else { "" }), ("or", if sticky { " || sticky" } else { "" })],
        );
        let width = if self.needs.double { 127 } else { 63 };
        let takes = format!(
            "magnitude: Word, drop: i32{}{}",
            if signed { ", negative: bool" } else { "" },
            if sticky { ", sticky: bool" } else { "" }
        );
        let far = if self.needs.unbounded { "drop".to_owned() } else { format!("min(drop, {width})") };
        let body = if rounding == Rounding::TowardZero {
            format!("return magnitude >> {far};\n")
        } else {
            format!(
                "let far: i32 = {far};\nlet kept: Word = magnitude >> far;\nlet rest: Word = magnitude - (kept << far);\n{}return if {up} {{ kept + 1 }} else {{ kept }};\n",
                if up.contains("half") { "let half: Word = (1 as Word) << (far - 1);\n" } else { "" }
            )
        };
        self.add(&format!(
            "/// A magnitude without its lowest `drop` bits, {about}; more bits where `drop` is negative.\nfn {name}({takes}) -> Word {{\nif magnitude == 0 {{ return 0; }}\nif drop <= 0 {{ return magnitude << -drop; }}\n{body}}}\n"
        ));
        name
    }

    /// A call of [`Build::cut`].
    pub(super) fn cut_of(
        &mut self,
        rounding: Rounding,
        magnitude: &str,
        drop: &str,
        negative: &str,
        sticky: &str,
    ) -> String {
        let name = self.cut(rounding);
        let mut call = format!("{name}({magnitude}, {drop}");
        if directed(rounding) {
            call += &format!(", {negative}");
        }
        if self.sticky() && !matches!(rounding, Rounding::TowardZero | Rounding::NearestAway) {
            call += &format!(", {sticky}");
        }
        call + ")"
    }

    /// The name of the function that rounds a sum to a form.
    pub(super) fn rounder(&mut self, form: &Rounded) -> String {
        let number = self.number_of_form(form);
        let name = format!("round_to_{}{number}", form.format);
        if self.made(&name) {
            return name;
        }
        let Numbers { precision, least, top, most } = Numbers::of(form);
        let cut = |build: &mut Self, place: &str| {
            let drop = format!("({place}) - total.place");
            build.cut_of(
                form.rounding,
                "total.magnitude",
                &drop,
                "total.negative",
                if build.sticky() { "total.sticky" } else { "false" },
            )
        };
        let zero = self.value("A_FINITE", "total.negative", "0", "0", &least.to_string());
        let sign = if form.vanished == Vanished::KeepsSign { "total.negative" } else { "false" };
        let vanished = self.value("A_FINITE", sign, "0", "0", &least.to_string());
        let mut text = format!(
            "if total.magnitude == 0 {{ return {zero}; }}\nlet lead: i32 = total.place + bit_length(total.magnitude) - 1;\n"
        );
        if form.subnormals == Subnormals::FlushBefore {
            text += &format!("if lead < {least} {{ return {vanished}; }}\n");
        }
        if form.subnormals == Subnormals::FlushAfter {
            let free = cut(self, &format!("lead - {}", precision - 1));
            text += &format!(
                "if lead < {least} {{\n// As if exponents had no lower end.\nlet free: Word = {free};\nif lead - {} + bit_length(free) - 1 < {least} {{ return {vanished}; }}\n}}\n",
                precision - 1
            );
        }
        text += &format!("let mut place: i32 = max(lead, {least}) - {};\n", precision - 1);
        text += &format!("let mut kept: Word = {};\n", cut(self, "place"));
        if form.subnormals == Subnormals::FlushStored && precision > 1 {
            text += &format!("if (kept >> {}) == 0 {{ return {vanished}; }}\n", precision - 1);
        } else {
            text += &format!("if kept == 0 {{ return {vanished}; }}\n");
        }
        text += &format!("if (kept >> {precision}) != 0 {{\nkept = kept >> 1;\nplace += 1;\n}}\n");
        text += &format!("let exponent: i32 = place + {};\n", precision - 1);
        let over = if most == u64::MAX >> (64 - precision) {
            format!("exponent > {top}")
        } else {
            format!("exponent > {top} || (exponent == {top} && kept > {most:#x})")
        };
        let overflowed = self.overflowed(form, "total.negative");
        text += &format!("if {over} {{ return {overflowed}; }}\n");
        let value = self.value("A_FINITE", "total.negative", "kept as u64", "place", "exponent");
        let about = crate::arithmetic::describe::rounded(form);
        self.add(&format!("/// A sum, {about}.\nfn {name}(total: Total) -> Value {{\n{text}return {value};\n}}\n"));
        name
    }

    /// What a finite sum beyond the largest value of a form becomes.
    fn overflowed(&mut self, form: &Rounded, negative: &str) -> String {
        let (largest, beyond) = (self.largest(form, negative), self.beyond(form, negative));
        match (form.overflow, form.rounding) {
            (OverflowTo::Infinity, _) => beyond,
            (OverflowTo::Largest, _) | (OverflowTo::Directed, Rounding::TowardZero) => largest,
            (OverflowTo::Directed, Rounding::NearestEven | Rounding::NearestAway) => beyond,
            (OverflowTo::Directed, Rounding::Odd) if Numbers::of(form).most & 1 == 0 => beyond,
            (OverflowTo::Directed, Rounding::Odd) => largest,
            (OverflowTo::Directed, Rounding::Up) => format!("if {negative} {{ {largest} }} else {{ {beyond} }}"),
            (OverflowTo::Directed, Rounding::Down) => format!("if {negative} {{ {beyond} }} else {{ {largest} }}"),
        }
    }

    /// What an infinite sum becomes in a form.
    pub(super) fn infinite(&mut self, form: &Rounded, negative: &str) -> String {
        if form.overflow == OverflowTo::Largest { self.largest(form, negative) } else { self.beyond(form, negative) }
    }

    fn beyond(&mut self, form: &Rounded, negative: &str) -> String {
        match specials(form.format) {
            Specials::Ieee => self.value("AN_INFINITY", negative, "0", "0", "NONE"),
            Specials::AllOnesNan | Specials::NegativeZeroNan if self.needs.payload => {
                self.value("A_NAN", negative, "0x8000000000000000", "0", "NONE")
            }
            Specials::AllOnesNan | Specials::NegativeZeroNan => "NOT_A_NUMBER".to_owned(),
            Specials::None => self.largest(form, negative),
        }
    }

    fn largest(&self, form: &Rounded, negative: &str) -> String {
        let Numbers { precision, top, most, .. } = Numbers::of(form);
        self.value("A_FINITE", negative, &format!("{most:#x}"), &(top - precision + 1).to_string(), &top.to_string())
    }

    /// The name of the function that brings an integer sum to its width.
    pub(super) fn integer(&mut self, form: &IntegerOutput) -> String {
        let IntegerOutput { bits, signed, overflow } = *form;
        let sign = if signed { "signed" } else { "unsigned" };
        let word = match overflow {
            IntegerOverflow::Wrap => "wrap",
            IntegerOverflow::Saturate => "saturate",
        };
        let name = format!("{word}_to_{sign}_{bits}");
        if self.made(&name) {
            return name;
        }
        let past = |bits: u32| format!("((1 as Sum) << {bits})");
        let body = match (overflow, signed) {
            (IntegerOverflow::Wrap, false) => format!("return sum & ({} - 1);\n", past(bits)),
            (IntegerOverflow::Wrap, true) => format!(
                "let residue: Sum = sum & ({} - 1);\nreturn if residue >= {} {{ residue - {} }} else {{ residue }};\n",
                past(bits),
                past(bits - 1),
                past(bits)
            ),
            (IntegerOverflow::Saturate, _) => {
                let (least, past) = if signed {
                    (format!("-{}", past(bits - 1)), past(bits - 1))
                } else {
                    ("0".to_owned(), past(bits))
                };
                format!(
                    "if sum < {least} {{ return {least}; }}\nreturn if sum >= {past} {{ {past} - 1 }} else {{ sum }};\n"
                )
            }
        };
        let about = match overflow {
            IntegerOverflow::Wrap => "modulo its width",
            IntegerOverflow::Saturate => "clamped to the ends of its range",
        };
        self.add(&format!("/// A sum as {sign} {bits} bits, {about}.\nfn {name}(sum: Sum) -> Value {{\n{body}}}\n"));
        name
    }
}

fn directed(rounding: Rounding) -> bool {
    matches!(rounding, Rounding::Up | Rounding::Down)
}
