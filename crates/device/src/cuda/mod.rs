//! What does the backend `cuda` do?
//!
//! It reaches NVIDIA GPUs through the driver alone: its library is loaded when it is asked for, and kernels are PTX
//! beside this file that the driver compiles for the device at hand. Without a driver the backend says what is missing
//! and nothing else changes.
//!
//! So far it offers every dense `mma.sync` up to compute capability 9.0 as a [unit](unit), the device's description and
//! health, and NVML's counters as meters. It offers no path yet: no product, no ceiling loop.
//!
//! How it keeps the contract of [`crate::contract`]:
//! - a device is named `cuda:N`, N in the driver's order (which CUDA_VISIBLE_DEVICES changes), or by its UUID; its id
//!   in every file is the UUID;
//! - refusals of the driver's compiler come back with its log, word for word;
//! - after an error that the driver calls final, every call says
//!   [`Fault::DeviceLost`](crate::contract::Fault::DeviceLost) until the process ends;
//! - a kernel that does not end is not ended from here: the caller's timeout ends the process, and the driver its
//!   kernels.

pub mod describe;
pub mod driver;
pub mod instruction;
mod kernel;
pub mod layouts;
pub mod libraries;
mod memory;
mod meters;
pub mod target;
pub mod text;
pub mod unit;

use crate::backends::Backend;
use crate::contract::*;
use crate::unit::{Unit, UnitSpec};
use describe::Identity;
use driver::Context;
use instruction::Instruction;
use kernel::Kernel;
use memory::Memory;
use nvml_wrapper::Nvml;
use rigel_numerics::Triple;
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
        Ok(Cuda { context, identity, nvml: libraries::nvml().map(Rc::new) })
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

    /// Compiles any text for this device and gives the compiler's log, to show what it says of texts that it refuses.
    ///
    /// # Errors
    /// The refusal.
    pub fn try_text(&self, ptx: &str, entry: &str) -> Result<String, Refusal> {
        Kernel::load(&self.context, ptx, entry).map(|kernel| kernel.log().to_owned())
    }
}

/// Why nothing can be compiled as a path.
fn no_path(path: &str) -> Refusal {
    let diagnostic = format!("backend cuda offers no path yet, so not `{path}`; it has units (mma.sync) and meters");
    Refusal { rung: Rung::Compile, diagnostic }
}

/// Words that the health kernel writes.
const HEALTH_WORDS: u32 = 4096;

impl Device for Cuda {
    fn describe(&self) -> Description {
        self.identity.describe(self.nvml.as_deref().ok())
    }

    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn tiles(&self, _path: &str, _triple: Triple) -> Vec<String> {
        Vec::new()
    }

    fn ceiling_variants(&self, _path: &str, _triple: Triple) -> Vec<String> {
        Vec::new()
    }

    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        Err(no_path(&spec.path))
    }

    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal> {
        Err(no_path(&spec.path))
    }

    fn units(&self) -> Vec<UnitSpec> {
        Instruction::all().iter().map(Instruction::spec).collect()
    }

    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        let instruction = Instruction::named(name).ok_or_else(|| {
            let known: Vec<String> = Instruction::all().iter().map(Instruction::name).collect();
            Absent(format!("backend cuda has no unit `{name}`; it has {}", known.join(", ")))
        })?;
        Ok(Box::new(self.instruction(&instruction)?))
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        meters::meters(&self.nvml, &self.identity.uuid)
    }

    fn health(&mut self) -> Result<(), String> {
        let kernel = Kernel::load(&self.context, &text::health(self.target()), text::HEALTH_ENTRY);
        let kernel = kernel.map_err(|e| e.to_string())?;
        let answer = || {
            let mut bytes = vec![0; 4 * HEALTH_WORDS as usize];
            let memory = Memory::filled(&self.context, bytes.len(), POISON)?;
            // SAFETY: the kernel takes one address and the number of threads, and thread t writes word t.
            unsafe { kernel.run(&[memory.address()], HEALTH_WORDS)? };
            memory.read(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = answer().map_err(|e: driver::DriverError| e.to_string())?;
        let written = |i: u32| 0x9E37_79B9_u32.wrapping_mul(i).wrapping_add(1).to_le_bytes();
        let wrong = bytes.chunks(4).zip(0..).position(|(word, i)| word != written(i));
        wrong.map_or(Ok(()), |i| {
            Err(format!("word {i} of {HEALTH_WORDS} came back wrong from a kernel that only counts"))
        })
    }
}
