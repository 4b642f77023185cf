//! How often is the number of modes right, and how often is a mode seen that is not there?
//!
//! Plants series of known truth and prints a table: `cargo run --release -p rigel-ledger --example modality [cells]`.

#[path = "../tests/statistics_planted/mod.rs"]
mod statistics_planted;

use rigel_ledger::statistics::{Kind, bootstrap_interval_closed, modality, sorted};
use statistics_planted::{ONE_MODE, Switching, mixture, one_mode, published_512, published_1024};

fn main() {
    let cells: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1000);
    let percent = |count: usize| 100.0 * count as f64 / cells.max(1) as f64;
    println!("two modes, weight 10 % to 90 %, distance at least 6 σ, {cells} cells each");
    for n in [50, 300] {
        for switching in [Switching::Random, Switching::Lasting, Switching::Once] {
            let right = (0..cells).filter(|&seed| recovered(seed, n, switching)).count();
            println!("  n = {n:3}  {switching:?}: {:.1} % right", percent(right));
        }
    }
    println!("one mode, {cells} cells each: share in which more than one is reported");
    for n in [50, 300] {
        for family in &ONE_MODE {
            let kinds = (0..cells).map(|seed| modality(&one_mode(family, seed, n), &[]).kind);
            let (several, tail) = kinds.fold((0, 0), |(s, t), kind| match kind {
                Kind::One => (s, t),
                Kind::Several => (s + 1, t),
                Kind::Tail { .. } => (s, t + 1),
            });
            println!("  n = {n:3}  {:33} several {:.1} %  tail {:.1} %", family.0, percent(several), percent(tail));
        }
    }
    let times = published_512();
    println!("published, 512³: {}", modality(&times, &[]));
    if let Ok(interval) = bootstrap_interval_closed(&sorted(&times), 0.95)
        && let Some(rate) = interval.rate(2 * 512 * 512 * 512)
    {
        println!("  interval of the median: [{:.2}, {:.2}] TFLOP/s", rate.low * 1e-12, rate.high * 1e-12);
    }
    println!("published, 1024³: {}", modality(&published_1024(0), &[]));
}

fn recovered(seed: u64, n: usize, switching: Switching) -> bool {
    let planted = mixture(seed, n, switching);
    let found = modality(&planted.times, &[]);
    found.kind == Kind::Several && found.modes.len() == 2 && (found.modes[1].count as usize).abs_diff(planted.slow) <= 3
}
