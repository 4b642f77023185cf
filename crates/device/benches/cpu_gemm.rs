//! How close do the paths of the device `cpu` come to what the processor can issue, and to a tuned BLAS?
//!
//! ```text
//! cargo bench -p rigel-device --bench cpu_gemm -- [EXTENT] [ROUNDS] [PATH-OR-TRIPLE …]
//! cargo bench -p rigel-device --bench cpu_gemm -- tiles [EXTENT] [ROUNDS] [PATH-OR-TRIPLE …]
//! ```
//!
//! First every ceiling loop, by variant: operations per second, per core-clock cycle and core, and that as a
//! share of the stated limit. Then products of EXTENT³ (2048), all paths in turn in each of ROUNDS (5) rounds, so
//! that a slow moment of the machine hits all of them: fastest and median rate, and the median of the
//! ratios to f32 on `avx512-fma` in the same round. With `tiles`, every launch tile instead of the first.
//!
//! `integrations/python/against_openblas.py` compares with OpenBLAS, interleaved in one run.

use rigel_device::{Cache, CeilingSpec, Device, Gemm, GemmSpec, Offer, Sample, cpu::Cpu};
use rigel_numerics::{Operand, Recipe, Shape};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let (all_tiles, arguments) = match arguments.split_first() {
        Some((first, rest)) if first == "tiles" => (true, rest.to_vec()),
        _ => (false, arguments),
    };
    let (numbers, names): (Vec<String>, Vec<String>) = arguments.into_iter().partition(|a| a.parse::<usize>().is_ok());
    let number = |i: usize, default| numbers.get(i).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (extent, rounds) = (number(0, 2048), number(1, 5));
    let chosen = |o: &Offer| {
        names.is_empty() || names.iter().any(|n| *n == o.path || *n == o.triple.to_string() || *n == o.triple.a.name())
    };

    let mut cpu = Cpu::new();
    println!("{}", cpu.describe().name);
    let offers: Vec<Offer> = cpu.offers().into_iter().filter(|o| o.absent.is_empty() && chosen(o)).collect();
    if !all_tiles {
        ceilings(&mut cpu, &offers);
    }
    products(&mut cpu, &offers, Shape::cube(extent.max(1)), rounds.max(1), all_tiles);
}

fn ceilings(cpu: &mut Cpu, offers: &[Offer]) {
    println!(
        "\n{:13} {:14} {:8} {:>9} {:>6} {:>9} {:>7}",
        "ceiling", "triple", "variant", "G op/s", "MHz", "op/cycle", "stated"
    );
    for offer in
        offers.iter().filter(|o| o.triple.a == o.triple.acc || o.path.starts_with("avx512-") || o.triple.is_integer())
    {
        for variant in cpu.ceiling_variants(&offer.path, offer.triple) {
            let spec = CeilingSpec { path: offer.path.clone(), triple: offer.triple, variant: variant.clone() };
            let mut ceiling = cpu.ceiling(&spec).expect("an offered loop compiles");
            let samples = ceiling.run(15).expect("a loop runs");
            ceiling.check().expect("the loop did its work");
            let cores: f64 = variant.split('x').next_back().and_then(|n| n.parse().ok()).unwrap_or(1.0);
            let operations = ceiling.operations() as f64;
            let per_cycle =
                samples.iter().filter_map(|s| Some(operations / s.time.seconds() / s.clock?.hertz() / cores));
            let per_cycle = median(per_cycle.collect());
            let share =
                offer.stated.as_ref().map(|s| format!("{:.1} %", 100.0 * per_cycle / s.operations_per_cycle_per_core));
            println!(
                "{:13} {:14} {:8} {:9.1} {:>6} {:9.2} {:>7}",
                offer.path,
                offer.triple,
                variant,
                operations / time(&samples) * 1e-9,
                median(samples.iter().filter_map(|s| Some(f64::from(s.clock?.0))).collect()),
                per_cycle,
                share.unwrap_or_default()
            );
        }
    }
}

struct Candidate {
    label: String,
    is_f32: bool,
    gemm: Box<dyn Gemm>,
    times: Vec<f64>,
}

fn products(cpu: &mut Cpu, offers: &[Offer], shape: Shape, rounds: usize, all_tiles: bool) {
    let mut candidates = Vec::new();
    for offer in offers {
        let mut tiles = cpu.tiles(&offer.path, offer.triple);
        tiles.truncate(if all_tiles { usize::MAX } else { 1 });
        for tile in tiles {
            let spec = GemmSpec { path: offer.path.clone(), triple: offer.triple, shape, tile: tile.clone() };
            let mut gemm = cpu.compile(&spec).expect("an offered product compiles");
            gemm.load().expect("it loads");
            let operand = |format, operand, rows, cols| Recipe::NearNormal.matrix(format, 1, operand, rows, cols);
            let a = operand(offer.triple.a, Operand::A, shape.m, shape.k);
            let b = operand(offer.triple.b, Operand::B, shape.k, shape.n);
            gemm.bind(&a, &b).expect("operands fit");
            let label = format!("{:13} {:14} {tile:20}", offer.path, offer.triple);
            let is_f32 = offer.path == "avx512-fma" && offer.triple.a.name() == "f32";
            candidates.push(Candidate { label, is_f32, gemm, times: Vec::new() });
        }
    }
    for round in 0..=rounds {
        for candidate in &mut candidates {
            let samples = candidate.gemm.run(3, Cache::Warm).expect("it runs");
            if round > 0 {
                candidate.times.push(time(&samples));
            }
        }
    }
    let rate = |seconds: f64| shape.operations() as f64 / seconds * 1e-9;
    let f32_times = candidates.iter().find(|c| c.is_f32).map(|c| c.times.clone());
    println!(
        "\n{:13} {:14} {:20} {:>9} {:>9} {:>7}   ({shape})",
        "product", "triple", "tile", "fastest", "median", "× f32"
    );
    for candidate in &candidates {
        let fastest = candidate.times.iter().copied().fold(f64::INFINITY, f64::min);
        let ratio = f32_times.as_ref().map(|f| median(f.iter().zip(&candidate.times).map(|(f, t)| f / t).collect()));
        let ratio = ratio.map_or(String::new(), |r| format!("{r:.2}"));
        println!("{} {:9.1} {:9.1} {ratio:>7}", candidate.label, rate(fastest), rate(median(candidate.times.clone())));
    }
}

/// The fastest repetition, in seconds.
fn time(samples: &[Sample]) -> f64 {
    samples.iter().map(|s| s.time.seconds()).fold(f64::INFINITY, f64::min)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    if values.is_empty() { f64::NAN } else { values[values.len() / 2] }
}
