//! Do products through the kernels that ship keep their bits wherever their operands lie, do planted rules of distances show in them, and
//! does each language answer with what took effect?

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::contract::*;
use rigel_device::metal::device::MetalDevice;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Alignment, Misaligned, Planted};
use rigel_numerics::placement::{Placement, Stride};
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};

const HALF: &str = "f16,f16->f32";
const SHAPE: Shape = Shape { m: 24, n: 48, k: 32 };

fn device(planted: Planted) -> Option<MetalDevice<Simulated>> {
    let clang = metal_host::clang_or_skip()?;
    Some(MetalDevice::new(metal_host::simulated(clang, Sdk::V26_5, planted)))
}

fn spec(device: &MetalDevice<Simulated>, path: &str) -> GemmSpec {
    let triple: Triple = HALF.parse().unwrap();
    let tile = device.placed_tiles(path, triple).remove(0);
    GemmSpec { path: path.into(), triple, shape: SHAPE, tile }
}

fn output(gemm: &mut dyn Gemm) -> Result<Matrix, Fault> {
    let triple: Triple = HALF.parse().unwrap();
    let a = Recipe::Uniform.matrix(triple.a, 1, Operand::A, SHAPE.m, SHAPE.k);
    let b = Recipe::Uniform.matrix(triple.b, 1, Operand::B, SHAPE.k, SHAPE.n);
    gemm.load().unwrap();
    gemm.bind(&a, &b)?;
    gemm.poison()?;
    gemm.run(1, Cache::Warm)?;
    gemm.output()
}

#[test]
fn products_have_the_same_bits_wherever_their_operands_lie() {
    let Some(mut device) = device(Planted::PLAIN) else { return };
    for path in ["scalar", "tiled", "simdgroup_matrix", "matmul2d", "matmul2d.cooperative", "matmul2d.handle"] {
        let spec = spec(&device, path);
        let plain = output(&mut *device.compile(&spec).unwrap()).unwrap();
        for (offset, stride) in [(0, Stride::Multiple(256)), (2, Stride::Plus(8)), (64, Stride::Plus(0))] {
            let placement = Placement { offset, stride };
            let found = output(&mut *device.compile_placed(&spec, placement).unwrap()).unwrap();
            assert!(found == plain, "{path} {placement}");
        }
        let odd = device.compile_placed(&spec, Placement { offset: 0, stride: Stride::Plus(1) });
        assert!(odd.err().unwrap().diagnostic.contains("count elements of half"), "{path}");
    }
}

#[test]
fn planted_rules_of_distances_show_in_products() {
    let rule = |outcome| Alignment { bytes: 64, outcome };
    let planted = Planted { handle: rule(Misaligned::Refused), inlined: rule(Misaligned::Wrong), ..Planted::PLAIN };
    let Some(mut device) = device(planted) else { return };
    let plain = output(&mut *device.compile(&spec(&device, "scalar")).unwrap()).unwrap();
    let at = |more| Placement { offset: 0, stride: Stride::Multiple(more) };
    for (path, refused) in [("matmul2d.handle", true), ("matmul2d", false)] {
        let spec = spec(&device, path);
        let fits = output(&mut *device.compile_placed(&spec, at(128)).unwrap()).unwrap();
        assert!(fits == plain, "{path}");
        let other = Placement { offset: 0, stride: Stride::Plus(16) };
        match output(&mut *device.compile_placed(&spec, other).unwrap()) {
            Err(fault) => assert!(refused && !fault.to_string().is_empty(), "{path}: {fault}"),
            Ok(found) => assert!(!refused && found != plain, "{path}"),
        }
    }
}

#[test]
fn a_rule_of_tensors_for_machine_learning_shows_in_products_over_those_alone() {
    let rule = Alignment { bytes: 64, outcome: Misaligned::Refused };
    let Some(mut device) = device(Planted { machine_learning: rule, ..Planted::PLAIN }) else { return };
    let spec = spec(&device, "matmul2d.handle");
    let tiles = device.placed_tiles("matmul2d.handle", spec.triple);
    assert_eq!(tiles, ["64x64s4", "64x64s4+render", "64x64s4+machine-learning"]);
    let plain = output(&mut *device.compile(&spec).unwrap()).unwrap();
    for tile in tiles {
        let is_bound = tile.ends_with("+machine-learning");
        for (stride, fits) in [(Stride::Multiple(64), true), (Stride::Plus(16), false)] {
            let spec = GemmSpec { tile: tile.clone(), ..spec.clone() };
            match output(&mut *device.compile_placed(&spec, Placement { offset: 0, stride }).unwrap()) {
                Ok(found) => assert!(found == plain && (fits || !is_bound), "{tile} {stride}"),
                Err(fault) => assert!(is_bound && !fits && fault.to_string().contains("64 bytes"), "{tile}: {fault}"),
            }
        }
    }
    // A path whose kernel makes its tensors has no uses to choose.
    assert_eq!(device.placed_tiles("matmul2d", spec.triple), ["64x64s4"]);
}

#[test]
fn each_language_answers_with_what_took_effect_or_in_the_compilers_words() {
    let Some(mut device) = device(Planted::PLAIN) else { return };
    let triple: Triple = HALF.parse().unwrap();
    let mut answers = Vec::new();
    for (path, name) in ["tiled", "matmul2d"]
        .into_iter()
        .flat_map(|path| ["metal-4.1", "metal-4.0", "metal-3.1"].map(|name| (path, name)))
    {
        assert!(device.toolchains(path, triple).contains(&name.to_owned()));
        let spec = GemmSpec { path: path.into(), triple, shape: SHAPE, tile: name.into() };
        let answer = device.compile_by(&spec).map(|mut gemm| (output(&mut *gemm).unwrap(), gemm.took_effect()));
        answers.push((path, name, answer));
    }
    for (path, name, answer) in answers {
        match (path, name, answer) {
            // The header of 26.5 goes with 4.0, and tensors with 4.0 and later.
            (_, "metal-4.1", Err(refusal)) => assert!(refusal.diagnostic.contains("invalid value"), "{refusal}"),
            ("matmul2d", "metal-3.1", Err(refusal)) => assert_eq!(refusal.rung, Rung::Compile),
            ("matmul2d", "metal-4.0", Ok((_, took))) => {
                assert!(
                    took.starts_with("__METAL_VERSION__ 400, oldest system 260500, with tensors, without"),
                    "{took}"
                );
            }
            ("tiled", "metal-4.0" | "metal-3.1", Ok((_, took))) => {
                assert!(took.contains("__METAL_VERSION__"), "{took}")
            }
            (path, name, answer) => panic!("{path} {name}: {:?}", answer.map(|(_, took)| took)),
        }
    }
}
