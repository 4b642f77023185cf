//! `rigel`: what does a matrix unit really do, and how can anybody check the answer?
#![forbid(unsafe_code)]

mod args;
mod commands;
mod exit;
mod progress;
mod terminal;

use clap::Parser;

fn main() -> std::process::ExitCode {
    let args = args::Args::parse();
    terminal::set_color(args.color);
    match commands::dispatch(args.command) {
        Ok(exit) => exit.into(),
        Err(error) => {
            let code = exit::of(&error);
            crate::terminal::tell!("{} {}", terminal::strong_error("error:"), exit::message(&error));
            code.into()
        }
    }
}
