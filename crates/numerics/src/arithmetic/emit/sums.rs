//! How does a program add the terms of one step?

use super::build::Build;
use crate::Rounding;
use crate::arithmetic::intake::ScaledPart;
use crate::arithmetic::model::{NanRule, NanSource};
use crate::arithmetic::output::Output;
use crate::arithmetic::sum::{Align, Alignment, ProductExponent, Sum, ValueExponent, ZeroProducts, ZeroSign};

/// What a sum is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Terms {
    /// Products, and c or not.
    Products { c: bool, limit: Option<i32> },
    /// A list of values, and c or not.
    List { c: bool },
    /// Two values.
    Pair,
}

/// A value among the terms: its name, and whether it is c, as an expression.
pub(super) struct Term {
    pub name: &'static str,
    pub is_c: &'static str,
    /// Whether it is one of a list.
    listed: bool,
}

impl Build<'_> {
    /// Writes the function of a sum and gives its name.
    pub(super) fn sum(&mut self, sum: &Sum, terms: Terms) -> String {
        let name = self.fresh(match terms {
            Terms::Products { .. } => "step",
            Terms::List { .. } => "add_together",
            Terms::Pair => "add",
        });
        let values = values(terms);
        let body = match self.needs.integer {
            true => self.integer_body(sum, terms, &values),
            false => self.floating_body(sum, terms, &values),
        };
        let takes = self.takes(sum, terms);
        let what = match terms {
            Terms::Products { c: true, .. } => "Products and c, ",
            Terms::Products { c: false, .. } => "Products, ",
            Terms::List { c: true } => "Values and c, ",
            Terms::List { c: false } => "Values, ",
            Terms::Pair => "Two values, ",
        };
        let about = crate::arithmetic::describe::sum(sum);
        self.add(&format!("/// {what}{about}.\nfn {name}({takes}) -> Value {{\n{body}}}\n"));
        name
    }

    /// Whether a sum treats c otherwise than other values.
    pub(super) fn marks_c(sum: &Sum) -> bool {
        matches!(&sum.align, Align::Largest(Alignment { c: Some(_), .. }))
    }

    fn takes(&self, sum: &Sum, terms: Terms) -> String {
        let mut text = match terms {
            Terms::Products { .. } if self.needs.order => {
                "inputs: Inputs, order: Order, first: usize, count: usize".to_owned()
            }
            Terms::Products { .. } => "inputs: Inputs, first: usize, count: usize".to_owned(),
            Terms::List { .. } => "values: Values, count: usize".to_owned(),
            Terms::Pair if Self::marks_c(sum) => "x: Value, y: Value, x_is_c: bool, y_is_c: bool".to_owned(),
            Terms::Pair => "x: Value, y: Value".to_owned(),
        };
        if matches!(terms, Terms::Products { c: true, .. } | Terms::List { c: true }) {
            text += ", c: Value";
        }
        text
    }

    fn integer_body(&mut self, sum: &Sum, terms: Terms, values: &[Term]) -> String {
        let mut text = "let mut sum: Sum = 0;\n".to_owned();
        if matches!(terms, Terms::Products { .. }) {
            text += &self.each_product("sum += x * y;\n");
        }
        for term in values {
            text += &one(term, &format!("sum += {};\n", term.name));
        }
        match &sum.output {
            Output::Integer(form) => format!("{text}return {}(sum);\n", self.integer(form)),
            _ => format!("{text}return sum;\n"),
        }
    }

    /// A loop over the products, x and y being the factors of one.
    pub(super) fn each_product(&self, body: &str) -> String {
        let order = if self.needs.order { "order, " } else { "" };
        format!(
            "for i in first..first + count {{\nlet x: Value = element_a(inputs, {order}i);\nlet y: Value = element_b(inputs, {order}i);\n{body}}}\n"
        )
    }

    fn floating_body(&mut self, sum: &Sum, terms: Terms, values: &[Term]) -> String {
        let products = matches!(terms, Terms::Products { .. });
        let limit = if let Terms::Products { limit, .. } = terms { limit } else { None };
        let signs = sum.zero == ZeroSign::Ieee;
        let exponents = matches!(sum.align, Align::Largest(_)) || sum.output == Output::Unrounded;
        let scaled = self.model.scales.filter(|s| products && s.on == ScaledPart::Sums);
        let mut text = String::new();
        if self.needs.special {
            text += &self.first_nan(products, values);
            text += "// Infinities of either sign among the terms.\nlet mut plus: bool = false;\nlet mut minus: bool = false;\n";
        }
        if signs {
            // Where the output rounds down, a zero of both signs is −0, and no term is asked whether it is positive.
            text += if rounds_down(sum) { "" } else { "let mut positive: bool = false;\n" };
            text += "let mut negative: bool = false;\n";
        }
        if exponents {
            text += "// The largest exponent of all terms.\nlet mut largest: i32 = NONE;\n";
        }
        if products {
            let body = self.look_at_product(sum, limit, signs, exponents);
            if !body.is_empty() {
                text += &self.each_product(&body);
            }
        }
        for term in values {
            let body = self.look_at_value(sum, term, signs, exponents);
            text += &one(term, &body);
        }
        if let Some(group) = scaled.map(|s| s.group) {
            let first = if self.needs.order { "order[first]" } else { "first" };
            text += &format!("let group: usize = {first} / {group};\n");
            for side in ["a", "b"] {
                let one = self.value("A_FINITE", "false", "1", "0", "0");
                text += &format!(
                    "let scale_{side}: Value = if group < inputs.groups {{ value_of_scale_{side}(inputs.{side}_scales[group]) }} else {{ {one} }};\n"
                );
            }
        }
        if self.needs.special {
            text += &self.infinite_result(sum, scaled.is_some());
        }
        if let Align::Largest(Alignment { floor: Some(floor), .. }) = &sum.align {
            text += &format!("largest = max(largest, {floor});\n");
        }
        text += &self.added(sum, products, values);
        text + &self.left(sum, signs, scaled.is_some())
    }

    /// The first NaN, where it matters which.
    fn first_nan(&self, products: bool, values: &[Term]) -> String {
        let NanRule::First { order, .. } = self.model.nan else { return String::new() };
        let index = if self.needs.order { "order, i" } else { "i" };
        let mut text = "// The first NaN is the result.\n".to_owned();
        for source in order {
            match source {
                NanSource::A | NanSource::B if products => {
                    let side = if source == NanSource::A { "a" } else { "b" };
                    text += &format!(
                        "for i in first..first + count {{\nlet z: Value = element_{side}(inputs, {index});\nif z.kind == A_NAN {{ return z; }}\n}}\n"
                    );
                }
                NanSource::C => {
                    for term in values {
                        text += &one(term, &format!("if {0}.kind == A_NAN {{ return {0}; }}\n", term.name));
                    }
                }
                NanSource::A | NanSource::B => {}
            }
        }
        text
    }

    /// What is looked at in a product before anything is added.
    fn look_at_product(&self, sum: &Sum, limit: Option<i32>, signs: bool, exponents: bool) -> String {
        let mut text = String::new();
        if self.needs.special {
            if !self.needs.payload {
                text += "if x.kind == A_NAN || y.kind == A_NAN { return NOT_A_NUMBER; }\n";
            }
            let zero = |z: &str| format!("({z}.kind == A_FINITE && {z}.magnitude == 0)");
            text += &format!(
                "if x.kind == AN_INFINITY || y.kind == AN_INFINITY {{\nif {} || {} {{ return NOT_A_NUMBER; }}\nif x.negative != y.negative {{ minus = true; }} else {{ plus = true; }}\n}}\n",
                zero("x"),
                zero("y")
            );
            if let Some(limit) = limit {
                text += &format!(
                    "if x.kind == A_FINITE && y.kind == A_FINITE && x.magnitude != 0 && y.magnitude != 0 {{\n// A product of 2^{limit} or more counts as infinite.\nif x.place + y.place + bit_length((x.magnitude as Word) * (y.magnitude as Word)) - 1 >= {limit} {{\nif x.negative != y.negative {{ minus = true; }} else {{ plus = true; }}\n}}\n}}\n"
                );
            }
        }
        if signs {
            text += &sign_seen(sum, "x.negative != y.negative");
        }
        if exponents {
            let (rule, zeros) = match &sum.align {
                Align::Largest(alignment) => (alignment.products, alignment.zero_products),
                Align::Exact => (ProductExponent::Raw, ZeroProducts::Ignored),
            };
            let raw = "x.exponent + y.exponent";
            let own = match rule {
                ProductExponent::Normalised => {
                    "x.place + y.place + bit_length((x.magnitude as Word) * (y.magnitude as Word)) - 1"
                }
                _ => raw,
            };
            let nonzero = "x.magnitude != 0 && y.magnitude != 0";
            text += &match zeros {
                ZeroProducts::Ignored => format!("if {nonzero} {{ largest = max(largest, {own}); }}\n"),
                ZeroProducts::Product(e) => {
                    format!("largest = max(largest, if {nonzero} {{ {own} }} else {{ {e} }});\n")
                }
                ZeroProducts::Operand(_) if own == raw => format!("largest = max(largest, {raw});\n"),
                ZeroProducts::Operand(_) => {
                    format!("largest = max(largest, if {nonzero} {{ {own} }} else {{ {raw} }});\n")
                }
            };
        }
        text
    }

    /// What is looked at in a value before anything is added.
    fn look_at_value(&self, sum: &Sum, term: &Term, signs: bool, exponents: bool) -> String {
        let z = term.name;
        let mut text = String::new();
        if self.needs.special {
            if !self.needs.payload {
                text += &format!("if {z}.kind == A_NAN {{ return NOT_A_NUMBER; }}\n");
            }
            text += &format!(
                "if {z}.kind == AN_INFINITY {{\nif {z}.negative {{ minus = true; }} else {{ plus = true; }}\n}}\n"
            );
        }
        if signs {
            text += &sign_seen(sum, &format!("{z}.negative"));
        }
        if exponents {
            text += &format!("largest = max(largest, {});\n", self.exponent_of(sum, z));
        }
        text
    }

    /// The exponent with which a value takes part in alignment.
    pub(super) fn exponent_of(&self, sum: &Sum, z: &str) -> String {
        let Align::Largest(alignment) = &sum.align else { return format!("{z}.exponent") };
        let zero = alignment.zero_values.map_or("NONE".to_owned(), |e| e.to_string());
        match alignment.values {
            ValueExponent::Raw if self.needs.unrounded => {
                format!("if {z}.magnitude == 0 && !{z}.unrounded {{ {zero} }} else {{ {z}.exponent }}")
            }
            ValueExponent::Raw => format!("if {z}.magnitude == 0 {{ {zero} }} else {{ {z}.exponent }}"),
            ValueExponent::Normalised => {
                let own = format!("{z}.place + bit_length({z}.magnitude as Word) - 1");
                format!("if {z}.magnitude == 0 {{ {zero} }} else {{ {own} }}")
            }
        }
    }

    /// What a sum with infinities among its terms gives.
    fn infinite_result(&mut self, sum: &Sum, scaled: bool) -> String {
        let mut text = String::new();
        if scaled {
            // Whichever of the two is NaN is the result; an infinity times a zero scale is none.
            let of = |side: &str| if self.needs.payload { format!("scale_{side}") } else { "NOT_A_NUMBER".to_owned() };
            text += &format!(
                "if plus && minus {{ return NOT_A_NUMBER; }}\nif scale_a.kind == A_NAN {{ return {}; }}\nif scale_b.kind == A_NAN {{ return {}; }}\n",
                of("a"),
                of("b")
            );
            text +=
                "if (plus || minus) && (scale_a.magnitude == 0 || scale_b.magnitude == 0) { return NOT_A_NUMBER; }\n";
        } else {
            text += "if plus && minus { return NOT_A_NUMBER; }\n";
        }
        let infinite = match &sum.output {
            Output::Rounded(form) => self.infinite(form, "minus"),
            _ => self.value("AN_INFINITY", "minus", "0", "0", "NONE"),
        };
        text + &format!("if plus || minus {{ return {infinite}; }}\n")
    }
}

pub(super) fn rounds_down(sum: &Sum) -> bool {
    matches!(sum.output, Output::Rounded(form) if form.rounding == Rounding::Down)
}

/// Notes the sign of a term.
fn sign_seen(sum: &Sum, is_negative: &str) -> String {
    let otherwise = if rounds_down(sum) { "" } else { " else { positive = true; }" };
    format!("if {is_negative} {{ negative = true; }}{otherwise}\n")
}

/// The values among the terms of a sum.
fn values(terms: Terms) -> Vec<Term> {
    let c = Term { name: "c", is_c: "true", listed: false };
    match terms {
        Terms::Products { c: true, .. } => vec![c],
        Terms::Products { c: false, .. } => Vec::new(),
        Terms::List { c: with_c } => {
            let mut all = vec![Term { name: "z", is_c: "false", listed: true }];
            if with_c {
                all.push(c);
            }
            all
        }
        Terms::Pair => {
            vec![Term { name: "x", is_c: "x_is_c", listed: false }, Term { name: "y", is_c: "y_is_c", listed: false }]
        }
    }
}

/// A body for one term, or a loop over those of a list.
pub(super) fn one(term: &Term, body: &str) -> String {
    match term.listed {
        true => format!("for i in 0..count {{\nlet {}: Value = values[i];\n{body}}}\n", term.name),
        false => body.to_owned(),
    }
}
