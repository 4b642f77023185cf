//! What does the unit do with zeros, with ones, and twice with the same?

use super::ask::{Answer, Asker, Fill, Launch};
use super::error::Unrecovered;
use rigel_numerics::layout::FragmentOperand::{A, B, C};

/// What was seen at first.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    /// Which registers of D answer ones otherwise than zeros.
    pub used: Vec<bool>,
}

/// # Errors
/// `Unsteady`, `Silent`, `Zeros`, `Ones`.
pub(super) fn look(asker: &mut Asker<'_>) -> Result<Sight, Unrecovered> {
    let dense = Launch { a: asker.random_bits(A, 2), b: asker.random_bits(B, 2), c: asker.random_bits(C, 2) };
    let zeros = Launch::product(Fill::All(0), Fill::All(0));
    let ones = Launch::product(Fill::All(1), Fill::All(1));
    let batch = [zeros.clone(), dense.clone(), ones.clone(), dense.clone(), ones, zeros, dense];
    let answers = asker.ask(&batch)?;
    let used: Vec<bool> = answers[0].iter().zip(&answers[2]).map(|(zero, one)| !same(*zero, *one)).collect();
    let places: Vec<usize> = (0..used.len()).filter(|&i| used[i]).collect();
    let Some(&first) = places.first() else {
        return Err(Unrecovered::Silent);
    };
    for (one, other) in [(1, 3), (1, 6), (2, 4), (0, 5)] {
        unchanged(asker, &used, &answers[one], &answers[other])?;
    }
    for &i in &places {
        let (lane, slot) = asker.place(C, i);
        if answers[0][i] != 0.0 {
            return Err(Unrecovered::Zeros { lane, slot, seen: answers[0][i] });
        }
        if !same(answers[2][i], answers[2][first]) {
            let against = asker.place(C, first);
            return Err(Unrecovered::Ones { lane, slot, seen: answers[2][i], against, other: answers[2][first] });
        }
    }
    Ok(Sight { used })
}

/// Asks one dense launch many times: whether the unit is deterministic at all.
///
/// # Errors
/// `Unsteady` with the first register that changed.
pub(super) fn steady(asker: &mut Asker<'_>, used: &[bool], times: usize) -> Result<(), Unrecovered> {
    let dense = Launch { a: asker.random_bits(A, 2), b: asker.random_bits(B, 2), c: asker.random_bits(C, 2) };
    let answers = asker.ask(&vec![dense; times])?;
    answers.iter().skip(1).try_for_each(|answer| unchanged(asker, used, &answers[0], answer))
}

fn unchanged(asker: &Asker<'_>, used: &[bool], one: &Answer, other: &Answer) -> Result<(), Unrecovered> {
    match (0..used.len()).find(|&i| used[i] && !same(one[i], other[i])) {
        None => Ok(()),
        Some(i) => {
            let (lane, slot) = asker.place(C, i);
            Err(Unrecovered::Unsteady { lane, slot, first: one[i], second: other[i] })
        }
    }
}

/// Equal as bits, so that a NaN equals itself.
pub(super) fn same(one: f64, other: f64) -> bool {
    one.to_bits() == other.to_bits()
}
