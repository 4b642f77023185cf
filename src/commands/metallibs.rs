//! What does each Xcode of this Mac make of each language version and oldest system?

use super::records::{Field, Form, Records};
use super::table::Table;
use crate::args::EmitMetallibsArgs;
use crate::exit::{Exit, failure};
use rigel_device::metal::level::Language;
use rigel_device::metal::metallib::{Metallib, Version};
use rigel_device::metal::xcode::{Attempt, MINIMUM_OS, Made, Xcrun};
use rigel_ledger::provenance::RuleRecord;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The table beside the libraries.
const TABLE: &str = "metallibs.csv";

/// Compiles every combination and writes what became of it.
pub fn emit(args: &EmitMetallibsArgs) -> anyhow::Result<Exit> {
    let xcrun = Xcrun(args.xcrun.clone());
    let xcodes = xcrun.xcodes(&args.xcode);
    if xcodes.is_empty() {
        let why = "no Xcode: none in /Applications, and DEVELOPER_DIR names none. Libraries are made on a Mac with Xcode; \
                   --xcode names one";
        return Err(failure(Exit::NoDevice, why));
    }
    let unwritable = |e| failure(Exit::Usage, format!("{}: {e}", args.out.display()));
    fs::create_dir_all(&args.out).map_err(unwritable)?;
    let mut attempts = Vec::new();
    for (number, xcode) in xcodes.iter().enumerate() {
        for language in Language::LADDER {
            for minimum_os in MINIMUM_OS {
                let made = xcrun.make(xcode, number + 1, language, minimum_os, &args.out);
                attempts.push(made.map_err(unwritable)?);
            }
        }
    }
    let mut records = Records::new([
        "xcode",
        "compiler",
        "developer_dir",
        "language",
        "minimum_os",
        "outcome",
        "library",
        "library_language",
        "library_minimum_os",
        "library_format",
        "words",
    ]);
    attempts.iter().for_each(|attempt| records.row(record(attempt)));
    fs::write(args.out.join(TABLE), records.text(Form::Csv)).map_err(unwritable)?;
    let mut table = Table::new(&["Xcode", "language", "oldest system", "outcome"]);
    for attempt in &attempts {
        let xcode = if attempt.xcode.version.is_empty() { "unknown" } else { &attempt.xcode.version };
        table.row([xcode.to_owned(), attempt.language.to_string(), attempt.minimum_os.to_owned(), outcome(attempt)]);
    }
    table.print()?;
    Ok(Exit::Fine)
}

/// What the tables beside these libraries say of the toolchains that made them, or refused to.
///
/// # Errors
/// A table that cannot be read, or lacks a column.
pub fn told(libraries: &[PathBuf]) -> anyhow::Result<Vec<RuleRecord>> {
    let folders = libraries.iter().map(|file| file.parent().unwrap_or(Path::new("")).join(TABLE));
    let tables: BTreeSet<PathBuf> = folders.filter(|table| table.exists()).collect();
    let mut records = Vec::new();
    for table in tables {
        let bad = |why: String| failure(Exit::Usage, format!("{}: {why}", table.display()));
        let mut reader = csv::Reader::from_path(&table).map_err(|e| bad(e.to_string()))?;
        let header = reader.headers().map_err(|e| bad(e.to_string()))?.clone();
        let at = |name: &str| {
            let place = header.iter().position(|column| column == name);
            place.ok_or_else(|| bad(format!("no column `{name}`; it is what rigel emit metallibs writes")))
        };
        let [xcode, language, minimum_os] = [at("xcode")?, at("language")?, at("minimum_os")?];
        let [outcome, words] = [at("outcome")?, at("words")?];
        let [library_language, library_os] = [at("library_language")?, at("library_minimum_os")?];
        for row in reader.records() {
            let row = row.map_err(|e| bad(e.to_string()))?;
            let answer = match (&row[outcome], &row[library_language]) {
                ("made", "") => "a library that cannot be read".to_owned(),
                ("made", made) => format!("library of language {made} for {}", &row[library_os]),
                (refused, _) => refused.to_owned(),
            };
            let asked = format!("{}, language {}, for {}", &row[xcode], &row[language], &row[minimum_os]);
            records.push(RuleRecord { rule: "toolchain".into(), asked, answer, words: row[words].to_owned() });
        }
    }
    Ok(records)
}

fn version((major, minor): Version) -> String {
    format!("{major}.{minor}")
}

fn outcome(attempt: &Attempt) -> String {
    match &attempt.made {
        Made::Library { says: Ok(library), .. } => {
            let language = library.language().map_or("none".to_owned(), version);
            format!("library of language {language} for {}", version(library.minimum_os))
        }
        Made::Library { says: Err(why), .. } => format!("a library that cannot be read: {why}"),
        Made::Refused(meaning, _) => format!("refused: {meaning}"),
    }
}

fn record(attempt: &Attempt) -> [Field; 11] {
    let (mut file, mut words) = (String::new(), String::new());
    let mut told: Option<&Metallib> = None;
    match &attempt.made {
        Made::Library { file: name, says } => {
            file.clone_from(name);
            match says {
                Ok(library) => told = Some(library),
                Err(why) => words.clone_from(why),
            }
        }
        Made::Refused(_, said) => words.clone_from(said),
    }
    let says = |what: Option<Version>| what.map_or_else(String::new, version).into();
    let xcode = &attempt.xcode;
    [
        xcode.version.clone().into(),
        xcode.compiler.clone().into(),
        xcode.developer_dir.display().to_string().into(),
        attempt.language.to_string().into(),
        attempt.minimum_os.to_owned().into(),
        match &attempt.made {
            Made::Library { .. } => "made".to_owned().into(),
            Made::Refused(meaning, _) => format!("refused: {meaning}").into(),
        },
        file.into(),
        says(told.and_then(Metallib::language)),
        says(told.map(|library| library.minimum_os)),
        says(told.map(|library| library.format)),
        words.into(),
    ]
}
