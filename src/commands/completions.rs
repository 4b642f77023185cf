//! How does a shell learn the commands, and a reader the manual?

use crate::args::Args;
use crate::exit::Exit;
use clap::CommandFactory;
use std::io::Write;

/// Prints completions of a shell.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "rigel", &mut text);
    crate::terminal::output().write_all(&text)?;
    Ok(Exit::Fine)
}

/// Prints the manual page.
pub fn man() -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Args::command()).render(&mut text)?;
    crate::terminal::output().write_all(&text)?;
    Ok(Exit::Fine)
}
