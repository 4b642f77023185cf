//! What does the hidden command `worker` do? One order in on standard input, events out on standard output.

use crate::exit::{Exit, failure};

/// Serves one order. An interrupt is the parent's to handle, so it is ignored here.
pub fn worker() -> anyhow::Result<Exit> {
    ctrlc::set_handler(|| {})?;
    match rigel_study::worker::serve(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => Ok(Exit::Fine),
        Err(error) => Err(failure(Exit::Usage, error)),
    }
}
