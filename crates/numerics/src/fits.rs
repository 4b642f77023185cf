//! Does every dot product of a recipe stay inside the range of the types that hold it?

use crate::recipe::{Ladder, RecipeError};
use crate::{Recipe, Triple};

/// A bound on Σ|a||b| that no dot product of `k` terms exceeds.
///
/// It is the worst case over all seeds, not a likely value: for `near-normal` it is 9·k, some 14 times the mean.
pub fn max_sum(recipe: Recipe, triple: Triple, k: usize) -> f64 {
    let terms = k as f64;
    match (recipe, Ladder::of(triple.a)) {
        // One large term and k − 1 of at most half its size, times at most 2.
        (Recipe::HostileLadder, Some(ladder)) => ladder.large() * (terms + 1.0),
        _ => terms * recipe.max_magnitude(triple.a) * recipe.max_magnitude(triple.b),
    }
}

/// Whether a gate may use a recipe for a triple and K: Σ|a||b| stays inside the finite range of the output and of
/// the declared accumulate type for every seed, so that no partial sum in any order can overflow.
///
/// Integer triples always fit: they are compared modulo their declared width. (Hardware that saturates where the
/// width is exceeded will then come out wrong; keep K small enough where that is not the question.)
///
/// # Errors
/// [`RecipeError::Unsupported`] for an operand format that the recipe has not, [`RecipeError::OutOfRange`] otherwise.
pub fn fits(recipe: Recipe, triple: Triple, k: usize) -> Result<(), RecipeError> {
    recipe.supports(triple.a)?;
    recipe.supports(triple.b)?;
    if triple.is_integer() {
        return Ok(());
    }
    let sum = max_sum(recipe, triple, k);
    for format in [triple.c, triple.acc] {
        let limit = format.max_finite();
        if sum > limit {
            return Err(RecipeError::OutOfRange { recipe, k, sum, format, limit });
        }
    }
    Ok(())
}
