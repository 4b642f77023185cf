//! Is every product of the device `cpu` right, whatever its path, type triple, shape and launch tile?

use rigel_device::{Cache, Device, Fault, Gemm, GemmSpec, POISON, Rung, cpu::Cpu};
use rigel_numerics::{Format, Matrix, Operand, Recipe, Shape, Triple};

/// Shapes around the register tiles (14 × 32 and smaller), K tails of every instruction group, several slabs of k.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 1, 7),
    (8, 8, 8),
    (9, 9, 9),
    (13, 31, 3),
    (14, 32, 4),
    (15, 33, 5),
    (6, 16, 2),
    (2, 65, 130),
    (33, 1, 70),
    (1, 50, 33),
    (29, 63, 64),
    (57, 40, 97),
    (70, 70, 70),
];

fn compile(cpu: &mut Cpu, path: &str, triple: Triple, shape: Shape, tile: &str) -> Box<dyn Gemm> {
    let spec = GemmSpec { path: path.into(), triple, shape, tile: tile.into() };
    let mut gemm = cpu.compile(&spec).unwrap();
    gemm.load().unwrap();
    gemm
}

fn operands(recipe: Recipe, triple: Triple, shape: Shape, seed: u64) -> (Matrix, Matrix) {
    (
        recipe.matrix(triple.a, seed, Operand::A, shape.m, shape.k),
        recipe.matrix(triple.b, seed, Operand::B, shape.k, shape.n),
    )
}

fn offered(cpu: &Cpu) -> Vec<(String, Triple)> {
    cpu.offers().into_iter().filter(|o| o.absent.is_empty()).map(|o| (o.path, o.triple)).collect()
}

/// Integers: exact modulo 2^32. Floats: within 2·K·u·Σ|a||b| of a plain f64 sum, u the unit roundoff of C; the factor 2
/// covers the error of that sum when C is f64, and vanishes otherwise.
fn assert_right(what: &str, triple: Triple, a: &Matrix, b: &Matrix, c: &Matrix) {
    assert_eq!((c.format, c.rows, c.cols), (triple.c, a.rows, b.cols), "{what}");
    let (u, slack) = if triple.c == Format::F64 { (f64::EPSILON / 2.0, 2.0) } else { (2f64.powi(-24), 1.0 + 1e-6) };
    let values = |m: &Matrix| -> Vec<f64> { (0..m.rows * m.cols).map(|i| m.value(i / m.cols, i % m.cols)).collect() };
    let (x, y) = (values(a), values(b));
    for row in 0..a.rows {
        for col in 0..b.cols {
            let terms = (0..a.cols).map(|k| x[row * a.cols + k] * y[k * b.cols + col]);
            if triple.is_integer() {
                let exact: i64 = terms.map(|t| t as i64).sum();
                assert_eq!(c.get(row, col) as u32, exact as u32, "{what} at {row}, {col}");
            } else {
                let (sum, size) = terms.fold((0.0, 0.0), |(s, m), t| (s + t, m + t.abs()));
                let error = (c.value(row, col) - sum).abs();
                let bound = slack * a.cols as f64 * u * size;
                assert!(
                    error <= bound,
                    "{what} at {row}, {col}: {} is {error:e} off, bound {bound:e}",
                    c.value(row, col)
                );
            }
        }
    }
}

#[test]
fn every_offered_product_is_right_at_every_edge() {
    let mut cpu = Cpu::new();
    for (path, triple) in offered(&cpu) {
        for (i, &(m, n, k)) in SHAPES.iter().enumerate() {
            let shape = Shape::new(m, n, k);
            let recipe = [Recipe::NearNormal, Recipe::Uniform, Recipe::SmallIntegers][i % 3];
            let (a, b) = operands(recipe, triple, shape, i as u64);
            let best = cpu.tiles(&path, triple)[0].clone();
            for tile in [best.as_str(), "mc1kc1nc1", "mc20kc24nc40"] {
                let mut gemm = compile(&mut cpu, &path, triple, shape, tile);
                gemm.bind(&a, &b).unwrap();
                gemm.poison().unwrap();
                assert!(gemm.output().unwrap().bytes.iter().all(|&byte| byte == POISON));
                assert_eq!(gemm.run(1, Cache::Warm).unwrap().len(), 1);
                assert_right(
                    &format!("{path} {triple} {shape} {tile} {recipe}"),
                    triple,
                    &a,
                    &b,
                    &gemm.output().unwrap(),
                );
            }
        }
    }
}

#[test]
fn every_listed_tile_is_right_on_all_cores() {
    let mut cpu = Cpu::new();
    let shape = Shape::new(61, 75, 150);
    for (path, triple) in offered(&cpu) {
        let (a, b) = operands(Recipe::NearNormal, triple, shape, 5);
        for tile in cpu.tiles(&path, triple) {
            assert!(cpu.tile_extents(&path, triple, &tile).is_some());
            let mut gemm = compile(&mut cpu, &path, triple, shape, &tile);
            gemm.bind(&a, &b).unwrap();
            gemm.run(1, Cache::Warm).unwrap();
            assert_right(&format!("{path} {triple} {tile}"), triple, &a, &b, &gemm.output().unwrap());
        }
    }
}

#[test]
fn integer_sums_wrap() {
    let mut cpu = Cpu::new();
    let shape = Shape::new(2, 3, 140_000);
    for (path, triple) in offered(&cpu).into_iter().filter(|(_, t)| t.is_integer()) {
        let fill = |format: Format, rows, cols, byte| Matrix { format, rows, cols, bytes: vec![byte; rows * cols] };
        let a = fill(triple.a, shape.m, shape.k, if triple.a == Format::U8 { 0xFF } else { 0x80 });
        let b = fill(triple.b, shape.k, shape.n, 0x80);
        let tile = cpu.tiles(&path, triple)[0].clone();
        let mut gemm = compile(&mut cpu, &path, triple, shape, &tile);
        gemm.bind(&a, &b).unwrap();
        gemm.run(1, Cache::Warm).unwrap();
        let exact = 140_000 * a.value(0, 0) as i64 * -128;
        assert!(i32::try_from(exact).is_err(), "the sum must leave i32 for this test to mean anything");
        let output = gemm.output().unwrap();
        assert!((0..2).all(|r| (0..3).all(|c| output.get(r, c) as u32 == exact as u32)), "{path} {triple}");
    }
}

#[test]
fn every_repetition_has_the_same_bits_warm_or_cold_on_any_number_of_cores() {
    let mut cpu = Cpu::new();
    let shape = Shape::new(75, 90, 200);
    for (path, triple) in offered(&cpu) {
        let (a, b) = operands(Recipe::NearNormal, triple, shape, 9);
        let mut gemm = compile(&mut cpu, &path, triple, shape, "mc20kc64nc40");
        gemm.bind(&a, &b).unwrap();
        gemm.run(1, Cache::Warm).unwrap();
        let first = gemm.output().unwrap();
        for cache in [Cache::Warm, Cache::Warm, Cache::Cold] {
            gemm.poison().unwrap();
            let samples = gemm.run(2, cache).unwrap();
            assert_eq!(samples.len(), 2);
            assert!(samples.iter().all(|s| s.time.0 > 0));
            assert_eq!(gemm.output().unwrap(), first, "{path} {triple} {cache:?}");
        }
    }
}

#[test]
fn infinities_and_nan_come_through_conversion() {
    let mut cpu = Cpu::new();
    for (path, triple) in offered(&cpu).into_iter().filter(|(_, t)| t.a == Format::F16 || t.a == Format::E5m2) {
        let shape = Shape::new(2, 1, 1);
        let mut a = Matrix::zeroed(triple.a, 2, 1);
        let mut b = Matrix::zeroed(triple.b, 1, 1);
        let (infinity, nan, one) = if triple.a == Format::F16 { (0x7C00, 0x7E00, 0x3C00) } else { (0x7C, 0x7E, 0x3C) };
        a.set(0, 0, infinity);
        a.set(1, 0, nan);
        b.set(0, 0, one);
        let tile = cpu.tiles(&path, triple)[0].clone();
        let mut gemm = compile(&mut cpu, &path, triple, shape, &tile);
        gemm.bind(&a, &b).unwrap();
        gemm.run(1, Cache::Warm).unwrap();
        let output = gemm.output().unwrap();
        assert_eq!(output.value(0, 0), f64::INFINITY, "{path} {triple}");
        assert!(output.value(1, 0).is_nan(), "{path} {triple}");
    }
}

#[test]
fn what_is_not_offered_is_refused_in_words() {
    let mut cpu = Cpu::new();
    let good = GemmSpec {
        path: "tiled".into(),
        triple: "f32,f32->f32".parse().unwrap(),
        shape: Shape::cube(4),
        tile: "mc4kc4nc4".into(),
    };
    assert!(cpu.compile(&good).is_ok());
    let bad = [
        (GemmSpec { path: "wgmma".into(), ..good.clone() }, "no path `wgmma`"),
        (GemmSpec { triple: "e2m1,e2m1->f32".parse().unwrap(), ..good.clone() }, "does not offer e2m1,e2m1->f32"),
        (GemmSpec { tile: "128x128".into(), ..good.clone() }, "not a launch tile"),
    ];
    for (spec, words) in bad {
        let refusal = cpu.compile(&spec).err().unwrap();
        assert_eq!(refusal.rung, Rung::Compile);
        assert!(refusal.diagnostic.contains(words), "{}", refusal.diagnostic);
    }
}

#[test]
fn misuse_is_a_fault_not_a_crash() {
    let mut cpu = Cpu::new();
    let triple: Triple = "f32,f32->f32".parse().unwrap();
    let spec = GemmSpec { path: "tiled".into(), triple, shape: Shape::cube(4), tile: "mc4kc4nc4".into() };
    let mut gemm = cpu.compile(&spec).unwrap();
    assert!(matches!(gemm.run(1, Cache::Warm), Err(Fault::Failed(_))));
    assert!(matches!(gemm.output(), Err(Fault::Failed(_))));
    gemm.load().unwrap();
    let small = Matrix::zeroed(Format::F32, 4, 3);
    let right = Matrix::zeroed(Format::F32, 4, 4);
    let fault = gemm.bind(&small, &right).unwrap_err().to_string();
    assert!(fault.contains("operand A is 4 x 3") && fault.contains("takes 4 x 4"), "{fault}");
    gemm.bind(&right, &right).unwrap();
    assert!(gemm.run(1, Cache::Warm).is_ok());
}

#[test]
fn a_product_too_large_for_memory_is_refused_at_load() {
    let mut cpu = Cpu::new();
    let triple: Triple = "f64,f64->f64".parse().unwrap();
    let shape = Shape::new(Shape::MAX, Shape::MAX, 1);
    let spec = GemmSpec { path: "tiled".into(), triple, shape, tile: "mc4kc4nc4".into() };
    let refusal = cpu.compile(&spec).unwrap().load().unwrap_err();
    assert_eq!(refusal.rung, Rung::Load);
    assert!(refusal.diagnostic.contains("8796093022208 bytes"), "{}", refusal.diagnostic);
}

#[test]
fn the_device_describes_itself_and_is_healthy() {
    let mut cpu = Cpu::new();
    let description = cpu.describe();
    assert_eq!(description.backend, "cpu");
    assert!(description.cores >= 1 && !description.id.is_empty());
    assert_eq!(cpu.health(), Ok(()));
    for offer in cpu.offers() {
        assert!(!offer.advertised.source.is_empty() && offer.rough_rate > 0.0);
        assert!(!cpu.tiles(&offer.path, offer.triple).is_empty());
    }
}
