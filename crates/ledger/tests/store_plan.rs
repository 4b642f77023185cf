//! Is a plan read as meant, and is every mistake in it told with file, line, key and what is allowed?

mod planted;

use planted::PLAN;
use proptest::prelude::*;
use rigel_ledger::Plan;
use rigel_ledger::plan::PlanFault;

/// The message for the planted plan with one text replaced, and the line where that text stands.
fn message(from: &str, to: &str) -> (String, usize) {
    assert_eq!(PLAN.matches(from).count(), 1, "{from}");
    let text = PLAN.replacen(from, to, 1);
    let line = 1 + text[..PLAN.find(from).unwrap()].matches('\n').count();
    (Plan::parse(&text, "my.toml").unwrap_err().to_string(), line)
}

#[test]
fn a_plan_survives_its_own_text_and_hash() {
    let plan = Plan::parse(PLAN, "my.toml").unwrap();
    let text = plan.to_toml();
    let read = Plan::parse(&text, "plan.toml").unwrap();
    assert_eq!((read.to_toml(), read.hash()), (text.clone(), plan.hash()));
    assert_eq!(read, plan);
    assert_eq!(plan.hash(), blake3::hash(text.as_bytes()).to_hex().to_string());
    let mut other = plan.clone();
    other.thresholds.win = 1.2;
    assert_ne!(other.hash(), plan.hash());
    // The text is TOML that any reader takes.
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["match"]["triple"].as_str(), Some("f32,f32->f32"));
}

/// A section of addresses in front of the limits.
fn addresses(keys: &str) -> String {
    format!("[alignment]\nshapes = [\"8x8x8\"]\n{keys}\n[limits]")
}

#[test]
fn sections_of_addresses_and_toolchains_come_back() {
    let section = "[alignment]\nshapes = [\"64x64x64\"]\noffsets = [0, 3]\nstrides = [\"*256\", \"+8\"]\nrecipes = [\"uniform\"]\nslow = 1.25\n\
                   [versions]\nshapes = [\"16x16x32\"]\nrecipes = [\"uniform\"]\n";
    let plan = Plan::parse(&format!("{PLAN}\n{section}"), "my.toml").unwrap();
    assert_eq!(Plan::parse(&plan.to_toml(), "plan.toml").unwrap(), plan);
    let axes = plan.alignment.unwrap();
    let (asked, _) = message("\"types\", \"throughput\"]", "\"types\", \"alignment\"]");
    assert!(asked.contains("`alignment.offsets` is missing; allowed: a list of whole numbers"), "{asked}");
    let places: Vec<String> = axes.placements().map(|place| place.to_string()).collect();
    assert_eq!(places, ["0/*256", "0/+8", "3/*256", "3/+8"]);
    assert_eq!((axes.aligned().to_string(), axes.slow), ("0/*256".to_owned(), 1.25));
}

#[test]
fn every_mistake_is_told_where_it_is() {
    let cases = [
        ("seed = 7", "sede = 7", "unknown key `sede`; allowed here: name, seed, probes, sampling"),
        ("win = 1.1", "win = 1.1\nwinn = 1.1", "unknown key `thresholds.winn`; allowed here: accelerated, win"),
        ("burst = 5", "burst = 0", "`sampling.burst` is 0; allowed: a whole number from 1 to"),
        ("processes = 2", "processes = 0", "`sampling.processes` is 0; allowed: a whole number from 1 to 1000"),
        ("processes = 2", "processes = -1", "`sampling.processes` is -1"),
        ("processes = 2", "processes = 2.0", "`sampling.processes` is 2.0"),
        ("processes = 2", "processes = \"2\"", "`sampling.processes` is \"2\""),
        ("processes = 2", "processes = 61", "allowed: from 1 to `sampling.repetitions`, 60"),
        ("minimum_repetitions = 30", "minimum_repetitions = 61", "allowed: from 30 to `sampling.repetitions`, 60"),
        ("minimum_repetitions = 30", "minimum_repetitions = 29", "a whole number from 30 to"),
        ("precision = 0.0", "precision = 0.6", "`sampling.precision` is 0.6; allowed: a number from 0.0 to 0.5"),
        ("precision = 0.0", "precision = nan", "`sampling.precision` is nan"),
        ("budget_s = 5", "budget_s = inf", "`sampling.budget_s` is inf"),
        ("accelerated = 1.5", "accelerated = 0.5", "`thresholds.accelerated` is 0.5"),
        ("same = [0.9, 1.1]", "same = [1.1, 0.9]", "0 < low <= 1 <= high"),
        ("same = [0.9, 1.1]", "same = [0.9]", "two numbers [low, high]"),
        ("coarse_cap = 0.01", "coarse_cap = 1.5", "`thresholds.coarse_cap` is 1.5"),
        ("timeout_s = 10.0", "timeout_s = 0", "`limits.timeout_s` is 0; allowed: a number from 0.1"),
        ("triple = \"f32,f32->f32\"", "triple = \"f32\"", "is not a type triple"),
        ("triple = \"f32,f32->f32\"", "triple = \"f32,i8->i32\"", "sums floating operands into integers"),
        ("judged = []", "judged = [\"f99,f32->f32\"]", "unknown format `f99`"),
        ("shapes = [\"8x8x8\"]", "shapes = []", "at least one of: MxNxK"),
        ("shapes = [\"8x8x8\"]", "shapes = [\"0x8x8\"]", "each extent from 1 to 1048576"),
        ("shapes = [\"8x8x8\"]", "shapes = [\"8x8\"]", "each extent from 1 to 1048576"),
        ("shapes = [\"8x8x8\"]", "shapes = [\"8x8x8\", \"8\"]", "each value once"),
        ("shapes = [\"8x8x8\"]", "shapes = \"8x8x8\"", "`types.shapes` is \"8x8x8\""),
        ("recipes = [\"near-normal\"]", "recipes = [\"zeros\"]", "at least one recipe besides zeros and constant"),
        ("recipes = [\"near-normal\"]", "recipes = [\"random\"]", "uniform, near-normal, constant"),
        ("caches = [\"warm\"]", "caches = [\"none\"]", "warm, cold, replayed"),
        ("ceilings = true", "ceilings = 1", "`throughput.ceilings` is 1; allowed: true or false"),
        ("probes = [\"types\", \"throughput\"]", "probes = []", "at least one of: types, throughput, clocks, dispatch"),
        ("\"types\", \"throughput\"]", "\"types\", \"alignments\"]", "power, attention, alignment, versions"),
        ("[limits]", &addresses("offsets = [8, 0]"), "begins with 0"),
        ("[limits]", &addresses("offsets = [0, 0]"), "each once"),
        ("[limits]", &addresses("offsets = [0, 4096]"), "whole numbers from 0 to 4095"),
        ("[limits]", &addresses("offsets = [0]\nstrides = [\"8\"]"), "write +N, N bytes more than a row has"),
        ("[limits]", &addresses("offsets = [0]\nstrides = []"), "at least one of: +N"),
        ("[limits]", "[versions]\nshapes = [\"64x64x64\"]\n[limits]", "at most 1024 elements of output"),
        ("name = \"planted\"", "name = \"a b\"", "`name` is \"a b\""),
        ("a = \"scalar\"", "a = \"../x y\"", "a path name of 1 to 64"),
        ("seed = 7", "seed = 99999999999999999999", "`seed` is 99999999999999999999"),
        ("[limits]", "[limits", "not TOML"),
        ("[limits]", "[x]", "unknown key `x`"),
        ("[limits]", "[[limits]]", "`limits` is"),
    ];
    for (from, to, says) in cases {
        let (message, line) = message(from, to);
        assert!(message.contains(says), "{to}: {message}");
        let lines = line..=line + to.matches('\n').count();
        assert!(
            lines.clone().any(|line| message.starts_with(&format!("my.toml:{line}: "))),
            "{to}: {message} {lines:?}"
        );
    }
}

#[test]
fn a_missing_key_names_its_section_and_a_base_fills_it() {
    let base = Plan::parse(PLAN, "base.toml").unwrap();
    let error = Plan::parse("name = \"x\"\nseed = 1\n[sampling]\nburst = 3\n", "my.toml").unwrap_err();
    assert!(matches!(&error.fault, PlanFault::MissingKey { key, .. } if key == "probes"), "{error}");
    let plan = Plan::parse_over("seed = 9\n[sampling]\nburst = 3\n", "my.toml", &base).unwrap();
    assert_eq!((plan.seed, plan.sampling.burst, plan.sampling.pilot), (9, 3, base.sampling.pilot));
    let error = Plan::parse_over("[sampling]\nrepetitions = 30\nprocesses = 40\n", "my.toml", &base).unwrap_err();
    assert!(error.to_string().starts_with("my.toml:3: `sampling.processes` is 40"), "{error}");
}

#[test]
fn a_plan_changed_in_memory_is_checked_alike() {
    let mut plan = Plan::parse(PLAN, "base.toml").unwrap();
    plan.check().unwrap();
    plan.seed = u64::MAX;
    assert!(plan.check().unwrap_err().to_string().contains("`seed` is 18446744073709551615"));
    plan.seed = 1;
    plan.name = "line\nfeed \"quoted\" \\ back".to_owned();
    assert!(plan.check().unwrap_err().to_string().contains("`name`"));
    plan.name = "fine".to_owned();
    plan.types.shapes.clear();
    assert!(plan.check().unwrap_err().to_string().contains("`types.shapes`"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = Plan::parse(&text, "any");
    }

    #[test]
    fn no_edit_makes_the_reader_panic_and_what_it_takes_it_takes_again(at in 0..PLAN.len(), cut in 0usize..8, put in "[\\x00-\\x7f]{0,4}") {
        let end = (at + cut).min(PLAN.len());
        if let (Some(head), Some(tail)) = (PLAN.get(..at), PLAN.get(end..)) {
            let text = format!("{head}{put}{tail}");
            match Plan::parse(&text, "any") {
                Ok(plan) => prop_assert_eq!(Plan::parse(&plan.to_toml(), "own").unwrap(), plan),
                Err(error) => prop_assert!(error.line >= 1 && error.line <= 1 + text.matches('\n').count()),
            }
        }
    }
}

#[test]
fn a_window_of_silence_longer_than_the_timeout_is_refused() {
    let text = PLAN.replace("meter_window_s = 0.0", "meter_window_s = 60.0");
    let error = Plan::parse(&text, "my.toml").unwrap_err().to_string();
    assert!(
        error.contains("`sampling.meter_window_s` is 60") && error.contains("5 times `limits.timeout_s`"),
        "{error}"
    );
}
