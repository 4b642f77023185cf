//! Which series of known truth are the statistics tried on?
//!
//! Times stand in microseconds before they are rounded to picoseconds. Everything is seeded.
#![allow(dead_code)]

use rigel_numerics::Time;
use rigel_numerics::random::{draw, shuffle, stream};

/// Seeded uniform, normal and exponential draws.
pub struct Draws {
    stream: u64,
    next: u64,
}

impl Draws {
    pub fn new(seed: u64) -> Draws {
        Draws { stream: stream(seed, 0x7374_6174), next: 0 }
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.next += 1;
        ((draw(self.stream, self.next) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential of mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Stationary first-order autoregressive noise of unit variance.
    pub fn autoregressive(&mut self, n: usize, rho: f64) -> Vec<f64> {
        let mut value = self.normal();
        let innovation = (1.0 - rho * rho).sqrt();
        (0..n)
            .map(|_| {
                let now = value;
                value = rho * value + innovation * self.normal();
                now
            })
            .collect()
    }
}

/// A time in microseconds.
pub fn us(microseconds: f64) -> Time {
    Time::from_seconds(microseconds * 1e-6)
}

/// One kind of series without modes.
pub type Family = (&'static str, fn(&mut Draws, usize) -> Vec<f64>);

fn each(n: usize, mut f: impl FnMut(f64) -> f64) -> Vec<f64> {
    (0..n).map(|i| f(i as f64 / n as f64)).collect()
}

fn noise(d: &mut Draws, n: usize, rho: f64) -> Vec<f64> {
    d.autoregressive(n, rho).into_iter().map(|z| 100.0 + z).collect()
}

fn with_outliers(d: &mut Draws, n: usize, share: f64, outlier: fn(&mut Draws, f64) -> f64) -> Vec<f64> {
    each(n, |_| {
        let base = 100.0 + d.normal();
        if d.uniform() < share { outlier(d, base) } else { base }
    })
}

/// Series of one mode: skew, drift, outliers, autocorrelation, timer ticks.
pub const ONE_MODE: [Family; 22] = [
    ("normal", |d, n| each(n, |_| 100.0 + d.normal())),
    ("uniform", |d, n| each(n, |_| 100.0 + 10.0 * d.uniform())),
    ("skew: log-normal, σ 0.5", |d, n| each(n, |_| 100.0 * (0.5 * d.normal()).exp())),
    ("skew: floor + log-normal, σ 1", |d, n| each(n, |_| 100.0 + d.normal().exp())),
    ("skew: floor + exponential", |d, n| each(n, |_| 100.0 + 5.0 * d.exponential())),
    ("skew: floor + Pareto, α 1.5", |d, n| each(n, |_| 100.0 + d.uniform().powf(-1.0 / 1.5))),
    ("drift: linear, 5 σ", |d, n| each(n, |t| 100.0 + 5.0 * t + d.normal())),
    ("drift: linear, 30 σ", |d, n| each(n, |t| 100.0 + 30.0 * t + d.normal())),
    ("drift: settling, 20 σ", |d, n| each(n, |t| 100.0 + 20.0 * (-5.0 * t).exp() + d.normal())),
    ("drift: one sine, 10 σ", |d, n| each(n, |t| 100.0 + 10.0 * (std::f64::consts::TAU * t).sin() + d.normal())),
    ("drift: slow step, 6 σ", |d, n| each(n, |t| 100.0 + 6.0 / (1.0 + (-12.0 * (t - 0.5)).exp()) + d.normal())),
    ("outliers: 2 %, uniform up to 5×", |d, n| with_outliers(d, n, 0.02, |d, b| b * (1.2 + 3.8 * d.uniform()))),
    ("outliers: 5 %, exponential", |d, n| with_outliers(d, n, 0.05, |d, b| b + 50.0 * d.exponential())),
    ("outliers: 3 %, log-normal", |d, n| with_outliers(d, n, 0.03, |d, b| b + 20.0 * d.normal().exp())),
    ("outliers: 1 %, on both sides", |d, n| with_outliers(d, n, 0.01, |d, b| b * (0.3 + 2.0 * d.uniform()))),
    ("AR(1), ρ 0.3", |d, n| noise(d, n, 0.3)),
    ("AR(1), ρ 0.6", |d, n| noise(d, n, 0.6)),
    ("AR(1), ρ 0.8", |d, n| noise(d, n, 0.8)),
    ("AR(1), ρ 0.9", |d, n| noise(d, n, 0.9)),
    ("AR(1), ρ 0.9, skewed", |d, n| d.autoregressive(n, 0.9).into_iter().map(|z| 100.0 * (0.3 * z).exp()).collect()),
    ("ticks of 1, σ 0.7", |d, n| each(n, |_| (100.0 + 0.7 * d.normal()).round())),
    ("ticks of 1, σ 0.25", |d, n| each(n, |_| (100.0 + 0.25 * d.normal()).round())),
];

/// A series of one mode.
pub fn one_mode(family: &Family, seed: u64, n: usize) -> Vec<Time> {
    family.1(&mut Draws::new(seed), n).into_iter().map(us).collect()
}

/// How a planted series changes between its two modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switching {
    /// Every repetition draws its mode.
    Random,
    /// Modes last for 30 repetitions on average.
    Lasting,
    /// One change.
    Once,
}

/// A planted series of two modes.
pub struct Mixture {
    pub times: Vec<Time>,
    /// Repetitions in the slower mode.
    pub slow: usize,
    /// Distance of the modes in σ.
    pub separation: f64,
    /// True medians of the modes, microseconds, and their common σ.
    pub fast_at: f64,
    pub slow_at: f64,
    pub sigma: f64,
}

/// Two normal modes of n repetitions; the slower one has weight 10 % to 90 %, the distance is 6 σ to 60 σ, with half of
/// the cells below 8 σ.
pub fn mixture(seed: u64, n: usize, switching: Switching) -> Mixture {
    let mut d = Draws::new(seed);
    let least = n.div_ceil(10);
    let mut slow = least + (d.uniform() * (n - 2 * least + 1) as f64) as usize;
    let separation = 6.0 + 2.0 * (d.uniform() / (1.0 - 0.96 * d.uniform())).min(27.0);
    let sigma = 0.1 + 0.9 * d.uniform();
    let mut in_slow: Vec<bool> = (0..n).map(|i| i < slow).collect();
    match switching {
        Switching::Random => shuffle(&mut in_slow, stream(seed, 1)),
        Switching::Once => {}
        Switching::Lasting => {
            let mut pieces = Vec::new();
            for side in [true, false] {
                let mut left = if side { slow } else { n - slow };
                while left > 0 {
                    let length = ((30.0 * d.exponential()).ceil() as usize).clamp(1, left);
                    pieces.push((side, length));
                    left -= length;
                }
            }
            shuffle(&mut pieces, stream(seed, 2));
            in_slow = pieces.into_iter().flat_map(|(side, length)| std::iter::repeat_n(side, length)).collect();
        }
    }
    slow = in_slow.iter().filter(|&&s| s).count();
    let (fast_at, slow_at) = (100.0, 100.0 + separation * sigma);
    let times = in_slow.iter().map(|&s| us(if s { slow_at } else { fast_at } + sigma * d.normal())).collect();
    Mixture { times, slow, separation, fast_at, slow_at, sigma }
}

/// The published case at 512³: 145 repetitions near 4.65 TFLOP/s and 155 near 6.5, in random order.
///
/// The study gives the two centres and the interval [5.21, 5.96] TFLOP/s of the median. The rates are quantiles of two
/// logistic laws whose scales were chosen to give this interval with these counts.
pub fn published_512() -> Vec<Time> {
    let operations = 2.0 * 512f64.powi(3);
    let rates = |count: usize, centre: f64, scale: f64| {
        (0..count).map(move |i| {
            let p = (i as f64 + 0.5) / count as f64;
            centre + scale * (p / (1.0 - p)).ln()
        })
    };
    let mut times: Vec<Time> = rates(145, 4.65, 0.25)
        .chain(rates(155, 6.5, 0.31))
        .map(|tera| Time::from_seconds(operations / (tera * 1e12)))
        .collect();
    shuffle(&mut times, stream(512, 0));
    times
}

/// The published case at 1024³: 292 repetitions near 12.7 TFLOP/s and 8 at about half of that, each with 1 % of noise.
pub fn published_1024(seed: u64) -> Vec<Time> {
    let operations = 2.0 * 1024f64.powi(3);
    let mut d = Draws::new(seed);
    let mut times: Vec<Time> = (0..300)
        .map(|i| {
            let tera = if i < 8 { 6.4 } else { 12.7 } * (1.0 + 0.01 * d.normal());
            Time::from_seconds(operations / (tera * 1e12))
        })
        .collect();
    shuffle(&mut times, stream(seed, 1024));
    times
}
