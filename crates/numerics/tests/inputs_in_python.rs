//! Does the Python reader make the same input elements and the same stored errors as Rust?
//!
//! Skipped, with a line that says so, where there is no `python3`.

use rigel_numerics::bound::round_up_3;
use rigel_numerics::words::{Words, further};
use rigel_numerics::{Format, Operand, Recipe};
use std::io::Write;
use std::process::{Command, Stdio};

/// What the script prints for the given lines, or `None` without Python.
fn answers(requests: &str) -> Option<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/python/rigel_inputs.py");
    let started = Command::new("python3").arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(why) => {
            println!("skipped: python3 cannot be started here ({why}); the golden elements are still checked");
            return None;
        }
    };
    let mut input = child.stdin.take().unwrap();
    let requests = requests.to_owned();
    let writer = std::thread::spawn(move || input.write_all(requests.as_bytes()));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "rigel_inputs.py failed; its message stands above");
    writer.join().unwrap().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn python_makes_the_same_elements() {
    let mut requests = String::new();
    let mut expected = Vec::new();
    let mut word = 20_260_701;
    for recipe in Recipe::ALL {
        for format in Format::ALL.into_iter().chain(Format::SCALED).filter(|&f| recipe.supports(f).is_ok()) {
            for i in 0..64u64 {
                word = further(word);
                let (operand, letter) = [(Operand::A, 'A'), (Operand::B, 'B')][(i % 2) as usize];
                // Low coordinates, where hostile ladders have their large terms, and the whole range.
                let coordinate = |w: u64| if i % 4 < 2 { w % 130 } else { w % Words::WHOLE };
                let (row, col) = (coordinate(word >> 7), coordinate(further(word) >> 7));
                let seed = if i < 8 { i } else { word };
                requests += &format!("{format} {recipe} {seed} {letter} {row} {col}\n");
                expected.push(recipe.element(format, seed, operand, row, col));
            }
        }
    }
    let Some(lines) = answers(&requests) else { return };
    assert_eq!(lines.len(), expected.len());
    for ((request, line), expected) in requests.lines().zip(&lines).zip(expected) {
        assert_eq!(line.parse::<u64>().unwrap(), expected, "{request}");
    }
}

#[test]
fn python_stores_the_same_errors() {
    let mut word = 1;
    let mut values = vec![0.0, f64::MIN_POSITIVE, 5e-324, 1.0, 0.1, 9.995, 9.99, 1.79e308, f64::MAX];
    values.extend((0..2000).map(|_| {
        word = further(word);
        f64::from_bits(word >> 1)
    }));
    values.retain(|v| v.is_finite());
    let requests: String = values.iter().map(|v| format!("round_up_3 {v:e}\n")).collect();
    let Some(lines) = answers(&requests) else { return };
    for (value, line) in values.iter().zip(&lines) {
        assert_eq!(line.parse::<f64>().unwrap().to_bits(), round_up_3(*value).to_bits(), "{value:e}");
    }
    assert_eq!(lines.len(), values.len());
}
