//! What is the exact value of a dot product of codes, and how far is a device's output from it?
//!
//! Sums are exact, whatever the formats and however long: a 128-bit window holds the products that lie in it, a
//! superaccumulator of 4352 bits the rest. Rounding happens once, at the end, to nearest with ties to even, so any
//! program with exact rationals gets the same bits. In Python, with `a` and `b` the decoded elements and `d` the
//! decoded output as `fractions.Fraction`:
//!
//! ```python
//! c = sum(x * y for x, y in zip(a, b))
//! magnitude = sum(abs(x * y) for x, y in zip(a, b))
//! difference = float(abs(d - c))
//! relative = difference / float(magnitude) if difference else 0.0
//! ```

use crate::Format;
use crate::codec::Layout;
use crate::nearest::{nearest_f64, top_exponent};
use crate::superaccumulator::Superaccumulator;

/// An exact sum of products.
#[derive(Debug, Clone)]
pub struct ExactSum(Digits);

#[derive(Debug, Clone)]
enum Digits {
    /// units · 2^exponent.
    Narrow {
        units: i128,
        exponent: i32,
    },
    Wide(Box<Superaccumulator>),
}

/// Both exact sums of one output element.
#[derive(Debug, Clone)]
pub struct Dot {
    /// c = Σ a·b.
    pub sum: ExactSum,
    /// Σ |a|·|b|: the size against which a residual is judged.
    pub magnitude: ExactSum,
}

/// How far a device value ĉ lies from the exact c.
///
/// For integer outputs both fields are 0 where ĉ equals c modulo 2^width, and 1 where not: a distance modulo 2^width says
/// nothing. For a NaN or infinite ĉ, and where |ĉ − c| is beyond f64, both are ∞.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// |ĉ − c| rounded to f64, divided in f64 by Σ|a||b| rounded to f64; 0 where ĉ = c, else ∞
    /// where Σ|a||b| is 0 or beyond f64.
    ///
    /// It misleads where the sum cancels: a value with no right digit can still be small against Σ|a||b|.
    pub relative: f64,
    /// |ĉ − c| in units in the last place of the output format at c, rounded to f64 once.
    ///
    /// The unit at c is 2^(max(⌊log2|c|⌋, least normal exponent) − fraction bits), also beyond the format's largest
    /// value. It misleads where the sum cancels: the accumulation's own error is then many units.
    pub ulps: f64,
}

impl Residual {
    /// The residual of a value that cannot be compared: a NaN, an infinity.
    pub const INFINITE: Residual = Residual { relative: f64::INFINITY, ulps: f64::INFINITY };
}

/// An input code that is an infinity or NaN: it has no exact sum. Gate recipes draw none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "term {index} multiplies {a} code {a_code:#x} by {b} code {b_code:#x}, not both finite: only finite codes have an exact sum"
)]
pub struct NotFinite {
    /// Which term, from 0.
    pub index: usize,
    /// Format of the left code.
    pub a: Format,
    /// The left code.
    pub a_code: u64,
    /// Format of the right code.
    pub b: Format,
    /// The right code.
    pub b_code: u64,
}

/// Σ a·b and Σ|a||b| over pairs of codes, exactly.
///
/// # Errors
/// [`NotFinite`] for the first term with an infinity or NaN.
pub fn dot(a: Format, b: Format, pairs: impl IntoIterator<Item = (u64, u64)>) -> Result<Dot, NotFinite> {
    let (left, right) = (Decoder::new(a), Decoder::new(b));
    let mut sums = Sums::new(&left, &right);
    for (index, (a_code, b_code)) in pairs.into_iter().enumerate() {
        let (Some(x), Some(y)) = (left.parts(a_code), right.parts(b_code)) else {
            return Err(NotFinite { index, a, a_code, b, b_code });
        };
        let magnitude = u128::from(x.significand) * u128::from(y.significand);
        sums.add(x.negative != y.negative, magnitude, x.exponent + y.exponent);
    }
    Ok(sums.finish())
}

impl Dot {
    /// The residual of a device value, given as a code of the output format.
    pub fn residual(&self, output: Format, code: u64) -> Residual {
        let difference = self.sum.difference(output, code);
        if output.is_integer() || difference.is_infinite() {
            return Residual { relative: difference, ulps: difference };
        }
        let relative = match self.magnitude.to_f64() {
            _ if difference == 0.0 => 0.0,
            // Only f64 operands get there; a finite quotient would call any value right.
            f64::INFINITY => f64::INFINITY,
            magnitude => difference / magnitude,
        };
        Residual { relative, ulps: self.sum.distance(output, code, -self.sum.ulp_exponent(output)) }
    }
}

impl ExactSum {
    /// The sum that is exactly this finite number.
    ///
    /// # Panics
    /// For an infinity or NaN, which no sum is.
    pub fn of(x: f64) -> ExactSum {
        let one = 1.0_f64.to_bits();
        match dot(Format::F64, Format::F64, [(x.to_bits(), one)]) {
            Ok(dot) => dot.sum,
            Err(error) => panic!("{error}"),
        }
    }

    /// The sum rounded to f64, to nearest, ties to even; infinite from 2^1024 − 2^970 on. Zero comes out positive.
    pub fn to_f64(&self) -> f64 {
        self.scaled(0)
    }

    /// |ĉ − sum| rounded to f64, ∞ for a NaN or infinite ĉ; for an integer format 0 or 1 by equality modulo 2^width.
    pub fn difference(&self, output: Format, code: u64) -> f64 {
        self.distance(output, code, 0)
    }

    /// |ĉ − sum| · 2^scale, rounded once.
    fn distance(&self, output: Format, code: u64, scale: i32) -> f64 {
        if output.is_integer() {
            let equal = self.integer().is_some_and(|sum| (sum ^ code) & output.code_mask() == 0);
            return f64::from(u8::from(!equal));
        }
        match output.parts(code) {
            Some((significand, exponent)) => self.minus(significand, exponent).scaled(scale).abs(),
            None => f64::INFINITY,
        }
    }

    /// sum − significand · 2^exponent.
    fn minus(&self, significand: i64, exponent: i32) -> ExactSum {
        let zeros = significand.trailing_zeros().min(63);
        let (significand, exponent) = (i128::from(significand >> zeros), exponent + zeros as i32);
        if let Digits::Narrow { units, exponent: own } = self.0 {
            let common = if significand == 0 {
                own
            } else if units == 0 {
                exponent
            } else {
                own.min(exponent)
            };
            if let (Some(x), Some(y)) = (shifted(units, own, common), shifted(significand, exponent, common))
                && let Some(units) = x.checked_sub(y)
            {
                return ExactSum(Digits::Narrow { units, exponent: common });
            }
        }
        let mut wide = self.to_wide();
        wide.add(significand > 0, significand.unsigned_abs(), exponent);
        ExactSum(Digits::Wide(wide))
    }

    fn to_wide(&self) -> Box<Superaccumulator> {
        match &self.0 {
            Digits::Narrow { units, exponent } => {
                let mut wide = Box::new(Superaccumulator::ZERO);
                wide.add(*units < 0, units.unsigned_abs(), *exponent);
                wide
            }
            Digits::Wide(wide) => wide.clone(),
        }
    }

    /// (sum · 2^scale) rounded to f64.
    fn scaled(&self, scale: i32) -> f64 {
        match &self.0 {
            Digits::Narrow { units, exponent } => {
                nearest_f64(*units < 0, units.unsigned_abs(), false, exponent + scale)
            }
            Digits::Wide(wide) => wide.to_f64(scale),
        }
    }

    /// Exponent of the unit in the last place that a format has at this sum.
    fn ulp_exponent(&self, output: Format) -> i32 {
        let Some(layout) = Layout::of(output) else { return 0 };
        let top = match &self.0 {
            Digits::Narrow { units, exponent } => top_exponent(units.unsigned_abs(), *exponent),
            Digits::Wide(wide) => wide.top_exponent(),
        };
        top.unwrap_or(i32::MIN).max(layout.min_exponent) - layout.fields.fraction_bits as i32
    }

    /// The sum modulo 2^64, if it is an integer.
    fn integer(&self) -> Option<u64> {
        match &self.0 {
            Digits::Narrow { units, exponent: 0 } => Some(*units as u64),
            _ => self.to_wide().integer(),
        }
    }
}

/// units · 2^from in units of 2^to, if that fits.
fn shifted(units: i128, from: i32, to: i32) -> Option<i128> {
    if units == 0 {
        return Some(0);
    }
    let shift = u32::try_from(from - to).ok()?;
    (shift < units.unsigned_abs().leading_zeros()).then(|| units << shift)
}

/// One finite element: ±significand · 2^exponent.
struct Parts {
    negative: bool,
    significand: u64,
    exponent: i32,
}

/// [`Format::parts`] with everything that depends on the format alone taken out of the loop.
enum Decoder {
    /// Integers and block-scaled formats.
    ByParts(Format),
    Floating {
        layout: Layout,
        first_normal: u64,
        step: i32,
        negative_zero_is_nan: bool,
    },
}

impl Decoder {
    fn new(format: Format) -> Decoder {
        let Some(layout) = Layout::of(format) else { return Decoder::ByParts(format) };
        let fields = layout.fields;
        Decoder::Floating {
            layout,
            first_normal: (layout.min_exponent + fields.bias) as u64,
            step: layout.min_exponent - fields.fraction_bits as i32,
            negative_zero_is_nan: fields.specials == crate::format::Specials::NegativeZeroNan,
        }
    }

    #[inline]
    fn parts(&self, code: u64) -> Option<Parts> {
        match self {
            Decoder::ByParts(format) => {
                let (value, exponent) = format.parts(code)?;
                Some(Parts { negative: value < 0, significand: value.unsigned_abs(), exponent })
            }
            Decoder::Floating { layout, first_normal, step, negative_zero_is_nan } => {
                let (negative, magnitude) = layout.split(code);
                if magnitude > layout.max_magnitude || (*negative_zero_is_nan && negative && magnitude == 0) {
                    return None;
                }
                let bits = layout.fields.fraction_bits;
                let (field, fraction) = (magnitude >> bits, magnitude & ((1 << bits) - 1));
                let normal = field >= *first_normal;
                let significand = fraction | u64::from(normal) << bits;
                let exponent = step + if normal { (field - first_normal) as i32 } else { 0 };
                Some(Parts { negative, significand, exponent })
            }
        }
    }

    /// Least and largest exponent, and the most bits of a significand.
    fn range(&self) -> (i32, i32, u32) {
        match self {
            Decoder::ByParts(format) => match format.scale_groups() {
                Some(groups) => {
                    let [x, y] = [groups.element, groups.scale].map(|format| Decoder::new(format).range());
                    (x.0 + y.0, x.1 + y.1, x.2 + y.2)
                }
                None => (0, 0, format.bits()),
            },
            Decoder::Floating { layout, first_normal, step, .. } => {
                let bits = layout.fields.fraction_bits;
                (*step, step + ((layout.max_magnitude >> bits) - first_normal) as i32, bits + 1)
            }
        }
    }
}

/// Both sums while terms come in.
struct Sums {
    /// Σ a·b and Σ|a||b| in units of 2^base.
    sum: i128,
    magnitude: u128,
    /// `None` until the first product fixes it.
    base: Option<i32>,
    /// Products with exponents base … base + window go into the narrow sums.
    window: u32,
    /// Σ a·b and Σ|a||b| of the products outside the window, or beyond its capacity.
    wide: Option<Box<[Superaccumulator; 2]>>,
}

impl Sums {
    /// Bits left free above the widest product, so that 2^20 terms do not overflow a window that spans a format.
    const HEADROOM: u32 = 20;

    fn new(left: &Decoder, right: &Decoder) -> Sums {
        let ((low_a, high_a, bits_a), (low_b, high_b, bits_b)) = (left.range(), right.range());
        let window = 126 - (bits_a + bits_b);
        let whole = (high_a + high_b - low_a - low_b) as u32 + Self::HEADROOM <= window;
        Sums { sum: 0, magnitude: 0, base: whole.then_some(low_a + low_b), window, wide: None }
    }

    #[inline]
    fn add(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        if magnitude == 0 {
            return;
        }
        // Formats of a wide range: centre the window on the first product.
        let base = *self.base.get_or_insert(exponent - self.window as i32 / 2);
        let shift = (exponent - base) as u32;
        // Below 2^126, so that neither the sum nor the magnitude leaves 127 bits.
        if shift <= self.window && self.magnitude >> 126 == 0 {
            let units = magnitude << shift;
            self.magnitude += units;
            let sign = -i128::from(negative);
            self.sum += (units as i128 ^ sign) - sign;
        } else {
            self.add_wide(negative, magnitude, exponent);
        }
    }

    #[cold]
    fn add_wide(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        let zero = || Box::new([Superaccumulator::ZERO, Superaccumulator::ZERO]);
        let [sum, absolute] = &mut **self.wide.get_or_insert_with(zero);
        sum.add(negative, magnitude, exponent);
        absolute.add(false, magnitude, exponent);
    }

    fn finish(self) -> Dot {
        let (units, exponent) = ([self.sum, self.magnitude as i128], self.base.unwrap_or(0));
        let [sum, magnitude] = match self.wide {
            None => units.map(|units| ExactSum(Digits::Narrow { units, exponent })),
            Some(wide) => {
                let [mut sum, mut magnitude] = *wide;
                sum.add(units[0] < 0, units[0].unsigned_abs(), exponent);
                magnitude.add(false, self.magnitude, exponent);
                [sum, magnitude].map(|wide| ExactSum(Digits::Wide(Box::new(wide))))
            }
        };
        Dot { sum, magnitude }
    }
}
