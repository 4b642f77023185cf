//! Which software devices are there, and how is one opened?
//!
//! `sim` is a device with planted truth: everything a study may find out about it stands in a TOML file, so the study
//! can be checked against it. Built-in truths stand in `truths/`; a selector `sim:PATH.toml` opens any other. Its clock
//! is virtual and its rows are marked `simulated` for ever.

pub mod alignment;
pub mod arithmetic;
pub mod attention;
mod ceiling;
pub mod check;
pub mod conversion;
pub mod conversion_draw;
pub mod conversion_truth;
mod device;
pub mod draw;
pub mod epilogue;
pub mod fault;
mod gemm;
pub mod meter;
pub mod noise;
mod place;
mod product;
pub mod random;
pub mod rate;
pub mod states;
pub mod timeline;
pub mod toolchain;
pub mod truth;
pub mod unit;
mod unit_choice;
mod unit_deviating;
pub mod unit_deviation;
pub mod unit_draw;
mod unit_draw_layout;
mod unit_engine;
mod unit_fault;
mod unit_files;
mod unit_registers;
pub mod unit_truth;
mod world;
mod wrong;

pub use check::BadTruth;
pub use conversion::SimConversion;
pub use conversion_draw::draw_conversion;
pub use conversion_truth::PlantedConversion;
pub use device::SimDevice;
pub use draw::Family;
pub use timeline::Timeline;
pub use truth::Truth;
pub use unit::SimUnit;
pub use unit_draw::{UnitFamily, draw_unit};
pub use unit_fault::{Breakdown, UnitFault};
pub use unit_truth::PlantedUnit;

use crate::{backends::Backend, contract::Device};
use std::io::Read;

/// The backend's entry in the list.
pub const BACKEND: Backend =
    Backend { name: "sim", summary: "software devices with planted truth, marked simulated", find, open };

/// Names and TOML texts of the built-in truths.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("plain", include_str!("truths/plain.toml")),
    ("two-clocks", include_str!("truths/two-clocks.toml")),
    ("liar", include_str!("truths/liar.toml")),
    ("hostile", include_str!("truths/hostile.toml")),
    ("narrow", include_str!("truths/narrow.toml")),
    ("m4max", include_str!("truths/m4max.toml")),
    ("units", include_str!("truths/units.toml")),
    ("scaled", include_str!("truths/scaled.toml")),
    ("placed", include_str!("truths/placed.toml")),
];

/// The largest truth file that is read, in bytes.
const LARGEST_FILE: u64 = 4 << 20;

fn find() -> Result<Vec<String>, String> {
    Ok(BUILT_IN.iter().map(|(name, _)| format!("sim:{name}")).collect())
}

fn open(selector: &str) -> Result<Box<dyn Device>, String> {
    let named = |error: BadTruth| match error {
        BadTruth::At { .. } => error.to_string(),
        other => format!("{selector}: {other}"),
    };
    Ok(Box::new(SimDevice::new(Truth::select(selector).map_err(named)?).map_err(named)?))
}

/// Whether a selector names a truth file, `sim:PATH.toml`: then a device that does not open is input that does not read.
pub fn names_file(selector: &str) -> bool {
    selector.strip_prefix("sim:").is_some_and(|name| name.ends_with(".toml"))
}

impl Truth {
    /// The truth that a selector names: `sim:NAME` or `sim:PATH.toml`.
    ///
    /// # Errors
    /// [`BadTruth::Form`] for an unknown name, [`BadTruth::Unreadable`] for a file that cannot be read, and
    /// [`BadTruth::At`] with file and line for one that holds no possible truth.
    pub fn select(selector: &str) -> Result<Truth, BadTruth> {
        let name = selector.strip_prefix("sim:").unwrap_or_default();
        if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
            return Truth::parse(text);
        }
        if !names_file(selector) {
            let known: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
            return Err(BadTruth::Form(format!(
                "no built-in truth `{name}`; known: {}; or a file, as `sim:PATH.toml`",
                known.join(", ")
            )));
        }
        let unreadable = |reason: String| BadTruth::Unreadable { path: name.to_owned(), reason };
        let file = regular_file(std::path::Path::new(name)).map_err(unreadable)?;
        let mut text = String::new();
        file.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(|e| unreadable(e.to_string()))?;
        if text.len() as u64 > LARGEST_FILE {
            return Err(unreadable(format!("it has more than {LARGEST_FILE} bytes, so it is no truth")));
        }
        let folder = std::path::Path::new(name).parent().unwrap_or_else(|| std::path::Path::new(""));
        place::read(&text, folder).map_err(|(fault, line)| BadTruth::At {
            file: name.to_owned(),
            line,
            fault: Box::new(fault),
        })
    }

    /// Reads and checks a truth; files that it names are looked for in the current folder.
    pub fn parse(text: &str) -> Result<Truth, BadTruth> {
        place::read(text, std::path::Path::new("")).map_err(|(error, line)| match error {
            BadTruth::Form(fault) => BadTruth::Form(format!("line {line}: {fault}")),
            other => other,
        })
    }

    /// The truth as TOML. [`Truth::parse`] gives an equal truth back.
    pub fn to_toml(&self) -> String {
        // Serialising fails on integers of 2^63 and more alone, and a checked truth holds none.
        toml::to_string(self).unwrap_or_default()
    }
}

/// A regular file, open. A pipe or a device could keep the reader waiting for ever.
fn regular_file(path: &std::path::Path) -> Result<std::fs::File, String> {
    match path.metadata() {
        Ok(data) if data.is_file() => std::fs::File::open(path).map_err(|error| error.to_string()),
        Ok(_) => Err("it is no regular file".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
