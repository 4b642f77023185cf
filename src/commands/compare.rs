//! What changed between two runs?

use super::table::{Table, value};
use crate::args::CompareArgs;
use crate::exit::{Exit, failure};
use rigel_ledger::FactRow;
use rigel_ledger::compare::{Change, compare as differences};
use rigel_ledger::store::Run;
use std::path::Path;

/// Compares; the exit code is 1 when a word changed or an interval moved.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (old, new) = (open(&args.old)?, open(&args.new)?);
    let result = differences(old.facts(), new.facts());
    for (name, a, b) in circumstances(&old, &new) {
        crate::terminal::tell!("note: {name} differs: {a} / {b}");
    }
    let mut table = Table::new(&["change", "fact", "subject", "old", "new"]);
    for d in &result.differences {
        let word = match d.change {
            Change::Word if d.key.name.starts_with("verdict.") => "verdict",
            Change::Word => "word",
            Change::Moved => "moved",
            Change::MovedWithClock => "moved with the clock",
            Change::Undecidable => "not decidable",
            Change::Gone => "only old",
            Change::New => "only new",
        };
        let shown = |fact: &Option<FactRow>| fact.as_ref().map(value).unwrap_or_default();
        table.row([word.into(), d.key.name.clone(), d.key.subject(), shown(&d.old), shown(&d.new)]);
    }
    table.print(args.format)?;
    crate::terminal::tell!("{} facts are the same or their intervals overlap", result.same);
    Ok(if result.says_changed() { Exit::CheckFailed } else { Exit::Fine })
}

fn open(dir: &Path) -> anyhow::Result<Run> {
    Run::open(dir).map_err(|e| failure(Exit::Usage, e))
}

/// What else differs, so that nobody takes another driver for another verdict.
fn circumstances(old: &Run, new: &Run) -> Vec<(&'static str, String, String)> {
    let (Some(a), Some(b)) = (old.provenance().first(), new.provenance().first()) else { return vec![] };
    let pairs = [
        ("device", &a.device.id, &b.device.id),
        ("driver", &a.device.driver, &b.device.driver),
        ("toolchain", &a.device.toolchain, &b.device.toolchain),
        ("kernels", &a.device.kernels, &b.device.kernels),
        ("commit", &a.commit, &b.commit),
        ("plan", &a.plan_hash, &b.plan_hash),
    ];
    pairs.into_iter().filter(|(_, a, b)| a != b).map(|(n, a, b)| (n, a.clone(), b.clone())).collect()
}
