//! What does a GPU that speaks Metal offer through the device contract?

use super::gemm::MetalGemm;
use super::gpu::Gpu;
use super::level::{Language, Sdk};
use super::product::{Path, Product, triple_of, types_of};
use super::text::Kernel;
use super::triples::Types;
use super::unit::{Instruction, MetalUnit};
use super::{element::Element, probe};
use crate::contract::*;
use crate::unit::{Unit, UnitSpec};
use rigel_numerics::{Shape, Triple};
use std::cell::RefCell;
use std::rc::Rc;

/// Multiply-adds a second that estimates of duration start from; never reported.
const ROUGH_RATE: f64 = 2e12;

/// A Metal device behind the contract, over anything that is a [`Gpu`].
pub struct MetalDevice<G: Gpu> {
    gpu: Rc<RefCell<G>>,
}

impl<G: Gpu + 'static> MetalDevice<G> {
    /// A device over a GPU.
    pub fn new(gpu: G) -> MetalDevice<G> {
        MetalDevice { gpu: Rc::new(RefCell::new(gpu)) }
    }

    /// The GPU, for probes below the contract.
    pub fn gpu(&self) -> Rc<RefCell<G>> {
        Rc::clone(&self.gpu)
    }

    fn language(&self, kernel: &Kernel) -> Language {
        self.gpu.borrow().sdk().map_or(Language::V3_2, Sdk::language).max(kernel.language())
    }
}

/// Every path with the types that it can have: those of the vendor's table, and the float and integer types of the others.
fn combinations() -> Vec<(Path, Types)> {
    use Element::*;
    let plain =
        [(Float, Float), (Half, Float), (Half, Half), (Bfloat, Float), (Bfloat, Bfloat), (Int8, Int32), (Uint8, Int32)];
    let plain = plain.map(|(x, d)| Types::new(x, x, d));
    let mut all = Vec::new();
    for path in Path::ALL {
        match path {
            Path::Tiled | Path::SimdGroup => {
                all.extend(plain.into_iter().filter(|t| path.takes(*t)).map(|t| (path, t)))
            }
            _ => all.extend(Types::listed().map(|(_, t)| (path, t))),
        }
    }
    all
}

fn advertised(path: Path, types: Types) -> Advertised {
    match path {
        Path::Tiled => {
            Advertised { yes: true, source: "Metal Shading Language Specification, scalar data types".into() }
        }
        Path::SimdGroup => Advertised {
            yes: true,
            source:
                "Metal Shading Language Specification, SIMD-group matrix data types; its functions' table names one \
                     type for all operands, the toolchain's header four"
                    .into(),
        },
        _ => Advertised {
            yes: types.since().is_some(),
            source: types.since().map_or("not in the table of MPPTensorOpsMatMul2d.h".into(), |sdk| {
                format!("MPPTensorOpsMatMul2d.h, table of operand types, since SDK {sdk}")
            }),
        },
    }
}

/// Why types cannot be tried under a header; empty when they can.
fn absent(path: Path, types: Types, sdk: Option<Sdk>) -> String {
    let Some(since) = types.since().filter(|_| !matches!(path, Path::Tiled | Path::SimdGroup)) else {
        return String::new();
    };
    match sdk {
        None => "this system has no matmul2d; macOS 26.1 or newer has".into(),
        Some(sdk) if sdk < since => {
            format!("this system's header is {sdk}; {since} is the first that lists these types")
        }
        Some(_) => String::new(),
    }
}

impl<G: Gpu + 'static> Device for MetalDevice<G> {
    fn describe(&self) -> Description {
        self.gpu.borrow().describe()
    }

    fn offers(&self) -> Vec<Offer> {
        let sdk = self.gpu.borrow().sdk();
        let offer = |(path, types): (Path, Types)| {
            Some(Offer {
                path: path.name().into(),
                triple: triple_of(types)?,
                advertised: advertised(path, types),
                absent: absent(path, types, sdk),
                rough_rate: ROUGH_RATE,
                stated: None,
                has_ceiling: path == Path::Tiled && probe::roofline_element(types).is_some(),
                conversion: if path == Path::Tiled && types.left.bits() < 32 && types.dest.bits() == 32 {
                    "tiles are converted to the accumulate type in threadgroup memory, in the kernel's source".into()
                } else {
                    String::new()
                },
            })
        };
        combinations().into_iter().filter_map(offer).collect()
    }

    fn tiles(&self, path: &str, _triple: Triple) -> Vec<String> {
        Path::named(path).map_or(Vec::new(), |path| path.tiles().iter().map(|tile| (*tile).to_owned()).collect())
    }

    fn tile_extents(&self, path: &str, triple: Triple, tile: &str) -> Option<Shape> {
        let product = Product::new(Path::named(path)?, triple, Shape::new(1, 1, 1), tile).ok()?;
        let o = product.operation;
        let depth = if o.step == 0 { 16 } else { o.step };
        Some(Shape::new(o.m as usize, o.n as usize, depth as usize))
    }

    fn ceiling_variants(&self, path: &str, triple: Triple) -> Vec<String> {
        let has = path == Path::Tiled.name() && types_of(triple).and_then(probe::roofline_element).is_some();
        if has { probe::VARIANTS.iter().map(|v| (*v).to_owned()).collect() } else { Vec::new() }
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let path =
            Path::named(&spec.path).ok_or_else(|| refused(format!("backend metal has no path `{}`", spec.path)))?;
        let product = Product::new(path, spec.triple, spec.shape, &spec.tile).map_err(refused)?;
        let (kernel, entry) = product.kernel().map_err(refused)?;
        let source = kernel.source(self.language(&kernel));
        let library = self.gpu.borrow_mut().compile(&source)?;
        Ok(Box::new(MetalGemm::new(Rc::clone(&self.gpu), product, spec.triple, library, entry)))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let element =
            types_of(spec.triple).and_then(probe::roofline_element).filter(|_| spec.path == Path::Tiled.name());
        let element =
            element.ok_or_else(|| refused(format!("no ceiling loop for {} on {}", spec.triple, spec.path)))?;
        Ok(Box::new(probe::Roofline::new(&self.gpu, element, &spec.variant)?))
    }

    fn units(&self) -> Vec<UnitSpec> {
        let sdk = self.gpu.borrow().sdk().unwrap_or(Sdk::V26_1);
        Instruction::all(sdk).iter().filter_map(|i| i.spec(None)).collect()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        let all = Instruction::all(Sdk::V27_0);
        let instruction = all.iter().find(|i| i.name() == name).ok_or_else(|| {
            let known: Vec<String> = all.iter().map(Instruction::name).collect();
            Absent(format!("backend metal has no unit `{name}`; it has {}", known.join(", ")))
        })?;
        Ok(Box::new(MetalUnit::new(&self.gpu, instruction)?))
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        self.gpu.borrow_mut().meters()
    }

    fn health(&mut self) -> Result<(), String> {
        let told = probe::versions(&mut *self.gpu.borrow_mut(), Language::V3_1)?;
        if told.language >= 310 { Ok(()) } else { Err(format!("the versions kernel wrote {told:?}")) }
    }
}
