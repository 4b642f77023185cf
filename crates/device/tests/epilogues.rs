//! Does what follows a product come out right on every path of `cpu` and on a software device, fused and decomposed alike?

use rigel_device::cpu::Cpu;
use rigel_device::sim::{SimDevice, Truth};
use rigel_device::{Cache, Device, Epilogue, GemmSpec};
use rigel_numerics::epilogue::{self, Activation};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};

const RECIPE: Recipe = Recipe::NearNormal;

/// The output of a product with its bias below B, and how many elements lie outside the tolerance.
fn outside(device: &mut dyn Device, spec: &GemmSpec, epilogue: Epilogue) -> (Matrix, usize) {
    let Shape { m, n, k } = spec.shape;
    let a = RECIPE.matrix(spec.triple.a, 7, Operand::A, m, k);
    let b = RECIPE.matrix(spec.triple.b, 7, Operand::B, k + 1, n);
    let mut gemm = device.compile_with(spec, epilogue).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
    gemm.load().unwrap();
    gemm.bind(&a, &b).unwrap();
    gemm.poison().unwrap();
    gemm.run(2, Cache::Warm).unwrap();
    let output = gemm.output().unwrap();
    let tolerance = epilogue::tolerance(spec.triple, k);
    let wrong = (0..m * n).filter(|at| {
        let (row, column) = (at / n, at % n);
        let terms = (0..k).map(|k| (a.get(row, k), b.get(k, column)));
        let dot = epilogue::dot(spec.triple, epilogue.activation, terms, b.get(k, column)).unwrap();
        dot.sum.difference(spec.triple.c, output.get(row, column)) > tolerance.allowed(dot.magnitude.to_f64())
    });
    let wrong = wrong.count();
    (output, wrong)
}

#[test]
fn every_path_of_the_processor_finishes_its_products() {
    let mut cpu = Cpu::new();
    let mut tried = 0;
    for offer in cpu.offers().into_iter().filter(|offer| offer.absent.is_empty()) {
        let epilogues = cpu.epilogues(&offer.path, offer.triple);
        assert_eq!(epilogues.len(), if offer.triple.c == rigel_numerics::Format::F32 { 4 } else { 0 }, "{offer:?}");
        for activation in Activation::ALL.into_iter().filter(|_| !epilogues.is_empty()) {
            for shape in [Shape::new(1, 1, 1), Shape::new(33, 31, 17), Shape::new(65, 130, 600)] {
                let tile = cpu.tiles(&offer.path, offer.triple)[0].clone();
                let spec = GemmSpec { path: offer.path.clone(), triple: offer.triple, shape, tile };
                let [fused, apart] =
                    [true, false].map(|fused| outside(&mut cpu, &spec, Epilogue { activation, fused }));
                assert_eq!((fused.1, apart.1), (0, 0), "{spec:?} {activation}");
                // The same operations in the same order, wherever they happen.
                assert_eq!(fused.0, apart.0, "{spec:?} {activation}");
                tried += 1;
            }
        }
    }
    assert!(tried > 0);
}

#[test]
fn a_planted_epilogue_is_right_or_forgets_its_bias_as_planted() {
    let plain = include_str!("../src/sim/truths/plain.toml");
    let epilogue = "epilogue = { pass_rate = 2e11, fused_share = 0.1";
    let forgetful = plain.replace(epilogue, &format!("{epilogue}, forgets_bias = true"));
    assert_ne!(plain, forgetful);
    let triple: Triple = "f16,f16->f32".parse().unwrap();
    for (text, all_right) in [(plain, true), (&forgetful, false)] {
        let mut device = SimDevice::new(Truth::parse(text).unwrap()).unwrap();
        let tile = device.tiles("matmul2d", triple)[0].clone();
        let spec = GemmSpec { path: "matmul2d".into(), triple, shape: Shape::new(40, 24, 33), tile };
        assert_eq!(device.epilogues("matmul2d", triple).len(), 4);
        for epilogue in device.epilogues("matmul2d", triple) {
            let (_, wrong) = outside(&mut device, &spec, epilogue);
            assert_eq!(wrong == 0, all_right || !epilogue.fused, "{epilogue:?}");
        }
    }
}

#[test]
fn what_a_path_does_not_finish_is_refused_in_words() {
    let mut cpu = Cpu::new();
    let triple: Triple = "u8,i8->i32".parse().unwrap();
    let tile = cpu.tiles("scalar", triple)[0].clone();
    let spec = GemmSpec { path: "scalar".into(), triple, shape: Shape::cube(4), tile };
    let epilogue = Epilogue { activation: Activation::GeluTanh, fused: true };
    let said = cpu.compile_with(&spec, epilogue).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("i32"), "{said}");
}
