//! What does the backend `cuda` do?
//!
//! It reaches NVIDIA GPUs through the driver, whose library is loaded when it is asked for. Kernels of its [five paths](path::Path)
//! are CUDA C++ beside this file, compiled by NVRTC for the device at hand; units of `mma.sync` and small helpers are PTX that the
//! driver compiles itself. Without a driver, NVRTC or cuBLASLt the backend says what is missing, and everything else works.
//!
//! Beside products and [ceiling loops](loops) it offers every dense `mma.sync` up to compute capability 9.0 as a [unit](unit), the
//! device's description and health, and NVML's counters as meters.
//!
//! How it keeps the contract of [`crate::contract`]:
//! - a device is named `cuda:N`, N in the driver's order (which CUDA_VISIBLE_DEVICES changes), or by its UUID; its id
//!   in every file is the UUID;
//! - refusals of a compiler come back with its log, word for word; a warning that the kernel is not what its name says is a refusal;
//! - a repetition is one launch on operands packed at bind, after one for each block-scaled operand, timed by the driver's events on the
//!   device ([`timer`]);
//! - after an error that the driver calls final, every call says
//!   [`Fault::DeviceLost`](crate::contract::Fault::DeviceLost) until the process ends;
//! - a kernel that does not end is not ended from here: the caller's timeout ends the process, and the driver its
//!   kernels.

pub mod attention;
pub mod attention_source;
mod cache;
pub mod cublaslt;
pub mod describe;
pub mod driver;
pub mod epilogue;
mod graph;
mod health;
pub mod instruction;
mod kernel;
pub mod layouts;
pub mod libraries;
pub mod loops;
mod memory;
mod meters;
pub mod nvrtc;
pub mod offers;
pub mod operands;
pub mod path;
pub mod placed;
pub mod product;
pub mod source;
pub mod stated;
pub mod target;
pub mod text;
pub mod tile;
pub mod timer;
pub mod toolchain;
pub mod unit;
pub mod wgmma;
pub mod wgmma_unit;

use crate::backends::Backend;
use crate::by::By;
use crate::contract::*;
use crate::unit::{Unit, UnitSpec};
use describe::Identity;
use driver::Context;
use epilogue::{Bias, FinishedGemm};
use instruction::Instruction;
use kernel::Kernel;
use memory::Memory;
use nvml_wrapper::Nvml;
use path::Path;
use product::{CudaGemm, Own, Setting};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Matrix, Shape, Triple};
use source::Finish;
use std::collections::HashMap;
use std::rc::Rc;
use target::Target;
use unit::CudaUnit;

/// The backend's entry in the list.
pub const BACKEND: Backend =
    Backend { name: "cuda", summary: "NVIDIA GPUs, through the driver's own library", find, open };

fn find() -> Result<Vec<String>, String> {
    driver::start()?;
    let count = driver::count().map_err(|e| e.to_string())?;
    if count == 0 {
        return Err("the driver is here and shows no GPU; see nvidia-smi and CUDA_VISIBLE_DEVICES".into());
    }
    Ok((0..count).map(|ordinal| format!("cuda:{ordinal}")).collect())
}

fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    Ok(Box::new(Cuda::open(selector)?))
}

/// One NVIDIA GPU.
pub struct Cuda {
    context: Rc<Context>,
    identity: Identity,
    nvml: Result<Rc<Nvml>, String>,
    timer: Option<Rc<timer::Timer>>,
    library: Option<Rc<cublaslt::Library>>,
    /// What toolchains compiled in this process, or why they refused.
    compiled: HashMap<(String, Path, Triple), Result<toolchain::Compiled, String>>,
}

impl Cuda {
    /// Opens `cuda` (the first device), `cuda:N` or `cuda:GPU-…`.
    ///
    /// # Errors
    /// What is missing, or which devices there are.
    pub fn open(selector: &str) -> Result<Cuda, String> {
        let found = find()?;
        let unknown = || format!("no device `{selector}`; there are {}, or `cuda:` and a GPU's UUID", found.join(", "));
        let which = match selector.split_once(':') {
            None => "0",
            Some((_, which)) => which,
        };
        if which.starts_with("GPU-") {
            for ordinal in 0..found.len() {
                let cuda = Cuda::number(ordinal)?;
                if cuda.identity.uuid == which {
                    return Ok(cuda);
                }
            }
            return Err(unknown());
        }
        let ordinal = which.parse::<usize>().ok().filter(|ordinal| *ordinal < found.len());
        Cuda::number(ordinal.ok_or_else(unknown)?)
    }

    fn number(ordinal: usize) -> Result<Cuda, String> {
        let ordinal = i32::try_from(ordinal).map_err(|e| e.to_string())?;
        let context = Context::open(ordinal).map_err(|e| format!("cuda:{ordinal} does not open: {e}"))?;
        let identity = Identity::of(&context).map_err(|e| format!("cuda:{ordinal} does not say what it is: {e}"))?;
        Ok(Cuda {
            context,
            identity,
            nvml: libraries::nvml().map(Rc::new),
            timer: None,
            library: None,
            compiled: HashMap::new(),
        })
    }

    /// The target that its kernels are written for.
    pub fn target(&self) -> Target {
        self.identity.target()
    }

    /// The unit of an instruction, with what only this backend knows of it.
    ///
    /// # Errors
    /// As [`CudaUnit::compile`].
    pub fn instruction(&self, instruction: &Instruction) -> Result<CudaUnit, Absent> {
        CudaUnit::compile(&self.context, instruction, self.target())
    }

    /// What products and loops share; the timer is made once.
    fn setting(&mut self) -> Result<Setting, Refusal> {
        let multiprocessors = self.identity.multiprocessors;
        let timer = match &self.timer {
            Some(timer) => Rc::clone(timer),
            None => {
                let timer = Rc::new(timer::Timer::new(&self.context, self.target(), multiprocessors)?);
                self.timer = Some(Rc::clone(&timer));
                timer
            }
        };
        Ok(Setting {
            context: Rc::clone(&self.context),
            timer,
            multiprocessors,
            l2_bytes: self.identity.l2_bytes as usize,
            shared_bytes: self.identity.shared_bytes,
        })
    }

    /// A product; with a bias where its kernel or the library is to add one.
    fn product(&mut self, spec: &GemmSpec, finish: Finish, bias: Option<&Bias>) -> Result<CudaGemm, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let setting = self.setting()?;
        if path == Path::CublasLt {
            let library = self.library().map_err(refused)?;
            let fast = spec.tile == cublaslt::FAST;
            let epilogue = bias.map(|bias| bias.for_library(finish != Finish::Bias));
            let multiplication = cublaslt::Multiplication::new(&library, spec.shape, spec.triple, fast, epilogue)?;
            return Ok(CudaGemm::library(setting, spec.shape, spec.triple, multiplication));
        }
        let tile = spec.tile.parse().map_err(|e: tile::BadTile| refused(e.to_string()))?;
        let source = source::gemm(path, spec.triple, tile, setting.shared_bytes, finish).map_err(refused)?;
        let architecture = source.targets.compiled_for(self.target()).map_err(refused)?;
        let cubin = nvrtc::compile(&source, &architecture)?;
        let dequantise = source::dequantise(spec.triple.a).map(|source| {
            let architecture = source.targets.compiled_for(self.target()).map_err(refused)?;
            nvrtc::compile(&source, &architecture)
        });
        let own =
            Own { path, tile, cubin, bias: bias.map(Bias::address), dequantise: dequantise.transpose()?, block: None };
        Ok(CudaGemm::own(setting, spec.shape, spec.triple, own))
    }

    /// The vendor's library, started once.
    fn library(&mut self) -> Result<Rc<cublaslt::Library>, String> {
        match &self.library {
            Some(library) => Ok(Rc::clone(library)),
            None => Ok(Rc::clone(self.library.insert(cublaslt::Library::start(&self.context)?))),
        }
    }

    /// The path by name when it offers the triple; else the reason.
    fn offered(path: &str, triple: Triple) -> Result<Path, String> {
        let path: Path = path.parse().map_err(|e: path::UnknownPath| e.to_string())?;
        if !offers::triples(path).contains(&triple) {
            let known: Vec<String> = offers::triples(path).iter().map(Triple::to_string).collect();
            return Err(format!("path {path} does not offer {triple}; it offers {}", known.join(" ")));
        }
        Ok(path)
    }

    /// Compiles any text for this device and gives the compiler's log, to show what it says of texts that it refuses.
    ///
    /// # Errors
    /// The refusal.
    pub fn try_text(&self, ptx: &str, entry: &str) -> Result<String, Refusal> {
        Kernel::load(&self.context, ptx, entry).map(|kernel| kernel.log().to_owned())
    }
}

fn refused(diagnostic: String) -> Refusal {
    Refusal { rung: Rung::Compile, diagnostic }
}

impl Device for Cuda {
    fn describe(&self) -> Description {
        self.identity.describe(self.nvml.as_deref().ok())
    }

    fn offers(&self) -> Vec<Offer> {
        offers::offers(self.target(), self.identity.multiprocessors, self.identity.shared_bytes)
    }

    fn tiles(&self, path: &str, triple: Triple) -> Vec<String> {
        match Self::offered(path, triple) {
            Ok(Path::CublasLt) => cublaslt::tiles(triple),
            Ok(path) => {
                let shared_bytes = self.identity.shared_bytes;
                let fits = |tile: &&tile::Tile| source::gemm(path, triple, **tile, shared_bytes, Finish::Plain).is_ok();
                tile::tiles(path, triple).iter().filter(fits).map(tile::Tile::to_string).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    fn tile_extents(&self, _path: &str, _triple: Triple, tile: &str) -> Option<Shape> {
        // Stages of k end inside padding, so its depth is no edge.
        tile.parse().ok().map(|tile: tile::Tile| Shape::new(tile.m, tile.n, tile::SLAB))
    }

    fn ceiling_variants(&self, path: &str, triple: Triple) -> Vec<String> {
        match Self::offered(path, triple) {
            Ok(path) => loops::variants(path, triple).iter().map(loops::Variant::to_string).collect(),
            Err(_) => Vec::new(),
        }
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(self.product(spec, Finish::Plain, None)?))
    }

    fn epilogues(&self, path: &str, triple: Triple) -> Vec<Epilogue> {
        match Self::offered(path, triple) {
            Ok(path) if source::finishes(path, triple) => epilogue::all(path == Path::CublasLt),
            _ => Vec::new(),
        }
    }

    fn compile_with(&mut self, spec: &GemmSpec, epilogue: Epilogue) -> Result<Box<dyn Gemm>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let Epilogue { activation, fused } = epilogue;
        if path == Path::CublasLt && fused && activation == Activation::GeluErf {
            return Err(epilogue::no_erf());
        }
        let library = path == Path::CublasLt;
        let format = if library { cublaslt::Epilogue::bias_format(spec.triple) } else { spec.triple.c };
        // The last tile of a row takes its whole width of biases, also beyond the product's columns.
        let columns = operands::Extents::of(spec.shape, spec.triple).rows_b + tile::PADDING;
        let memory = Memory::filled(&self.context, Matrix::row_bytes(format, columns), 0);
        let bias = Bias::new(memory.map_err(|e| product::refused(&e))?, format);
        let finish = if fused { Finish::Activated(activation) } else { Finish::Bias };
        let gemm = self.product(spec, finish, Some(&bias))?;
        let after = (!fused).then(|| {
            let source = source::activate(activation);
            let architecture = source.targets.compiled_for(self.target()).map_err(refused)?;
            Kernel::of(&self.context, &nvrtc::compile(&source, &architecture)?, source.entry, 0)
        });
        Ok(Box::new(FinishedGemm::new(gemm, bias, after.transpose()?, spec.shape, spec.triple)))
    }

    fn attention_tiles(&self, path: &str, triple: Triple, fused: bool) -> Vec<String> {
        let tiles = Self::offered(path, triple).map_or(&[][..], |path| attention::tiles(path, triple, fused));
        tiles.iter().map(|tile| (*tile).to_owned()).collect()
    }

    fn compile_attention(&mut self, spec: &GemmSpec, fused: bool) -> Result<Box<dyn Gemm>, Refusal> {
        let (GemmSpec { triple, shape, .. }, path) =
            (spec.clone(), Self::offered(&spec.path, spec.triple).map_err(refused)?);
        if !attention::tiles(path, triple, fused).contains(&spec.tile.as_str()) {
            let known = self.attention_tiles(&spec.path, triple, fused).join(" ");
            return Err(refused(format!(
                "no attention of path {path} and {triple} with tile `{}`; tiles: {known}",
                spec.tile
            )));
        }
        if let Some(why) = attention::misfit(shape, fused) {
            return Err(refused(why));
        }
        let setting = self.setting()?;
        let compiled = |source: &source::Source| {
            let architecture = source.targets.compiled_for(self.target()).map_err(refused)?;
            nvrtc::compile(source, &architecture)
        };
        let engine = if fused {
            let tile: tile::Tile = spec.tile.parse().map_err(|e: tile::BadTile| refused(e.to_string()))?;
            let needed = attention_source::shared(path, tile, shape.n);
            if needed > setting.shared_bytes {
                let has = setting.shared_bytes;
                return Err(refused(format!(
                    "attention {tile} takes {needed} bytes of shared memory; a block may have {has}"
                )));
            }
            let source = attention_source::fused(path, tile, shape.n).map_err(refused)?;
            attention::Engine::Fused { path, tile, cubin: compiled(&source)? }
        } else {
            let cubin = compiled(&attention_source::weights(shape.n, shape.k))?;
            let library = self.library().map_err(refused)?;
            let [scores, output] = attention::Engine::products(shape)
                .map(|strided| cublaslt::Multiplication::strided(&library, triple, strided));
            attention::Engine::Decomposed { scores: Box::new(scores?), cubin, output: Box::new(output?) }
        };
        Ok(Box::new(attention::CudaAttention::new(setting, shape, engine)))
    }

    fn placed_tiles(&self, path: &str, triple: Triple) -> Vec<String> {
        Self::offered(path, triple)
            .map_or_else(|_| Vec::new(), |path| placed::ways(path, triple))
            .iter()
            .map(placed::Way::to_string)
            .collect()
    }

    fn compile_placed(&mut self, spec: &GemmSpec, placement: Placement) -> Result<Box<dyn Gemm>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let Some(way) = placed::ways(path, spec.triple).into_iter().find(|way| way.to_string() == spec.tile) else {
            let known = self.placed_tiles(&spec.path, spec.triple).join(" ");
            return Err(refused(format!("no placed product of path {path} by `{}`; launch tiles: {known}", spec.tile)));
        };
        let setting = self.setting()?;
        if let placed::Loads::Library { told } = way.loads {
            let library = self.library().map_err(refused)?;
            let apart = operands::Extents::placed(spec.shape, spec.triple, Some(placement)).apart;
            let told = told.then(|| 1 << (apart | placement.offset | 256).trailing_zeros());
            let rows = cublaslt::Rows { apart, told };
            let multiplication = cublaslt::Multiplication::placed(&library, spec.shape, spec.triple, rows)?;
            let gemm = CudaGemm::library(setting, spec.shape, spec.triple, multiplication);
            return Ok(Box::new(gemm.placed(placement)));
        }
        let (source, block) =
            placed::source(path, spec.triple, spec.shape, way, placement, setting.shared_bytes).map_err(refused)?;
        let architecture = source.targets.compiled_for(self.target()).map_err(refused)?;
        let cubin = nvrtc::compile(&source, &architecture)?;
        let own = Own { path, tile: way.tile, cubin, bias: None, dequantise: None, block };
        let gemm = CudaGemm::own(setting, spec.shape, spec.triple, own);
        // In shared memory it is the kernel that places them.
        let in_shared = way.loads == placed::Loads::Shared;
        Ok(Box::new(if in_shared { gemm } else { gemm.placed(placement) }))
    }

    fn toolchains(&self, path: &str, triple: Triple) -> Vec<String> {
        match Self::offered(path, triple) {
            Ok(Path::CublasLt | Path::Scalar) | Err(_) => Vec::new(),
            // Their kernels have the text of bf16's.
            Ok(_) if source::multiplied(triple) != triple => Vec::new(),
            Ok(_) => toolchain::all(self.target()).iter().map(toolchain::Toolchain::to_string).collect(),
        }
    }

    fn compile_by(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let setting = self.setting()?;
        let tile = *tile::tiles(path, spec.triple)
            .last()
            .ok_or_else(|| refused(format!("path {path} has no kernel of its own")))?;
        let key = (spec.tile.clone(), path, spec.triple);
        let made = self.compiled.entry(key).or_insert_with(|| {
            let toolchain = spec.tile.parse().map_err(|e: toolchain::BadToolchain| e.to_string())?;
            let source = source::gemm(path, spec.triple, tile, setting.shared_bytes, Finish::Plain)?;
            toolchain::compile(&source, &toolchain)
        });
        let toolchain::Compiled { cubin, took } = made.clone().map_err(refused)?;
        let own = Own { path, tile, cubin, bias: None, dequantise: None, block: None };
        let gemm = CudaGemm::own(setting, spec.shape, spec.triple, own);
        Ok(Box::new(By::new(Box::new(gemm), took)))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let variant = loops::variants(path, spec.triple)
            .into_iter()
            .find(|v| v.to_string() == spec.variant)
            .ok_or_else(|| {
                let known = self.ceiling_variants(&spec.path, spec.triple).join(" ");
                refused(format!("no variant `{}` of this ceiling loop; there are {known}", spec.variant))
            })?;
        let setting = self.setting()?;
        Ok(Box::new(loops::CudaCeiling::new(setting, path, spec.triple, variant, self.target())?))
    }

    fn units(&self) -> Vec<UnitSpec> {
        let warp = Instruction::all().into_iter().map(|instruction| instruction.spec());
        warp.chain(wgmma_unit::all().iter().map(wgmma_unit::spec)).collect()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        if let Some(instruction) = wgmma_unit::all().iter().find(|instruction| instruction.name() == name) {
            return Ok(Box::new(wgmma_unit::WgmmaUnit::compile(&self.context, instruction, self.target())?));
        }
        let instruction = Instruction::named(name).ok_or_else(|| {
            let known: Vec<String> = self.units().into_iter().map(|unit| unit.name).collect();
            Absent(format!("backend cuda has no unit `{name}`; it has {}", known.join(", ")))
        })?;
        Ok(Box::new(self.instruction(&instruction)?))
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        meters::meters(&self.nvml, &self.identity.uuid)
    }

    fn health(&mut self) -> Result<(), String> {
        health::check(&self.context, self.target())
    }
}
