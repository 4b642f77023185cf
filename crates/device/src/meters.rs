//! Which meters can be read here, and why not the others?
//!
//! Linux shows the energy counters of Intel and AMD processors (RAPL) as folders under [`POWERCAP`]: `name`,
//! `energy_uj` (microjoules, wraps to zero after `max_energy_range_uj`). The hardware updates them about once a millisecond
//! (Intel, Software Developer's Manual, volume 3, chapter on power and thermal management), so a difference over less than
//! some tens of milliseconds misleads. They count whole packages: other programs, and other virtual machines, too.

use crate::contract::{Absent, Meter, MissingMeter, Reading};
use rigel_numerics::Time;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where Linux keeps the energy counters.
pub const POWERCAP: &str = "/sys/class/powercap";

/// The energy meters below a powercap folder, and those missing with the reason.
pub fn powercap(folder: &Path) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let mut found: Vec<Box<dyn Meter>> = Vec::new();
    let mut missing = Vec::new();
    match zones(folder) {
        Err(reason) => missing.push(MissingMeter { name: "package energy".into(), reason }),
        Ok(zones) => {
            for zone in zones {
                match EnergyMeter::open(&zone) {
                    Ok(meter) => found.push(Box::new(meter)),
                    Err(absent) => missing.push(absent),
                }
            }
        }
    }
    (found, missing)
}

/// Zones are folders with an `energy_uj` file; their names hold a colon (`intel-rapl:0`, `intel-rapl:0:1`).
fn zones(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let help = "on a physical machine load the module intel_rapl_common or intel_rapl_msr; virtual machines rarely pass the counters on";
    let entries = fs::read_dir(folder).map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            format!("{} does not exist: the kernel offers no RAPL counters; {help}", folder.display())
        }
        _ => format!("{} cannot be listed: {e}", folder.display()),
    })?;
    let mut zones: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|n| n.to_string_lossy().contains(':')) && path.join("energy_uj").exists()
        })
        .collect();
    zones.sort();
    if zones.is_empty() { Err(format!("{} holds no energy counter; {help}", folder.display())) } else { Ok(zones) }
}

/// One RAPL counter, read as joules since it was opened.
#[derive(Debug)]
pub struct EnergyMeter {
    name: String,
    coverage: String,
    counter: PathBuf,
    range: u64,
    last: u64,
    total: u64,
    opened: Instant,
}

impl EnergyMeter {
    /// Opens the zone in this folder; the reason when its counter cannot be read.
    pub fn open(zone: &Path) -> Result<Self, MissingMeter> {
        let folder = zone.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let domain = fs::read_to_string(zone.join("name")).map(|s| s.trim().to_owned()).unwrap_or_default();
        let name = if domain.is_empty() { folder.clone() } else { format!("{folder} {domain}") };
        let counter = zone.join("energy_uj");
        let open = || {
            let range = microjoules(&zone.join("max_energy_range_uj"))?;
            let last = microjoules(&counter)?;
            if range == 0 || last > range {
                return Err(format!("{} reads {last}, beyond its range {range}", counter.display()));
            }
            Ok((range, last))
        };
        let (range, last) = open().map_err(|reason| MissingMeter { name: name.clone(), reason })?;
        let coverage = coverage(&domain);
        Ok(EnergyMeter { name, coverage, counter, range, last, total: 0, opened: Instant::now() })
    }
}

fn coverage(domain: &str) -> String {
    let part = match domain {
        d if d.starts_with("package") => "a whole processor package: cores, caches, memory controller",
        "core" => "the cores of one package, without caches shared outside them",
        "uncore" => "graphics of one package",
        "dram" => "memory attached to one package",
        "psys" => "the platform as its maker defines it",
        _ => "a part of the processor that the kernel does not describe",
    };
    format!("{part}; all programs on it; updated about once a millisecond; wraps are counted if read often enough")
}

fn microjoules(path: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied => {
            format!(
                "{}: permission denied; the kernel lets only root read it: run as root, or chmod a+r it",
                path.display()
            )
        }
        _ => format!("{}: {e}", path.display()),
    })?;
    let shown: String = text.trim().chars().take(40).collect();
    text.trim().parse().map_err(|_| format!("{} holds `{shown}`, not a whole number of microjoules", path.display()))
}

impl Meter for EnergyMeter {
    fn name(&self) -> &str {
        &self.name
    }

    fn unit(&self) -> &str {
        "J"
    }

    fn coverage(&self) -> &str {
        &self.coverage
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        let now = microjoules(&self.counter).map_err(Absent)?;
        let time = Time::from_ns(u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000));
        let step = if now >= self.last { now - self.last } else { self.range - self.last + now };
        self.total += step;
        self.last = now;
        Ok(Reading { time, value: self.total as f64 * 1e-6 })
    }
}
