//! What does the output of Apple's own powermetrics say, where a user gives it?
//!
//! From macOS 27 on the energy counters of CPU and neural engine stand still for ordinary programs, and powermetrics, run by an
//! administrator, still shows them. Its text is followed while it grows: the environment variable [`VARIABLE`] names the file that
//! `sudo powermetrics --samplers cpu_power,gpu_power,ane_power -i 1000 -o FILE` writes. Only whole samples are read; what is still being
//! written waits. A file that does not grow any more is unavailable with that reason.

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

/// What a sample begins with.
const HEAD: &str = "*** Sampled system activity";

/// Why a rail has no value in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// It holds no sample.
    #[error("no sample has begun: it has no line `{HEAD}`")]
    NoSample,
    /// Its only sample is being written.
    #[error("its only sample is not whole yet")]
    NotWhole,
    /// Its newest whole sample lacks the rail.
    #[error("its newest whole sample has no line `{0}: ... mW`")]
    NoRail(String),
    /// The rail's line is not a number of mW or W.
    #[error("its newest whole sample says `{0}`, which is no number of mW or W")]
    NoPower(String),
}

/// Watts of a rail in the newest whole sample: the line `CPU Power: 47 mW`.
///
/// The text may end anywhere, and begin anywhere in a sample. A sample is whole when the next one has begun, or when it has every rail
/// that the one before it has, or all, each in a line that has ended. So the rails of one reading come from one sample.
///
/// # Errors
/// What is not there, or not whole.
pub fn newest(text: &str, rail: &str) -> Result<f64, Unread> {
    let ended = text.rfind('\n').map_or("", |end| &text[..end]);
    let samples: Vec<&str> = ended.split(HEAD).skip(1).collect();
    let line = |sample: &str, rail: &str| {
        let own = |line: &str| line.trim().strip_prefix(rail).is_some_and(|rest| rest.starts_with(':'));
        sample.lines().find(|line| own(line)).map(|line| line.trim().to_owned())
    };
    let (last, before) = samples.split_last().ok_or(Unread::NoSample)?;
    let due = |(rail, _): &(&str, &str)| before.last().is_none_or(|before| line(before, rail).is_some());
    let is_whole = RAILS.iter().filter(|rail| due(rail)).all(|(rail, _)| line(last, rail).is_some());
    let whole = if is_whole { Some(last) } else { before.last() }.ok_or(Unread::NotWhole)?;
    let line = line(whole, rail).ok_or_else(|| Unread::NoRail(rail.to_owned()))?;
    power(&line[rail.len() + 1..]).ok_or(Unread::NoPower(line))
}

/// ` 47 mW` in watts.
fn power(text: &str) -> Option<f64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let factor = match unit.trim() {
        "mW" => 1e-3,
        "W" => 1.0,
        _ => return None,
    };
    number.parse::<f64>().ok().filter(|w| w.is_finite() && *w >= 0.0).map(|w| w * factor)
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
        let value = newest(&text, self.rail).map_err(|why| Absent(format!("{file}: {why}")))?;
        Ok(Reading { time: Time::from_seconds(self.opened.elapsed().as_secs_f64()), value })
    }
}

/// Its rails, where the variable names a file; a rail that the text lacks is missing with that reason.
pub fn meters() -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    std::env::var_os(VARIABLE).map(|file| following(Path::new(&file))).unwrap_or_default()
}

/// The rails of a file, which may grow while it is read.
pub fn following(file: &Path) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let (mut found, mut missing): (Vec<Box<dyn Meter>>, Vec<MissingMeter>) = (Vec::new(), Vec::new());
    for (rail, name) in RAILS {
        let mut meter = RailMeter { file: file.to_path_buf(), rail, name, opened: Instant::now() };
        match meter.read() {
            Ok(_) => found.push(Box::new(meter)),
            Err(Absent(reason)) => missing.push(MissingMeter { name: name.into(), reason }),
        }
    }
    (found, missing)
}
