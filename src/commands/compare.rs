//! What changed between two runs?

use super::records::{Field, Form, Records};
use super::table::{Table, value};
use super::{compare_models, opening};
use crate::args::CompareArgs;
use crate::exit::{Exit, failure};
use rigel_ledger::FactRow;
use rigel_ledger::compare::{Change, Difference, compare as differences, number};
use rigel_ledger::rows::name_of;
use rigel_ledger::store::Run;
use std::path::PathBuf;

/// Compares; the exit code is 1 when a word changed or an interval moved, 5 when a run is not sealed and so says nothing yet.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let is_run = |path: &PathBuf| Run::is_one(path);
    for (one, other) in [(&args.old, &args.new), (&args.new, &args.old)] {
        if is_run(one) && !other.exists() {
            let why = format!("{} is a run, and {} does not exist; name two runs", one.display(), other.display());
            return Err(failure(Exit::Usage, why));
        }
    }
    if !(args.old.is_dir() && args.new.is_dir()) {
        return compare_models::compare(args);
    }
    let (old, new) = (opening::open(&args.old)?, opening::open(&args.new)?);
    let result = differences(old.facts(), new.facts());
    for (run, dir) in [(&old, &args.old), (&new, &args.new)] {
        if opening::is_simulated(run) {
            crate::terminal::tell!("note: {} is simulated, from a software device with planted facts", dir.display());
        }
    }
    for (name, a, b) in circumstances(&old, &new) {
        crate::terminal::tell!("note: {name} differs: {a} / {b}");
    }
    match Form::of(args.format) {
        None if result.differences.is_empty() => {}
        None => table(&result.differences)?,
        Some(form) => records(&result.differences, form)?,
    }
    for words in compare_models::of_runs(&old, &new) {
        crate::terminal::tell!("{words}");
    }
    crate::terminal::tell!("{} facts are the same or their intervals overlap", result.same);
    Ok(match result.says_changed() {
        true => Exit::CheckFailed,
        // A run without facts agrees with nothing.
        false if !(old.is_sealed() && new.is_sealed()) => Exit::Unfinished,
        false => Exit::Fine,
    })
}

fn word(difference: &Difference) -> &'static str {
    match difference.change {
        Change::Word if difference.key.name.starts_with("verdict.") => "verdict",
        Change::Word => "word",
        Change::Moved => "moved",
        Change::MovedWithClock => "moved with the clock",
        Change::Undecidable => "not decidable",
        Change::Gone => "only old",
        Change::New => "only new",
    }
}

fn table(differences: &[Difference]) -> anyhow::Result<()> {
    let mut table = Table::new(&["change", "fact", "subject", "old", "new"]);
    for d in differences {
        let shown = |fact: &Option<FactRow>| fact.as_ref().map(value).unwrap_or_default();
        table.row([word(d).into(), d.key.name.clone(), d.key.subject(), shown(&d.old), shown(&d.new)]);
    }
    table.print()
}

/// Values, intervals and units as `facts.csv` has them.
fn records(differences: &[Difference], form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "change", "fact", "probe", "path", "triple", "shape", "recipe", "cache", "unit", "old", "old_low", "old_high",
        "new", "new_low", "new_high",
    ]);
    for d in differences {
        let key = &d.key;
        let numbers = |fact: &Option<FactRow>| match fact {
            None => [Field::Missing, Field::Missing, Field::Missing],
            Some(fact) => {
                let value = if number(fact).is_some() { Field::read(&fact.value) } else { fact.value.as_str().into() };
                [value, fact.low.into(), fact.high.into()]
            }
        };
        let ([old, old_low, old_high], [new, new_low, new_high]) = (numbers(&d.old), numbers(&d.new));
        let unit = d.new.as_ref().or(d.old.as_ref()).map(|fact| fact.unit.clone());
        records.row([
            word(d).into(),
            key.name.as_str().into(),
            name_of(&key.probe).into(),
            key.path.as_str().into(),
            key.triple.map(|t| t.to_string()).into(),
            key.shape.map(|s| s.to_string()).into(),
            key.recipe.map(|r| r.name()).into(),
            key.cache.map(|c| name_of(&c)).into(),
            unit.into(),
            old,
            old_low,
            old_high,
            new,
            new_low,
            new_high,
        ]);
    }
    records.print(form)
}

/// What else differs, so that nobody takes another driver for another verdict.
fn circumstances(old: &Run, new: &Run) -> Vec<(&'static str, String, String)> {
    let (Some(a), Some(b)) = (old.provenance().first(), new.provenance().first()) else { return vec![] };
    let pairs = [
        ("device", &a.device.id, &b.device.id),
        ("driver", &a.device.driver, &b.device.driver),
        ("toolchain", &a.device.toolchain, &b.device.toolchain),
        ("kernel source", &a.device.kernels, &b.device.kernels),
        ("commit", &a.commit, &b.commit),
        ("plan", &a.plan_hash, &b.plan_hash),
    ];
    let digests = ["commit", "plan"];
    let shown = |name: &str, text: &str| match digests.contains(&name) {
        true => text.chars().take(12).collect(),
        false => text.to_owned(),
    };
    pairs.into_iter().filter(|(_, a, b)| a != b).map(|(n, a, b)| (n, shown(n, a), shown(n, b))).collect()
}
