//! Are energy counters read as the kernel writes them, and missing ones explained?

use rigel_device::meters::powercap;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of its own for each test, removed at the end.
struct Fixture(PathBuf);

impl Fixture {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("rigel-meters-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Fixture(folder)
    }

    fn zone(&self, zone: &str, name: &str, energy: &str, range: &str) -> PathBuf {
        let folder = self.0.join(zone);
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("name", name), ("energy_uj", energy), ("max_energy_range_uj", range)] {
            fs::write(folder.join(file), format!("{text}\n")).unwrap();
        }
        folder
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn set(zone: &Path, energy: u64) {
    fs::write(zone.join("energy_uj"), energy.to_string()).unwrap();
}

#[test]
fn a_counter_reads_joules_since_it_was_opened() {
    let fixture = Fixture::new("joules");
    let zone = fixture.zone("intel-rapl:0", "package-0", "5000000", "10000000");
    let (mut meters, missing) = powercap(&fixture.0);
    assert!(missing.is_empty());
    let meter = &mut meters[0];
    assert_eq!((meter.name(), meter.unit()), ("intel-rapl:0 package-0", "J"));
    assert!(meter.coverage().contains("package"));
    assert_eq!(meter.read().unwrap().value, 0.0);
    set(&zone, 7_500_000);
    assert_eq!(meter.read().unwrap().value, 2.5);
}

#[test]
fn a_wrap_is_carried_over() {
    let fixture = Fixture::new("wrap");
    let zone = fixture.zone("intel-rapl:0", "package-0", "9000000", "10000000");
    let (mut meters, _) = powercap(&fixture.0);
    let mut total = 0;
    let mut counter = 9_000_000;
    for _ in 0..30 {
        counter = (counter + 3_000_000) % 10_000_000;
        total += 3;
        set(&zone, counter);
        assert_eq!(meters[0].read().unwrap().value, f64::from(total));
    }
}

#[test]
fn zones_come_in_order_and_others_are_ignored() {
    let fixture = Fixture::new("order");
    fixture.zone("intel-rapl:1", "package-1", "1", "10");
    fixture.zone("intel-rapl:0:0", "core", "1", "10");
    fixture.zone("intel-rapl:0", "package-0", "1", "10");
    fs::create_dir(fixture.0.join("intel-rapl")).unwrap();
    fs::create_dir(fixture.0.join("other:0")).unwrap();
    let (meters, missing) = powercap(&fixture.0);
    let names: Vec<&str> = meters.iter().map(|m| m.name()).collect();
    assert_eq!(names, ["intel-rapl:0 package-0", "intel-rapl:0:0 core", "intel-rapl:1 package-1"]);
    assert!(missing.is_empty());
}

#[test]
fn what_cannot_be_read_is_missing_with_the_reason() {
    let fixture = Fixture::new("missing");
    let (meters, missing) = powercap(&fixture.0.join("absent"));
    assert!(meters.is_empty() && missing[0].reason.contains("does not exist") && missing[0].reason.contains("module"));

    let (meters, missing) = powercap(&fixture.0);
    assert!(meters.is_empty() && missing[0].reason.contains("holds no energy counter"));

    fixture.zone("intel-rapl:0", "package-0", "soon", "10");
    fixture.zone("intel-rapl:1", "package-1", "11", "10");
    let without_range = fixture.zone("intel-rapl:2", "package-2", "1", "10");
    fs::remove_file(without_range.join("max_energy_range_uj")).unwrap();
    let unreadable = fixture.zone("intel-rapl:3", "package-3", "1", "10");
    fs::remove_file(unreadable.join("energy_uj")).unwrap();
    fs::create_dir(unreadable.join("energy_uj")).unwrap();
    let (meters, missing) = powercap(&fixture.0);
    assert!(meters.is_empty());
    for (missing, words) in missing.iter().zip(["holds `soon`", "beyond its range", "max_energy_range_uj", "energy_uj"])
    {
        assert!(missing.reason.contains(words), "{}", missing.reason);
    }
    assert_eq!(missing.len(), 4);
}

#[test]
fn a_counter_that_vanishes_is_absent_not_zero() {
    let fixture = Fixture::new("vanish");
    let zone = fixture.zone("intel-rapl:0", "package-0", "1", "10");
    let (mut meters, _) = powercap(&fixture.0);
    fs::remove_file(zone.join("energy_uj")).unwrap();
    assert!(meters[0].read().unwrap_err().to_string().contains("energy_uj"));
}

#[cfg(unix)]
#[test]
fn permission_denied_says_what_would_help() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new("denied");
    let zone = fixture.zone("intel-rapl:0", "package-0", "1", "10");
    fs::set_permissions(zone.join("energy_uj"), fs::Permissions::from_mode(0o0)).unwrap();
    let superuser = fs::read(zone.join("energy_uj")).is_ok();
    let (meters, missing) = powercap(&fixture.0);
    if superuser {
        assert_eq!(meters.len(), 1, "root reads every file");
    } else {
        assert!(missing[0].reason.contains("permission denied") && missing[0].reason.contains("root"));
    }
}
