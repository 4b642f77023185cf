//! Who is this processor, and on which system does it run?

use super::detect::{cores, features, identity, last_level_cache, memory_bytes};
use crate::contract::{Description, Kind};
use std::fs;

/// The description for provenance. What the system does not tell stays empty.
pub fn describe() -> Description {
    let who = identity();
    let from_proc = |key| proc_cpuinfo(&read("/proc/cpuinfo"), key);
    let name = match &who {
        Some(who) if !who.name.is_empty() => who.name.clone(),
        _ => from_proc("model name"),
    };
    let signature = match &who {
        Some(who) => format!("family {} model {} stepping {}", who.family, who.model, who.stepping),
        None => format!("{} {}", std::env::consts::ARCH, from_proc("CPU part")).trim().to_owned(),
    };
    let cores = cores();
    Description {
        id: format!("{} {signature} cores {cores}", if name.is_empty() { "cpu" } else { &name }),
        name,
        backend: "cpu".into(),
        kind: Kind::Measured,
        cores: cores as u32,
        memory_bytes: memory_bytes(),
        driver: trimmed("/proc/sys/kernel/osrelease"),
        firmware: from_proc("microcode"),
        toolchain: toolchain(),
        os: operating_system(),
        kernels: format!("{} fnv1a:{}", env!("CARGO_PKG_VERSION"), env!("RIGEL_CPU_KERNELS")),
        clocks: clocks(),
        features: features().into_iter().map(String::from).collect(),
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn trimmed(path: &str) -> String {
    read(path).trim().to_owned()
}

/// The first value of a key in `/proc/cpuinfo`.
fn proc_cpuinfo(text: &str, key: &str) -> String {
    let value = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    };
    text.lines().find_map(value).unwrap_or_default()
}

fn toolchain() -> String {
    format!(
        "{}; target {}; features compiled in: {}; optimisation level {}",
        env!("RIGEL_RUSTC"),
        env!("RIGEL_TARGET"),
        env!("RIGEL_TARGET_FEATURES"),
        env!("RIGEL_OPT_LEVEL")
    )
}

pub(crate) fn operating_system() -> String {
    let release = read("/etc/os-release");
    let pretty = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or_default();
    let build = trimmed("/proc/sys/kernel/version");
    let parts = [std::env::consts::OS, pretty.trim_matches('"'), &build];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Clocks as the system states them; none of this is measured.
fn clocks() -> String {
    let folder = "/sys/devices/system/cpu/cpu0/cpufreq";
    let khz = |file: &str| trimmed(&format!("{folder}/{file}")).parse::<u64>().ok();
    let governor = trimmed(&format!("{folder}/scaling_governor"));
    let stated = match (khz("cpuinfo_min_freq"), khz("cpuinfo_max_freq")) {
        (Some(low), Some(high)) => format!("{} to {} MHz, governor {governor}", low / 1000, high / 1000),
        _ => "no cpufreq interface".into(),
    };
    let nominal = proc_cpuinfo(&read("/proc/cpuinfo"), "cpu MHz");
    let nominal = if nominal.is_empty() { String::new() } else { format!("; cpu MHz {nominal} in /proc/cpuinfo") };
    format!("{stated}{nominal}; last-level cache {} KiB", last_level_cache() / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpuinfo_is_read() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2: fast\nmicrocode\t: 0x1\n";
        assert_eq!(proc_cpuinfo(text, "model name"), "Some CPU @ 2: fast");
        assert_eq!(proc_cpuinfo(text, "absent"), "");
    }

    #[test]
    fn the_build_is_named() {
        let d = describe();
        assert!(d.toolchain.starts_with("rustc "), "{}", d.toolchain);
        assert!(d.kernels.contains("fnv1a:") && !d.id.is_empty() && d.features.is_sorted() && d.cores >= 1);
    }
}
