//! Which files does a unit's cell have, and how are they written and read?

use super::shallow::shallow;
use super::{ArithmeticRecord, ConversionRecord, LayoutRecord, OrderRecord};
use crate::provenance::RunKind;
use crate::rows::{CellId, CellRow, Outcome, Probe};
use crate::store::{FileFault, RowFault, StoreError};
use rigel_numerics::{Format, Shape, Triple};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::path::Path;

/// Version of the record files.
pub const SCHEMA: u32 = 1;

/// Whether what was found explains everything that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// It explains every output of its validation; what was not asked is not claimed.
    Exact,
    /// It does not, or nothing was found.
    Inexact,
}

impl Claim {
    /// The outcome of a cell that claims this.
    pub const fn outcome(self) -> Outcome {
        match self {
            Claim::Exact => Outcome::Exact,
            Claim::Inexact => Outcome::Inexact,
        }
    }
}

/// Where a record comes from, so that a file that travels alone still says it. Filled in as the row is. The run stands in
/// the row alone: two runs that found the same have the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Measured or simulated.
    pub kind: RunKind,
    /// Stable device id.
    pub device: String,
    /// Driver: a map or a model is valid for one driver and toolchain.
    pub driver: String,
    /// Toolchain.
    pub toolchain: String,
}

/// What a unit declares of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnitIdentity {
    /// Name, unique on the device.
    pub name: String,
    /// Path that it belongs to.
    pub path: String,
    /// Element types.
    #[schemars(with = "String")]
    pub triple: Triple,
    /// Extents of one tile.
    #[schemars(with = "String")]
    pub shape: Shape,
    /// Format of scale operands and the elements of k that share one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scales: Option<(Format, usize)>,
    /// Document and section, or what it is.
    pub source: String,
}

/// What was found out in one cell, with everything that stands in its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum UnitRecord {
    /// The arithmetic of a unit.
    Arithmetic(Box<ArithmeticRecord>),
    /// Its layouts.
    Layout {
        /// The record.
        record: Box<LayoutRecord>,
        /// `operand,lane,slot,row,column` of every register; empty where there is no map.
        table: String,
    },
    /// A conversion.
    Conversion(Box<ConversionRecord>),
    /// The order in which a product adds.
    Order(Box<OrderRecord>),
}

/// The folder of a probe's records; `None` for a probe of cells without.
pub const fn folder(probe: Probe) -> Option<&'static str> {
    match probe {
        Probe::Arithmetic => Some("models"),
        Probe::Layout => Some("layouts"),
        Probe::Specials => Some("conversions"),
        Probe::Order => Some("orders"),
        _ => None,
    }
}

/// The name of a cell's files, without folder and ending: the unit's name, as far as a file name can hold it, and the cell.
pub fn stem(name: &str, cell: CellId) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-') { c } else { '_' };
    let name: String = name.chars().take(80).map(plain).collect();
    format!("{}-{cell}", name.trim_start_matches('.'))
}

/// The files that a cell row commits to, by their names inside the run, sorted.
pub fn files_of(row: &CellRow) -> Vec<String> {
    let found = matches!(row.outcome, Outcome::Exact | Outcome::Inexact);
    let Some(folder) = folder(row.probe).filter(|_| found) else { return Vec::new() };
    let stem = stem(&row.tile, row.cell);
    let table = (row.probe == Probe::Layout && row.outcome == Outcome::Exact).then(|| format!("{folder}/{stem}.csv"));
    table.into_iter().chain([format!("{folder}/{stem}.json")]).collect()
}

impl UnitRecord {
    /// What it claims.
    pub fn claim(&self) -> Claim {
        match self {
            UnitRecord::Arithmetic(record) => record.claim,
            UnitRecord::Layout { record, .. } => record.claim,
            UnitRecord::Conversion(record) => record.claim,
            UnitRecord::Order(record) => record.claim,
        }
    }

    /// Why it is inexact; empty when exact.
    pub fn why(&self) -> &str {
        match self {
            UnitRecord::Arithmetic(record) => &record.why,
            UnitRecord::Layout { record, .. } => &record.why,
            UnitRecord::Conversion(record) => &record.why,
            UnitRecord::Order(record) => &record.why,
        }
    }

    /// The cell.
    pub fn cell(&self) -> CellId {
        match self {
            UnitRecord::Arithmetic(record) => record.cell,
            UnitRecord::Layout { record, .. } => record.cell,
            UnitRecord::Conversion(record) => record.cell,
            UnitRecord::Order(record) => record.cell,
        }
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        match self {
            UnitRecord::Arithmetic(record) => &record.origin,
            UnitRecord::Layout { record, .. } => &record.origin,
            UnitRecord::Conversion(record) => &record.origin,
            UnitRecord::Order(record) => &record.origin,
        }
    }

    /// The same to be filled in.
    pub fn origin_mut(&mut self) -> &mut Origin {
        match self {
            UnitRecord::Arithmetic(record) => &mut record.origin,
            UnitRecord::Layout { record, .. } => &mut record.origin,
            UnitRecord::Conversion(record) => &mut record.origin,
            UnitRecord::Order(record) => &mut record.origin,
        }
    }

    /// The unit; a conversion, and a product whose order was asked, is described as one.
    pub fn unit(&self) -> &UnitIdentity {
        match self {
            UnitRecord::Arithmetic(record) => &record.unit,
            UnitRecord::Layout { record, .. } => &record.unit,
            UnitRecord::Conversion(record) => &record.unit,
            UnitRecord::Order(record) => &record.unit,
        }
    }

    /// The seed of its samples.
    fn seed(&self) -> u64 {
        match self {
            UnitRecord::Arithmetic(record) => record.seed,
            UnitRecord::Layout { record, .. } => record.seed,
            UnitRecord::Conversion(record) => record.seed,
            UnitRecord::Order(record) => record.seed,
        }
    }

    /// The files with their bytes, in the order in which a digest takes them.
    pub fn files(&self, row: &CellRow) -> Vec<(String, Vec<u8>)> {
        let bytes = |name: &str| match self {
            UnitRecord::Layout { table, .. } if name.ends_with(".csv") => table.clone().into_bytes(),
            UnitRecord::Layout { record, .. } => shallow(record),
            UnitRecord::Arithmetic(record) => shallow(record),
            UnitRecord::Conversion(record) => shallow(record),
            UnitRecord::Order(record) => shallow(record),
        };
        files_of(row).into_iter().map(|name| (name.clone(), bytes(&name))).collect()
    }

    /// Reads the record of a cell row; `None` for a row without one.
    ///
    /// # Errors
    /// A file that is missing, too large, no record, or another cell's.
    pub fn read(dir: &Path, row: &CellRow) -> Result<Option<UnitRecord>, StoreError> {
        let files = files_of(row);
        let Some(name) = files.last() else { return Ok(None) };
        let path = dir.join(name);
        let text = crate::store::read_text(&path)?;
        let record = match row.probe {
            Probe::Arithmetic => UnitRecord::Arithmetic(parse(&path, &text)?),
            Probe::Specials => UnitRecord::Conversion(parse(&path, &text)?),
            Probe::Order => UnitRecord::Order(parse(&path, &text)?),
            _ => {
                let table = files.iter().find(|name| name.ends_with(".csv"));
                let table = table.map(|name| crate::store::read_text(&dir.join(name))).transpose()?;
                UnitRecord::Layout { record: parse(&path, &text)?, table: table.unwrap_or_default() }
            }
        };
        record.belongs(&path, row)?;
        Ok(Some(record))
    }

    /// Reads a model's file by itself: `models/*.json`.
    ///
    /// # Errors
    /// As [`UnitRecord::read`].
    pub fn read_model(path: &Path) -> Result<ArithmeticRecord, StoreError> {
        parse(path, &crate::store::read_text(path)?).map(|record| *record)
    }

    fn belongs(&self, path: &Path, row: &CellRow) -> Result<(), StoreError> {
        let unit = self.unit();
        let origin = self.origin();
        let pairs = [
            ("cell", self.cell().to_string(), row.cell.to_string()),
            ("unit.name", unit.name.clone(), row.tile.clone()),
            ("unit.path", unit.path.clone(), row.path.clone()),
            ("unit.triple", unit.triple.to_string(), row.triple.to_string()),
            ("unit.shape", unit.shape.to_string(), row.shape.map(|s| s.to_string()).unwrap_or_default()),
            ("claim", crate::rows::name_of(&self.claim()), crate::rows::name_of(&row.outcome)),
            ("origin.device", origin.device.clone(), row.device.clone()),
            ("origin.driver", origin.driver.clone(), row.driver.clone()),
            ("seed", self.seed().to_string(), row.seed.to_string()),
        ];
        match pairs.into_iter().find(|(_, found, stated)| found != stated) {
            None => Ok(()),
            Some((column, found, stated)) => {
                let allowed = format!("`{stated}`, as its row of cells.csv");
                Err(StoreError::row(path, 1, RowFault::Field { column, found, allowed }))
            }
        }
    }
}

fn parse<T: DeserializeOwned + Versioned>(path: &Path, text: &str) -> Result<Box<T>, StoreError> {
    let record: T = serde_json::from_str(text)
        .map_err(|error| StoreError::row(path, error.line() as u64, RowFault::Json(error.to_string())))?;
    match record.schema() {
        SCHEMA => Ok(Box::new(record)),
        other => Err(StoreError::file(path, FileFault::Schema(other))),
    }
}

/// A record that states its version.
pub(super) trait Versioned {
    fn schema(&self) -> u32;
}
