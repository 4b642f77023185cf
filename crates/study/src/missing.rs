//! Which cells of a plan have no row, process by process?

use crate::pieces::Piece;
use rigel_ledger::CellRow;
use rigel_ledger::rows::Identity;
use std::collections::HashSet;

/// Cells that should have rows, and those that have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Rows that the pieces leave when every cell has its row in every process.
    pub rows: usize,
    /// Cells without a row, by process; a climb has process 0 alone.
    pub by_process: Vec<usize>,
    /// Pieces of which at least one row is missing, in order.
    pub pieces: Vec<String>,
}

impl Missing {
    /// Rows that are missing over all processes.
    pub fn total(&self) -> usize {
        self.by_process.iter().sum()
    }
}

/// Counts what is missing of pieces. The launch tile of a product is the pilot's choice, so any tile counts.
pub fn missing(pieces: &[Piece], rows: &[CellRow], processes: u32) -> Missing {
    let key = |identity: &Identity| {
        let mut identity = identity.clone();
        if identity.work.is_product() && !identity.work.names_its_tile() {
            identity.tile.clear();
        }
        identity
    };
    let there: HashSet<(Identity, u32)> = rows.iter().map(|row| (key(&row.identity()), row.process)).collect();
    let mut found = Missing { rows: 0, by_process: vec![0; processes.max(1) as usize], pieces: Vec::new() };
    for piece in pieces {
        let last = match piece {
            Piece::Block { .. } => processes,
            Piece::Climb { .. } | Piece::Absent { .. } | Piece::Instruction { .. } => 1,
            // Meters leave readings, and rows only where they failed.
            Piece::Meters { .. } => 0,
        };
        found.rows += piece.rows(processes);
        let before = found.total();
        for process in 0..last {
            let absent = piece.cells().iter().filter(|cell| !there.contains(&(key(cell), process))).count();
            found.by_process[process as usize] += absent;
        }
        if found.total() > before {
            found.pieces.push(piece.name());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pieces::Expansion;
    use crate::presets::preset;

    #[test]
    fn every_row_that_is_taken_away_is_missed_in_its_process() {
        let device = rigel_device::backends::open("sim:plain").unwrap();
        let plan = preset("quick", "sim").unwrap();
        let pieces = Expansion::new(&plan, device.as_ref()).pieces();
        let processes = plan.sampling.processes;
        let mut rows = Vec::new();
        for piece in &pieces {
            let last = match piece {
                Piece::Block { .. } => processes,
                Piece::Meters { .. } => 0,
                _ => 1,
            };
            let of = |cell: &Identity, process| {
                let tile = if cell.work.is_product() { "chosen".to_owned() } else { cell.tile.clone() };
                CellRow::blank(&Identity { tile, ..cell.clone() }, process)
            };
            rows.extend((0..last).flat_map(|p| piece.cells().iter().map(move |cell| of(cell, p))));
        }
        let whole = missing(&pieces, &rows, processes);
        assert_eq!((whole.total(), whole.rows, whole.pieces.len()), (0, rows.len(), 0));
        let last = rows.iter().rposition(|row| row.process == 2).unwrap();
        rows.remove(last);
        let one = missing(&pieces, &rows, processes);
        assert_eq!((one.total(), one.by_process[2], one.pieces.len()), (1, 1, 1));
        let none = missing(&pieces, &[], processes);
        assert_eq!(none.total(), none.rows);
    }
}
