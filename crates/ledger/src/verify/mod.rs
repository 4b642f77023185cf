//! Do the files of a run say what can be derived from them?
//!
//! [`verify`] reads a run directory and nothing else: no device, no clock, no network. It recomputes
//!
//! | check | from | against |
//! | --- | --- | --- |
//! | files | the bytes of every file | MANIFEST: digests, row counts, no file too many or too few |
//! | provenance | `run.json` | the plan's hash, this build's input recipes |
//! | plan | the plan's axes, the device's offers | each cell row is asked for and names its block; what is missing is told |
//! | evidence | lines of `samples.csv` and `witness.csv` | the digest and the number of repetitions in each cell row |
//! | statistics | samples | every summary column of each cell row |
//! | gates | witness elements, their inputs remade from the seed, summed exactly | error, ulps, tolerance, outcome and reason |
//! | units | models, maps, conversions and orders: their vectors, launches, codes and pairs made again from the seed | what the record states; runs with such records only |
//! | power | `cells.csv` | each reading once, in order, under `idle`, `period` or a load |
//! | facts | plan, provenance, cells, samples, power | `facts.csv`, row by row |
//!
//! What it cannot recompute it takes as stated, protected by digests alone: times as the device gave them, witness values,
//! the output elements that are not in the witness, the planted faults that a gate rejected, `gate_visible`, the
//! accumulators of a ceiling loop; of units the outputs of a model that is not exact, and the counts of the
//! validation, whose 10⁶ outputs are not kept; of an order the counts of its pairs and row 0 of floats.

mod asked;
mod backends;
mod differences;
mod evidence;
mod gates;
mod places;
mod power;
mod product;
mod report;
mod statistics;
mod units;

pub use backends::kind_of;
pub use power::readings_fault;
pub use report::{Check, CheckName, Failure, Report};

use crate::facts::derive;
use crate::rows::FactRow;
use crate::store::{CELLS, FACTS, FileFault, MANIFEST, RUN, RUNS, Run, SAMPLES, StoreError, WITNESS};
use std::path::Path;

/// Verifies a run directory. What reads but does not agree is in the report; so is the first line that does not read.
///
/// # Errors
/// There is no run in the directory.
pub fn verify(dir: &Path) -> Result<Report, StoreError> {
    let run = match Run::read(dir) {
        Ok(run) => run,
        Err(error @ StoreError::File { fault: FileFault::NotARun, .. }) => return Err(error),
        Err(error) => return Ok(Report { checks: vec![Check::of(CheckName::Files, 1, vec![Failure::from(&error)])] }),
    };
    let mut files: Vec<Failure> = run.complaints.iter().map(Failure::from).collect();
    if !run.is_sealed() {
        let whole = format!("is missing: the run was never sealed, {} cells are whole; resume it", run.cells().len());
        files.push(Failure::file(&dir.join(MANIFEST), whole));
        let torn = |torn: &crate::store::Torn| {
            let what =
                format!("evidence of cell {}, process {} is torn: a resume measures it again", torn.cell, torn.process);
            Failure::line(&dir.join(CELLS), torn.line, what)
        };
        files.extend(run.torn().iter().map(torn));
    }
    let read = run.read_samples().and_then(|samples| Ok((samples, run.read_witness()?)));
    let ((samples, sample_file), (witness, witness_file)) = match read {
        Ok(read) => read,
        Err(error) => {
            files.push(Failure::from(&error));
            return Ok(Report { checks: vec![Check::of(CheckName::Files, run.cells().len(), files)] });
        }
    };
    for (name, scanned) in [(SAMPLES, &sample_file), (WITNESS, &witness_file)] {
        files.extend(run.check(name, scanned).err().iter().map(Failure::from));
    }
    let count = run.manifest().map_or(0, |manifest| manifest.rows().count());
    let mut checks = vec![Check::of(CheckName::Files, count, files), provenance(&run), asked::check(&run)];
    checks.push(match evidence::check(&run, &sample_file, &witness_file) {
        Ok(check) => check,
        Err(error) => Check::of(CheckName::Evidence, run.cells().len(), vec![Failure::from(&error)]),
    });
    checks.push(statistics::check(&run, &samples));
    checks.push(gates::check(&run, &witness));
    checks.extend(units::check(&run));
    drop(witness);
    if run.is_sealed() {
        checks.push(power::check(&run));
        let derived = derive(&run.evidence(&samples));
        checks.push(facts(&run, &derived));
    }
    Ok(Report { checks })
}

/// Demands that a sealed run passes.
///
/// # Errors
/// There is no run; the first thing that does not agree.
pub(crate) fn demand(dir: &Path) -> Result<(), StoreError> {
    demanded(dir, |_| true)
}

/// Demands that everything in a sealed run passes but its facts: of somebody who derives them again, whatever they were.
///
/// # Errors
/// As [`demand`].
pub(crate) fn demand_rows(dir: &Path) -> Result<(), StoreError> {
    demanded(dir, |check| check.name != CheckName::Facts)
}

fn demanded(dir: &Path, taken: impl Fn(&Check) -> bool) -> Result<(), StoreError> {
    let report = verify(dir)?;
    let checks = || report.checks.iter().filter(|check| taken(check));
    let first = checks().flat_map(|check| &check.failures).next();
    let failures = checks().map(|check| check.failed).sum();
    match first {
        None => Ok(()),
        Some(first) => Err(StoreError::Rejected { dir: dir.to_owned(), first: first.to_string(), failures }),
    }
}

/// Recipes of another text than this build's give other inputs, so no witness can be recomputed.
fn provenance(run: &Run) -> Check {
    let ours = blake3::hash(rigel_numerics::recipe::RECIPE_TEXT.as_bytes()).to_hex().to_string();
    let mut failures = Vec::new();
    let mut notes = Vec::new();
    for record in run.provenance() {
        let name = if run.provenance().len() == 1 { RUN.to_owned() } else { format!("{RUNS}/{}.json", record.run) };
        let path = run.dir().join(name);
        if record.recipe_hash != ours {
            let what =
                format!("recipe_hash is `{}`; the input recipes of this rigel have `{ours}`", record.recipe_hash);
            failures.push(Failure::file(&path, what));
        }
        failures.extend(backends::contradiction(record).map(|what| Failure::file(&path, what)));
        if record.plan != run.plan().name {
            let what = format!("plan is `{}`; plan.toml has the name `{}`", record.plan, run.plan().name);
            failures.push(Failure::file(&path, what));
        }
        if record.seed != run.plan().seed {
            let what = format!("seed is {}; the plan states {}", record.seed, run.plan().seed);
            failures.push(Failure::file(&path, what));
        }
        let missing = record.missing();
        if !missing.is_empty() {
            notes.push(format!("{}: incomplete, so no verdict is given: {}", path.display(), missing.join(", ")));
        }
    }
    Check { notes, ..Check::of(CheckName::Provenance, run.provenance().len(), failures) }
}

fn facts(run: &Run, derived: &[FactRow]) -> Check {
    let path = run.dir().join(FACTS);
    let failures = differences::of(run.facts(), derived).into_iter();
    let failures = failures.map(|(index, what)| Failure::line(&path, index as u64 + 2, what)).collect();
    Check::of(CheckName::Facts, derived.len(), failures)
}
