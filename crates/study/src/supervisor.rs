//! How does one worker process get its order, and what became of it?

use crate::order::{Event, Order};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest line taken from a worker: a cell with a million repetitions fits many times.
const LONGEST_LINE: u64 = 256 << 20;
/// How much of a worker's standard error is kept for reasons.
const KEPT_STDERR: usize = 4096;

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It said that it was done.
    Done,
    /// It died: how, with the last lines of its standard error.
    Died(String),
    /// It said nothing for longer than the limit and was killed.
    Silent,
    /// The user interrupted; it was killed.
    Interrupted,
}

/// A worker that cannot be started or spoken to.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The program does not start.
    #[error("cannot start a worker process: {0}")]
    Start(std::io::Error),
    /// The order cannot be written as JSON.
    #[error("cannot write an order: {0}")]
    Order(serde_json::Error),
}

/// Starts worker processes. The program is injected so that tests can start their own.
pub struct Workers<'a> {
    /// Makes the command of a worker, without standard streams.
    pub command: &'a dyn Fn() -> Command,
    /// Whether the user asked to stop.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Workers<'_> {
    /// Runs one order to its end, handing over events as they come.
    pub fn run(&self, order: &Order, mut each: impl FnMut(Event)) -> Result<End, SupervisorError> {
        let line = serde_json::to_string(order).map_err(SupervisorError::Order)?;
        let mut child = (self.command)()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SupervisorError::Start)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A worker that died before reading its order is seen below, by its end.
            let _ = writeln!(stdin, "{line}");
        }
        let lines = spawn_reader(&mut child);
        let stderr = spawn_stderr(&mut child);
        let end = self.listen(&mut child, &lines, Duration::from_secs_f64(order.limits.timeout_s), &mut each);
        if end != End::Done {
            let _ = child.kill();
        }
        let status = child.wait();
        let said = stderr.and_then(|t| t.join().ok()).unwrap_or_default();
        Ok(match end {
            End::Died(why) if why.is_empty() => {
                let status = status.map(|s| s.to_string()).unwrap_or_else(|e| e.to_string());
                let said = said.trim();
                End::Died(if said.is_empty() { status } else { format!("{status}: {said}") })
            }
            other => other,
        })
    }

    fn listen(
        &self,
        child: &mut Child,
        lines: &Receiver<Result<Event, String>>,
        timeout: Duration,
        each: &mut impl FnMut(Event),
    ) -> End {
        let mut heard = Instant::now();
        loop {
            match lines.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(Event::Done)) => return End::Done,
                Ok(Ok(event)) => {
                    heard = Instant::now();
                    each(event);
                }
                Ok(Err(garbage)) => return End::Died(garbage),
                Err(RecvTimeoutError::Disconnected) => return End::Died(String::new()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if (self.interrupted)() {
                let _ = child.kill();
                return End::Interrupted;
            }
            if heard.elapsed() > timeout {
                return End::Silent;
            }
        }
    }
}

fn spawn_reader(child: &mut Child) -> Receiver<Result<Event, String>> {
    let (send, receive) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if line.last() != Some(&b'\n') => return,
                    Ok(_) => {}
                }
                let event = serde_json::from_slice::<Event>(&line).map_err(|e| {
                    let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
                    format!("said something that is no event ({e}): {}", start.trim_end())
                });
                let garbage = event.is_err();
                if send.send(event).is_err() || garbage {
                    return;
                }
            }
        });
    }
    receive
}

fn spawn_stderr(child: &mut Child) -> Option<std::thread::JoinHandle<String>> {
    let mut stderr = child.stderr.take()?;
    Some(std::thread::spawn(move || {
        let mut kept: Vec<u8> = Vec::new();
        let mut buffer = [0u8; 4096];
        while let Ok(n) = stderr.read(&mut buffer) {
            if n == 0 {
                break;
            }
            kept.extend_from_slice(&buffer[..n]);
            let excess = kept.len().saturating_sub(KEPT_STDERR);
            kept.drain(..excess);
        }
        String::from_utf8_lossy(&kept).into_owned()
    }))
}
