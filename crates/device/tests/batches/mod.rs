//! Which operands do the tests of units ask about?
#![allow(dead_code)]

use rigel_device::Device;
use rigel_device::sim::{PlantedUnit, SimDevice, SimUnit, Truth};
use rigel_device::unit::{Operands, Unit, UnitSpec, execute};
use rigel_numerics::arithmetic::{Distribution, DotInputs};
use rigel_numerics::random::{below, stream};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};

/// Operands of a batch of tiles.
#[derive(Debug, Clone)]
pub struct Batch {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub scales: Option<(Matrix, Matrix)>,
}

impl Batch {
    /// `count` tiles of a unit, drawn from all distributions in turn.
    pub fn drawn(spec: &UnitSpec, count: usize, seed: u64) -> Batch {
        Batch::of(spec, count, seed, &Distribution::ALL)
    }

    /// `count` tiles of a unit, drawn from these distributions in turn.
    pub fn of(spec: &UnitSpec, count: usize, seed: u64, distributions: &[Distribution]) -> Batch {
        let (Shape { m, n, k }, t) = (spec.shape, spec.triple);
        let (mut a, mut b) = (Matrix::zeroed(t.a, count * m, k), Matrix::zeroed(t.b, count * k, n));
        let mut c = Matrix::zeroed(t.c, count * m, n);
        for tile in 0..count {
            let distribution = distributions[tile % distributions.len()];
            let draw = |i: usize| distribution.unscaled(t, k, stream(seed, tile as u64), i as u64);
            for row in 0..m {
                let inputs = draw(row);
                (0..k).for_each(|p| a.set(tile * m + row, p, inputs.a[p]));
                (0..n).for_each(|column| c.set(tile * m + row, column, draw(m + row * n + column).c));
            }
            for column in 0..n {
                let inputs = draw(column);
                (0..k).for_each(|p| b.set(tile * k + p, column, inputs.b[p]));
            }
        }
        let scales = spec.scales.map(|scales| {
            let groups = k / scales.group;
            let of = |rows, cols, which| {
                let mut matrix = Matrix::zeroed(scales.format, rows, cols);
                for (i, (r, c)) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))).enumerate() {
                    // Codes near that of 1, so that sums neither vanish nor overflow.
                    let one = scales.format.encode(1.0, Rounding::NearestEven, Overflow::Ieee);
                    matrix.set(r, c, one - 8 + below(stream(seed, which), i as u64, 16));
                }
                matrix
            };
            (of(count * m, groups, 1001), of(count * groups, n, 1002))
        });
        Batch { a, b, c, scales }
    }

    pub fn operands(&self) -> Operands<'_> {
        let scales = self.scales.as_ref().map(|(a, b)| (a, b));
        Operands { a: &self.a, b: &self.b, c: &self.c, scales }
    }

    pub fn ask(&self, unit: &mut dyn Unit) -> Matrix {
        execute(unit, self.operands()).unwrap_or_else(|e| panic!("{e}"))
    }

    /// What goes into an element of D, row and column counted over the whole batch.
    pub fn inputs(&self, spec: &UnitSpec, row: usize, column: usize) -> DotInputs {
        let Shape { m, k, .. } = spec.shape;
        let tile = row / m;
        let groups = spec.scales.map_or(0, |scales| k / scales.group);
        let (a_scales, b_scales) = self.scales.as_ref().map_or_else(Default::default, |(a, b)| {
            let of_a = (0..groups).map(|g| a.get(row, g)).collect();
            (of_a, (0..groups).map(|g| b.get(tile * groups + g, column)).collect())
        });
        DotInputs {
            a: (0..k).map(|p| self.a.get(row, p)).collect(),
            b: (0..k).map(|p| self.b.get(tile * k + p, column)).collect(),
            c: self.c.get(row, column),
            a_scales,
            b_scales,
        }
    }
}

/// Places at which two results differ.
pub fn differences(x: &Matrix, y: &Matrix) -> Vec<(usize, usize)> {
    assert_eq!((x.format, x.rows, x.cols), (y.format, y.rows, y.cols));
    let all = (0..x.rows).flat_map(|r| (0..x.cols).map(move |c| (r, c)));
    all.filter(|&(r, c)| x.get(r, c) != y.get(r, c)).collect()
}

/// Asserts that `hits` of `n` are about what a rate makes them: within five standard deviations.
pub fn about(what: &str, hits: usize, n: usize, rate: f64) {
    let (expected, sigma) = (rate * n as f64, (rate * (1.0 - rate) * n as f64).sqrt());
    let off = (hits as f64 - expected).abs();
    assert!(off <= 5.0 * sigma + 1e-9, "{what}: {hits} of {n}, expected {expected:.1} ± {sigma:.1}");
}

/// The built-in truth `units`.
pub fn truth() -> Truth {
    Truth::select("sim:units").unwrap_or_else(|e| panic!("{e}"))
}

pub fn device() -> SimDevice {
    SimDevice::new(truth()).unwrap_or_else(|e| panic!("{e}"))
}

pub fn planted(name: &str) -> PlantedUnit {
    truth().units.into_iter().find(|unit| unit.name == name).unwrap_or_else(|| panic!("no unit `{name}`"))
}

pub fn unit(planted: &PlantedUnit) -> SimUnit {
    SimUnit::new(planted, 1, 0).unwrap_or_else(|e| panic!("{e}"))
}

/// The unit without its deviations.
pub fn right(planted: &PlantedUnit) -> SimUnit {
    unit(&PlantedUnit { deviations: Vec::new(), ..planted.clone() })
}

/// All codes of a matrix set to that of a value.
pub fn filled(format: Format, rows: usize, cols: usize, value: f64) -> Matrix {
    let mut matrix = Matrix::zeroed(format, rows, cols);
    let code = format.encode(value, Rounding::NearestEven, Overflow::Ieee);
    (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))).for_each(|(r, c)| matrix.set(r, c, code));
    matrix
}

/// Names of all units of a device.
pub fn names(device: &dyn Device) -> Vec<String> {
    device.units().into_iter().map(|spec| spec.name).collect()
}
