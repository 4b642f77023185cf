//! Do the instructions of this processor compute what is documented, and do tiles and registers agree?
//!
//! What this processor lacks is left out with a line that says so.

use rigel_device::cpu::Cpu;
use rigel_device::unit::{Operands, Unit, UnitSpec, execute, execute_fragments};
use rigel_device::{Absent, Device};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, Model, library};
use rigel_numerics::random::{draw, stream};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape};

/// The unit, or a line that says why it is left out.
fn unit(name: &str) -> Option<Box<dyn Unit>> {
    match Cpu::new().unit(name) {
        Ok(unit) => Some(unit),
        Err(Absent(reason)) => {
            eprintln!("left out: {reason}");
            None
        }
    }
}

/// Tiles whose elements are drawn from every distribution in turn: row 0 of A from one draw, each column of B and c
/// from its own.
fn tiles(spec: &UnitSpec, count: usize, seed: u64) -> (Matrix, Matrix, Matrix) {
    let Shape { n, k, .. } = spec.shape;
    let t = spec.triple;
    let (mut a, mut b) = (Matrix::zeroed(t.a, count, k), Matrix::zeroed(t.b, count * k, n));
    let mut c = Matrix::zeroed(t.c, count, n);
    for tile in 0..count {
        let distribution = Distribution::ALL[tile % Distribution::ALL.len()];
        for column in 0..n {
            let inputs = distribution.unscaled(t, k, stream(seed, tile as u64), column as u64);
            for p in 0..k {
                if column == 0 {
                    a.set(tile, p, inputs.a[p]);
                }
                b.set(tile * k + p, column, inputs.b[p]);
            }
            c.set(tile, column, inputs.c);
        }
    }
    (a, b, c)
}

/// Holds `count` dot products of a unit against an element by element truth.
fn holds(name: &str, count: usize, truth: impl Fn(&[u64], &[u64], u64) -> u64) {
    let Some(mut unit) = unit(name) else { return };
    let spec = unit.spec().clone();
    let Shape { n, k, .. } = spec.shape;
    let (a, b, c) = tiles(&spec, count.div_ceil(n), 7);
    let d = execute(&mut *unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
    let mut wrong = Vec::new();
    for tile in 0..a.rows {
        let row: Vec<u64> = (0..k).map(|p| a.get(tile, p)).collect();
        for column in 0..n {
            let from_b: Vec<u64> = (0..k).map(|p| b.get(tile * k + p, column)).collect();
            let (given, expected) = (d.get(tile, column), truth(&row, &from_b, c.get(tile, column)));
            if given != expected {
                wrong.push(format!(
                    "{row:x?} · {from_b:x?} + {:#x} = {given:#x}, not {expected:#x}",
                    c.get(tile, column)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{name}: {} of {count} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(8)]);
}

fn published(name: &str) -> &'static Model {
    &library().iter().find(|published| published.name == name).unwrap_or_else(|| panic!("no model `{name}`")).model
}

/// Holds a unit against a published model.
fn models(name: &str, model: &Model, count: usize) {
    let evaluator = Evaluator::new(model, model.k).unwrap();
    let scratch = std::cell::RefCell::new(evaluator.scratch());
    holds(name, count, |a, b, c| evaluator.dot(&mut scratch.borrow_mut(), Inputs::new(a, b, c)));
}

#[test]
fn vdpbf16ps_is_the_published_model_on_a_million_dot_products() {
    models("vdpbf16ps", published("vdpbf16ps"), 1_000_000);
}

#[test]
fn fused_multiply_adds_are_the_published_model() {
    let model = published("vfmadd231ps chain");
    models("vfmadd231ps", model, 200_000);
    models("vfmadd231ps.zmm", model, 200_000);
}

#[test]
fn fused_multiply_adds_are_those_of_the_language() {
    for name in ["vfmadd231ps", "vfmadd231ps.zmm"] {
        holds(name, 100_000, |a, b, c| {
            let [x, y, z] = [a[0], b[0], c].map(|code| f32::from_bits(code as u32));
            let sum = x.mul_add(y, z);
            // Which NaN comes out is the instruction's to say; the model above knows.
            if sum.is_nan() { nan_of(Format::F32, [a[0], b[0], c]) } else { sum.to_bits().into() }
        });
    }
    for name in ["vfmadd231pd", "vfmadd231pd.zmm"] {
        holds(name, 100_000, |a, b, c| {
            let sum = f64::from_bits(a[0]).mul_add(f64::from_bits(b[0]), f64::from_bits(c));
            if sum.is_nan() { nan_of(Format::F64, [a[0], b[0], c]) } else { sum.to_bits() }
        });
    }
}

#[test]
fn a_product_rounded_before_it_is_added_is_no_fused_one() {
    holds("mulps+addps", 100_000, |a, b, c| {
        let [x, y, z] = [a[0], b[0], c].map(|code| f32::from_bits(code as u32));
        let sum = z + x * y;
        if sum.is_nan() {
            nan_of(Format::F32, if z.is_nan() { [c, c, c] } else { [a[0], b[0], c] })
        } else {
            sum.to_bits().into()
        }
    });
    holds("mulpd+addpd", 100_000, |a, b, c| {
        let [x, y, z] = [a[0], b[0], c].map(f64::from_bits);
        let sum = z + x * y;
        if sum.is_nan() {
            nan_of(Format::F64, if z.is_nan() { [c, c, c] } else { [a[0], b[0], c] })
        } else {
            sum.to_bits()
        }
    });
    let [x, c] = [1.0 + 2f32.powi(-12), -1.0].map(|x| u64::from(x.to_bits()));
    let value = |code: u64| f64::from(f32::from_bits(code as u32));
    // (1 + 2^-12)² - 1 = 2^-11 + 2^-24, whose last term only one rounding keeps.
    if let Some(code) = one("vfmadd231ps", x, x, c) {
        assert_eq!(value(code), 2f64.powi(-11) + 2f64.powi(-24));
    }
    if let Some(code) = one("mulps+addps", x, x, c) {
        assert_eq!(value(code), 2f64.powi(-11));
    }
}

/// The first element of D of a tile that is zero but for the first elements of A, B and C.
fn one(name: &str, a: u64, b: u64, c: u64) -> Option<u64> {
    let mut unit = unit(name)?;
    let UnitSpec { triple: t, shape: Shape { n, k, .. }, .. } = unit.spec().clone();
    let with = |format, rows, cols, code| {
        let mut matrix = Matrix::zeroed(format, rows, cols);
        matrix.set(0, 0, code);
        matrix
    };
    let (a, b, c) = (with(t.a, 1, k, a), with(t.b, k, n, b), with(t.c, 1, n, c));
    Some(execute(&mut *unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap().get(0, 0))
}

/// The NaN of x86: that of the first operand that is one, made quiet, else the default one.
fn nan_of(format: Format, operands: [u64; 3]) -> u64 {
    let quiet = if format == Format::F32 { 1 << 22 } else { 1 << 51 };
    let default = if format == Format::F32 { 0xFFC0_0000 } else { 0xFFF8 << 48 };
    operands.into_iter().find(|&code| format.is_nan(code)).map_or(default, |code| code | quiet)
}

#[test]
fn integer_dot_products_wrap_and_saturate_exactly() {
    let exact = |a: &[u64], b: &[u64], c: u64| {
        let products = a.iter().zip(b).map(|(&x, &y)| i64::from(x as u8) * i64::from(y as i8));
        i64::from(c as i32) + products.sum::<i64>()
    };
    holds("vpdpbusd", 1_000_000, |a, b, c| u64::from(exact(a, b, c) as u32));
    holds("vpdpbusds", 1_000_000, |a, b, c| {
        let clamped = exact(a, b, c).clamp(i32::MIN.into(), i32::MAX.into());
        u64::from(clamped as i32 as u32)
    });
    models("vpdpbusd", published("vpdpbusd"), 100_000);
    models("vpdpbusds", published("vpdpbusds"), 100_000);
}

#[test]
fn tiles_are_registers_with_the_row_of_a_in_every_lane() {
    for spec in Cpu::new().units() {
        let Some(mut unit) = unit(&spec.name) else { continue };
        assert_eq!(*unit.spec(), spec);
        let Shape { n: lanes, k, .. } = spec.shape;
        let (a, b, c) = tiles(&spec, 100, 3);
        let by_tiles = execute(&mut *unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        let t = spec.triple;
        let mut registers = [(t.a, k), (t.b, k), (t.c, 1)].map(|(f, slots)| Matrix::zeroed(f, 100 * lanes, slots));
        for (tile, lane) in (0..100).flat_map(|tile| (0..lanes).map(move |lane| (tile, lane))) {
            for slot in 0..k {
                registers[0].set(tile * lanes + lane, slot, a.get(tile, slot));
                registers[1].set(tile * lanes + lane, slot, b.get(tile * k + slot, lane));
            }
            registers[2].set(tile * lanes + lane, 0, c.get(tile, lane));
        }
        let [a, b, c] = &registers;
        let by_registers = execute_fragments(&mut *unit, Operands { a, b, c, scales: None }).unwrap();
        for (tile, lane) in (0..100).flat_map(|tile| (0..lanes).map(move |lane| (tile, lane))) {
            assert_eq!(
                by_registers.get(tile * lanes + lane, 0),
                by_tiles.get(tile, lane),
                "{} {tile} {lane}",
                spec.name
            );
        }
    }
}

fn code_of(format: Format, value: f64) -> u64 {
    format.encode(value, Rounding::NearestEven, Overflow::Ieee)
}

#[test]
fn lanes_look_at_their_own_registers_alone() {
    for spec in Cpu::new().units() {
        let Some(mut unit) = unit(&spec.name) else { continue };
        let Shape { n: lanes, k, .. } = spec.shape;
        let t = spec.triple;
        let random = |format: Format, slots: usize, seed: u64| {
            let mut matrix = Matrix::zeroed(format, lanes, slots);
            for (i, (r, c)) in (0..lanes).flat_map(|r| (0..slots).map(move |c| (r, c))).enumerate() {
                matrix.set(r, c, code_of(format, (1 + draw(seed, i as u64) % 7) as f64));
            }
            matrix
        };
        let (a, b, c) = (random(t.a, k, 1), random(t.b, k, 2), random(t.c, 1, 3));
        let mut ask = |a: &Matrix| execute_fragments(&mut *unit, Operands { a, b: &b, c: &c, scales: None }).unwrap();
        let before = ask(&a);
        for lane in 0..lanes {
            let mut other = a.clone();
            other.set(lane, k - 1, code_of(t.a, 9.0));
            let after = ask(&other);
            let changed: Vec<usize> = (0..lanes).filter(|&l| before.get(l, 0) != after.get(l, 0)).collect();
            assert_eq!(changed, [lane], "{}", spec.name);
        }
    }
}

#[test]
fn mxcsr_is_as_the_process_has_it_subnormals_live_in_fused_steps_and_die_in_vdpbf16ps() {
    // The least subnormal, added to nothing: kept, and taken as zero.
    if let Some(code) = one("vfmadd231ps", 0, 0, 1) {
        assert_eq!(code, 1);
    }
    if let Some(code) = one("vdpbf16ps", 0, 0, 1) {
        assert_eq!(code, 0);
    }
}
