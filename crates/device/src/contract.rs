//! What does a device promise, and what may go wrong?
//!
//! # The contract
//!
//! A [`Device`] is one physical processor, or one software device with planted facts. It is used by one
//! worker process at a time, from one thread. Everything it cannot do it says in words: an [`Offer`] that
//! is absent carries its reason, a refused compile is a [`Refusal`] with the verbatim diagnostic, a failed
//! run is a [`Fault`]. "Unsupported" is data, never a panic.
//!
//! **Who validates.** The caller guarantees that a [`GemmSpec`] names an offered (path, triple), that the
//! shape's extents are at least 1, and that matrices bound have exactly the spec's formats and extents.
//! Backends check all three again in debug builds only. What the caller cannot foresee (a shape that a
//! kernel refuses, a compiler that dies, memory that runs out) is the backend's to report.
//!
//! **Ladder.** `compile` may refuse at [`Rung::Compile`]; `load` may refuse at [`Rung::Load`]; `run` may
//! fault. A backend that compiles ahead of time still answers all three, in order.
//!
//! **Time.** [`Sample::time`] is the device's own best timer around one repetition, whole product
//! included and nothing else: no packing of inputs that a user could do once, no copy to or from the host,
//! unless the path needs them on every call (then the backend's docs say so). A virtual clock is allowed only
//! for devices of kind [`Kind::Simulated`].
//!
//! **Output.** After `poison`, until the next `run`, `output` returns [`POISON`] bytes; after `run` it
//! returns the product written by the last repetition. A repetition that leaves an element unwritten is therefore seen.
//!
//! **Process death is allowed.** A backend may crash or hang its process: the caller runs it in a worker
//! with a timeout and a memory limit. It must not leave other processes or devices harmed.

use crate::unit::{Conversion, ConversionSpec, Unit, UnitSpec};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Matrix, Megahertz, Shape, Time, Triple};
use serde::{Deserialize, Serialize};

/// The byte that fills a poisoned output.
pub const POISON: u8 = 0xA5;

/// The byte that lies around placed operands: in every float format a word of these is NaN or, where there is none, the largest code.
pub const GUARD: u8 = 0xFF;

/// Whether rows of this device are measured or simulated; it marks every file and figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A physical processor.
    Measured,
    /// Software with planted facts.
    Simulated,
}

/// Everything about a device that provenance needs. Unknown is empty, never guessed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Stable id, unique over machines where the device has one (GPU UUID); for a CPU its model and core count.
    pub id: String,
    /// Marketing or model name.
    pub name: String,
    /// Backend that speaks for it: `cpu`, `sim`, …
    pub backend: String,
    /// Measured or simulated.
    pub kind: Kind,
    /// Cores, multiprocessors or GPU cores in use.
    pub cores: u32,
    /// Memory that it can address, in bytes.
    pub memory_bytes: u64,
    /// Driver (for a CPU: kernel release; for sim: version of the planted truth).
    pub driver: String,
    /// Firmware or microcode.
    pub firmware: String,
    /// Toolchain and language version, requested and effective.
    pub toolchain: String,
    /// Operating system and build.
    pub os: String,
    /// Hash or version of the kernel sources.
    pub kernels: String,
    /// Clocks as stated by the system, in words; a run without these words gives no verdict, so a device whose clocks no call
    /// tells says that.
    pub clocks: String,
    /// Features that paths rest on (`avx2`, `fma`, …), sorted.
    pub features: Vec<String>,
}

/// What a vendor's document says of a path and triple: the first rung of the ladder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advertised {
    /// Whether the document lists it.
    pub yes: bool,
    /// Document and section, or why there is none.
    pub source: String,
}

/// One (path, triple) that the device has, or that it would have were something present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Path name: `scalar`, `tiled`, `avx512-fma`, …
    pub path: String,
    /// The type triple.
    pub triple: Triple,
    /// What the vendor's document says.
    pub advertised: Advertised,
    /// Empty when it can be tried here; else the reason why not, in words.
    pub absent: String,
    /// Rough operations per second, for estimates of duration only; never reported.
    pub rough_rate: f64,
    /// The limit that the vendor states for this path, if any.
    pub stated: Option<Stated>,
    /// Whether a ceiling loop exists.
    pub has_ceiling: bool,
    /// How the kernel converts its operands before it multiplies them, seen in its machine code or source; empty when an
    /// instruction takes the operand type itself. A sign of emulation.
    pub conversion: String,
}

/// A limit from a vendor's document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    /// Operations per core and core-clock cycle.
    pub operations_per_cycle_per_core: f64,
    /// Document and section.
    pub source: String,
}

/// Cache state at the start of each repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Operands as the previous repetition left them.
    Warm,
    /// Operand buffers rotated over at least twice the last-level cache.
    Cold,
    /// Operands as the previous repetition left them, launches recorded once and replayed as one chain: a repetition is a chain, its
    /// time divided among its launches. A backend without such chains says so.
    Replayed,
}

/// One product to compile.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GemmSpec {
    /// Path name.
    pub path: String,
    /// Type triple.
    pub triple: Triple,
    /// Extents.
    pub shape: Shape,
    /// Launch tile, one of [`Device::tiles`].
    pub tile: String,
}

/// What follows a product: C = activation(A·B + bias), the bias one number a column of C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Epilogue {
    /// The activation.
    pub activation: Activation,
    /// Whether the kernel that multiplies applies it to its sums; else it only adds the bias, and a kernel of its own goes over C
    /// within the same repetition.
    pub fused: bool,
}

/// One ceiling loop to compile: operands stay in registers (or the unit's own memory).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CeilingSpec {
    /// Path name.
    pub path: String,
    /// Type triple.
    pub triple: Triple,
    /// Variant, one of [`Device::ceiling_variants`]: independent chains × threads, `ilp8x2`.
    pub variant: String,
}

/// One timed repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Device time of the repetition.
    pub time: Time,
    /// Core clock around it, where it can be read or estimated.
    pub clock: Option<Megahertz>,
}

/// A rung at which a kernel can be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// The compiler refused.
    Compile,
    /// The loader, driver or pipeline creation refused.
    Load,
}

/// A kernel that does not come into being.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("refused at {rung:?}: {diagnostic}")]
pub struct Refusal {
    /// Where.
    pub rung: Rung,
    /// The verbatim diagnostic, or the backend's reason.
    pub diagnostic: String,
}

/// A kernel that came into being and did not finish.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Fault {
    /// The device or host refused an allocation.
    #[error("out of memory: {0}")]
    OutOfMemory(String),
    /// The device does not answer any more.
    #[error("device lost: {0}")]
    DeviceLost(String),
    /// The kernel reported an error.
    #[error("{0}")]
    Failed(String),
}

impl Fault {
    /// Why repetitions of [`Cache::Replayed`] are not there.
    pub(crate) fn not_replayed(why: &str) -> Fault {
        Fault::Failed(format!("{why}: ask for the cache state warm or cold"))
    }
}

/// A service that this device has not, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Absent(pub String);

/// A compiled product. Calls come in the order load, bind, then any of poison, run, output.
pub trait Gemm {
    /// Makes the kernel ready to launch.
    fn load(&mut self) -> Result<(), Refusal>;
    /// Copies the input bytes to the device (and packs them where the path's contract says that a user packs once).
    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault>;
    /// Fills the whole output with [`POISON`].
    fn poison(&mut self) -> Result<(), Fault>;
    /// Runs `repetitions` products back to back, each timed on its own.
    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault>;
    /// Runs `repetitions` products back to back on warm operands, untimed, as a steady load; returns when they are done.
    fn repeat(&mut self, repetitions: usize) -> Result<(), Fault> {
        self.run(repetitions, Cache::Warm).map(|_| ())
    }
    /// The output, m × n of the triple's C format.
    fn output(&mut self) -> Result<Matrix, Fault>;
    /// What took effect of the toolchain that was asked for ([`Device::compile_by`]), in words: language, target, features. Asked once
    /// the product has run.
    fn took_effect(&self) -> String {
        String::new()
    }
}

/// A compiled ceiling loop.
pub trait Ceiling {
    /// Operations of one repetition over all threads.
    fn operations(&self) -> u64;
    /// Runs and times repetitions.
    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault>;
    /// Runs repetitions untimed, as a steady load; returns when they are done.
    fn repeat(&mut self, repetitions: usize) -> Result<(), Fault> {
        self.run(repetitions).map(|_| ())
    }
    /// Whether the accumulators hold the exact small integers that the loop must have produced; the reason if not.
    fn check(&self) -> Result<(), String>;
}

/// One reading of a meter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Since the meter was opened.
    pub time: Time,
    /// In the meter's unit.
    pub value: f64,
}

/// A source of energy or clock readings.
pub trait Meter {
    /// Name, unique on the device.
    fn name(&self) -> &str;
    /// Unit of [`Reading::value`]: `J` (a counter), `W`, `MHz`.
    fn unit(&self) -> &str;
    /// What it covers, in words (`package`, `GPU board`), and what it does not.
    fn coverage(&self) -> &str;
    /// Reads it now; the reason when it cannot be read.
    fn read(&mut self) -> Result<Reading, Absent>;
}

/// A meter that a user would expect and that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingMeter {
    /// Name.
    pub name: String,
    /// Why it cannot be read, and what would help.
    pub reason: String,
}

/// What is asked of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleQuestion {
    /// The rule.
    pub rule: String,
    /// What is asked.
    pub asked: String,
}

/// What a device answered about a rule that no product shows: a version, an alignment, what becomes of old content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleAnswer {
    /// The rule: `language`, `library`, `trap`, `mode`, `slice`, `tail of k`, `scales`, `row distance`.
    pub rule: String,
    /// What was asked for.
    pub asked: String,
    /// The answer in a word or two; `refused: ` and a class for a refusal.
    pub answer: String,
    /// The device's or the system's words, as they are; empty where it said none.
    pub words: String,
}

/// One processor, behind the contract of this module.
pub trait Device {
    /// Who it is.
    fn describe(&self) -> Description;
    /// Tells the device which of the block's fresh processes this is, from 0; called once, before any compile.
    /// A physical device ignores it. `sim` uses it to plant effects that differ between processes.
    fn enter_process(&mut self, _process: u32) {}
    /// Every (path, triple) it has or would have, in a stable order.
    fn offers(&self) -> Vec<Offer>;
    /// Candidate launch tiles of a path and triple, best guess first; at least one.
    fn tiles(&self, path: &str, triple: Triple) -> Vec<String>;
    /// Extents of a launch tile, so that the ladder can try shapes one below and one above it; `None` where a tile has none.
    fn tile_extents(&self, _path: &str, _triple: Triple, _tile: &str) -> Option<Shape> {
        None
    }
    /// Variants of a ceiling loop in order of growing parallelism: neighbours in this list decide the plateau.
    fn ceiling_variants(&self, path: &str, triple: Triple) -> Vec<String>;
    /// The largest extent up to which products come from the device's own arithmetic; `None` where all do. A software device
    /// sums its larger ones otherwise, so that their bits say nothing about what was planted.
    fn own_arithmetic(&self) -> Option<usize> {
        None
    }
    /// Compiles a product.
    fn compile(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal>;
    /// Epilogues that products of a path and triple can have, in a stable order.
    fn epilogues(&self, _path: &str, _triple: Triple) -> Vec<Epilogue> {
        Vec::new()
    }
    /// Compiles a product with one of these. B is then bound with one row more than the shape's k: the bias, in B's format.
    ///
    /// Where a launch takes no longer than the host needs for it, a repetition may be the replay of a recorded chain of launches;
    /// its time is then divided by their number, and the backend's docs say when.
    fn compile_with(&mut self, spec: &GemmSpec, epilogue: Epilogue) -> Result<Box<dyn Gemm>, Refusal> {
        let how = if epilogue.fused { "fused" } else { "behind it" };
        let diagnostic =
            format!("path {} has no product of {} with {} {how}", spec.path, spec.triple, epilogue.activation);
        Err(Refusal { rung: Rung::Compile, diagnostic })
    }
    /// Launch tiles of an attention of a path and triple, best guess first: fused, all of it in one kernel, or decomposed into scores,
    /// softmax and output, each in kernels of its own within one repetition. None where there is no such attention.
    fn attention_tiles(&self, _path: &str, _triple: Triple, _fused: bool) -> Vec<String> {
        Vec::new()
    }
    /// Compiles softmax(Q·Kᵀ / √n)·V with one of these tiles, of the shape m × n × k: m queries in m / k heads of k keys and values
    /// each, n columns a head. A is bound as Q, m × n; B as 2m × n, all keys and then all values; the output is m × n. No mask.
    /// Operands lie row by row and are not packed: in a network they come from the device itself.
    ///
    /// Where a launch takes no longer than the host needs for it, a repetition may be the replay of a recorded chain of launches, as
    /// with [`Device::compile_with`].
    fn compile_attention(&mut self, spec: &GemmSpec, fused: bool) -> Result<Box<dyn Gemm>, Refusal> {
        let how = if fused { "fused" } else { "decomposed" };
        let diagnostic = format!("path {} has no {how} attention of {}", spec.path, spec.triple);
        Err(Refusal { rung: Rung::Compile, diagnostic })
    }
    /// Launch tiles of products whose operands can be placed at other addresses, one for each way in which the path loads them. None
    /// where its operands are always packed.
    fn placed_tiles(&self, _path: &str, _triple: Triple) -> Vec<String> {
        Vec::new()
    }
    /// Compiles a product with one of these whose operands, in the order in which the path reads them, begin so many bytes past a
    /// multiple of [`rigel_numerics::placement::ALIGNED`] and have their rows so far apart. C lies as it always does.
    ///
    /// Everything around and between the rows is bytes of [`GUARD`]: in a float format these are NaN, so that a load beyond a row is seen. An address that
    /// the kernel cannot take must show in the kernel's own way, not in a check in front of it; what a host interface refuses, a copy
    /// engine's map or a library's layout, is a [`Refusal`] or a [`Fault`] in its words.
    fn compile_placed(&mut self, spec: &GemmSpec, placement: Placement) -> Result<Box<dyn Gemm>, Refusal> {
        let diagnostic = format!("path {} has no product of {} with operands at {placement}", spec.path, spec.triple);
        Err(Refusal { rung: Rung::Compile, diagnostic })
    }
    /// Toolchains, languages and targets by which a product of a path and triple can be compiled, in a stable order; names without
    /// spaces. Those that this device refuses belong here as well as those that it takes.
    fn toolchains(&self, _path: &str, _triple: Triple) -> Vec<String> {
        Vec::new()
    }
    /// Compiles a product by one of these, which stands in the place of the launch tile. Within a process one compilation may serve
    /// several products.
    fn compile_by(&mut self, spec: &GemmSpec) -> Result<Box<dyn Gemm>, Refusal> {
        let diagnostic = format!("path {} has no toolchain `{}` for {}", spec.path, spec.tile, spec.triple);
        Err(Refusal { rung: Rung::Compile, diagnostic })
    }
    /// Compiles a ceiling loop.
    fn ceiling(&mut self, spec: &CeilingSpec) -> Result<Box<dyn Ceiling>, Refusal>;
    /// Matrix instructions that can be asked one at a time, in a stable order.
    fn units(&self) -> Vec<UnitSpec> {
        Vec::new()
    }
    /// One of them; the reason when it cannot be had here.
    fn unit(&mut self, name: &str) -> Result<Box<dyn Unit>, Absent> {
        Err(Absent(format!("this device offers no unit `{name}`")))
    }
    /// Conversions of single codes that can be asked, in a stable order.
    fn conversions(&self) -> Vec<ConversionSpec> {
        Vec::new()
    }
    /// One of them; the reason when it cannot be had here.
    fn conversion(&mut self, name: &str) -> Result<Box<dyn Conversion>, Absent> {
        Err(Absent(format!("this device offers no conversion `{name}`")))
    }
    /// What can be asked for of rules that no product shows, and of whether these libraries, compiled elsewhere, load here. Empty: nothing.
    fn rules(&self, _libraries: &[std::path::PathBuf]) -> Vec<RuleQuestion> {
        Vec::new()
    }
    /// Asks one of these, by its place among them. It may kill the process.
    fn rule(&mut self, _libraries: &[std::path::PathBuf], _number: usize) -> Vec<RuleAnswer> {
        Vec::new()
    }
    /// Meters that exist, and those that do not with the reason.
    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>);
    /// Lets time pass while nothing runs, so that meters see the device idle. A virtual clock is set forward instead.
    fn idle(&mut self, time: Time) {
        std::thread::sleep(std::time::Duration::from_nanos(time.0 / 1000));
    }
    /// Whether the device still answers; the reason if not. Called after a crash, in a fresh process.
    fn health(&mut self) -> Result<(), String>;
}
