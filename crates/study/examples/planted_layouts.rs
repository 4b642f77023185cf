//! How many of N randomly planted layouts are recovered, and at which cost?
//!
//! `cargo run --release -p rigel-study --example planted_layouts -- 1000 [FIRST]`: families in turn, one in 25 with 128 lanes of up to 128
//! slots. Prints a table of devices, recovered, launches an operand and seconds; exits with 1 when one was missed.

#[path = "../tests/planted_layout/mod.rs"]
#[allow(dead_code)]
mod planted_layout;

use planted_layout::draw::{FAMILIES, draw};
use rigel_numerics::layout::FragmentOperand;
use rigel_study::layouts::{Numbering, recover};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let number = |i| std::env::args().nth(i).and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number(2).unwrap_or(0), number(1).unwrap_or(100));
    let mut missed = 0;
    println!("family    size    devices  recovered  most launches of an operand  confirmation, most  seconds");
    for family in FAMILIES {
        for large in [false, true] {
            let begun = Instant::now();
            let (mut devices, mut right, mut most, mut confirmation) = (0, 0, 0, 0);
            for seed in (first..first + count)
                .filter(|seed| FAMILIES[*seed as usize % 4] == family && (seed / 4 % 25 == 24) == large)
            {
                let mut planted = draw(family, large, seed);
                let fragment = planted.fragment.clone();
                devices += 1;
                match recover(&mut planted, Numbering::Published(&fragment), seed) {
                    Ok(found) => {
                        let same = FragmentOperand::ALL.into_iter().all(|operand| {
                            let layout = fragment.of(operand);
                            let read = match operand {
                                FragmentOperand::C => vec![true; layout.table().len()],
                                _ => planted.reads(operand),
                            };
                            let mut entries = layout.entries().zip(read);
                            entries.all(|((lane, slot, e), read)| {
                                found.fragment.of(operand).at(lane, slot) == e.filter(|_| read)
                            })
                        });
                        let fine = same && found.published == Some(true);
                        right += u32::from(fine);
                        if !fine {
                            let copies = planted.copies;
                            eprintln!("{family:?} {seed}, {copies:?}: another layout in {} parts", found.parts);
                        }
                        let spent = found.launches;
                        most = most.max(spent.a).max(spent.b).max(spent.c).max(spent.d);
                        confirmation = confirmation.max(spent.confirmation);
                    }
                    Err(said) => eprintln!("{family:?} {seed}, {:?}: {said}", planted.copies),
                }
            }
            missed += devices - right;
            let (size, seconds) = (if large { "large" } else { "small" }, begun.elapsed().as_secs_f64());
            println!(
                "{:9} {size:7} {devices:7}  {right:9}  {most:27}  {confirmation:18}  {seconds:7.1}",
                format!("{family:?}")
            );
        }
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
