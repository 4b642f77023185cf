//! How often is the instrument itself wrong?

use super::calibration;
use super::records::{Field, Form, Records};
use super::table::Table;
use crate::args::CalibrateArgs;
use crate::exit::{Exit, failure};
use crate::terminal::{bad, good, tell};
use rigel_study::calibrate::{Bounds, Family, Kept, Limit, Line};
use rigel_study::origin::Binary;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Plants, recovers, and prints both; the exit code is 1 when a limit is not kept.
pub fn calibrate(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    if let Some(dir) = &args.from {
        return match &args.readme {
            Some(readme) => calibration::readme(dir, readme, args.check),
            None => {
                Ok(std::io::stdout().lock().write_all(calibration::markdown(dir)?.as_bytes()).map(|()| Exit::Fine)?)
            }
        };
    }
    let known = || Family::ALL.map(Family::name).join(", ");
    if let Some(unknown) = args.families.iter().find(|f| !Family::ALL.iter().any(|family| family.name() == *f)) {
        return Err(failure(Exit::Usage, format!("no family `{unknown}`; known: {}", known())));
    }
    if args.devices == 0 {
        return Err(failure(Exit::NothingSelected, "nothing to plant: --devices must be at least 1"));
    }
    let begun = Instant::now();
    let stop = stop_on_interrupt()?;
    let bounds = Bounds { validation: args.validation, stop: &stop };
    let wanted = |family: &Family| args.families.is_empty() || args.families.iter().any(|f| f == family.name());
    let mut results = Vec::new();
    for family in Family::ALL.into_iter().filter(wanted) {
        if !stop.load(Ordering::Relaxed) {
            results.push(family.run(args.seed, args.devices, bounds));
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    let lines = results.iter().flat_map(|result| result.lines.iter().map(|line| (result.family.name(), line)));
    match Form::of(args.format) {
        None => table(lines)?,
        Some(form) => records(lines, args.seed, form)?,
    }
    for result in &results {
        if let Some(cost) = result.cost() {
            tell!("{}: {cost}", result.family.name());
        }
    }
    tell!("simulated: error rates under planted laws, seed {}", args.seed);
    let undecided: usize = results.iter().map(|result| result.undecided()).sum();
    if undecided > 0 {
        tell!(
            "{undecided} limits are undecided: they lie inside the 95 % interval of so few devices; `--devices 1000` decides \
             most of them"
        );
    }
    if let Some(out) = &args.out {
        let binary = Binary {
            commit: env!("RIGEL_COMMIT").to_owned(),
            dirty: env!("RIGEL_DIRTY").parse().ok(),
            // Where the binary lay says nothing of the calibration.
            command: std::iter::once("rigel".to_owned())
                .chain(super::run::words_of_the_command().into_iter().skip(1))
                .collect(),
            partition: String::new(),
            concurrent: 1,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let origin = calibration::origin(args.seed, args.devices, args.validation, interrupted, seconds, &binary);
        calibration::write(out, &origin, &results)?;
    }
    let kept = results.iter().all(|result| if args.allow_misses { result.is_never_wrong() } else { result.passes() });
    Ok(match (interrupted, kept) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Fine,
        (false, false) => Exit::CheckFailed,
    })
}

/// A flag that the first Ctrl-C sets; the second ends the process.
fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let pressed = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if pressed.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
        tell!("finishing the devices in hand; press Ctrl-C again to stop now");
    })?;
    Ok(stop)
}

fn table<'a>(lines: impl Iterator<Item = (&'static str, &'a Line)>) -> anyhow::Result<()> {
    let mut table =
        Table::new(&["family", "planted", "counted", "count", "of", "rate", "95 % interval", "limit", "kept"]);
    for (family, line) in lines {
        let (low, high) = line.bounds();
        let word = match line.kept() {
            Some(Kept::Yes) => good("yes"),
            Some(Kept::No) => bad("no"),
            Some(Kept::Undecided) => "undecided".to_owned(),
            None => String::new(),
        };
        table.row([
            family.to_owned(),
            line.planted.clone(),
            line.counted.clone(),
            line.count.to_string(),
            line.of.to_string(),
            percent(line.rate()),
            format!("{} to {}", percent(low), percent(high)),
            line.limit.to_string(),
            word,
        ]);
    }
    table.print()
}

/// Shares from 0 to 1; `least_share` and `most_share` are what the design promises.
fn records<'a>(lines: impl Iterator<Item = (&'static str, &'a Line)>, seed: u64, form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "kind",
        "family",
        "seed",
        "planted",
        "counted",
        "count",
        "of",
        "share",
        "share_low",
        "share_high",
        "least_share",
        "most_share",
        "kept",
    ]);
    for (family, line) in lines {
        let (low, high) = line.bounds();
        let (least, most) = match line.limit {
            Limit::AtLeast(share) => (Some(share), None),
            Limit::AtMost(share) => (None, Some(share)),
            Limit::Never => (None, Some(0.0)),
            Limit::Shown => (None, None),
        };
        records.row([
            "simulated".into(),
            family.into(),
            seed.into(),
            line.planted.as_str().into(),
            line.counted.as_str().into(),
            line.count.into(),
            line.of.into(),
            if line.of == 0 { Field::Missing } else { line.rate().into() },
            low.into(),
            high.into(),
            least.into(),
            most.into(),
            line.kept().map(|kept| kept.to_string()).into(),
        ]);
    }
    records.print(form)
}

fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}
