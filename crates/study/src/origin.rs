//! Which provenance does a run get before its first cell?

use rigel_device::{Description, Device, Kind, MissingMeter};
use rigel_ledger::provenance::{DeviceRecord, Host, MeterRecord, MissingMeterRecord, OfferRecord, RunKind};
use rigel_ledger::{Plan, Provenance};
use std::path::Path;

/// What only the binary knows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Commit that it was built from; empty when unknown.
    pub commit: String,
    /// Whether the tree differed from it.
    pub dirty: Option<bool>,
    /// Command line as typed.
    pub command: Vec<String>,
    /// Shard; empty when undivided.
    pub partition: String,
    /// Runs that share the device, this one included.
    pub concurrent: u32,
}

/// The provenance of a run that starts now.
pub fn provenance(plan: &Plan, selector: &str, device: &mut dyn Device, binary: &Binary) -> Provenance {
    let description = device.describe();
    let (meters, missing) = meters(device);
    let offers = device.offers();
    let plan_hash = plan.hash();
    let started = utc_now();
    let run = run_id(&started, &plan_hash, &description.id, &binary.partition);
    Provenance {
        schema: Provenance::SCHEMA,
        run,
        kind: match description.kind {
            Kind::Measured => RunKind::Measured,
            Kind::Simulated => RunKind::Simulated,
        },
        plan_hash,
        plan: plan.name.clone(),
        commit: binary.commit.clone(),
        dirty: binary.dirty,
        binary_hash: std::env::current_exe().ok().and_then(|p| hash_file(&p)).unwrap_or_default(),
        recipe_hash: blake3::hash(rigel_numerics::recipe::RECIPE_TEXT.as_bytes()).to_hex().to_string(),
        seed: plan.seed,
        device: record(description, selector, offers, (meters, missing)),
        host: host(),
        command: binary.command.clone(),
        partition: binary.partition.clone(),
        concurrent_cells: binary.concurrent,
        started,
    }
}

/// Meters that can be read; and those that are not there, or are there and cannot be read.
fn meters(device: &mut dyn Device) -> (Vec<MeterRecord>, Vec<MissingMeter>) {
    let (there, mut missing) = device.meters();
    let mut meters = Vec::new();
    for mut meter in there {
        let (name, unit, coverage) = (meter.name().to_owned(), meter.unit().to_owned(), meter.coverage().to_owned());
        match meter.read() {
            Ok(_) => meters.push(MeterRecord { name, unit, coverage }),
            Err(why) => missing.push(MissingMeter { name, reason: why.to_string() }),
        }
    }
    (meters, missing)
}

fn record(
    d: Description,
    selector: &str,
    offers: Vec<rigel_device::Offer>,
    (meters, missing): (Vec<MeterRecord>, Vec<MissingMeter>),
) -> DeviceRecord {
    let offer = |o: rigel_device::Offer| OfferRecord {
        path: o.path,
        triple: o.triple,
        advertised: o.advertised.yes,
        source: o.advertised.source,
        absent: o.absent,
        stated_operations_per_cycle_per_core: o.stated.as_ref().map(|s| s.operations_per_cycle_per_core),
        stated_source: o.stated.map(|s| s.source).unwrap_or_default(),
        conversion: o.conversion,
    };
    DeviceRecord {
        id: d.id,
        name: d.name,
        backend: d.backend,
        selector: selector.to_owned(),
        cores: d.cores,
        memory_bytes: d.memory_bytes,
        driver: d.driver,
        firmware: d.firmware,
        toolchain: d.toolchain,
        os: d.os,
        kernels: d.kernels,
        clocks: d.clocks,
        features: d.features,
        offers: offers.into_iter().map(offer).collect(),
        missing_meters: missing.into_iter().map(|m| MissingMeterRecord { name: m.name, reason: m.reason }).collect(),
        meters,
        rules: Vec::new(),
    }
}

/// The machine that this process runs on.
pub fn host() -> Host {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = cpuinfo.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == name));
        line.and_then(|l| l.split_once(':')).map(|(_, v)| v.trim().to_owned())
    };
    let cpu = field("model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let flags = field("flags").unwrap_or_default();
    let mut environment = Vec::new();
    if flags.split_whitespace().any(|f| f == "hypervisor") {
        environment.push("virtual machine");
    }
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        environment.push("container");
    }
    Host {
        cpu,
        logical_cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        load: load(),
        environment: if environment.is_empty() {
            "no hypervisor or container seen".into()
        } else {
            environment.join(", ")
        },
    }
}

/// Load average over one minute: from Linux's file, elsewhere from what `sysctl` prints.
fn load() -> Option<f64> {
    let printed = || {
        let output = std::process::Command::new("sysctl").args(["-n", "vm.loadavg"]).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    first_average(&std::fs::read_to_string("/proc/loadavg").ok().or_else(printed)?)
}

/// The first number of `0.15 0.20 0.18 1/77 4242` or `{ 0.15 0.20 0.18 }`.
fn first_average(text: &str) -> Option<f64> {
    text.split_whitespace().find_map(|word| word.parse().ok()).filter(|load: &f64| load.is_finite() && *load >= 0.0)
}

/// BLAKE3 of a file, in hex.
fn hash_file(path: &Path) -> Option<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path).ok()?).ok()?;
    Some(hasher.finalize().to_hex().to_string())
}

/// Unique by time, process and what is run: start time, then eight hex digits.
fn run_id(started: &str, plan_hash: &str, device: &str, partition: &str) -> String {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos());
    let text = format!("{started}|{nanos}|{}|{plan_hash}|{device}|{partition}", std::process::id());
    let stamp: String = started.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{}-{}", stamp.trim_end_matches('Z'), &blake3::hash(text.as_bytes()).to_hex()[..8])
}

/// Now, UTC, RFC 3339 to the second.
pub fn utc_now() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    rfc3339(seconds)
}

/// Seconds since 1970 as RFC 3339, by the civil-from-days rule (Hinnant, "chrono-compatible low-level date algorithms").
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::{first_average, host, rfc3339};

    #[test]
    fn dates_are_civil() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_796_083_199), "2026-11-30T23:59:59Z");
    }

    #[test]
    fn the_load_is_the_first_average_that_the_system_tells() {
        assert_eq!(first_average("0.15 1.20 0.18 1/77 4242\n"), Some(0.15));
        assert_eq!(first_average("{ 2.15 1.20 0.18 }\n"), Some(2.15));
        for none in ["", "{ }", "nan", "-1", "inf"] {
            assert_eq!(first_average(none), None, "{none}");
        }
        assert!(host().load.is_some(), "without it no run of this machine has a verdict");
    }
}
