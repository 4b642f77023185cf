//! How is an activation computed on many f32 at once?
//!
//! Without branches, calls and tables, so that the compiler turns a loop over a row of C into vector instructions of the path at hand.
//! Both functions stay within a few units of f32 relative to their argument, as [`rigel_numerics::epilogue`] grants.

use rigel_numerics::epilogue::Activation;

/// Adds the bias to a row of C, and applies the activation where there is one.
#[inline(always)]
pub fn finish(row: &mut [f32], bias: &[f32], activation: Option<Activation>) {
    match activation {
        None => row.iter_mut().zip(bias).for_each(|(x, b)| *x += b),
        Some(Activation::GeluTanh) => row.iter_mut().zip(bias).for_each(|(x, b)| *x = gelu_tanh(*x + b)),
        Some(Activation::GeluErf) => row.iter_mut().zip(bias).for_each(|(x, b)| *x = gelu_erf(*x + b)),
    }
}

/// Applies the activation to a row of C.
#[inline(always)]
pub fn activate(row: &mut [f32], activation: Activation) {
    match activation {
        Activation::GeluTanh => row.iter_mut().for_each(|x| *x = gelu_tanh(*x)),
        Activation::GeluErf => row.iter_mut().for_each(|x| *x = gelu_erf(*x)),
    }
}

/// e^x for |x| ≤ 87, beyond that the value at the end (Cephes' `expf`: argument reduction and a polynomial of degree 7).
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// 1.5 · 2^23: adding it rounds to an integer, which then stands in the low bits.
    const TO_INTEGER: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 87.0);
    let shifted = x * std::f32::consts::LOG2_E + TO_INTEGER;
    let n = shifted - TO_INTEGER;
    let f = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
    let mut p = 1.987_569_1e-4;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p * f + c;
    }
    let power = (shifted.to_bits() as i32).wrapping_sub(TO_INTEGER.to_bits() as i32).wrapping_add(127) << 23;
    (p * f * f + f + 1.0) * f32::from_bits(power as u32)
}

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    x / (1.0 + exp(-1.595_769_2 * (x + 0.044_715 * (x * x * x))))
}

/// Abramowitz and Stegun, 7.1.26: |error of erf| ≤ 1.5e-7.
#[inline(always)]
fn gelu_erf(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let mut p = 1.061_405_4;
    for c in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        p = p * t + c;
    }
    let tail = p * t * exp(-z * z);
    let erfc = if x < 0.0 { tail } else { 2.0 - tail };
    0.5 * x * erfc
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::epilogue::EVALUATION;

    #[test]
    fn both_stay_within_what_an_evaluation_is_granted() {
        let unit = f64::from(f32::EPSILON) / 2.0;
        for activation in Activation::ALL {
            for i in -200_000..=200_000 {
                let x = i as f32 / 4000.0;
                let mut row = [x];
                activate(&mut row, activation);
                let error = (f64::from(row[0]) - activation.of(f64::from(x))).abs();
                assert!(error <= EVALUATION * unit * f64::from(x.abs()), "{activation} of {x}: {error:e}");
            }
        }
    }

    #[test]
    fn bias_comes_before_the_activation() {
        let mut row = [1.0, -2.0];
        finish(&mut row, &[-1.0, 2.5], None);
        assert_eq!(row, [0.0, 0.5]);
        finish(&mut row, &[3.0, 0.0], Some(Activation::GeluTanh));
        assert!((row[0] - 2.996_363).abs() < 1e-5 && (row[1] - 0.345_714).abs() < 1e-5, "{row:?}");
    }
}
