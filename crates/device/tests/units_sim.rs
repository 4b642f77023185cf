//! Does a software unit compute its planted model, by tiles and by registers?

mod batches;

use batches::*;
use rigel_device::sim::PlantedUnit;
use rigel_device::sim::unit_truth::{Copies, PlantedModel};
use rigel_device::unit::{Operands, Unit, execute, execute_fragments};
use rigel_device::{Absent, Device, Fault};
use rigel_numerics::arithmetic::{Evaluator, Model, library, slow};
use rigel_numerics::layout::FragmentOperand;
use rigel_numerics::{Matrix, Shape};

fn model(planted: &PlantedUnit) -> Model {
    match &planted.model {
        PlantedModel::Library(name) => library().iter().find(|p| p.name == *name).unwrap().model.clone(),
        PlantedModel::Json(text) => Model::from_json(text).unwrap(),
        PlantedModel::File(_) => panic!("no file is left in a truth that was read"),
    }
}

#[test]
fn every_published_model_is_a_unit_that_computes_it() {
    let mut device = device();
    let names = names(&device);
    for published in library() {
        assert!(names.contains(&published.name), "{}", published.name);
        let mut unit = device.unit(&published.name).unwrap();
        let spec = unit.spec().clone();
        let batch = Batch::drawn(&spec, 12, 5);
        let d = batch.ask(&mut *unit);
        let evaluator = Evaluator::new(&published.model, spec.shape.k).unwrap();
        let mut scratch = evaluator.scratch();
        for (row, column) in (0..d.rows).flat_map(|r| (0..d.cols).map(move |c| (r, c))) {
            let inputs = batch.inputs(&spec, row, column);
            assert_eq!(
                d.get(row, column),
                evaluator.dot(&mut scratch, inputs.codes()),
                "{} {inputs:x?}",
                published.name
            );
        }
        let inputs = batch.inputs(&spec, 9, 3);
        assert_eq!(Ok(d.get(9, 3)), slow::dot(&published.model, inputs.codes()), "{} {inputs:x?}", published.name);
    }
}

#[test]
fn right_units_of_the_truth_compute_their_models() {
    for planted in truth().units.iter().filter(|unit| unit.absent.is_empty() && unit.deviations.is_empty()) {
        let mut unit = unit(planted);
        let spec = unit.spec().clone();
        let batch = Batch::drawn(&spec, 6, 8);
        let d = batch.ask(&mut unit);
        for (row, column) in (0..d.rows).flat_map(|r| (0..d.cols).map(move |c| (r, c))).step_by(7) {
            let inputs = batch.inputs(&spec, row, column);
            assert_eq!(
                Ok(d.get(row, column)),
                slow::dot(&model(planted), inputs.codes()),
                "{} {inputs:x?}",
                planted.name
            );
        }
    }
}

#[test]
fn the_slow_evaluator_gives_the_same_unit() {
    let slowly = planted("slow: hopper mma f16 to f32");
    let fast = PlantedUnit { evaluator: Default::default(), ..slowly.clone() };
    let batch = Batch::drawn(unit(&slowly).spec(), 30, 9);
    assert_eq!(batch.ask(&mut unit(&slowly)), batch.ask(&mut unit(&fast)));
}

#[test]
fn tiles_moved_through_registers_and_back_are_the_same_tiles() {
    let in_registers: Vec<PlantedUnit> = truth().units.into_iter().filter(|unit| unit.layout.is_some()).collect();
    assert!(in_registers.len() >= 5);
    for planted in in_registers
        .iter()
        .flat_map(|p| [Copies::Nearest, Copies::First].map(|c| PlantedUnit { copies: c, ..p.clone() }))
    {
        let mut unit = right(&planted);
        let batch = Batch::drawn(unit.spec(), 12, 4);
        let fragment = unit.fragment().unwrap().clone();
        let gather = |of, x: &Matrix| fragment.gather(of, x).unwrap();
        let (a, b) = (gather(FragmentOperand::A, &batch.a), gather(FragmentOperand::B, &batch.b));
        let c = gather(FragmentOperand::C, &batch.c);
        let d = execute_fragments(&mut unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        let tiles = fragment.scatter(FragmentOperand::C, &d).unwrap();
        assert_eq!(tiles, batch.ask(&mut unit), "{}", planted.name);
        assert_eq!(fragment.c.disagreement(&d), None, "{}", planted.name);
    }
}

#[test]
fn each_lane_reads_its_nearest_copy_or_all_read_the_first() {
    let nearest = planted("registers: lanes that read their own copies");
    let ask = |planted: &PlantedUnit| {
        let mut unit = unit(planted);
        let matrix = |format, rows, cols, bytes: &[u8]| Matrix { format, rows, cols, bytes: bytes.to_vec() };
        let t = planted.triple;
        // Lane 0 says that A is (1, 2), lane 1 that it is (3, 4); B is (10, 20) in lane 0 and (30, 40) in lane 1.
        let a = matrix(t.a, 2, 2, &[1, 2, 3, 4]);
        let b = matrix(t.b, 2, 2, &[10, 20, 30, 40]);
        let c = Matrix::zeroed(t.c, 2, 1);
        let d = execute_fragments(&mut unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        [d.get(0, 0), d.get(1, 0)]
    };
    assert_eq!(ask(&nearest), [50, 250]);
    assert_eq!(ask(&PlantedUnit { copies: Copies::First, ..nearest }), [50, 110]);
}

#[test]
fn what_is_not_there_is_said() {
    let mut device = device();
    assert!(names(&device).contains(&"absent: tcgen05".to_owned()));
    let Err(Absent(reason)) = device.unit("absent: tcgen05") else { panic!("it is there") };
    assert_eq!(reason, "this device is of an older architecture");
    let Err(Absent(reason)) = device.unit("nothing") else { panic!("it is there") };
    assert!(reason.contains("`nothing`") && reason.contains("hopper mma f16 to f32"), "{reason}");
    let mut unit = device.unit("hopper mma f16 to f32").unwrap();
    let none = Matrix::zeroed(unit.spec().triple.a, 1, 1);
    let asked = unit.fragments(Operands { a: &none, b: &none, c: &none, scales: None });
    assert!(matches!(asked, Err(Fault::Failed(reason)) if reason.contains("registers")));
}

#[test]
fn scales_beside_registers_lie_as_for_tiles() {
    let published = library().iter().find(|p| p.model.scales.is_some()).unwrap();
    let mut planted = PlantedUnit::published(published);
    let group = published.model.scales.unwrap().group;
    planted.shape = Shape::new(2, 2, 3 * group);
    let rows = |operand: &str, rows: usize, cols: usize| -> String {
        (0..rows * cols).map(|i| format!("{operand},{},{},{},{}\n", i / cols, i % cols, i / cols, i % cols)).collect()
    };
    // Lane i holds row i of A and of C; lane 0 and 1 share B by halves of its rows.
    let k = planted.shape.k;
    let of_b: String = (0..k * 2).map(|i| format!("b,{},{},{},{}\n", i / k, i % k, i % k, i / k)).collect();
    let text = format!("operand,lane,slot,row,column\n{}{of_b}{}", rows("a", 2, k), rows("c", 2, 2));
    planted.layout = Some(rigel_device::sim::unit_truth::PlantedLayout::Csv(text));
    let mut unit = unit(&planted);
    let batch = Batch::drawn(unit.spec(), 4, 2);
    let fragment = unit.fragment().unwrap().clone();
    let [a, b, c] = [(FragmentOperand::A, &batch.a), (FragmentOperand::B, &batch.b), (FragmentOperand::C, &batch.c)]
        .map(|(of, x)| fragment.gather(of, x).unwrap());
    let operands = Operands { a: &a, b: &b, c: &c, ..batch.operands() };
    let d = execute_fragments(&mut unit, operands).unwrap();
    assert_eq!(fragment.scatter(FragmentOperand::C, &d).unwrap(), execute(&mut unit, batch.operands()).unwrap());
    // The contract does not check scales beside registers: the unit does.
    let (x, y) = batch.scales.as_ref().unwrap();
    let swapped = Operands { scales: Some((y, x)), ..operands };
    let said = execute_fragments(&mut unit, swapped).unwrap_err().to_string();
    assert!(said.contains("scales") && said.contains("as for tiles"), "{said}");
}
