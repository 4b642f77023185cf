//! What have others published about the device of a run?
//!
//! The files under `published/` are built into the program, so that a page's bytes depend on the run and the program
//! alone. They are read as strictly as ledger files; `published/README.md` documents their columns.

use crate::published_file::{PublishedError, rows};
use rigel_ledger::Provenance;
use rigel_ledger::provenance::RunKind;
use rigel_numerics::{Shape, Triple};
use std::str::FromStr;
use std::sync::LazyLock;

/// Columns of `published/*/rates.csv`.
const COLUMNS: [&str; 9] =
    ["device", "path", "triple", "shape", "rate_op_s", "low_op_s", "high_op_s", "what", "source"];

/// Every source: its file and the text of it.
const SOURCES: [(&str, &str); 3] = [
    ("published/arxiv-2606.12765/rates.csv", include_str!("../../../published/arxiv-2606.12765/rates.csv")),
    ("published/lockwood-h100/rates.csv", include_str!("../../../published/lockwood-h100/rates.csv")),
    ("published/tungsten-m5-max/rates.csv", include_str!("../../../published/tungsten-m5-max/rates.csv")),
];

/// A rate that somebody else published.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Name of the device, as it describes itself.
    pub device: String,
    /// Path.
    pub path: String,
    /// Type triple.
    pub triple: Triple,
    /// Extents, where the publication names them.
    pub shape: Option<Shape>,
    /// Operations per second: finite and positive.
    pub rate: f64,
    /// The publication's interval in operations per second, where it gives one.
    pub interval: Option<(f64, f64)>,
    /// Which statistic of what.
    pub what: String,
    /// Who published it, where, in which section or table.
    pub source: String,
}

/// Reads the text of a `rates.csv`; `file` is how errors name it.
///
/// # Errors
/// [`PublishedError`], for the first line that is not as documented.
pub fn read(file: &str, text: &str) -> Result<Vec<Published>, PublishedError> {
    rows(file, text, &COLUMNS, |line| {
        let what = "a positive number of operations per second";
        let shape = |text: &str| (!text.is_empty()).then(|| text.parse::<Shape>()).transpose().ok();
        let (low, high) = (line.optional("low_op_s", what)?, line.optional("high_op_s", what)?);
        let rate = line.positive("rate_op_s", what)?;
        let interval = match (low, high) {
            (Some(low), Some(high)) if low <= rate && rate <= high => Some((low, high)),
            (None, None) => None,
            _ => return Err(line.bad("low_op_s", "both ends of an interval around the rate, or neither")),
        };
        Ok(Published {
            device: line.words("device")?,
            path: line.words("path")?,
            triple: line.parsed("triple", |text| Triple::from_str(text).ok(), "a type triple, like f16,f16->f32")?,
            shape: line.parsed("shape", shape, "extents, like 512x512x512, or empty")?,
            rate,
            interval,
            what: line.words("what")?,
            source: line.words("source")?,
        })
    })
}

/// The rates that others published about the device of these runs; none for a simulated device or for several devices.
pub fn about(provenance: &[Provenance]) -> &'static [Published] {
    static ALL: LazyLock<Vec<(String, Vec<Published>)>> = LazyLock::new(by_device);
    let Some((first, rest)) = provenance.split_first() else { return &[] };
    let one_device = rest.iter().all(|p| p.device.name == first.device.name);
    if !one_device || provenance.iter().any(|p| p.kind == RunKind::Simulated) {
        return &[];
    }
    ALL.iter().find(|(device, _)| *device == first.device.name).map_or(&[], |(_, rows)| rows)
}

fn by_device() -> Vec<(String, Vec<Published>)> {
    let mut devices: Vec<(String, Vec<Published>)> = Vec::new();
    // A test reads every source, so none fails here.
    for row in SOURCES.iter().flat_map(|(file, text)| read(file, text).unwrap_or_default()) {
        match devices.iter_mut().find(|(device, _)| *device == row.device) {
            Some((_, rows)) => rows.push(row),
            None => devices.push((row.device.clone(), vec![row])),
        }
    }
    devices
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_source_reads_and_every_folder_is_a_source() {
        for (file, text) in SOURCES {
            let rows = read(file, text).unwrap_or_else(|e| panic!("{e}"));
            assert!(!rows.is_empty(), "{file}");
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = std::fs::read_dir(root.join("published")).unwrap().flatten().filter(|e| e.path().is_dir());
        let found: BTreeSet<String> =
            folders.map(|e| format!("published/{}/rates.csv", e.file_name().to_string_lossy())).collect();
        assert_eq!(found, SOURCES.iter().map(|(file, _)| (*file).to_owned()).collect());
    }

    #[test]
    fn what_is_not_as_documented_is_named() {
        let head = COLUMNS.join(",");
        let line = |fields: &str| format!("{head}\n{fields}\n");
        for (text, wanted) in [
            (String::new(), "x.csv:1: columns are ``; expected `device,path"),
            (line("").replace("rate_op_s", "rate"), "x.csv:1: columns are `device,path,triple,shape,rate,"),
            (line("D,p,\"f16,f16->f32\""), "x.csv: CSV error: record 1 (line: 2"),
            (line(",p,\"f16,f16->f32\",,1e12,,,w,s"), "x.csv:2: device is ``; must not be empty"),
            (line("D,p,\"f16,f16->f33\",,1e12,,,w,s"), "x.csv:2: triple is `f16,f16->f33`"),
            (line("D,p,\"f16,f16->f32\",2x2,1e12,,,w,s"), "x.csv:2: shape is `2x2`"),
            (line("D,p,\"f16,f16->f32\",,NaN,,,w,s"), "x.csv:2: rate_op_s is `NaN`"),
            (line("D,p,\"f16,f16->f32\",,-1,,,w,s"), "x.csv:2: rate_op_s is `-1`"),
            (line("D,p,\"f16,f16->f32\",,3,1,,w,s"), "both ends of an interval"),
            (line("D,p,\"f16,f16->f32\",,3,4,5,w,s"), "both ends of an interval"),
            (line("D,p,\"f16,f16->f32\",,3,,,w,"), "x.csv:2: source is ``"),
        ] {
            let said = read("x.csv", &text).expect_err(wanted).to_string();
            assert!(said.contains(wanted), "{said}");
        }
        let read = read("x.csv", &line("D,p,\"f16,f16->f32\",2x3x4,3,1,5,w,s")).unwrap();
        assert_eq!((read[0].shape, read[0].interval), (Some(Shape::new(2, 3, 4)), Some((1.0, 5.0))));
    }
}
