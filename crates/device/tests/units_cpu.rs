//! Do the instructions of this processor compute what is documented, and do tiles and registers agree?
//!
//! What this processor lacks is left out with a line that says so.

use rigel_device::cpu::Cpu;
use rigel_device::unit::{Operands, Unit, UnitSpec, execute, execute_fragments};
use rigel_device::{Absent, Device};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, Model, NanRule, NanSource, library};
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

/// Dot products of a batch that are not what a truth says element by element, in words.
fn wrong(
    unit: &mut dyn Unit,
    (a, b, c): &(Matrix, Matrix, Matrix),
    truth: impl Fn(&[u64], &[u64], u64) -> u64,
) -> Vec<String> {
    let Shape { n, k, .. } = unit.spec().shape;
    let d = execute(unit, Operands { a, b, c, scales: None }).unwrap();
    let mut wrong = Vec::new();
    for tile in 0..a.rows {
        let row: Vec<u64> = (0..k).map(|p| a.get(tile, p)).collect();
        for column in 0..n {
            let from_b: Vec<u64> = (0..k).map(|p| b.get(tile * k + p, column)).collect();
            let (given, expected) = (d.get(tile, column), truth(&row, &from_b, c.get(tile, column)));
            if given != expected {
                let c = c.get(tile, column);
                wrong.push(format!("{row:x?} · {from_b:x?} + {c:#x} = {given:#x}, not {expected:#x}"));
            }
        }
    }
    wrong
}

/// Holds `count` drawn dot products of a unit against an element by element truth.
fn holds(name: &str, count: usize, truth: impl Fn(&[u64], &[u64], u64) -> u64) {
    let Some(mut unit) = unit(name) else { return };
    let batch = tiles(unit.spec(), count.div_ceil(unit.spec().shape.n), 7);
    let wrong = wrong(&mut *unit, &batch, truth);
    assert!(wrong.is_empty(), "{name}: {} of {count} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(8)]);
}

fn published(name: &str) -> &'static Model {
    &library().iter().find(|published| published.name == name).unwrap_or_else(|| panic!("no model `{name}`")).model
}

/// What a model makes of one instruction.
fn by(model: &Model) -> impl Fn(&[u64], &[u64], u64) -> u64 {
    let evaluator = Evaluator::new(model, model.k).unwrap();
    let scratch = std::cell::RefCell::new(evaluator.scratch());
    move |a, b, c| evaluator.dot(&mut scratch.borrow_mut(), Inputs::new(a, b, c))
}

/// Holds a unit against a published model.
fn models(name: &str, model: &Model, count: usize) {
    holds(name, count, by(model));
}

/// Codes at which something may happen: zeros, ones, the ends of the normal and the subnormal range, infinities, a quiet and a
/// signalling NaN with payloads, and powers of two whose products lie at and just below the least normal f32.
fn hostile(format: Format) -> Vec<u64> {
    let power = |e: i32| 2f64.powi(e);
    let values =
        [0.0, -0.0, 1.0, -1.5, power(-126), -power(-63), power(-63), power(-75), -power(-77), format.max_finite()];
    let mut codes: Vec<u64> = values.map(|value| code_of(format, value)).to_vec();
    let infinity = format.infinity_code(false).unwrap();
    let sign = 1 << (format.bits() - 1);
    codes.extend([1, sign | 1, infinity, infinity | sign, infinity | 1, format.nan_code().unwrap() | sign | 3]);
    codes
}

/// Every combination of codes of A, B and C, as tiles.
fn crossed(spec: &UnitSpec, of_a: &[u64], of_b: &[u64], of_c: &[u64]) -> (Matrix, Matrix, Matrix) {
    let (Shape { n, k, .. }, t) = (spec.shape, spec.triple);
    let rows = of_a.len().pow(k as u32);
    let columns = of_b.len().pow(k as u32) * of_c.len();
    let tiles = rows * columns.div_ceil(n);
    let (mut a, mut b, mut c) =
        (Matrix::zeroed(t.a, tiles, k), Matrix::zeroed(t.b, tiles * k, n), Matrix::zeroed(t.c, tiles, n));
    for tile in 0..tiles {
        let (mut row, first) = (tile % rows, tile / rows * n);
        for p in 0..k {
            a.set(tile, p, of_a[row % of_a.len()]);
            row /= of_a.len();
        }
        for lane in 0..n {
            let mut column = (first + lane) % columns;
            for p in 0..k {
                b.set(tile * k + p, lane, of_b[column % of_b.len()]);
                column /= of_b.len();
            }
            c.set(tile, lane, of_c[column]);
        }
    }
    (a, b, c)
}

#[test]
fn every_combination_of_hostile_codes_comes_out_as_published_and_no_other_model_passes() {
    let Some(mut dot) = unit("vdpbf16ps") else { return };
    let model = published("vdpbf16ps");
    let batch = crossed(dot.spec(), &hostile(Format::Bf16), &hostile(Format::Bf16), &hostile(Format::F32));
    let differ = wrong(&mut *dot, &batch, by(model));
    assert!(differ.is_empty(), "{} differ: {:#?}", differ.len(), &differ[..differ.len().min(8)]);
    // The same inputs tell it from its neighbours: the other order, subnormals kept or flushed before rounding, other NaN.
    let altered = |from: &str, to: &str| Model::from_json(&model.to_json().replace(from, to)).unwrap();
    let nan = |order, invalid| Model { nan: NanRule::First { order, invalid }, ..model.clone() };
    let (default, [a, b, c]) = (0xFFC0_0000, [NanSource::A, NanSource::B, NanSource::C]);
    for (what, other) in [
        ("low element first", altered("\"descending\": true", "\"descending\": false")),
        ("operands keep subnormals", altered("\"to_signed_zero\"", "\"keep\"")),
        ("operands lose the sign of subnormals", altered("\"to_signed_zero\"", "\"to_positive_zero\"")),
        ("results keep subnormals", altered("\"flush_after\"", "\"keep\"")),
        ("tininess before rounding", altered("\"flush_after\"", "\"flush_before\"")),
        ("zeros without sign", altered("\"zero\": \"ieee\"", "\"zero\": \"positive\"")),
        ("NaN of B before that of A", nan([b, a, c], default)),
        ("NaN of C before that of B", nan([a, c, b], default)),
        ("another default NaN", nan([a, b, c], 0x7FC0_0000)),
    ] {
        assert_ne!(other, *model, "{what}");
        let differ = wrong(&mut *dot, &batch, by(&other));
        assert!(!differ.is_empty(), "{what}: nothing here tells it from the published model");
        eprintln!("vdpbf16ps is not `{what}`: {} dot products refute it, such as {}", differ.len(), differ[0]);
    }
    for name in ["vfmadd231ps", "vfmadd231ps.zmm"] {
        let Some(mut fma) = unit(name) else { continue };
        let codes = hostile(Format::F32);
        let batch = crossed(fma.spec(), &codes, &codes, &codes);
        let differ = wrong(&mut *fma, &batch, by(published("vfmadd231ps chain")));
        assert!(differ.is_empty(), "{name}: {} differ: {:#?}", differ.len(), &differ[..differ.len().min(8)]);
    }
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
    let words = |a: &[u64], b: &[u64], c: u64| {
        let products = a.iter().zip(b).map(|(&x, &y)| i64::from(x as i16) * i64::from(y as i16));
        i64::from(c as i32) + products.sum::<i64>()
    };
    holds("vpdpwssd", 1_000_000, |a, b, c| u64::from(words(a, b, c) as u32));
    holds("vpdpwssds", 1_000_000, |a, b, c| {
        let clamped = words(a, b, c).clamp(i32::MIN.into(), i32::MAX.into());
        u64::from(clamped as i32 as u32)
    });
    for name in ["vpdpbusd", "vpdpbusds", "vpdpwssd", "vpdpwssds"] {
        models(name, published(name), 100_000);
    }
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

/// What MXCSR means to an instruction: D and MXCSR after it, under a given MXCSR. One block of assembly, so that nothing else
/// runs under it.
#[cfg(target_arch = "x86_64")]
macro_rules! under {
    ($name:ident, $instruction:literal, $features:literal) => {
        #[target_feature(enable = $features)]
        unsafe fn $name(mxcsr: u32, a: &[u32; 16], b: &[u32; 16], c: &[u32; 16]) -> ([u32; 16], u32) {
            let (mut d, mut after, mut before) = ([0; 16], mxcsr, 0u32);
            // SAFETY: 64 bytes are read or written at each array, 4 at each word; MXCSR is put back.
            unsafe {
                std::arch::asm!(
                    "stmxcsr [{before}]", "ldmxcsr [{after}]",
                    "vmovups {x}, [{a}]", "vmovups {y}, [{b}]", "vmovups {z}, [{c}]",
                    concat!($instruction, " {z}, {x}, {y}"),
                    "vmovups [{d}], {z}", "stmxcsr [{after}]", "ldmxcsr [{before}]",
                    a = in(reg) a, b = in(reg) b, c = in(reg) c, d = in(reg) &mut d,
                    after = in(reg) &mut after, before = in(reg) &mut before,
                    x = out(zmm_reg) _, y = out(zmm_reg) _, z = out(zmm_reg) _, options(nostack)
                );
            }
            (d, after)
        }
    };
}

#[cfg(target_arch = "x86_64")]
under!(fma_under, "vfmadd231ps", "avx512f");
#[cfg(target_arch = "x86_64")]
under!(dot_under, "vdpbf16ps", "avx512f,avx512bf16");

#[cfg(target_arch = "x86_64")]
#[test]
fn vdpbf16ps_neither_reads_nor_writes_mxcsr_and_a_fused_multiply_add_does_both() {
    const DEFAULT: u32 = 0x1F80;
    const TOWARD_ZERO_SUBNORMALS_ARE_ZEROS: u32 = 0xFFC0;
    const INEXACT: u32 = 0x20;
    if unit("vdpbf16ps").is_none() {
        return;
    }
    // 1 · 1.5 · 2^-24 + 1 lies between two values of f32, nearer to the upper one; as pairs of bf16, the other product is 0.
    let single = |x: f32| [x.to_bits(); 16];
    let pair = |x: f32| [x.to_bits() >> 16; 16];
    let (one, small) = (1.0, 1.5 * 2f32.powi(-24));
    let next = 1.0 + f32::EPSILON;
    // SAFETY: the unit is there, so the processor has its features.
    let (fma, dot) = unsafe {
        let fma = |mxcsr| fma_under(mxcsr, &single(one), &single(small), &single(one));
        let dot = |mxcsr| dot_under(mxcsr, &pair(one), &pair(small), &single(one));
        ([DEFAULT, TOWARD_ZERO_SUBNORMALS_ARE_ZEROS].map(fma), [DEFAULT, TOWARD_ZERO_SUBNORMALS_ARE_ZEROS].map(dot))
    };
    assert_eq!(fma.map(|(d, _)| f32::from_bits(d[5])), [next, 1.0]);
    assert_eq!(fma.map(|(_, after)| after & INEXACT), [INEXACT; 2]);
    assert_eq!(dot.map(|(d, _)| f32::from_bits(d[5])), [next, next]);
    assert_eq!(dot.map(|(_, after)| after), [DEFAULT, TOWARD_ZERO_SUBNORMALS_ARE_ZEROS]);
}
