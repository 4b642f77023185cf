//! How fast are a GPU's products against the vendor's library, and its loops against what the vendor states?
//!
//! ```text
//! cuda_rates [--device cuda:0] [--extents 4096,8192] [--triples "f16,f16->f32;e4m3,e4m3->f32"] [--paths mma.sync,wgmma]
//!            [--recipe near-normal] [--rounds 12] [--burst 5] [--loops all|chosen|none] [--out TABLE.csv]
//! ```
//!
//! Products of one triple and extent take turns with each other and with every launch tile of `cublaslt`, a burst each a round in seeded random order, so
//! that drifts of the clock, and what the one before leaves of a power limit, meet all alike. A line gives the median time, the ratio to the library's best median, the median clock, and how far
//! the output is from the library's, relative to its largest element. Loops give operations per cycle and multiprocessor at the measured clock.
//! Nothing here is a verdict: the gate and the intervals are the tool's own.

use rigel_device::{Cache, CeilingSpec, Device, Gemm, GemmSpec, Offer, backends};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple, random};
use std::io::Write;

/// Repetitions in a row, unless told; the first does not count.
const BURST: usize = 5;

/// Which ceiling loops run: all, those of the paths and triples named, or none.
#[derive(PartialEq)]
enum Loops {
    All,
    Chosen,
    None,
}

struct Options {
    device: String,
    extents: Vec<usize>,
    triples: Vec<Triple>,
    paths: Vec<String>,
    recipe: Recipe,
    rounds: usize,
    burst: usize,
    loops: Loops,
    out: Option<String>,
}

impl Options {
    fn read() -> Result<Options, String> {
        let triples = |text: &str| {
            text.split(';').map(|t| t.parse::<Triple>().map_err(|e| e.to_string())).collect::<Result<Vec<_>, _>>()
        };
        let mut options = Options {
            device: "cuda:0".into(),
            extents: vec![4096, 8192],
            triples: triples("f16,f16->f32;bf16,bf16->f32;e4m3,e4m3->f32")?,
            paths: vec!["wgmma".into()],
            recipe: Recipe::NearNormal,
            rounds: 12,
            burst: BURST,
            loops: Loops::All,
            out: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} takes a value"))?;
            let bad = |e: &dyn std::fmt::Display| format!("{word} {value}: {e}");
            match word.as_str() {
                "--device" => options.device = value,
                "--extents" => {
                    options.extents =
                        value.split(',').map(|n| n.parse().map_err(|e| bad(&e))).collect::<Result<_, _>>()?;
                }
                "--triples" => options.triples = triples(&value)?,
                "--paths" => options.paths = value.split(',').map(str::to_owned).collect(),
                "--recipe" => options.recipe = value.parse().map_err(|e| bad(&e))?,
                "--burst" => {
                    options.burst = value.parse().map_err(|e| bad(&e))?;
                    if options.burst < 2 {
                        return Err(bad(&"at least 2, as the first does not count"));
                    }
                }
                "--rounds" => options.rounds = value.parse().map_err(|e| bad(&e))?,
                "--loops" => {
                    options.loops = match value.as_str() {
                        "all" => Loops::All,
                        "chosen" => Loops::Chosen,
                        "none" => Loops::None,
                        _ => return Err(bad(&"all, chosen (of the paths and triples named) or none")),
                    }
                }
                "--out" => options.out = Some(value),
                _ => return Err(format!("no option {word}")),
            }
        }
        Ok(options)
    }
}

/// A product that takes turns.
struct Contender {
    path: String,
    tile: String,
    gemm: Box<dyn Gemm>,
    output: Matrix,
    times: Vec<f64>,
    clocks: Vec<f64>,
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn contender(device: &mut dyn Device, spec: &GemmSpec, a: &Matrix, b: &Matrix) -> Result<Contender, String> {
    let mut gemm = device.compile(spec).map_err(|e| e.to_string())?;
    gemm.load().map_err(|e| e.to_string())?;
    gemm.bind(a, b).map_err(|e| e.to_string())?;
    gemm.poison().map_err(|e| e.to_string())?;
    gemm.run(2, Cache::Warm).map_err(|e| e.to_string())?;
    let output = gemm.output().map_err(|e| e.to_string())?;
    let (path, tile) = (spec.path.clone(), spec.tile.clone());
    Ok(Contender { path, tile, gemm, output, times: vec![], clocks: vec![] })
}

/// The largest difference of two outputs over the largest element; infinite where one has a NaN that the other has not.
fn difference(x: &Matrix, y: &Matrix) -> f64 {
    let step = (x.rows / 512).max(1);
    let (mut most, mut largest) = (0.0_f64, 0.0_f64);
    for r in (0..x.rows).step_by(step).chain([x.rows - 1]) {
        for c in 0..x.cols {
            let (u, v) = (x.value(r, c), y.value(r, c));
            most = if (u - v).is_nan() { f64::INFINITY } else { most.max((u - v).abs()) };
            largest = largest.max(v.abs());
        }
    }
    if largest > 0.0 { most / largest } else { most }
}

fn products(device: &mut dyn Device, options: &Options, out: &mut dyn Write) -> Result<(), String> {
    for &triple in &options.triples {
        for &extent in &options.extents {
            let shape = Shape::cube(extent);
            let a = options.recipe.matrix(triple.a, 1, Operand::A, extent, extent);
            let b = options.recipe.matrix(triple.b, 1, Operand::B, extent, extent);
            let mut all = Vec::new();
            for path in options.paths.iter().map(String::as_str).chain(["cublaslt"]) {
                for tile in device.tiles(path, triple) {
                    let spec = GemmSpec { path: path.into(), triple, shape, tile: tile.clone() };
                    match contender(device, &spec, &a, &b) {
                        Ok(ready) => all.push(ready),
                        Err(why) => eprintln!("{path} {tile} {triple} {extent}: {why}"),
                    }
                }
            }
            for round in 0..options.rounds {
                let mut order: Vec<usize> = (0..all.len()).collect();
                random::shuffle(&mut order, round as u64);
                for i in order {
                    let one = &mut all[i];
                    let samples = one.gemm.run(options.burst, Cache::Warm).map_err(|e| e.to_string())?;
                    one.times.extend(samples[1..].iter().map(|s| s.time.seconds()));
                    one.clocks.extend(samples[1..].iter().filter_map(|s| s.clock).map(|c| f64::from(c.0)));
                }
            }
            let library: Vec<&Contender> = all.iter().filter(|c| c.path == "cublaslt").collect();
            let best = library.iter().map(|c| median(&c.times)).fold(f64::INFINITY, f64::min);
            for one in &all {
                let time = median(&one.times);
                let apart = library.first().map_or(f64::NAN, |other| difference(&one.output, &other.output));
                writeln!(
                    out,
                    "product,{},\"{triple}\",{extent},{},{},{:.2},{:.1},{:.4},{:.0},{apart:.2e}",
                    one.path,
                    one.tile,
                    options.recipe.name(),
                    time * 1e6,
                    shape.operations() as f64 / time * 1e-12,
                    best / time,
                    median(&one.clocks)
                )
                .map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(())
}

fn loops(device: &mut dyn Device, options: &Options, out: &mut dyn Write) -> Result<(), String> {
    let cores = f64::from(device.describe().cores);
    let chosen = |offer: &Offer| options.paths.contains(&offer.path) && options.triples.contains(&offer.triple);
    let wanted =
        |offer: &Offer| offer.has_ceiling && offer.absent.is_empty() && (options.loops == Loops::All || chosen(offer));
    for offer in device.offers().into_iter().filter(wanted) {
        for variant in device.ceiling_variants(&offer.path, offer.triple) {
            let spec = CeilingSpec { path: offer.path.clone(), triple: offer.triple, variant: variant.clone() };
            let told = device.ceiling(&spec).map_err(|e| e.to_string()).and_then(|mut ceiling| {
                let samples = ceiling.run(10).map_err(|e| e.to_string())?;
                ceiling.check()?;
                let times: Vec<f64> = samples[2..].iter().map(|s| s.time.seconds()).collect();
                let clocks: Vec<f64> = samples[2..].iter().filter_map(|s| s.clock).map(|c| f64::from(c.0)).collect();
                Ok((median(&times), median(&clocks), ceiling.operations() as f64))
            });
            match told {
                Ok((time, clock, operations)) => {
                    let rate = operations / time / cores / (clock * 1e6);
                    let stated = offer.stated.as_ref().map_or(f64::NAN, |s| s.operations_per_cycle_per_core);
                    writeln!(
                        out,
                        "loop,{},\"{}\",,{variant},,{:.2},{:.1},{:.4},{clock:.0},{rate:.1}",
                        offer.path,
                        offer.triple,
                        time * 1e6,
                        operations / time * 1e-12,
                        rate / stated
                    )
                    .map_err(|e| e.to_string())?;
                }
                Err(why) => eprintln!("{} {} {variant}: {why}", offer.path, offer.triple),
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), String> {
    let options = Options::read()?;
    let mut device = backends::open(&options.device)?;
    let mut out: Box<dyn Write> = match &options.out {
        Some(path) => Box::new(std::fs::File::create(path).map_err(|e| format!("{path}: {e}"))?),
        None => Box::new(std::io::stdout()),
    };
    writeln!(out, "kind,path,triple,extent,tile,recipe,median_us,tera_operations_per_s,of_library_or_stated,clock_mhz,difference_or_rate")
        .map_err(|e| e.to_string())?;
    if options.loops != Loops::None {
        loops(device.as_mut(), &options, &mut out)?;
    }
    products(device.as_mut(), &options, &mut out)
}
