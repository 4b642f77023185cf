//! Are energy and residency read right from samples of the documented form, and is what says nothing called unavailable?

use rigel_device::Meter;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::meters::{Channels, of};
use rigel_device::metal::power::*;
use rigel_device::metal::powermetrics::{Unread, following, newest};
use rigel_device::metal::software::clock::SPENDINGS;
use rigel_device::metal::software::meters::{JOULES, Planted};
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

/// Meters over planted channels, by name.
fn planted(sdk: Sdk) -> (Planted, Vec<Box<dyn Meter>>, Vec<String>) {
    let channels = Planted::new(sdk);
    let (meters, missing) = of(Ok(std::rc::Rc::new(channels.clone())));
    (channels, meters, missing.into_iter().map(|m| format!("{}: {}", m.name, m.reason)).collect())
}

#[test]
fn planted_channels_are_read_by_the_meters_of_a_mac() {
    let (channels, mut meters, missing) = planted(Sdk::V26_5);
    let names: Vec<String> = meters.iter().map(|meter| meter.name().to_owned()).collect();
    assert_eq!(names, ["GPU Energy", "CPU Energy", "DRAM", "GPU active"]);
    assert!(missing.len() == 1 && missing[0].starts_with("ANE: no channel"), "{missing:?}");
    // A batch comes within two seconds, which the reading waits for.
    let cpu = meters[1].read().unwrap();
    assert!(cpu.time >= second(2.0) && cpu.time <= second(2.2), "{cpu:?}");
    assert_eq!(cpu.value, 6.0);
    // A launch of 10^12 wide multiply-adds of `matmul2d` within three seconds, then one second without any.
    let (before, mut spent) = (meters[0].read().unwrap(), [0.0; SPENDINGS]);
    spent[4] = 1e12;
    meters[3].read().unwrap();
    channels.launched(second(3.0), &spent, 1);
    channels.idled(second(1.0));
    let after = meters[0].read().unwrap();
    assert!((after.value - before.value - 1e12 * JOULES[4]).abs() < 1e-6, "{before:?} {after:?}");
    assert_eq!(meters[3].read().unwrap().value, 0.75, "active for three seconds of four");
}

#[test]
fn planted_frozen_channels_are_unavailable_after_one_wait() {
    let (channels, mut meters, _) = planted(Sdk::V27_0);
    for meter in &mut meters[1..3] {
        let why = meter.read().unwrap_err().to_string();
        assert!(why.contains("has not moved for 8 s") && why.contains("RIGEL_POWERMETRICS"), "{why}");
    }
    // Both were followed from the beginning, so the second is not waited for again.
    assert!(channels.now() < second(8.2), "{:?}", channels.now());
    assert_eq!(meters[0].read().unwrap().value, 0.0, "the GPU's own counter stands while nothing runs");
}

/// A sample as powermetrics writes it, without what no rail is in.
fn sample(cpu: &str, gpu: &str, ane: &str) -> String {
    format!(
        "*** Sampled system activity (Mon Jun 15 12:00:00 2026 +0200) (1004.12ms elapsed) ***\n\n**** Processor usage ****\n\n\
         CPU Power: {cpu}\nGPU Power: {gpu}\nANE Power: {ane}\nCombined Power (CPU + GPU + ANE): 5035 mW\n\n"
    )
}

#[test]
fn powermetrics_is_read_by_whole_samples_wherever_its_text_ends_and_begins() {
    let samples = [sample("5012 mW", "23 mW", "0 mW"), sample("812 mW", "42.5 W", "1 mW"), sample("7 W", "8 W", "9 W")];
    let values = [[5.012, 0.023, 0.0], [0.812, 42.5, 0.001], [7.0, 8.0, 9.0]];
    let whole = format!("Machine model: Mac16,5\n{}", samples.concat());
    let rails = ["CPU Power", "GPU Power", "ANE Power"];
    let mut seen = 0;
    for end in 0..=whole.len() {
        // All rails of a reading are of one sample, and a later one never gives way to an earlier one.
        let read = rails.map(|rail| newest(&whole[..end], rail));
        match values.iter().position(|of| {
            read.iter().zip(of).all(|(read, of)| read.as_ref().is_ok_and(|read| (read - of).abs() < 1e-9))
        }) {
            Some(sample) => {
                assert!(sample + 1 >= seen, "{end}: sample {sample} after {seen}");
                seen = sample + 1;
            }
            None => {
                let wait = [Unread::NoSample, Unread::NotWhole];
                assert!(seen == 0 && read.iter().all(|r| wait.iter().any(|w| r.as_ref() == Err(w))), "{end}: {read:?}");
            }
        }
    }
    assert_eq!(seen, 3);
    // Where only the end of a file is looked at, what begins inside a sample is none.
    assert_eq!(newest(&samples[0][60..], "CPU Power"), Err(Unread::NoSample));
    assert_eq!(newest(&format!("{}{}", &samples[0][60..], samples[2]), "GPU Power"), Ok(8.0));
    // Without the sampler of a rail, the others go on.
    let two = samples.map(|sample| sample.replace("ANE Power: 0 mW\n", "").replace("ANE Power: 1 mW\n", ""));
    assert_eq!(newest(&two[..2].concat(), "CPU Power"), Ok(0.812));
    assert_eq!(newest(&two[..2].concat(), "ANE Power"), Err(Unread::NoRail("ANE Power".into())));
    for line in ["", "many mW", "-3 mW", "3 kW", "NaN W"] {
        let read = newest(&sample(line, "1 mW", "1 mW"), "CPU Power");
        assert!(matches!(read, Err(Unread::NoPower(said)) if said.starts_with("CPU Power:")), "{line}");
    }
}

#[test]
fn a_file_that_grows_is_followed_and_what_is_not_whole_is_said() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let name = dir.path().join("power.txt");
    let reason = |missing: Vec<rigel_device::MissingMeter>| missing.into_iter().map(|m| m.reason).collect::<Vec<_>>();
    let (found, missing) = following(&name);
    assert!(found.is_empty() && reason(missing).iter().all(|why| why.contains("power.txt")));
    let mut file = std::fs::File::create(&name).unwrap();
    let [first, second] = [sample("1 W", "2 W", "3 W"), sample("4 W", "5 W", "6 W")];
    let (begun, rest) = first.split_at(first.find("GPU").unwrap() + 7);
    file.write_all(begun.as_bytes()).unwrap();
    let missing = reason(following(&name).1);
    assert!(
        missing.len() == 3 && missing.iter().all(|why| why.contains("only sample is not whole yet")),
        "{missing:?}"
    );
    file.write_all(rest.as_bytes()).unwrap();
    let (mut meters, missing) = following(&name);
    assert!(missing.is_empty());
    let mut watts = || meters.iter_mut().map(|meter| meter.read().unwrap().value).collect::<Vec<f64>>();
    assert_eq!(watts(), [1.0, 2.0, 3.0]);
    let (begun, rest) = second.split_at(second.find("ANE").unwrap() + 3);
    file.write_all(begun.as_bytes()).unwrap();
    assert_eq!(watts(), [1.0, 2.0, 3.0], "half a sample is none");
    file.write_all(rest.as_bytes()).unwrap();
    assert_eq!(watts(), [4.0, 5.0, 6.0]);
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
