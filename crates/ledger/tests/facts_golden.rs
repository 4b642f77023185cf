//! Do facts follow from rows as documented, whatever the order of the rows and however odd they are?

mod facts_run;

use facts_run::{BIG, HALF, Memory, NARROW, Run, blank, golden, identity};
use proptest::prelude::*;
use rigel_ledger::facts::{Evidence, derive};
use rigel_ledger::rows::{CellId, CellRow, Work};
use rigel_ledger::{FactRow, Outcome, PowerRow};
use rigel_numerics::{Megahertz, Shape, Time};
use std::fmt::Write;

fn text(facts: &[FactRow]) -> String {
    let mut text = String::new();
    for fact in facts {
        let option = |value: Option<String>| value.unwrap_or_default();
        let subject = [
            fact.path.clone(),
            option(fact.triple.map(|t| t.to_string())),
            option(fact.shape.map(|s| s.to_string())),
            option(fact.recipe.map(|r| r.name().to_owned())),
        ];
        let subject: Vec<String> = subject.into_iter().filter(|part| !part.is_empty()).collect();
        let probe = rigel_ledger::rows::name_of(&fact.probe);
        let interval = fact.low.zip(fact.high).map(|(low, high)| format!("[{low}, {high}]")).unwrap_or_default();
        let head =
            [probe, subject.join(" "), format!("{} = {} {} {interval}", fact.name, fact.value, fact.unit)].join(" | ");
        for line in [head.as_str(), &format!("    {}", fact.words), &format!("    {}", fact.evidence)] {
            if !line.trim().is_empty() {
                let _ = writeln!(text, "{}", line.trim_end());
            }
        }
    }
    text
}

#[test]
fn a_small_run_gives_these_facts() {
    insta::assert_snapshot!(text(&golden().facts()));
}

#[test]
fn verdicts_of_the_golden_run() {
    let run = golden();
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "accelerated");
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.win"), "win over C, D");
    assert_eq!(run.value("matrix", Some(HALF), "verdict.win"), "baseline D");
    assert_eq!(run.value("matrix", None, "verdict.where"), "undetermined");
}

/// A path and triple of which some product is wrong is praised with that condition, and one of which nothing is right not at all.
#[test]
fn nothing_that_is_wrong_reads_as_a_plain_win() {
    let verdict = |run: &Run, name: &str| run.value("matrix", Some(NARROW), name);
    let mut run = golden();
    let of_narrow = |row: &CellRow| row.triple == NARROW && matches!(row.work, Work::Gemm | Work::Rung);
    let wrong = |run: &mut Run, wanted: &dyn Fn(&CellRow) -> bool| {
        let rows = run.cells.iter_mut().filter(|row| of_narrow(row) && wanted(row));
        rows.for_each(|row| row.outcome = Outcome::Wrong);
    };
    wrong(&mut run, &|row| row.shape == Some(BIG));
    let words = [verdict(&run, "verdict.acceleration"), verdict(&run, "verdict.win")];
    for word in &words {
        let praise = word.starts_with("accelerated") || word.starts_with("win");
        assert!(word.ends_with(" where right") || !praise, "{words:?}");
    }
    assert!(words[0] == "accelerated where right", "{words:?}");
    wrong(&mut run, &|_| true);
    assert_eq!(verdict(&run, "verdict.acceleration"), "undecided: no cell counts");
    assert!(verdict(&run, "verdict.win").starts_with("undecided"));
}

#[test]
fn order_of_rows_and_scale_of_time_change_nothing_that_they_should_not() {
    let run = golden();
    let mut shuffled = run.clone();
    shuffled.cells.reverse();
    shuffled.cells.rotate_left(7);
    assert_eq!(run.facts(), shuffled.facts());

    let mut slower = run.clone();
    slower.cells.iter_mut().for_each(|row| row.median_ns = row.median_ns.map(|median| median * 8.0));
    for (times, _) in slower.samples.0.values_mut() {
        times.iter_mut().for_each(|time| time.0 *= 8);
    }
    let verdicts = |run: &Run| {
        let facts =
            run.facts().into_iter().filter(|fact| fact.name.starts_with("verdict") || fact.name.starts_with("ratio"));
        facts.map(|fact| (fact.path, fact.triple, fact.name, fact.value)).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&run), verdicts(&slower));
}

#[test]
fn wrong_cells_enter_nothing_and_crashed_processes_are_left_out() {
    let mut run = golden();
    let narrow = |row: &&mut CellRow| row.work == Work::Gemm && row.triple == NARROW && row.shape == Some(BIG);
    run.cells.iter_mut().filter(narrow).take(1).for_each(|row| row.outcome = Outcome::Wrong);
    let facts = run.facts();
    assert!(!facts.iter().any(|f| f.name == "rate" && f.triple == Some(NARROW) && f.shape == Some(BIG)));
    let verdict = facts.iter().find(|f| f.name == "verdict.acceleration").expect("a verdict");
    assert!(verdict.words.contains("left out: 1024x1024x1024 near-normal warm launch tile 64x64: wrong in process 0"));
    assert!(verdict.words.contains("the ceiling speaks alone"), "{}", verdict.words);

    let mut run = golden();
    run.cells.iter_mut().filter(narrow).take(1).for_each(|row| (row.outcome, row.median_ns) = (Outcome::Crashed, None));
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: fewer than 6 processes");

    let mut run = golden();
    run.cells.iter_mut().filter(|row| row.triple == NARROW).for_each(|row| row.outcome = Outcome::Mistrusted);
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: no cell counts");
    assert!(!run.facts().iter().any(|f| f.name.starts_with("ratio") && f.triple == Some(NARROW)));
}

#[test]
fn a_match_that_is_missing_on_the_path_is_replaced_by_the_fastest_and_named() {
    let mut run = golden();
    run.cells.retain(|row| row.path != "matrix" || row.triple != HALF || row.work == Work::Rung);
    let facts = run.facts();
    let verdict = facts.iter().find(|f| f.name == "verdict.acceleration").expect("a verdict");
    assert_eq!(verdict.value, "accelerated");
    assert!(verdict.words.contains("no match on the same path: compared with the match on older"), "{}", verdict.words);
}

#[test]
fn no_slower_path_lends_its_ceiling_to_the_fastest_match() {
    // The match runs fastest on `older`; a third, slow path has a match with a good ceiling, against which all is fast.
    let planted = |loops: &dyn Fn(&mut Run)| {
        let mut run = golden();
        run.cells.retain(|row| row.path != "matrix" || row.triple != HALF || row.work == Work::Rung);
        run.cells.retain(|row| row.path != "older" || row.work != Work::Ceiling);
        run.product("slow", HALF, BIG, 90);
        run.ceiling("slow", HALF, 100);
        loops(&mut run);
        let facts = run.facts();
        let of = |name: &str| {
            facts.iter().find(|f| f.name == name && f.path == "matrix" && f.triple == Some(NARROW)).cloned()
        };
        (of("verdict.acceleration").unwrap(), of("ratio.ceiling_match"))
    };
    for loops in [
        &(|_: &mut Run| {}) as &dyn Fn(&mut Run),
        // One that its own product outruns, and one without a plateau.
        &|run| run.ceiling("older", HALF, 10),
        &|run| {
            run.ceiling("older", HALF, 10_000);
            run.cells.retain(|row| row.path != "older" || row.tile != "ilp4x2");
        },
    ] {
        let (verdict, ratio) = planted(loops);
        assert!(ratio.is_none(), "{}", ratio.unwrap().words);
        assert_eq!(verdict.value, "undecided: no ceiling", "{}", verdict.words);
        assert!(verdict.words.contains("the match on older"), "{}", verdict.words);
    }
}

#[test]
fn incomplete_provenance_gives_no_verdict_and_names_the_fields() {
    let mut run = golden();
    run.provenance.commit.clear();
    run.provenance.dirty = None;
    run.provenance.device.clocks.clear();
    run.provenance.host.load = None;
    let facts = run.facts();
    assert!(!facts.iter().any(|fact| fact.name.starts_with("verdict")));
    assert!(facts.iter().any(|fact| fact.name == "rate"));
    let incomplete = facts.iter().find(|fact| fact.name == "incomplete").expect("the fact that says so");
    assert_eq!(incomplete.value, "provenance");
    assert!(incomplete.words.contains("commit, device.clocks, dirty, host.load"), "{}", incomplete.words);

    let run = golden();
    let none = derive(&Evidence {
        plan: &run.plan,
        provenance: &[],
        cells: &run.cells,
        samples: &run.samples,
        power: &[],
        units: &[],
    });
    assert!(none.iter().all(|fact| !fact.name.starts_with("verdict")) && none.iter().any(|f| f.name == "incomplete"));

    let mut run = golden();
    run.cells[0].device = "another".into();
    let facts = run.facts();
    assert_eq!((facts.len(), facts[0].name.as_str(), facts[0].value.as_str()), (1, "incomplete", "devices"));
}

#[test]
fn two_clock_states_are_compared_inside_matched_ones() {
    // Both triples run 10 of 30 repetitions at half the clock, but the narrow one is there half of the time.
    let states = |clock: Option<[u32; 2]>| {
        let mut run = golden();
        for (triple, rate, slow) in [(HALF, 800, 10), (NARROW, 1600, 15)] {
            let cell = identity(Work::Gemm, "matrix", triple, Some(BIG), "64x64");
            run.cells.retain(|row| row.cell != CellId::of(&cell));
            let time = BIG.operations() * 1_000_000 / rate;
            for process in 0..6 {
                let low = |i: u64| i * 7 % 30 < slow;
                let times: Vec<Time> =
                    (0..30).map(|i| Time(if low(i) { 2 * time } else { time } + i * time / 10_000)).collect();
                let [slow_clock, fast_clock] = clock.unwrap_or_default();
                let of = |i| Megahertz(if low(i) { slow_clock } else { fast_clock });
                let clocks: Vec<Megahertz> = (0..30).map(of).collect();
                let mut row = blank(&cell, process);
                row.operations = Some(BIG.operations());
                let read: Vec<Option<Megahertz>> = clocks.iter().map(|&read| clock.map(|_| read)).collect();
                row.summarise(&times, &read, 0);
                let clocks = if clock.is_some() { clocks } else { vec![] };
                run.samples.0.insert((row.cell, process), (times, clocks));
                run.cells.push(row);
            }
        }
        run
    };
    let run = states(Some([500, 1000]));
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "accelerated");
    assert_eq!(run.value("matrix", Some(NARROW), "rung.faster"), "yes");
    let modes = run.facts().into_iter().find(|f| f.name == "modes" && f.triple == Some(NARROW) && f.shape == Some(BIG));
    assert_eq!(modes.map(|fact| fact.value), Some("2".to_owned()));
    // Without a clock, or with one that stands still while the times do not, nothing matches the modes.
    for clock in [None, Some([1000, 1000])] {
        let run = states(clock);
        assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: clock states");
    }
    // A fifth slower, its slow mode beside the other's fast one lies below 1: whether it is faster is in doubt as well.
    let mut run = states(None);
    for row in run.cells.iter_mut().filter(|row| row.triple == NARROW && row.path == "matrix" && row.work == Work::Gemm)
    {
        let (times, _) = run.samples.0.get_mut(&(row.cell, row.process)).unwrap();
        times.iter_mut().for_each(|time| time.0 += time.0 / 5);
        row.median_ns = row.median_ns.map(|median| median * 1.2);
    }
    assert_eq!(run.value("matrix", Some(NARROW), "rung.faster"), "undecided");
}

#[test]
fn energy_says_what_it_could_not_see() {
    let mut run = golden();
    assert_eq!(run.value("matrix", None, "signal.energy"), "unmeasured");
    let cell = run.cells.iter().find(|row| row.path == "matrix" && row.work == Work::Gemm).expect("a product").cell;
    let reading = |time, value, phase: String| PowerRow {
        meter: "board".into(),
        time_ns: Time::from_ns(time),
        value,
        unit: "J".into(),
        phase,
    };
    run.power = vec![
        reading(0, 0.0, "idle".into()),
        reading(1_000_000_000, 10.0, "idle".into()),
        reading(2_000_000_000, 10.0, cell.to_string()),
        reading(3_000_000_000, 60.0, cell.to_string()),
    ];
    let facts = run.facts();
    let energy = facts.iter().find(|f| f.name == "signal.energy" && f.path == "matrix").expect("the signal");
    assert_eq!(
        (energy.value.as_str(), energy.words.as_str()),
        ("unmeasured", "board is blind: no known load was tried")
    );
}

#[test]
fn the_ladder_tells_refusals_from_what_was_never_tried() {
    let run = golden();
    let of = |path: &str, triple, name: &str| run.value(path, Some(triple), name);
    assert_eq!(of("matrix", NARROW, "rung.compiles"), "yes");
    assert_eq!(of("matrix", NARROW, "rung.right"), "no");
    assert_eq!(of("matrix", NARROW, "rung.faster"), "yes");
    assert_eq!(of("matrix", HALF, "rung.faster"), "not tried");
    assert_eq!(of("older", NARROW, "rung.advertised"), "no");
    assert_eq!(of("older", NARROW, "rung.compiles"), "not tried");
    let mut run = golden();
    run.rung("dying", HALF, Shape::cube(8), Outcome::Crashed, "signal 11");
    assert_eq!(run.value("dying", Some(HALF), "rung.compiles"), "not tried");
    assert_eq!(run.value("dying", Some(HALF), "rung.runs"), "no");
    assert_eq!(run.value("dying", Some(HALF), "rung.right"), "no");
}

#[test]
fn empty_and_odd_input_gives_facts_and_no_panic() {
    let mut run = golden();
    run.cells.clear();
    assert!(run.facts().iter().all(|fact| fact.name.starts_with("rung") || fact.name == "incomplete.rows"));
    let mut run = golden();
    run.samples = Memory::default();
    assert!(!run.facts().iter().any(|fact| fact.name == "modes"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn odd_rows_never_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..9u8, prop::num::f64::ANY), 1..40),
    ) {
        let mut run = golden();
        for (index, what, number) in edits {
            let i = index.index(run.cells.len());
            let row = &mut run.cells[i];
            match what {
                0 => row.median_ns = Some(number),
                1 => row.operations = Some(number as u64),
                2 => row.clock_mhz = Some(number),
                3 => row.tile = format!("ilp{}x{}", number as u64, number),
                4 => row.process = number as u32,
                5 => row.outcome = Outcome::Hung,
                6 => row.shape = None,
                7 => row.warmup = Some(number as u32),
                _ => { run.cells.remove(i); }
            }
            if run.cells.is_empty() { break; }
        }
        let facts = run.facts();
        prop_assert!(facts.iter().all(|fact| fact.value != "NaN" && fact.low.is_none_or(|low| !low.is_nan())));
        run.cells.reverse();
        prop_assert_eq!(facts, run.facts());
    }
}
