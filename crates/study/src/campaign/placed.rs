//! How does a campaign find out which placements of operands a device takes?

use super::{Campaign, CampaignError, Ended, may_take_part};
use crate::deaths::{culprit_row, no_result};
use crate::protocol::{Job, SOLO, Stage};
use crate::resume;
use crate::supervisor::End;
use rigel_ledger::block_name;
use rigel_ledger::rows::{CellRow, Identity};

impl Campaign<'_> {
    /// The placed products that take part in a block; those that do not get their rows here.
    ///
    /// All are tried one after the other in one process, and what is left of them in a fresh one behind each that ended it: an address that
    /// a kernel does not take usually ends it. That such a process came as far as to run a kernel shows that the device answers.
    pub(super) fn placements(
        &mut self,
        id: &str,
        cells: &[Identity],
    ) -> Result<Result<Vec<Identity>, Ended>, CampaignError> {
        let (mut ready, mut left) = (Vec::new(), Vec::new());
        for cell in cells {
            let rows = self.writer.cells();
            if resume::left_out(rows, id, cell).is_some() {
                continue;
            }
            if resume::tile(rows, id, cell).is_some() { &mut ready } else { &mut left }.push(cell.clone());
        }
        while !left.is_empty() {
            if (self.stop_soon)() {
                return Ok(Err(Ended::Interrupted));
            }
            self.observer.piece(&format!("{id} pilot of {}", left.len()));
            let mut attempt = self.attempt(SOLO, Job::Climb(left.clone()))?;
            let mut done = vec![false; left.len()];
            for measured in std::mem::take(&mut attempt.measured) {
                let Some(cell) = left.get(measured.cell) else { continue };
                done[measured.cell] = true;
                if may_take_part(&measured.row) {
                    ready.push(cell.clone());
                } else {
                    let row = CellRow { process: 0, ..measured.row.clone() };
                    self.append_measured(&block_name::left_out(id), vec![measured])?;
                    self.leave_out(id, row)?;
                }
            }
            match attempt.end {
                End::Interrupted => return Ok(Err(Ended::Interrupted)),
                End::Done => {
                    for cell in left.iter().zip(&done).filter(|(_, done)| !**done).map(|(cell, _)| cell) {
                        self.leave_out(id, no_result(cell, 0))?;
                    }
                    break;
                }
                End::Died(_) | End::Silent | End::DeviceLost { .. } => {
                    let culprit = attempt.culprit().min(left.len() - 1);
                    if !done[culprit] {
                        let row = culprit_row(&left[culprit], 0, &attempt.end, attempt.last, &self.plan.limits);
                        self.leave_out(id, row)?;
                        done[culprit] = true;
                    }
                    let ran = attempt.last.is_some_and(|(_, stage)| matches!(stage, Stage::Gate | Stage::Judge));
                    if !ran && !self.healthy()? {
                        return Ok(Err(Ended::DeviceLost));
                    }
                }
            }
            let mut said = done.into_iter();
            left.retain(|_| !said.next().unwrap_or(true));
        }
        ready.sort_by_key(|cell| cells.iter().position(|other| other == cell));
        Ok(Ok(ready))
    }
}
