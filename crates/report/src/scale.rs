//! Where on an axis does a value stand, and which values does the axis name?

use crate::numbers::{decade, decade_label, fixed, log2, power_of_ten, significant};

/// A map from values to the unit interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// Equal steps are equal lengths.
    Linear {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// Equal ratios are equal lengths. Both ends are above 0.
    Log {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
}

/// A named value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Value.
    pub value: f64,
    /// Its label.
    pub label: String,
}

impl Scale {
    /// Linear from 0 to just above the largest of some non-negative values.
    pub fn from_zero(values: impl IntoIterator<Item = f64>) -> Self {
        let high = values.into_iter().fold(0.0, f64::max);
        Scale::Linear { low: 0.0, high: if high > 0.0 { high * 1.04 } else { 1.0 } }
    }

    /// Linear from the least to the largest of some values, with a margin of 4 % on both sides.
    pub fn around(low: f64, high: f64) -> Self {
        let margin = if high > low { (high - low) * 0.04 } else { high.abs().max(1e-9) * 0.02 };
        Scale::Linear { low: low - margin, high: high + margin }
    }

    /// Logarithmic, a little wider than the positive values among those given.
    pub fn log_around(values: impl IntoIterator<Item = f64>) -> Self {
        let mut ends = (f64::INFINITY, 0.0f64);
        for v in values.into_iter().filter(|v| *v > 0.0 && v.is_finite()) {
            ends = (ends.0.min(v), ends.1.max(v));
        }
        if ends.1 == 0.0 {
            return Scale::Log { low: 0.5, high: 2.0 };
        }
        Scale::Log { low: ends.0 / 1.12, high: ends.1 * 1.12 }
    }

    /// The place of a value: 0 at the low end, 1 at the high end, beyond for values outside.
    pub fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear { low, high } => (value - low) / (high - low),
            Scale::Log { low, high } => (log2(value) - log2(low)) / (log2(high) - log2(low)),
        }
    }

    /// At most about `most` round values between the ends, in rising order.
    pub fn ticks(self, most: usize) -> Vec<Tick> {
        match self {
            Scale::Linear { low, high } => linear_ticks(low, high, most),
            Scale::Log { low, high } => log_ticks(low, high, most),
        }
    }
}

fn linear_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let span = high - low;
    if span <= 0.0 || !span.is_finite() || most == 0 {
        return Vec::new();
    }
    let ten = decade(span / most as f64);
    let step_of = |i: usize| [1.0, 2.0, 5.0][i % 3] * power_of_ten(ten + (i / 3) as i32);
    let mut i = 0;
    while i < 9 && span / step_of(i) > most as f64 {
        i += 1;
    }
    let step = step_of(i);
    let decimals = (-decade(step)).max(0) as usize;
    let mut n = (low / step).ceil();
    let mut ticks = Vec::new();
    while n * step <= high && ticks.len() <= 2 * most {
        ticks.push(Tick { value: n * step, label: fixed(n * step, decimals) });
        n += 1.0;
    }
    ticks
}

fn log_ticks(low: f64, high: f64, most: usize) -> Vec<Tick> {
    let (first, last) = (decade(low), decade(high));
    let decades = (last - first) as usize;
    let stride = decades.div_ceil(most.max(1)).max(1);
    let within = |v: f64| v >= low && v <= high;
    if decades >= 5 {
        let label = |d: i32| Tick { value: power_of_ten(d), label: decade_label(d) };
        return (first..=last)
            .filter(|d| d.rem_euclid(stride as i32) == 0)
            .map(label)
            .filter(|t| within(t.value))
            .collect();
    }
    let sets: [&[f64]; 4] =
        [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 3.0, 5.0], &[1.0, 2.0, 5.0], &[1.0]];
    let all = |set: &[f64]| -> Vec<f64> {
        (first..=last).flat_map(|d| set.iter().map(move |s| s * power_of_ten(d))).filter(|v| within(*v)).collect()
    };
    let values = sets.iter().map(|set| all(set)).find(|v| v.len() <= most).unwrap_or_else(|| all(&[1.0]));
    let label = |v: f64| {
        let text = significant(v, 2);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    };
    values.into_iter().map(|value| Tick { value, label: label(value) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: Scale, most: usize) -> Vec<String> {
        scale.ticks(most).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(labels(Scale::Linear { low: 0.0, high: 52.0 }, 6), ["0", "10", "20", "30", "40", "50"]);
        assert_eq!(labels(Scale::Linear { low: 4.61, high: 6.52 }, 5), ["5.0", "5.5", "6.0", "6.5"]);
        assert_eq!(labels(Scale::Log { low: 0.8, high: 210.0 }, 8), ["1", "2", "5", "10", "20", "50", "100", "200"]);
        assert_eq!(labels(Scale::Log { low: 1e-12, high: 1e-2 }, 4), ["10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³"]);
        for most in 1..12 {
            for exponent in -9..9 {
                let (low, high) = (power_of_ten(exponent), 7.3 * power_of_ten(exponent));
                for scale in [Scale::Linear { low, high }, Scale::Log { low, high }] {
                    let places: Vec<f64> = scale.ticks(most).iter().map(|t| scale.place(t.value)).collect();
                    assert!(places.iter().all(|p| (0.0..=1.0).contains(p)), "{scale:?}");
                    assert!(places.windows(2).all(|w| w[0] < w[1]));
                }
            }
        }
    }

    #[test]
    fn degenerate_ends_draw_nothing_strange() {
        assert!(Scale::around(3.0, 3.0).place(3.0) == 0.5);
        assert!(Scale::from_zero([]).place(0.0) == 0.0);
        assert!(Scale::log_around([0.0, -1.0, f64::NAN]).place(1.0).is_finite());
    }
}
