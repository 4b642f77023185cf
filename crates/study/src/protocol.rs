//! What does a worker get told, and what does it say? One JSON value a line, both ways.

use crate::spent::Spent;
use rigel_device::{Cache, RuleAnswer, RuleQuestion};
use rigel_ledger::plan::{Limits, Sampling, Thresholds};
use rigel_ledger::rows::{Bits, CacheState, CellRow, Identity, PowerRow, SampleRow, WitnessRow};
use rigel_ledger::units::UnitRecord;
use rigel_numerics::{Megahertz, Time};
use serde::{Deserialize, Serialize};

/// The one line that a worker reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// Device selector.
    pub device: String,
    /// Process index that rows carry; solo climbs and pilots have [`SOLO`].
    pub process: u32,
    /// Seed of everything that is drawn in this worker but inputs: order of turns, planted faults, witness.
    pub seed: u64,
    /// How much is sampled.
    pub sampling: Sampling,
    /// Numbers of the gate.
    pub thresholds: Thresholds,
    /// What the worker may take.
    pub limits: Limits,
    /// What to do.
    pub job: Job,
}

pub use rigel_ledger::gate::places::SOLO;

/// What to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Job {
    /// Compile, load, run and gate each cell once, in order.
    Climb(Vec<Identity>),
    /// Choose the launch tile of one cell on pilot samples, then climb with it.
    Pilot {
        /// The cell; its tile is ignored.
        cell: Identity,
    },
    /// Measure cells interleaved, with the gate before and after.
    Block {
        /// Block id.
        block: String,
        /// Cells that are compared with each other.
        cells: Vec<Identity>,
    },
    /// Read the meters at idle and under each cell's load.
    Meters {
        /// The loads.
        cells: Vec<Identity>,
        /// Length of a window, s.
        window_s: f64,
        /// Whether operations are counted too, and the meters' update periods measured.
        energy: bool,
    },
    /// Ask one unit or conversion.
    Unit {
        /// The cell.
        cell: Identity,
        /// Fresh dot products of a validation.
        validation: u64,
    },
    /// Ask for the rules that no product shows.
    Rules {
        /// Libraries compiled elsewhere, to load.
        libraries: Vec<std::path::PathBuf>,
        /// The first question to ask, by its place among them.
        from: usize,
    },
    /// Say whether the device still answers.
    Health,
}

/// A line that a worker writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Event {
    /// About to do something that may kill the process: the culprit if it dies.
    At {
        /// Index of the cell in the job.
        cell: usize,
        /// What it is about to do.
        stage: Stage,
    },
    /// The tile that the pilot chose.
    Tile(String),
    /// A cell is finished, one way or another.
    Cell(Box<Measured>),
    /// The device stopped answering while this cell ran; nothing follows.
    DeviceLost {
        /// Index of the cell in the job.
        cell: usize,
        /// What the backend said.
        reason: String,
    },
    /// What was found of a unit; the row's outcome is its claim.
    Found {
        /// The row: device, driver, run, block and evidence still empty.
        row: Box<CellRow>,
        /// The record: its origin still empty.
        record: Box<UnitRecord>,
    },
    /// What meters read, all of a job's at once.
    Readings(Vec<MeterReading>),
    /// About to ask for a rule: the culprit if the process dies.
    Asks {
        /// Place of the question.
        number: usize,
        /// The question.
        question: RuleQuestion,
    },
    /// What the device answered about a rule.
    Rule(RuleAnswer),
    /// Where this process spent its time so far.
    Spent(Spent),
    /// The device's health.
    Health(Result<(), String>),
    /// The job is done; nothing follows.
    Done,
}

/// Where a cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Making inputs and reference.
    Inputs,
    /// Compiling.
    Compile,
    /// Loading.
    Load,
    /// Binding inputs.
    Bind,
    /// Running for the gate.
    Gate,
    /// Running for time.
    Time,
    /// Reading the output back and judging it.
    Judge,
    /// Reading meters, at idle or under load.
    Meters,
    /// Asking a unit, or explaining its answers.
    Ask,
}

impl Stage {
    /// In words, for reasons.
    pub const fn words(self) -> &'static str {
        match self {
            Stage::Inputs => "while inputs and reference were made",
            Stage::Compile => "while compiling",
            Stage::Load => "while loading",
            Stage::Bind => "while binding inputs",
            Stage::Gate => "while running for the gate",
            Stage::Time => "while running for time",
            Stage::Judge => "while the output was judged",
            Stage::Meters => "while meters were read",
            Stage::Ask => "while the unit was asked or its answers were explained",
        }
    }
}

/// A finished cell: its row (device, driver, run, block and evidence still empty), samples and witness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Index of the cell in the job.
    pub cell: usize,
    /// The row.
    pub row: CellRow,
    /// Repetitions in the order taken: picoseconds and MHz.
    pub samples: Vec<(u64, Option<u32>)>,
    /// Witness elements: row, column, code.
    pub witness: Vec<(u32, u32, u64)>,
}

impl Measured {
    /// The rows that a ledger takes.
    pub fn rows(self) -> (CellRow, Vec<SampleRow>, Vec<WitnessRow>) {
        let (cell, process) = (self.row.cell, self.row.process);
        let sample = |(index, (ps, mhz)): (usize, (u64, Option<u32>))| SampleRow {
            cell,
            process,
            index: index as u32,
            time_ns: Time(ps),
            clock_mhz: mhz.map(Megahertz),
        };
        let format = self.row.triple.c;
        let witness = |(row, column, code)| WitnessRow { cell, process, row, column, bits: Bits::new(format, code) };
        let samples = self.samples.into_iter().enumerate().map(sample).collect();
        (self.row, samples, self.witness.into_iter().map(witness).collect())
    }
}

/// One reading of a meter, as a worker says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeterReading {
    /// Meter name.
    pub meter: String,
    /// Unit of the value.
    pub unit: String,
    /// Since the meter was opened, ps.
    pub time: u64,
    /// Reading.
    pub value: f64,
    /// `idle`, or the id of the cell that ran.
    pub phase: String,
}

impl MeterReading {
    /// Its line in `power.csv`.
    pub fn row(self) -> PowerRow {
        let MeterReading { meter, unit, time, value, phase } = self;
        PowerRow { meter, time_ns: Time(time), value, unit, phase }
    }
}

/// The device's word for a cache state; ceilings have none.
pub fn cache_of(state: CacheState) -> Cache {
    match state {
        CacheState::Cold => Cache::Cold,
        CacheState::Replayed => Cache::Replayed,
        CacheState::Warm | CacheState::None => Cache::Warm,
    }
}
