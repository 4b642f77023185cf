//! How many of N randomly planted Metal devices have their arithmetic and registers recovered, and how long does one take?
//!
//! `cargo run --release -p rigel-study --example planted_metal -- 200 [FIRST]`: the kernels that ship, on the device in software. Prints
//! a line a device that is missed, and the count; exits with 1 when one was, and with 3 without clang 19.

#[path = "../tests/planted_metal/mod.rs"]
#[allow(dead_code)]
mod planted_metal;

use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::compiler::Clang;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::Planted;
use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;

fn main() -> ExitCode {
    let number = |i| std::env::args().nth(i).and_then(|text| text.parse::<u64>().ok());
    let (count, first) = (number(1).unwrap_or(20), number(2).unwrap_or(0));
    let found = Clang::find(std::env::temp_dir().join("rigel-planted-metal"));
    let clang: &'static Clang = match found {
        Ok(clang) => Box::leak(Box::new(clang)),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
    };
    let gpu = match Simulated::new(clang, Sdk::V27_0, Planted::PLAIN) {
        Ok(gpu) => Rc::new(RefCell::new(gpu)),
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
    };
    let begun = Instant::now();
    let (mut right, mut slowest) = (0, 0.0_f64);
    for (done, index) in (first..first + count).enumerate() {
        let began = Instant::now();
        match planted_metal::recovered(&gpu, index) {
            Ok(()) => right += 1,
            Err(why) => println!("{why}"),
        }
        slowest = slowest.max(began.elapsed().as_secs_f64());
        if (done + 1) % 20 == 0 {
            println!("{right} of {} so far", done + 1);
        }
    }
    let each = begun.elapsed().as_secs_f64() / count.max(1) as f64;
    println!(
        "{right} of {count} devices from {first} on recovered, simulated; {each:.1} s a device, {slowest:.1} s at most"
    );
    if right == count { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
