//! How are terms of given sizes put into a question?

use super::dice::Dice;
use super::pool::Subject;
use super::question::Question;
use super::scope::{Scope, product_range};
use rigel_device::unit::UnitSpec;
use rigel_numerics::arithmetic::Distribution;
use rigel_numerics::{Format, Overflow, Rounding};

/// ⌊log2⌋ of the least positive and of the largest finite value.
pub(super) fn range(format: Format) -> (i32, i32) {
    (log2(format.min_positive()), log2(format.max_finite()))
}

pub(super) fn log2(value: f64) -> i32 {
    value.log2().floor() as i32
}

/// A code of a format for ±significand · 2^place, cut and saturated.
pub(super) fn code(format: Format, significand: i128, place: i32) -> u64 {
    format.encode_scaled(significand, place, Rounding::TowardZero, Overflow::Saturate)
}

/// How full a significand is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fill {
    /// A power of two.
    One,
    /// The leading bit and another one.
    Two,
    /// The leading bit and two more.
    Three,
    /// All ones, so that rounding up carries.
    Ones,
    /// Random, of few bits.
    Few,
    /// Random.
    Any,
    /// Of a product: a short number but for what the last bit of a factor adds, far below. Alone it is any number.
    Near,
}

/// Makes the terms of questions.
pub(super) struct Maker<'s> {
    spec: &'s UnitSpec,
    scope: &'s Scope,
    pub(super) dice: Dice,
}

impl<'s> Maker<'s> {
    pub(super) fn new(spec: &'s UnitSpec, scope: &'s Scope, dice: Dice) -> Maker<'s> {
        Maker { spec, scope, dice }
    }

    pub(super) fn fill(&mut self) -> Fill {
        const ALL: [Fill; 9] =
            [Fill::One, Fill::Two, Fill::Three, Fill::Few, Fill::Ones, Fill::Any, Fill::Any, Fill::Two, Fill::Near];
        ALL[self.dice.below(ALL.len())]
    }

    /// A code of exponent `exponent`, as far as the format reaches.
    fn value(&mut self, format: Format, exponent: i32, fill: Fill, negative: bool) -> u64 {
        let bits = format.precision() as i32 - 1;
        let random = self.dice.word() & ((1u64 << bits) - 1);
        let fraction = match fill {
            Fill::One => 0,
            Fill::Two if bits > 0 => 1 << self.dice.below(bits as usize),
            Fill::Three if bits > 0 => 1 << self.dice.below(bits as usize) | 1 << self.dice.below(bits as usize),
            Fill::Two | Fill::Three => 0,
            Fill::Ones => ((1u64 << bits) - 1) & !((1 << self.dice.below(bits as usize + 1)) - 1),
            Fill::Few => random & !((1u64 << self.dice.below(bits as usize + 1)) - 1),
            Fill::Any | Fill::Near => random,
        };
        let significand = i128::from(fraction | 1 << bits);
        code(format, if negative { -significand } else { significand }, exponent - bits)
    }

    /// Factors whose exponents add up to `exponent`, as far as the formats reach.
    fn factors(&mut self, exponent: i32, fill: Fill) -> (u64, u64) {
        let t = self.spec.triple;
        let ((la, ta), (lb, tb)) = (range(t.a), range(t.b));
        let (least, most) = ((exponent - tb).max(la), (exponent - lb).min(ta));
        let middle = exponent / 2;
        let ea = match self.dice.below(3) {
            // Far apart now and then, else like sizes.
            0 => self.dice.between(least, most),
            _ => (middle + self.dice.between(-2, 2)).clamp(least.min(most), most.max(least)),
        };
        let (sa, sb) = (self.dice.one_in(2), self.dice.one_in(2));
        if matches!(fill, Fill::Near) {
            let b = self.value(t.b, exponent - ea, fill, sb);
            return (self.completing(b, exponent, sa), b);
        }
        (self.value(t.a, ea, fill, sa), self.value(t.b, exponent - ea, fill, sb))
    }

    /// The a whose product with a b lies just above or just below a number of few bits: bits that an alignment keeps between the
    /// last bit of a sum and its own last one show there, and hardly ever else, where a rounding looks at all that is lost.
    fn completing(&mut self, b: u64, exponent: i32, negative: bool) -> u64 {
        let t = self.spec.triple;
        let bits = self.dice.below(8) as i32;
        let short = f64::from((1 << bits) + self.dice.below(1 << bits) as i32) * f64::from(exponent - bits).exp2();
        let toward = if self.dice.one_in(2) { Rounding::Up } else { Rounding::Down };
        let a = t.a.encode((short / t.b.decode(b).abs()).abs(), toward, Overflow::Saturate);
        if negative { self.negated(t.a, a) } else { a }
    }

    /// Factors of given exponents, as far as the formats reach.
    pub(super) fn pair(&mut self, of_a: i32, of_b: i32, fill: Fill) -> (u64, u64) {
        let t = self.spec.triple;
        let (sa, sb) = (self.dice.one_in(2), self.dice.one_in(2));
        (self.value(t.a, of_a, fill, sa), self.value(t.b, of_b, fill, sb))
    }

    /// Makes c the negative of a product, as far as its format holds that.
    pub(super) fn cancel_first(&self, question: &mut Question, at: usize) {
        let t = self.spec.triple;
        let product = -(t.a.decode(question.a[at]) * t.b.decode(question.b[at]));
        if product.is_finite() {
            question.c = t.c.encode(product, Rounding::TowardZero, Overflow::Saturate);
        }
    }

    /// The exponent of a leading term: where something shows, at the ends of that, or now and then anywhere.
    pub(super) fn base(&mut self) -> i32 {
        let (least, most) = product_range(self.spec);
        let (low, high) = self.scope.products;
        let (low, high) = (low.min(self.scope.c.0).max(least), high.max(self.scope.c.1).min(most));
        let e = match self.dice.below(8) {
            0 => self.dice.between(least, most),
            1 => low + self.dice.between(-2, 6),
            2 => high + self.dice.between(-6, 2),
            3 | 4 => self.dice.between(low, high),
            _ => self.dice.between(-5, 8).clamp(low, high),
        };
        e.clamp(least, most)
    }

    pub(super) fn c_value(&mut self, exponent: i32, fill: Fill) -> u64 {
        let negative = self.dice.one_in(2);
        self.value(self.spec.triple.c, exponent, fill, negative)
    }

    pub(super) fn put(&mut self, question: &mut Question, at: usize, exponent: i32, fill: Fill) {
        (question.a[at], question.b[at]) = self.factors(exponent, fill);
    }

    /// Different positions of k, near each other or anywhere.
    pub(super) fn positions(&mut self, count: usize) -> Vec<usize> {
        let k = self.spec.shape.k;
        let start = self.dice.below(k);
        let step = if self.dice.one_in(2) { 1 } else { 1 + self.dice.below(k) };
        let mut found: Vec<usize> = Vec::new();
        for i in 0..count.min(k) {
            let mut at = (start + i * step) % k;
            while found.contains(&at) {
                at = (at + 1) % k;
            }
            found.push(at);
        }
        found
    }

    /// The code of the negated value.
    pub(super) fn negated(&self, format: Format, code: u64) -> u64 {
        if format.is_signed() && format.decode(code) != 0.0 { code ^ 1 << (format.bits() - 1) } else { code }
    }

    /// A question about a subject of floating formats.
    pub(super) fn terms(&mut self, subject: Subject) -> Question {
        let t = self.spec.triple;
        let mut q = Question::zero(self.spec);
        let fill = self.fill();
        match subject {
            Subject::Product => {
                let (least, most) = product_range(self.spec);
                let at = self.positions(1)[0];
                let e = if self.dice.one_in(2) { self.base() } else { self.dice.between(least, most) };
                self.put(&mut q, at, e, fill);
                if self.dice.one_in(3) {
                    q.c = code(t.c, 0, 0) | if self.dice.one_in(2) { self.negative_zero(t.c) } else { 0 };
                }
            }
            Subject::Addend => {
                let (least, most) = range(t.c);
                let e = if self.dice.one_in(2) { self.base() } else { self.dice.between(least, most) };
                q.c = self.c_value(e, fill);
            }
            Subject::ProductAndC => {
                let (at, e, apart) = (self.positions(1)[0], self.base(), self.dice.between(-44, 44));
                self.put(&mut q, at, e, fill);
                let other = self.fill();
                q.c = self.c_value(e + apart, other);
            }
            Subject::TwoProducts => {
                let (at, e) = (self.positions(2), self.base());
                let apart = self.dice.between(0, 44);
                for (i, &at) in at.iter().enumerate() {
                    let fill = self.fill();
                    self.put(&mut q, at, e - apart * i as i32, fill);
                }
                if self.dice.one_in(3) {
                    q.c = self.c_value(e - 60, Fill::One);
                }
            }
            Subject::Cancelled => self.cancelled(&mut q, fill),
            Subject::Crumbs => {
                let (e, apart) = (self.base(), self.dice.between(8, 40));
                let at = self.positions(self.spec.shape.k);
                let count = 1 + self.dice.below(at.len());
                let same = self.factors(e - apart, fill);
                at[..count].iter().for_each(|&i| (q.a[i], q.b[i]) = same);
                let large = self.fill();
                if self.dice.one_in(2) {
                    q.c = self.c_value(e, large);
                } else {
                    self.put(&mut q, at[0], e, large);
                }
            }
            Subject::ZeroProduct => {
                let at = self.positions(2);
                let (ra, rb) = (range(t.a), range(t.b));
                let (za, zb) = (self.zero(t.a), self.zero(t.b));
                let zero = if self.dice.one_in(2) {
                    let e = self.dice.between(rb.0, rb.1);
                    (za, self.value(t.b, e, fill, false))
                } else {
                    let e = self.dice.between(ra.0, ra.1);
                    (self.value(t.a, e, fill, false), zb)
                };
                (q.a[at[0]], q.b[at[0]]) = zero;
                let e = self.base();
                if at.len() > 1 && self.dice.one_in(2) {
                    let fill = self.fill();
                    self.put(&mut q, at[1], e, fill);
                } else {
                    q.c = self.c_value(e, Fill::Any);
                }
            }
            Subject::Edge => {
                let top = range(t.c).1;
                let at = self.positions(3);
                let limit = range(t.a).1 + range(t.b).1;
                for &i in &at {
                    let (e, fill) = ((top + self.dice.between(-2, 3)).min(limit - 1), self.fill());
                    self.put(&mut q, i, e, fill);
                }
                if self.dice.one_in(2) {
                    let e = top - self.dice.between(0, 12);
                    q.c = self.c_value(e, Fill::Any);
                }
            }
            Subject::Tiny => {
                let least = log2(t.c.min_normal());
                let at = self.positions(2);
                let keep = 1 + self.dice.below(at.len());
                for &i in &at[..keep] {
                    let (e, fill) = (least + self.dice.between(-(t.c.precision() as i32) - 2, 4), self.fill());
                    self.put(&mut q, i, e, fill);
                }
                if self.dice.one_in(2) {
                    let e = least + self.dice.between(-(t.c.precision() as i32), 3);
                    q.c = self.c_value(e, Fill::Any);
                }
            }
            Subject::Zeros => {
                for i in 0..self.spec.shape.k {
                    (q.a[i], q.b[i]) = (self.zero(t.a), self.zero(t.b));
                }
                if self.dice.one_in(3) {
                    // All products alike in sign.
                    q.a.fill(self.negative_zero(t.a));
                    q.b.fill(0);
                }
                q.c = self.zero(t.c);
            }
            Subject::Special | Subject::Whole(_) => self.special(&mut q),
        }
        if !matches!(subject, Subject::Zeros | Subject::ZeroProduct) {
            self.surround(&mut q);
        }
        q
    }

    /// Now and then no product is zero, or zeros have partners: zeros may take part in alignment.
    pub(super) fn surround(&mut self, q: &mut Question) {
        let t = self.spec.triple;
        let kind = self.dice.below(8);
        let ((la, _), (lb, tb)) = (range(t.a), range(t.b));
        let (tiny_a, tiny_b) = (self.value(t.a, la, Fill::One, false), self.value(t.b, lb, Fill::One, false));
        let e = self.dice.between(lb, tb);
        let partner = self.value(t.b, e, Fill::One, false);
        for i in 0..self.spec.shape.k {
            if q.a[i] != 0 || q.b[i] != 0 {
                continue;
            }
            match kind {
                0 | 1 => (q.a[i], q.b[i]) = (tiny_a, tiny_b),
                2 => q.b[i] = partner,
                _ => {}
            }
        }
    }

    fn negative_zero(&self, format: Format) -> u64 {
        format.encode(-0.0, Rounding::NearestEven, Overflow::Saturate)
    }

    fn zero(&mut self, format: Format) -> u64 {
        if self.dice.one_in(2) { self.negative_zero(format) } else { 0 }
    }

    fn cancelled(&mut self, q: &mut Question, fill: Fill) {
        let t = self.spec.triple;
        let (at, e) = (self.positions(4), self.base());
        let large_fill = if self.dice.one_in(2) { Fill::One } else { fill };
        let large = self.factors(e, large_fill);
        (q.a[at[0]], q.b[at[0]]) = large;
        if at.len() > 1 && !self.dice.one_in(3) {
            (q.a[at[1]], q.b[at[1]]) = (large.0, self.negated(t.b, large.1));
        } else {
            self.cancel_first(q, at[0]);
        }
        for &i in at.iter().skip(2) {
            let (apart, fill) = (self.dice.between(0, 44), self.fill());
            self.put(q, i, e - apart, fill);
        }
        if q.c == 0 && self.dice.one_in(2) {
            let (apart, fill) = (self.dice.between(0, 44), self.fill());
            q.c = self.c_value(e - apart, fill);
        }
    }

    fn special(&mut self, q: &mut Question) {
        let t = self.spec.triple;
        for &i in &self.positions(2) {
            let (e, fill) = (self.dice.between(-3, 3), self.fill());
            self.put(q, i, e, fill);
        }
        for _ in 0..1 + self.dice.below(2) {
            let i = self.dice.below(self.spec.shape.k);
            match self.dice.below(3) {
                0 => q.a[i] = self.special_code(t.a),
                1 => q.b[i] = self.special_code(t.b),
                _ => q.c = self.special_code(t.c),
            }
        }
    }

    /// An infinity or any NaN of a format, else its largest value.
    fn special_code(&mut self, format: Format) -> u64 {
        let negative = self.dice.one_in(2);
        let random = self.dice.word() & format.code_mask();
        match (self.dice.below(2), format.infinity_code(negative), format.nan_code()) {
            (0, Some(infinity), _) => infinity,
            (_, Some(infinity), Some(nan)) => {
                let ignored = if format == Format::Tf32 { 13 } else { 0 };
                let fraction = ((1 << (format.precision() - 1)) - 1) << ignored;
                let code = infinity | random & fraction;
                if format.is_nan(code) { code } else { nan }
            }
            (_, _, Some(nan)) => nan,
            _ => {
                if negative {
                    format.min_finite_code()
                } else {
                    format.max_finite_code()
                }
            }
        }
    }
}

/// A question of integers: few terms, ends of the range, c near an end.
pub(super) fn integers(spec: &UnitSpec, mut dice: Dice) -> Question {
    let (t, k) = (spec.triple, spec.shape.k);
    let inputs = Distribution::RandomBits.unscaled(t, k, dice.word(), dice.word() >> 40);
    let mut q = Question { a: inputs.a, b: inputs.b, c: inputs.c, ..Question::zero(spec) };
    let kind = dice.below(5);
    let extremes = |f: Format| [f.max_finite_code(), f.min_finite_code()];
    for i in 0..k {
        let same_side = [extremes(t.a)[0], extremes(t.b)[0]];
        match kind {
            // Few terms; all at one end of the range; ends of both signs.
            0 if dice.below(k) > 2 => q.a[i] = 0,
            1 => [q.a[i], q.b[i]] = same_side,
            2 => (q.a[i], q.b[i]) = (extremes(t.a)[dice.below(2)], extremes(t.b)[dice.below(2)]),
            _ => {}
        }
    }
    match dice.below(4) {
        0 => q.c = extremes(t.c)[dice.below(2)],
        1 => q.c = extremes(t.c)[dice.below(2)] ^ (dice.word() & 0xFFFF),
        2 => q.c = 0,
        _ => {}
    }
    q
}
