//! What does a program for one model need, and what can be left out?

use crate::arithmetic::analysis::{Products, Span};
use crate::arithmetic::intake::Intake;
use crate::arithmetic::model::{Model, NanRule};
use crate::arithmetic::node::{JoinOrder, Node};
use crate::arithmetic::output::{Output, Rounded};
use crate::arithmetic::split::Split;
use crate::arithmetic::sum::{Align, Sum};
use crate::codec::Layout;
use crate::format::Specials;
use crate::{Format, Rounding};
use std::collections::HashMap;

/// Bits of a sum that a machine word of 64 bits is used for.
const NARROW: i32 = 62;
/// Bits of a sum that 128 bits are used for.
const DOUBLE: i32 = 124;

/// What a program needs.
#[derive(Debug, Clone)]
pub(super) struct Needs<'a> {
    /// The longest row.
    pub most_k: usize,
    /// Integers grow as needed, as in Python.
    pub unbounded: bool,
    /// The model is one of integers.
    pub integer: bool,
    /// Some value can be an infinity or NaN.
    pub special: bool,
    /// NaN keep their fractions.
    pub payload: bool,
    /// Some sum leaves a step unrounded.
    pub unrounded: bool,
    /// Elements are taken in an order that is not ascending.
    pub order: bool,
    /// Magnitudes have 128 bits, not 64.
    pub double: bool,
    /// Some exact sum needs more, and so many 32-bit limbs.
    pub limbs: usize,
    /// Of every exact sum the place of its lowest unit, and whether it needs limbs.
    pub exact: HashMap<&'a Sum, Fixed>,
}

/// A sum in units of one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fixed {
    pub least: i32,
    pub wide: bool,
}

/// Bounds on values: multiples of 2^least, below 2^top.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least: i32,
    top: i32,
    unrounded: bool,
}

struct Walk<'a> {
    products: Products,
    scale: Option<Products>,
    bits: i32,
    spans: HashMap<&'a Sum, (i32, i32)>,
}

impl<'a> Needs<'a> {
    pub(super) fn of(model: &'a Model, most_k: usize, unbounded: bool) -> Needs<'a> {
        let t = model.triple;
        let (products, scale) = Products::of_model(model);
        let c = Span::of(t.c, &model.c);
        let bits = products.bits as i32;
        let mut walk = Walk { products, scale, bits, spans: HashMap::new() };
        walk.node(&model.body, most_k, Bounds { least: c.least, top: c.top, unrounded: false });
        let mut exact = HashMap::new();
        let mut limbs = 0;
        for (sum, (least, top)) in walk.spans {
            let wide = top - least > DOUBLE && !unbounded;
            if wide {
                // One limb for the carry into the sign, one that an addition may touch.
                limbs = limbs.max((top - least) as usize / 32 + 2);
            } else {
                walk.bits = walk.bits.max(top - least);
            }
            exact.insert(sum, Fixed { least, wide });
        }
        let floating = !t.is_integer();
        let mut outputs = Vec::new();
        sums(&model.body, &mut |sum| outputs.push(sum.output));
        Needs {
            most_k,
            unbounded,
            integer: !floating,
            special: floating && formats(model).into_iter().any(|f| specials(f) != Specials::None),
            payload: floating && matches!(model.nan, NanRule::First { .. }),
            unrounded: floating && outputs.contains(&Output::Unrounded),
            order: reorders(&model.body),
            double: !unbounded && (walk.bits > NARROW || limbs > 0),
            limbs,
            exact,
        }
    }
}

/// Formats in which values of a model are held.
fn formats(model: &Model) -> Vec<Format> {
    let mut all = vec![model.triple.a, model.triple.b, model.triple.c];
    all.extend(model.scales.iter().flat_map(|s| [s.a, s.b]));
    all.extend([model.a, model.b, model.c].iter().filter_map(|intake| intake.convert).map(|form| form.format));
    all.extend(model.store.map(|form| form.format));
    sums(&model.body, &mut |sum| {
        if let Output::Rounded(form) = sum.output {
            all.push(form.format);
        }
    });
    all
}

/// What the extreme codes of a format mean; integers have none.
pub(super) fn specials(format: Format) -> Specials {
    format.floating().map_or(Specials::None, |f| f.specials)
}

/// Every sum of a node, outer ones last.
fn sums<'a>(node: &'a Node, see: &mut impl FnMut(&'a Sum)) {
    match node {
        Node::Step(step) => see(&step.sum),
        Node::Chain(chain) => {
            sums(&chain.each, see);
            chain.late_c.iter().for_each(|late| see(&late.sum));
        }
        Node::Join(join) => {
            sums(&join.each, see);
            see(&join.sum);
        }
    }
}

/// Whether a node takes its indices in an order that is not one of blocks.
fn reorders(node: &Node) -> bool {
    let of = |split: &Split| matches!(split, Split::Strided { .. } | Split::Pattern { .. });
    match node {
        Node::Step(_) => false,
        Node::Chain(chain) => of(&chain.split) || reorders(&chain.each),
        Node::Join(join) => of(&join.split) || reorders(&join.each),
    }
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Node, length: usize, c: Bounds) -> Bounds {
        let zero = Bounds { least: 0, top: 0, unrounded: false };
        let lengths = |split: &Split| {
            let all: Vec<usize> = (0..length).collect();
            split.divide(&all).iter().map(Vec::len).collect::<Vec<_>>()
        };
        match node {
            Node::Step(step) => {
                let terms: &[Bounds] = if step.c { &[c] } else { &[] };
                self.sum(&step.sum, length, terms)
            }
            Node::Chain(chain) => {
                let blocks = lengths(&chain.split);
                let late = chain.late_c.as_ref().map(|late| (late.after.min(blocks.len()), late));
                let mut value = if late.is_some() { zero } else { c };
                for done in 0..=blocks.len() {
                    if let Some((_, late)) = late.filter(|&(after, _)| after == done) {
                        value = self.sum(&late.sum, 0, &[value, c]);
                    }
                    if let Some(&block) = blocks.get(done) {
                        value = self.node(&chain.each, block, value);
                    }
                }
                value
            }
            Node::Join(join) => {
                let mut parts: Vec<Bounds> =
                    lengths(&join.split).into_iter().map(|part| self.node(&join.each, part, zero)).collect();
                parts.push(c);
                match join.order {
                    JoinOrder::Together { .. } => self.sum(&join.sum, 0, &parts),
                    // Whatever the order, every sum is one of two of these or of earlier sums.
                    JoinOrder::InTurn { .. } | JoinOrder::Pairwise { .. } => {
                        let first = parts[0];
                        parts[1..].iter().fold(first, |value, &part| {
                            let pair = self.sum(&join.sum, 0, &[part, c]);
                            let next = self.sum(&join.sum, 0, &[value, part]);
                            widest(widest(value, pair), next)
                        })
                    }
                }
            }
        }
    }

    fn sum(&mut self, sum: &'a Sum, products: usize, terms: &[Bounds]) -> Bounds {
        let count = products + terms.len();
        let growth = (usize::BITS - count.saturating_sub(1).leading_zeros()) as i32 + 1;
        let all = terms.iter().copied().chain((products > 0).then_some(Bounds {
            least: self.products.least,
            top: self.products.top,
            unrounded: false,
        }));
        let mut whole = all.reduce(widest).unwrap_or(Bounds { least: 0, top: 0, unrounded: false });
        let unrounded = whole.unrounded;
        whole.top += growth;
        match &sum.align {
            Align::Exact => {
                let span = self.spans.entry(sum).or_insert((whole.least, whole.top));
                *span = (span.0.min(whole.least), span.1.max(whole.top));
            }
            Align::Largest(alignment) => {
                let finest = alignment.fraction_bits.max(alignment.c.map_or(0, |c| c.fraction_bits)) as i32;
                let scale = if products > 0 { self.scale.map_or(0, |s| s.bits as i32) } else { 0 };
                let bits = finest + 3 + growth + scale;
                self.bits = self.bits.max(if unrounded { NARROW + 1 } else { bits });
                whole.least -= finest;
            }
        }
        if let Some(scale) = self.scale.filter(|_| products > 0) {
            self.bits = self.bits.max(NARROW + 1);
            (whole.least, whole.top) = (whole.least + scale.least, whole.top + scale.top);
        }
        match &sum.output {
            Output::Unrounded => Bounds { unrounded: true, ..whole },
            Output::Rounded(form) => rounded(form),
            Output::Integer(form) => Bounds { least: 0, top: form.bits as i32, unrounded: false },
        }
    }
}

fn widest(x: Bounds, y: Bounds) -> Bounds {
    Bounds { least: x.least.min(y.least), top: x.top.max(y.top), unrounded: x.unrounded || y.unrounded }
}

fn rounded(form: &Rounded) -> Bounds {
    let span = Span::of(form.format, &Intake { convert: Some(*form), ..Intake::default() });
    Bounds { least: span.least, top: span.top, unrounded: false }
}

/// Where a format's fields lie.
pub(super) fn layout(format: Format) -> Option<Layout> {
    Layout::of(format)
}

/// A rounding as part of a function's name.
pub(super) fn name_of(rounding: Rounding) -> &'static str {
    match rounding {
        Rounding::NearestEven => "to_nearest_even",
        Rounding::NearestAway => "to_nearest_away",
        Rounding::TowardZero => "toward_zero",
        Rounding::Up => "up",
        Rounding::Down => "down",
        Rounding::Odd => "to_odd",
    }
}
