//! At which sizes, and how far apart, must terms be for the parameters of a model to show?
//!
//! A floor shows where the largest term lies about it, fraction bits where one term lies about so many places below another,
//! the range of a converted operand at its ends. Random terms meet such places seldom; these are the places themselves.

use super::knobs::{Operand, Place};
use super::knobs::{form_at, number_of_sums, sums};
use super::terms::log2;
use rigel_numerics::arithmetic::*;

/// Exponents and distances at which parameters show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// Exponents of a product, and of c.
    pub sizes: Vec<i32>,
    /// Exponents of an element of a, of b and of c.
    pub operands: [Vec<i32>; 3],
    /// Places between the leading bits of two terms.
    pub apart: Vec<i32>,
    /// Exponents that zeros may have.
    pub zeros: Vec<i32>,
}

impl Hints {
    /// Those of a model.
    pub(super) fn of(model: &Model) -> Hints {
        let mut hints = Hints::default();
        hints.add(model);
        hints
    }

    /// Those of both models.
    pub(super) fn and(&self, model: &Model) -> Hints {
        let mut hints = self.clone();
        hints.add(model);
        hints
    }

    fn add(&mut self, model: &Model) {
        let mut model = model.clone();
        let count = number_of_sums(&model);
        for sum in sums(&mut model.body) {
            let Align::Largest(alignment) = &sum.align else { continue };
            self.apart.push(alignment.fraction_bits as i32);
            if let Some(c) = alignment.c {
                self.apart.push(c.fraction_bits as i32);
                self.apart.extend(c.reach.map(|reach| reach as i32));
            }
            self.sizes.extend(alignment.floor);
            self.sizes.extend(alignment.zero_values);
            self.zeros.extend(alignment.zero_values);
            match alignment.zero_products {
                ZeroProducts::Ignored => {}
                ZeroProducts::Product(e) => {
                    self.sizes.push(e);
                    self.zeros.push(e);
                }
                ZeroProducts::Operand(e) => self.zeros.push(e),
            }
        }
        self.sizes.extend(model.body.step().product_limit.map(|limit| limit - 1));
        for place in (0..count).map(Place::Sum).chain([Place::Store]) {
            let Some(form) = form_at(&mut model, place).map(|form| *form) else { continue };
            self.apart.push(form.significant_bits() as i32);
            self.sizes.extend([log2(form.format.min_normal()), log2(form.format.max_finite())]);
        }
        for (n, operand) in Operand::ALL.into_iter().enumerate() {
            let own = operand.format(&model);
            let converted = form_at(&mut model, Place::Operand(operand)).map(|form| form.format);
            for format in [own].into_iter().chain(converted) {
                let least = log2(format.min_normal());
                let ends = [least, least - format.precision() as i32 + 1, log2(format.max_finite())];
                self.operands[n].extend(ends);
            }
        }
        for list in [&mut self.sizes, &mut self.apart, &mut self.zeros].into_iter().chain(&mut self.operands) {
            list.sort_unstable();
            list.dedup();
        }
    }
}
