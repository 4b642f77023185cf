//! Which file answers which command?

mod calibrate;
mod calibration;
mod compare;
mod compare_models;
mod completions;
mod devices;
mod differing;
mod emit;
mod explain;
mod export;
mod fail_on;
mod figures;
mod list;
mod memory;
mod merge;
mod metallibs;
mod models;
mod opening;
mod planning;
mod published;
mod reading;
mod records;
mod report;
mod run;
mod table;
mod tolerance;
mod verdicts;
mod verify;
mod worker;
mod writing;

use crate::args::Command;
use crate::exit::Exit;

/// Does what was asked.
pub fn dispatch(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Devices(args) => devices::devices(&args),
        Command::List(args) => list::list(&args),
        Command::Run(args) => run::run(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Explain(args) => explain::explain(&args),
        Command::Figures(args) => figures::figures(&args),
        Command::Report(args) => report::report(&args),
        Command::Emit(args) => emit::emit(&args),
        Command::Export(args) => export::export(&args),
        Command::Completions(args) => completions::completions(args.shell),
        Command::Man => completions::man(),
        Command::Worker => worker::worker(),
    }
}
