//! Do planted deviations come where, when and as often as planted, and nowhere else?

mod batches;

use batches::*;
use rigel_device::Device;
use rigel_device::sim::unit_deviation::{Chosen, Deviation, Effect, Place};
use rigel_device::sim::unit_truth::PlantedModel;
use rigel_device::sim::{PlantedUnit, SimDevice, SimUnit};
use rigel_device::unit::{Operands, Unit, execute_fragments};
use rigel_numerics::Matrix;
use rigel_numerics::arithmetic::{Distribution, Evaluator, Inputs, library};
use rigel_numerics::layout::FragmentOperand;

const NORMAL: [Distribution; 1] = [Distribution::Normal];

/// A batch, and what the unit makes of it with and without its deviations.
fn both(planted: &PlantedUnit, tiles: usize) -> (Batch, Matrix, Matrix) {
    let batch = Batch::of(unit(planted).spec(), tiles, 12, &NORMAL);
    let (given, clean) = (batch.ask(&mut unit(planted)), batch.ask(&mut right(planted)));
    (batch, given, clean)
}

/// Tiles `tiles` of a batch.
fn part(batch: &Batch, planted: &PlantedUnit, tiles: std::ops::Range<usize>) -> Batch {
    let rows = |x: &Matrix, of: usize| {
        let width = x.bytes.len() / x.rows;
        let bytes = x.bytes[tiles.start * of * width..tiles.end * of * width].to_vec();
        Matrix { rows: tiles.len() * of, bytes, ..x.clone() }
    };
    let (m, k) = (planted.shape.m, planted.shape.k);
    Batch { a: rows(&batch.a, m), b: rows(&batch.b, k), c: rows(&batch.c, m), scales: None }
}

#[test]
fn data_decides_alike_wherever_and_whenever_it_comes() {
    let planted = planted("hostile: last bit turned by data");
    let (batch, given, clean) = both(&planted, 400);
    let hit = differences(&given, &clean);
    about("data", hit.len(), given.rows * given.cols, 1e-3);
    assert!(hit.iter().all(|&(r, c)| given.get(r, c) ^ clean.get(r, c) == 1));
    // Alone, later, and beside other tiles: the same.
    let mut unit = unit(&planted);
    unit.tiles(batch.operands()).unwrap();
    for tile in hit.iter().map(|(row, _)| row / 16).take(20) {
        let alone = part(&batch, &planted, tile..tile + 1).ask(&mut unit);
        assert!((0..16).all(|r| alone.row(r) == given.row(tile * 16 + r)));
    }
    // A unit of another name chooses other data.
    let other = PlantedUnit { name: "another".into(), ..planted };
    assert_ne!(differences(&batch.ask(&mut batches::unit(&other)), &clean), hit);
}

#[test]
fn chance_decides_anew_every_time_and_repeats_with_the_process() {
    let planted = planted("hostile: chance");
    let (batch, given, clean) = both(&planted, 400);
    let hit = differences(&given, &clean);
    about("chance", hit.len(), given.rows * given.cols, 1e-3);
    let mut unit = unit(&planted);
    let (first, second) = (batch.ask(&mut unit), batch.ask(&mut unit));
    assert_eq!(first, given);
    assert_ne!(differences(&second, &clean), hit);
    about("chance again", differences(&second, &clean).len(), given.rows * given.cols, 1e-3);
    let asked = |process: u32, openings: usize| {
        let mut device = SimDevice::new(truth()).unwrap();
        device.enter_process(process);
        let mut units: Vec<_> = (0..openings).map(|_| device.unit(&planted.name).unwrap()).collect();
        batch.ask(&mut **units.last_mut().unwrap())
    };
    assert_eq!(asked(0, 1), asked(0, 1));
    assert_ne!(asked(0, 1), asked(1, 1));
    assert_ne!(asked(0, 1), asked(0, 2));
}

#[test]
fn a_neighbour_decides_and_the_first_tile_has_none() {
    let planted = planted("hostile: neighbour");
    let (batch, given, clean) = both(&planted, 400);
    let hit = differences(&given, &clean);
    assert!(hit.iter().all(|&(row, _)| row >= 16));
    about("neighbour", hit.len(), (given.rows - 16) * given.cols, 1e-3);
    for tile in hit.iter().map(|(row, _)| row / 16).take(20) {
        let alone = part(&batch, &planted, tile..tile + 1).ask(&mut unit(&planted));
        assert!((0..16).all(|r| alone.row(r) == clean.row(tile * 16 + r)));
        let behind = part(&batch, &planted, tile - 1..tile + 1).ask(&mut unit(&planted));
        assert!((0..16).all(|r| behind.row(16 + r) == given.row(tile * 16 + r)));
    }
}

#[test]
fn one_lane_and_one_element_keep_to_themselves() {
    let planted = planted("hostile: one lane");
    let (batch, given, clean) = both(&planted, 300);
    let fragment = unit(&planted).fragment().unwrap().clone();
    let (m, n) = (planted.shape.m, planted.shape.n);
    let lane_of = |row: usize, column: usize| fragment.c.inverse(row % m, column)[0].0;
    let hit = differences(&given, &clean);
    assert!(hit.iter().all(|&(r, c)| lane_of(r, c) == 13 && given.get(r, c) ^ clean.get(r, c) == 8));
    about("lane", hit.len(), 300 * m * n / 32, 0.5);
    let [a, b, c] = [(FragmentOperand::A, &batch.a), (FragmentOperand::B, &batch.b), (FragmentOperand::C, &batch.c)]
        .map(|(of, x)| fragment.gather(of, x).unwrap());
    let registers = execute_fragments(&mut unit(&planted), Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
    assert_eq!(fragment.scatter(FragmentOperand::C, &registers).unwrap(), given);

    let planted = batches::planted("hostile: one element");
    let (_, given, clean) = both(&planted, 2000);
    let hit = differences(&given, &clean);
    assert!(hit.iter().all(|&(r, c)| (r % 16, c) == (9, 6)));
    about("element", hit.len(), 2000, 0.1);
}

#[test]
fn lanes_that_read_copies_deviate_in_their_own_registers() {
    let mut planted = planted("registers: lanes that read their own copies");
    planted.deviations =
        vec![Deviation { rate: 1.0, by: Chosen::Data, at: Place::Lane(1), effect: Effect::Flip { bit: 4 } }];
    let batch = Batch::drawn(unit(&planted).spec(), 50, 6);
    let fragment = unit(&planted).fragment().unwrap().clone();
    let [a, b, c] = [(FragmentOperand::A, &batch.a), (FragmentOperand::B, &batch.b), (FragmentOperand::C, &batch.c)]
        .map(|(of, x)| fragment.gather(of, x).unwrap());
    let operands = Operands { a: &a, b: &b, c: &c, scales: None };
    let given = execute_fragments(&mut unit(&planted), operands).unwrap();
    let clean = execute_fragments(&mut right(&planted), operands).unwrap();
    assert_eq!(differences(&given, &clean), (0..50).map(|t| (2 * t + 1, 0)).collect::<Vec<_>>());
}

#[test]
fn another_model_takes_over_for_some_data_and_beyond_some_k() {
    let model = |name: &str| library().iter().find(|p| p.name == name).unwrap().model.clone();
    let (hopper, blackwell) = (model("hopper wgmma e4m3 to f32"), model("blackwell e4m3 to f32"));

    let planted = planted("hostile: another accumulator for some data");
    let (batch, given, clean) = both(&planted, 300);
    let other = Evaluator::new(&blackwell, 32).unwrap();
    let spec = unit(&planted).spec().clone();
    let all = |d: &Matrix| (0..d.rows).flat_map(|r| (0..16).map(move |c| (r, c))).collect::<Vec<_>>();
    let by_other = |r, c| other.dot(&mut other.scratch(), batch.inputs(&spec, r, c).codes());
    let tellable = all(&clean).into_iter().filter(|&(r, c)| by_other(r, c) != clean.get(r, c)).count();
    let hit = differences(&given, &clean);
    assert!(hit.iter().all(|&(r, c)| given.get(r, c) == by_other(r, c)));
    about("another model", hit.len(), tellable, 1e-2);

    let planted = batches::planted("hostile: another model above K = 64");
    let (batch, given, clean) = both(&planted, 10);
    let spec = unit(&planted).spec().clone();
    let (head, tail) = (Evaluator::new(&blackwell, 64).unwrap(), Evaluator::new(&hopper, 64).unwrap());
    for (r, c) in (0..given.rows).flat_map(|r| (0..8).map(move |c| (r, c))) {
        let inputs = batch.inputs(&spec, r, c);
        let first = head.dot(&mut head.scratch(), Inputs::new(&inputs.a[..64], &inputs.b[..64], inputs.c));
        let second = tail.dot(&mut tail.scratch(), Inputs::new(&inputs.a[64..], &inputs.b[64..], first));
        assert_eq!(given.get(r, c), second);
    }
    assert!(!differences(&given, &clean).is_empty());
}

#[test]
fn low_bits_go_through_the_table_and_infinities_do_not() {
    let planted = planted("hostile: low bits by table");
    let batch = Batch::drawn(unit(&planted).spec(), 60, 3);
    let (given, clean) = (batch.ask(&mut unit(&planted)), batch.ask(&mut right(&planted)));
    for (r, c) in (0..clean.rows).flat_map(|r| (0..clean.cols).map(move |c| (r, c))) {
        let code = clean.get(r, c);
        let expected = if clean.format.is_finite(code) { code & !3 | [0, 1, 3, 2][(code & 3) as usize] } else { code };
        assert_eq!(given.get(r, c), expected);
    }
    assert!(!differences(&given, &clean).is_empty());
}

#[test]
fn deviations_follow_one_another() {
    let mut planted = planted("hostile: low bits by table");
    planted.deviations.push(Deviation {
        rate: 1.0,
        by: Chosen::Data,
        at: Place::Everywhere,
        effect: Effect::Model(PlantedModel::Library("ampere f16 to f32".into())),
    });
    let last_word = PlantedUnit {
        model: PlantedModel::Library("ampere f16 to f32".into()),
        deviations: Vec::new(),
        ..planted.clone()
    };
    let batch = Batch::drawn(unit(&planted).spec(), 10, 3);
    assert_eq!(batch.ask(&mut unit(&planted)), batch.ask(&mut SimUnit::new(&last_word, 0, 0).unwrap()));
}
