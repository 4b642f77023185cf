//! Which figures does a run have?

mod distribution;
mod error;
mod ladder;
mod lane_colour;
pub(crate) mod layout;
mod pooled;
mod power;
mod ratios;
mod rows;
mod throughput;

use crate::figure::Drawing;
use crate::reading::Reading;

/// Every figure of a run's products, in the order of a page. A figure without data says what is missing, but that of meters is
/// left out where none was read; a plan that asks
/// single units alone has none of these.
pub(crate) fn drawings(reading: &Reading<'_>) -> Vec<Drawing> {
    if !reading.source.asks_products() {
        return Vec::new();
    }
    let mut drawings = vec![
        throughput::drawing(reading),
        distribution::drawing(reading),
        ratios::drawing(reading),
        ladder::drawing(reading),
        error::drawing(reading),
    ];
    drawings.extend(power::drawing(reading));
    drawings
}
