//! How does a program cut, add and round the terms of a step?

use super::build::Build;
use super::sums::{Term, one, rounds_down};
use crate::Rounding;
use crate::arithmetic::output::Output;
use crate::arithmetic::sum::{Align, Sum};

impl Build<'_> {
    /// The sum itself.
    pub(super) fn added(&mut self, sum: &Sum, products: bool, values: &[Term]) -> String {
        let product = "(x.magnitude as Word) * (y.magnitude as Word)";
        let mut text = String::new();
        match &sum.align {
            Align::Exact => {
                let fixed = self.needs.exact.get(sum).copied();
                let (least, wide) = fixed.map_or((0, false), |fixed| (fixed.least, fixed.wide));
                let up = |place: &str| format!("{place} - {least}").replace("- -", "+ ");
                let mut add = |negative: &str, magnitude: &str, place: &str| match wide {
                    true => format!("add_to(&mut limbs, {negative}, {magnitude}, {});\n", up(place)),
                    false => {
                        let drop = format!("{least} - ({place})");
                        let raised = self.cut_of(Rounding::TowardZero, magnitude, &drop, negative, "false");
                        format!("sum += with_sign({negative}, {raised});\n")
                    }
                };
                let of_product = add("x.negative != y.negative", product, "x.place + y.place");
                let of_values: Vec<String> = values
                    .iter()
                    .map(|t| {
                        let z = t.name;
                        one(t, &add(&format!("{z}.negative"), &format!("{z}.magnitude as Word"), &format!("{z}.place")))
                    })
                    .collect();
                text += &match wide {
                    true => "let mut limbs: WideMut = [0; LIMBS];\n".to_owned(),
                    false => format!("// In units of 2^{least}, in which nothing is lost.\nlet mut sum: Sum = 0;\n"),
                };
                if products {
                    text += &self.each_product(&of_product);
                }
                text += &of_values.concat();
                text += &match wide {
                    true => format!("let exact: Total = leading(&mut limbs, {least});\n"),
                    false => format!("let place: i32 = {least};\n"),
                };
            }
            Align::Largest(alignment) => {
                let bits = alignment.fraction_bits;
                let finest = bits.max(alignment.c.map_or(0, |c| c.fraction_bits));
                text += &format!(
                    "// Terms are cut to multiples of 2^grid and added exactly.\nlet grid: i32 = largest - {bits};\nlet mut sum: Sum = 0;\n"
                );
                let raise = |cut: String, bits: u32| {
                    if finest == bits { cut } else { format!("({cut} << {})", finest - bits) }
                };
                if products {
                    let drop = "grid - (x.place + y.place)";
                    let cut = self.cut_of(alignment.cut, product, drop, "x.negative != y.negative", "false");
                    text += &self
                        .each_product(&format!("sum += with_sign(x.negative != y.negative, {});\n", raise(cut, bits)));
                }
                for term in values {
                    let z = term.name;
                    let (negative, magnitude) = (format!("{z}.negative"), format!("{z}.magnitude as Word"));
                    let plain =
                        self.cut_of(alignment.cut, &magnitude, &format!("grid - {z}.place"), &negative, "false");
                    let plain = format!("sum += with_sign({negative}, {});\n", raise(plain, bits));
                    let body = match alignment.c.filter(|_| term.is_c != "false") {
                        None => plain,
                        Some(c) => {
                            let drop = format!("largest - {} - {z}.place", c.fraction_bits);
                            let cut = self.cut_of(c.cut, &magnitude, &drop, &negative, "false");
                            let mut own = format!("sum += with_sign({negative}, {});\n", raise(cut, c.fraction_bits));
                            if let Some(reach) = c.reach {
                                let exponent = self.exponent_of(sum, z);
                                own = format!(
                                    "let far: i32 = largest - {reach};\nlet own: i32 = {exponent};\nif own >= far {{\n{own}}}\n"
                                );
                                own = format!("if {z}.magnitude != 0 {{\n{own}}}\n");
                            }
                            if term.is_c == "true" {
                                own
                            } else {
                                format!("if {} {{\n{own}}} else {{\n{plain}}}\n", term.is_c)
                            }
                        }
                    };
                    text += &one(term, &body);
                }
                if let Some(carry) = alignment.carry_bits {
                    let bits = finest + carry + 1;
                    text += &format!(
                        "// The adder wraps.\nlet span: Sum = (1 as Sum) << {bits};\nsum = sum & (span - 1);\nif sum >= (span >> 1) {{ sum -= span; }}\n"
                    );
                }
                text += &format!("let place: i32 = largest - {finest};\n");
            }
        }
        text
    }

    /// What leaves the step.
    pub(super) fn left(&mut self, sum: &Sum, signs: bool, scaled: bool) -> String {
        let wide = self.needs.exact.get(sum).is_some_and(|fixed| fixed.wide);
        let wide = wide && sum.align == Align::Exact;
        let zero = if wide { "exact.magnitude == 0" } else { "sum == 0" };
        let below = if wide { "exact.negative" } else { "sum < 0" };
        let scaled_away = "scale_a.magnitude == 0 || scale_b.magnitude == 0";
        let zero = if scaled { format!("{zero} || {scaled_away}") } else { zero.to_owned() };
        let sign = match (signs, rounds_down(sum)) {
            (false, _) if scaled => format!("if {scaled_away} {{ false }} else {{ {below} }}"),
            (false, _) => below.to_owned(),
            // The terms' sign where all agree.
            (true, true) => format!("if {zero} {{ negative }} else {{ {below} }}"),
            (true, false) => format!("if {zero} {{ negative && !positive }} else {{ {below} }}"),
        };
        let text = format!("let below: bool = {sign};\n");
        let (mut magnitude, mut place) = match wide {
            true => ("exact.magnitude".to_owned(), "exact.place".to_owned()),
            false => ("(if sum < 0 { -sum } else { sum }) as Word".to_owned(), "place".to_owned()),
        };
        if scaled {
            magnitude = format!("({magnitude}) * ((scale_a.magnitude * scale_b.magnitude) as Word)");
            place = format!("{place} + scale_a.place + scale_b.place");
        }
        match &sum.output {
            Output::Rounded(form) => {
                let round = self.rounder(form);
                let sticky = if wide { "exact.sticky" } else { "false" };
                text + &format!("return {round}({});\n", self.total("below", &magnitude, &place, sticky))
            }
            _ => {
                let exponent = if scaled { "scale_a.exponent + scale_b.exponent" } else { "largest" };
                text + &format!(
                    "return {};\n",
                    self.unrounded("below", &format!("({magnitude}) as u64"), &place, exponent)
                )
            }
        }
    }
}
