//! Which axes does a row have, apart from its launch tile?

use crate::rows::{CacheState, CellRow, Probe, Work};
use rigel_numerics::{Recipe, Shape, Triple};

/// The axes of a row without the launch tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key<'a> {
    pub(crate) probe: Probe,
    pub(crate) work: Work,
    pub(crate) path: &'a str,
    pub(crate) triple: Triple,
    pub(crate) shape: Option<Shape>,
    pub(crate) recipe: Option<Recipe>,
    /// Of products only.
    pub(crate) cache: Option<CacheState>,
}

impl<'a> Key<'a> {
    pub(crate) fn of(row: &'a CellRow) -> Self {
        let cache = row.work.is_product().then_some(row.cache);
        Key {
            probe: row.probe,
            work: row.work,
            path: &row.path,
            triple: row.triple,
            shape: row.shape,
            recipe: row.recipe,
            cache,
        }
    }
}
