//! Which planted devices does a calibration draw at random?

use super::noise::Noise;
use super::random::Stream;
use super::states::{Law, State, States};
use super::truth::{Clock, PlantedCeiling, PlantedPath, PlantedTile, PlantedTriple, PlantedVariant, Truth};
use rigel_numerics::{Format, Megahertz, Time, Triple};

/// A family of random truths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Family {
    /// One cell in one or two clock states, for the probe `clocks`. Even seeds plant one state under skew, drift,
    /// outliers and AR(1) up to ρ = 0.9: every second state seen there is a false alarm. Odd seeds plant two states, the
    /// lighter of weight 0.1 to 0.5, 6 to 20 σ apart in time, under Gaussian noise: one state seen there is a miss.
    Clocks,
    /// A match, a candidate type and a candidate path, for verdicts: `e4m3 → f32` runs at `ratio` times the rate of
    /// `f16 → f32` on path `matmul2d`, and that path at `ratio` times the rate of `simdgroup_matrix`. Noise, drift,
    /// AR(1), variance between processes and, in two of three devices, clock states are drawn.
    Verdicts {
        /// True ratio of rates, above 0.
        ratio: f64,
    },
}

impl Truth {
    /// The truth that `seed` draws from a family: the same seed, the same truth.
    pub fn draw(seed: u64, family: Family) -> Truth {
        match family {
            Family::Clocks => clocks(seed),
            Family::Verdicts { ratio } => verdicts(seed, ratio),
        }
    }
}

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
const NARROW: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);

fn clocks(seed: u64) -> Truth {
    let mut s = Stream::new(&[seed, key("clocks")]);
    let sigma = s.within(0.002, 0.02);
    let two = seed % 2 == 1;
    let states = if two { two_states(&mut s, sigma, Law::Iid) } else { States::default() };
    let mut noise = Noise { sigma, ..Noise::default() };
    if !two {
        noise.rho = s.within(0.0, 0.9);
        noise.skew = sigma * s.within(0.0, 3.0);
        // Over 300 repetitions the drift reaches at most 4 σ.
        noise.drift_per_repetition = sigma * s.within(-4.0, 4.0) / 300.0;
        noise.outlier_rate = s.within(0.0, 0.01);
        noise.outlier_factor = s.within(1.1, 3.0);
    }
    let half = triple(HALF, s.within(1e12, 2e13));
    device(seed, "clocks", states, noise, vec![path("matmul2d", vec![half])])
}

fn verdicts(seed: u64, ratio: f64) -> Truth {
    let mut s = Stream::new(&[seed, key("verdicts")]);
    let sigma = s.within(0.002, 0.02);
    let states = match seed % 3 {
        0 => States::default(),
        1 => two_states(&mut s, sigma, Law::Iid),
        _ => {
            let dwell = s.within(2.0, 20.0);
            two_states(&mut s, sigma, Law::Markov { dwell })
        }
    };
    let noise = Noise {
        sigma,
        rho: s.within(0.0, 0.6),
        drift_per_repetition: sigma * s.within(-2.0, 2.0) / 300.0,
        process_sigma: s.within(0.0, 0.01),
        outlier_rate: s.within(0.0, 0.005),
        outlier_factor: s.within(1.1, 3.0),
        ..Noise::default()
    };
    let rate = s.within(1e12, 2e13);
    let paths = vec![
        path("tiled", vec![triple(HALF, rate / 4.0)]),
        path("simdgroup_matrix", vec![triple(HALF, rate / ratio)]),
        path("matmul2d", vec![triple(HALF, rate), triple(NARROW, rate * ratio)]),
    ];
    device(seed, "verdicts", states, noise, paths)
}

/// Two states 6 to 20 σ of the slower one apart in time.
fn two_states(s: &mut Stream, sigma: f64, law: Law) -> States {
    let slow = 1.0 - sigma * s.within(6.0, 20.0);
    let weight = s.within(0.1, 0.5);
    let (of_slow, of_fast) = if s.unit() < 0.5 { (weight, 1.0 - weight) } else { (1.0 - weight, weight) };
    let state = |weight, factor| State { weight, factor: Some(factor), clock: None };
    States { law, mixture: vec![state(of_slow, slow), state(of_fast, 1.0)] }
}

fn key(family: &str) -> u64 {
    super::random::key(family)
}

fn triple(triple: Triple, rate: f64) -> PlantedTriple {
    let variants = [("ilp1x1", 0.5), ("ilp4x1", 0.99), ("ilp8x1", 1.0)];
    let variants = variants.map(|(name, factor)| PlantedVariant { name: name.into(), factor });
    PlantedTriple {
        triple,
        advertised: true,
        source: "planted".into(),
        absent: String::new(),
        conversion: String::new(),
        rate,
        launch: Time(0),
        half_extent: 0.0,
        cold_factor: 1.0,
        arithmetic: super::arithmetic::Arithmetic::Exact,
        stated: None,
        epilogue: None,
        attention: None,
        alignment: None,
        ceiling: Some(PlantedCeiling {
            rate: rate / 0.9,
            operations: 1 << 30,
            variants: variants.into(),
            wrong: String::new(),
        }),
        states: None,
        noise: None,
        shapes: Vec::new(),
    }
}

fn path(name: &str, triples: Vec<PlantedTriple>) -> PlantedPath {
    let tile = |name: &str, factor| PlantedTile { name: name.into(), factor, half_extent: 0.0, extents: None };
    let tiles = vec![tile("64x64", 1.0), tile("32x32", 0.8)];
    PlantedPath { name: name.into(), tiles, states: None, noise: None, triples }
}

fn device(seed: u64, family: &str, states: States, noise: Noise, paths: Vec<PlantedPath>) -> Truth {
    Truth {
        name: format!("{family} {seed}"),
        id: format!("sim-{family}-{seed}"),
        version: "1".into(),
        note: "drawn at random; every figure is invented".into(),
        seed: seed & i64::MAX as u64,
        cores: 16,
        memory_bytes: 16 << 30,
        unhealthy: String::new(),
        published_units: false,
        clock: Clock { reference: Megahertz(1000), readable: seed % 4 < 2, resolution: Time::from_ns(1) },
        states,
        noise,
        paths,
        faults: Vec::new(),
        meters: Vec::new(),
        units: Vec::new(),
        toolchains: Vec::new(),
        conversions: Vec::new(),
    }
}
