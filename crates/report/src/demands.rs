//! What do paths demand of the addresses of their operands, and which toolchains do they take? Tables that terminal, page and README
//! share.

use crate::columns::Columns;
use crate::costs::Costs;
use crate::source::Source;
use crate::table::Table;
use crate::text::seen;
use rigel_ledger::{FactRow, Probe};
use rigel_numerics::placement::{Placement, split};
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::BTreeMap;

/// The words of placements, from bad to good, and the doubt.
pub(crate) const WORDS: [&str; 5] = ["refused", "wrong", "slow", "fine", "undecided"];

/// A product by one launch tile, its operands at every address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Line<'a> {
    pub path: &'a str,
    pub triple: Option<Triple>,
    pub shape: Option<Shape>,
    pub recipe: Option<Recipe>,
    pub tile: String,
}

/// What was found of a line.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    /// The word of each placement.
    pub words: BTreeMap<Placement, &'a FactRow>,
    /// Its time over the aligned one.
    pub ratios: BTreeMap<Placement, &'a FactRow>,
    /// Bytes that offsets, and distances, must be a multiple of.
    pub demands: [Option<&'a FactRow>; 2],
}

impl Line<'_> {
    /// Path, types, extents and launch tile.
    pub fn name(&self) -> String {
        format!("{} {}, {}", self.path, pretty(self.triple), self.tile)
    }
}

fn pretty(triple: Option<Triple>) -> String {
    triple.map_or_else(String::new, |triple| triple.pretty())
}

fn extents(shape: Option<Shape>) -> String {
    shape.map_or_else(String::new, |shape| shape.to_string())
}

/// Every line of a run, in order.
pub(crate) fn lines<'a>(source: Source<'a>) -> BTreeMap<Line<'a>, Found<'a>> {
    let mut lines: BTreeMap<Line<'a>, Found<'a>> = BTreeMap::new();
    for fact in source.facts.iter().filter(|fact| fact.probe == Probe::Alignment) {
        let Some(name) = fact.name.strip_prefix("alignment.") else { continue };
        if let Some(tile) = name.strip_prefix("offset.") {
            entry(&mut lines, fact, tile).demands[0] = Some(fact);
        } else if let Some(tile) = name.strip_prefix("stride.") {
            entry(&mut lines, fact, tile).demands[1] = Some(fact);
        } else if let Some((tile, place)) = name.strip_prefix("ratio.").and_then(split) {
            entry(&mut lines, fact, tile).ratios.insert(place, fact);
        } else if let Some((tile, place)) = split(name) {
            entry(&mut lines, fact, tile).words.insert(place, fact);
        }
    }
    lines
}

fn entry<'a, 'l>(lines: &'l mut BTreeMap<Line<'a>, Found<'a>>, fact: &'a FactRow, tile: &str) -> &'l mut Found<'a> {
    let (path, tile) = (fact.path.as_str(), tile.to_owned());
    lines.entry(Line { path, triple: fact.triple, shape: fact.shape, recipe: fact.recipe, tile }).or_default()
}

/// The tables of a run that has such facts, in order.
pub(crate) fn all(source: Source<'_>) -> Vec<Costs> {
    let alignment = Costs {
        id: "alignment",
        title: "Addresses of operands",
        note: "By launch tile: the power of two, in bytes, of which every multiple that was asked is taken, as offset of both operands and as distance of rows (smaller ones may not have been asked: the plan names what was); and how many placements were refused, wrong, slow (the whole interval of the time ratio at or above the plan's threshold) or fine.",
        table: alignment(source),
    };
    let versions = Costs {
        id: "versions",
        title: "Toolchains",
        note: "By which compiler, language and target a small product was compiled, loaded, run and gated, with what took effect or the class of the refusal; verbatim words stand in the facts.",
        table: versions(source),
    };
    let bits = Costs {
        id: "version-bits",
        title: "Output bits by toolchain",
        note: "Whether every toolchain that is accepted gives the same output for the same inputs, element by element.",
        table: bits(source),
    };
    [alignment, versions, bits].into_iter().filter(|costs| !costs.table.rows.is_empty()).collect()
}

/// The tables as aligned text, each with its title.
pub fn demands_text(source: Source<'_>) -> Vec<(&'static str, Columns)> {
    let text = |Costs { title, table, .. }: Costs| {
        let mut columns = Columns::new(table.columns.iter().copied());
        table.rows.iter().for_each(|row| columns.row(row.iter().map(|cell| seen(cell))));
        (title, columns)
    };
    all(source).into_iter().map(text).collect()
}

fn alignment(source: Source<'_>) -> Table {
    let columns = [
        "path",
        "types",
        "M×N×K",
        "launch tile",
        "#offset, B",
        "#row distance, B",
        "#refused",
        "#wrong",
        "#slow",
        "#fine",
        "#undecided",
    ];
    let mut table = Table::new(&columns);
    for (line, found) in lines(source) {
        let demand = |fact: Option<&FactRow>| fact.map_or_else(|| "none found".to_owned(), |fact| fact.value.clone());
        let count = |word: &str| found.words.values().filter(|fact| fact.value == word).count().to_string();
        table.push(|| {
            let mut row = vec![line.path.to_owned(), pretty(line.triple), extents(line.shape), line.tile.clone()];
            row.extend(found.demands.map(demand));
            row.extend(WORDS.map(count));
            row
        });
    }
    table
}

fn versions(source: Source<'_>) -> Table {
    let mut table = Table::new(&["toolchain", "answer", "what took effect, or why not", "paths and types"]);
    let facts = source.facts.iter().filter(|fact| fact.probe == Probe::Versions);
    let mut groups: BTreeMap<(&str, &str, String), Vec<String>> = BTreeMap::new();
    for fact in facts {
        let Some(toolchain) = fact.name.strip_prefix("version.").filter(|name| *name != "bits") else { continue };
        let words = match fact.value.starts_with("refused") {
            true => fact.words.split(':').next().unwrap_or_default().to_owned(),
            false => fact.words.clone(),
        };
        let who = format!("{} {}", fact.path, pretty(fact.triple));
        let group = groups.entry((toolchain, &fact.value, words)).or_default();
        if !group.contains(&who) {
            group.push(who);
        }
    }
    for ((toolchain, answer, words), who) in groups {
        table.push(|| vec![toolchain.to_owned(), answer.to_owned(), words, who.join("; ")]);
    }
    table
}

fn bits(source: Source<'_>) -> Table {
    let mut table = Table::new(&["path", "types", "M×N×K", "inputs", "output bits", "by"]);
    for fact in source.facts.iter().filter(|fact| fact.probe == Probe::Versions && fact.name == "version.bits") {
        let inputs = fact.recipe.map_or("", Recipe::name);
        table.push(|| {
            vec![
                fact.path.clone(),
                pretty(fact.triple),
                extents(fact.shape),
                inputs.to_owned(),
                fact.value.clone(),
                fact.words.clone(),
            ]
        });
    }
    table
}
