//! What is the first thing that two arithmetic models do differently?

use super::models::{self, Named};
use super::records::{Form, Records};
use crate::args::CompareArgs;
use crate::exit::{Exit, failure};
use rigel_ledger::store::Run;
use rigel_ledger::units::{ArithmeticRecord, UnitRecord};
use rigel_numerics::arithmetic::{Difference, Evaluator, Model, first_difference};
use std::io::Write;

/// Inputs of each distribution that are tried.
const TRIED: u64 = 100_000;
/// The stream of inputs: the same for all, so that a difference can be shown again.
const STREAM: u64 = 1;
/// Products that are tried at most, where both instructions would need more together.
const MOST_K: usize = 256;

/// Prints the difference; the exit code is 1 when there is one.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let [old, new] = [&args.old, &args.new].map(|path| models::find(&path.display().to_string()));
    let (old, new) = (old?, new?);
    let found = difference(&old.model, &new.model).map_err(|why| failure(Exit::Usage, why))?;
    match Form::of(args.format) {
        Some(form) => records(&old, &new, &found, form)?,
        None => words(&old, &new, &found)?,
    }
    Ok(if matches!(found, Found::Nothing { .. }) { Exit::Fine } else { Exit::CheckFailed })
}

/// What comparing two models came to.
enum Found {
    /// No input that was tried tells them apart.
    Nothing { k: usize },
    /// An input that does, reduced to what it takes.
    Input { k: usize, difference: Box<Difference> },
}

/// # Errors
/// Why the two cannot be asked the same.
fn difference(one: &Model, other: &Model) -> Result<Found, String> {
    let formats = |m: &Model| (m.triple.a, m.triple.b, m.triple.c, m.scales.map(|s| (s.a, s.b, s.group)));
    if formats(one) != formats(other) {
        return Err(format!(
            "models of other operands cannot be given the same inputs: {} and {}",
            one.triple.pretty(),
            other.triple.pretty()
        ));
    }
    // Several steps of both, so that what passes between them is seen.
    let group = one.scales.map_or(1, |s| s.group);
    let k = (one.k.max(other.k).max(4) * 2).min(MOST_K.max(one.k).max(other.k)).next_multiple_of(group);
    let evaluator = |model| Evaluator::new(model, k).map_err(|e| format!("at K = {k}: {e}"));
    let (one, other) = (evaluator(one)?, evaluator(other)?);
    Ok(match first_difference(&one, &other, STREAM, TRIED) {
        None => Found::Nothing { k },
        Some(found) => Found::Input { k, difference: Box::new(found.reduced(&one, &other)) },
    })
}

fn words(old: &Named, new: &Named, found: &Found) -> anyhow::Result<()> {
    let mut out = crate::terminal::output();
    let phrases = old.model.differing_words(&new.model);
    match found {
        Found::Nothing { k } if phrases.is_empty() => writeln!(out, "the same model (compared at K = {k})")?,
        Found::Nothing { k } => {
            writeln!(
                out,
                "no difference on {TRIED} inputs of each distribution at K = {k}: with 95 % confidence fewer than {:.0e} of \
                 such inputs tell them apart",
                3.0 / TRIED as f64
            )?;
            writeln!(out, "they are written differently all the same:")?;
        }
        Found::Input { difference, k } => {
            writeln!(out, "{}", difference.behaviour(old.model.triple.c))?;
            writeln!(out, "shown by one input of {k} products, drawn {:?}, reduced:", difference.distribution)?;
            writeln!(out, "  {}", difference.shown(&old.model))?;
            for (named, code) in [old, new].into_iter().zip(difference.codes) {
                let value = old.model.triple.c.decode(code);
                writeln!(out, "  {}: {code:#x} ({value:e})", named.about.name)?;
            }
            writeln!(out, "in words:")?;
        }
    }
    for (one, other) in phrases {
        let said = |text: &str| if text.is_empty() { "(nothing of it)".to_owned() } else { text.to_owned() };
        writeln!(out, "  {} / {}", said(&one), said(&other))?;
    }
    Ok(())
}

fn records(old: &Named, new: &Named, found: &Found, form: Form) -> anyhow::Result<()> {
    let mut records = Records::new(["old", "new", "k", "behaviour", "distribution", "inputs", "old_code", "new_code"]);
    let (a, b) = (old.about.name.as_str(), new.about.name.as_str());
    match found {
        Found::Nothing { k } => {
            let none = || super::records::Field::Missing;
            records.row([a.into(), b.into(), (*k).into(), "none".into(), none(), none(), none(), none()]);
        }
        Found::Input { k, difference: d } => records.row([
            a.into(),
            b.into(),
            (*k).into(),
            d.behaviour(old.model.triple.c).into(),
            rigel_ledger::rows::name_of(&d.distribution).into(),
            d.shown(&old.model).into(),
            format!("{:x}", d.codes[0]).into(),
            format!("{:x}", d.codes[1]).into(),
        ]),
    }
    records.print(form)
}

/// A sentence for every unit that two runs have models of, where these differ.
pub fn of_runs(old: &Run, new: &Run) -> Vec<String> {
    let models = |run: &Run| -> Vec<(String, Model)> {
        let of = |unit: &UnitRecord| match unit {
            UnitRecord::Arithmetic(record) => {
                let ArithmeticRecord { unit, model, .. } = &**record;
                model.clone().map(|model| (unit.name.clone(), model))
            }
            _ => None,
        };
        run.units().iter().filter_map(of).collect()
    };
    let newer = models(new);
    let sentence = |(name, model): (String, Model)| {
        let (_, other) = newer.iter().find(|(other, _)| *other == name)?;
        match difference(&model, other) {
            Ok(Found::Nothing { .. }) => None,
            Ok(Found::Input { difference, .. }) => {
                let shown = difference.shown(&model);
                let [x, y] = difference.codes;
                Some(format!("unit {name}: {}: {shown}: {x:#x} / {y:#x}", difference.behaviour(model.triple.c)))
            }
            Err(why) => Some(format!("unit {name}: {why}")),
        }
    };
    models(old).into_iter().filter_map(sentence).collect()
}
