//! What stands in the files that a truth names, and which model or layout is meant?

use super::check::{BadTruth, refused};
use super::truth::Truth;
use super::unit_truth::{PlantedLayout, PlantedModel, PlantedUnit};
use rigel_numerics::Shape;
use rigel_numerics::arithmetic::{Model, library};
use rigel_numerics::layout::{self, Fragment};
use std::io::Read;
use std::path::Path;

/// The largest file of a model or layout that is read, in bytes.
const LARGEST_FILE: u64 = 16 << 20;

impl Truth {
    /// Puts what files hold in the place of their names; paths start at `folder`.
    pub(super) fn read_files(&mut self, folder: &Path) -> Result<(), BadTruth> {
        for (i, unit) in self.units.iter_mut().enumerate() {
            unit.read_files(&format!("unit[{i}]"), folder)?;
        }
        Ok(())
    }
}

impl PlantedUnit {
    fn read_files(&mut self, key: &str, folder: &Path) -> Result<(), BadTruth> {
        read_model(&format!("{key}.model"), &mut self.model, folder)?;
        for (i, deviation) in self.deviations.iter_mut().enumerate() {
            if let Some((at, model)) = deviation.model_mut() {
                read_model(&format!("{key}.deviation[{i}].{at}"), model, folder)?;
            }
        }
        if let Some(layout @ PlantedLayout::File(_)) = &mut self.layout
            && let PlantedLayout::File(path) = &*layout
        {
            *layout = PlantedLayout::Csv(read(&format!("{key}.layout.file"), &folder.join(path))?);
        }
        Ok(())
    }
}

fn read_model(key: &str, model: &mut PlantedModel, folder: &Path) -> Result<(), BadTruth> {
    if let PlantedModel::File(path) = model {
        *model = PlantedModel::Json(read(&format!("{key}.file"), &folder.join(path))?);
    }
    Ok(())
}

fn read(key: &str, path: &Path) -> Result<String, BadTruth> {
    let allowed = format!("a file of text of at most {LARGEST_FILE} bytes, by its path from the truth file");
    let bad = |reason: String| refused(key, format!("{}, which cannot be read: {reason}", path.display()), &allowed);
    let file = super::regular_file(path).map_err(bad)?;
    let mut text = String::new();
    file.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(|e| bad(e.to_string()))?;
    if text.len() as u64 > LARGEST_FILE { Err(bad("it is too long".into())) } else { Ok(text) }
}

impl PlantedModel {
    /// The model that is meant.
    pub(super) fn find(&self, key: &str) -> Result<Model, BadTruth> {
        match self {
            PlantedModel::Library(name) => {
                let found = library().iter().find(|published| published.name == *name);
                let names = || library().iter().map(|published| published.name.as_str());
                found.map(|published| published.model.clone()).ok_or_else(|| {
                    refused(format!("{key}.library"), format!("`{name}`"), alike("published model", name, names()))
                })
            }
            PlantedModel::Json(text) => Model::from_json(text)
                .map_err(|e| refused(format!("{key}.json"), format!("flawed: {e}"), "a model that can be evaluated")),
            PlantedModel::File(path) => Err(unread(&format!("{key}.file"), path)),
        }
    }
}

impl PlantedLayout {
    /// The layouts that are meant, of a unit of this shape.
    pub(super) fn find(&self, key: &str, shape: Shape) -> Result<Fragment, BadTruth> {
        let fragment = match self {
            PlantedLayout::Library(name) => {
                let known = layout::fragments();
                let found = known.iter().find(|published| published.name == *name);
                found.map(|published| published.fragment.clone()).ok_or_else(|| {
                    let names = known.iter().map(|published| published.name.as_str());
                    refused(format!("{key}.library"), format!("`{name}`"), alike("published layout", name, names))
                })?
            }
            PlantedLayout::Csv(text) => layout::csv::read(text, shape).map_err(|e| {
                let rows = "rows of operand,lane,slot,row,column for every lane and slot of a, b and c";
                refused(format!("{key}.csv"), format!("flawed: {e}"), rows)
            })?,
            PlantedLayout::File(path) => return Err(unread(&format!("{key}.file"), path)),
        };
        if fragment.shape() == shape {
            return Ok(fragment);
        }
        Err(refused(key, format!("of a unit of {}", fragment.shape()), format!("layouts of a unit of {shape}")))
    }
}

fn unread(key: &str, path: &Path) -> BadTruth {
    refused(key, path.display(), "a file in a truth that is read from text or from a file")
}

/// Names that share a word with a name that nobody has, or how many there are.
fn alike<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let words: Vec<&str> = name.split([' ', '.', ',', '_']).filter(|word| word.len() > 2).collect();
    let near: Vec<&str> = known.iter().copied().filter(|other| words.iter().any(|word| other.contains(word))).collect();
    let shown = if near.is_empty() { &known } else { &near };
    let names: Vec<String> = shown.iter().take(8).map(|name| format!("`{name}`")).collect();
    format!("a {what}, of {}: {}{}", known.len(), names.join(", "), if shown.len() > 8 { ", …" } else { "" })
}
