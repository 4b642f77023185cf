//! Do planted meters follow virtual time and load, stand still, or say why they are missing?

mod planted;

use planted::*;
use rigel_device::sim::{SimDevice, Truth};
use rigel_device::{Cache, Device, Meter};

const METERS: &str = r#"
[[meter]]
name = "board"
coverage = "whole board"
period_ns = "1000000"
reads = { energy = { idle_w = 10.0, load_w = 110.0 } }
[[meter]]
name = "clock"
reads = "clock"
[[meter]]
name = "stuck"
reads = { frozen = { unit = "W", value = 42.0 } }
[[meter]]
name = "locked"
reads = { unreadable = { unit = "J", reason = "permission denied" } }
[[meter]]
name = "none"
reads = { missing = { reason = "not on this board" } }
"#;

fn meter<'a>(meters: &'a mut [Box<dyn Meter>], name: &str) -> &'a mut dyn Meter {
    let found = meters.iter_mut().find(|m| m.name() == name);
    found.unwrap_or_else(|| panic!("no meter {name}")).as_mut()
}

#[test]
fn energy_follows_idle_time_and_load() {
    let mut device = device(METERS);
    let (mut meters, _) = device.meters();
    let board = meter(&mut meters, "board");
    assert_eq!((board.unit(), board.coverage()), ("J", "whole board"));
    let (first, second) = (board.read().unwrap(), board.read().unwrap());
    let idle = second.time.seconds() - first.time.seconds();
    assert!((idle - 1e-3).abs() < 1e-12);
    assert!(((second.value - first.value) / idle - 10.0).abs() < 1e-9, "idle power");

    let mut gemm = bound(&mut device, &half("100")).unwrap();
    let samples = gemm.run(10_000, Cache::Warm).unwrap();
    let busy: f64 = samples.iter().map(|s| s.time.seconds()).sum();
    let third = meter(&mut meters, "board").read().unwrap();
    let passed = third.time.seconds() - second.time.seconds();
    assert!((passed - busy - 1e-3).abs() < 1e-9);
    assert!((third.value - second.value - (110.0 * busy + 10.0 * 1e-3)).abs() < 1e-9);
}

#[test]
fn frozen_unreadable_and_missing_meters_say_so() {
    let mut device = device(METERS);
    let (mut meters, missing) = device.meters();
    assert_eq!(missing.len(), 1);
    assert_eq!((missing[0].name.as_str(), missing[0].reason.as_str()), ("none", "not on this board"));
    assert_eq!(meters.len(), 4);
    assert_eq!(meter(&mut meters, "clock").read().unwrap().value, 1000.0);
    let before = meter(&mut meters, "stuck").read().unwrap();
    bound(&mut device, &half("100")).unwrap().run(1000, Cache::Warm).unwrap();
    let after = meter(&mut meters, "stuck").read().unwrap();
    assert_eq!((before.value, after.value), (42.0, 42.0));
    assert!(after.time > before.time);
    assert_eq!(meter(&mut meters, "locked").read().unwrap_err().0, "permission denied");
}

#[test]
fn the_hostile_device_has_one_meter_of_each_kind_of_trouble() {
    let mut device = SimDevice::new(Truth::select("sim:hostile").unwrap()).unwrap();
    let (mut meters, missing) = device.meters();
    assert!(meter(&mut meters, "rail").read().is_ok());
    assert!(meter(&mut meters, "package").read().is_err());
    assert_eq!(missing[0].name, "accelerator");
}
