//! Are bad states of a Metal device answers that say what happened, and does everything else go on?
//!
//! A system older than `matmul2d`, too little memory, a kernel that the device stops, and one that takes the device along.

#[path = "metal_host/mod.rs"]
mod metal_host;

use metal_host::products::wrong;
use rigel_device::contract::{Description, Fault, Meter, MissingMeter, Refusal, Rung};
use rigel_device::metal::device::MetalDevice;
use rigel_device::metal::element::Element::*;
use rigel_device::metal::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use rigel_device::metal::level::{Language, Sdk};
use rigel_device::metal::operation::Operation;
use rigel_device::metal::product::{Path, Product};
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Alignment, Misaligned, Planted};
use rigel_device::metal::text::Source;
use rigel_device::metal::triples::Types;
use rigel_device::{Device, GemmSpec};
use rigel_numerics::{Format, Shape, Time, Triple};
use std::cell::RefCell;
use std::rc::Rc;

const HALF: Types = Types::new(Half, Half, Float);

/// A device whose system has languages to 3.2 and no header of operations.
struct Older(Simulated);

impl Gpu for Older {
    fn describe(&self) -> Description {
        self.0.describe()
    }
    fn sdk(&self) -> Option<Sdk> {
        None
    }
    fn last_level_bytes(&self) -> u64 {
        self.0.last_level_bytes()
    }
    fn compile(&mut self, source: &Source) -> Result<Library, Refusal> {
        if source.language > Language::V3_2 {
            let diagnostic = format!("error: invalid value 'metal{0}' in '-std=metal{0}'", source.language);
            return Err(Refusal { rung: Rung::Compile, diagnostic });
        }
        self.0.compile(source)
    }
    fn load(&mut self, file: &std::path::Path) -> Result<Library, Refusal> {
        self.0.load(file)
    }
    fn pipeline(&mut self, library: Library, kernel: &str) -> Result<Pipeline, Refusal> {
        self.0.pipeline(library, kernel)
    }
    fn buffer(&mut self, bytes: &[u8]) -> Result<Buffer, Fault> {
        self.0.buffer(bytes)
    }
    fn read(&mut self, buffer: Buffer) -> Result<Vec<u8>, Fault> {
        self.0.read(buffer)
    }
    fn free(&mut self, buffer: Buffer) {
        self.0.free(buffer);
    }
    fn chain(&mut self, launches: &[Launch], repeats: u32) -> Result<Time, Fault> {
        self.0.chain(launches, repeats)
    }
    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        self.0.meters()
    }
}

fn simulated(planted: Planted) -> Option<Simulated> {
    Some(metal_host::simulated(metal_host::clang_or_skip()?, Sdk::V26_1, planted))
}

#[test]
fn an_older_system_has_every_path_but_matmul2d_which_says_which_system_has_it() {
    let Some(gpu) = simulated(Planted::PLAIN) else { return };
    let mut device = MetalDevice::new(Older(gpu));
    assert_eq!(device.health(), Ok(()));
    let offers = device.offers();
    assert!(offers.iter().any(|offer| offer.path.starts_with("matmul2d")));
    for offer in &offers {
        let said = if offer.path.starts_with("matmul2d") {
            "this system has no matmul2d; macOS 26.1 or newer has"
        } else {
            ""
        };
        assert_eq!(offer.absent, said, "{} {}", offer.path, offer.triple);
    }
    let triple = Triple::new(Format::F16, Format::F16, Format::F32);
    for (path, is_there) in [("scalar", true), ("tiled", true), ("simdgroup_matrix", true), ("matmul2d", false)] {
        let tile = device.tiles(path, triple)[0].clone();
        let spec = GemmSpec { path: path.into(), triple, shape: Shape::new(9, 9, 9), tile };
        match device.compile(&spec) {
            Ok(mut gemm) => assert!(is_there && gemm.load().is_ok(), "{path}"),
            Err(refusal) => {
                assert!(!is_there && refusal.diagnostic.contains("invalid value 'metal4.0'"), "{path}: {refusal:?}");
            }
        }
    }
    // Units alike; and questions on rules are answers or words.
    for (name, is_there) in [("simdgroup_matrix.m8n8k8.f16.f16.f32", true), ("matmul2d.m16n32k32.f16.f16.f32", false)] {
        match device.unit(name) {
            Ok(_) => assert!(is_there, "{name}"),
            Err(absent) => assert!(!is_there && absent.0.contains("metal4.0"), "{absent:?}"),
        }
    }
    let questions = device.rules(&[]).len();
    let answers: Vec<_> = (0..questions).flat_map(|number| device.rule(&[], number)).collect();
    assert!(answers.len() >= questions && answers.iter().all(|answer| !answer.answer.is_empty()), "{answers:#?}");
}

fn product(path: Path, shape: Shape) -> Product {
    Product { path, operation: Operation::new(HALF, 1, 1).with_tile("16x32k32s1").unwrap(), shape }
}

#[test]
fn too_little_memory_is_said_in_bytes_and_smaller_products_go_on() {
    let Some(mut gpu) = simulated(Planted::PLAIN) else { return };
    gpu.memory = 1 << 16;
    assert_eq!(gpu.describe().memory_bytes, 1 << 16);
    let gpu = Rc::new(RefCell::new(gpu));
    for _ in 0..3 {
        let said = wrong(&gpu, product(Path::Inline, Shape::new(256, 256, 64))).unwrap();
        assert!(
            said.contains("out of memory: a buffer of") && said.contains("of this device's 65536 are left"),
            "{said}"
        );
        // What was taken for it was given back.
        assert_eq!(wrong(&gpu, product(Path::Inline, Shape::new(32, 32, 32))), None);
    }
}

#[test]
fn a_kernel_that_is_stopped_is_a_fault_in_words_and_one_that_takes_the_device_along_is_a_lost_device() {
    let inlined = Alignment { bytes: 64, outcome: Misaligned::Refused };
    let Some(gpu) = simulated(Planted { inlined, ..Planted::PLAIN }) else { return };
    let gpu = Rc::new(RefCell::new(gpu));
    let said = wrong(&gpu, product(Path::Inline, Shape::new(33, 31, 17))).unwrap();
    assert!(said.contains("the row stride of an inline tensor is not aligned as this device demands"), "{said}");
    assert_eq!(wrong(&gpu, product(Path::Handle, Shape::new(33, 31, 17))), None);
    assert_eq!(wrong(&gpu, product(Path::Inline, Shape::new(32, 32, 32))), None);

    let text = "#include <metal_stdlib>\nusing namespace metal;\n\
                [[kernel]] void far(device float *x [[buffer(0)]], uint2 group [[threadgroup_position_in_grid]]) {\n  \
                x[(1l << 44) + group.x] = 1.0f;\n}\n";
    let source = Source { name: "far.metal", text: text.into(), language: Language::V3_1 };
    let mut gpu = gpu.borrow_mut();
    let library = gpu.compile(&source).unwrap();
    let pipeline = gpu.pipeline(library, "far").unwrap();
    let buffer = gpu.buffer(&[0; 4]).unwrap();
    let bindings = vec![(0, Binding::Buffer { buffer, offset: 0 })];
    let launch = Launch { pipeline, groups: [1, 1, 1], threads: 1, bindings };
    let lost = gpu.launch(&launch, 1).unwrap_err();
    assert!(matches!(lost, Fault::DeviceLost(_)), "{lost:?}");
    assert!(matches!(gpu.read(buffer), Err(Fault::DeviceLost(_))), "it stays lost, and nothing hangs");
}
