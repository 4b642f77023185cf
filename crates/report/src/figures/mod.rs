//! Which figures does a run have?

mod addresses;
mod distribution;
mod error;
mod gains;
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

/// Every figure of a run's products, in the order of a page. A figure without data says what is missing, but those of meters and of
/// gains are left out where none was read; a plan that times no product alone has none of these.
pub(crate) fn drawings(reading: &Reading<'_>) -> Vec<Drawing> {
    let mut drawings = Vec::new();
    if reading.source.asks_products() {
        drawings.extend([
            throughput::drawing(reading),
            distribution::drawing(reading),
            ratios::drawing(reading),
            ladder::drawing(reading),
            error::drawing(reading),
        ]);
    }
    drawings.extend(power::drawing(reading));
    drawings.extend(gains::drawing(reading));
    drawings.extend(addresses::drawing(reading));
    drawings
}
