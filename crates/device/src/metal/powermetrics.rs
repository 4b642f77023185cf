//! What does the output of Apple's own powermetrics say, where a user gives it?
//!
//! From macOS 27 on the energy counters of CPU and neural engine stand still for ordinary programs, and powermetrics, run by an
//! administrator, still shows them. Its text is followed while it grows: the environment variable [`VARIABLE`] names the file that
//! `sudo powermetrics --samplers cpu_power,gpu_power,ane_power -i 1000 -o FILE` writes. A file that does not grow any more is
//! unavailable with that reason.

use crate::contract::{Absent, Meter, MissingMeter, Reading};
use rigel_numerics::Time;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names the file that powermetrics writes.
pub const VARIABLE: &str = "RIGEL_POWERMETRICS";

/// The rails of its text, and the meters' names.
const RAILS: [(&str, &str); 3] = [
    ("CPU Power", "CPU Power (powermetrics)"),
    ("GPU Power", "GPU Power (powermetrics)"),
    ("ANE Power", "ANE Power (powermetrics)"),
];

/// A sample is shorter, whatever its samplers.
const TAIL: u64 = 1 << 17;

/// A file that was not written to for so long is not followed by anybody.
const STALE: Duration = Duration::from_secs(15);

/// Watts of a rail in the newest sample of a text that has it: the line `CPU Power: 47 mW`.
pub fn newest(text: &str, rail: &str) -> Option<f64> {
    let of = |line: &str| {
        let (watts, unit) = line.trim().strip_prefix(rail)?.strip_prefix(':')?.trim().split_once(' ')?;
        let factor = match unit.trim() {
            "mW" => 1e-3,
            "W" => 1.0,
            _ => return None,
        };
        watts.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0).map(|w| w * factor)
    };
    // The last line may still be in the making.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().rev().find_map(of)
}

/// One rail of the file.
struct RailMeter {
    file: PathBuf,
    rail: &'static str,
    name: &'static str,
    opened: Instant,
}

fn tail(file: &Path) -> std::io::Result<String> {
    let mut open = File::open(file)?;
    let length = open.metadata()?.len();
    open.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Meter for RailMeter {
    fn name(&self) -> &str {
        self.name
    }

    fn unit(&self) -> &str {
        "W"
    }

    fn coverage(&self) -> &str {
        "what powermetrics estimates for all programs, a mean over its last interval"
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        let file = self.file.display();
        let metadata = std::fs::metadata(&self.file).map_err(|e| Absent(format!("{file}: {e}")))?;
        let age = metadata.modified().ok().and_then(|at| at.elapsed().ok()).unwrap_or_default();
        if age > STALE {
            let seconds = age.as_secs();
            return Err(Absent(format!(
                "{file} was last written to {seconds} s ago: powermetrics does not run any more"
            )));
        }
        let text = tail(&self.file).map_err(|e| Absent(format!("{file}: {e}")))?;
        let none = || Absent(format!("{file} has no line `{}: ... mW` yet", self.rail));
        let value = newest(&text, self.rail).ok_or_else(none)?;
        Ok(Reading { time: Time::from_seconds(self.opened.elapsed().as_secs_f64()), value })
    }
}

/// Its rails, where the variable names a file; a rail that the text lacks is missing with that reason.
pub fn meters() -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let (mut found, mut missing): (Vec<Box<dyn Meter>>, Vec<MissingMeter>) = (Vec::new(), Vec::new());
    let Some(file) = std::env::var_os(VARIABLE).map(PathBuf::from) else { return (found, missing) };
    for (rail, name) in RAILS {
        let mut meter = RailMeter { file: file.clone(), rail, name, opened: Instant::now() };
        match meter.read() {
            Ok(_) => found.push(Box::new(meter)),
            Err(Absent(reason)) => missing.push(MissingMeter { name: name.into(), reason }),
        }
    }
    (found, missing)
}
