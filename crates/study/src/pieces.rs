//! What are the independent pieces of a campaign: climbs and blocks?

use rigel_device::{Device, Offer};
use rigel_ledger::rows::{Identity, Probe, Work};
use rigel_ledger::{Plan, block_name};
use rigel_numerics::Triple;

/// A piece of a campaign that runs whole on one device, in its own worker processes.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The ladder of one path and triple, or its products by every toolchain, alone in a process.
    Climb {
        /// Rung cells, smallest first, or one a toolchain.
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
    /// One question about one matrix instruction or conversion, or about the order of one path's sums, alone in a process.
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
    /// Offers beside these without which verdicts about them would have no match or no baseline; see [`crate::rivals`].
    pub rivals: Vec<Offer>,
}

impl<'a> Expansion<'a> {
    /// Selects the offers of `device` by the plan's `select`.
    pub fn new(plan: &'a Plan, device: &'a dyn Device) -> Self {
        let all = device.offers();
        let selected = |o: &&Offer| plan.select.takes(&o.path, o.triple, "");
        let offers: Vec<Offer> = all.iter().filter(selected).cloned().collect();
        let rivals = crate::rivals::rivals(plan, &all);
        Expansion { plan, device, offers, rivals }
    }

    /// Whether the plan and the filter select something of this path, triple and name.
    pub fn selects(&self, path: &str, triple: Triple, name: &str) -> bool {
        self.plan.select.takes(path, triple, name)
    }

    /// The selected offers that can be tried here.
    pub fn present(&self) -> impl Iterator<Item = &Offer> {
        self.offers.iter().filter(|offer| offer.absent.is_empty())
    }

    /// The offers that can be timed here, in the order of the device: the selected ones, and their rivals where verdicts are asked.
    pub fn timed(&self) -> Vec<&Offer> {
        let all = self.device.offers();
        let place = |offer: &Offer| all.iter().position(|o| (&o.path, o.triple) == (&offer.path, offer.triple));
        let mut timed: Vec<&Offer> = self.offers.iter().chain(&self.rivals).filter(|o| o.absent.is_empty()).collect();
        timed.sort_by_key(|offer| place(offer));
        timed
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
                Some(c) if c.work == Work::Version => block_name::versions(&c.path, c.triple),
                Some(c) => block_name::ladder(&c.path, c.triple),
                None => "ladder".into(),
            },
            Piece::Meters { .. } => block_name::METERS.into(),
            Piece::Instruction { cell: Identity { probe: Probe::Order, path, triple, shape: Some(shape), .. } } => {
                block_name::order(path, *triple, *shape)
            }
            Piece::Instruction { cell } => block_name::instruction(cell.probe, &cell.path, &cell.tile),
            Piece::Absent { cell, .. } => block_name::ladder(&cell.path, cell.triple),
        }
    }
}

/// The probes a plan may name today.
pub fn offered_probes() -> Vec<Probe> {
    crate::probes::PROBES.iter().map(|entry| entry.probe).collect()
}
