//! What does the backend `cuda` say with and without a driver? Whichever machine this runs on, nothing may panic.

use rigel_device::backends::{BACKENDS, open};
use rigel_device::cuda::Cuda;
use rigel_device::cuda::instruction::Instruction;
use rigel_device::unit::{Operands, execute};
use rigel_device::{Cache, CeilingSpec, GemmSpec, POISON};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Shape, Triple};

#[test]
fn devices_are_found_or_what_is_missing_is_said() {
    let backend = BACKENDS.iter().find(|b| b.name == "cuda").unwrap();
    let selectors = match (backend.find)() {
        Err(why) => {
            assert!(why.contains("driver"), "{why}");
            for selector in ["cuda", "cuda:0", "cuda:GPU-0", "cuda:nonsense"] {
                assert_eq!(open(selector).err(), Some(why.clone()), "{selector}");
            }
            println!("no GPU here: only the words were tested");
            return;
        }
        Ok(selectors) => selectors,
    };
    assert!(open("cuda:nonsense").err().unwrap().contains(&selectors[0]));
    for selector in &selectors {
        let mut device = open(selector).unwrap();
        let d = device.describe();
        assert!(d.id.starts_with("GPU-") && !d.name.is_empty() && d.cores > 0 && d.memory_bytes > 0, "{d:?}");
        assert_eq!(open(&format!("cuda:{}", d.id)).unwrap().describe(), d);
        assert_eq!(device.health(), Ok(()));
        assert!(!device.offers().is_empty());
        let (found, missing) = device.meters();
        assert_eq!(found.len() + missing.len(), 3);
        assert!(missing.iter().all(|meter| !meter.reason.is_empty()));
    }
}

#[test]
fn what_is_no_path_tile_or_unit_is_refused_in_words() {
    let Ok(mut device) = open("cuda") else {
        println!("skipped: no GPU here");
        return;
    };
    let triple = Triple::new(Format::F16, Format::F16, Format::F32);
    let spec =
        |path: &str, tile: &str| GemmSpec { path: path.into(), triple, shape: Shape::cube(64), tile: tile.into() };
    let mut said = |path, tile| device.compile(&spec(path, tile)).err().unwrap().to_string();
    assert!(said("tensor", "128x256").contains("scalar, tiled, mma.sync, wgmma, cublaslt"));
    assert!(said("mma.sync", "large").contains("no launch tile"));
    let spec = CeilingSpec { path: "mma.sync".into(), triple, variant: "ilp9".into() };
    assert!(device.ceiling(&spec).err().unwrap().to_string().contains("ilp8x16"));
    assert!(device.unit("mma.sync.m1n1k1").err().unwrap().to_string().contains("mma.sync.m16n8k16"));
}

/// Ragged extents, so that padding is multiplied and nothing of it is seen; small integers, so that every path must give every bit.
#[test]
fn every_path_multiplies_ragged_matrices_of_small_integers_exactly() {
    let Ok(mut device) = open("cuda") else {
        println!("skipped: no GPU here");
        return;
    };
    let shape = Shape::new(133, 270, 97);
    for offer in device.offers().into_iter().filter(|offer| offer.absent.is_empty() && offer.advertised.yes) {
        let filled = |format: Format, rows: usize, cols: usize, period: usize| {
            let mut x = Matrix::zeroed(format, rows, cols);
            let encode = |v: usize| format.encode(v as f64, Rounding::NearestEven, Overflow::Saturate);
            (0..rows * cols).for_each(|e| x.set(e / cols, e % cols, encode((e * e + e / 3) % period)));
            x
        };
        let (a, b) = (filled(offer.triple.a, shape.m, shape.k, 3), filled(offer.triple.b, shape.k, shape.n, 2));
        for tile in device.tiles(&offer.path, offer.triple) {
            let spec = GemmSpec { path: offer.path.clone(), triple: offer.triple, shape, tile };
            let mut gemm = device.compile(&spec).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
            gemm.load().unwrap();
            gemm.bind(&a, &b).unwrap();
            gemm.poison().unwrap();
            assert!(gemm.output().unwrap().bytes.iter().all(|&byte| byte == POISON), "{spec:?}");
            for cache in [Cache::Warm, Cache::Cold] {
                assert_eq!(gemm.run(3, cache).unwrap().len(), 3);
                let c = gemm.output().unwrap();
                for (i, j) in (0..shape.m).flat_map(|i| (0..shape.n).map(move |j| (i, j))) {
                    let exact: f64 = (0..shape.k).map(|p| a.value(i, p) * b.value(p, j)).sum();
                    assert_eq!(c.value(i, j), exact, "{spec:?}, ({i}, {j})");
                }
            }
        }
    }
}

#[test]
fn small_integers_come_out_exactly_in_every_element_of_every_unit_with_tiles() {
    let Ok(cuda) = Cuda::open("cuda") else {
        println!("skipped: no GPU here");
        return;
    };
    let mut asked = 0;
    for instruction in Instruction::all().iter().filter(|i| i.target <= cuda.target()) {
        let mut unit = cuda.instruction(instruction).unwrap();
        if unit.fragment().is_err() {
            continue;
        }
        let (Shape { m, n, k }, Triple { a, b, c, .. }, tiles) = (instruction.shape, instruction.triple, 5);
        let filled = |format: Format, rows: usize, cols: usize, period: usize| {
            let mut x = Matrix::zeroed(format, rows, cols);
            let encode = |v: usize| format.encode(v as f64, Rounding::NearestEven, Overflow::Saturate);
            (0..rows * cols).for_each(|e| x.set(e / cols, e % cols, encode((e * e + e / 3) % period)));
            x
        };
        let (a, b, c) = (filled(a, tiles * m, k, 7), filled(b, tiles * k, n, 5), filled(c, tiles * m, n, 11));
        let d = execute(&mut unit, Operands { a: &a, b: &b, c: &c, scales: None }).unwrap();
        for (row, j) in (0..tiles * m).flat_map(|row| (0..n).map(move |j| (row, j))) {
            let products = (0..k).map(|p| a.value(row, p) * b.value(row / m * k + p, j));
            let exact = products.sum::<f64>() + c.value(row, j);
            assert_eq!(d.value(row, j), exact, "{}, ({row}, {j})", instruction.name());
        }
        asked += 1;
    }
    assert!(asked > 0);
}
