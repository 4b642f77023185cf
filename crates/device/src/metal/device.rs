//! What does a GPU that speaks Metal offer through the device contract?

use super::attention::{self, MetalAttention};
use super::ceiling::{Loop, Repeated};
use super::gemm::{self, MetalGemm};
use super::gpu::{Gpu, Library};
use super::level::{Language, Sdk};
use super::product::{Path, Product, triple_of, types_of};
use super::text::{Finish, Kernel};
use super::triples::Types;
use super::unit::{Instruction, MetalUnit};
use super::usage::Usage;
use super::{element::Element, placed, probe, rules, toolchain};
use crate::by::By;
use crate::contract::*;
use crate::unit::{Unit, UnitSpec};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Shape, Time, Triple};
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

    /// The kernel of a product, compiled, that also does this to its sums.
    fn product(&mut self, spec: &GemmSpec, finish: Finish) -> Result<MetalGemm<G>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let path =
            Path::named(&spec.path).ok_or_else(|| refused(format!("backend metal has no path `{}`", spec.path)))?;
        let product = Product::new(path, spec.triple, spec.shape, &spec.tile).map_err(refused)?;
        let (kernel, entry) = product.finished(finish).map_err(refused)?;
        let source = kernel.source(self.language(&kernel));
        let library = self.gpu.borrow_mut().compile(&source)?;
        Ok(MetalGemm::new(Rc::clone(&self.gpu), product, spec.triple, library, entry))
    }

    /// A product and its library and entry, compiled in this language whatever its kernel needs.
    fn compiled_in(
        &mut self,
        spec: &GemmSpec,
        language: Language,
    ) -> Result<(Product, (Library, &'static str)), Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let path =
            Path::named(&spec.path).ok_or_else(|| refused(format!("backend metal has no path `{}`", spec.path)))?;
        let product = Product::new(path, spec.triple, spec.shape, &spec.tile).map_err(refused)?;
        let (kernel, entry) = product.kernel().map_err(refused)?;
        let library = self.gpu.borrow_mut().compile(&kernel.source(language))?;
        Ok((product, (library, entry)))
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
            Path::Scalar | Path::Tiled | Path::SimdGroup => {
                all.extend(plain.into_iter().filter(|t| path.takes(*t)).map(|t| (path, t)))
            }
            _ => {
                let types = Types::listed().chain(Types::scaled()).map(|(_, types)| types);
                all.extend(types.filter(|types| path.takes(*types)).map(|types| (path, types)));
            }
        }
    }
    all
}

fn advertised(path: Path, types: Types) -> Advertised {
    match path {
        Path::Scalar | Path::Tiled => {
            Advertised { yes: true, source: "Metal Shading Language Specification, scalar data types".into() }
        }
        Path::SimdGroup => Advertised {
            yes: true,
            source:
                "Metal Shading Language Specification, SIMD-group matrix data types; its functions' table names one \
                     type for all operands, the toolchain's header four"
                    .into(),
        },
        _ if types.has_scales() => Advertised {
            yes: true,
            source: "MPPTensorOpsMatMul2d.h, table of operand types and rules on planes of scales, since SDK 27.0"
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
    let Some(since) = types.since().filter(|_| !matches!(path, Path::Scalar | Path::Tiled | Path::SimdGroup)) else {
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

/// How a kernel converts its operands, by its source; nothing where an operation takes them.
fn conversion(path: Path, types: Types) -> &'static str {
    match path {
        Path::Scalar if types.left.bits() < types.dest.bits() => {
            "operands are converted to the accumulate type before they are multiplied, in the kernel's source"
        }
        Path::Tiled if types.left.bits() < types.dest.bits() => {
            "tiles are converted to the accumulate type in threadgroup memory, in the kernel's source"
        }
        _ => "",
    }
}

impl<G: Gpu + 'static> Device for MetalDevice<G> {
    fn describe(&self) -> Description {
        self.gpu.borrow().describe()
    }

    fn enter_process(&mut self, process: u32) {
        self.gpu.borrow_mut().enter_process(process);
    }

    fn offers(&self) -> Vec<Offer> {
        let sdk = self.gpu.borrow().sdk();
        let offer = |(path, types): (Path, Types)| Offer {
            path: path.name().into(),
            triple: triple_of(types),
            advertised: advertised(path, types),
            absent: absent(path, types, sdk),
            rough_rate: ROUGH_RATE,
            stated: None,
            has_ceiling: Repeated::of(path, types).is_some(),
            conversion: conversion(path, types).into(),
        };
        combinations().into_iter().map(offer).collect()
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
        let repeated = Path::named(path).zip(types_of(triple)).and_then(|(path, types)| Repeated::of(path, types));
        repeated.map_or(Vec::new(), |repeated| repeated.variants().iter().map(|v| (*v).to_owned()).collect())
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(self.product(spec, Finish::None)?))
    }

    fn epilogues(&self, path: &str, triple: Triple) -> Vec<Epilogue> {
        // The language has no erf.
        let activation = Activation::GeluTanh;
        let has = Path::named(path).zip(types_of(triple)).is_some_and(|(path, types)| path.finishes(types));
        if has { [true, false].map(|fused| Epilogue { activation, fused }).to_vec() } else { Vec::new() }
    }

    fn compile_with(&mut self, spec: &GemmSpec, epilogue: Epilogue) -> Result<Box<dyn Gemm>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        if epilogue.activation != Activation::GeluTanh {
            return Err(refused("the Metal Shading Language has no erf; gelu-tanh is there".into()));
        }
        if epilogue.fused {
            return Ok(Box::new(self.product(spec, Finish::BiasGelu)?.with(gemm::Epilogue { apart: None })));
        }
        let product = self.product(spec, Finish::Bias)?;
        let element = types_of(spec.triple).map(|types| types.dest);
        let kernel = Kernel::Gelu(element.ok_or_else(|| refused(format!("Metal has no types for {}", spec.triple)))?);
        let source = kernel.source(self.language(&kernel));
        let apart = Some(self.gpu.borrow_mut().compile(&source)?);
        Ok(Box::new(product.with(gemm::Epilogue { apart })))
    }

    fn attention_tiles(&self, path: &str, triple: Triple, fused: bool) -> Vec<String> {
        let tiles = Path::named(path).zip(types_of(triple)).map(|(path, types)| attention::tiles(path, types, fused));
        tiles.unwrap_or_default().iter().map(|tile| (*tile).to_owned()).collect()
    }

    fn compile_attention(&mut self, spec: &GemmSpec, fused: bool) -> Result<Box<dyn Gemm>, Refusal> {
        let GemmSpec { triple, shape, tile, .. } = spec;
        let path = Path::named(&spec.path).ok_or_else(|| Refusal {
            rung: Rung::Compile,
            diagnostic: format!("backend metal has no path `{}`", spec.path),
        })?;
        Ok(Box::new(MetalAttention::new(&self.gpu, path, *triple, *shape, tile, fused)?))
    }

    fn placed_tiles(&self, path: &str, triple: Triple) -> Vec<String> {
        Path::named(path).map_or(Vec::new(), |path| placed::tiles(path, triple))
    }

    fn compile_placed(&mut self, spec: &GemmSpec, placement: Placement) -> Result<Box<dyn Gemm>, Refusal> {
        let language = self.gpu.borrow().sdk().map_or(Language::V3_2, Sdk::language);
        let (tile, usage) = Usage::split(&spec.tile);
        let (product, compiled) = self.compiled_in(&GemmSpec { tile: tile.to_owned(), ..spec.clone() }, language)?;
        let placed = (placement, usage);
        Ok(Box::new(placed::PlacedGemm::new(Rc::clone(&self.gpu), product, spec.triple, compiled, placed)?))
    }

    fn toolchains(&self, path: &str, triple: Triple) -> Vec<String> {
        let has = Path::named(path).zip(types_of(triple)).is_some();
        if has { toolchain::all() } else { Vec::new() }
    }

    fn compile_by(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let language = toolchain::named(&spec.tile).map_err(refused)?;
        let tiles = Path::named(&spec.path).map_or(&[][..], Path::tiles);
        let tile = tiles.last().map(|tile| (*tile).to_owned()).unwrap_or_default();
        let (product, (library, entry)) = self.compiled_in(&GemmSpec { tile, ..spec.clone() }, language)?;
        let gemm = MetalGemm::new(Rc::clone(&self.gpu), product, spec.triple, library, entry);
        let took = toolchain::took(&mut *self.gpu.borrow_mut(), language);
        Ok(Box::new(By::new(Box::new(gemm), took)))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let repeated = Path::named(&spec.path).zip(types_of(spec.triple)).and_then(|(p, t)| Repeated::of(p, t));
        let repeated =
            repeated.ok_or_else(|| refused(format!("no ceiling loop for {} on {}", spec.triple, spec.path)))?;
        Ok(Box::new(Loop::new(&self.gpu, repeated, &spec.variant)?))
    }

    fn units(&self) -> Vec<UnitSpec> {
        let sdk = self.gpu.borrow().sdk().unwrap_or(Sdk::V26_1);
        Instruction::all(sdk).iter().map(|i| i.spec(i.share(sdk))).collect()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        let named = Instruction::named(Sdk::V27_0);
        let instruction = named.iter().find(|i| i.name() == name).ok_or_else(|| {
            let known: Vec<String> = Instruction::all(Sdk::V27_0).iter().map(Instruction::name).collect();
            Absent(format!("backend metal has no unit `{name}`; it has {}", known.join(", ")))
        })?;
        Ok(Box::new(MetalUnit::new(&self.gpu, instruction)?))
    }

    fn rules(&self, libraries: &[std::path::PathBuf]) -> Vec<RuleQuestion> {
        rules::questions(&*self.gpu.borrow(), libraries).iter().map(rules::Question::words).collect()
    }

    fn rule(&mut self, libraries: &[std::path::PathBuf], number: usize) -> Vec<RuleAnswer> {
        let questions = rules::questions(&*self.gpu.borrow(), libraries);
        questions.get(number).map_or(Vec::new(), |question| question.ask(&mut *self.gpu.borrow_mut()))
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        self.gpu.borrow_mut().meters()
    }

    fn idle(&mut self, time: Time) {
        self.gpu.borrow_mut().idle(time);
    }

    fn health(&mut self) -> Result<(), String> {
        let told = probe::versions(&mut *self.gpu.borrow_mut(), Language::V3_1)?;
        if told.language >= 310 { Ok(()) } else { Err(format!("the versions kernel wrote {told:?}")) }
    }
}
