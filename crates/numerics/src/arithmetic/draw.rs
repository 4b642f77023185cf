//! Which model of the family does a seed stand for?
//!
//! Planted devices and property tests draw models from here. Every shape of node, every rule and every width that the
//! family has comes up, alone and together; what real hardware does is not more likely than what it could do.

use super::intake::{Intake, ScaledPart};
use super::model::{Model, NanRule};
use super::node::{CPlace, Chain, Join, JoinOrder, LateC, Node, Step};
use super::output::{IntegerOutput, IntegerOverflow, Output};
use super::split::Split;
use super::sum::{Align, Sum, ZeroSign};
use crate::random::{below, stream};
use crate::{Format, Triple};

/// The model that a seed stands for, for a triple; it passes [`Model::check`].
///
/// `None` for triples that no model has: integers mixed with floats, unsigned outputs.
pub fn draw_model(seed: u64, triple: Triple) -> Option<Model> {
    // Some draws ask for sums wider than the evaluator's; the next one takes their place.
    (0..64).find_map(|attempt| {
        let mut dice = Dice { stream: stream(seed, attempt), thrown: 0 };
        let model = if triple.is_integer() { dice.integer_model(triple) } else { dice.floating_model(triple) };
        model.check().is_ok().then_some(model)
    })
}

/// A stream of draws.
pub(super) struct Dice {
    stream: u64,
    thrown: u64,
}

impl Dice {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.thrown += 1;
        below(self.stream, self.thrown, bound)
    }

    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    pub(super) fn between(&mut self, least: i32, most: i32) -> i32 {
        least + self.below((most - least + 1) as u64) as i32
    }

    fn floating_model(&mut self, triple: Triple) -> Model {
        let n = self.of(&[1usize, 2, 3, 4, 8, 16, 32]);
        let narrow = triple.a.bits() <= 8 && triple.b.bits() <= 8;
        let scales = (narrow && self.one_in(4)).then(|| self.scales(n));
        let scaled_sums = scales.is_some_and(|s| s.on == ScaledPart::Sums);
        let body = self.body(triple, n, scaled_sums);
        let store = self.one_in(2).then(|| self.rounded(triple.c, true));
        let mut intake = |format: Format| if scales.is_some() { Intake::default() } else { self.intake(format) };
        let (a, b, c) = (intake(triple.a), intake(triple.b), intake(triple.c));
        let nan = self.nan(triple.c);
        let k = n * self.of(&[1usize, 1, 2, 4]);
        Model { triple, k, a, b, c, scales, body, store, nan }
    }

    fn body(&mut self, triple: Triple, n: usize, scaled_sums: bool) -> Node {
        let between = if self.one_in(3) { self.of(&[Format::F16, Format::F32, Format::Bf16]) } else { triple.c };
        let shape = if scaled_sums { self.below(3) } else { self.below(8) };
        let split = if scaled_sums { Split::blocks(n) } else { self.split(n) };
        match shape {
            0..=2 => {
                let each = Box::new(self.step(between, false, true).into());
                let order = match self.below(3) {
                    0 => JoinOrder::Together { c: true },
                    1 => JoinOrder::InTurn { c: self.place() },
                    _ => JoinOrder::Pairwise { c: self.place() },
                };
                let join = Node::Join(Join { split, each, order, sum: self.sum(between, false) });
                if scaled_sums { join } else { join.chained(n * 2) }
            }
            3 => {
                // An instruction emulated by another: its steps from zero, c added apart.
                let each = Box::new(Node::Chain(Chain {
                    split,
                    each: Box::new(self.step(between, true, false).into()),
                    late_c: None,
                }));
                let (order, sum) = (JoinOrder::Together { c: true }, self.sum(between, false));
                Node::Join(Join { split: Split::Whole, each, order, sum }).chained(n * 4)
            }
            4 => {
                let late_c = Some(LateC { after: self.below(4) as usize, sum: self.sum(between, false) });
                Node::Chain(Chain { split, each: Box::new(self.step(between, true, false).into()), late_c })
            }
            5 => {
                let each = Node::Chain(Chain {
                    split: Split::blocks(n),
                    each: Box::new(self.step(between, true, false).into()),
                    late_c: None,
                });
                let split = Split::Parts { count: self.of(&[2, 3, 4]) };
                let order = JoinOrder::InTurn { c: CPlace::First };
                Node::Join(Join { split, each: Box::new(each), order, sum: self.sum(between, false) })
            }
            _ => Node::Chain(Chain { split, each: Box::new(self.step(between, true, false).into()), late_c: None }),
        }
    }

    fn place(&mut self) -> CPlace {
        match self.below(3) {
            0 => CPlace::First,
            1 => CPlace::After(self.below(4) as usize),
            _ => CPlace::Last,
        }
    }

    fn split(&mut self, n: usize) -> Split {
        match self.below(6) {
            0 => Split::Blocks { of: n, descending: true },
            1 => Split::Strided { count: n.max(2) },
            2 => Split::Pattern { parts: vec![vec![0, 1], vec![2, 3]] },
            3 => Split::Pattern { parts: vec![vec![2, 0], vec![1, 3, 4]] },
            _ => Split::blocks(n),
        }
    }

    fn integer_model(&mut self, triple: Triple) -> Model {
        let n = self.of(&[1usize, 2, 4, 8, 16]);
        let bits = triple.c.bits();
        let wide = self.integer_sum(bits, triple);
        let narrow_bits = self.between(bits as i32 / 2, bits as i32) as u32;
        let step = |c, sum| Box::new(Node::Step(Step { c, product_limit: None, sum }));
        let body = match self.below(3) {
            0 => Node::Chain(Chain { split: self.split(n), each: step(true, wide), late_c: None }),
            1 => {
                let inner = self.integer_sum(narrow_bits, triple);
                let order = JoinOrder::Together { c: true };
                Node::Join(Join { split: self.split(n), each: step(false, inner), order, sum: wide }).chained(2 * n)
            }
            _ => {
                let each = step(true, wide.clone());
                let late_c = Some(LateC { after: self.below(3) as usize, sum: wide });
                Node::Chain(Chain { split: self.split(n), each, late_c })
            }
        };
        let plain = Intake::default();
        Model { triple, k: n, a: plain, b: plain, c: plain, scales: None, body, store: None, nan: NanRule::Word(0) }
    }

    fn integer_sum(&mut self, bits: u32, triple: Triple) -> Sum {
        let overflow = self.of(&IntegerOverflow::ALL);
        let form = IntegerOutput { bits, signed: triple.c.is_signed(), overflow };
        Sum { align: Align::Exact, zero: ZeroSign::Positive, output: Output::Integer(form) }
    }
}
