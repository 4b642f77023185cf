//! How is a plan measured, from options to a sealed run with its page?

use super::differing::first_difference;
use super::fail_on::FailOn;
use super::planning::{self, Planned};
use super::{list, metallibs, report};
use crate::args::RunArgs;
use crate::exit::{Exit, failure};
use crate::progress::Progress;
use crate::terminal;
use rigel_ledger::Provenance;
use rigel_ledger::facts::Evidence;
use rigel_ledger::provenance::{MissingMeterRecord, RunKind};
use rigel_ledger::store::{PLAN, Run, RunWriter, StoreError};
use rigel_study::campaign::{Campaign, Ended};
use rigel_study::device_lock::DeviceLock;
use rigel_study::origin::{self, Binary};
use rigel_study::pieces::Piece;
use rigel_study::rules;
use rigel_study::spent::Spent;
use rigel_study::supervisor::Workers;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Measures.
pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let fail_on = FailOn::new(&args.fail_on)?;
    let mut planned = planning::resolve(&args.plan)?;
    let pieces = planning::pieces(&args.plan, &planned);
    let unknown = list::unknown_blocks(&args.plan, &pieces);
    let nothing = match (args.plan.blocks.is_empty(), args.plan.partition) {
        (false, _) => !unknown.is_empty(),
        (true, Some(_)) => false,
        (true, None) => pieces.iter().all(|u| matches!(u, Piece::Absent { .. })),
    };
    if nothing {
        return Err(failure(Exit::NothingSelected, list::nothing(&args.plan, &planned)));
    }
    if args.dry_run || args.plan.estimate {
        return list::list(&args.plan);
    }
    let timed = |piece: &Piece| !matches!(piece, Piece::Instruction { .. } | Piece::Absent { .. });
    if let Some(piece) = pieces.iter().find(|piece| args.concurrent > 1 && timed(piece)) {
        let why = format!(
            "--concurrent {}: {} is timed, and runs that share a device disturb each other's times; only probes of single units \
             (arithmetic, layout, specials) and of orders may share it",
            args.concurrent,
            piece.name()
        );
        return Err(failure(Exit::Usage, why));
    }
    list::warn(&planned, &pieces);
    list::tell_rivals(&planned);
    let out = args.out.clone().unwrap_or_else(|| default_out(args, &planned));
    let mut provenance = provenance(args, &mut planned);
    if let Some(load) = disturbed(std::slice::from_ref(&provenance)).filter(|_| planned.plan.times()) {
        terminal::tell!(
            "{} {load}. Intervals will be wide and verdicts undecided; close what computes, or repeat on an idle machine",
            terminal::warning()
        );
    }
    if planned.plan.probes.contains(&rigel_ledger::Probe::Power) && provenance.device.meters.is_empty() {
        let why = |m: &MissingMeterRecord| format!("{}: {}", m.name, m.reason);
        let whys: Vec<String> = provenance.device.missing_meters.iter().map(why).collect();
        let whys = if whys.is_empty() { "the device names none".to_owned() } else { whys.join("; ") };
        terminal::tell!("{} no meter of energy is here, so `power` will find nothing ({whys})", terminal::warning());
    }
    let _alone = DeviceLock::of(&provenance).map_err(|busy| failure(Exit::Busy, busy))?;
    let presses = count_interrupts()?;
    let is_new = is_fresh(args) || !out.join("run.json").exists();
    let asks = is_new
        && !planned.device.rules(&args.libraries).is_empty()
        && planned.plan.probes.contains(&rigel_ledger::Probe::Types);
    if !asks && !args.libraries.is_empty() {
        let why = "--libraries is for a new run of a device that answers rules (metal), with the probe types among its probes";
        return Err(failure(Exit::Usage, why));
    }
    if asks {
        let made = metallibs::told(&args.libraries)?;
        let workers = Workers { command: &worker_command, interrupted: &|| presses.load(Ordering::Relaxed) > 0 };
        let asked = rules::ask(&workers, &args.plan.device, &planned.plan, &args.libraries);
        let Some(answers) = asked.map_err(|e| failure(Exit::Unfinished, e))? else {
            terminal::tell!("interrupted before the first cell; nothing was written");
            return Ok(Exit::Interrupted);
        };
        provenance.device.rules = answers.into_iter().chain(made).collect();
    }
    let writer = open_writer(args, &out, &planned, &provenance)?;
    let soon = Arc::clone(&presses);
    let device = (provenance.device.id.clone(), provenance.device.driver.clone());
    let mut progress = Progress::new();
    let campaign = Campaign {
        plan: &planned.plan,
        selector: &args.plan.device,
        device,
        run: writer.provenance().run.clone(),
        pieces,
        workers: Workers { command: &worker_command, interrupted: &|| presses.load(Ordering::Relaxed) > 1 },
        stop_soon: &|| soon.load(Ordering::Relaxed) > 0,
        writer,
        spent: Spent::default(),
        observer: &mut progress,
    };
    let ended = campaign.run();
    progress.end();
    let (ended, writer) = ended.map_err(|e| {
        failure(
            Exit::Unfinished,
            format!("{e}; what was measured is in {}, and {} goes on from there", out.display(), again(args)),
        )
    })?;
    match ended {
        Ended::Complete => finish(args, &out, writer, &fail_on),
        Ended::Interrupted => {
            drop(writer);
            crate::terminal::tell!(
                "interrupted; what was measured is in {}, and {} goes on from there",
                out.display(),
                again(args)
            );
            Ok(Exit::Interrupted)
        }
        Ended::Incomplete(missing) => {
            drop(writer);
            crate::terminal::tell!("{missing} cells have no row; {} measures them", again(args));
            Ok(Exit::Unfinished)
        }
        Ended::DeviceLost => {
            drop(writer);
            crate::terminal::tell!(
                "the device does not answer any more; what was measured is in {}; reset the device, then {} goes on",
                out.display(),
                again(args)
            );
            Ok(Exit::Unfinished)
        }
    }
}

/// Whether a run that is there is thrown away.
fn is_fresh(args: &RunArgs) -> bool {
    args.fresh && !args.resume
}

/// The command that goes on with this run: `--fresh` would delete it.
fn again(args: &RunArgs) -> &'static str {
    if is_fresh(args) { "the same command without --fresh" } else { "the same command" }
}

/// How this program was called; what is no text is shown as far as it is.
pub fn words_of_the_command() -> Vec<String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn default_out(args: &RunArgs, planned: &Planned) -> PathBuf {
    let device: String =
        args.plan.device.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    Path::new("runs").join(format!("{}-{device}", planned.plan.name))
}

fn provenance(args: &RunArgs, planned: &mut Planned) -> Provenance {
    let binary = Binary {
        commit: env!("RIGEL_COMMIT").to_owned(),
        dirty: env!("RIGEL_DIRTY").parse().ok(),
        command: words_of_the_command(),
        partition: planning::part(&args.plan),
        concurrent: args.concurrent,
    };
    origin::provenance(&planned.plan, &args.plan.device, planned.device.as_mut(), &binary)
}

/// The first mebibyte of a text, which holds a whole plan; empty where it cannot be read.
fn beginning(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(1 << 20).read_to_string(&mut text));
    if read.is_ok() { text } else { String::new() }
}

fn open_writer(args: &RunArgs, out: &Path, planned: &Planned, provenance: &Provenance) -> anyhow::Result<RunWriter> {
    if out.is_symlink() && !out.exists() {
        let why = format!(
            "{} is a link to a place that is not there; make that directory, or name another with --out",
            out.display()
        );
        return Err(failure(Exit::Usage, why));
    }
    let opened = if is_fresh(args) {
        RunWriter::fresh(out, &planned.plan, provenance)
    } else {
        RunWriter::open(out, &planned.plan, provenance)
    };
    let writer = opened.map_err(|error| match error {
        StoreError::Changed { field: "plan_hash", .. } => {
            let there = beginning(&out.join(PLAN));
            let key = first_difference(&there, &planned.plan.to_toml())
                .unwrap_or_else(|| "a preset, --filter, --axis, --seed or probe differs".into());
            let why = format!(
                "{} holds a run of another plan: {key}. Name another directory with --out, or give the options of that run to go on \
                 with it; --fresh would delete it",
                out.display()
            );
            failure(Exit::Usage, why)
        }
        error => failure(refusal(&error), error),
    })?;
    for torn in writer.torn() {
        terminal::tell!(
            "{} line {} of cells.csv stands, but the end of its rows was lost: cell {}, process {} is measured again",
            terminal::warning(),
            torn.line,
            torn.cell,
            torn.process
        );
    }
    Ok(writer)
}

/// The code of a run directory that cannot be opened for writing.
fn refusal(error: &StoreError) -> Exit {
    match error {
        StoreError::Busy { .. } => Exit::Busy,
        StoreError::Rejected { .. } => Exit::CheckFailed,
        _ => super::writing::code(error),
    }
}

/// Whether other programs computed when a measured run began, in words.
fn disturbed(provenance: &[Provenance]) -> Option<String> {
    let of = |record: &Provenance| {
        let load = record.host.busy().filter(|_| record.kind == RunKind::Measured)?;
        let cpus = record.host.logical_cpus;
        Some(format!(
            "the load was {load} on {cpus} logical processors when this run began: other programs compute here"
        ))
    };
    provenance.iter().find_map(of)
}

fn worker_command() -> Command {
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rigel"));
    let mut command = Command::new(program);
    command.arg("worker");
    command
}

/// Counts Ctrl-C: the first ends after the process in hand, the second at once.
fn count_interrupts() -> anyhow::Result<Arc<AtomicU8>> {
    let presses = Arc::new(AtomicU8::new(0));
    let counted = Arc::clone(&presses);
    ctrlc::set_handler(move || {
        let before = counted.fetch_add(1, Ordering::Relaxed);
        match before {
            0 => crate::terminal::tell!("finishing the process in hand; press Ctrl-C again to stop now"),
            1 => {}
            _ => std::process::exit(i32::from(Exit::Interrupted.code())),
        }
    })?;
    Ok(presses)
}

fn finish(args: &RunArgs, out: &Path, writer: RunWriter, fail_on: &FailOn) -> anyhow::Result<Exit> {
    writer
        .seal_with(|evidence: &Evidence| rigel_ledger::facts::derive(evidence))
        .map_err(|e| failure(Exit::Unfinished, e))?;
    let run = Run::open(out).map_err(|e| failure(Exit::Unfinished, e))?;
    report::write_page(&run, &out.join("report.html"))?;
    report::print_verdicts(&run, args.plan.format)?;
    crate::terminal::tell!(
        "rows, verdicts and page are in {}; open {}",
        out.display(),
        out.join("report.html").display()
    );
    // As this program was called: after `cargo run` there is no `rigel` on the path.
    let program = words_of_the_command().into_iter().next().unwrap_or_else(|| "rigel".to_owned());
    crate::terminal::tell!("{}", terminal::faint(&format!("check it: {program} verify {}", out.display())));
    if let Some(load) = disturbed(run.provenance()).filter(|_| run.plan().times()) {
        crate::terminal::tell!("{} {load}; what is undecided above may come from that", terminal::warning());
    }
    if let Some(word) = fail_on.said(&run) {
        crate::terminal::tell!("a verdict or outcome says `{word}` (--fail-on)");
        return Ok(Exit::CheckFailed);
    }
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn a_full_disk_is_worth_another_try_and_a_forbidden_directory_is_not() {
        let io = |kind: ErrorKind| StoreError::Io { path: "out".into(), action: "write", source: kind.into() };
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge] {
            assert_eq!(refusal(&io(kind)), Exit::Unfinished, "{kind}");
            assert!(io(kind).to_string().contains("free some space"), "{kind}");
        }
        for kind in [ErrorKind::PermissionDenied, ErrorKind::NotFound] {
            assert_eq!(refusal(&io(kind)), Exit::Usage, "{kind}");
        }
    }
}
