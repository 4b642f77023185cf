//! What are the independent pieces of a campaign: climbs and blocks?

use rigel_device::{Device, Offer};
use rigel_ledger::Plan;
use rigel_ledger::rows::{Identity, Probe, name_of};
use rigel_numerics::Triple;

/// A piece of a campaign that runs whole on one device, in its own worker processes.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The ladder of one path and triple, alone in a process.
    Climb {
        /// Rung cells, smallest first.
        cells: Vec<Identity>,
    },
    /// An offer that cannot be tried here: a row with the reason, and no process.
    Absent {
        /// The cell that stands for it.
        cell: Identity,
        /// Why.
        reason: String,
    },
    /// Cells that are compared with each other, interleaved, repeated in fresh processes.
    Block {
        /// Block id.
        id: String,
        /// Cells; products get their launch tile from a pilot.
        cells: Vec<Identity>,
    },
    /// One question about one matrix instruction or conversion, alone in a process.
    Instruction {
        /// The cell: its probe says what is asked, its tile names the unit.
        cell: Identity,
    },
    /// Meters read at idle and under one steady load a path. It leaves readings and no cell rows.
    Meters {
        /// The cells that are the loads; products have the launch tile with which they were measured.
        cells: Vec<Identity>,
        /// Length of each window, s.
        window_s: f64,
        /// Whether operations are counted beside the meters, and the meters' update periods are measured.
        energy: bool,
    },
}

/// What probes expand from.
pub struct Expansion<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The device, for tiles and variants; nothing is run.
    pub device: &'a dyn Device,
    /// Offers that the plan and the filter select.
    pub offers: Vec<Offer>,
}

impl<'a> Expansion<'a> {
    /// Selects the offers of `device` by the plan's `select`.
    pub fn new(plan: &'a Plan, device: &'a dyn Device) -> Self {
        let selected = |o: &Offer| {
            let (paths, triples) = (&plan.select.paths, &plan.select.triples);
            (paths.is_empty() || paths.contains(&o.path))
                && (triples.is_empty() || triples.contains(&o.triple))
                && crate::select::keeps(&plan.select.filter, &o.path, o.triple)
        };
        let offers = device.offers().into_iter().filter(selected).collect();
        Expansion { plan, device, offers }
    }

    /// Whether the plan and the filter select something of this path, triple and name.
    pub fn selects(&self, path: &str, triple: Triple, name: &str) -> bool {
        let select = &self.plan.select;
        (select.paths.is_empty() || select.paths.iter().any(|known| known == path))
            && (select.triples.is_empty() || select.triples.contains(&triple))
            && crate::select::keeps(&select.filter, &format!("{path} {name}"), triple)
    }

    /// The offers that can be tried here.
    pub fn present(&self) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(|o| o.absent.is_empty())
    }

    /// Every piece of the plan's probes, in order. The order decides partitions, so it depends on plan and device only.
    pub fn pieces(&self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        for entry in crate::probes::PROBES {
            if self.plan.probes.contains(&entry.probe) {
                pieces.extend((entry.pieces)(self));
            }
        }
        pieces
    }
}

impl Piece {
    /// Cell rows that this piece will leave at least, over all processes.
    pub fn rows(&self, processes: u32) -> usize {
        match self {
            Piece::Climb { cells } => cells.len(),
            Piece::Absent { .. } | Piece::Instruction { .. } => 1,
            Piece::Meters { .. } => 0,
            Piece::Block { cells, .. } => cells.len() * processes as usize,
        }
    }

    /// Its cells.
    pub fn cells(&self) -> &[Identity] {
        match self {
            Piece::Climb { cells } | Piece::Block { cells, .. } | Piece::Meters { cells, .. } => cells,
            Piece::Absent { cell, .. } | Piece::Instruction { cell } => std::slice::from_ref(cell),
        }
    }

    /// A name for progress and for the column `block`.
    pub fn name(&self) -> String {
        match self {
            Piece::Block { id, .. } => id.clone(),
            Piece::Climb { cells } => match cells.first() {
                Some(c) => climb_block(&c.path, c.triple),
                None => "ladder".into(),
            },
            Piece::Meters { .. } => "meters".into(),
            Piece::Instruction { cell } => format!("{}/{}/{}", name_of(&cell.probe), cell.path, cell.tile),
            Piece::Absent { cell, .. } => climb_block(&cell.path, cell.triple),
        }
    }
}

/// The block id of a path's and triple's ladder.
pub fn climb_block(path: &str, triple: Triple) -> String {
    format!("ladder/{path}/{triple}")
}

/// The probes a plan may name today.
pub fn offered_probes() -> Vec<Probe> {
    crate::probes::PROBES.iter().map(|entry| entry.probe).collect()
}
