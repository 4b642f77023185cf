//! Which small truth do the tests of `sim` plant, and how do they run one cell of it?
#![allow(dead_code)]

use rigel_device::sim::{SimDevice, Truth};
use rigel_device::{Cache, Device, Fault, Gemm, GemmSpec, Sample};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};

/// A truth with path `matmul2d`, its `f16 → f32` at 1 TFLOP/s without launch time or noise, and `more` TOML behind it.
pub fn text(more: &str) -> String {
    format!(
        r#"
name = "Planted"
id = "sim-planted"
version = "1"
seed = 11
cores = 4
memory_bytes = 1073741824
clock = {{ reference_mhz = 1000, resolution_ns = "0.001" }}
[[path]]
name = "matmul2d"
tile = [{{ name = "t", extents = "8x8x4" }}, {{ name = "half", factor = 0.5 }}]
[[path.triple]]
triple = "f16,f16->f32"
advertised = true
source = "planted"
rate = 1e12
{more}
"#
    )
}

/// The device of [`text`].
pub fn device(more: &str) -> SimDevice {
    SimDevice::new(truth(more)).unwrap()
}

/// The truth of [`text`].
pub fn truth(more: &str) -> Truth {
    Truth::parse(&text(more)).unwrap_or_else(|e| panic!("{e}"))
}

/// A product on path `matmul2d` with launch tile `t`.
pub fn spec(triple: &str, shape: &str) -> GemmSpec {
    let (path, tile) = ("matmul2d".into(), "t".into());
    GemmSpec { path, triple: triple.parse().unwrap(), shape: shape.parse().unwrap(), tile }
}

/// The half-precision product at a shape.
pub fn half(shape: &str) -> GemmSpec {
    spec("f16,f16->f32", shape)
}

/// Seeded near-normal operands.
pub fn operands(triple: Triple, shape: Shape) -> (Matrix, Matrix) {
    let recipe = Recipe::NearNormal;
    let a = recipe.matrix(triple.a, 5, Operand::A, shape.m, shape.k);
    (a, recipe.matrix(triple.b, 5, Operand::B, shape.k, shape.n))
}

/// Compiles, loads and binds.
pub fn bound(device: &mut dyn Device, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Fault> {
    let mut gemm = device.compile(spec).unwrap_or_else(|e| panic!("{e}"));
    gemm.load().unwrap_or_else(|e| panic!("{e}"));
    let (a, b) = operands(spec.triple, spec.shape);
    gemm.bind(&a, &b)?;
    Ok(gemm)
}

/// Samples of a cell in a process.
pub fn samples(truth: &Truth, spec: &GemmSpec, process: u32, n: usize) -> Vec<Sample> {
    let mut device = SimDevice::new(truth.clone()).unwrap();
    device.enter_process(process);
    bound(&mut device, spec).unwrap().run(n, Cache::Warm).unwrap()
}

/// The output of a cell after `n` repetitions on a poisoned buffer.
pub fn output(device: &mut dyn Device, spec: &GemmSpec, n: usize) -> Matrix {
    let mut gemm = bound(device, spec).unwrap();
    gemm.poison().unwrap();
    gemm.run(n, Cache::Warm).unwrap();
    gemm.output().unwrap()
}
