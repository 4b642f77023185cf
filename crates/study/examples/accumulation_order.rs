//! In which order does each path of this processor add, and does row 0 depend on the batch it rides in?
//!
//! `cargo run --release -p rigel-study --example accumulation_order -- [K] [M]`: rows of K products (256), batches of 1 to M
//! rows (1024). Prints one line a path and type triple.

use rigel_device::{Device, cpu};
use rigel_study::accumulation::{GemmDots, batch_dependence, recover};

fn main() {
    let number = |i, default| std::env::args().nth(i).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (k, most): (usize, usize) = (number(1, 256), number(2, 1024));
    let mut device = cpu::Cpu::new();
    for offer in device.offers().into_iter().filter(|offer| offer.absent.is_empty()) {
        let Some(tile) = device.tiles(&offer.path, offer.triple).into_iter().next() else { continue };
        let mut gemm = GemmDots::new(&mut device, &offer.path, offer.triple, k, &tile);
        let order = match recover(&mut gemm, 1) {
            Ok(found) => format!("{} ({} dot products)", found.tree, found.dots),
            Err(why) => why.to_string(),
        };
        println!("{} {}: {order}", offer.path, offer.triple.pretty());
        match batch_dependence(&mut gemm, most, 1) {
            Ok(found) => println!("  {found}"),
            Err(fault) => println!("  batches: {fault}"),
        }
    }
}
