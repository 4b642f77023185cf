//! Which of two NaN in one step comes out?
//!
//! A step that hands on the first NaN it finds shows in which order it looks: of a positive and a negative one the sign of the
//! first comes out. Nothing else tells apart positions that one step adds.

use super::question::{Asker, Question};
use rigel_device::unit::UnitError;

/// Classes of positions, each in the order in which its step looks for NaN; as they were where that cannot be seen.
///
/// # Errors
/// What the unit contract says.
pub(super) fn ordered(asker: &mut Asker<'_>, classes: &[Vec<usize>]) -> Result<Vec<Vec<usize>>, UnitError> {
    let spec = asker.spec().clone();
    let t = spec.triple;
    let mut all = classes.to_vec();
    let Some(positive) = t.a.nan_code().filter(|_| !t.is_integer()) else { return Ok(all) };
    let negative = positive ^ 1 << (t.a.bits() - 1);
    if !t.a.is_nan(negative) || positive == negative {
        return Ok(all);
    }
    for class in &mut all {
        let neighbours: Vec<(usize, usize)> = class.windows(2).map(|pair| (pair[0], pair[1])).collect();
        if later(asker, &neighbours, positive, negative)?.iter().all(|&turned| !turned) {
            continue;
        }
        let pairs: Vec<(usize, usize)> =
            class.iter().enumerate().flat_map(|(n, &i)| class[n + 1..].iter().map(move |&j| (i, j))).collect();
        let turned = later(asker, &pairs, positive, negative)?;
        let mut before = vec![0usize; spec.shape.k];
        for (&(i, j), turned) in pairs.iter().zip(turned) {
            before[if turned { i } else { j }] += 1;
        }
        class.sort_by_key(|&i| before[i]);
    }
    Ok(all)
}

/// For each pair whether the NaN at its second position comes out.
fn later(
    asker: &mut Asker<'_>,
    pairs: &[(usize, usize)],
    positive: u64,
    negative: u64,
) -> Result<Vec<bool>, UnitError> {
    let spec = asker.spec().clone();
    let with = |(i, j): (usize, usize), first: u64, second: u64| {
        let mut question = Question::zero(&spec);
        (question.a[i], question.a[j]) = (first, second);
        question
    };
    let questions: Vec<Question> =
        pairs.iter().flat_map(|&pair| [with(pair, positive, negative), with(pair, negative, positive)]).collect();
    let answers = asker.ask(&questions)?;
    let sign = |code: u64| code >> (spec.triple.c.bits() - 1) & 1 == 1;
    // The first one's sign comes out both times, or the second one's does.
    Ok(answers.chunks(2).map(|pair| sign(pair[0]) && !sign(pair[1])).collect())
}
