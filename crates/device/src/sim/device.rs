//! How does a planted truth speak the device contract?

use super::ceiling::SimCeiling;
use super::conversion::SimConversion;
use super::conversion_truth::PlantedConversion;
use super::gemm::{Asked, SimGemm};
use super::random::key;
use super::toolchain::PlantedToolchain;
use super::truth::Truth;
use super::unit::SimUnit;
use super::world::{Shared, World};
use super::{check, meter};
use crate::by::By;
use crate::contract::{
    Absent, Advertised, Ceiling, CeilingSpec, Description, Device, Epilogue, Gemm, GemmSpec, Kind, Meter, MissingMeter,
    Offer, Refusal, Rung, Stated,
};
use crate::unit::{Conversion, ConversionSpec, Unit, UnitSpec};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Shape, Time, Triple};

/// A software device with planted truth. All times are virtual; only a planted hang waits.
pub struct SimDevice {
    world: Shared,
}

impl SimDevice {
    /// Opens a device on a truth; the error says which key is wrong and what is allowed.
    pub fn new(truth: Truth) -> Result<Self, check::BadTruth> {
        truth.check()?;
        Ok(SimDevice { world: World::open(truth) })
    }
}

impl Device for SimDevice {
    fn describe(&self) -> Description {
        let truth = self.world.borrow().truth.clone();
        let text = truth.to_toml();
        Description {
            id: truth.id.clone(),
            name: truth.name.clone(),
            backend: "sim".into(),
            kind: Kind::Simulated,
            cores: truth.cores,
            memory_bytes: truth.memory_bytes,
            driver: truth.version.clone(),
            firmware: String::new(),
            toolchain: format!("rigel-device {}", env!("CARGO_PKG_VERSION")),
            os: "none: software with planted facts".to_owned(),
            kernels: format!("truth, FNV-1a 64: {:016x}", key(&text)),
            clocks: format!("reference {} MHz, virtual", truth.clock.reference),
            features: Vec::new(),
        }
    }

    fn enter_process(&mut self, process: u32) {
        self.world.borrow_mut().process = process;
    }

    fn offers(&self) -> Vec<Offer> {
        let truth = self.world.borrow().truth.clone();
        let each = truth.paths.iter().flat_map(|path| path.triples.iter().map(move |triple| (path, triple)));
        each.map(|(path, planted)| Offer {
            path: path.name.clone(),
            triple: planted.triple,
            advertised: Advertised { yes: planted.advertised, source: planted.source.clone() },
            absent: planted.absent.clone(),
            rough_rate: planted.rate,
            stated: planted.stated.as_ref().map(|s| Stated {
                operations_per_cycle_per_core: s.operations_per_cycle_per_core,
                source: s.source.clone(),
            }),
            has_ceiling: planted.ceiling.is_some(),
            conversion: planted.conversion.clone(),
        })
        .collect()
    }

    fn tiles(&self, path: &str, _triple: Triple) -> Vec<String> {
        let truth = self.world.borrow().truth.clone();
        let path = truth.paths.iter().find(|p| p.name == path);
        path.map_or_else(Vec::new, |p| p.tiles.iter().map(|t| t.name.clone()).collect())
    }

    fn tile_extents(&self, path: &str, _triple: Triple, tile: &str) -> Option<Shape> {
        let truth = self.world.borrow().truth.clone();
        let path = truth.paths.iter().find(|p| p.name == path)?;
        path.tiles.iter().find(|t| t.name == tile)?.extents
    }

    fn own_arithmetic(&self) -> Option<usize> {
        Some(super::arithmetic::SMALL)
    }

    fn ceiling_variants(&self, path: &str, triple: Triple) -> Vec<String> {
        let truth = self.world.borrow().truth.clone();
        let ceiling = truth.find(path, triple).and_then(|f| f.triple.ceiling.as_ref());
        ceiling.map_or_else(Vec::new, |c| c.variants.iter().map(|v| v.name.clone()).collect())
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(SimGemm::compile(self.world.clone(), spec, Asked::Product)?))
    }

    fn epilogues(&self, path: &str, triple: Triple) -> Vec<Epilogue> {
        let truth = self.world.borrow().truth.clone();
        if truth.find(path, triple).is_none_or(|found| found.triple.epilogue.is_none()) {
            return Vec::new();
        }
        let each = |fused| Activation::ALL.map(|activation| Epilogue { activation, fused });
        [false, true].into_iter().flat_map(each).collect()
    }

    fn compile_with(&mut self, spec: &GemmSpec, epilogue: Epilogue) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(SimGemm::compile(self.world.clone(), spec, Asked::Finished(epilogue))?))
    }

    fn attention_tiles(&self, path: &str, triple: Triple, fused: bool) -> Vec<String> {
        let has = {
            let world = self.world.borrow();
            let planted = world.truth.find(path, triple).and_then(|found| found.triple.attention);
            planted.is_some_and(|planted| fused || !planted.fused_only)
        };
        if has { self.tiles(path, triple) } else { Vec::new() }
    }

    fn compile_attention(&mut self, spec: &GemmSpec, fused: bool) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(SimGemm::compile(self.world.clone(), spec, Asked::Attention { fused })?))
    }

    fn placed_tiles(&self, path: &str, triple: Triple) -> Vec<String> {
        let places = {
            let world = self.world.borrow();
            world.truth.find(path, triple).is_some_and(|found| found.triple.alignment.is_some())
        };
        if places { self.tiles(path, triple) } else { Vec::new() }
    }

    fn compile_placed(&mut self, spec: &GemmSpec, placement: Placement) -> Result<Box<dyn Gemm>, Refusal> {
        Ok(Box::new(SimGemm::compile(self.world.clone(), spec, Asked::Placed(placement))?))
    }

    fn toolchains(&self, path: &str, triple: Triple) -> Vec<String> {
        let world = self.world.borrow();
        let own = world.truth.toolchains.iter().filter(|toolchain| toolchain.is_for(path, triple));
        own.map(|toolchain| toolchain.name.clone()).collect()
    }

    fn compile_by(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let truth = self.world.borrow().truth.clone();
        let own = |t: &&PlantedToolchain| t.name == spec.tile && t.is_for(&spec.path, spec.triple);
        let Some(toolchain) = truth.toolchains.iter().find(own) else {
            let known = self.toolchains(&spec.path, spec.triple);
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(Refusal { rung: Rung::Compile, diagnostic: unknown("toolchain", &spec.tile, &known).0 });
        };
        let tile = self.tiles(&spec.path, spec.triple).into_iter().next().unwrap_or_default();
        let gemm = SimGemm::compile_by(self.world.clone(), &GemmSpec { tile, ..spec.clone() }, toolchain)?;
        Ok(Box::new(By::new(Box::new(gemm), toolchain.took.clone())))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        Ok(Box::new(SimCeiling::compile(self.world.clone(), spec)?))
    }

    fn units(&self) -> Vec<UnitSpec> {
        let world = self.world.borrow();
        let units = world.truth.all_units();
        // A truth was checked when the device was opened, so every unit can be made.
        units.iter().filter_map(|unit| Some(SimUnit::new(unit, 0, 0).ok()?.spec().clone())).collect()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        let mut world = self.world.borrow_mut();
        let planted = world.truth.all_units();
        let Some(planted) = planted.iter().find(|unit| unit.name == name) else {
            let known: Vec<&str> = planted.iter().map(|unit| unit.name.as_str()).collect();
            return Err(unknown("unit", name, &known));
        };
        if !planted.absent.is_empty() {
            return Err(Absent(planted.absent.clone()));
        }
        world.opened += 1;
        let opening = u64::from(world.process) << 32 | world.opened;
        let unit = SimUnit::new(planted, world.truth.seed, opening).map_err(|e| Absent(e.to_string()))?;
        Ok(Box::new(unit))
    }

    fn conversions(&self) -> Vec<ConversionSpec> {
        let truth = self.world.borrow().truth.clone();
        let spec = |c: &PlantedConversion| Some(SimConversion::new(c).ok()?.spec().clone());
        truth.conversions.iter().filter_map(spec).collect()
    }

    fn conversion(&mut self, name: &str) -> Result<Box<dyn Conversion>, Absent> {
        let truth = self.world.borrow().truth.clone();
        let Some(planted) = truth.conversions.iter().find(|conversion| conversion.name == name) else {
            let known: Vec<&str> = truth.conversions.iter().map(|conversion| conversion.name.as_str()).collect();
            return Err(unknown("conversion", name, &known));
        };
        if !planted.absent.is_empty() {
            return Err(Absent(planted.absent.clone()));
        }
        Ok(Box::new(SimConversion::new(planted).map_err(|e| Absent(e.to_string()))?))
    }

    fn idle(&mut self, time: Time) {
        self.world.borrow_mut().idle(time);
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        meter::open(&self.world)
    }

    fn health(&mut self) -> Result<(), String> {
        let world = self.world.borrow();
        match &world.lost {
            Some(message) => Err(message.clone()),
            None if world.truth.unhealthy.is_empty() => Ok(()),
            None => Err(world.truth.unhealthy.clone()),
        }
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> Absent {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    Absent(format!("this device has no {what} `{name}`; it has {known}"))
}
