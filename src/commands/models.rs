//! Which arithmetic model does a user mean by a name or a file?

use crate::exit::{Exit, failure};
use rigel_ledger::rows::name_of;
use rigel_ledger::units::{Claim, UnitRecord};
use rigel_numerics::arithmetic::emit::About;
use rigel_numerics::arithmetic::{Confidence, Model, Published, library};
use std::path::Path;

/// A model and what is known of it.
pub struct Named {
    /// What to call it.
    pub about: About,
    /// The model.
    pub model: Model,
}

/// Largest file that is read as a model: far more than any model has, and small enough to be read at once.
const MOST_BYTES: u64 = 16 << 20;

/// The model of a file, or the published one whose name is `what` or, of all, has every word of it.
pub fn find(what: &str) -> anyhow::Result<Named> {
    let path = Path::new(what);
    if path.is_dir() {
        return Err(failure(Exit::Usage, of_directory(path)));
    }
    if path.is_file() {
        return read(path);
    }
    let found = matching(what);
    match found.as_slice() {
        [one] => Ok(named(one)),
        [] => {
            let why = format!("no file and no published model is called `{what}`; `rigel emit model` lists the models");
            Err(failure(Exit::Usage, why))
        }
        several => {
            let names: Vec<&str> = several.iter().take(8).map(|p| p.name.as_str()).collect();
            let more = if several.len() > names.len() { ", …" } else { "" };
            let why = format!("`{what}` could be {} models: {}{more}; name one", several.len(), names.join(" | "));
            Err(failure(Exit::Usage, why))
        }
    }
}

/// What to say where a run is named and one of its models is meant.
fn of_directory(dir: &Path) -> String {
    let mut names: Vec<String> = std::fs::read_dir(dir.join("models"))
        .map(|entries| entries.flatten().map(|entry| entry.path().display().to_string()).collect())
        .unwrap_or_default();
    names.sort();
    match names.as_slice() {
        [] => format!("{} is a directory without recovered models; name a model or a file", dir.display()),
        all => format!("{} is a run; name one of its models: {}", dir.display(), all.join(" ")),
    }
}

/// The published model of that very name, or all that have every word.
fn matching(what: &str) -> Vec<&'static Published> {
    if let Some(exact) = library().iter().find(|p| p.name == what) {
        return vec![exact];
    }
    let words: Vec<String> = what.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let has = |p: &&Published| {
        let text = format!("{} {} {}", p.name, p.device, p.path).to_lowercase();
        !words.is_empty() && words.iter().all(|word| text.contains(word.as_str()))
    };
    library().iter().filter(has).collect()
}

fn named(published: &Published) -> Named {
    let sure = match published.confidence {
        Confidence::Stated => "a vendor's document states it",
        Confidence::Published => "published from measurements of others; none of ours",
        Confidence::Disputed => "disputed: published sources contradict each other",
        Confidence::Inferred => "inferred from published facts; nobody has shown it",
    };
    let note = if published.note.is_empty() { String::new() } else { format!(". {}", published.note) };
    let name = format!("{}, {} ({})", published.path, published.device, published.name);
    let about = About { name, source: published.source.clone(), validation: format!("{sure}{note}") };
    Named { about, model: published.model.clone() }
}

/// A model as JSON, a published one with its source, or the record of a unit in a run.
fn read(path: &Path) -> anyhow::Result<Named> {
    let shown = path.display();
    let refused = |why: String| failure(Exit::Usage, format!("{shown}: {why}"));
    let text = super::reading::text(path, MOST_BYTES).map_err(|why| refused(format!("no model: {why}")))?;
    let named = |name: String, validation: &str, model: Model| {
        model.check().map_err(|e| refused(e.to_string()))?;
        let about = About { name, source: format!("file {shown}"), validation: validation.to_owned() };
        Ok(Named { about, model })
    };
    // Which of the three it is, its keys say: errors are then of the kind that was meant.
    let keys: serde_json::Value = serde_json::from_str(&text).map_err(|e| refused(format!("no JSON: {e}")))?;
    if keys.get("claim").is_some() {
        let record = UnitRecord::read_model(path).map_err(|e| refused(e.to_string()))?;
        let tested = record.validation.as_ref().map_or("no validation".to_owned(), |v| {
            format!("{} of {} fresh outputs differ, seed {:#x}", v.mismatches(), v.asked(), v.seed)
        });
        let validation = match record.claim {
            Claim::Exact => format!("exact: {tested}"),
            Claim::Inexact => format!("INEXACT, the nearest model that was found ({}): {tested}", record.why),
        };
        let Some(model) = record.model else { return Err(refused("the recovery found no model".to_owned())) };
        let origin = &record.origin;
        let source = format!(
            "{} on device {}, driver {}, toolchain {}; file {shown}",
            name_of(&origin.kind),
            origin.device,
            origin.driver,
            origin.toolchain
        );
        model.check().map_err(|e| refused(e.to_string()))?;
        let about = About { name: format!("unit {}", record.unit.name), source, validation };
        return Ok(Named { about, model });
    }
    if keys.get("model").is_some() {
        let published: Published =
            serde_json::from_str(&text).map_err(|e| refused(format!("no published model: {e}")))?;
        published.model.check().map_err(|e| refused(e.to_string()))?;
        return Ok(self::named(&published));
    }
    let model = Model::from_json(&text).map_err(|e| refused(e.to_string()))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    named(format!("model {name}"), "none that this file tells of", model)
}
