//! Which exit code does what happened get? Schedulers branch on them.

use std::fmt;

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: every cell asked for has a row; every check said yes.
    Fine,
    /// 1: a check said no (`verify`, `compare`, `calibrate`, `--fail-on`).
    CheckFailed,
    /// 2: wrong usage or unreadable input. Do not retry.
    Usage,
    /// 3: no such device. Do not retry.
    NoDevice,
    /// 4: nothing was selected. Do not retry.
    NothingSelected,
    /// 5: some cells have no row; resuming may finish. Retry.
    Unfinished,
    /// 75: the device is busy, or another process writes the run. Retry later.
    Busy,
    /// 130: interrupted. Resume.
    Interrupted,
}

impl Exit {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Fine => 0,
            Exit::CheckFailed => 1,
            Exit::Usage => 2,
            Exit::NoDevice => 3,
            Exit::NothingSelected => 4,
            Exit::Unfinished => 5,
            Exit::Busy => 75,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit.code())
    }
}

/// A message for the user with the code that the process ends with.
#[derive(Debug)]
pub struct Failure {
    /// Code.
    pub exit: Exit,
    /// One message: what, where, what is allowed, what to do.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// A failure as an error of the binary.
pub fn failure(exit: Exit, message: impl fmt::Display) -> anyhow::Error {
    Failure { exit, message: message.to_string() }.into()
}

/// The code of an error: a [`Failure`]'s own, else unreadable input.
pub fn of(error: &anyhow::Error) -> Exit {
    error.downcast_ref::<Failure>().map_or(Exit::Usage, |f| f.exit)
}

/// The chain of an error in one line.
pub fn message(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}
