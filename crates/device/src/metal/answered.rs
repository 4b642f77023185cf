//! What does a program answer, if it answers at all before a time is up?
//!
//! A program that is asked for its version, or for one small library, may hang: a licence to be accepted, a network drive, a wrapper
//! that waits for input. Nothing may wait for it for ever.

use std::io::{Error, ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How a program ended, and what it wrote.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// How often it is looked whether a program has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// What a program writes without any input, if it ends within `limit`; else it is killed.
///
/// # Errors
/// That it does not start; [`ErrorKind::TimedOut`]: that it was killed.
pub fn answer(command: &mut Command, limit: Duration) -> Result<Answer, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = super::software::child::ending_with_parent(command).spawn()?;
    let begun = Instant::now();
    // Whoever inherited a pipe may hold it open when the program has ended, so neither is read to its end here.
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let late = |words: String| Error::new(ErrorKind::TimedOut, words);
    let left = || limit.saturating_sub(begun.elapsed());
    let silent = |child: &mut Child| {
        let _ = child.kill();
        let _ = child.wait();
        late(format!("{name} has not ended within {} s and was killed", limit.as_secs_f64()))
    };
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if left().is_zero() => return Err(silent(&mut child)),
            Ok(None) => std::thread::sleep(PAUSE.min(left())),
            Err(e) => return Err(e),
        }
    };
    let text = |from: Receiver<String>| from.recv_timeout(left().max(PAUSE));
    match (text(stdout), text(stderr)) {
        (Ok(stdout), Ok(stderr)) => Ok(Answer { status, stdout, stderr }),
        _ => Err(late(format!("{name} ended, and what it wrote did not within {} s", limit.as_secs_f64()))),
    }
}

/// All that a pipe gives, from a thread of its own.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before a pipe broke is still what the program wrote.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        let _ = send.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receive
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Answer, Error> {
        answer(Command::new("/bin/sh").args(["-c", script]), limit)
    }

    #[test]
    fn what_a_program_writes_comes_back_whole_with_its_status() {
        let long = Duration::from_secs(60);
        let said = shell("echo one; echo two >&2; exit 3", long).unwrap();
        assert_eq!((said.stdout.as_str(), said.stderr.as_str(), said.status.code()), ("one\n", "two\n", Some(3)));
        // More than a pipe holds.
        let said = shell("head -c 300000 /dev/zero | tr '\\0' x", long).unwrap();
        assert_eq!(said.stdout.len(), 300_000);
        assert_eq!(answer(&mut Command::new("/no/such/program"), long).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_program_that_hangs_is_killed_and_one_that_leaves_its_pipe_to_another_is_not_waited_for() {
        let short = Duration::from_millis(300);
        let hung = shell("exec sleep 86397", short).unwrap_err().to_string();
        assert!(hung.contains("has not ended within 0.3 s and was killed"), "{hung}");
        // The pipe is held open by what it started; that ends by itself.
        let left = shell("sleep 3 & exit 0", short).unwrap_err().to_string();
        assert!(left.contains("what it wrote did not"), "{left}");
        assert!(shell("cat", Duration::from_secs(60)).unwrap().status.success(), "there is no input to wait for");
    }
}
