//! What goes wrong when a software unit is asked?

use crate::contract::Fault;
use serde::{Deserialize, Serialize};

/// A fault that strikes once a unit was asked so many batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitFault {
    /// Batches that go well before.
    #[serde(default)]
    pub after: u64,
    /// What happens then, and from then on (required).
    pub effect: Breakdown,
}

/// How a unit breaks down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Breakdown {
    /// It aborts the process.
    Crash,
    /// It never answers.
    Hang,
    /// It reports an error, with this text.
    Failed(String),
    /// The device stops answering, with this text.
    DeviceLost(String),
}

impl UnitFault {
    /// Strikes, where `asked` batches were answered.
    ///
    /// # Errors
    /// The fault that is reported; crashes and hangs do not come back.
    pub(super) fn strike(&self, asked: u64) -> Result<(), Fault> {
        if asked < self.after {
            return Ok(());
        }
        match &self.effect {
            Breakdown::Crash => std::process::abort(),
            Breakdown::Hang => loop {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            },
            Breakdown::Failed(text) => Err(Fault::Failed(text.clone())),
            Breakdown::DeviceLost(text) => Err(Fault::DeviceLost(text.clone())),
        }
    }
}
