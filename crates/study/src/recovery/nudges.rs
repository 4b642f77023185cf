//! How does an input on which two models part on their way become one on which they differ in the end?
//!
//! Two models that differ in one width part in what a sum leaves on many inputs; a later sum, coarser than what they part in, gives
//! both the same code but where a boundary of its rounding lies between them. Random inputs seldom meet it. Here an input on which they
//! part is changed a little, over and over, and kept as long as they part: a walk among inputs that all might tell them.

use super::dice::Dice;
use super::question::Question;
use rigel_device::unit::UnitSpec;
use rigel_numerics::Format;
use rigel_numerics::arithmetic::Evaluator;

/// Inputs from which walks begin, and steps of all of them together.
const BEGINNINGS: usize = 16;
const STEPS: usize = 3000;

/// A question on which two models differ, with the first one's code: one of `questions`, or what walks from them come to.
/// `guided`: their trees are one, so that it can be seen whether they part.
pub(super) fn told_apart(
    spec: &UnitSpec,
    (best, other): (&Evaluator, &Evaluator),
    guided: bool,
    questions: impl Iterator<Item = Question>,
    mut dice: Dice,
) -> Option<(u64, Question)> {
    let (mut scratch, mut other_scratch) = (best.scratch(), other.scratch());
    let mut parted: Vec<(u64, Question)> = Vec::new();
    for question in questions {
        let (code, word) = best.dot_traced(&mut scratch, question.inputs());
        let (theirs, their_word) = other.dot_traced(&mut other_scratch, question.inputs());
        if code != theirs {
            return Some((code, question));
        }
        if parted.len() < BEGINNINGS && (word != their_word || !guided) {
            parted.push((code, question));
        }
    }
    let count = parted.len();
    let walks = count > 0 && !spec.triple.is_integer();
    for n in 0..if walks { STEPS / (spec.shape.k / 16 + 1) } else { 0 } {
        let (code, question) = &parted[n % count];
        let next = nudged(spec, question, *code, &mut dice);
        let (code, word) = best.dot_traced(&mut scratch, next.inputs());
        let (theirs, their_word) = other.dot_traced(&mut other_scratch, next.inputs());
        if code != theirs {
            return Some((code, next));
        }
        if word != their_word || !guided {
            parted[n % count] = (code, next);
        }
    }
    None
}

/// A question with a change or two, of which `d` came.
fn nudged(spec: &UnitSpec, question: &Question, d: u64, dice: &mut Dice) -> Question {
    let t = spec.triple;
    let mut next = question.clone();
    for _ in 0..1 + dice.below(2) {
        let k = question.a.len();
        // An element that is not zero, if one of a few is none.
        let draw = |dice: &mut Dice| dice.below(k);
        let at = (0..6).map(|_| draw(dice)).find(|&i| next.a[i] != 0 && next.b[i] != 0).unwrap_or(k / 2);
        match dice.below(12) {
            0 => next.a[at] = moved(t.a, next.a[at], dice),
            1 => next.b[at] = moved(t.b, next.b[at], dice),
            2 => next.c = moved(t.c, next.c, dice),
            3 => next.a[at] = turned(t.a, next.a[at], dice),
            4 => next.b[at] = turned(t.b, next.b[at], dice),
            5 => next.c = turned(t.c, next.c, dice),
            6 => next.a[at] = negated(t.a, next.a[at]),
            7 => (next.a[at], next.b[at]) = (plain(t.a, next.a[at]), plain(t.b, next.b[at])),
            8 => next.c = plain(t.c, next.c),
            // What came out, taken away again: low bits are left.
            9 => next.c = negated(t.c, d),
            10 => {
                let from = dice.below(k);
                (next.a[at], next.b[at]) = (next.a[from], next.b[from]);
            }
            _ => next.c = negated(t.c, next.c),
        }
    }
    next
}

fn fraction_bits(format: Format) -> u32 {
    format.precision().max(1) - 1 + if format == Format::Tf32 { 13 } else { 0 }
}

/// A code with its exponent one or a few higher or lower; anything that is no finite value stays as it is.
fn moved(format: Format, code: u64, dice: &mut Dice) -> u64 {
    let by = [1, 1, 2, 3, 5][dice.below(5)] << fraction_bits(format);
    let magnitude = code & (format.code_mask() >> 1);
    let sign = code ^ magnitude;
    let next = if dice.one_in(2) { magnitude + by } else { magnitude.wrapping_sub(by) };
    if next <= format.max_finite_code() && format.decode(next | sign).is_finite() { next | sign } else { code }
}

/// A code with one bit of its fraction turned.
fn turned(format: Format, code: u64, dice: &mut Dice) -> u64 {
    let ignored = if format == Format::Tf32 { 13 } else { 0 };
    let bits = fraction_bits(format) - ignored;
    code ^ if bits > 0 { 1 << (ignored + dice.below(bits as usize) as u32) } else { 0 }
}

/// A power of two of the same exponent.
fn plain(format: Format, code: u64) -> u64 {
    code >> fraction_bits(format) << fraction_bits(format)
}

fn negated(format: Format, code: u64) -> u64 {
    code ^ 1 << (format.bits() - 1)
}

#[cfg(test)]
mod tests {
    use super::super::directed::directed;
    use super::super::hints::Hints;
    use super::super::scope::Scope;
    use super::*;
    use rigel_numerics::arithmetic::*;
    use rigel_numerics::{Rounding, Shape, Triple};

    const K: usize = 8;

    fn spec(triple: Triple) -> UnitSpec {
        UnitSpec {
            name: "planted".into(),
            path: "planted".into(),
            triple,
            shape: Shape::new(4, 4, K),
            scales: None,
            fragments: None,
            source: "a test".into(),
        }
    }

    /// A sum whose outputs have so many bits goes into one that keeps four below the largest exponent.
    fn model(triple: Triple, bits: u32, way: Rounding) -> Model {
        let rounded = |precision, way| Output::Rounded(Rounded { precision, ..Rounded::to(Format::F32, way) });
        let aligned = |bits, cut| Align::Largest(Alignment::new(bits, cut));
        let zero = ZeroSign::Positive;
        let first = Sum { align: aligned(40, Rounding::TowardZero), zero, output: rounded(Some(bits), way) };
        let last = Sum { align: aligned(4, Rounding::Up), zero, output: rounded(None, Rounding::NearestEven) };
        let each = Box::new(Node::Step(Step { c: false, product_limit: None, sum: first }));
        let order = JoinOrder::InTurn { c: CPlace::First };
        let body = Node::Join(Join { split: Split::Whole, each, order, sum: last });
        let (plain, nan) = (Intake::default(), NanRule::Word(0x7fc0_0000));
        Model { triple, k: K, a: plain, b: plain, c: plain, scales: None, body, store: None, nan }
    }

    /// Few random questions in a million tell the two; the walk finds one, and what it gives tells them indeed.
    #[test]
    fn widths_of_a_sum_before_a_coarser_one_are_told_apart() {
        let triple: Triple = "e5m2,e5m2->f32".parse().expect("a triple");
        let (one, other) = (model(triple, 22, Rounding::Odd), model(triple, 30, Rounding::Up));
        let [best, rival] = [&one, &other].map(|model| Evaluator::new(model, K).expect("an evaluator"));
        let (spec, scope) = (spec(triple), Scope { products: (-32, 30), c: (-149, 127) });
        let hints = Hints::of(&one).and(&other);
        let questions = (0..200).map(|i| directed(&spec, &scope, &hints, Dice::new(1, i)));
        let (code, question) =
            told_apart(&spec, (&best, &rival), true, questions, Dice::new(2, 0)).expect("a question that tells them");
        assert_eq!(best.dot(&mut best.scratch(), question.inputs()), code);
        assert_ne!(rival.dot(&mut rival.scratch(), question.inputs()), code);
    }

    #[test]
    fn one_function_is_never_told_from_itself() {
        let triple: Triple = "e5m2,e5m2->f32".parse().expect("a triple");
        let best = Evaluator::new(&model(triple, 22, Rounding::Odd), K).expect("an evaluator");
        let (spec, scope) = (spec(triple), Scope { products: (-32, 30), c: (-149, 127) });
        let hints = Hints::of(best.model());
        let questions = (0..50).map(|i| directed(&spec, &scope, &hints, Dice::new(1, i)));
        assert_eq!(told_apart(&spec, (&best, &best), false, questions, Dice::new(2, 0)), None);
    }
}
