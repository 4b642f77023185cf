//! Does the gate give each outcome to the outputs that deserve it, and to no others?

use proptest::prelude::*;
use rigel_ledger::Outcome;
use rigel_ledger::gate::{
    Check, Element, FaultTrial, Gate, Judgement, PlantedFault, Proof, Suspicious, Tolerance, inherit, judge,
    judge_accumulators, operands_cut,
};
use rigel_numerics::bound::{self, round_up_3};
use rigel_numerics::{Format, Operand, Overflow, Recipe, Rounding, Triple, exact};

const F32: Triple = Triple::new(Format::F32, Format::F32, Format::F32);
const E4M3: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
const I8: Triple = Triple::new(Format::I8, Format::I8, Format::I32);

fn trials(error: f64) -> [FaultTrial; 4] {
    PlantedFault::ALL.map(|fault| FaultTrial { fault, error: Some(error), sums: None })
}

fn gate<'a>(proof: Proof<'a>, before: Check, after: Check) -> Gate<'a> {
    Gate {
        triple: F32,
        tolerance: Tolerance::Relative(1e-6),
        model_bound: None,
        coarse_cap: 1e-2,
        proof,
        before,
        after: Some(after),
        sums: None,
        operands: None,
    }
}

#[test]
fn each_rule_is_reached_by_its_smallest_input() {
    let seen = trials(0.5);
    let proof = Proof::Trials(&seen);
    let fine = Check::Residual(1e-7);
    let element = Element { row: 3, column: 4 };
    let narrow = Check::Residual(2e-3);
    let model = |bound| Gate { model_bound: Some(bound), ..gate(proof, narrow, fine) };
    let cut = |triple, format| Gate { triple, operands: Some(format), ..gate(proof, narrow, fine) };
    let integer = |error| Gate {
        triple: I8,
        tolerance: Tolerance::Exact,
        ..gate(proof, Check::Residual(error), Check::Residual(error))
    };
    let cases: [(Gate<'_>, Outcome, &str); 13] = [
        (gate(proof, fine, fine), Outcome::Right, ""),
        (gate(proof, fine, Check::Unwritten(element)), Outcome::Wrong, "element (3, 4) was not written after timing"),
        (gate(proof, Check::NonFinite(element), fine), Outcome::Wrong, "element (3, 4) is not finite before timing"),
        (
            gate(proof, fine, narrow),
            Outcome::Imprecise,
            "error 2e-3 after timing exceeds the tolerance 1e-6, inside the plan's coarse cap 1e-2",
        ),
        (
            gate(proof, Check::Residual(2e-2), fine),
            Outcome::Wrong,
            "error 2e-2 before timing exceeds the tolerance 1e-6 and the plan's coarse cap 1e-2",
        ),
        (
            model(3e-3),
            Outcome::Imprecise,
            "error 2e-3 before timing exceeds the tolerance 1e-6, inside the recovered model's bound 3e-3",
        ),
        (
            model(1e-3),
            Outcome::Wrong,
            "error 2e-3 before timing exceeds the tolerance 1e-6 and the recovered model's bound 1e-3",
        ),
        (
            cut(F32, Format::Tf32),
            Outcome::Imprecise,
            "operands: cut to tf32 before the product; error 2e-3 before timing exceeds the tolerance 1e-6",
        ),
        // No operand is wider than the cut, so it explains nothing and the cap decides.
        (
            cut(E4M3, Format::Tf32),
            Outcome::Imprecise,
            "error 2e-3 before timing exceeds the tolerance 1e-6, inside the plan's coarse cap 1e-2",
        ),
        (integer(0.0), Outcome::Right, ""),
        (
            integer(1.0),
            Outcome::Wrong,
            "error 1e0 before timing exceeds the tolerance 0e0: integers are compared exactly",
        ),
        (gate(proof, Check::Residual(f64::NAN), fine), Outcome::Wrong, "the residual before timing is not a number"),
        (gate(proof, fine, Check::Residual(-1.0)), Outcome::Wrong, "the residual after timing is not a number"),
    ];
    for (gate, outcome, reason) in cases {
        let judgement = judge(&gate);
        assert_eq!((judgement.outcome, judgement.reason.as_str()), (outcome, reason));
    }
}

#[test]
fn a_gate_that_cannot_fail_is_mistrusted_and_names_the_fault() {
    let fine = Check::Residual(0.0);
    for fault in PlantedFault::ALL {
        let mut weak = trials(0.5);
        weak.iter_mut().filter(|trial| trial.fault == fault).for_each(|trial| trial.error = Some(1e-9));
        let judgement = judge(&gate(Proof::Trials(&weak), fine, fine));
        assert_eq!(judgement.outcome, Outcome::Mistrusted);
        assert!(judgement.reason.ends_with(fault.words()), "{}", judgement.reason);
        let missing: Vec<FaultTrial> = trials(0.5).into_iter().filter(|trial| trial.fault != fault).collect();
        assert_eq!(judge(&gate(Proof::Trials(&missing), fine, fine)).outcome, Outcome::Mistrusted);
        assert_eq!(judge(&gate(Proof::Recorded(Some(fault)), fine, fine)).outcome, Outcome::Mistrusted);
    }
    assert_eq!(judge(&gate(Proof::Trials(&[]), fine, fine)).outcome, Outcome::Mistrusted);
    let impossible = PlantedFault::ALL.map(|fault| FaultTrial { fault, error: None, sums: None });
    assert_eq!(judge(&gate(Proof::Trials(&impossible), fine, fine)).outcome, Outcome::Mistrusted);
    assert_eq!(judge(&gate(Proof::Recorded(None), fine, fine)).outcome, Outcome::Right);
    // Sums alone reject an output as much as an element does, whatever the limit.
    let sums = Some(Suspicious { rows: 3, columns: 0 });
    let by_sums = PlantedFault::ALL.map(|fault| FaultTrial { fault, error: Some(1e-9), sums });
    assert_eq!(judge(&gate(Proof::Trials(&by_sums), fine, fine)).outcome, Outcome::Right);
    let narrow = judge(&gate(Proof::Trials(&by_sums), Check::Residual(2e-3), fine));
    assert!(narrow.outcome == Outcome::Imprecise && !narrow.reason.contains("would not have seen"), "{narrow:?}");
    let mut without_transpose = trials(0.5);
    without_transpose[3].error = None;
    assert_eq!(judge(&gate(Proof::Trials(&without_transpose), fine, fine)).outcome, Outcome::Right);
}

#[test]
fn a_wide_cap_confesses_what_it_would_not_have_seen() {
    let mut faults = trials(0.5);
    faults[1].error = Some(5e-3);
    let judgement = judge(&gate(Proof::Trials(&faults), Check::Residual(2e-3), Check::Residual(0.0)));
    assert_eq!(judgement.outcome, Outcome::Imprecise);
    assert!(judgement.reason.ends_with("which would not have seen: one k-step dropped"), "{}", judgement.reason);
}

#[test]
fn a_blind_product_answers_for_its_own_residual() {
    let fine = Check::Residual(0.0);
    let far = Check::Residual(0.5);
    assert_eq!(judge(&gate(Proof::Blind, fine, fine)).outcome, Outcome::Right);
    assert_eq!(judge(&gate(Proof::Blind, Check::Residual(2e-3), fine)).outcome, Outcome::Imprecise);
    assert_eq!(judge(&gate(Proof::Blind, fine, far)).outcome, Outcome::Wrong);
    let sibling = judge(&gate(Proof::Recorded(None), fine, fine));
    let own = judge(&gate(Proof::Blind, fine, far));
    assert_eq!(inherit(&own, Some((&sibling, "near-normal"))), own);
}

#[test]
fn unexplained_sums_are_never_right_and_hide_nothing_worse() {
    let sums = Some(Suspicious { rows: 12, columns: 3 });
    let faults = trials(0.5);
    let of =
        |error| judge(&Gate { sums, ..gate(Proof::Trials(&faults), Check::Residual(error), Check::Residual(0.0)) });
    let mistrusted = of(1e-7);
    assert_eq!(mistrusted.outcome, Outcome::Mistrusted);
    assert!(mistrusted.reason.starts_with("sums: 12 rows and 3 columns"), "{}", mistrusted.reason);
    assert_eq!((of(2e-3).outcome, of(0.5).outcome), (Outcome::Mistrusted, Outcome::Wrong));
    let cut = Gate {
        sums,
        operands: Some(Format::Tf32),
        ..gate(Proof::Trials(&faults), Check::Residual(0.5), Check::Residual(0.0))
    };
    assert_eq!(judge(&cut).outcome, Outcome::Mistrusted);
    let told = judge(&Gate { sums: None, ..cut });
    assert!(told.outcome == Outcome::Imprecise && told.reason.contains("which would not have seen: zeros"), "{told:?}");
    let less = judge(&Gate { sums: None, before: Check::Residual(0.4), ..cut });
    assert!(less.outcome == Outcome::Imprecise && !less.reason.contains("would not have seen"), "{less:?}");
}

#[test]
fn blind_recipes_inherit_and_ceilings_answer_for_their_accumulators() {
    let of = |outcome, reason: &str| Judgement { outcome, reason: reason.into(), error: Some(1e-8) };
    let ranked = [Outcome::Right, Outcome::Imprecise, Outcome::Mistrusted, Outcome::Wrong];
    for (i, &mine) in ranked.iter().enumerate() {
        let own = of(mine, if i == 0 { "" } else { "mine" });
        for (j, &theirs) in ranked.iter().enumerate() {
            let sibling = of(theirs, if j == 0 { "" } else { "theirs" });
            let found = inherit(&own, Some((&sibling, "near-normal")));
            assert_eq!((found.outcome, found.error), (ranked[i.max(j)], Some(1e-8)));
            let reason = match (i.max(j), i >= j) {
                (0, _) => "",
                (_, true) => "mine",
                (_, false) => "as its random sibling near-normal: theirs",
            };
            assert_eq!(found.reason, reason);
        }
        let alone = inherit(&own, None);
        assert_eq!(alone.outcome, ranked[i.max(2)]);
    }
    assert_eq!(judge_accumulators(Ok(())).outcome, Outcome::Right);
    assert_eq!(judge_accumulators(Err("3, not 4")).reason, "accumulators: 3, not 4");
}

/// A row of A, a column of B, and what some arithmetic makes of them.
struct Column {
    codes: Vec<(u64, u64)>,
    triple: Triple,
}

impl Column {
    fn new(triple: Triple, k: usize, seed: u64) -> Self {
        let recipe = Recipe::NearNormal;
        let codes = (0..k as u64).map(|i| {
            let a = recipe.element(triple.a, seed, Operand::A, 0, i);
            (a, recipe.element(triple.b, seed, Operand::B, i, 0))
        });
        Column { codes: codes.collect(), triple }
    }

    fn values(&self) -> impl Iterator<Item = (f64, f64)> {
        self.codes.iter().map(|&(a, b)| (self.triple.a.decode(a), self.triple.b.decode(b)))
    }

    fn error(&self, output: f64) -> f64 {
        let code = Format::F32.encode(output, Rounding::NearestEven, Overflow::Ieee);
        let dot =
            exact::dot(self.triple.a, self.triple.b, self.codes.iter().copied()).expect("gate recipes are finite");
        round_up_3(dot.residual(Format::F32, code).relative)
    }

    fn judged(&self, output: f64, operands: Option<Format>) -> Judgement {
        self.judged_by(self.error(output), operands)
    }

    fn judged_by(&self, error: f64, operands: Option<Format>) -> Judgement {
        let k = self.codes.len();
        let faults = trials(1.0);
        judge(&Gate {
            triple: self.triple,
            tolerance: Tolerance::Relative(bound::tolerance(self.triple, k, Recipe::NearNormal).relative),
            proof: Proof::Trials(&faults),
            operands,
            ..gate(Proof::Trials(&faults), Check::Residual(error), Check::Residual(error))
        })
    }
}

/// Steps of 32 products, aligned to the largest exponent and truncated to 13 fraction bits (Hopper's e4m3 as modelled by
/// Khattak and Mikaitis), the running sum taking part.
fn narrow_accumulator(column: &Column) -> f64 {
    let values: Vec<(f64, f64)> = column.values().collect();
    values.chunks(32).fold(0.0, |sum, step| {
        let terms: Vec<f64> = step.iter().map(|(a, b)| a * b).chain([sum]).collect();
        let largest = terms.iter().fold(0.0f64, |most, term| most.max(term.abs()));
        if largest == 0.0 {
            return 0.0;
        }
        let unit = 2f64.powi(largest.log2().floor() as i32 - 13);
        terms.iter().map(|term| (term / unit).trunc() * unit).sum()
    })
}

/// At small K every matrix shows it. At large K the bound of the declared type, K · 2⁻²⁴, grows past what truncation to
/// 13 bits does to sums of mixed signs, and the output is `right` by the declaration.
#[test]
fn a_natively_narrow_accumulator_is_imprecise_and_never_wrong() {
    for k in [32, 64, 128, 512, 2048, 8192] {
        let columns: Vec<Column> = (0..64).map(|seed| Column::new(E4M3, k, seed)).collect();
        let worst = columns.iter().map(|column| column.error(narrow_accumulator(column))).fold(0.0, f64::max);
        let judgement = columns[0].judged_by(worst, None);
        let expected = if k <= 128 { Outcome::Imprecise } else { judgement.outcome };
        assert_eq!(judgement.outcome, expected, "K = {k}: {worst:e} {}", judgement.reason);
        assert!(judgement.outcome.counts(), "K = {k}: {}", judgement.reason);
    }
}

#[test]
fn a_binary32_accumulator_is_right() {
    for k in [1, 2, 32, 2048] {
        let column = Column::new(E4M3, k, 7);
        let sum = column.values().fold(0.0f32, |sum, (a, b)| (a as f32).mul_add(b as f32, sum));
        assert_eq!(column.judged(f64::from(sum), None).outcome, Outcome::Right);
    }
}

#[test]
fn planted_faults_are_wrong() {
    let column = Column::new(F32, 256, 3);
    let values: Vec<(f64, f64)> = column.values().collect();
    let dot = |values: &[(f64, f64)]| values.iter().map(|(a, b)| a * b).sum::<f64>();
    let mut swapped = values.clone();
    (swapped[0].0, swapped[1].0) = (values[1].0, values[0].0);
    let step =
        values.iter().map(|(a, b)| (a * b).abs()).enumerate().max_by(|x, y| x.1.total_cmp(&y.1)).expect("k > 0").0;
    let dropped: Vec<(f64, f64)> = values.iter().enumerate().filter(|(i, _)| *i != step).map(|(_, v)| *v).collect();
    let magnitude: f64 = values.iter().map(|(a, b)| (a * b).abs()).sum();
    for (name, output) in [("zeros", 0.0), ("dropped", dot(&dropped)), ("swapped", dot(&swapped))] {
        let judgement = column.judged(output, None);
        let visible = (output - dot(&values)).abs() / magnitude > 1e-2;
        let expected = if visible { Outcome::Wrong } else { Outcome::Imprecise };
        assert_eq!(judgement.outcome, expected, "{name}: {}", judgement.reason);
        assert_ne!(judgement.outcome, Outcome::Right, "{name}");
    }
}

#[test]
fn cut_operands_are_told_from_a_narrow_accumulator() {
    let column = Column::new(F32, 64, 11);
    let found = |output: f64| {
        let code = Format::F32.encode(output, Rounding::NearestEven, Overflow::Ieee);
        let tolerance = bound::tolerance(F32, 64, Recipe::NearNormal);
        operands_cut(F32, tolerance, &[(0, 0, code)], |_, k| column.codes[k].0, |k, _| column.codes[k].1, 64)
    };
    for (format, rounding) in [
        (Format::Tf32, Rounding::TowardZero),
        (Format::Bf16, Rounding::NearestEven),
        (Format::Bf16, Rounding::TowardZero),
    ] {
        let cut = |value: f64| format.decode(format.encode(value, rounding, Overflow::Ieee));
        let output: f64 = column.values().map(|(a, b)| cut(a) * cut(b)).sum();
        assert_eq!(found(output), Some(format));
        let judgement = column.judged(output, found(output));
        assert_eq!(judgement.outcome, Outcome::Imprecise);
        assert!(judgement.reason.starts_with(&format!("operands: cut to {format}")), "{}", judgement.reason);
    }
    assert_eq!(found(narrow_accumulator(&column)), None);
    assert_eq!(operands_cut(F32, bound::Tolerance::EXACT, &[], |_, _| 0, |_, _| 0, 64), None);
}

proptest! {
    #[test]
    fn a_larger_error_never_gives_a_better_outcome(
        (low, high) in (0.0f64..0.1, 0.0f64..0.1).prop_map(|(a, b)| (a.min(b), a.max(b))),
        cap in 1e-6f64..0.05,
    ) {
        let faults = trials(0.5);
        let outcome = |error| {
            judge(&Gate { coarse_cap: cap, ..gate(Proof::Trials(&faults), Check::Residual(error), Check::Residual(0.0)) }).outcome
        };
        prop_assert!(outcome(low) <= outcome(high));
    }

    #[test]
    fn the_two_checks_weigh_the_same(a in 0.0f64..0.1, b in 0.0f64..0.1) {
        let faults = trials(0.5);
        let of = |x, y| judge(&gate(Proof::Trials(&faults), Check::Residual(x), Check::Residual(y)));
        let (one, other) = (of(a, b), of(b, a));
        prop_assert_eq!((one.outcome, one.error), (other.outcome, other.error));
    }

    #[test]
    fn odd_numbers_never_panic_and_never_pass(error in prop::num::f64::ANY, limit in prop::num::f64::ANY, cap in prop::num::f64::ANY) {
        let faults = trials(f64::INFINITY);
        let odd = Gate {
            tolerance: Tolerance::Relative(limit),
            coarse_cap: cap,
            ..gate(Proof::Trials(&faults), Check::Residual(error), Check::Residual(0.0))
        };
        let judgement = judge(&odd);
        if judgement.outcome == Outcome::Right {
            prop_assert!(error <= limit);
        }
    }
}
