//! Which parameters may have been taken for each other?
//!
//! A value below the least normal one that is lost may have been flushed as an operand, as what left a step, or at the very
//! end; an exponent below which nothing is seen may be a floor or that of a zero. Where a search has chosen the wrong one of
//! two such parameters, no single change helps: here one moves to the other's place.

use super::coarseness::moved;
use super::knobs::{Operand, Place, form_at, number_of_sums, sums};
use rigel_numerics::Rounding;
use rigel_numerics::arithmetic::*;

/// The models in which one parameter has taken another's place.
pub(super) fn mistaken(model: &Model) -> Vec<Model> {
    let mut all = Vec::new();
    if model.triple.is_integer() {
        return all;
    }
    forms(model, &mut all);
    flushes(model, &mut all);
    exponents(model, &mut all);
    grids(model, &mut all);
    alignments(model, &mut all);
    all.extend(moved(model));
    let swapped = Model { a: model.b, b: model.a, ..model.clone() };
    all.push(swapped);
    all.retain(|other| other != model);
    all
}

/// The models in which all rules of one rounding are others at once. Far too many for questions that tell models apart: they would leave
/// no room for trees.
pub(super) fn ruled_otherwise(model: &Model) -> Vec<Model> {
    let mut all = Vec::new();
    if !model.triple.is_integer() {
        whole_forms(model, &mut all);
        one_rounding(model, &mut all);
        all.retain(|other| other != model);
    }
    all
}

fn places(model: &Model) -> Vec<Place> {
    let sums = (0..number_of_sums(model)).map(Place::Sum);
    let all = sums.chain([Place::Store]).chain([Operand::A, Operand::B, Operand::C].map(Place::Operand));
    all.filter(|&place| form_at(&mut model.clone(), place).is_some()).collect()
}

/// One rule of a rounding moves to another rounding, which gives it its own or the usual one.
fn forms(model: &Model, all: &mut Vec<Model>) {
    let places = places(model);
    let moves: [fn(&mut Rounded, &mut Rounded); 5] = [
        |x, y| std::mem::swap(&mut x.rounding, &mut y.rounding),
        |x, y| std::mem::swap(&mut x.precision, &mut y.precision),
        |x, y| std::mem::swap(&mut x.overflow, &mut y.overflow),
        |x, y| std::mem::swap(&mut x.subnormals, &mut y.subnormals),
        |x, y| std::mem::swap(&mut x.vanished, &mut y.vanished),
    ];
    let copies: [fn(&Rounded, &mut Rounded); 4] = [
        |x, y| y.rounding = x.rounding,
        |x, y| y.overflow = x.overflow,
        |x, y| y.subnormals = x.subnormals,
        |x, y| y.vanished = x.vanished,
    ];
    for (n, &x) in places.iter().enumerate() {
        for &y in &places[n + 1..] {
            for exchange in moves {
                let mut other = model.clone();
                let (Some(mut first), Some(mut second)) =
                    (form_at(&mut other, x).map(|f| *f), form_at(&mut other, y).map(|f| *f))
                else {
                    continue;
                };
                exchange(&mut first, &mut second);
                put(&mut other, x, first);
                put(&mut other, y, second);
                all.push(other);
            }
        }
        for &y in places.iter().filter(|&&y| y != x) {
            for copy in copies {
                let mut other = model.clone();
                let Some(first) = form_at(&mut other, x).map(|f| *f) else { continue };
                if let Some(second) = form_at(&mut other, y) {
                    copy(&first, second);
                }
                all.push(other);
            }
        }
        // A last rounding takes over all that what leaves a sum has, which leaves it plainly.
        if let (Place::Sum(_), Some(form)) = (x, form_at(&mut model.clone(), x).map(|f| *f)) {
            for plain in Rounding::ALL {
                let mut other = model.clone();
                other.store = Some(Rounded { format: model.triple.c, ..form });
                put(&mut other, x, Rounded::to(form.format, plain));
                all.push(other);
            }
        }
    }
}

/// All rules of one rounding at once: what overflows tells of its direction, and what is tiny of both.
fn whole_forms(model: &Model, all: &mut Vec<Model>) {
    for place in places(model) {
        let Some(form) = form_at(&mut model.clone(), place).map(|f| *f) else { continue };
        for other in every_rule(form) {
            let mut own = model.clone();
            put(&mut own, place, other);
            all.push(own);
        }
    }
}

/// A rounding with every combination of its rules.
fn every_rule(form: Rounded) -> Vec<Rounded> {
    let mut all = Vec::new();
    for rounding in Rounding::ALL {
        for overflow in OverflowTo::ALL {
            for subnormals in Subnormals::ALL {
                all.extend(Vanished::ALL.map(|vanished| Rounded { rounding, overflow, subnormals, vanished, ..form }));
            }
        }
    }
    all
}

/// What leaves the last sum and the last rounding are one: it has the bits of either, and any rules.
fn one_rounding(model: &Model, all: &mut Vec<Model>) {
    let last = Place::Sum(number_of_sums(model) - 1);
    let (Some(store), Some(own)) = (model.store, form_at(&mut model.clone(), last).map(|f| *f)) else { return };
    for form in [Rounded { format: own.format, ..store }, own] {
        for form in every_rule(form) {
            let mut other = Model { store: None, ..model.clone() };
            put(&mut other, last, form);
            all.push(other);
        }
    }
}

fn put(model: &mut Model, place: Place, form: Rounded) {
    if let Some(own) = form_at(model, place) {
        *own = form;
    }
}

/// Flushed operands against flushed results.
fn flushes(model: &Model, all: &mut Vec<Model>) {
    for operand in [Operand::A, Operand::B, Operand::C] {
        let mut without = model.clone();
        if std::mem::take(&mut operand.intake(&mut without).subnormals) == Flush::Keep {
            continue;
        }
        for place in places(model) {
            for rule in Subnormals::ALL {
                for vanished in Vanished::ALL {
                    let mut other = without.clone();
                    if let Some(form) = form_at(&mut other, place) {
                        (form.subnormals, form.vanished) = (rule, vanished);
                    }
                    all.push(other);
                }
            }
        }
    }
}

/// Where an exponent below which alignment does not go may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Floor(usize),
    ZeroValues(usize),
    ZeroProducts(usize),
}

fn slot(model: &mut Model, slot: Slot, change: impl FnOnce(&mut Alignment)) {
    let (Slot::Floor(s) | Slot::ZeroValues(s) | Slot::ZeroProducts(s)) = slot;
    if let Some(Align::Largest(alignment)) = sums(&mut model.body).into_iter().nth(s).map(|sum| &mut sum.align) {
        change(alignment);
    }
}

fn read(model: &Model, at: Slot) -> Option<i32> {
    let mut found = None;
    slot(&mut model.clone(), at, |alignment| {
        found = match at {
            Slot::Floor(_) => alignment.floor,
            Slot::ZeroValues(_) => alignment.zero_values,
            Slot::ZeroProducts(_) => match alignment.zero_products {
                ZeroProducts::Product(e) => Some(e),
                _ => None,
            },
        }
    });
    found
}

fn write(model: &mut Model, at: Slot, e: Option<i32>) {
    slot(model, at, |alignment| match at {
        Slot::Floor(_) => alignment.floor = e,
        Slot::ZeroValues(_) => alignment.zero_values = e,
        Slot::ZeroProducts(_) => alignment.zero_products = e.map_or(ZeroProducts::Ignored, ZeroProducts::Product),
    });
}

fn exponents(model: &Model, all: &mut Vec<Model>) {
    let slots: Vec<Slot> = (0..number_of_sums(model))
        .flat_map(|s| {
            [Slot::Floor(s), Slot::ZeroValues(s)].into_iter().chain((s == 0).then_some(Slot::ZeroProducts(s)))
        })
        .collect();
    for &x in &slots {
        let Some(e) = read(model, x) else { continue };
        for &y in slots.iter().filter(|&&y| y != x) {
            for left in [None, Some(e), read(model, y)] {
                let mut other = model.clone();
                write(&mut other, y, Some(e));
                write(&mut other, x, left);
                all.push(other);
            }
        }
    }
}

/// Bits and the exponents that they lie below move together: small terms are cut at the same place. Or the exponents are
/// left out, and the bits anything.
fn grids(model: &Model, all: &mut Vec<Model>) {
    for s in 0..number_of_sums(model) {
        let Some(Align::Largest(own)) = sums(&mut model.body.clone()).into_iter().nth(s).map(|sum| sum.align.clone())
        else {
            continue;
        };
        let zero_product = match own.zero_products {
            ZeroProducts::Product(e) => Some(e),
            _ => None,
        };
        if own.floor.or(own.zero_values).or(zero_product).is_none() {
            continue;
        }
        let mut with = |alignment: Alignment| {
            let mut other = model.clone();
            sums(&mut other.body)[s].align = Align::Largest(alignment);
            all.push(other);
        };
        for d in (-60..=60).filter(|&d| d != 0) {
            let Ok(fraction_bits) = u32::try_from(own.fraction_bits as i32 + d) else { continue };
            let moved = |e: Option<i32>| e.map(|e| e + d);
            let zero_products = moved(zero_product).map_or(own.zero_products, ZeroProducts::Product);
            let (floor, zero_values) = (moved(own.floor), moved(own.zero_values));
            with(Alignment { fraction_bits, floor, zero_values, zero_products, ..own.clone() });
            with(Alignment { fraction_bits, floor, ..own.clone() });
            with(Alignment { fraction_bits, floor: None, ..own.clone() });
            with(Alignment { fraction_bits, zero_values, ..own.clone() });
            with(Alignment { fraction_bits, zero_values: None, ..own.clone() });
        }
    }
}

/// The alignments of two sums, and those of c and of the other terms.
fn alignments(model: &Model, all: &mut Vec<Model>) {
    let count = number_of_sums(model);
    let aligned = |s: usize| sums(&mut model.body.clone()).into_iter().nth(s).map(|sum| sum.align.clone());
    for s in 0..count {
        for from in (0..count).filter(|&from| from != s) {
            let (Some(own), Some(theirs)) = (aligned(s), aligned(from)) else { continue };
            for back in [own, theirs.clone()] {
                let mut other = model.clone();
                let mut places = sums(&mut other.body);
                places[from].align = back;
                places[s].align = theirs.clone();
                all.push(other);
            }
        }
        if let Some(Align::Largest(alignment)) = aligned(s) {
            let own = CAlignment { fraction_bits: alignment.fraction_bits, cut: alignment.cut, reach: None };
            let c = alignment.c.unwrap_or(own);
            let ways = [
                Alignment { fraction_bits: c.fraction_bits, cut: c.cut, c: None, ..alignment.clone() },
                Alignment { fraction_bits: c.fraction_bits, cut: c.cut, c: Some(own), ..alignment.clone() },
                Alignment { c: None, ..alignment.clone() },
            ];
            for way in ways {
                let mut other = model.clone();
                sums(&mut other.body)[s].align = Align::Largest(way);
                all.push(other);
            }
            let exact = (0..2).map(|n| {
                let mut other = model.clone();
                let place = &mut sums(&mut other.body)[s];
                (place.align, place.zero) = (Align::Exact, ZeroSign::ALL[n]);
                other
            });
            all.extend(exact);
        }
    }
}
