//! Are energy and residency read right from samples of the documented form, and is what says nothing called unavailable?

use rigel_device::metal::power::*;
use rigel_numerics::{Megahertz, Time};

fn second(s: f64) -> Time {
    Time::from_seconds(s)
}

fn energy(name: &str, unit: &str, count: i64) -> Channel {
    let group = ENERGY_GROUP.to_owned();
    Channel { group, subgroup: String::new(), name: name.into(), unit: unit.into(), value: Value::Count(count) }
}

#[test]
fn each_channel_has_its_own_unit() {
    for (label, joules) in [("mJ", 1e-3), ("uJ", 1e-6), ("nJ", 1e-9), (" nJ  ", 1e-9)] {
        assert_eq!(joules_per_count("GPU Energy", label), Ok(joules), "{label}");
    }
    let said = joules_per_count("GPU Energy", "kWh").unwrap_err().to_string();
    assert!(said.contains("GPU Energy") && said.contains("kWh") && said.contains("mJ"), "{said}");
}

#[test]
fn gpu_energy_is_a_difference_and_may_stand_still() {
    let mut counter = Counter::begin(&energy("GPU Energy", "nJ", 7_000_000_000), Time(0)).unwrap();
    // 42 W over 2 s, then 60 s of an idle GPU, which this channel shows as no movement at all.
    assert_eq!(counter.read(91_000_000_000, second(2.0)), Ok(84.0));
    assert_eq!(counter.read(91_000_000_000, second(62.0)), Ok(84.0));
}

#[test]
fn batches_give_their_cadence_and_not_a_spike() {
    let mut counter = Counter::begin(&energy("CPU Energy", "mJ", 0), Time(0)).unwrap();
    // Read every 0.5 s; published every 2 s with 20 J, which a difference over one reading would call 40 W.
    for step in 1..=16 {
        let at = second(step as f64 * 0.5);
        let published = i64::from(step) / 4 * 20_000;
        assert_eq!(counter.read(published, at), Ok(published as f64 / 1000.0), "{at}");
    }
    assert_eq!(counter.cadence(), Some(second(2.0)));
}

#[test]
fn a_frozen_channel_is_unavailable_and_never_zero() {
    let mut counter = Counter::begin(&energy("DRAM", "mJ", 123_456), Time(0)).unwrap();
    assert_eq!(counter.read(123_456, second(4.0)), Ok(0.0), "a batch may still come");
    let frozen = counter.read(123_456, second(9.0)).unwrap_err();
    assert_eq!(frozen, Unavailable::Frozen { channel: "DRAM".into(), seconds: 9 });
    assert!(frozen.to_string().contains("macOS 27"), "{frozen}");
    // And it comes back if the counter does.
    assert_eq!(counter.read(123_956, second(10.0)), Ok(0.5));
}

#[test]
fn a_counter_that_falls_or_leaps_is_refused() {
    let mut counter = Counter::begin(&energy("GPU Energy", "nJ", 1_000), Time(0)).unwrap();
    assert!(matches!(counter.read(10, second(1.0)), Err(Unavailable::Implausible { .. })));
    let mut counter = Counter::begin(&energy("GPU Energy", "mJ", 0), Time(0)).unwrap();
    assert!(matches!(counter.read(1_000_000_000, second(1.0)), Err(Unavailable::Implausible { .. })));
    let mut counter = Counter::begin(&energy("GPU Energy", "mJ", i64::MIN), Time(0)).unwrap();
    assert!(matches!(counter.read(i64::MAX, second(1.0)), Err(Unavailable::Implausible { .. })));
}

fn states(times: [i64; 4]) -> Value {
    Value::States(["OFF", "P1", "P2", "P3"].into_iter().map(str::to_owned).zip(times).collect())
}

#[test]
fn residency_and_clock_come_from_the_states() {
    // Hertz and voltage by state, the off state first, and a torn pair at the end.
    let mut property = Vec::new();
    for hertz in [0u32, 444_000_000, 1_056_000_000, 1_578_000_000] {
        property.extend(hertz.to_le_bytes());
        property.extend(700u32.to_le_bytes());
    }
    property.extend([1, 2, 3]);
    let clocks = clock_table(&property);
    assert_eq!(clocks, [0.0, 444.0, 1056.0, 1578.0]);
    let seen = residency(&states([100, 0, 5, 10]), &states([350, 0, 255, 510]), &clocks).unwrap();
    assert_eq!(seen.active, 0.75);
    assert_eq!(seen.clock, Some(Megahertz(1404)));
    // Without a clock for every state there is a share and no clock.
    let unknown = residency(&states([0, 0, 0, 0]), &states([1, 1, 1, 1]), &clocks[..2]).unwrap();
    assert_eq!((unknown.active, unknown.clock), (0.75, None));
    // Never on: no clock of an active time.
    let off = residency(&states([0; 4]), &states([9, 0, 0, 0]), &clocks).unwrap();
    assert_eq!((off.active, off.clock), (0.0, None));
}

#[test]
fn states_that_do_not_move_or_do_not_fit_are_unavailable() {
    let still = states([5, 5, 5, 5]);
    assert!(matches!(residency(&still, &still, &[]), Err(Unavailable::Frozen { .. })));
    assert!(matches!(residency(&states([5; 4]), &states([6, 6, 6, 1]), &[]), Err(Unavailable::Frozen { .. })));
    let other = Value::States(vec![("OFF".into(), 7)]);
    assert!(matches!(residency(&still, &other, &[]), Err(Unavailable::Absent(_))));
    assert!(matches!(residency(&Value::Count(3), &still, &[]), Err(Unavailable::Absent(_))));
    assert_eq!(
        Counter::begin(&Channel { value: still, ..energy("GPU Energy", "nJ", 0) }, Time(0)).unwrap_err(),
        Unavailable::Absent("GPU Energy".into())
    );
}
