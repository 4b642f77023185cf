//! Where are low bits lost?
//!
//! An operand that is converted, terms that are cut where they are aligned, a sum that is rounded on its way out: for a
//! single term they are the same. A search that has put the loss in the wrong place explains single terms and little else;
//! here it moves to every other place at once, with the way in which it cuts.

use super::knobs::{Operand, Place, form_at, number_of_sums, sums};
use rigel_numerics::Rounding;
use rigel_numerics::arithmetic::*;

/// Where bits can be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// Where an operand is taken in.
    Operand(Operand),
    /// Where the terms of a sum are aligned.
    Terms(usize),
    /// Where c is aligned in a sum.
    C(usize),
    /// Where a sum is rounded, or the result.
    Out(Place),
}

/// The models in which a loss has moved to another place.
pub(super) fn moved(model: &Model) -> Vec<Model> {
    let count = number_of_sums(model);
    let mut places: Vec<Loss> = Operand::ALL.map(Loss::Operand).to_vec();
    for s in 0..count {
        places.extend([Loss::Terms(s), Loss::C(s), Loss::Out(Place::Sum(s))]);
    }
    places.push(Loss::Out(Place::Store));
    let mut all = Vec::new();
    for &from in &places {
        let Some((bits, way)) = read(model, from) else { continue };
        let without = erased(model, from);
        all.push(without.clone());
        for &to in places.iter().filter(|&&to| to != from) {
            for bits in [bits, bits + 1, bits.saturating_sub(1)] {
                all.extend(written(&without, to, bits, way));
                // A loss may be in both places.
                if bits + 1 >= read(model, from).map_or(0, |own| own.0) {
                    all.extend(written(model, to, bits, way));
                }
            }
        }
    }
    all
}

fn read(model: &Model, at: Loss) -> Option<(u32, Rounding)> {
    let mut own = model.clone();
    let alignment = |own: &mut Model, s: usize| match &sums(&mut own.body)[s].align {
        Align::Largest(alignment) => Some(alignment.clone()),
        Align::Exact => None,
    };
    match at {
        Loss::Operand(operand) => operand.intake(&mut own).convert.map(|form| (form.significant_bits(), form.rounding)),
        Loss::Terms(s) => alignment(&mut own, s).map(|a| (a.fraction_bits + 1, a.cut)),
        Loss::C(s) => alignment(&mut own, s).and_then(|a| a.c).map(|c| (c.fraction_bits + 1, c.cut)),
        Loss::Out(place) => form_at(&mut own, place).map(|form| (form.significant_bits(), form.rounding)),
    }
}

fn erased(model: &Model, at: Loss) -> Model {
    let mut own = model.clone();
    match at {
        Loss::Operand(operand) => operand.intake(&mut own).convert = None,
        Loss::Terms(s) => sums(&mut own.body)[s].align = Align::Exact,
        Loss::C(s) => {
            if let Align::Largest(alignment) = &mut sums(&mut own.body)[s].align {
                alignment.c = None;
            }
        }
        Loss::Out(place) => {
            if let Some(form) = form_at(&mut own, place) {
                form.precision = None;
            }
        }
    }
    own
}

fn written(model: &Model, at: Loss, bits: u32, way: Rounding) -> Vec<Model> {
    let mut own = model.clone();
    let mut beside = None;
    let bits = bits.max(1);
    let rounded = |form: Rounded| {
        let narrower = bits != form.format.precision() && form.format.infinity_code(false).is_some();
        Rounded { precision: narrower.then_some(bits), rounding: way, ..form }
    };
    match at {
        Loss::Operand(operand) => {
            let format = operand.format(model);
            let intake = operand.intake(&mut own);
            let form = intake.convert.unwrap_or(Rounded::to(format, way));
            intake.convert = Some(rounded(form));
        }
        Loss::Terms(s) => {
            // c may be cut as before, or as the other terms are now.
            let whole = Alignment::new(60, Rounding::TowardZero);
            let before = match &sums(&mut own.body)[s].align {
                Align::Largest(alignment) => alignment.clone(),
                Align::Exact => whole,
            };
            let c = CAlignment { fraction_bits: before.fraction_bits, cut: before.cut, reach: None };
            let now = Alignment { fraction_bits: bits - 1, cut: way, ..before };
            if now.c.is_none() {
                let mut other = own.clone();
                sums(&mut other.body)[s].align = Align::Largest(Alignment { c: Some(c), ..now.clone() });
                beside = Some(other);
            }
            sums(&mut own.body)[s].align = Align::Largest(now);
        }
        Loss::C(s) => {
            let c = Some(CAlignment { fraction_bits: bits - 1, cut: way, reach: None });
            match &mut sums(&mut own.body)[s].align {
                Align::Largest(alignment) => alignment.c = c,
                exact => *exact = Align::Largest(Alignment { c, ..Alignment::new(60, Rounding::TowardZero) }),
            }
        }
        Loss::Out(place) => {
            if let Some(form) = form_at(&mut own, place) {
                *form = rounded(*form);
            }
        }
    }
    std::iter::once(own).chain(beside).collect()
}
