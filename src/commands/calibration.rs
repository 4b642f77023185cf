//! How is a calibration kept as files, and how does it become the table of a README?
//!
//! A directory with three files: `calibration.json` (who, when, with what), `lines.csv` (what was counted) and `devices.csv` (every
//! device that went through a recovery; its seed draws it again). The table is made from these alone.

use crate::exit::{Exit, failure};
use anyhow::Context;
use rigel_ledger::rows::name_of;
use rigel_study::calibrate::{Cost, Drawn, Kept, Limit, Line, Table};
use rigel_study::origin::Binary;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What stands before the table in a README.
const BEGIN: &str = "<!-- rigel calibration: begin -->";
/// What stands behind it.
const END: &str = "<!-- rigel calibration: end -->";

/// Where a calibration comes from.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// Always `simulated`: planted devices are software.
    pub kind: String,
    /// Seed of the planted facts.
    pub seed: u64,
    /// Devices asked for.
    pub devices: u32,
    /// Fresh dot products on which an arithmetic model was validated.
    pub validation: u64,
    /// Whether it was ended early; the lines then say of how many devices they are.
    pub interrupted: bool,
    /// Code commit.
    pub commit: String,
    /// Whether the code differed from that commit.
    pub dirty: Option<bool>,
    /// Processor of the host: times are its own.
    pub processor: String,
    /// Threads that recovered side by side.
    pub threads: usize,
    /// Wall time of all, s.
    pub seconds: f64,
    /// Command line as typed.
    pub command: Vec<String>,
    /// End, UTC, RFC 3339.
    pub ended: String,
}

/// A line of `lines.csv`.
#[derive(Debug, Serialize, Deserialize)]
struct LineRow {
    family: String,
    planted: String,
    counted: String,
    count: u32,
    of: u32,
    least_share: Option<f64>,
    most_share: Option<f64>,
}

impl LineRow {
    fn line(&self) -> Line {
        let limit = match (self.least_share, self.most_share) {
            (Some(share), _) => Limit::AtLeast(share),
            (None, Some(0.0)) => Limit::Never,
            (None, Some(share)) => Limit::AtMost(share),
            (None, None) => Limit::Shown,
        };
        Line { planted: self.planted.clone(), counted: self.counted.clone(), count: self.count, of: self.of, limit }
    }
}

/// A line of `devices.csv`.
#[derive(Debug, Serialize, Deserialize)]
struct DeviceRow {
    family: String,
    planted: String,
    seed: u64,
    k: Option<usize>,
    claimed: bool,
    same: bool,
    listed: Option<bool>,
    probes: u64,
    seconds: f64,
    words: String,
}

/// Writes the files of a calibration.
///
/// # Errors
/// A directory that holds a calibration already is left as it is.
pub fn write(dir: &Path, origin: &Origin, tables: &[Table]) -> anyhow::Result<()> {
    if dir.join("calibration.json").exists() {
        let why = format!("{} holds a calibration; name another directory, or remove it", dir.display());
        return Err(failure(Exit::Usage, why));
    }
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    let mut lines = csv::Writer::from_path(dir.join("lines.csv"))?;
    let mut devices = csv::Writer::from_path(dir.join("devices.csv"))?;
    devices
        .write_record(["family", "planted", "seed", "k", "claimed", "same", "listed", "probes", "seconds", "words"])?;
    let mut devices = csv::WriterBuilder::new().has_headers(false).from_writer(devices.into_inner()?);
    for table in tables {
        let family = table.family.name().to_owned();
        for Line { planted, counted, count, of, limit } in table.lines.clone() {
            let (least_share, most_share) = match limit {
                Limit::AtLeast(share) => (Some(share), None),
                Limit::AtMost(share) => (None, Some(share)),
                Limit::Never => (None, Some(0.0)),
                Limit::Shown => (None, None),
            };
            lines.serialize(LineRow {
                family: family.clone(),
                planted,
                counted,
                count,
                of,
                least_share,
                most_share,
            })?;
        }
        for Drawn { planted, seed, k, claimed, same, listed, probes, seconds, words } in table.devices.clone() {
            devices.serialize(DeviceRow {
                family: family.clone(),
                planted,
                seed,
                k,
                claimed,
                same,
                listed,
                probes,
                seconds,
                words,
            })?;
        }
    }
    lines.flush()?;
    devices.flush()?;
    let mut text = serde_json::to_string_pretty(origin)?;
    text.push('\n');
    std::fs::write(dir.join("calibration.json"), text)?;
    Ok(())
}

/// Longest file of a calibration that is read, in bytes.
const LONGEST: u64 = 256 << 20;

/// The Markdown table of a calibration, from its files.
pub fn markdown(dir: &Path) -> anyhow::Result<String> {
    let path = |name: &str| dir.join(name);
    let unreadable = |name: &str, why: String| failure(Exit::Usage, format!("{}: {why}", path(name).display()));
    let text =
        super::reading::text(&path("calibration.json"), LONGEST).map_err(|e| unreadable("calibration.json", e))?;
    let origin: Origin = serde_json::from_str(&text).map_err(|e| unreadable("calibration.json", e.to_string()))?;
    let lines: Vec<LineRow> = rows(&path("lines.csv"))?;
    let devices: Vec<DeviceRow> = rows(&path("devices.csv"))?;
    let mut out = format!(
        "Simulated: seed {}, code {}. Written by the tool from the files in {}; intervals are 95 %{}.\n\n",
        origin.seed,
        origin.commit.chars().take(12).collect::<String>(),
        dir.display().to_string().trim_end_matches('/'),
        if origin.interrupted { "; ended early" } else { "" }
    );
    out +=
        "| family | planted | counted | times | share | limit | kept |\n| --- | --- | --- | --- | --- | --- | --- |\n";
    for row in &lines {
        let line = row.line();
        if line.of == 0 {
            continue;
        }
        let (low, high) = line.bounds();
        let kept = match line.kept() {
            Some(Kept::No) => "**no**".to_owned(),
            Some(kept) => kept.to_string(),
            None => "–".to_owned(),
        };
        let percent = |share: f64| format!("{:.2}", share * 100.0);
        out += &format!(
            "| {} | {} | {} | {} of {} | {} % [{}, {}] | {} | {kept} |\n",
            row.family,
            line.planted,
            line.counted,
            line.count,
            line.of,
            percent(line.rate()),
            percent(low),
            percent(high),
            line.limit
        );
    }
    let mut families: Vec<&str> = devices.iter().map(|d| d.family.as_str()).collect();
    families.dedup();
    for family in families {
        let of_family = devices.iter().filter(|d| d.family == family);
        let drawn = of_family.map(|d| (d.k, d.probes, d.seconds)).collect::<Vec<_>>();
        if let Some(cost) = Cost::of(&drawn) {
            out += &format!("\n{family}: {cost} (one core of {}, {} at once).", origin.processor, origin.threads);
            out += "\n";
        }
    }
    Ok(out)
}

fn rows<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<Vec<T>> {
    let refused = |e: csv::Error| failure(Exit::Usage, format!("{}: {e}", path.display()));
    let text = super::reading::text(path, LONGEST)
        .map_err(|why| failure(Exit::Usage, format!("{}: {why}", path.display())))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<_, _>>().map_err(refused)
}

/// Renews the table of a README, or checks it.
pub fn readme(dir: &Path, readme: &Path, check: bool) -> anyhow::Result<Exit> {
    let same = super::report::renew(readme, &markdown(dir)?, [BEGIN, END], check)?;
    Ok(if same { Exit::Fine } else { Exit::CheckFailed })
}

/// Where a calibration that ends now comes from.
pub fn origin(seed: u64, devices: u32, validation: u64, interrupted: bool, seconds: f64, binary: &Binary) -> Origin {
    Origin {
        kind: name_of(&rigel_ledger::provenance::RunKind::Simulated),
        seed,
        devices,
        validation,
        interrupted,
        commit: binary.commit.clone(),
        dirty: binary.dirty,
        processor: rigel_study::origin::host().cpu,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        seconds,
        command: binary.command.clone(),
        ended: rigel_study::origin::utc_now(),
    }
}
