//! Which questions meet the places where the parameters of a model show?

use super::dice::Dice;
use super::hints::Hints;
use super::pool::scale;
use super::question::Question;
use super::scope::Scope;
use super::terms::{Fill, Maker};
use rigel_device::unit::UnitSpec;

/// A question of few terms whose sizes and distances are those of the hints, or nearly.
pub(super) fn directed(spec: &UnitSpec, scope: &Scope, hints: &Hints, dice: Dice) -> Question {
    if spec.triple.is_integer() {
        return super::terms::integers(spec, dice);
    }
    let mut maker = Maker::new(spec, scope, dice);
    let mut question =
        if maker.dice.one_in(4) { left_over(spec, &mut maker, hints) } else { several(spec, &mut maker, hints) };
    if spec.scales.is_some() && maker.dice.one_in(3) {
        let key = maker.dice.word();
        scale(spec, &mut question, key);
    }
    question
}

/// Two large terms that cancel or nearly do, and some small ones and c, all about one distance below them: what steps of
/// another order, or another width, leave of those.
fn left_over(spec: &UnitSpec, maker: &mut Maker<'_>, hints: &Hints) -> Question {
    let mut question = Question::zero(spec);
    let first = size(maker, hints);
    let apart = any(maker, &hints.apart).unwrap_or(24) + maker.dice.between(-3, 3);
    let count = 2 + maker.dice.below(4);
    let at = maker.positions(count);
    let fill = if maker.dice.one_in(2) { Fill::One } else { maker.fill() };
    maker.put(&mut question, at[0], first, fill);
    let cancels = maker.dice.below(3);
    for (n, &i) in at.iter().enumerate().skip(1) {
        if n == 1 && cancels == 0 {
            question.a[i] = question.a[at[0]];
            question.b[i] = maker.negated(spec.triple.b, question.b[at[0]]);
        } else {
            let (near, fill) = (maker.dice.between(-2, 2), maker.fill());
            maker.put(&mut question, i, first - apart + near, fill);
        }
    }
    if cancels == 1 {
        maker.cancel_first(&mut question, at[0]);
    } else {
        let below = if maker.dice.one_in(2) { apart } else { 0 };
        let (near, fill) = (maker.dice.between(-3, 3), maker.fill());
        question.c = maker.c_value(first - below + near, fill);
    }
    question
}

/// Terms of any number, one about some distance below another.
fn several(spec: &UnitSpec, maker: &mut Maker<'_>, hints: &Hints) -> Question {
    let mut question = Question::zero(spec);
    let most = if maker.dice.one_in(3) { spec.shape.k } else { 4 };
    let count = maker.dice.below(most + 1);
    let first = size(maker, hints);
    let mut last = first;
    let at = maker.positions(count.max(1));
    // Small terms are often alike in size: together they show how each of them is cut.
    let alike = if maker.dice.one_in(2) { None } else { Some(distance(maker, hints)) };
    let cancels = maker.dice.below(3);
    for (n, &i) in at[..count.min(at.len())].iter().enumerate() {
        let fill = maker.fill();
        if n == 1 && cancels == 0 || n > 1 && maker.dice.one_in(8) {
            // The one before, of the other sign.
            question.a[i] = question.a[at[n - 1]];
            question.b[i] = maker.negated(spec.triple.b, question.b[at[n - 1]]);
            continue;
        }
        if n > 0 {
            last = match alike {
                Some(apart) => first - apart + maker.dice.between(-2, 1),
                None => {
                    let from = if maker.dice.one_in(2) { first } else { last };
                    from - distance(maker, hints)
                }
            };
        }
        if maker.dice.one_in(4) {
            // An operand about an end of its range, or of the one to which it is converted.
            let (of_a, list) =
                if maker.dice.one_in(2) { (true, &hints.operands[0]) } else { (false, &hints.operands[1]) };
            if let Some(e) = any(maker, list) {
                let e = e + maker.dice.between(-2, 2);
                let (ea, eb) = if of_a { (e, last - e) } else { (last - e, e) };
                (question.a[i], question.b[i]) = maker.pair(ea, eb, fill);
                continue;
            }
        }
        maker.put(&mut question, i, last, fill);
    }
    if count > 0 && cancels == 1 {
        maker.cancel_first(&mut question, at[0]);
    } else if count == 0 || !maker.dice.one_in(3) {
        let fill = maker.fill();
        let e = match maker.dice.below(4) {
            0 => any(maker, &hints.operands[2]).unwrap_or(first) + maker.dice.between(-2, 2),
            1 => first + maker.dice.between(-2, 2),
            2 => first + distance(maker, hints),
            _ => first - distance(maker, hints),
        };
        question.c = maker.c_value(e, fill);
    }
    zeros(maker, &mut question, hints, first);
    question
}

fn any(maker: &mut Maker<'_>, list: &[i32]) -> Option<i32> {
    let n = maker.dice.below(list.len().max(1));
    list.get(n).copied()
}

/// The exponent of a leading term.
fn size(maker: &mut Maker<'_>, hints: &Hints) -> i32 {
    match any(maker, &hints.sizes) {
        Some(e) if !maker.dice.one_in(3) => {
            let up = if maker.dice.one_in(3) { distance(maker, hints) } else { 0 };
            e + up + maker.dice.between(-3, 2)
        }
        _ => maker.base(),
    }
}

/// How far below another one a term lies.
fn distance(maker: &mut Maker<'_>, hints: &Hints) -> i32 {
    match (any(maker, &hints.apart), maker.dice.below(8)) {
        (Some(bits), 0..=2) => bits + maker.dice.between(-3, 3),
        (Some(bits), 3 | 4) => bits - maker.dice.between(0, 24),
        (Some(bits), 5) => bits + any(maker, &hints.apart).unwrap_or(0) + maker.dice.between(-3, 3),
        (_, 6) => maker.dice.between(-3, 3),
        _ => maker.dice.between(0, 44),
    }
}

/// Zeros take a partner that lifts them to where the first term is, or the least partner there is, or none.
fn zeros(maker: &mut Maker<'_>, question: &mut Question, hints: &Hints, first: i32) {
    let kind = maker.dice.below(6);
    if kind > 3 {
        return maker.surround(question);
    }
    let Some(zero) = any(maker, &hints.zeros) else { return };
    let partner = first - zero - if maker.dice.one_in(2) { distance(maker, hints) } else { maker.dice.between(-3, 3) };
    let (a, b) = maker.pair(partner, partner, Fill::One);
    let all = maker.dice.one_in(2);
    for i in 0..question.a.len() {
        if (question.a[i], question.b[i]) != (0, 0) || !(all || maker.dice.one_in(4)) {
            continue;
        }
        if kind < 2 {
            question.b[i] = b;
        } else {
            question.a[i] = a;
        }
    }
}
