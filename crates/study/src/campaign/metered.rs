//! How does a campaign read meters under its loads, and what if they contradict themselves?

use super::{Campaign, CampaignError, Ended};
use crate::deaths::culprit_row;
use crate::meters::row_of;
use crate::protocol::{Job, Measured, MeterReading};
use crate::resume;
use crate::supervisor::End;
use rigel_ledger::block_name;
use rigel_ledger::rows::{CellId, CellRow, Identity, PowerRow};
use rigel_ledger::verify;
use rigel_numerics::Time;

impl Campaign<'_> {
    /// Reads meters under these loads once a run; readings come all at once or not at all. Products that do not count are no
    /// load; those that do have the launch tile with which they were measured.
    pub(super) fn meters(&mut self, cells: &[Identity], window_s: f64, energy: bool) -> Result<Ended, CampaignError> {
        let load = |cell: &Identity| {
            let row = self.writer.cells().iter().find(|row| resume::is_of(cell, row) && row.outcome.counts());
            if cell.work.is_product() { row.map(CellRow::identity) } else { Some(cell.clone()) }
        };
        let cells: Vec<Identity> = cells.iter().filter_map(load).collect();
        let phases: Vec<String> = cells.iter().map(|cell| CellId::of(cell).to_string()).collect();
        if cells.is_empty() || self.writer.power().iter().any(|row| phases.contains(&row.phase)) {
            return Ok(Ended::Complete);
        }
        self.observer.piece("meters");
        let attempt = self.attempt(0, Job::Meters { cells: cells.clone(), window_s, energy })?;
        match &attempt.end {
            End::Done => {
                // Readings of another piece began at 0 as well: these go behind them.
                let last = self.writer.power().iter().map(|row| row.time_ns.0).max();
                let behind = last.map_or(0, |last| last.saturating_add(Time::from_seconds(1.0).0));
                let mut rows: Vec<PowerRow> = attempt.readings.into_iter().map(MeterReading::row).collect();
                rows.iter_mut().for_each(|row| row.time_ns.0 = row.time_ns.0.saturating_add(behind));
                // Whatever a meter says, no run is sealed that could not be verified.
                if let Some(fault) = verify::readings_fault(&rows) {
                    let mut row = CellRow::blank(&row_of(&cells[0], &cells[0].tile), 0);
                    row.reason = format!("the readings of meters contradict themselves: {fault}");
                    self.append_fresh(block_name::METERS, vec![(row, vec![], vec![])])?;
                    return Ok(Ended::Complete);
                }
                self.append_fresh(block_name::METERS, attempt.measured.into_iter().map(Measured::rows).collect())?;
                self.writer.append_power(&rows)?;
                Ok(Ended::Complete)
            }
            End::Interrupted => Ok(Ended::Interrupted),
            end => {
                let culprit = &cells[attempt.culprit().min(cells.len() - 1)];
                let row = culprit_row(&row_of(culprit, &culprit.tile), 0, end, attempt.last, &self.plan.limits);
                self.append_fresh(block_name::METERS, vec![(row, vec![], vec![])])?;
                Ok(if self.healthy()? { Ended::Complete } else { Ended::DeviceLost })
            }
        }
    }
}
