//! Which questions bring out one behaviour of a step after another?
//!
//! Ladders of exponents over one, two and three terms show widths, cuts, floors and roundings; edges, zeros and specials show
//! corners; whole rows of the six distributions show what the steps come to together. A question is a function of a
//! seed and a number.

use super::dice::Dice;
use super::question::{Question, scale_of_one};
pub(super) use super::scope::Scope;
use super::terms::Maker;
use rigel_device::unit::UnitSpec;
use rigel_numerics::Format;
use rigel_numerics::arithmetic::Distribution;
use rigel_numerics::random::draw;

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// One product and nothing else, over the whole range of exponents.
    Product,
    /// c and nothing else.
    Addend,
    /// One product and c, some places apart.
    ProductAndC,
    /// Two products, some places apart.
    TwoProducts,
    /// Two large terms that cancel, and small ones.
    Cancelled,
    /// A large term, and many small ones of one size.
    Crumbs,
    /// A zero multiplied by something, beside a term.
    ZeroProduct,
    /// Sums near the largest finite value, and partial sums beyond it.
    Edge,
    /// Terms near the least normal value of the output and below.
    Tiny,
    /// Zeros of both signs.
    Zeros,
    /// One or two infinities or NaN with their payloads, among ordinary terms.
    Special,
    /// A whole row.
    Whole(Distribution),
}

impl Subject {
    /// Every subject with its weight in a pool of questions.
    pub(super) const ALL: [(Subject, usize); 17] = [
        (Subject::Product, 12),
        (Subject::Addend, 6),
        (Subject::ProductAndC, 12),
        (Subject::TwoProducts, 12),
        (Subject::Cancelled, 10),
        (Subject::Crumbs, 6),
        (Subject::ZeroProduct, 6),
        (Subject::Edge, 4),
        (Subject::Tiny, 6),
        (Subject::Zeros, 3),
        (Subject::Special, 5),
        (Subject::Whole(Distribution::Normal), 6),
        (Subject::Whole(Distribution::RandomBits), 4),
        (Subject::Whole(Distribution::Cancellation), 6),
        (Subject::Whole(Distribution::Ladder), 6),
        (Subject::Whole(Distribution::Subnormal), 4),
        (Subject::Whole(Distribution::Specials), 4),
    ];

    /// The subject of question number `index` of a pool.
    pub(super) fn of(index: usize) -> Subject {
        let total: usize = Subject::ALL.iter().map(|s| s.1).sum();
        // Steps that have no factor in common with the total: subjects alternate.
        let mut left = index * 41 % total;
        for (subject, weight) in Subject::ALL {
            if left < weight {
                return subject;
            }
            left -= weight;
        }
        Subject::Whole(Distribution::Normal)
    }
}

/// Question number `index` of the pool of a seed.
pub(super) fn pooled(spec: &UnitSpec, scope: &Scope, seed: u64, index: usize) -> Question {
    asked(spec, scope, Subject::of(index), Dice::new(seed, index as u64))
}

/// A question about a subject.
pub(super) fn asked(spec: &UnitSpec, scope: &Scope, subject: Subject, dice: Dice) -> Question {
    if spec.triple.is_integer() {
        return super::terms::integers(spec, dice);
    }
    let mut maker = Maker::new(spec, scope, dice);
    let mut question = match subject {
        Subject::Whole(distribution) => {
            let (key, index) = (maker.dice.word(), maker.dice.word() >> 40);
            return drawn(spec, distribution, key, index);
        }
        subject => maker.terms(subject),
    };
    if spec.scales.is_some() && maker.dice.one_in(3) {
        let key = maker.dice.word();
        scale(spec, &mut question, key);
    }
    question
}

/// A whole row, column and c of a distribution, with scales where the unit takes them.
pub(super) fn drawn(spec: &UnitSpec, distribution: Distribution, key: u64, index: u64) -> Question {
    let inputs = distribution.unscaled(spec.triple, spec.shape.k, key, index);
    let mut question = Question { a: inputs.a, b: inputs.b, c: inputs.c, ..Question::zero(spec) };
    if spec.scales.is_some() {
        scale(spec, &mut question, draw(key, index));
    }
    question
}

/// Scales mostly near 1, now and then anything: zeros, NaN, the ends of the range; or such that all products move to
/// somewhere else together.
pub(super) fn scale(spec: &UnitSpec, question: &mut Question, key: u64) {
    let Some(scales) = spec.scales else { return };
    let mut dice = Dice::new(key, 7);
    let kind = dice.below(4);
    let one = scale_of_one(scales.format) as i32;
    let mask = scales.format.code_mask() as i32;
    let moved = if kind == 1 { dice.between(-one, mask - one) } else { 0 };
    for code in question.a_scales.iter_mut().chain(&mut question.b_scales) {
        let near = if scales.format == Format::E8m0 { dice.between(-6, 6) } else { dice.between(-20, 20) };
        let random = dice.word() & scales.format.code_mask();
        *code = match kind {
            0 if dice.one_in(4) => random,
            1 => (one + moved + near / 3).clamp(0, mask) as u64,
            _ => (one + near).clamp(0, mask) as u64,
        };
    }
}
