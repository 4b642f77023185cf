//! How does one worker process get its request, and what became of it?

use crate::protocol::{Event, Request};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Longest line taken from a worker: a cell with a million repetitions fits many times.
const LONGEST_LINE: u64 = 256 << 20;
/// How much of a worker's standard error is kept for reasons.
const KEPT_STDERR: usize = 4096;
/// How long a worker that said its last word may take to end; a driver can hang while it is torn down.
const LAST_WORD: Duration = Duration::from_secs(10);
/// How long the end of standard error is waited for: a grandchild may hold it open.
const STDERR_END: Duration = Duration::from_secs(1);

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It said that it was done.
    Done,
    /// It died: how, with the last lines of its standard error.
    Died(String),
    /// It said nothing for longer than the limit and was killed.
    Silent,
    /// It said that the device stopped answering while a cell ran.
    DeviceLost {
        /// Index of the cell in the job.
        cell: usize,
        /// What the backend said.
        reason: String,
    },
    /// The user interrupted; it was killed.
    Interrupted,
}

/// A worker that cannot be started or spoken to.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// The program does not start.
    #[error("cannot start a worker process: {0}")]
    Start(std::io::Error),
    /// The request cannot be written as JSON.
    #[error("cannot write a request: {0}")]
    Request(serde_json::Error),
}

/// Starts worker processes. The program is injected so that tests can start their own.
pub struct Workers<'a> {
    /// Makes the command of a worker, without standard streams.
    pub command: &'a dyn Fn() -> Command,
    /// Whether the user asked to stop.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Workers<'_> {
    /// Runs one request to its end, handing over events as they come.
    ///
    /// The worker's standard input stays open while it may work: its end tells a worker that nobody listens any more.
    pub fn run(&self, request: &Request, mut each: impl FnMut(Event)) -> Result<End, SupervisorError> {
        let line = serde_json::to_string(request).map_err(SupervisorError::Request)?;
        let killed_before = kills_for_memory();
        let mut child = (self.command)()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SupervisorError::Start)?;
        let stdin = child.stdin.take().map(|stdin| spawn_writer(stdin, line));
        let lines = spawn_reader(&mut child);
        let stderr = spawn_stderr(&mut child);
        let end = self.listen(&mut child, &lines, Duration::from_secs_f64(request.limits.timeout_s), &mut each);
        drop(stdin);
        let status = match end {
            End::Done | End::DeviceLost { .. } => wait_for(&mut child, LAST_WORD),
            _ => {
                // What crashed has a status of its own; what hangs is killed.
                if !matches!(end, End::Died(_)) {
                    let _ = child.kill();
                }
                wait_for(&mut child, LAST_WORD)
            }
        };
        Ok(match end {
            End::Died(why) if why.is_empty() => {
                let said = stderr.and_then(|s| s.recv_timeout(STDERR_END).ok()).unwrap_or_default();
                let starved = status.is_some_and(was_killed) && kills_for_memory() > killed_before;
                let status = match status {
                    Some(status) if starved => format!("out of memory, so the system killed it ({status})"),
                    Some(status) => status.to_string(),
                    None => "ended in an unknown way".into(),
                };
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
                Ok(Ok(Event::DeviceLost { cell, reason })) => return End::DeviceLost { cell, reason },
                Ok(Ok(event)) => {
                    heard = Instant::now();
                    each(event);
                }
                Ok(Err(garbage)) => {
                    let _ = child.kill();
                    return End::Died(garbage);
                }
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

/// Whether a process was killed by somebody who leaves no choice.
#[cfg(unix)]
fn was_killed(status: ExitStatus) -> bool {
    const SIGKILL: i32 = 9;
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGKILL)
}

#[cfg(not(unix))]
fn was_killed(_status: ExitStatus) -> bool {
    false
}

/// Processes that the kernel killed since it booted because memory ran out (Linux 4.13 and later). A process that was
/// killed while this rose was most likely one of them; nobody else tells.
fn kills_for_memory() -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/vmstat").ok()?;
    counters.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse().ok()
}

/// Waits for a process that is about to end, and kills it when it does not.
fn wait_for(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let begun = Instant::now();
    while begun.elapsed() < patience {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Err(_) => return None,
        }
    }
    let _ = child.kill();
    child.wait().ok()
}

/// Writes the request beside the listener, so that a worker that never reads cannot block it. Dropping what comes back
/// closes the pipe.
fn spawn_writer(mut stdin: ChildStdin, line: String) -> std::sync::mpsc::Sender<()> {
    let (hold, held) = channel::<()>();
    std::thread::spawn(move || {
        // A worker that died before reading its request is seen by its end.
        let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        let _ = held.recv();
    });
    hold
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

fn spawn_stderr(child: &mut Child) -> Option<Receiver<String>> {
    let mut stderr = child.stderr.take()?;
    let (send, receive) = channel();
    std::thread::spawn(move || {
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
        let _ = send.send(String::from_utf8_lossy(&kept).into_owned());
    });
    Some(receive)
}
