//! Does every unit of a GPU answer alike twice, whatever its neighbours are, and do published models say the same bits?
//!
//! ```text
//! cuda_units [--device cuda:0] [--dots 1000000] [--seed 1] [--only PART_OF_A_NAME] [--out TABLE.csv]
//! ```
//!
//! Every unit is asked on seeded batches of all distributions, special codes included. The table (standard output, or a
//! file) has one line a unit, distribution and published model: tiles, dot products, whether a second run gave the same
//! bits, whether the tiles gave the same bits in reverse order, how many dot products differ from the model, and how
//! many of these are NaN on both sides. Units without a published layout are asked by registers and have no model.
//! First counterexamples and refusals go to standard error.

use rayon::prelude::*;
use rigel_device::cuda::instruction::Instruction;
use rigel_device::cuda::target::{PtxVersion, Target};
use rigel_device::cuda::{Cuda, text, wgmma_unit};
use rigel_device::unit::{FragmentSpec, Operands, Unit, UnitSpec, execute, execute_fragments};
use rigel_device::{Description, Device};
use rigel_numerics::arithmetic::{Distribution, DotInputs, Evaluator, Published, library};
use rigel_numerics::random::stream;
use rigel_numerics::{Matrix, Shape, Triple};
use std::io::Write;
use std::time::Instant;

struct Options {
    device: String,
    dots: usize,
    seed: u64,
    only: String,
    out: Option<String>,
}

impl Options {
    fn read() -> Result<Options, String> {
        let mut options = Options { device: "cuda:0".into(), dots: 1_000_000, seed: 1, only: String::new(), out: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} takes a value"))?;
            let number = || value.parse::<u64>().map_err(|e| format!("{word} {value}: {e}"));
            match word.as_str() {
                "--device" => options.device = value,
                "--dots" => options.dots = number()?.max(1) as usize,
                "--seed" => options.seed = number()?,
                "--only" => options.only = value,
                "--out" => options.out = Some(value),
                _ => return Err(format!("no option {word}; there are --device, --dots, --seed, --only and --out")),
            }
        }
        Ok(options)
    }
}

/// Operands of as many tiles as there are, by logical coordinates or by registers.
struct Batch {
    a: Matrix,
    b: Matrix,
    c: Matrix,
}

impl Batch {
    /// Row i of A, column i of B and c of (i, i) of a tile are one drawn dot product; other elements of C are drawn
    /// alone.
    fn of_tiles(d: Distribution, triple: Triple, shape: Shape, tiles: usize, seed: u64) -> Batch {
        let Shape { m, n, k } = shape;
        let drawn: Vec<(Vec<DotInputs>, Vec<u64>)> = (0..tiles)
            .into_par_iter()
            .map(|t| {
                let rows = (0..m.max(n)).map(|i| d.unscaled(triple, k, seed, (t * m.max(n) + i) as u64)).collect();
                let c = (0..m * n).map(|e| d.unscaled(triple, 1, !seed, (t * m * n + e) as u64).c).collect();
                (rows, c)
            })
            .collect();
        let mut batch = Batch {
            a: Matrix::zeroed(triple.a, tiles * m, k),
            b: Matrix::zeroed(triple.b, tiles * k, n),
            c: Matrix::zeroed(triple.c, tiles * m, n),
        };
        for (t, (rows, c)) in drawn.iter().enumerate() {
            (0..m * k).for_each(|e| batch.a.set(t * m + e / k, e % k, rows[e / k].a[e % k]));
            (0..k * n).for_each(|e| batch.b.set(t * k + e / n, e % n, rows[e % n].b[e / n]));
            (0..m * n).for_each(|e| {
                let (i, j) = (e / n, e % n);
                batch.c.set(t * m + i, j, if i == j { rows[i].c } else { c[e] });
            });
        }
        batch
    }

    /// Registers filled lane by lane; what an element means is the unit's secret.
    fn of_registers(d: Distribution, triple: Triple, slots: FragmentSpec, launches: usize, seed: u64) -> Batch {
        let rows = launches * slots.lanes;
        let mut batch = Batch {
            a: Matrix::zeroed(triple.a, rows, slots.a),
            b: Matrix::zeroed(triple.b, rows, slots.b),
            c: Matrix::zeroed(triple.c, rows, slots.c),
        };
        for r in 0..rows {
            let drawn = d.unscaled(triple, slots.a.max(slots.b), seed, r as u64);
            (0..slots.a).for_each(|s| batch.a.set(r, s, drawn.a[s]));
            (0..slots.b).for_each(|s| batch.b.set(r, s, drawn.b[s]));
            (0..slots.c).for_each(|s| {
                batch.c.set(r, s, d.unscaled(triple, 1, !seed, (r * slots.c + s) as u64).c);
            });
        }
        batch
    }

    fn operands(&self) -> Operands<'_> {
        Operands { a: &self.a, b: &self.b, c: &self.c, scales: None }
    }

    /// The same tiles in reverse order, each of the matrices having `rows` rows a tile.
    fn reversed(&self, rows: [usize; 3]) -> Batch {
        let [a, b, c] = [(&self.a, rows[0]), (&self.b, rows[1]), (&self.c, rows[2])].map(|(x, r)| reversed(x, r));
        Batch { a, b, c }
    }
}

fn reversed(x: &Matrix, rows: usize) -> Matrix {
    let tile = rows * Matrix::row_bytes(x.format, x.cols);
    Matrix { bytes: x.bytes.chunks(tile).rev().flatten().copied().collect(), ..x.clone() }
}

/// Published models that speak of this instruction on this device.
fn models(spec: &UnitSpec, device: &Description) -> Vec<&'static Published> {
    let model_name = device.name.rsplit(' ').next().unwrap_or_default().to_owned();
    let architecture = |feature: &str| match feature {
        "compute-8.0" => "Ampere",
        "compute-8.9" => "Ada",
        "compute-9.0" => "Hopper",
        _ => "no other architecture is named in the library",
    };
    let mut words: Vec<&str> = device.features.iter().map(|feature| architecture(feature)).collect();
    words.push(&model_name);
    let speaks = |p: &&Published| {
        let k = spec.shape.k;
        let same_sum = match spec.triple.is_integer() {
            true => p.path.contains(".satfinite") == spec.name.contains(".satfinite"),
            false => p.model.k == k || p.model.k == 1,
        };
        let here = words.iter().any(|word| !word.is_empty() && p.device.contains(word));
        // Exact integers are published for mma.sync alone; a sum is a sum.
        let path = p.path.contains(&spec.path) || spec.triple.is_integer();
        p.model.triple == spec.triple && path && same_sum && here
    };
    library().iter().filter(speaks).collect()
}

/// Elements of D that differ from a model.
struct Comparison {
    mismatches: usize,
    /// Those of them that are NaN on both sides, in other words.
    both_nan: usize,
    /// The first one, in words.
    first: Option<String>,
}

/// Every element of D against a published model.
fn compare(published: &Published, shape: Shape, batch: &Batch, d: &Matrix) -> Result<Comparison, String> {
    let Shape { m, n, k } = shape;
    let evaluator = Evaluator::new(&published.model, k).map_err(|e| e.to_string())?;
    let inputs = |t: usize, i: usize, j: usize| DotInputs {
        a: (0..k).map(|p| batch.a.get(t * m + i, p)).collect(),
        b: (0..k).map(|p| batch.b.get(t * k + p, j)).collect(),
        c: batch.c.get(t * m + i, j),
        a_scales: Vec::new(),
        b_scales: Vec::new(),
    };
    let place = |e: usize| (e / (m * n), e / n % m, e % n);
    // Element, word of the device, word of the model.
    let differing: Vec<(usize, u64, u64)> = (0..d.rows * n)
        .into_par_iter()
        .map_init(
            || evaluator.scratch(),
            |scratch, e| {
                let (t, i, j) = place(e);
                let words = (d.get(t * m + i, j), evaluator.dot(scratch, inputs(t, i, j).codes()));
                (words.0 != words.1).then_some((e, words.0, words.1))
            },
        )
        .flatten()
        .collect();
    let nan = |word| d.format.decode(word).is_nan();
    let first = differing.first().map(|&(e, device, model)| {
        let (t, i, j) = place(e);
        let DotInputs { a, b, c, .. } = inputs(t, i, j);
        let hex = |codes: Vec<u64>| codes.iter().map(|code| format!("{code:#x}")).collect::<Vec<_>>().join(" ");
        format!(
            "tile {t}, element ({i}, {j}): device {device:#x}, model {model:#x}; a {}; b {}; c {c:#x}",
            hex(a),
            hex(b)
        )
    });
    let both_nan = differing.iter().filter(|&&(_, device, model)| nan(device) && nan(model)).count();
    Ok(Comparison { mismatches: differing.len(), both_nan, first })
}

/// All lines of a unit; one without a published layout, so without tiles, is asked by its registers.
fn ask(unit: &mut dyn Unit, by_tiles: bool, device: &Description, options: &Options) -> Result<Vec<String>, String> {
    let spec = unit.spec().clone();
    let (Shape { m, n, k }, slots) =
        (spec.shape, spec.fragments.unwrap_or(FragmentSpec { lanes: 1, a: 1, b: 1, c: 1 }));
    let tiles = options.dots.div_ceil(Distribution::ALL.len() * m * n);
    let rows = if by_tiles { [m, k, m] } else { [slots.lanes; 3] };
    let models = if by_tiles { models(&spec, device) } else { Vec::new() };
    let mut lines = Vec::new();
    for (number, distribution) in (0..).zip(Distribution::ALL) {
        let seed = stream(options.seed, number);
        let batch = match by_tiles {
            true => Batch::of_tiles(distribution, spec.triple, spec.shape, tiles, seed),
            false => Batch::of_registers(distribution, spec.triple, slots, tiles, seed),
        };
        let mut run = |batch: &Batch| match by_tiles {
            true => execute(unit, batch.operands()).map_err(|e| e.to_string()),
            false => execute_fragments(unit, batch.operands()).map_err(|e| e.to_string()),
        };
        let start = Instant::now();
        let d = run(&batch)?;
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let twice = run(&batch)? == d;
        let alone = reversed(&run(&batch.reversed(rows))?, rows[2]) == d;
        let level = if by_tiles { "tiles" } else { "registers" };
        let word = format!("{distribution:?}");
        let head = format!("{},{level},{word},{tiles},{},{twice},{alone}", spec.name, tiles * m * n);
        if models.is_empty() {
            lines.push(format!("{head},,,,{milliseconds:.1}"));
        }
        for published in &models {
            let Comparison { mismatches, both_nan, first } = compare(published, spec.shape, &batch, &d)?;
            if let Some(first) = first {
                eprintln!("{} on {word}, model \"{}\": {first}", spec.name, published.name);
            }
            lines.push(format!("{head},\"{}\",{mismatches},{both_nan},{milliseconds:.1}", published.name));
        }
    }
    Ok(lines)
}

/// What the driver's compiler says of kernels that it cannot take, word for word.
fn show_refusals(cuda: &Cuda) {
    let Some(fp8) = Instruction::named("mma.sync.m16n8k32.f16.e4m3.e4m3.f16") else { return };
    let texts = [
        ("fp8 for sm_80", text::unit(&fp8, Target(80))),
        ("fp8 in PTX 7.8", text::unit_in(&fp8, cuda.target(), PtxVersion(7, 8))),
        ("PTX 99.9", text::health_in(cuda.target(), PtxVersion(99, 9))),
        ("a target above this device", text::health_in(Target(120), Target(120).ptx())),
    ];
    for (what, ptx) in texts {
        let entry = if ptx.contains(".entry unit") { text::UNIT_ENTRY } else { text::HEALTH_ENTRY };
        match cuda.try_text(&ptx, entry) {
            Ok(log) => eprintln!("{what}: taken; log: {log}"),
            Err(refusal) => eprintln!("{what}: {refusal}"),
        }
    }
}

fn run() -> Result<(), String> {
    let options = Options::read()?;
    let mut cuda = Cuda::open(&options.device)?;
    let device = cuda.describe();
    eprintln!("{device:#?}");
    eprintln!("health: {:?}", cuda.health());
    let (mut meters, missing) = cuda.meters();
    for meter in &mut meters {
        let reading = meter.read().map(|r| r.value);
        eprintln!("{}: {reading:?} {} ({})", meter.name(), meter.unit(), meter.coverage());
    }
    missing.iter().for_each(|meter| eprintln!("{} unavailable: {}", meter.name, meter.reason));
    show_refusals(&cuda);
    let mut lines = vec![
        "unit,level,distribution,tiles,dots,same_twice,same_in_reverse,model,mismatches,both_nan,batch_ms".to_owned(),
    ];
    for instruction in Instruction::all().iter().filter(|i| i.name().contains(&options.only)) {
        let start = Instant::now();
        match cuda.instruction(instruction) {
            Err(absent) => eprintln!("{} absent: {absent}", instruction.name()),
            Ok(mut unit) => {
                let compiled = start.elapsed().as_secs_f64() * 1e3;
                let by_tiles = unit.fragment().is_ok();
                lines.extend(ask(&mut unit, by_tiles, &device, &options)?);
                let said = if unit.log().is_empty() { "nothing" } else { unit.log() };
                eprintln!("{}: compiled in {compiled:.0} ms, log: {said}", instruction.name());
            }
        }
    }
    for instruction in wgmma_unit::all().iter().filter(|i| i.name().contains(&options.only)) {
        match cuda.unit(&instruction.name()) {
            Err(absent) => eprintln!("{} absent: {absent}", instruction.name()),
            Ok(mut unit) => lines.extend(ask(unit.as_mut(), true, &device, &options)?),
        }
    }
    for meter in &mut meters {
        let reading = meter.read().map(|r| r.value);
        eprintln!("{} after: {reading:?} {}", meter.name(), meter.unit());
    }
    let table = lines.join("\n") + "\n";
    match &options.out {
        Some(path) => std::fs::write(path, table).map_err(|e| format!("{path}: {e}")),
        None => std::io::stdout().write_all(table.as_bytes()).map_err(|e| e.to_string()),
    }
}

fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("cuda_units: {why}");
            std::process::ExitCode::FAILURE
        }
    }
}
