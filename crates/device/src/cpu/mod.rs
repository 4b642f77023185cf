//! What does the device `cpu` do?
//!
//! It multiplies matrices on the cores of this machine along [six paths](path::Path), from one element an
//! instruction to the dot products of AVX-512, each also as a [ceiling loop](ceiling) that never leaves the
//! registers. What the processor lacks is offered as absent, with the reason.
//!
//! How it keeps the contract of [`crate::contract`]:
//! - a repetition is the whole product, packing and conversion of the operands included ([`gemm`]);
//! - time is the monotonic clock around it, on the calling thread;
//! - the core clock of a sample is estimated right after the repetition ([`clock`]);
//! - cold operands come from copies that fill twice the last-level cache ([`ring`]);
//! - results have the same bits in every repetition, on any number of cores.

mod activation;
pub mod blocking;
pub mod buffer;
pub mod ceiling;
#[cfg(target_arch = "x86_64")]
mod ceiling_avx2;
#[cfg(target_arch = "x86_64")]
mod ceiling_avx512;
mod ceiling_portable;
pub mod clock;
pub mod decode;
pub mod describe;
pub mod detect;
pub mod gemm;
pub mod kernel;
#[cfg(target_arch = "x86_64")]
mod kernel_avx2;
#[cfg(target_arch = "x86_64")]
mod kernel_avx512;
#[cfg(target_arch = "x86_64")]
mod kernel_bf16;
mod kernel_scalar;
mod kernel_tiled;
#[cfg(target_arch = "x86_64")]
mod kernel_vnni;
pub mod offers;
mod pack;
pub mod path;
mod pin;
pub mod pool;
pub mod ring;
mod select;
pub mod stated;
pub mod tiles;
pub mod toolchain;
pub mod unit;
mod unit_conversion;
#[cfg(target_arch = "x86_64")]
mod unit_kernels;
mod unit_registers;
mod variants;

use crate::backends::Backend;
use crate::by::By;
use crate::contract::*;
use crate::unit::{Conversion, ConversionSpec, Unit, UnitSpec};
use blocking::Blocking;
use path::Path;
use pool::Pool;
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Format, Matrix, Shape, Triple};
use std::rc::Rc;

/// The backend's entry in the list.
pub const BACKEND: Backend =
    Backend { name: "cpu", summary: "the processor of this machine, all cores", find: || Ok(vec!["cpu".into()]), open };

fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    match selector {
        "cpu" => Ok(Box::new(Cpu::new())),
        other => Err(format!("no device `{other}`: a machine has one device of this backend, `cpu`")),
    }
}

/// The processor of this machine.
pub struct Cpu {
    pool: Rc<Pool>,
    last_level_cache: usize,
}

impl Cpu {
    /// All cores that this process may use.
    pub fn new() -> Self {
        Cpu { pool: Rc::new(Pool::new(detect::cores())), last_level_cache: detect::last_level_cache() }
    }

    fn product(
        &self,
        spec: &GemmSpec,
        epilogue: Option<Epilogue>,
        placement: Option<Placement>,
    ) -> Result<Box<dyn Gemm>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let blocking = spec.tile.parse().map_err(|e: blocking::BadBlocking| refused(e.to_string()))?;
        let setting = select::Setting {
            shape: spec.shape,
            blocking,
            pool: Rc::clone(&self.pool),
            last_level_cache: self.last_level_cache,
            epilogue,
            placement,
        };
        // SAFETY: `offered` found the path's features.
        unsafe { setting.gemm(path, spec.triple) }.ok_or_else(|| refused(format!("no kernel for {}", spec.triple)))
    }

    /// The path by name when it can run here and offers the triple; else the reason.
    fn offered(path: &str, triple: Triple) -> Result<Path, String> {
        let path: Path = path.parse().map_err(|e: path::UnknownPath| e.to_string())?;
        let absent = path.absent();
        if !absent.is_empty() {
            return Err(absent);
        }
        if !offers::triples(path).contains(&triple) {
            let known: Vec<String> = offers::triples(path).iter().map(Triple::to_string).collect();
            return Err(format!("path {path} does not offer {triple}; it offers {}", known.join(" ")));
        }
        Ok(path)
    }
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu::new()
    }
}

fn refused(diagnostic: String) -> Refusal {
    Refusal { rung: Rung::Compile, diagnostic }
}

impl Device for Cpu {
    fn describe(&self) -> Description {
        describe::describe()
    }

    fn offers(&self) -> Vec<Offer> {
        offers::offers(self.pool.threads())
    }

    fn tiles(&self, _path: &str, triple: Triple) -> Vec<String> {
        tiles::tiles(triple).iter().map(Blocking::to_string).collect()
    }

    fn tile_extents(&self, _path: &str, _triple: Triple, tile: &str) -> Option<Shape> {
        tile.parse().ok().map(|Blocking { mc, kc, nc }| Shape::new(mc, nc, kc))
    }

    fn ceiling_variants(&self, path: &str, triple: Triple) -> Vec<String> {
        match Self::offered(path, triple) {
            Ok(path) => variants::variants(path, triple, self.pool.threads()).map(|v| v.to_string()).collect(),
            Err(_) => Vec::new(),
        }
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        self.product(spec, None, None)
    }

    fn epilogues(&self, path: &str, triple: Triple) -> Vec<Epilogue> {
        if triple.c != Format::F32 || Self::offered(path, triple).is_err() {
            return Vec::new();
        }
        let each = |fused| Activation::ALL.map(|activation| Epilogue { activation, fused });
        [false, true].into_iter().flat_map(each).collect()
    }

    fn compile_with(&mut self, spec: &GemmSpec, epilogue: Epilogue) -> Result<Box<dyn Gemm>, Refusal> {
        if spec.triple.c != Format::F32 {
            return Err(refused(format!("no epilogue follows products into {}", spec.triple.c)));
        }
        self.product(spec, Some(epilogue), None)
    }

    fn placed_tiles(&self, path: &str, triple: Triple) -> Vec<String> {
        let here = Self::offered(path, triple).is_ok();
        // Every launch tile packs in the same way.
        tiles::tiles(triple).first().filter(|_| here).map(Blocking::to_string).into_iter().collect()
    }

    fn compile_placed(&mut self, spec: &GemmSpec, placement: Placement) -> Result<Box<dyn Gemm>, Refusal> {
        let (Triple { a, b, .. }, Shape { n, k, .. }) = (spec.triple, spec.shape);
        for (format, columns) in [(a, k), (b, n)] {
            let (each, apart) =
                (format.bits() as usize / 8, placement.stride.bytes(Matrix::row_bytes(format, columns)));
            if !apart.is_multiple_of(each) {
                return Err(refused(format!(
                    "rows {apart} bytes apart: the leading dimension counts elements of {format}, of {each} bytes each"
                )));
            }
        }
        self.product(spec, None, Some(placement))
    }

    fn toolchains(&self, path: &str, _triple: Triple) -> Vec<String> {
        path.parse().map(|path| vec![toolchain::name(path)]).unwrap_or_default()
    }

    fn compile_by(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let path: Path = spec.path.parse().map_err(|e: path::UnknownPath| refused(e.to_string()))?;
        let absent = path.absent();
        if !absent.is_empty() {
            // The build has the code; this processor does not run it.
            return Err(Refusal { rung: Rung::Load, diagnostic: absent });
        }
        if spec.tile != toolchain::name(path) {
            let known = toolchain::name(path);
            return Err(refused(format!("path {path} has no toolchain `{}`; there is {known}", spec.tile)));
        }
        Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let tiles = tiles::tiles(spec.triple);
        let tile =
            tiles.first().ok_or_else(|| refused(format!("path {path} has no launch tile of {}", spec.triple)))?;
        let tile = tile.to_string();
        let gemm = self.product(&GemmSpec { tile, ..spec.clone() }, None, None)?;
        Ok(Box::new(By::new(gemm, toolchain::took(path))))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        let path = Self::offered(&spec.path, spec.triple).map_err(refused)?;
        let variant = variants::variants(path, spec.triple, self.pool.threads())
            .find(|v| v.to_string() == spec.variant)
            .ok_or_else(|| {
                let known = self.ceiling_variants(&spec.path, spec.triple).join(" ");
                refused(format!("no variant `{}` of this ceiling loop; there are {known}", spec.variant))
            })?;
        // SAFETY: `offered` found the path's features.
        unsafe { variants::ceiling(path, spec.triple, variant, &self.pool) }
            .ok_or_else(|| refused(format!("no ceiling loop of {} chains for {}", variant.chains, spec.triple)))
    }

    fn units(&self) -> Vec<UnitSpec> {
        unit::specs()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        unit::unit(name)
    }

    fn conversions(&self) -> Vec<ConversionSpec> {
        unit_conversion::specs()
    }

    fn conversion(&mut self, name: &str) -> Result<Box<dyn Conversion>, Absent> {
        unit_conversion::conversion(name)
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        crate::meters::powercap(std::path::Path::new(crate::meters::POWERCAP))
    }

    fn health(&mut self) -> Result<(), String> {
        let triple = Triple::new(Format::U8, Format::I8, Format::I32);
        let spec = GemmSpec {
            path: Path::Scalar.name().into(),
            triple,
            shape: Shape::cube(2),
            tile: tiles::tiles(triple)[0].to_string(),
        };
        let mut product = self.compile(&spec).map_err(|e| e.to_string())?;
        product.load().map_err(|e| e.to_string())?;
        let operand = |format| Matrix { format, rows: 2, cols: 2, bytes: vec![1, 2, 3, 4] };
        product.bind(&operand(Format::U8), &operand(Format::I8)).map_err(|e| e.to_string())?;
        product.run(1, Cache::Warm).map_err(|e| e.to_string())?;
        let output = product.output().map_err(|e| e.to_string())?;
        let expected: Vec<u8> = [7_i32, 10, 15, 22].iter().flat_map(|x| x.to_le_bytes()).collect();
        if output.bytes == expected { Ok(()) } else { Err("a product of 2 × 2 came out wrong".into()) }
    }
}
