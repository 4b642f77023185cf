//! Where and how does a software unit deviate from its model?

use super::unit_truth::{PlantedModel, is_default};
use serde::{Deserialize, Serialize};

/// One deviation: of the elements of D that `at` names, the share `rate`, chosen by `by`, suffers `effect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deviation {
    /// Share of the elements, above 0 to 1.
    #[serde(default = "always", skip_serializing_if = "is_always")]
    pub rate: f64,
    /// What chooses them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub by: Chosen,
    /// Which elements can suffer at all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at: Place,
    /// What happens to them (required).
    pub effect: Effect,
}

/// What chooses the elements that deviate. A rate of 1 chooses all that it can.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// The row of A, the column of B, c and their scales: the same inputs deviate wherever and whenever they come.
    #[default]
    Data,
    /// Chance: the same inputs give one result now and another one later.
    Chance,
    /// The operands of the tile before in the batch, and the place in the tile: the first tile of a batch never
    /// deviates.
    Neighbour,
}

/// Which elements of D a deviation is confined to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// All of them.
    #[default]
    Everywhere,
    /// Those in the registers of one lane; for tiles, those whose first holder it is.
    Lane(usize),
    /// One.
    Element {
        /// Its row in the tile.
        row: usize,
        /// Its column.
        column: usize,
    },
}

/// What becomes of an element of D.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Effect {
    /// One bit of its code is turned.
    Flip {
        /// Which, 0 being the lowest.
        bit: u32,
    },
    /// Its lowest bits are looked up in a table, as long as its code is finite: no model of steps does that.
    LowBits {
        /// 2, 4, … 256 entries below their number, not all in their own place.
        table: Vec<u64>,
    },
    /// Another model computes it.
    Model(PlantedModel),
    /// Products from index `k` on are added by another model, whose c is what the first one leaves.
    Beyond {
        /// Products that the unit's own model adds, at least 1 and fewer than all.
        k: usize,
        /// The other model.
        model: PlantedModel,
    },
}

impl Deviation {
    /// Whether a word, uniform over what the deviation may hit, falls into its share.
    pub(super) fn hits(&self, word: u64) -> bool {
        // Words have 53 bits that count, so that a rate of 1 hits always and one of 2^-53 can.
        ((word >> 11) as f64) < self.rate * (1u64 << 53) as f64
    }

    /// The models that the effect names.
    pub(super) fn model_mut(&mut self) -> Option<(&'static str, &mut PlantedModel)> {
        match &mut self.effect {
            Effect::Model(model) => Some(("effect.model", model)),
            Effect::Beyond { model, .. } => Some(("effect.beyond.model", model)),
            Effect::Flip { .. } | Effect::LowBits { .. } => None,
        }
    }
}

fn always() -> f64 {
    1.0
}

fn is_always(rate: &f64) -> bool {
    *rate == 1.0
}
