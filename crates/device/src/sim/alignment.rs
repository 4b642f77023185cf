//! What does a planted device demand of the addresses of its operands, and what do those cost that it only takes?

use super::fault::{Effect, PlantedFault};
use rigel_numerics::Matrix;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Shape, Triple};
use serde::{Deserialize, Serialize};

/// A rule of addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedAlignment {
    /// Offsets and distances between rows that are no multiple of so many bytes are not taken.
    pub demands: usize,
    /// How that shows.
    pub shows: Effect,
    /// Those that are no multiple of so many bytes take longer.
    #[serde(default = "one")]
    pub prefers: usize,
    /// Distances that are a multiple of so many bytes take longer too; 0 = none.
    #[serde(default)]
    pub aliases: usize,
    /// By this factor.
    #[serde(default = "unchanged")]
    pub factor: f64,
}

fn one() -> usize {
    1
}

fn unchanged() -> f64 {
    1.0
}

impl PlantedAlignment {
    /// Bytes from row to row of both operands.
    fn distances(triple: Triple, shape: Shape, placement: Placement) -> [usize; 2] {
        [(triple.a, shape.k), (triple.b, shape.n)]
            .map(|(format, columns)| placement.stride.bytes(Matrix::row_bytes(format, columns)))
    }

    /// The fault of a placement that is not taken.
    pub fn fault(&self, triple: Triple, shape: Shape, placement: Placement) -> Option<PlantedFault> {
        let distances = PlantedAlignment::distances(triple, shape, placement);
        let taken = [placement.offset].into_iter().chain(distances).all(|bytes| bytes.is_multiple_of(self.demands));
        let effect = || self.shows.clone();
        (!taken).then(|| PlantedFault {
            path: None,
            triple: None,
            shape: None,
            tile: None,
            process: None,
            after: 0,
            effect: effect(),
        })
    }

    /// What the time of a placement is multiplied by.
    pub fn factor(&self, triple: Triple, shape: Shape, placement: Placement) -> f64 {
        let distances = PlantedAlignment::distances(triple, shape, placement);
        let mut numbers = [placement.offset].into_iter().chain(distances);
        let odd = numbers.any(|bytes| !bytes.is_multiple_of(self.prefers));
        let aliased = self.aliases > 0 && distances.iter().any(|bytes| bytes.is_multiple_of(self.aliases));
        if odd || aliased { self.factor } else { 1.0 }
    }
}
