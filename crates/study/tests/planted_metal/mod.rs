//! Are the arithmetic and the registers of one planted Metal device recovered through the very kernels that ship?

use rigel_device::metal::element::Element::*;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Arithmetic, BaseTile, Planted};
use rigel_device::metal::triples::Types;
use rigel_device::metal::unit::{Instruction, MetalUnit};
use rigel_device::unit::{Operands, Unit, execute};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Model};
use rigel_numerics::layout::{Fragment, Layout};
use rigel_numerics::random::stream;
use rigel_numerics::{Format, Matrix, Shape};
use rigel_study::layouts::{self, Numbering};
use rigel_study::recovery::{Effort, recover};
use std::cell::RefCell;
use std::rc::Rc;

/// Types of the units.
pub const HALF: Types = Types::new(Half, Half, Float);
/// Tile of the `matmul2d`.
pub const TILE: Shape = Shape { m: 16, n: 32, k: 32 };

/// Family of the drawn devices.
const FAMILY: u64 = 5;

/// What is planted in a device of the family. Rows of its units are as they are, so a rule on them would only stand in the way.
pub fn planted(index: u64) -> Planted {
    Planted { inlined: Planted::PLAIN.inlined, ..Planted::drawn(FAMILY, index) }
}

/// Plants a device and recovers the arithmetic and the registers of both of its units.
///
/// # Errors
/// What is not what was planted.
pub fn recovered(gpu: &Rc<RefCell<Simulated>>, index: u64) -> Result<(), String> {
    let planted = planted(index);
    gpu.borrow_mut().plant(planted)?;
    for instruction in [Instruction::matmul2d(HALF, TILE), Instruction::SimdGroup(HALF)] {
        let mut unit = MetalUnit::new(gpu, &instruction).map_err(|e| e.0)?;
        let (name, k) = (instruction.name(), instruction.shape().k);
        let model = model(&planted.arithmetic, k);
        if mismatches(&mut unit, &model, index) > 0 {
            return Err(format!("device {index}, {name}: the headers do not compute {model}"));
        }
        let effort = Effort { validation: 6_000, evaluations: 3_000_000, ..Effort::full(index) };
        let recovery = recover(&mut unit, &effort).map_err(|e| format!("device {index}, {name}: {e}"))?;
        let found = recovery.recovered.model().filter(|_| recovery.recovered.is_exact());
        let found = found.ok_or_else(|| format!("device {index}, {name}: planted {model}\n{recovery}"))?;
        match mismatches(&mut unit, found, index + 1000) {
            0 => {}
            wrong => {
                return Err(format!("device {index}, {name}: called exact, and {wrong} outputs differ\n{recovery}"));
            }
        }
    }
    let of = |a: &BaseTile, b: &BaseTile, c: &BaseTile, s: Shape| {
        Fragment::new(layout(a, s.m, s.k), layout(b, s.k, s.n), layout(c, s.m, s.n)).unwrap()
    };
    let eight = Shape::new(8, 8, 8);
    for (instruction, fragment) in [
        (Instruction::matmul2d(HALF, TILE), of(&planted.left, &planted.right, &planted.destination, TILE)),
        (Instruction::SimdGroup(HALF), of(&planted.matrix, &planted.matrix, &planted.matrix, eight)),
    ] {
        let mut unit = MetalUnit::new(gpu, &instruction).map_err(|e| e.0)?;
        let said = |what: String| format!("device {index}, registers of {}: {what}", instruction.name());
        let found = layouts::recover(&mut unit, Numbering::Appearance, index).map_err(|e| said(e.to_string()))?;
        found.fragment.same_up_to_relabelling(&fragment).map_err(|e| said(format!("{e:?}")))?;
    }
    Ok(())
}

/// The planted arithmetic as a model of half into float over k products.
fn model(a: &Arithmetic, k: usize) -> Model {
    let align = match a.fraction_bits {
        None => "\"exact\"".to_owned(),
        Some(bits) => {
            let cut = if a.cut_down { "down" } else { "toward_zero" };
            format!("{{\"largest\": {{\"fraction_bits\": {bits}, \"cut\": \"{cut}\"}}}}")
        }
    };
    let zero = if a.fraction_bits.is_none() { "\"zero\": \"ieee\", " } else { "" };
    let rounding = if a.toward_zero { "toward_zero" } else { "nearest_even" };
    Model::from_json(&format!(
        "{{\"triple\": \"f16,f16->f32\", \"k\": {k}, \"body\": {{\"chain\": {{\"split\": {{\"blocks\": {{\"of\": {}}}}}, \"each\": \
         {{\"step\": {{\"c\": true, \"sum\": {{\"align\": {align}, {zero}\"output\": {{\"rounded\": {{\"format\": \"f32\", \
         \"rounding\": \"{rounding}\", \"overflow\": \"directed\"}}}}}}}}}}}}}}, \"nan\": {{\"word\": 2143289344}}}}",
        a.group
    ))
    .unwrap()
}

/// Outputs of a unit that differ from a model, over tiles whose rows and columns hold dot products of every distribution.
fn mismatches(unit: &mut dyn Unit, model: &Model, seed: u64) -> usize {
    let Shape { m, n, k } = unit.spec().shape;
    let evaluator = Evaluator::new(model, k).unwrap();
    let mut scratch = evaluator.scratch();
    let mut differ = 0;
    for (t, distribution) in Distribution::ALL.into_iter().enumerate() {
        let (mut a, mut b) = (Matrix::zeroed(Format::F16, m, k), Matrix::zeroed(Format::F16, k, n));
        let mut c = Matrix::zeroed(Format::F32, m, n);
        let mut expected = Vec::new();
        // Row r and column c of a tile are those of dot product r and c.
        let dots: Vec<_> =
            (0..n.max(m) as u64).map(|i| distribution.inputs(model, k, stream(seed, t as u64), i)).collect();
        for (i, dot) in dots.iter().enumerate() {
            let codes = dot.codes();
            for at in 0..k {
                if i < m {
                    a.set(i, at, codes.a[at]);
                }
                if i < n {
                    b.set(at, i, codes.b[at]);
                }
            }
        }
        for r in 0..m {
            for col in 0..n {
                let (x, y) = (dots[r].codes(), dots[col].codes());
                c.set(r, col, x.c);
                expected.push(evaluator.dot(&mut scratch, rigel_numerics::arithmetic::Inputs::new(x.a, y.b, x.c)));
            }
        }
        let d = execute(unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        differ += (0..m * n).filter(|i| d.get(i / n, i % n) != expected[*i]).count();
    }
    differ
}

fn layout(base: &BaseTile, rows: usize, cols: usize) -> Layout {
    let (high, wide) = (1 << base.bits.0, 1 << base.bits.1);
    let (down, across, each) = (rows / high, cols / wide, high * wide / 32);
    let slots = down * across * each;
    Layout::from_fn((rows, cols), (32, slots), |lane, slot| {
        let tile = slot as usize / each;
        let (r, c) = if base.along_rows { (tile % down, tile / down) } else { (tile / across, tile % across) };
        let (row, col) = base.at(lane as usize, slot as usize % each);
        Some(((r * high + row) as u32, (c * wide + col) as u32))
    })
    .unwrap()
}
