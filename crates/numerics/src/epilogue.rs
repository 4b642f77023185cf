//! What should a product be to which a bias is added and an activation applied?
//!
//! The bias is one number a column of C, in the format of B: row K of B, one row below the operand's own, so that every recipe
//! draws it and no operand of another kind is needed. The sum before the activation is then a dot product of K + 1 terms, the
//! last of which is the bias times 1 ([`with_ones`]), and Σ|a||b| counts it. The activation is applied to that sum, rounded to f64
//! once, in f64.
//!
//! **Bound.** |y(s) − y(t)| ≤ L·|s − t| for both activations with L = [`LIPSCHITZ`], so an error of the sum grows by at most L; and
//! evaluating an activation in the accumulate type is granted [`EVALUATION`] units of it, relative to |s| ≤ Σ|a||b|.
//!
//! **Where it misleads.** Far to the left GELU is nearly 0 whatever the sum is, so errors of strongly negative sums are not seen there.

use crate::bound::{Tolerance, rounding};
use crate::exact::{self, Dot, ExactSum, NotFinite};
use crate::plane::Plane;
use crate::reference::{Reference, Values};
use crate::{Format, Matrix, Overflow, Rounding, Triple};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An activation function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activation {
    /// x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³))).
    GeluTanh,
    /// x · ½ (1 + erf(x / √2)).
    GeluErf,
}

/// Steepest slope of either activation, rounded up: 1.12904 of GELU, 1.12857 of its form with tanh.
pub const LIPSCHITZ: f64 = 1.13;

/// Units of the accumulate type, relative to the sum, that evaluating an activation may cost.
pub const EVALUATION: f64 = 16.0;

impl Activation {
    /// Both.
    pub const ALL: [Activation; 2] = [Activation::GeluTanh, Activation::GeluErf];

    /// The value in f64, right to a few units in its last place also where it is tiny.
    ///
    /// The functions are those of the crate `libm`, not of the platform, so every machine gets the same bits.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Activation::GeluTanh => {
                let slope = 2.0 * (2.0 / std::f64::consts::PI).sqrt();
                x / (1.0 + libm::exp(-slope * (x + 0.044715 * (x * x * x))))
            }
            Activation::GeluErf => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        }
    }

    /// The name as files hold it.
    pub const fn name(self) -> &'static str {
        match self {
            Activation::GeluTanh => "gelu-tanh",
            Activation::GeluErf => "gelu-erf",
        }
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How far an output may lie from the exact activation of the exact sum, relative to Σ|a||b| with the bias in it.
///
/// Activations of integers do not exist here; their products are compared exactly and so is nothing else.
pub fn tolerance(triple: Triple, k: usize) -> Tolerance {
    let sum = rounding(triple, k + 1);
    let evaluation = EVALUATION * crate::bound::unit_roundoff(triple.acc);
    Tolerance { relative: LIPSCHITZ * sum.relative + evaluation, absolute: LIPSCHITZ * sum.absolute, exact: false }
}

/// The exact sum of an element with its bias, and what the activation makes of it; `terms` are the product's own.
///
/// # Errors
/// [`NotFinite`] for the first term with an infinity or NaN; that of the bias has the index behind the last.
pub fn dot(
    triple: Triple,
    activation: Activation,
    terms: impl Iterator<Item = (u64, u64)>,
    bias: u64,
) -> Result<Dot, NotFinite> {
    let sum = exact::dot(triple.a, triple.b, terms.chain([(one(triple.a), bias)]))?;
    Ok(Dot { sum: ExactSum::of(activation.of(sum.sum.to_f64())), magnitude: sum.magnitude })
}

/// A with a column of ones behind it: its product with B and the bias below it is the sum before the activation.
pub fn with_ones(a: &Matrix) -> Matrix {
    let mut wide = Matrix::zeroed(a.format, a.rows, a.cols + 1);
    let one = one(a.format);
    let bytes = Matrix::row_bytes(a.format, a.cols);
    for row in 0..a.rows {
        wide.row_mut(row)[..bytes].copy_from_slice(a.row(row));
        wide.set(row, a.cols, one);
    }
    wide
}

fn one(format: Format) -> u64 {
    format.encode(1.0, Rounding::NearestEven, Overflow::Saturate)
}

/// A reference whose sums went through an activation: what outputs are compared with. Integers stay as they are.
pub fn activated<M>(mut reference: Reference<M>, activation: Activation) -> Reference<M> {
    let through = |plane: Plane<f64>| plane.convert(|x: f64| activation.of(x));
    reference.values = match reference.values {
        Values::Single { sum, magnitude } => Values::Single { sum: through(sum), magnitude },
        Values::Double { high, low, magnitude } => {
            Values::Double { high: through(high), low: low.convert(|_: f64| 0.0), magnitude }
        }
        integers @ Values::Integer { .. } => integers,
    };
    reference.activation = Some(activation);
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_have_their_published_values_and_stay_right_where_they_are_tiny() {
        // Abramowitz and Stegun, table 26.1: Φ(1) = 0.841344746068543, Φ(−1) = 0.158655253931457.
        let near = |x: f64, y: f64| assert!((x - y).abs() <= 4e-15 * y.abs(), "{x:e} {y:e}");
        near(Activation::GeluErf.of(1.0), 0.841344746068543);
        near(Activation::GeluErf.of(-1.0), -0.158655253931457);
        // −10 Φ(−10), Φ(−10) = 7.61985302416053e-24 (the same table's asymptotic series).
        assert!((Activation::GeluErf.of(-10.0) / -7.61985302416053e-23 - 1.0).abs() < 1e-12);
        // Both forms agree to 5e-4 everywhere, and are exact at the ends.
        for i in -4000..=4000 {
            let x = f64::from(i) / 400.0;
            let [tanh, erf] = Activation::ALL.map(|a| a.of(x));
            assert!((tanh - erf).abs() < 5e-4, "{x}");
        }
        for activation in Activation::ALL {
            assert_eq!([0.0, 1e4, -1e4, 1e300].map(|x| activation.of(x)), [0.0, 1e4, -0.0, 1e300]);
        }
    }

    #[test]
    fn no_slope_is_steeper_than_the_bound_says() {
        for activation in Activation::ALL {
            let slope = |x: f64| (activation.of(x + 1e-4) - activation.of(x - 1e-4)) / 2e-4;
            let steepest = (-3000..=3000).map(|i| slope(f64::from(i) / 300.0).abs()).fold(0.0, f64::max);
            assert!(steepest <= LIPSCHITZ && steepest > LIPSCHITZ - 0.003, "{activation}: {steepest}");
        }
    }

    #[test]
    fn a_bias_is_one_more_term() {
        let triple: Triple = "f16,f16->f32".parse().unwrap();
        let code = |x: f64| Format::F16.encode(x, Rounding::NearestEven, Overflow::Saturate);
        let terms = || [(code(2.0), code(3.0)), (code(1.0), code(-4.0))].into_iter();
        let dot = dot(triple, Activation::GeluErf, terms(), code(-1.0)).unwrap();
        assert_eq!(dot.sum.to_f64(), Activation::GeluErf.of(1.0));
        assert_eq!(dot.magnitude.to_f64(), 11.0);
        let mut a = Matrix::zeroed(Format::F16, 1, 2);
        a.set(0, 0, code(2.0));
        a.set(0, 1, code(1.0));
        let wide = with_ones(&a);
        assert_eq!((0..3).map(|k| wide.value(0, k)).collect::<Vec<_>>(), [2.0, 1.0, 1.0]);
    }

    #[test]
    fn a_comparison_behind_an_activation_finds_what_brute_force_finds() {
        use crate::reference::reference;
        use crate::{Operand, Recipe, Shape};
        use std::sync::Arc;
        let (shape, recipe) = (Shape::new(9, 7, 13), Recipe::NearNormal);
        for (triple, activation) in
            ["f16,f16->f32", "e4m3,e4m3->f32", "f32,f32->f32"].iter().zip(Activation::ALL.repeat(2))
        {
            let triple: Triple = triple.parse().unwrap();
            let a = recipe.matrix(triple.a, 3, Operand::A, shape.m, shape.k);
            let b = recipe.matrix(triple.b, 3, Operand::B, shape.k + 1, shape.n);
            let sums = reference(triple, Arc::new(with_ones(&a)), Arc::new(b.clone())).unwrap();
            let through = activated(sums, activation);
            let mut output = Matrix::zeroed(triple.c, shape.m, shape.n);
            let exact = |row: usize, column: usize| {
                let terms = (0..shape.k).map(|k| (a.get(row, k), b.get(k, column)));
                dot(triple, activation, terms, b.get(shape.k, column)).unwrap()
            };
            for at in 0..shape.m * shape.n {
                let (row, column) = (at / shape.n, at % shape.n);
                // Element (4, 5) is off by a thousandth of its Σ|a||b|.
                let off = if at == 4 * shape.n + 5 { 1e-3 * exact(row, column).magnitude.to_f64() } else { 0.0 };
                let value = exact(row, column).sum.to_f64() + off;
                output.set(row, column, triple.c.encode(value, Rounding::NearestEven, Overflow::Ieee));
            }
            let compared = through.compare(&output, tolerance(triple, shape.k)).unwrap();
            assert_eq!((compared.row, compared.col, compared.outside), (4, 5, 1), "{triple} {activation}");
            assert_eq!(compared.residual, exact(4, 5).residual(triple.c, output.get(4, 5)));
        }
    }
}
