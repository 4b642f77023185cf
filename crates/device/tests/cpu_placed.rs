//! Do products of the processor have the same bits wherever their operands lie, and do toolchains say what took effect?

use rigel_device::contract::*;
use rigel_device::cpu::Cpu;
use rigel_numerics::placement::{Placement, Stride};
use rigel_numerics::{Matrix, Operand, Recipe, Shape};

fn output(gemm: &mut dyn Gemm, a: &Matrix, b: &Matrix) -> Matrix {
    gemm.load().unwrap();
    gemm.bind(a, b).unwrap();
    gemm.poison().unwrap();
    gemm.run(1, Cache::Warm).unwrap();
    gemm.output().unwrap()
}

#[test]
fn products_have_the_same_bits_wherever_their_operands_lie() {
    let mut cpu = Cpu::new();
    let shape = Shape::new(37, 45, 61);
    for offer in cpu.offers().into_iter().filter(|offer| offer.absent.is_empty()) {
        let triple = offer.triple;
        let a = Recipe::Uniform.matrix(triple.a, 1, Operand::A, shape.m, shape.k);
        let b = Recipe::Uniform.matrix(triple.b, 1, Operand::B, shape.k, shape.n);
        let tile = cpu.placed_tiles(&offer.path, triple).remove(0);
        let spec = GemmSpec { path: offer.path.clone(), triple, shape, tile };
        let plain = output(&mut *cpu.compile(&spec).unwrap(), &a, &b);
        for (offset, stride) in [
            (0, Stride::Plus(0)),
            (1, Stride::Plus(8)),
            (3, Stride::Multiple(64)),
            (63, Stride::Plus(64)),
            (4095, Stride::Multiple(4096)),
        ] {
            let placed = cpu.compile_placed(&spec, Placement { offset, stride });
            let found = output(&mut *placed.unwrap(), &a, &b);
            assert!(found == plain, "{} {triple} {offset}/{stride}", offer.path);
        }
        // A distance that holds no whole number of elements.
        let odd = cpu.compile_placed(&spec, Placement { offset: 0, stride: Stride::Plus(1) });
        let wide = triple.a.bits() > 8;
        assert_eq!(odd.is_err(), wide, "{} {triple}", offer.path);
        assert!(odd.err().is_none_or(|refusal| refusal.diagnostic.contains("counts elements")));
    }
}

#[test]
fn toolchains_are_accepted_where_paths_are_and_refused_at_load_where_features_are_missing() {
    let mut cpu = Cpu::new();
    let shape = Shape::new(8, 8, 16);
    for offer in cpu.offers() {
        let triple = offer.triple;
        let [name] = cpu.toolchains(&offer.path, triple).try_into().unwrap();
        let spec = GemmSpec { path: offer.path.clone(), triple, shape, tile: name };
        match (cpu.compile_by(&spec), offer.absent.is_empty()) {
            (Ok(gemm), true) => assert!(gemm.took_effect().contains("detected: "), "{}", gemm.took_effect()),
            (Err(refusal), false) => {
                assert_eq!((refusal.rung, refusal.diagnostic), (Rung::Load, offer.absent.clone()));
            }
            (made, _) => panic!("{} {triple}: {:?} beside `{}`", offer.path, made.err(), offer.absent),
        }
    }
}
