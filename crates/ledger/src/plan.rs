//! What was asked: which probes, over which axes, by which thresholds, fixed before the first cell?

pub use crate::plan_error::{PlanError, PlanFault};
pub use crate::plan_select::begins;
use crate::rows::{CacheState, Probe};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::{Placement, Stride};
use rigel_numerics::{Recipe, Shape, Triple};
use serde::{Deserialize, Serialize};

/// A resolved plan: `plan.toml` of a run. Its BLAKE3 hash is the run's configuration hash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Name, the preset's or the file's.
    pub name: String,
    /// Master seed: inputs, order of cells, resampling.
    pub seed: u64,
    /// Probes, in the order in which they run.
    pub probes: Vec<Probe>,
    /// How much is sampled.
    pub sampling: Sampling,
    /// Numbers that verdicts use.
    pub thresholds: Thresholds,
    /// What a worker may take.
    pub limits: Limits,
    /// What triples are judged against.
    #[serde(rename = "match")]
    pub matches: Match,
    /// The dull explanations.
    pub baselines: Baselines,
    /// Which paths and triples take part.
    pub select: Select,
    /// Axes of the probe `types`.
    pub types: TypesAxes,
    /// Axes of the probe `throughput` (and `clocks`, which reads the same cells).
    pub throughput: ThroughputAxes,
    /// Axes of the probes `arithmetic`, `layout` and `specials`; a plan that names none of them may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<UnitsAxes>,
    /// Axes of the probe `order`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderAxes>,
    /// Axes of the probe `fusion`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<FusionAxes>,
    /// Axes of the probe `power`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerAxes>,
    /// Axes of the probe `attention`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<AttentionAxes>,
    /// Axes of the probe `alignment`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<AlignmentAxes>,
    /// Axes of the probe `versions`; a plan that does not name it may leave the section out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionsAxes>,
}

impl Plan {
    /// Whether it times anything; single questions have no times.
    pub fn times(&self) -> bool {
        self.probes.iter().any(|probe| *probe != Probe::Versions && crate::units::folder(*probe).is_none())
    }

    /// Whether it asks single units or conversions.
    pub fn asks_units(&self) -> bool {
        asks_units(&self.probes)
    }
}

/// Whether any of these probes asks single units or conversions.
pub(crate) fn asks_units(probes: &[Probe]) -> bool {
    probes.iter().any(|probe| matches!(probe, Probe::Arithmetic | Probe::Layout | Probe::Specials))
}

/// How much is sampled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Fresh processes a block is repeated in; at least 6 for a verdict.
    pub processes: u32,
    /// Repetitions of a cell over all its processes.
    pub repetitions: u32,
    /// Repetitions over all processes that a slow cell must reach before its budget may stop it; at least 30.
    pub minimum_repetitions: u32,
    /// Device seconds for one cell in one process, after which it may stop once it has its share of the minimum.
    pub budget_s: f64,
    /// Half-width of the 95 % interval, relative to the median, at which a cell may stop early; 0 = never.
    pub precision: f64,
    /// Repetitions a cell takes in a row before the next cell has its turn.
    pub burst: u32,
    /// Pilot repetitions of each candidate launch tile.
    pub pilot: u32,
    /// Seeded resamples behind the bootstrap interval of a cell in a process; 0 = its closed form.
    pub bootstrap_resamples: u32,
    /// Seconds for which meters are read at idle and under the load of each path; 0 = meters are not read.
    pub meter_window_s: f64,
}

/// Numbers that verdicts use (design defaults in the presets).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// `accelerated` when the whole interval of rate ÷ match is at least this.
    pub accelerated: f64,
    /// `win` when the whole interval against every baseline is at least this.
    pub win: f64,
    /// `same rate` when the whole interval lies within these two.
    pub same: [f64; 2],
    /// A cell decides only when its match reaches this share of its own ceiling.
    pub ceiling_share: f64,
    /// Relative difference of neighbours that still is a plateau.
    pub plateau: f64,
    /// Coarse cap of |ĉ − c| / Σ|a||b| below which an out-of-bound result is `imprecise` rather than `wrong`.
    pub coarse_cap: f64,
    /// Products whose every element is checked: at most this many terms m·n·k.
    pub full_check: u64,
}

/// What a worker may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds without any message from a worker after which it counts as hung.
    pub timeout_s: f64,
    /// Private writable memory of a worker in MiB, stacks of its threads included; 0 = no limit. Where the system cannot limit it, it does not.
    pub memory_mib: u64,
}

impl Limits {
    /// Less than this holds no worker at all: its program, its threads and what it writes with.
    pub const LEAST_MEMORY_MIB: u64 = 64;
}

/// What triples are judged against.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The match: on the same path, and on the device's fastest path.
    #[schemars(with = "String")]
    pub triple: Triple,
    /// The triples that are judged; empty = every other one whose operands are not wider.
    #[schemars(with = "Vec<String>")]
    pub judged: Vec<Triple>,
}

/// Paths that stand for the dull explanations; empty = not present on this device, and the verdict says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baselines {
    /// A: the scalar roofline (a limit, not a rival).
    pub a: String,
    /// B: naive tiled product.
    pub b: String,
    /// C: the older matrix or vector instruction.
    pub c: String,
    /// D: the standard path of the match.
    pub d: String,
}

/// Which paths and triples take part; empty lists mean all that the device offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// Path names.
    pub paths: Vec<String>,
    /// Type triples.
    #[schemars(with = "Vec<String>")]
    pub triples: Vec<Triple>,
    /// Words that `path triple` must all contain, case ignored; empty = no filter.
    #[serde(default)]
    pub filter: String,
}

/// Axes of the probe `types`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypesAxes {
    /// Shapes every rung must get right.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes.
    pub recipes: Vec<Recipe>,
}

/// Axes of the probes that ask single units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitsAxes {
    /// Fresh dot products on which a recovered model is validated; they bound what `exact` may hide.
    pub validation: u64,
}

impl Default for UnitsAxes {
    /// 10⁶, as a claim needs.
    fn default() -> Self {
        UnitsAxes { validation: 1_000_000 }
    }
}

/// Axes of the probe `power`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerAxes {
    /// Seconds of each window of idling or load.
    pub window_s: f64,
    /// Shapes of the products that are loads.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes of their operands; at least one that can fail its gate.
    pub recipes: Vec<Recipe>,
    /// Whether ceiling loops are loads too.
    pub ceilings: bool,
}

impl Default for PowerAxes {
    /// Windows of 3 s, zeros beside random data.
    fn default() -> Self {
        let (shapes, recipes) = (vec![Shape::cube(2048)], vec![Recipe::NearNormal, Recipe::Zeros]);
        PowerAxes { window_s: 3.0, shapes, recipes, ceilings: true }
    }
}

/// Axes of the probe `fusion`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FusionAxes {
    /// Shapes.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes that can fail their gate.
    pub recipes: Vec<Recipe>,
    /// Activations behind product and bias.
    #[schemars(with = "Vec<String>")]
    pub activations: Vec<Activation>,
}

impl Default for FusionAxes {
    /// The study's shapes, random data, GELU by tanh.
    fn default() -> Self {
        FusionAxes {
            shapes: [512, 1024, 2048].map(Shape::cube).to_vec(),
            recipes: vec![Recipe::NearNormal],
            activations: vec![Activation::GeluTanh],
        }
    }
}

/// Axes of the probe `attention`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttentionAxes {
    /// Shapes: queries over all heads × columns of a head × keys of a head, the first a multiple of the last.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes that can fail their gate.
    pub recipes: Vec<Recipe>,
}

impl Default for AttentionAxes {
    /// 4096 queries in heads of 128 columns and 512 or 1024 keys, random data.
    fn default() -> Self {
        let shapes = [512, 1024].map(|keys| Shape::new(4096, 128, keys)).to_vec();
        AttentionAxes { shapes, recipes: vec![Recipe::NearNormal] }
    }
}

/// Axes of the probe `order`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrderAxes {
    /// Shapes: the largest batch × columns × K. Each K is a question of its own.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
}

impl Default for OrderAxes {
    /// Batches of up to 1024 rows, 16 columns, K = 256: long enough for every split that a short kernel makes.
    fn default() -> Self {
        OrderAxes { shapes: vec![Shape::new(1024, 16, 256)] }
    }
}

/// Axes of the probe `alignment`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AlignmentAxes {
    /// Extents.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Bytes past an address that every rule takes; the first is 0.
    pub offsets: Vec<usize>,
    /// Distances between rows: `+N` bytes more than a row has, or `*N`, the next multiple of N bytes. The first, with offset 0, is the
    /// placement that the others are compared with.
    #[schemars(with = "Vec<String>")]
    pub strides: Vec<Stride>,
    /// Recipes that can fail their gate.
    pub recipes: Vec<Recipe>,
    /// `slow` when the whole interval of the time over that of the aligned placement is at least this.
    pub slow: f64,
}

impl AlignmentAxes {
    /// Every placement, offset by offset.
    pub fn placements(&self) -> impl Iterator<Item = Placement> + '_ {
        self.offsets.iter().flat_map(|&offset| self.strides.iter().map(move |&stride| Placement { offset, stride }))
    }

    /// The placement that the others are compared with.
    pub fn aligned(&self) -> Placement {
        let stride = self.strides.first().copied().unwrap_or(Stride::Multiple(256));
        Placement { offset: 0, stride }
    }
}

impl Default for AlignmentAxes {
    /// Offsets and distances on both sides of what loads of 4, 8 and 16 bytes ask for, and rows whose addresses share their last 12 bits.
    fn default() -> Self {
        AlignmentAxes {
            shapes: vec![Shape::cube(256)],
            offsets: vec![0, 2, 8, 16],
            strides: vec![Stride::Multiple(256), Stride::Plus(8), Stride::Plus(16), Stride::Multiple(4096)],
            recipes: vec![Recipe::NearNormal],
            slow: 1.1,
        }
    }
}

/// Axes of the probe `versions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionsAxes {
    /// Extents of the product that each toolchain compiles; its whole output stands in the witness.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes that can fail their gate.
    pub recipes: Vec<Recipe>,
}

impl VersionsAxes {
    /// Elements of an output at most.
    pub const MOST: usize = 1024;
}

/// Axes of the probe `throughput`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThroughputAxes {
    /// Shapes.
    #[schemars(with = "Vec<String>")]
    pub shapes: Vec<Shape>,
    /// Recipes; at least one that can fail its gate.
    pub recipes: Vec<Recipe>,
    /// Cache states.
    pub caches: Vec<CacheState>,
    /// Whether ceiling loops are measured.
    pub ceilings: bool,
}
