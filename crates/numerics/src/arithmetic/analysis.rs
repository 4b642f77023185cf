//! How many bits can the terms and sums of a step have, whatever its inputs?

use super::decoder::significant_bits;
use super::error::ModelError;
use super::intake::{Intake, ScaledPart};
use super::model::Model;
use super::output::Output;
use super::sum::{Align, Sum};
use crate::Format;
use crate::codec::Layout;

/// Bounds on values of one kind: |v| < 2^(exponent + 1 + over), in a significand of at most `bits` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub over: u32,
    pub bits: u32,
}

/// Bounds on the elements of an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Significant bits; for integers the width.
    pub bits: u32,
    /// Exponent of the last place of the smallest element.
    pub least: i32,
    /// |v| < 2^top.
    pub top: i32,
}

impl Span {
    pub(super) fn of(format: Format, intake: &Intake) -> Span {
        let (format, bits) = match intake.convert {
            Some(form) => (form.format, form.significant_bits()),
            None => (format, significant_bits(format) as u32),
        };
        match Layout::of(format) {
            None => Span { bits, least: 0, top: bits as i32 },
            Some(layout) => {
                let field = (layout.max_magnitude >> layout.fields.fraction_bits) as i32;
                let least = layout.min_exponent - (bits as i32 - 1);
                Span { bits, least, top: field - layout.fields.bias + 1 }
            }
        }
    }
}

/// Bounds on the products of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Products {
    /// Places below the leading one.
    pub places: i32,
    /// |a·b| < 2^(exponent + 1 + over).
    pub over: u32,
    /// Bits of a significand.
    pub bits: u32,
    /// Exponent of the last place of the smallest product.
    pub least: i32,
    /// |a·b| < 2^top.
    pub top: i32,
}

impl Products {
    /// The products of a model, and its scales where they multiply sums in place of products.
    pub(super) fn of_model(model: &Model) -> (Products, Option<Products>) {
        let mut factors = vec![Span::of(model.triple.a, &model.a), Span::of(model.triple.b, &model.b)];
        let scales = model.scales.map(|s| [s.a, s.b].map(|f| Span::of(f, &Intake::default())));
        let mut scale = None;
        match (model.scales, scales) {
            (Some(s), Some(spans)) if s.on == ScaledPart::Products => factors.extend(spans),
            (_, spans) => scale = spans.map(|spans| Products::of(&spans)),
        }
        (Products::of(&factors), scale)
    }

    /// From the factors of a product: both operands, and both scales where they take part.
    fn of(factors: &[Span]) -> Products {
        let places: u32 = factors.iter().map(|f| f.bits - 1).sum();
        // A factor of one bit is a power of two: it adds nothing above the sum of the exponents.
        let growing = factors.iter().filter(|f| f.bits > 1).count() as u32;
        Products {
            places: places as i32,
            over: growing.saturating_sub(1),
            bits: places + growing.max(1),
            least: factors.iter().map(|f| f.least).sum(),
            top: factors.iter().map(|f| f.top).sum(),
        }
    }
}

/// What is known of the sum of a step: whether its aligned products fit 64 bits, and bounds on what leaves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SumWidth {
    pub narrow: bool,
    pub left: Extent,
}

/// Bits of a sum of values that are kept in the fixed-width arithmetic of [`super::Evaluator`].
const WIDE: u32 = 122;
/// Bits of an unrounded value.
const VALUE: u32 = 63;

/// Bounds on the sum of `count` products and some values; `scaled` bounds the factor that multiplies the sum.
pub(super) fn width(
    sum: &Sum,
    products: Option<(usize, Products)>,
    values: &[Extent],
    integer: bool,
    scaled: Option<Products>,
) -> Result<SumWidth, ModelError> {
    let count = products.map_or(0, |(n, _)| n) + values.len();
    let growth = usize::BITS - count.saturating_sub(1).leading_zeros();
    let value_over = values.iter().map(|v| v.over).max().unwrap_or(0);
    let over = products.map_or(0, |(_, p)| p.over).max(value_over) + growth;
    let scale_bits = scaled.map_or(0, |s| s.bits);
    let (narrow, mut bits) = match &sum.align {
        Align::Largest(alignment) => {
            let finest = alignment.fraction_bits.max(alignment.c.map_or(0, |c| c.fraction_bits));
            // One bit for the leading place, one for terms that the cut moves up.
            let bits = finest + 2 + over;
            let narrow = products.is_none_or(|(_, p)| p.bits <= 62) && alignment.fraction_bits + 2 + over <= 62;
            (narrow, bits)
        }
        Align::Exact => {
            let product_bits = products.map_or(0, |(_, p)| if integer { p.bits } else { (p.top - p.least) as u32 });
            (false, product_bits.max(values.iter().map(|v| v.bits).max().unwrap_or(0)) + growth)
        }
    };
    let fixed = matches!(sum.align, Align::Largest(_)) || scaled.is_some();
    if fixed && bits + scale_bits > WIDE {
        return Err(ModelError::TooWide { bits: bits + scale_bits, limit: WIDE });
    }
    bits += scale_bits;
    let left = match sum.output {
        Output::Rounded(form) => Extent { over: 0, bits: form.significant_bits() },
        Output::Integer(form) => Extent { over: 0, bits: form.bits },
        Output::Unrounded => {
            if matches!(sum.align, Align::Exact) && !values.is_empty() && !integer {
                return Err(ModelError::UnroundedValues);
            }
            if bits > VALUE {
                return Err(ModelError::TooWide { bits, limit: VALUE });
            }
            match (scaled, products) {
                // The exponent is that of the scales alone.
                (Some(scale), Some((_, p))) => {
                    Extent { over: (p.top + growth as i32 + scale.over as i32 + 1).max(0) as u32, bits }
                }
                _ => Extent { over, bits },
            }
        }
    };
    Ok(SumWidth { narrow, left })
}
