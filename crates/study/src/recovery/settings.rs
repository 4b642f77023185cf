//! Which other settings has each parameter of a model?

use super::knobs::{Knob, Place, form_at, number_of_sums, step, sums};
use rigel_numerics::arithmetic::*;
use rigel_numerics::{Format, Rounding};

const WAYS: [Rounding; 6] = Rounding::ALL;

fn with(model: &Model, change: impl FnOnce(&mut Model)) -> Model {
    let mut other = model.clone();
    change(&mut other);
    other
}

/// How many settings of a knob that has many are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fineness {
    /// A ladder over all, and the neighbours of the present one: where one setting helps, near ones help a little.
    Ladder,
    /// All.
    All,
}

/// Exponents worth trying; of formats with a wide range never all.
fn exponents(present: Option<i32>, wide: bool, fineness: Fineness) -> Vec<i32> {
    let mut all: Vec<i32> = match fineness {
        Fineness::All => (-170..=40).collect(),
        Fineness::Ladder => (-168..=36).step_by(6).collect(),
    };
    if wide {
        all.extend((-1100..=-171).step_by(29));
    }
    if let Some(e) = present {
        all.extend((e - 8..=e + 8).filter(|&x| x != e));
        all.extend([e - 14, e + 14, e - 29, e + 29].into_iter().filter(|_| wide));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Numbers of bits worth trying.
fn bits(present: Option<u32>, fineness: Fineness) -> Vec<u32> {
    let mut all: Vec<u32> = match fineness {
        Fineness::All => (0..=100).collect(),
        Fineness::Ladder => (0..=36).chain((38..=64).step_by(2)).chain((68..=100).step_by(4)).collect(),
    };
    all.extend(present.iter().flat_map(|&b| b.saturating_sub(3)..=(b + 3).min(100)));
    all.sort_unstable();
    all.dedup();
    all
}

/// The models that differ from one in one knob. Some may be impossible; evaluators say so.
pub(super) fn settings(model: &Model, knob: Knob, fineness: Fineness) -> Vec<Model> {
    let mut all = turned(model, knob, fineness);
    all.retain(|other| other != model);
    all
}

fn turned(model: &Model, knob: Knob, fineness: Fineness) -> Vec<Model> {
    match knob {
        Knob::Fraction(s) => fractions(model, s, None, fineness),
        Knob::FractionAndCut(s) => {
            WAYS.iter().flat_map(|&cut| fractions(model, s, Some(cut), Fineness::Ladder)).collect()
        }
        Knob::Cut(s) => aligned(model, s, |_| WAYS.to_vec(), |a, cut| a.cut = cut),
        Knob::CFraction(s) => {
            let own =
                |a: &Alignment| a.c.unwrap_or(CAlignment { fraction_bits: a.fraction_bits, cut: a.cut, reach: None });
            let to = |a: &mut Alignment, bits: Option<u32>| {
                a.c = bits.map(|fraction_bits| CAlignment { fraction_bits, ..own(a) })
            };
            let each = |a: &Alignment| bits(Some(own(a).fraction_bits), fineness).into_iter().map(Some);
            aligned(model, s, |a| std::iter::once(None).chain(each(a)).collect(), to)
        }
        Knob::CCut(s) => {
            let own =
                |a: &Alignment| a.c.unwrap_or(CAlignment { fraction_bits: a.fraction_bits, cut: a.cut, reach: None });
            aligned(model, s, |_| WAYS.to_vec(), |a, cut| a.c = Some(CAlignment { cut, ..own(a) }))
        }
        Knob::Reach(s) => {
            let own =
                |a: &Alignment| a.c.unwrap_or(CAlignment { fraction_bits: a.fraction_bits, cut: a.cut, reach: None });
            let each = |a: &Alignment| bits(a.c.and_then(|c| c.reach), fineness).into_iter().map(Some);
            let reaches = |a: &Alignment| std::iter::once(None).chain(each(a)).collect();
            aligned(model, s, reaches, |a, reach| a.c = Some(CAlignment { reach, ..own(a) }))
        }
        Knob::ProductExponent(s) => aligned(model, s, |_| ProductExponent::ALL.to_vec(), |a, e| a.products = e),
        Knob::ValueExponent(s) => aligned(model, s, |_| ValueExponent::ALL.to_vec(), |a, e| a.values = e),
        Knob::ZeroProducts(s) => {
            let rules = |a: &Alignment| {
                let present = match a.zero_products {
                    ZeroProducts::Ignored => None,
                    ZeroProducts::Operand(e) | ZeroProducts::Product(e) => Some(e),
                };
                let each = exponents(present, false, fineness);
                let operand = each.iter().map(|&e| ZeroProducts::Operand(e));
                let product = each.iter().map(|&e| ZeroProducts::Product(e));
                std::iter::once(ZeroProducts::Ignored).chain(operand).chain(product).collect()
            };
            aligned(model, s, rules, |a, rule| a.zero_products = rule)
        }
        Knob::ZeroValues(s) => {
            let rules = |a: &Alignment| optional(exponents(a.zero_values, is_wide(model), fineness));
            aligned(model, s, rules, |a, e| a.zero_values = e)
        }
        Knob::Floor(s) => {
            let rules = |a: &Alignment| optional(exponents(a.floor, is_wide(model), fineness));
            aligned(model, s, rules, |a, e| a.floor = e)
        }
        Knob::Carry(s) => aligned(
            model,
            s,
            |_| std::iter::once(None).chain((1..=12).map(Some)).collect(),
            |a, bits| a.carry_bits = bits,
        ),
        Knob::ZeroSign(s) => {
            ZeroSign::ALL.iter().map(|&zero| with(model, |m| sums(&mut m.body)[s].zero = zero)).collect()
        }
        Knob::Form(s) => forms(model, s),
        Knob::Integer(s) => integers(model, s),
        Knob::Rounding(place) => rounded(model, place, |_| WAYS.to_vec(), |form, rounding| form.rounding = rounding),
        Knob::Precision(place) => rounded(model, place, precisions, |form, bits| form.precision = bits),
        Knob::PrecisionAndRounding(place) => {
            let both = |form: &Rounded| precisions(form).into_iter().flat_map(|p| WAYS.map(|way| (p, way))).collect();
            rounded(model, place, both, |form, (bits, way)| (form.precision, form.rounding) = (bits, way))
        }
        Knob::Overflow(place) => rounded(model, place, |_| OverflowTo::ALL.to_vec(), |form, to| form.overflow = to),
        Knob::Subnormals(place) => rounded(model, place, |_| Subnormals::ALL.to_vec(), |form, to| form.subnormals = to),
        Knob::Vanished(place) => rounded(model, place, |_| Vanished::ALL.to_vec(), |form, to| form.vanished = to),
        Knob::ProductLimit => {
            let rung = if fineness == Fineness::All { 1 } else { 6 };
            let present = model.body.step().product_limit;
            let near = present.into_iter().flat_map(|l| l - 5..=l + 5).map(Some);
            let ladder = (4..=130).step_by(rung).map(Some);
            let limits = std::iter::once(None).chain(ladder).chain(near).chain([1024, 1025].map(Some));
            limits.map(|limit| with(model, |m| step(&mut m.body).product_limit = limit)).collect()
        }
        Knob::Flush(o) => Flush::ALL.iter().map(|&rule| with(model, |m| o.intake(m).subnormals = rule)).collect(),
        Knob::Convert(o) => {
            let mut formats = vec![o.format(model), Format::Tf32, Format::F16, Format::Bf16, Format::E5m2];
            formats.dedup();
            let few = |form: &Rounded| {
                form.rounding == Rounding::NearestEven
                    && form.precision.is_none_or(|bits| bits < 4 || bits % 3 == 2 && bits < 24)
            };
            let ruled = formats.clone().into_iter().flat_map(strange);
            let plain: Vec<Rounded> = match fineness {
                Fineness::Ladder => formats.into_iter().flat_map(coarse).filter(few).collect(),
                Fineness::All => formats.into_iter().flat_map(every).collect(),
            };
            let forms = plain.into_iter().chain(ruled).map(Some);
            std::iter::once(None).chain(forms).map(|form| with(model, |m| o.intake(m).convert = form)).collect()
        }
        Knob::Store => {
            let own = WAYS.map(|way| Rounded::to(model.triple.c, way));
            let forms = coarse(model.triple.c).into_iter().chain(own).chain(strange(model.triple.c)).map(Some);
            std::iter::once(None).chain(forms).map(|form| with(model, |m| m.store = form)).collect()
        }
        Knob::Later => later(model),
        Knob::Nan => nans(model),
        Knob::ScaledPart => [ScaledPart::Products, ScaledPart::Sums]
            .iter()
            .filter_map(|&on| model.scales.map(|scales| with(model, |m| m.scales = Some(Scales { on, ..scales }))))
            .collect(),
    }
}

fn is_wide(model: &Model) -> bool {
    [model.triple.a, model.triple.b, model.triple.c].contains(&Format::F64)
}

fn optional(exponents: Vec<i32>) -> Vec<Option<i32>> {
    std::iter::once(None).chain(exponents.into_iter().map(Some)).collect()
}

fn fractions(model: &Model, s: usize, cut: Option<Rounding>, fineness: Fineness) -> Vec<Model> {
    let mut own = model.body.clone();
    let present = match &sums(&mut own)[s].align {
        Align::Largest(alignment) => alignment.clone(),
        Align::Exact => Alignment::new(0, Rounding::TowardZero),
    };
    let to = |align: Align| with(model, |m| sums(&mut m.body)[s].align = align);
    let each = bits(Some(present.fraction_bits), fineness).into_iter().map(|fraction_bits| {
        to(Align::Largest(Alignment { fraction_bits, cut: cut.unwrap_or(present.cut), ..present.clone() }))
    });
    std::iter::once(to(Align::Exact)).chain(each).collect()
}

fn aligned<T>(
    model: &Model,
    s: usize,
    rules: impl Fn(&Alignment) -> Vec<T>,
    set: impl Fn(&mut Alignment, T),
) -> Vec<Model> {
    let mut own = model.body.clone();
    let Align::Largest(present) = &sums(&mut own)[s].align else { return Vec::new() };
    let change = |rule: T| {
        with(model, |m| {
            if let Align::Largest(alignment) = &mut sums(&mut m.body)[s].align {
                set(alignment, rule);
            }
        })
    };
    rules(present).into_iter().map(change).collect()
}

fn rounded<T>(
    model: &Model,
    place: Place,
    rules: impl Fn(&Rounded) -> Vec<T>,
    set: impl Fn(&mut Rounded, T),
) -> Vec<Model> {
    let mut own = model.clone();
    let Some(present) = form_at(&mut own, place).map(|form| *form) else { return Vec::new() };
    let change = |rule: T| {
        with(model, |m| {
            if let Some(form) = form_at(m, place) {
                set(form, rule);
            }
        })
    };
    rules(&present).into_iter().map(change).collect()
}

fn precisions(form: &Rounded) -> Vec<Option<u32>> {
    let full = form.format.precision();
    let own = (1..=(full + 8).min(60)).filter(|&bits| bits != full).map(Some);
    std::iter::once(None).chain(own).collect()
}

/// Roundings to a format of all significant bits and of fewer, two ways each.
fn coarse(format: Format) -> Vec<Rounded> {
    let full = format.precision();
    let own = format.infinity_code(false).is_some();
    let fewer = (2..full).filter(|&bits| own && (bits <= 13 || bits % 3 == 0 || bits + 2 >= full)).map(Some);
    let bits = std::iter::once(None).chain(fewer);
    let ways = [Rounding::NearestEven, Rounding::TowardZero];
    bits.flat_map(|precision| ways.map(|way| Rounded { precision, ..Rounded::to(format, way) })).collect()
}

/// Roundings to a format of every number of significant bits, every way.
fn every(format: Format) -> Vec<Rounded> {
    let own = format.infinity_code(false).is_some();
    let bits = std::iter::once(None).chain((1..format.precision()).filter(|_| own).map(Some));
    bits.flat_map(|precision| WAYS.map(|way| Rounded { precision, ..Rounded::to(format, way) })).collect()
}

/// Roundings to all bits of a format that show at the ends of its range alone.
fn strange(format: Format) -> Vec<Rounded> {
    let plain = Rounded::to(format, Rounding::NearestEven);
    let saturated = Rounded { overflow: OverflowTo::Largest, ..plain };
    let flushed = |form: Rounded| Rounded { subnormals: Subnormals::FlushBefore, ..form };
    let positive = |form: Rounded| Rounded { vanished: Vanished::Positive, ..form };
    vec![saturated, flushed(plain), flushed(saturated), positive(flushed(plain)), positive(flushed(saturated))]
}

/// The last sum's rounding moved to the end, if there is none yet, and every other rounding for that sum.
fn later(model: &Model) -> Vec<Model> {
    let last = number_of_sums(model) - 1;
    let mut own = model.clone();
    let Some(form) = form_at(&mut own, Place::Sum(last)).map(|form| *form) else { return Vec::new() };
    if model.store.is_none() {
        own.store = Some(Rounded { format: model.triple.c, ..form });
    }
    let mut formats = vec![model.triple.c, Format::F32, Format::F16, Format::Bf16];
    formats.dedup();
    let bits = |format: Format| {
        precisions(&Rounded::to(format, form.rounding))
            .into_iter()
            .filter(move |p| p.is_none() || format.infinity_code(false).is_some())
    };
    let forms = formats.into_iter().flat_map(|format| {
        bits(format).flat_map(move |precision| WAYS.map(|way| Rounded { precision, ..Rounded::to(format, way) }))
    });
    forms.map(|form| with(&own, |m| sums(&mut m.body)[last].output = Output::Rounded(form))).collect()
}

fn forms(model: &Model, s: usize) -> Vec<Model> {
    let mut own = model.clone();
    let present = form_at(&mut own, Place::Sum(s)).map(|form| *form);
    let mut formats = vec![model.triple.c, Format::F32, Format::F16, Format::Bf16];
    formats.dedup();
    let ways = if present.is_some() { vec![None] } else { WAYS.map(Some).to_vec() };
    let mut all = Vec::new();
    for format in formats {
        for way in &ways {
            let old = present.unwrap_or(Rounded::to(format, way.unwrap_or(Rounding::NearestEven)));
            let precision = old.precision.filter(|_| format.infinity_code(false).is_some());
            all.push(Output::Rounded(Rounded { format, precision, ..old }));
        }
    }
    all.push(Output::Unrounded);
    all.into_iter().map(|output| with(model, |m| sums(&mut m.body)[s].output = output)).collect()
}

fn integers(model: &Model, s: usize) -> Vec<Model> {
    let signed = model.triple.c.is_signed();
    let form = |bits, overflow| Output::Integer(IntegerOutput { bits, signed, overflow });
    let each = (2..=63).flat_map(|bits| [IntegerOverflow::Wrap, IntegerOverflow::Saturate].map(|o| form(bits, o)));
    each.map(|output| with(model, |m| sums(&mut m.body)[s].output = output)).collect()
}

fn nans(model: &Model) -> Vec<Model> {
    use NanSource::{A, B, C};
    let format = model.triple.c;
    let (NanRule::Word(own) | NanRule::First { invalid: own, .. }) = model.nan;
    let mut words = vec![own];
    if let (Some(quiet), Some(infinity)) = (format.nan_code(), format.infinity_code(false)) {
        let ignored = if format == Format::Tf32 { 0x1FFF } else { 0 };
        let full = (format.code_mask() >> 1) & !ignored;
        words.extend([quiet, full, infinity | quiet | 1 << (format.bits() - 1)]);
        words.dedup();
    }
    let orders = [[A, B, C], [A, C, B], [B, A, C], [B, C, A], [C, A, B], [C, B, A]];
    let rules =
        |word| std::iter::once(NanRule::Word(word)).chain(orders.map(|order| NanRule::First { order, invalid: word }));
    words.into_iter().flat_map(rules).map(|nan| with(model, |m| m.nan = nan)).collect()
}
