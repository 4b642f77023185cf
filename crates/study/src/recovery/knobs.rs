//! Which parameters does a model have?
//!
//! A knob is one parameter of one sum, rounding or operand of a model. Turning it gives models that differ from it there and
//! nowhere else. Fitting turns knobs; elimination asks whether a turned knob could be told.

use rigel_numerics::Format;
use rigel_numerics::arithmetic::*;
use std::fmt;

/// One parameter of a model. A number says which of its sums, in the order of [`sums`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Knob {
    /// Whether a sum is exact, else its fraction bits.
    Fraction(usize),
    /// How its terms are cut.
    Cut(usize),
    /// Fraction bits of c where they differ.
    CFraction(usize),
    /// How c is cut where that differs.
    CCut(usize),
    /// Beyond which distance c is dropped.
    Reach(usize),
    /// Exponents of products.
    ProductExponent(usize),
    /// Exponents of values.
    ValueExponent(usize),
    /// Exponents of zero products.
    ZeroProducts(usize),
    /// Exponent of zero values.
    ZeroValues(usize),
    /// Least exponent to align to.
    Floor(usize),
    /// Carry bits.
    Carry(usize),
    /// Sign of zero sums.
    ZeroSign(usize),
    /// Whether a sum leaves unrounded, else in which format.
    Form(usize),
    /// Width and overflow of an integer sum.
    Integer(usize),
    /// Significant bits.
    Precision(Place),
    /// Rounding.
    Rounding(Place),
    /// Overflow.
    Overflow(Place),
    /// Subnormal results.
    Subnormals(Place),
    /// Sign of vanished values.
    Vanished(Place),
    /// Magnitude from which products are infinite.
    ProductLimit,
    /// Subnormal operands.
    Flush(Operand),
    /// The form to which an operand is converted.
    Convert(Operand),
    /// Whether a last rounding follows.
    Store,
    /// NaN words.
    Nan,
    /// What scales multiply.
    ScaledPart,
    /// Fraction bits of a sum and their cut, together.
    FractionAndCut(usize),
    /// Significant bits and rounding, together.
    PrecisionAndRounding(Place),
    /// The rounding of the last sum becomes a last rounding, and the sum gets another one.
    Later,
}

/// Where a value is rounded to a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    /// What leaves a sum.
    Sum(usize),
    /// The last rounding.
    Store,
    /// An operand.
    Operand(Operand),
}

/// One of the three operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Operand {
    A,
    B,
    C,
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |what: &str, sum: &usize| format!("{what} of sum {}", sum + 1);
        let at = |what: &str, place: &Place| match place {
            Place::Sum(sum) => format!("{what} of sum {}", sum + 1),
            Place::Store => format!("{what} of the last rounding"),
            Place::Operand(operand) => format!("{what} of converted {}", operand.name()),
        };
        let text = match self {
            Knob::Fraction(s) | Knob::FractionAndCut(s) => of("fraction bits", s),
            Knob::Cut(s) => of("cut", s),
            Knob::CFraction(s) => of("fraction bits of c", s),
            Knob::CCut(s) => of("cut of c", s),
            Knob::Reach(s) => of("reach of c", s),
            Knob::ProductExponent(s) => of("product exponents", s),
            Knob::ValueExponent(s) => of("value exponents", s),
            Knob::ZeroProducts(s) => of("exponents of zero products", s),
            Knob::ZeroValues(s) => of("exponent of zero values", s),
            Knob::Floor(s) => of("least exponent", s),
            Knob::Carry(s) => of("carry bits", s),
            Knob::ZeroSign(s) => of("sign of a zero", s),
            Knob::Form(s) => of("form of what leaves", s),
            Knob::Integer(s) => of("integer width", s),
            Knob::Precision(p) | Knob::PrecisionAndRounding(p) => at("significant bits", p),
            Knob::Rounding(p) => at("rounding", p),
            Knob::Overflow(p) => at("overflow", p),
            Knob::Subnormals(p) => at("subnormal results", p),
            Knob::Vanished(p) => at("sign of vanished values", p),
            Knob::ProductLimit => "magnitude from which products are infinite".to_owned(),
            Knob::Flush(o) => format!("subnormal {}", o.name()),
            Knob::Convert(o) => format!("conversion of {}", o.name()),
            Knob::Store | Knob::Later => "a last rounding".to_owned(),
            Knob::Nan => "NaN words".to_owned(),
            Knob::ScaledPart => "what scales multiply".to_owned(),
        };
        f.pad(&text)
    }
}

impl Operand {
    pub(super) const ALL: [Operand; 3] = [Operand::A, Operand::B, Operand::C];

    fn name(self) -> &'static str {
        match self {
            Operand::A => "a",
            Operand::B => "b",
            Operand::C => "c",
        }
    }

    pub(super) fn format(self, model: &Model) -> Format {
        let t = model.triple;
        match self {
            Operand::A => t.a,
            Operand::B => t.b,
            Operand::C => t.c,
        }
    }

    pub(super) fn intake(self, model: &mut Model) -> &mut Intake {
        match self {
            Operand::A => &mut model.a,
            Operand::B => &mut model.b,
            Operand::C => &mut model.c,
        }
    }
}

/// The sums of a node: those of what it repeats first, then its own.
pub(super) fn sums(node: &mut Node) -> Vec<&mut Sum> {
    match node {
        Node::Step(step) => vec![&mut step.sum],
        Node::Chain(chain) => {
            let mut all = sums(&mut chain.each);
            all.extend(chain.late_c.as_mut().map(|late| &mut late.sum));
            all
        }
        Node::Join(join) => {
            let mut all = sums(&mut join.each);
            all.push(&mut join.sum);
            all
        }
    }
}

/// The step of a node.
pub(super) fn step(node: &mut Node) -> &mut Step {
    match node {
        Node::Step(step) => step,
        Node::Chain(chain) => step(&mut chain.each),
        Node::Join(join) => step(&mut join.each),
    }
}

pub(super) fn number_of_sums(model: &Model) -> usize {
    sums(&mut model.body.clone()).len()
}

/// Every knob of a model but those that turn two parameters at once; in an order in which they are well turned.
pub(super) fn knobs(model: &Model) -> Vec<Knob> {
    let count = number_of_sums(model);
    if model.triple.is_integer() {
        return (0..count).map(Knob::Integer).collect();
    }
    let mut all = Vec::new();
    for s in 0..count {
        all.extend([Knob::Form(s), Knob::Fraction(s), Knob::Cut(s)]);
        all.extend([Knob::Rounding(Place::Sum(s)), Knob::Precision(Place::Sum(s))]);
    }
    all.extend([Knob::Store, Knob::Rounding(Place::Store), Knob::Precision(Place::Store)]);
    for o in Operand::ALL {
        let place = Place::Operand(o);
        all.extend([Knob::Flush(o), Knob::Convert(o), Knob::Rounding(place), Knob::Precision(place)]);
    }
    for s in 0..count {
        // The first sum is the step: it alone has products, and it may have nothing else.
        if s == 0 {
            all.extend([Knob::ZeroProducts(s), Knob::ProductExponent(s)]);
        }
        if s > 0 || model.body.step().c {
            all.extend([
                Knob::CFraction(s),
                Knob::CCut(s),
                Knob::Reach(s),
                Knob::ZeroValues(s),
                Knob::ValueExponent(s),
            ]);
        }
        all.extend([Knob::Floor(s), Knob::Carry(s), Knob::ZeroSign(s)]);
    }
    let places = (0..count).map(Place::Sum).chain([Place::Store]).chain(Operand::ALL.map(Place::Operand));
    for place in places {
        all.extend([Knob::Overflow(place), Knob::Subnormals(place), Knob::Vanished(place)]);
    }
    all.extend([Knob::ProductLimit, Knob::Nan]);
    if model.scales.is_some() {
        all.push(Knob::ScaledPart);
    }
    all
}

/// Knobs that turn two parameters at once.
pub(super) fn pairs(model: &Model) -> Vec<Knob> {
    if model.triple.is_integer() {
        return Vec::new();
    }
    let count = number_of_sums(model);
    let mut all: Vec<Knob> = (0..count).map(Knob::FractionAndCut).collect();
    all.extend((0..count).map(|s| Knob::PrecisionAndRounding(Place::Sum(s))));
    all.extend([Knob::PrecisionAndRounding(Place::Store), Knob::Later]);
    all.extend(Operand::ALL.map(|o| Knob::PrecisionAndRounding(Place::Operand(o))));
    all
}

/// The rounding at a place, if there is one.
pub(super) fn form_at(model: &mut Model, place: Place) -> Option<&mut Rounded> {
    match place {
        Place::Store => model.store.as_mut(),
        Place::Operand(o) => o.intake(model).convert.as_mut(),
        Place::Sum(s) => match &mut sums(&mut model.body).into_iter().nth(s)?.output {
            Output::Rounded(form) => Some(form),
            Output::Unrounded | Output::Integer(_) => None,
        },
    }
}
