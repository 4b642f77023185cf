//! What does the backend `cuda` say with and without a driver? Whichever machine this runs on, nothing may panic.

use rigel_device::backends::{BACKENDS, open};
use rigel_device::cuda::Cuda;
use rigel_device::cuda::instruction::Instruction;
use rigel_device::unit::{Operands, execute};
use rigel_device::{CeilingSpec, GemmSpec};
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
fn paths_are_refused_in_words() {
    let Ok(mut device) = open("cuda") else {
        println!("skipped: no GPU here");
        return;
    };
    let triple = Triple::new(Format::F16, Format::F16, Format::F32);
    let spec = GemmSpec { path: "wgmma".into(), triple, shape: Shape::cube(64), tile: String::new() };
    let said = device.compile(&spec).err().unwrap().to_string();
    assert!(said.contains("no path yet") && said.contains("wgmma"), "{said}");
    let spec = CeilingSpec { path: "mma.sync".into(), triple, variant: String::new() };
    assert!(device.ceiling(&spec).err().unwrap().to_string().contains("no path yet"));
    assert!(device.unit("mma.sync.m1n1k1").err().unwrap().to_string().contains("mma.sync.m16n8k16"));
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
