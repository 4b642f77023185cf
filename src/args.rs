//! What may a user type? Each option is also an environment variable `RIGEL_*`.

mod calibrate;
mod emit;

pub use calibrate::CalibrateArgs;
pub use emit::{EmitArgs, EmitLayoutArgs, EmitMetallibsArgs, EmitModelArgs, EmitWhat};

use crate::terminal::Color;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use rigel_study::partition::Partition;
use std::path::PathBuf;

/// Finds out what a matrix unit really does, and lets anybody check the answer.
#[derive(Debug, Parser)]
#[command(
    name = "rigel",
    version,
    about,
    max_term_width = 100,
    after_help = "\
Examples:
  rigel run                            measure this processor in one minute, into runs/quick-cpu
  rigel verify runs/quick-cpu          derive every number and verdict again from the files
  rigel explain runs/quick-cpu tiled   from the verdicts of path `tiled` down to their samples
  rigel run --preset paper -o mine     the throughput cells of the study, into directory mine
  rigel run --device sim:two-clocks --axis shape=512    a software device with planted clock states
  rigel compare old new                which verdicts changed, which intervals moved

A path is one way to multiply on a device, a type triple the types of A, B and C, a cell one configuration that \
is measured, a block the cells that are compared with each other, a run one directory of files. Every other word is \
explained under \"Words\" in any report.html and in docs/words.md.

stdout is data, stderr is progress. Tables fit the terminal (or COLUMNS); in a pipe every row is one line. Exit codes: 0 fine; 1 a check said no; 2 usage or unreadable input; \
3 no such device; 4 nothing selected; 5 some cells have no row, resuming may help; 75 busy; 130 interrupted."
)]
pub struct Args {
    /// When to use colour; NO_COLOR is honoured.
    #[arg(long, global = true, value_enum, default_value = "auto", env = "RIGEL_COLOR")]
    pub color: Color,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show which devices are here, what they can do, and why the rest is missing.
    Devices(DevicesArgs),
    /// Show which cells a run would measure, or how long and large it would be.
    List(PlanArgs),
    /// Measure a device into a run directory: rows, verdicts and the page report.html.
    Run(RunArgs),
    /// Check runs: derive every digest, gate outcome, statistic and verdict again from the files.
    Verify(VerifyArgs),
    /// Measure the instrument itself: how often are its words wrong on planted devices?
    Calibrate(CalibrateArgs),
    /// Compare two runs: changed verdicts first, then moved intervals, then what cannot be decided.
    Compare(CompareArgs),
    /// Join shards, made with `run --partition`, into one run.
    Merge(MergeArgs),
    /// Go from a verdict down to its samples, and to the command that repeats just that block.
    Explain(ExplainArgs),
    /// Draw every figure of a run from its files, or check those that are there.
    Figures(FiguresArgs),
    /// Write the page of a run from its files, and the findings table of a README.
    Report(ReportArgs),
    /// Write an arithmetic model as Rust, C, Python or JSON, or a layout as index functions.
    Emit(EmitArgs),
    /// Convert a run to JSON Lines, Parquet or Bencher Metric Format.
    Export(ExportArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man,
    /// Measure one job in a fresh process; started by `run`.
    #[command(hide = true)]
    Worker,
}

/// `rigel devices`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel devices                   one line a device
  rigel devices --device cpu      everything about one, every path and type triple included
  rigel devices --device cpu --units    its single instructions and conversions
  rigel devices --format jsonl    for programs")]
pub struct DevicesArgs {
    /// Show this one in full: cpu, cuda:0, metal, metal-sim, sim:NAME, or sim:FILE.toml.
    #[arg(short, long, env = "RIGEL_DEVICE")]
    pub device: Option<String>,
    /// Of that one, list single instructions and conversions instead of paths.
    #[arg(long, requires = "device")]
    pub units: bool,
    /// Of that one, ask for the rules that no product shows: language versions and what took effect, row distances, what
    /// becomes of old content. It runs small kernels.
    #[arg(long, requires = "device", conflicts_with = "units")]
    pub rules: bool,
    /// With --rules, libraries compiled elsewhere (rigel emit metallibs): whether they load here.
    #[arg(long, requires = "rules", value_name = "FILE", num_args = 1..)]
    pub libraries: Vec<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
}

/// What to measure.
#[derive(Debug, ClapArgs, Clone)]
#[command(after_help = "\
Examples:
  rigel list --estimate                         rows, bytes, minutes and memory of the preset quick
  rigel list --preset paper --filter bf16       only paths and triples that say bf16
  rigel list throughput --axis shape=512,1024   one probe, other shapes")]
pub struct PlanArgs {
    /// Probes that take part [default: those of the plan]: types (what runs and is right), throughput (rates),
    /// clocks (clock states), dispatch (where it runs); of single instructions arithmetic, layout,
    /// specials (conversions); of long sums order; of operands' addresses alignment; of toolchains versions.
    pub probes: Vec<String>,
    /// Device: cpu, sim:NAME (`rigel devices` lists them), or sim:FILE.toml.
    #[arg(short, long, default_value = "cpu", env = "RIGEL_DEVICE")]
    pub device: String,
    /// A named plan: quick (a minute), paper (the study's throughput cells), study (these and every other probe
    /// offered), full (more sizes, inputs and cache states); alone: units (single instructions), orders (of sums), fusion
    /// (epilogues), power (energy of operations), attention, alignment (addresses of operands), versions (toolchains).
    #[arg(long, default_value = "quick", env = "RIGEL_PRESET", conflicts_with = "plan")]
    pub preset: String,
    /// A plan file instead of a preset; a run's plan.toml is one.
    #[arg(long, env = "RIGEL_PLAN")]
    pub plan: Option<PathBuf>,
    /// Keep paths and triples that contain every word, like "avx512 bf16". What their verdicts are compared with, the
    /// match and the baselines, is timed beside them (not by the probes types and clocks alone).
    #[arg(long, default_value = "", env = "RIGEL_FILTER", hide_default_value = true)]
    pub filter: String,
    /// Replace the values of an axis: shape=512,1024 recipe=uniform cache=cold path=tiled
    /// "triple=f32,f32->f32"; of the probe types: types-shape=8,9 types-recipe=uniform; of single units:
    /// validation=100000; of orders: order-shape=64x16x256; of addresses: offset=0,4 "stride=*256,+8"; of toolchains: version-shape=16x16x64. Give it once for each axis, or several with `;` between them, as RIGEL_AXIS takes them:
    /// "shape=512;cache=cold".
    #[arg(long = "axis", value_name = "NAME=V1,V2", env = "RIGEL_AXIS")]
    pub axes: Vec<String>,
    /// Seed instead of the plan's, of inputs and of the order of turns.
    #[arg(long, env = "RIGEL_SEED", value_parser = seed)]
    pub seed: Option<u64>,
    /// Seconds of silence after which a worker counts as hung, instead of the plan's.
    #[arg(long, value_name = "SECONDS", env = "RIGEL_TIMEOUT", value_parser = timeout)]
    pub timeout: Option<f64>,
    /// Only shard M of N, for several machines or jobs: slice:2/8. No block is split.
    #[arg(long, value_name = "slice:M/N", env = "RIGEL_PARTITION")]
    pub partition: Option<Partition>,
    /// Only this block, by its name in the column `block` of `rigel list` and of cells.csv; several times for several. A
    /// verdict needs the block `ceilings` beside that of its products, as `rigel explain` prints it.
    #[arg(
        long = "block",
        value_name = "NAME",
        env = "RIGEL_BLOCK",
        conflicts_with = "partition",
        value_delimiter = ';'
    )]
    pub blocks: Vec<String>,
    /// Print the rows, bytes, minutes and memory that each block of the run would take, and run nothing.
    #[arg(long)]
    pub estimate: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
}

/// `rigel run`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel run                                       one minute on this processor
  rigel run --preset paper --out data/mine/paper  the study's throughput cells
  rigel run --filter \"avx512 bf16\" --axis shape=1024
  rigel run --device sim:hostile --axis shape=512 --timeout 2
                                                  crashes and hangs become rows
  rigel run --partition slice:2/8 --out shard2    then: rigel merge all shard*
  rigel run --fail-on wrong,crashed,hung          for continuous integration

A run that was interrupted or killed goes on where it stopped when the same command is given again.")]
pub struct RunArgs {
    /// What to measure.
    #[command(flatten)]
    pub plan: PlanArgs,
    /// Run directory [default: runs/PLAN-DEVICE].
    #[arg(short, long, env = "RIGEL_OUT")]
    pub out: Option<PathBuf>,
    /// Libraries compiled elsewhere (rigel emit metallibs): whether they load here, and what their table says of the Xcodes that
    /// made them. A run of metal that asks for types keeps both.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub libraries: Vec<PathBuf>,
    /// Print the cells that would be measured, and run nothing.
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Go on with the run that is in the directory (the default); what is measured stays, even beside --fresh.
    #[arg(long)]
    pub resume: bool,
    /// Throw away the run that is in the directory and start again, unless --resume is given.
    #[arg(long, env = "RIGEL_FRESH")]
    pub fresh: bool,
    /// How many runs share the device, this one included; they are shards of one plan that asks single units and times nothing.
    #[arg(long, value_name = "N", default_value_t = 1, env = "RIGEL_CONCURRENT", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub concurrent: u32,
    /// End with code 1 if a verdict or an outcome says one of these words: emulated, wrong, "no win", …; a word
    /// that none can say lists them all.
    #[arg(long, value_name = "WORD,…", value_delimiter = ',', env = "RIGEL_FAIL_ON")]
    pub fail_on: Vec<String>,
}

/// `rigel verify`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  rigel verify data/epyc-zen5-2core/*    every committed run of a processor; no device needed

Exit code 1 when a check says no. This proves integrity, not authorship: whoever rewrites a run can seal it again.")]
pub struct VerifyArgs {
    /// Run directories.
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
}

/// `rigel compare`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel compare before/ after/
  rigel compare \"ampere f16 to f32, floored\" \"hopper mma f16 to f32, floored\"
  rigel compare before/models/UNIT-CELL.json after/models/UNIT-CELL.json

Two runs: a number moved when its two 95 % intervals do not overlap; without two intervals a difference is not decidable. Exit \
code 1 when a verdict or another word changed, or an interval moved; 5 when a run is not sealed yet.

Two models: the first behaviour that differs, in words, with one input that shows it; exit code 1 when there is one.")]
pub struct CompareArgs {
    /// The older run; or a model: a name, or a file.
    pub old: PathBuf,
    /// The newer run; or another model.
    pub new: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
}

/// `rigel merge`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  rigel merge whole shard1 shard2 shard3

Shards must be of one plan, device, driver, host and binary. A cell that two runs measured is refused: compare them. \
Exit code 5 when shards or cells of the plan are missing; the verdicts then say of which part they are.")]
pub struct MergeArgs {
    /// Directory of the joined run; must not exist.
    pub out: PathBuf,
    /// Sealed runs to join.
    #[arg(required = true)]
    pub shards: Vec<PathBuf>,
}

/// `rigel explain`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel explain runs/quick-cpu avx512-bf16        every verdict of a path
  rigel explain runs/quick-cpu \"tiled e4m3\"       every word must match
  rigel explain runs/quick-cpu 3f2a91c07b55       one cell by id
  rigel explain --tolerance \"hopper wgmma e4m3 to f32, floored\" --k 1024,4096
                                                  the tolerance that a test of such a product should have")]
pub struct ExplainArgs {
    /// Run directory; with --tolerance a model: a name, or a file.
    pub run: PathBuf,
    /// Print the worst error that a model allows beside the error that it makes on drawn inputs.
    #[arg(long)]
    pub tolerance: bool,
    /// With --tolerance: lengths of rows.
    #[arg(long, value_delimiter = ',', default_values_t = [256usize, 1024, 4096], requires = "tolerance")]
    pub k: Vec<usize>,
    /// With --tolerance: how the inputs are drawn: normal, cancellation, ladder, subnormal.
    #[arg(long, default_value = "normal", requires = "tolerance")]
    pub inputs: String,
    /// With --tolerance: how to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
    /// A cell id, or words that path, type triple, fact or verdict must all contain [default: everything].
    #[arg(default_value = "", hide_default_value = true)]
    pub what: String,
}

/// `rigel figures`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel figures runs/quick-cpu            write runs/quick-cpu/figures/*.svg
  rigel figures runs/quick-cpu --check    end with code 1 if a byte would change")]
pub struct FiguresArgs {
    /// Run directory.
    pub run: PathBuf,
    /// Where the SVG files go [default: RUN/figures].
    #[arg(short, long)]
    pub out: Option<PathBuf>,
    /// Write nothing; end with code 1 if any file there differs by a byte. Figures name the run as seen from the working
    /// directory: check where they were drawn.
    #[arg(long)]
    pub check: bool,
}

/// `rigel report`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel report runs/quick-cpu                        write runs/quick-cpu/report.html
  rigel report data/epyc-zen5-2core/paper --readme README.md
                                                     renew the findings table between its markers
  rigel report data/epyc-zen5-2core/paper --check    end with code 1 if a byte would change
  rigel report --published rigel-m4max               what the study of the M4 Max published, as a table
  rigel report runs/study-metal --published rigel-m4max
                                                     the same with this run's values beside it: agree, differ, undecided")]
pub struct ReportArgs {
    /// Run directory; may be left out with --published.
    #[arg(required_unless_present = "published")]
    pub run: Option<PathBuf>,
    /// Where the page goes [default: RUN/report.html; none with --published].
    #[arg(short, long, requires = "run")]
    pub out: Option<PathBuf>,
    /// Also renew the findings table of this Markdown file, between `<!-- rigel findings: begin -->` and
    /// `<!-- rigel findings: end -->`; with --published that study's table, between `<!-- rigel published: begin -->`
    /// and `<!-- rigel published: end -->`.
    #[arg(long, value_name = "FILE")]
    pub readme: Option<PathBuf>,
    /// Also write a Markdown page a unit into this directory, and README.md, which leads to them.
    #[arg(long, value_name = "DIR", requires = "run")]
    pub units: Option<PathBuf>,
    /// With --units: runs of the same model of device whose rates and energies go onto the pages.
    #[arg(long, value_name = "RUN", requires = "units")]
    pub beside: Vec<PathBuf>,
    /// Print a published study with its values and ours; with --out, on that page too. The run's own page is left alone.
    #[arg(long, value_enum, value_name = "STUDY")]
    pub published: Option<Study>,
    /// With --published: how to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
    /// Write nothing; end with code 1 if any file differs by a byte. A page names the run as seen from the working
    /// directory: check where it was written.
    #[arg(long)]
    pub check: bool,
}

/// Studies that others published and whose values are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Study {
    /// matmul2d on one Apple M4 Max: arXiv 2606.12765, the study that this project began as.
    #[value(name = "rigel-m4max")]
    RigelM4max,
}

/// `rigel export`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel export runs/quick-cpu --to jsonl > cells.jsonl
  rigel export runs/quick-cpu --to bmf     for Bencher dashboards
  rigel export runs/quick-cpu --to parquet -o samples.parquet   (built with --features parquet)")]
pub struct ExportArgs {
    /// Run directory.
    pub run: PathBuf,
    /// To what.
    #[arg(long, value_enum)]
    pub to: ExportTo,
    /// File [default: standard output].
    #[arg(short, long)]
    pub out: Option<PathBuf>,
}

/// Targets of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTo {
    /// JSON Lines: one object a cell row.
    Jsonl,
    /// Parquet: one row a repetition, joined with its cell.
    Parquet,
    /// Bencher Metric Format: every fact that is a number, with its interval.
    Bmf,
}

/// `rigel completions`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  rigel completions bash > ~/.local/share/bash-completion/completions/rigel")]
pub struct CompletionsArgs {
    /// Shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// How standard output is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// Comma-separated values.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

/// A seed: TOML, in which plans are kept, has no larger whole numbers.
fn seed(text: &str) -> Result<u64, String> {
    let most = i64::MAX as u64;
    let read = text.parse().ok().filter(|seed| *seed <= most);
    read.ok_or_else(|| format!("allowed: a whole number from 0 to {most}"))
}

/// Seconds, in the range that a plan allows.
fn timeout(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    read.ok_or_else(|| "allowed: seconds from 0.1 to 86400".to_owned())
}

fn devices(text: &str) -> Result<u32, String> {
    let read = text.parse().ok().filter(|devices| *devices <= 1_000_000);
    read.ok_or_else(|| "allowed: a whole number from 1 to 1000000".to_owned())
}
