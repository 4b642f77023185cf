//! Which rules of a step does a seed stand for?

use super::draw::Dice;
use super::intake::{Flush, Intake, ScaledPart, Scales};
use super::model::{NanRule, NanSource};
use super::node::Step;
use super::output::{Output, OverflowTo, Rounded, Subnormals, Vanished};
use super::sum::{Align, Alignment, CAlignment, ProductExponent, Sum, ValueExponent, ZeroProducts, ZeroSign};
use crate::{Format, Rounding};

impl Dice {
    pub(super) fn step(&mut self, format: Format, c: bool, may_be_unrounded: bool) -> Step {
        let product_limit = self.one_in(6).then(|| self.between(10, 128));
        Step { c, product_limit, sum: self.sum(format, may_be_unrounded) }
    }

    pub(super) fn sum(&mut self, format: Format, may_be_unrounded: bool) -> Sum {
        let align = if self.one_in(4) { Align::Exact } else { Align::Largest(self.alignment()) };
        let output = if may_be_unrounded && self.one_in(2) {
            Output::Unrounded
        } else {
            Output::Rounded(self.rounded(format, false))
        };
        Sum { align, zero: self.of(&ZeroSign::ALL), output }
    }

    fn alignment(&mut self) -> Alignment {
        // Seldom so many that 64 bits hold no sum.
        let most = if self.one_in(6) { 100 } else { 40 };
        let fraction_bits = self.between(0, most) as u32;
        let mut alignment = Alignment::new(fraction_bits, self.cut());
        if self.one_in(3) {
            let reach = self.one_in(2).then(|| self.between(0, 40) as u32);
            let fraction_bits = self.between(0, 40) as u32;
            alignment.c = Some(CAlignment { fraction_bits, cut: self.cut(), reach });
        }
        if self.one_in(3) {
            alignment.products = self.of(&ProductExponent::ALL);
            alignment.values = self.of(&ValueExponent::ALL);
        }
        if self.one_in(3) {
            let e = self.between(-140, 20);
            alignment.zero_products = if self.one_in(2) { ZeroProducts::Operand(e) } else { ZeroProducts::Product(e) };
        }
        alignment.zero_values = self.one_in(3).then(|| self.between(-140, 20));
        alignment.floor = self.one_in(3).then(|| self.between(-160, 10));
        alignment.carry_bits = self.one_in(6).then(|| self.between(1, 8) as u32);
        alignment
    }

    fn cut(&mut self) -> Rounding {
        if self.one_in(2) { Rounding::TowardZero } else { self.of(&Rounding::ALL) }
    }

    pub(super) fn rounded(&mut self, format: Format, stored: bool) -> Rounded {
        let full = format.precision();
        let own = format.infinity_code(false).is_some() && self.one_in(3);
        let precision = own.then(|| {
            let most = if stored { full } else { (full + 6).min(53) };
            self.between(2, most as i32) as u32
        });
        let (rounding, overflow) = (self.of(&Rounding::ALL), self.of(&OverflowTo::ALL));
        let subnormals = if self.one_in(2) { Subnormals::Keep } else { self.of(&Subnormals::ALL) };
        let vanished = self.of(&Vanished::ALL);
        Rounded { format, precision, rounding, overflow, subnormals, vanished }
    }

    pub(super) fn intake(&mut self, format: Format) -> Intake {
        let subnormals = if self.one_in(3) { self.of(&Flush::ALL) } else { Flush::Keep };
        let convert = self.one_in(5).then(|| {
            let to = self.of(&[format, Format::Tf32, Format::F16, Format::Bf16, Format::E5m2]);
            self.rounded(to, true)
        });
        Intake { subnormals, convert }
    }

    pub(super) fn scales(&mut self, n: usize) -> Scales {
        let on = self.of(&[ScaledPart::Products, ScaledPart::Sums]);
        let group = n * self.of(&[1usize, 2]);
        let mut format = || self.of(&[Format::E8m0, Format::Ue4m3]);
        Scales { a: format(), b: format(), group, on }
    }

    pub(super) fn nan(&mut self, format: Format) -> NanRule {
        let plain = format.nan_code().unwrap_or(format.max_finite_code());
        // All fraction bits set is a NaN wherever any code is one, but for FNUZ.
        let full = format
            .infinity_code(false)
            .map_or(plain, |infinity| infinity | ((infinity - 1) & if format == Format::Tf32 { !0x1FFF } else { !0 }));
        let word = self.of(&[plain, full]);
        if self.one_in(2) {
            return NanRule::Word(word);
        }
        use NanSource::{A, B, C};
        let order = self.of(&[[A, B, C], [B, A, C], [C, A, B], [A, C, B]]);
        NanRule::First { order, invalid: word }
    }
}
