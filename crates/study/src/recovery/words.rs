//! How are the setting of a parameter and the shape of a tree said in words?

use super::knobs::{Knob, form_at, step, sums};
use rigel_numerics::arithmetic::*;
use serde::Serialize;

/// The setting that a model has for a knob.
pub(super) fn setting(model: &Model, knob: Knob) -> String {
    let mut own = model.clone();
    let alignment = |s: usize| match sums(&mut own.body.clone()).into_iter().nth(s).map(|sum| sum.align.clone()) {
        Some(Align::Largest(alignment)) => Some(alignment),
        _ => None,
    };
    let power = |e: Option<i32>| e.map_or("none".to_owned(), |e| format!("2^{e}"));
    let number = |n: Option<u32>, none: &str| n.map_or(none.to_owned(), |n| n.to_string());
    match knob {
        Knob::Fraction(s) => alignment(s).map_or("exact".to_owned(), |a| a.fraction_bits.to_string()),
        Knob::FractionAndCut(s) => {
            alignment(s).map_or("exact".to_owned(), |a| format!("{} cut {}", a.fraction_bits, name(&a.cut)))
        }
        Knob::Cut(s) => alignment(s).map_or("exact".to_owned(), |a| name(&a.cut)),
        Knob::CFraction(s) => number(alignment(s).and_then(|a| a.c).map(|c| c.fraction_bits), "those of the others"),
        Knob::CCut(s) => alignment(s).and_then(|a| a.c).map_or("that of the others".to_owned(), |c| name(&c.cut)),
        Knob::Reach(s) => number(alignment(s).and_then(|a| a.c).and_then(|c| c.reach), "any"),
        Knob::ProductExponent(s) => alignment(s).map_or("none".to_owned(), |a| name(&a.products)),
        Knob::ValueExponent(s) => alignment(s).map_or("none".to_owned(), |a| name(&a.values)),
        Knob::ZeroProducts(s) => match alignment(s).map(|a| a.zero_products) {
            Some(ZeroProducts::Operand(e)) => format!("operand 2^{e}"),
            Some(ZeroProducts::Product(e)) => format!("product 2^{e}"),
            _ => "none".to_owned(),
        },
        Knob::ZeroValues(s) => power(alignment(s).and_then(|a| a.zero_values)),
        Knob::Floor(s) => power(alignment(s).and_then(|a| a.floor)),
        Knob::Carry(s) => number(alignment(s).and_then(|a| a.carry_bits), "as many as needed"),
        Knob::ZeroSign(s) => sums(&mut own.body).get(s).map_or(String::new(), |sum| name(&sum.zero)),
        Knob::Form(s) | Knob::Integer(s) => match sums(&mut own.body).get(s).map(|sum| sum.output) {
            Some(Output::Rounded(form)) => {
                let format = form.format.name();
                format!("{format} of {} bits rounded {}", form.significant_bits(), name(&form.rounding))
            }
            Some(Output::Integer(form)) => format!("{} bits {}", form.bits, name(&form.overflow)),
            _ => "unrounded".to_owned(),
        },
        Knob::Precision(place) => number(form_at(&mut own, place).map(|form| form.significant_bits()), "no rounding"),
        Knob::Rounding(place) => form_at(&mut own, place).map_or("no rounding".to_owned(), |form| name(&form.rounding)),
        Knob::PrecisionAndRounding(place) => form_at(&mut own, place).map_or("no rounding".to_owned(), |form| {
            format!("{} rounded {}", form.significant_bits(), name(&form.rounding))
        }),
        Knob::Overflow(place) => form_at(&mut own, place).map_or("no rounding".to_owned(), |form| name(&form.overflow)),
        Knob::Subnormals(place) => {
            form_at(&mut own, place).map_or("no rounding".to_owned(), |form| name(&form.subnormals))
        }
        Knob::Vanished(place) => form_at(&mut own, place).map_or("no rounding".to_owned(), |form| name(&form.vanished)),
        Knob::ProductLimit => power(step(&mut own.body).product_limit),
        Knob::Flush(o) => name(&o.intake(&mut own).subnormals),
        Knob::Convert(o) => o.intake(&mut own).convert.map_or("none".to_owned(), |form| converted(&form)),
        Knob::Store | Knob::Later => own.store.map_or("none".to_owned(), |form| converted(&form)),
        Knob::Nan => match own.nan {
            NanRule::Word(word) => format!("{word:#x}"),
            NanRule::First { order, invalid } => {
                format!("the first of {}, else {invalid:#x}", order.map(|source| name(&source)).join(", "))
            }
        },
        Knob::ScaledPart => own.scales.map_or("nothing".to_owned(), |scales| name(&scales.on)),
    }
}

fn converted(form: &Rounded) -> String {
    format!("{} of {} bits rounded {}", form.format, form.significant_bits(), name(&form.rounding))
}

/// The name of a rule as it stands in files, in words.
fn name<T: Serialize>(rule: &T) -> String {
    match serde_json::to_value(rule) {
        Ok(serde_json::Value::String(text)) => text.replace('_', " "),
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

/// A tree of steps without its parameters.
pub(super) fn tree(node: &Node) -> String {
    match node {
        Node::Step(step) => if step.c { "step with c" } else { "step" }.to_owned(),
        Node::Chain(Chain { split, each, late_c }) => {
            let late = late_c.as_ref().map_or(String::new(), |late| format!(", c after {}", late.after));
            format!("chain over {} of ({}){late}", split.words(), tree(each))
        }
        Node::Join(Join { split, each, order, .. }) => {
            let place = |c: &CPlace| match c {
                CPlace::First => "c first".to_owned(),
                CPlace::After(n) => format!("c after {n}"),
                CPlace::Last => "c last".to_owned(),
                CPlace::Nowhere => "without c".to_owned(),
            };
            let order = match order {
                JoinOrder::Together { c: true } => "together with c".to_owned(),
                JoinOrder::Together { c: false } => "together".to_owned(),
                JoinOrder::InTurn { c } => format!("in turn, {}", place(c)),
                JoinOrder::Pairwise { c } => format!("in pairs, {}", place(c)),
            };
            format!("join over {} of ({}) {order}", split.words(), tree(each))
        }
    }
}
