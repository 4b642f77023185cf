//! When is a loop a ceiling, and when does its plateau or its own product say no?

mod facts_run;

use facts_run::{BIG, HALF, NARROW, Run, golden, identity};
use rigel_ledger::FactRow;
use rigel_ledger::rows::{CellId, CellRow, Work};
use rigel_numerics::{Megahertz, Recipe, Time};

#[test]
fn a_ceiling_off_its_plateau_is_not_accepted() {
    let mut run = golden();
    let slow = CellId::of(&identity(Work::Ceiling, "matrix", HALF, None, "ilp4x2"));
    for ((cell, _), (times, _)) in &mut run.samples.0 {
        if *cell == slow {
            times.iter_mut().for_each(|time| time.0 += time.0 / 20);
        }
    }
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "no");
    let accepted = |fact: &FactRow| fact.name == "ceiling" && fact.path == "matrix" && fact.triple == Some(HALF);
    assert!(!run.facts().iter().any(accepted));
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: no ceiling");

    // Without clocks the same step is seen in time.
    let slow = |row: &&mut CellRow| row.work == Work::Ceiling && row.triple == HALF && row.tile == "ilp4x2";
    let mut run = golden();
    run.samples.0.values_mut().for_each(|(_, clocks)| clocks.clear());
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "yes");
    run.cells.iter_mut().filter(slow).for_each(|row| row.median_ns = row.median_ns.map(|median| median * 1.05));
    assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), "no");
}

#[test]
fn noise_is_no_plateau() {
    // The middle of six processes stands on a plateau; two processes were disturbed in all variants alike.
    let mut run = golden();
    run.samples.0.values_mut().for_each(|(_, clocks)| clocks.clear());
    let disturb = |row: &mut CellRow, by: f64| row.median_ns = row.median_ns.map(|median| median * by);
    for (percent, plateau) in [(5.0, "yes"), (60.0, "no")] {
        let mut run = run.clone();
        for row in run.cells.iter_mut().filter(|row| row.work == Work::Ceiling && row.triple == HALF) {
            match row.process {
                0 => disturb(row, 1.0 + percent / 100.0),
                1 => disturb(row, 1.0 - percent / 100.0),
                _ => {}
            }
        }
        assert_eq!(run.value("matrix", Some(HALF), "ceiling.plateau"), plateau, "{percent} %");
    }
}

/// The golden run with all times of the match's ceiling loop on the path `matrix` scaled.
fn loops_scaled(by: f64) -> Run {
    let mut run = golden();
    for row in run.cells.iter_mut().filter(|row| row.work == Work::Ceiling && row.triple == HALF) {
        row.median_ns = row.median_ns.map(|median| median * by);
        let (times, _) = run.samples.0.get_mut(&(row.cell, row.process)).unwrap();
        times.iter_mut().for_each(|time| time.0 = (time.0 as f64 * by) as u64);
    }
    run
}

#[test]
fn a_loop_that_its_own_product_outruns_is_no_ceiling() {
    // A compiler that spills the accumulators leaves a loop of even, slow variants: a plateau, and no limit of the unit.
    let share = |run: &Run| -> f64 {
        let facts = run.facts();
        let of = facts.iter().filter(|f| f.name == "rate.of_ceiling" && f.path == "matrix" && f.triple == Some(HALF));
        of.map(|fact| fact.value.parse::<f64>().unwrap()).fold(0.0, f64::max)
    };
    let reached = share(&golden());
    let run = loops_scaled(1.3 / reached);
    let facts = run.facts();
    let named = |name: &str| facts.iter().find(|f| f.name == name && f.triple == Some(HALF) && f.path == "matrix");
    assert_eq!(named("ceiling.plateau").unwrap().value, "yes");
    let outrun = named("ceiling.outrun").unwrap();
    assert!(outrun.words.contains("% of it, so it is no limit"), "{}", outrun.words);
    assert!((outrun.value.parse::<f64>().unwrap() - 1.3).abs() < 0.02, "{}", outrun.value);
    let product = CellId::of(&identity(Work::Gemm, "matrix", HALF, Some(BIG), "64x64"));
    assert!(outrun.evidence.contains(&product.to_string()), "{}: {}", product, outrun.evidence);
    assert!(named("ceiling").is_none() && named("rate.of_ceiling").is_none());
    assert_eq!(run.value("matrix", Some(NARROW), "verdict.acceleration"), "undecided: no ceiling");
    // A loop that the product reaches is none that it outruns, nor one that it beats by what neighbours may differ.
    for by in [1.0, 1.01] {
        assert!((share(&loops_scaled(by / reached)) - by).abs() < 0.005, "{by}");
    }
    let outrun = |change: &dyn Fn(&mut Run)| {
        let mut run = loops_scaled(1.3 / reached);
        change(&mut run);
        run.facts().iter().any(|f| f.name == "ceiling.outrun")
    };
    type Change<'a> = &'a dyn Fn(&mut CellRow, &mut Vec<Time>, &mut Vec<Megahertz>);
    let products = |run: &mut Run, each: Change<'_>| {
        for row in run.cells.iter_mut().filter(|row| row.work == Work::Gemm && row.triple == HALF) {
            let (times, clocks) = run.samples.0.get_mut(&(row.cell, row.process)).unwrap();
            each(row, times, clocks);
        }
    };
    let slower = |row: &mut CellRow, times: &mut Vec<Time>| {
        times.iter_mut().for_each(|time| time.0 *= 2);
        row.median_ns = row.median_ns.map(|median| median * 2.0);
    };
    // Neither a lost process nor a slow one gives the loop back.
    assert!(outrun(&|run| run.cells.retain(|row| row.work != Work::Gemm || row.process > 0)));
    assert!(outrun(&|run| products(run, &|row, times, _| if row.process == 0 {
        slower(row, times)
    })));
    // Zeros may run at another clock, and a product that outruns the loop by its clock alone does not outrun it.
    assert!(!outrun(&|run| products(run, &|row, _, _| row.recipe = Some(Recipe::Zeros))));
    assert!(!outrun(&|run| {
        products(run, &|row, times, clocks| {
            slower(row, times);
            clocks.iter_mut().for_each(|clock| clock.0 /= 4);
            row.clock_mhz = row.clock_mhz.map(|clock| clock / 4.0);
        });
    }));
}

#[test]
fn a_lucky_edge_of_a_plateau_does_not_hide_it() {
    // Were the fastest variant asked alone, noise that lifts ilp4 over ilp8 would make ilp1 its neighbour, a step.
    let mut run = golden();
    let edge = CellId::of(&identity(Work::Ceiling, "matrix", HALF, None, "ilp4x2"));
    for ((cell, _), (times, _)) in &mut run.samples.0 {
        if *cell == edge {
            times.iter_mut().for_each(|time| time.0 -= time.0 / 50);
        }
    }
    let facts = run.facts();
    let ceiling = facts.iter().find(|f| f.name == "ceiling" && f.path == "matrix" && f.triple == Some(HALF));
    assert_eq!(ceiling.map(|fact| fact.words.as_str()), Some("variant ilp8x2 over 6 processes"));
}
