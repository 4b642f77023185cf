//! How does a campaign ask one unit or conversion?

use super::{Campaign, CampaignError, Ended};
use crate::deaths::{culprit_row, no_result};
use crate::protocol::{Job, SOLO};
use crate::supervisor::End;
use rigel_ledger::rows::Identity;

impl Campaign<'_> {
    /// Asks one unit or conversion in a process of its own.
    pub(super) fn instruction(&mut self, name: &str, cell: &Identity) -> Result<Ended, CampaignError> {
        if self.has_row(cell, 0) {
            return Ok(Ended::Complete);
        }
        self.observer.piece(name);
        let validation = self.plan.units.clone().unwrap_or_default().validation;
        let mut attempt = self.attempt(SOLO, Job::Unit { cell: cell.clone(), validation })?;
        if let Some((mut row, record)) = attempt.found.take() {
            (row.device, row.driver) = self.device.clone();
            (row.run, row.block) = (self.run.clone(), name.to_owned());
            let row = self.writer.append_unit(row, record)?;
            self.observer.row(&row);
        } else if !attempt.measured.is_empty() {
            let measured = std::mem::take(&mut attempt.measured);
            self.append_measured(name, measured)?;
        }
        match attempt.end {
            End::Interrupted => Ok(Ended::Interrupted),
            End::Done => {
                if !self.has_row(cell, 0) {
                    self.append_all(name, vec![(no_result(cell, 0), vec![], vec![])])?;
                }
                Ok(Ended::Complete)
            }
            End::Died(_) | End::Silent | End::DeviceLost { .. } => {
                if !self.has_row(cell, 0) {
                    let row = culprit_row(cell, 0, &attempt.end, attempt.last, &self.plan.limits);
                    self.append_all(name, vec![(row, vec![], vec![])])?;
                }
                Ok(if self.healthy()? { Ended::Complete } else { Ended::DeviceLost })
            }
        }
    }
}
