//! How is a model said in words?

use super::intake::{Flush, Intake, ScaledPart};
use super::model::{Model, NanRule, NanSource};
use super::node::{CPlace, Chain, Join, JoinOrder, Node, Step};
use super::output::{IntegerOverflow, Output, OverflowTo, Rounded, Subnormals, Vanished};
use super::split::Split;
use super::sum::{Align, Alignment, ProductExponent, Sum, ValueExponent, ZeroProducts, ZeroSign};
use crate::Rounding;
use std::fmt;

impl fmt::Display for Model {
    /// One or two sentences: the steps, what is done to operands, c and output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{}: {}", self.triple.pretty(), node(&self.body));
        if let Some(form) = &self.store {
            text += &format!("; the result {}", rounded(form));
        }
        for (name, taken) in [("a", &self.a), ("b", &self.b), ("c", &self.c)] {
            text += &intake(name, taken);
        }
        if let Some(s) = &self.scales {
            let part = match s.on {
                ScaledPart::Products => "each product",
                ScaledPart::Sums => "the sum of each step",
            };
            text += &format!("; {part} times an {} and an {} scale per {} k", s.a, s.b, s.group);
        }
        if !self.triple.is_integer() {
            text += &nan(&self.nan);
        }
        f.pad(&text)
    }
}

fn node(node: &Node) -> String {
    match node {
        Node::Step(s) => step(s),
        Node::Chain(Chain { split: how, each, late_c }) => {
            let late = late_c.as_ref().map_or(String::new(), |late| {
                format!(
                    ", starting from zero; c joins after {} by a sum {}",
                    count(late.after, "block"),
                    sum(&late.sum)
                )
            });
            format!("[{}] in a chain over {}{late}", self::node(each), split(how))
        }
        Node::Join(Join { split: how, each, order, sum: s }) => {
            let place = |c: &CPlace| match c {
                CPlace::First => ", c first".to_owned(),
                CPlace::After(n) => format!(", c after {}", count(*n, "part")),
                CPlace::Last => ", c last".to_owned(),
                CPlace::Nowhere => String::new(),
            };
            let joined = match order {
                JoinOrder::Together { c: true } => "added together with c".to_owned(),
                JoinOrder::Together { c: false } => "added together".to_owned(),
                JoinOrder::InTurn { c } => format!("added one after another{}", place(c)),
                JoinOrder::Pairwise { c } => format!("added in pairs{}", place(c)),
            };
            format!("[{}] for {}, {joined}, {}", self::node(each), split(how), sum(s))
        }
    }
}

fn step(step: &Step) -> String {
    let c = if step.c { " and c" } else { "" };
    let limit = step.product_limit.map_or(String::new(), |l| format!(" (infinite from 2^{l} on)"));
    format!("products{limit}{c} {}", sum(&step.sum))
}

pub(super) fn sum(sum: &Sum) -> String {
    let zero = if sum.zero == ZeroSign::Ieee { ", zero sums signed as in IEEE 754" } else { "" };
    let output = match &sum.output {
        Output::Unrounded => "left unrounded".to_owned(),
        Output::Rounded(form) => rounded(form),
        Output::Integer(form) => {
            let how = match form.overflow {
                IntegerOverflow::Wrap => "wrapped",
                IntegerOverflow::Saturate => "saturated",
            };
            format!("{how} to {} {} bits", if form.signed { "signed" } else { "unsigned" }, form.bits)
        }
    };
    let align = match &sum.align {
        Align::Exact => "added exactly".to_owned(),
        Align::Largest(alignment) => aligned(alignment),
    };
    format!("{align}, {output}{zero}")
}

fn aligned(a: &Alignment) -> String {
    let mut text = format!("aligned to {} below the largest exponent", count(a.fraction_bits as usize, "bit"));
    if let Some(c) = &a.c {
        text += &format!(" (c to {}, cut {}", count(c.fraction_bits as usize, "bit"), way(c.cut));
        text += &c.reach.map_or(String::new(), |r| format!(", dropped beyond {r}"));
        text += ")";
    }
    text += match a.products {
        ProductExponent::Raw => "",
        ProductExponent::OperandsNormalised => ", operands normalised",
        ProductExponent::Normalised => ", products normalised",
    };
    if a.values == ValueExponent::Normalised {
        text += ", values normalised";
    }
    match a.zero_products {
        ZeroProducts::Ignored => {}
        ZeroProducts::Operand(e) => text += &format!(", zero operands counting as 2^{e}"),
        ZeroProducts::Product(e) => text += &format!(", zero products counting as 2^{e}"),
    }
    if let Some(e) = a.zero_values {
        text += &format!(", zero values counting as 2^{e}");
    }
    if let Some(e) = a.floor {
        text += &format!(", the largest at least 2^{e}");
    }
    if let Some(bits) = a.carry_bits {
        text += &format!(", wrapping at {} above", count(bits as usize, "bit"));
    }
    text + ", cut " + way(a.cut)
}

pub(super) fn rounded(form: &Rounded) -> String {
    let own = form.significant_bits();
    let bits = if own == form.format.precision() { String::new() } else { format!(" of {own} significant bits") };
    let overflow = match form.overflow {
        OverflowTo::Infinity => "",
        OverflowTo::Directed => ", overflowing as the rounding directs",
        OverflowTo::Largest => ", saturated",
    };
    let subnormals = match form.subnormals {
        Subnormals::Keep => "",
        Subnormals::FlushBefore => ", flushed where tiny before rounding",
        Subnormals::FlushAfter => ", flushed where tiny after rounding",
        Subnormals::FlushStored => ", subnormal results flushed",
    };
    let vanished = if form.vanished == Vanished::Positive { ", to +0 where it vanishes" } else { "" };
    format!("rounded to {}{bits} {}{overflow}{subnormals}{vanished}", form.format, way(form.rounding))
}

fn way(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::NearestEven => "to nearest even",
        Rounding::NearestAway => "to nearest, ties away from zero",
        Rounding::TowardZero => "toward zero",
        Rounding::Up => "up",
        Rounding::Down => "down",
        Rounding::Odd => "to odd",
    }
}

pub(super) fn split(split: &Split) -> String {
    match split {
        Split::Whole => "all of k".to_owned(),
        Split::Blocks { of, descending: false } => format!("blocks of {of} k"),
        Split::Blocks { of, descending: true } => format!("blocks of {of} k, the last first"),
        Split::Parts { count } => format!("{count} consecutive parts of k"),
        Split::Strided { count } => format!("k mod {count} = 0, 1, …"),
        Split::Pattern { .. } => split.words(),
    }
}

fn intake(name: &str, intake: &Intake) -> String {
    let mut text = String::new();
    match intake.subnormals {
        Flush::Keep => {}
        Flush::ToSignedZero => text += &format!("; subnormal {name} are zeros of their sign"),
        Flush::ToPositiveZero => text += &format!("; subnormal {name} are +0"),
    }
    if let Some(form) = &intake.convert {
        text += &format!("; {name} {}", rounded(form));
    }
    text
}

fn nan(rule: &NanRule) -> String {
    match rule {
        NanRule::Word(word) => format!("; NaN is {word:#x}"),
        NanRule::First { order, invalid } => {
            let names = order.map(|source| match source {
                NanSource::A => "a",
                NanSource::B => "b",
                NanSource::C => "c",
            });
            format!("; NaN is the first of {}, else {invalid:#x}", names.join(", "))
        }
    }
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
