//! Are drawn units what the truth beside them says, and is every family as it is described?

mod batches;

use batches::*;
use rigel_device::sim::unit_deviation::{Chosen, Effect, Place};
use rigel_device::sim::unit_truth::{EvaluatedBy, PlantedModel};
use rigel_device::sim::{PlantedUnit, SimUnit, Truth, UnitFamily, draw_unit};
use rigel_device::unit::{Operands, Unit, execute_fragments};
use rigel_numerics::Matrix;
use rigel_numerics::arithmetic::{Distribution, Model, library, slow};
use rigel_numerics::layout::FragmentOperand;

const FAMILIES: [UnitFamily; 4] =
    [UnitFamily::Models, UnitFamily::Published, UnitFamily::Deviating { rate: 0.01 }, UnitFamily::Layouts];

fn draw(seed: u64, family: UnitFamily) -> (SimUnit, PlantedUnit) {
    draw_unit(seed, family).unwrap_or_else(|e| panic!("seed {seed}, {family:?}: {e}"))
}

fn model(planted: &PlantedUnit) -> Model {
    match &planted.model {
        PlantedModel::Library(name) => library().iter().find(|p| p.name == *name).unwrap().model.clone(),
        PlantedModel::Json(text) => Model::from_json(text).unwrap(),
        PlantedModel::File(_) => panic!("nothing drawn lies in a file"),
    }
}

#[test]
fn a_seed_is_a_unit_and_its_truth_is_toml() {
    let mut truth = Truth::parse(rigel_device::sim::BUILT_IN[0].1).unwrap();
    for family in FAMILIES {
        for seed in 0..100 {
            let ((unit, planted), (_, again)) = (draw(seed, family), draw(seed, family));
            assert_eq!(planted, again);
            assert_eq!(unit.spec().check(), Ok(()));
            truth.units = vec![planted];
            assert_eq!(Truth::parse(&truth.to_toml()).as_ref(), Ok(&truth), "{family:?} {seed}");
        }
        assert_ne!(draw(1, family).1, draw(2, family).1);
    }
}

#[test]
fn units_without_deviations_compute_their_models() {
    let mut slowly = 0;
    for family in [UnitFamily::Models, UnitFamily::Published] {
        for seed in 0..64 {
            let (mut unit, planted) = draw(seed, family);
            slowly += usize::from(planted.evaluator == EvaluatedBy::Slow);
            assert!(planted.deviations.is_empty() && planted.shape.k <= 256, "{planted:?}");
            let spec = unit.spec().clone();
            let batch = Batch::drawn(&spec, 6, seed);
            let d = batch.ask(&mut unit);
            for tile in 0..6 {
                let (row, column) = (tile * spec.shape.m + seed as usize % spec.shape.m, tile % spec.shape.n);
                let inputs = batch.inputs(&spec, row, column);
                assert_eq!(Ok(d.get(row, column)), slow::dot(&model(&planted), inputs.codes()), "{family:?} {seed}");
            }
        }
    }
    assert_eq!(slowly, 64 / 8);
}

#[test]
fn deviating_units_deviate_about_as_often_as_asked() {
    let mut kinds = [0; 8];
    for seed in 0..80 {
        let (mut unit, planted) = draw(seed, UnitFamily::Deviating { rate: 0.02 });
        let [deviation] = &planted.deviations[..] else { panic!("{planted:?}") };
        let tiles = if planted.evaluator == EvaluatedBy::Slow { 2 } else { 60 };
        let batch = Batch::of(unit.spec(), tiles, seed, &[Distribution::Normal]);
        let (given, clean) = (batch.ask(&mut unit), batch.ask(&mut right(&planted)));
        let hits = differences(&given, &clean).len();
        let all = given.rows * given.cols;
        let kind = match (&deviation.effect, deviation.by, deviation.at) {
            (Effect::Beyond { k, .. }, ..) => {
                assert!(*k == 64 && planted.shape.k > 64);
                0
            }
            (Effect::Model(_), ..) => 1,
            (Effect::LowBits { .. }, ..) => 2,
            (_, Chosen::Chance, _) => 3,
            (_, Chosen::Neighbour, _) => 4,
            (.., Place::Lane(_)) => 5,
            (.., Place::Element { .. }) => 6,
            _ => 7,
        };
        kinds[kind] += 1;
        let what = format!("seed {seed}: {deviation:?}");
        match kind {
            2 => {
                let finite = (0..all).filter(|i| clean.format.is_finite(clean.get(i / clean.cols, i % clean.cols)));
                about(&what, hits, finite.count(), 0.02);
            }
            0 | 1 => assert!(hits * 50 >= all, "{what}: {hits} of {all}"),
            4 => about(&what, hits, all - planted.shape.m * planted.shape.n, 0.02),
            // One lane or element cannot hold more than its share.
            5 | 6 if deviation.rate >= 1.0 => assert!(hits > 0, "{what}"),
            _ => about(&what, hits, all, 0.02),
        }
    }
    assert!(kinds.iter().all(|&n| n > 0), "{kinds:?}");
}

#[test]
fn laid_out_units_multiply_alike_by_tiles_and_registers() {
    let mut seen = [0; 6];
    for seed in 0..120 {
        let (mut unit, planted) = draw(seed, UnitFamily::Layouts);
        let fragment = unit.fragment().unwrap().clone();
        let operands = [&fragment.a, &fragment.b, &fragment.c];
        seen[0] += usize::from(operands.iter().any(|layout| !layout.coverage().is_one_to_one()));
        seen[1] += usize::from(operands.iter().any(|layout| layout.coverage().unused > 0));
        seen[2] += usize::from(operands.iter().any(|layout| layout.affine().is_ok()));
        seen[3] += usize::from(operands.iter().any(|layout| layout.affine().is_err() && layout.mixed_radix().is_ok()));
        seen[4] += usize::from(operands.iter().any(|layout| layout.mixed_radix().is_err()));
        seen[5] += usize::from(operands.iter().any(|layout| layout.slots() >= 64));
        let batch = Batch::drawn(unit.spec(), 2, seed);
        let gather = |of, x: &Matrix| fragment.gather(of, x).unwrap();
        let (a, b) = (gather(FragmentOperand::A, &batch.a), gather(FragmentOperand::B, &batch.b));
        let c = gather(FragmentOperand::C, &batch.c);
        let d = execute_fragments(&mut unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        assert_eq!(fragment.scatter(FragmentOperand::C, &d).unwrap(), batch.ask(&mut unit), "{planted:?}");
        assert_eq!(fragment.c.disagreement(&d), None);
    }
    assert!(seen.iter().all(|&n| n > 5), "broadcast, unused, F2, mixed radix, neither, 64 slots: {seen:?}");
}

#[test]
fn every_register_of_a_and_b_that_a_drawn_layout_names_is_read() {
    for seed in 0..12 {
        let (mut unit, _) = draw(seed, UnitFamily::Layouts);
        let fragment = unit.fragment().unwrap().clone();
        let t = unit.spec().triple;
        let layouts = [&fragment.a, &fragment.b, &fragment.c];
        let lanes = fragment.lanes();
        let mut registers =
            [t.a, t.b, t.c].into_iter().zip(layouts).map(|(f, l)| filled(f, lanes, l.slots(), 1.0)).collect::<Vec<_>>();
        let mut ask = |r: &[Matrix]| {
            execute_fragments(&mut unit, Operands { a: &r[0], b: &r[1], c: &r[2], scales: None }).unwrap()
        };
        let before = ask(&registers);
        for operand in [0, 1] {
            let used = layouts[operand].entries().filter(|(_, _, element)| element.is_some());
            for (lane, slot, _) in used.step_by(5) {
                let one = registers[operand].get(lane, slot);
                let two = filled(registers[operand].format, 1, 1, 2.0).get(0, 0);
                registers[operand].set(lane, slot, two);
                assert!(!differences(&ask(&registers), &before).is_empty(), "seed {seed}, {operand} {lane} {slot}");
                registers[operand].set(lane, slot, one);
            }
            let unused = layouts[operand].entries().find(|(_, _, element)| element.is_none());
            if let Some((lane, slot, _)) = unused {
                registers[operand].set(lane, slot, 0);
                assert_eq!(ask(&registers), before);
            }
        }
    }
}
