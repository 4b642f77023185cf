//! Where, with what and from which sources was a run made?

use serde::{Deserialize, Serialize};

/// `run.json`: complete and synced before the first cell. Lacking a required field, a run says `incomplete` and gives no verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Version of the file formats.
    pub schema: u32,
    /// Run id: unique, from time, host and plan hash.
    pub run: String,
    /// `measured` or `simulated`.
    pub kind: RunKind,
    /// BLAKE3 of the resolved plan, without shard, output and device selectors.
    pub plan_hash: String,
    /// Name of the plan or preset.
    pub plan: String,
    /// Code commit.
    pub commit: String,
    /// Whether the code differed from that commit.
    pub dirty: Option<bool>,
    /// BLAKE3 of the binary.
    pub binary_hash: String,
    /// BLAKE3 of the normative text of the input recipes.
    pub recipe_hash: String,
    /// Master seed.
    pub seed: u64,
    /// The device.
    pub device: DeviceRecord,
    /// The host.
    pub host: Host,
    /// Command line as typed.
    pub command: Vec<String>,
    /// The part of the plan: a shard, `slice:m/n`, or one block, `block:NAME`; empty when undivided.
    pub partition: String,
    /// Cells that ran at the same time on this device (always 1 unless the user forces more).
    pub concurrent_cells: u32,
    /// Start, UTC, RFC 3339.
    pub started: String,
}

/// Whether rows are measured or simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// From a physical processor.
    Measured,
    /// From a device with planted facts.
    Simulated,
}

/// The device as provenance keeps it; mirrors the device contract's description.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeviceRecord {
    /// Stable id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Backend.
    pub backend: String,
    /// Selector as given.
    pub selector: String,
    /// Cores in use.
    pub cores: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Driver.
    pub driver: String,
    /// Firmware or microcode; `unknown` where it cannot be read.
    pub firmware: String,
    /// Toolchain and language version.
    pub toolchain: String,
    /// Operating system build.
    pub os: String,
    /// Kernel source hash.
    pub kernels: String,
    /// Clocks in words.
    pub clocks: String,
    /// Features, sorted.
    pub features: Vec<String>,
    /// Advertised and absent offers, stated limits, missing meters.
    pub offers: Vec<OfferRecord>,
    /// Meters that a user would expect and that are not there, with the reason.
    pub missing_meters: Vec<MissingMeterRecord>,
    /// Meters that can be read, with what each covers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meters: Vec<MeterRecord>,
    /// What it answered about rules that no product shows, where the plan asks for types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleRecord>,
}

/// What the device answered about a rule that no product shows: a version, a small mistake, what becomes of old content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleRecord {
    /// The rule.
    pub rule: String,
    /// What was asked.
    pub asked: String,
    /// The answer in a few words.
    pub answer: String,
    /// The device's or the system's words, as they are; empty where it said none.
    pub words: String,
}

/// A meter that can be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeterRecord {
    /// Name.
    pub name: String,
    /// Unit of what it reads.
    pub unit: String,
    /// What it covers, and what it does not.
    pub coverage: String,
}

/// An offer of the device, as provenance keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferRecord {
    /// Path.
    pub path: String,
    /// Type triple.
    #[schemars(with = "String")]
    pub triple: rigel_numerics::Triple,
    /// Whether the vendor's document lists it.
    pub advertised: bool,
    /// Document and section.
    pub source: String,
    /// Why it cannot be tried here; empty when it can.
    pub absent: String,
    /// Stated operations per core and core-clock cycle.
    pub stated_operations_per_cycle_per_core: Option<f64>,
    /// Where that is stated.
    pub stated_source: String,
    /// How the kernel converts its operands before it multiplies them; empty when it does not.
    pub conversion: String,
}

/// A missing meter, as provenance keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissingMeterRecord {
    /// Meter.
    pub name: String,
    /// Reason.
    pub reason: String,
}

/// The host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processor model.
    pub cpu: String,
    /// Logical processors.
    pub logical_cpus: u32,
    /// Load average over one minute at the start; empty where unknown.
    pub load: Option<f64>,
    /// Whether a hypervisor or container is seen, in words.
    pub environment: String,
}

impl Host {
    /// The load average of a host that was not idle when the run began: above half a process for each logical processor. An
    /// average of a minute lags, so what ended just before counts too.
    pub fn busy(&self) -> Option<f64> {
        self.load.filter(|load| *load > 0.5 * f64::from(self.logical_cpus))
    }
}

impl Provenance {
    /// Version of the file formats that this code writes.
    pub const SCHEMA: u32 = 1;

    /// What rows depend on, each with the name of its field: rows with anything of it different are not of one run. The
    /// shard is left out, since shards become one run; so are time, load, command line and run id.
    pub(crate) fn conditions(&self) -> [(&'static str, String); 16] {
        let Provenance { device, host, .. } = self;
        [
            ("plan_hash", self.plan_hash.clone()),
            ("device.id", device.id.clone()),
            ("device.driver", device.driver.clone()),
            ("binary_hash", self.binary_hash.clone()),
            ("commit", self.commit.clone()),
            ("dirty", self.dirty.map(|dirty| dirty.to_string()).unwrap_or_default()),
            ("kind", crate::rows::name_of(&self.kind)),
            ("recipe_hash", self.recipe_hash.clone()),
            ("device.backend", device.backend.clone()),
            ("device.cores", device.cores.to_string()),
            ("device.firmware", device.firmware.clone()),
            ("device.toolchain", device.toolchain.clone()),
            ("device.os", device.os.clone()),
            ("device.kernels", device.kernels.clone()),
            ("host.cpu", host.cpu.clone()),
            ("concurrent_cells", self.concurrent_cells.to_string()),
        ]
    }

    /// Names of required fields that are empty or unknown; a run with any gives no verdict.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        let texts = [
            ("run", &self.run),
            ("plan_hash", &self.plan_hash),
            ("commit", &self.commit),
            ("binary_hash", &self.binary_hash),
            ("recipe_hash", &self.recipe_hash),
            ("device.id", &self.device.id),
            ("device.name", &self.device.name),
            ("device.driver", &self.device.driver),
            ("device.clocks", &self.device.clocks),
            ("device.toolchain", &self.device.toolchain),
            ("device.os", &self.device.os),
            ("device.kernels", &self.device.kernels),
            ("host.cpu", &self.host.cpu),
            ("started", &self.started),
        ];
        missing.extend(texts.iter().filter(|(_, text)| text.trim().is_empty()).map(|(name, _)| *name));
        if self.dirty.is_none() {
            missing.push("dirty");
        }
        if self.command.is_empty() {
            missing.push("command");
        }
        if self.host.logical_cpus == 0 {
            missing.push("host.logical_cpus");
        }
        if self.host.load.is_none() {
            missing.push("host.load");
        }
        if self.concurrent_cells == 0 {
            missing.push("concurrent_cells");
        }
        missing
    }
}
