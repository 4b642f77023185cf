//! What does the hidden command `worker` do? One request in on standard input, events out on standard output.

use crate::exit::{Exit, failure};
use rigel_study::worker;
use std::io::BufReader;

/// Serves one request, and ends when the campaign that gave it ends. An interrupt is the campaign's to handle.
pub fn worker() -> anyhow::Result<Exit> {
    ctrlc::set_handler(|| {})?;
    let request = worker::read_request(BufReader::new(std::io::stdin())).map_err(|e| failure(Exit::Usage, e))?;
    worker::end_with_parent();
    worker::serve(&request, std::io::stdout().lock()).map_err(|e| failure(Exit::Usage, e))?;
    Ok(Exit::Fine)
}
