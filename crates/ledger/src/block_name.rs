//! What does the name of a block say?
//!
//! | name | rows |
//! | --- | --- |
//! | `ladder/PATH/TRIPLE` | the rungs of a path and triple |
//! | `ceilings` | all ceiling loops |
//! | `meters` | meters that could not be read, and loads under which none was |
//! | `gemm/SHAPE/RECIPE/CACHE` | products that are compared; zeros and constants stand with the first recipe of the plan that is neither |
//! | `fusion/SHAPE` | products of a shape, with every epilogue |
//! | `attention/SHAPE` | attentions of a shape, fused and decomposed |
//! | `alignment/PATH/TRIPLE/SHAPE/TILE` | products by one launch tile whose operands lie at every address |
//! | `versions/PATH/TRIPLE` | products by every toolchain |
//! | `power/SHAPE`, `power/ceilings` | products of a shape, and ceiling loops, that are loads |
//! | `PROBE/PATH/NAME` | a unit or conversion |
//! | `order/PATH/TRIPLE/SHAPE` | the order of the sums of a path's product |
//! | `BLOCK~1`, `BLOCK~2`, … | the block measured again without a cell that killed its process |
//! | `BLOCK!` | cells that were left out of it: refused or killed in their pilot, or such culprits |

use crate::plan::Plan;
use crate::rows::{CacheState, CellRow, Probe, Work, name_of};
use rigel_numerics::placement;
use rigel_numerics::{Recipe, Shape, Triple};

/// The block of all ceiling loops.
pub const CEILINGS: &str = "ceilings";
/// Where meters or their loads that failed have their rows.
pub const METERS: &str = "meters";
/// Behind the name of a block: the rows of cells that were left out of it.
pub const LEFT_OUT: char = '!';

/// The ladder of a path and triple.
pub fn ladder(path: &str, triple: Triple) -> String {
    format!("ladder/{path}/{triple}")
}

/// Products of a shape that start from one recipe and cache state.
pub fn products(shape: Shape, recipe: Recipe, cache: CacheState) -> String {
    format!("gemm/{shape}/{}/{}", recipe.name(), name_of(&cache))
}

/// Products of a shape of a probe that has one block for each.
pub fn of_shape(probe: Probe, shape: Shape) -> String {
    format!("{}/{shape}", name_of(&probe))
}

/// The block of all ceiling loops of a probe.
pub fn ceilings(probe: Probe) -> &'static str {
    if probe == Probe::Power { "power/ceilings" } else { CEILINGS }
}

/// A question about one unit or conversion.
pub fn instruction(probe: Probe, path: &str, name: &str) -> String {
    format!("{}/{path}/{name}", name_of(&probe))
}

/// The order of the sums of a path's product; its launch tile is the device's choice.
pub fn order(path: &str, triple: Triple, shape: Shape) -> String {
    format!("order/{path}/{triple}/{shape}")
}

/// Products by one launch tile, their operands at every address.
pub fn alignment(path: &str, triple: Triple, shape: Shape, tile: &str) -> String {
    format!("alignment/{path}/{triple}/{shape}/{tile}")
}

/// Products of a path and triple by every toolchain.
pub fn versions(path: &str, triple: Triple) -> String {
    format!("versions/{path}/{triple}")
}

/// The name under which cells that were left out of a block have their rows.
pub fn left_out(block: &str) -> String {
    format!("{block}{LEFT_OUT}")
}

/// A name without its `~n`; one of left-out cells keeps its `!` and so is no block's.
pub fn base(name: &str) -> &str {
    split(name).0
}

/// How often a block was measured again under this name.
pub fn times_again(name: &str) -> u32 {
    split(name).1
}

/// The name under which a block is measured again: `~1`, `~2`, … behind its id.
pub fn again(id: &str, current: &str) -> String {
    nth(id, times_again(current) + 1)
}

/// The name of a block that was measured again so often.
pub fn nth(id: &str, times: u32) -> String {
    if times == 0 { id.to_owned() } else { format!("{id}~{times}") }
}

fn split(name: &str) -> (&str, u32) {
    match name.rsplit_once('~') {
        Some((base, n))
            if n.bytes().all(|b| b.is_ascii_digit()) && !n.starts_with('0') && (1..=9).contains(&n.len()) =>
        {
            (base, n.parse().unwrap_or(0))
        }
        _ => (name, 0),
    }
}

/// The recipe in the name of a product's block: its own or, of zeros and constants, the first that can fail its gate.
pub fn first_recipe(plan: &Plan, own: Recipe) -> Recipe {
    let seeing = || plan.throughput.recipes.iter().copied().find(|recipe| !recipe.is_blind());
    if own.is_blind() { seeing().unwrap_or(own) } else { own }
}

/// The block that a plan has for a row: its name there is this, or this with `~n` or `!` behind it.
pub fn of_row(plan: &Plan, row: &CellRow) -> Option<String> {
    Some(match row.work {
        work if work.is_product() && matches!(row.probe, Probe::Fusion | Probe::Attention | Probe::Power) => {
            of_shape(row.probe, row.shape?)
        }
        Work::Placed => alignment(&row.path, row.triple, row.shape?, placement::split(&row.tile)?.0),
        Work::Version => versions(&row.path, row.triple),
        Work::Rung => ladder(&row.path, row.triple),
        Work::Ceiling => ceilings(row.probe).to_owned(),
        Work::Meter => METERS.to_owned(),
        Work::Unit | Work::Conversion => instruction(row.probe, &row.path, &row.tile),
        Work::Product => order(&row.path, row.triple, row.shape?),
        _ => products(row.shape?, first_recipe(plan, row.recipe?), row.cache),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_blocks_are_numbered_and_keep_their_base() {
        let first = again("gemm/64x64x64", "gemm/64x64x64");
        assert_eq!(first, "gemm/64x64x64~1");
        assert_eq!(again("gemm/64x64x64", &first), "gemm/64x64x64~2");
        assert_eq!((base("gemm/64x64x64~2"), times_again("gemm/64x64x64~2")), ("gemm/64x64x64", 2));
        assert_eq!((base(CEILINGS), times_again(CEILINGS)), (CEILINGS, 0));
        assert_eq!(base(&left_out(CEILINGS)), "ceilings!");
        assert_eq!(base("odd~x"), "odd~x");
        for odd in ["a~0", "a~01", "a~", "a~1234567890"] {
            assert_eq!((base(odd), times_again(odd)), (odd, 0));
        }
    }
}
