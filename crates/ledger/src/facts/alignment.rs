//! What does a path demand of the addresses of its operands?
//!
//! Each placement has one word. `refused`: compiler, loader, library or kernel did not take it, in their own words. `wrong`: the gate did not
//! let its product pass. `slow`: its time over that of the aligned placement lies wholly at or above the plan's threshold. `fine`: wholly
//! below. What says neither is `undecided`, with the reason.

use super::Evidence;
use super::cells::{Cell, Index, Product};
use super::compare::compare;
use super::products::Measured;
use super::row::Subject;
use crate::plan::AlignmentAxes;
use crate::rows::{CellId, FactRow, Outcome, Probe, name_of};
use crate::verdict::{Band, Doubt};
use rigel_numerics::Matrix;
use rigel_numerics::placement::{Placement, split};
use std::collections::BTreeMap;

const REFUSED: &str = "refused";
const WRONG: &str = "wrong";
const SLOW: &str = "slow";
const FINE: &str = "fine";
const UNDECIDED: &str = "undecided";

/// Every fact of the probe `alignment`.
pub(super) fn facts<'a>(index: &'a Index<'a>, evidence: &Evidence<'a>) -> Vec<FactRow> {
    let Some(axes) = &evidence.plan.alignment else { return Vec::new() };
    let mut lines: BTreeMap<(Product<'a>, &'a str), BTreeMap<Placement, &'a Cell<'a>>> = BTreeMap::new();
    for (&product, cells) in &index.placed {
        for cell in cells {
            if let Some((tile, placement)) = split(&cell.any.tile) {
                lines.entry((product, tile)).or_default().insert(placement, cell);
            }
        }
    }
    let lines = lines.into_iter();
    lines.flat_map(|((product, tile), cells)| line(product, tile, &cells, axes, evidence)).collect()
}

/// The facts of one product by one launch tile.
fn line<'a>(
    product: Product<'a>,
    tile: &str,
    cells: &BTreeMap<Placement, &'a Cell<'a>>,
    axes: &AlignmentAxes,
    evidence: &Evidence<'a>,
) -> Vec<FactRow> {
    let measured = |cell: &'a Cell<'a>| Measured::of(product, std::slice::from_ref(cell), evidence);
    let aligned = cells.get(&axes.aligned()).map(|cell| measured(cell));
    let subject = measured_subject(product);
    let (mut facts, mut words) = (Vec::new(), BTreeMap::new());
    for (&placement, &cell) in cells {
        let name = &cell.any.tile;
        let own = measured(cell);
        let compared = aligned.as_ref().and_then(|aligned| compare(aligned.side.as_ref()?, own.side.as_ref()?));
        let timed = cell.excluded.is_none() && compared.as_ref().is_some_and(|compared| compared.same_block);
        let mut cited = vec![cell.id];
        let (word, said) = match (excluded(cell), compared) {
            (Some(excluded), _) => excluded,
            (None, _) if placement == axes.aligned() => {
                (FINE, "the placement that the others are compared with".to_owned())
            }
            (None, None) => (UNDECIDED, format!("the aligned placement, {}, does not count", axes.aligned())),
            (None, Some(compared)) if !compared.same_block => {
                (UNDECIDED, "not measured in the same block and processes as the aligned placement".to_owned())
            }
            (None, Some(compared)) => {
                cited.extend(aligned.as_ref().and_then(|aligned| aligned.side.as_ref()).map(|side| side.evidence[0]));
                let ratio = compared.comparison;
                let value = (ratio.time.value, "");
                let said = format!("time over that of {}", axes.aligned());
                facts.push(subject.number(
                    &format!("alignment.ratio.{name}"),
                    value,
                    ratio.time.interval,
                    said,
                    &cited,
                ));
                let said = format!("{ratio} of the aligned time; slow from {:?}", axes.slow);
                match ratio.band(axes.slow) {
                    Ok(Band::Above) => (SLOW, said),
                    Ok(Band::Below) => (FINE, said),
                    Ok(Band::Across) => (UNDECIDED, format!("{}: {said}", Doubt::Straddles)),
                    Err(doubt) => (UNDECIDED, format!("{doubt}: {said}")),
                }
            }
        };
        let said = match cell.lost.is_empty() {
            true => said,
            false => format!("{said}; lost: {}", cell.lost.join(", ")),
        };
        facts.push(subject.word(&format!("alignment.{name}"), word, said, &cited));
        words.insert(placement, (word, cell.id, timed));
    }
    let row = Matrix::row_bytes(product.triple.a, product.shape.k);
    let of_offsets = words.iter().filter(|(place, _)| place.stride == axes.aligned().stride);
    let offset = |(place, &(word, cell, timed)): (&Placement, &(&'static str, CellId, bool))| Asked {
        bytes: place.offset,
        name: place.offset.to_string(),
        word,
        cell,
        timed,
    };
    let of_strides = words.iter().filter(|(place, _)| place.offset == 0);
    let stride = |(place, &(word, cell, timed)): (&Placement, &(&'static str, CellId, bool))| Asked {
        bytes: place.stride.bytes(row),
        name: place.stride.to_string(),
        word,
        cell,
        timed,
    };
    facts.extend(demand(&subject, &format!("alignment.offset.{tile}"), of_offsets.map(offset).collect()));
    facts.extend(demand(&subject, &format!("alignment.stride.{tile}"), of_strides.map(stride).collect()));
    facts
}

/// A number of bytes that was asked.
struct Asked {
    bytes: usize,
    name: String,
    word: &'static str,
    cell: CellId,
    /// Whether its time was compared.
    timed: bool,
}

fn measured_subject(product: Product<'_>) -> Subject {
    let Product { path, triple, shape, recipe, cache } = product;
    Subject { product: Some((shape, recipe, cache)), ..Subject::triple(Probe::Alignment, path, triple) }
}

/// The word of a cell that no time speaks for, and why.
fn excluded(cell: &Cell<'_>) -> Option<(&'static str, String)> {
    let why = cell.excluded.as_ref()?;
    let Some(row) = cell.excluding else { return Some((UNDECIDED, why.clone())) };
    let verbatim = || format!("{}: {}", name_of(&row.outcome), row.reason);
    Some(match row.outcome {
        Outcome::Wrong => (WRONG, row.reason.clone()),
        Outcome::RefusedCompile | Outcome::RefusedLoad | Outcome::Failed | Outcome::Crashed | Outcome::DeviceLost => {
            (REFUSED, verbatim())
        }
        _ => (UNDECIDED, verbatim()),
    })
}

/// The power of two that the numbers asked show to be enough: every multiple of it among them is taken, and they hold no other multiple of
/// half of it. None where no such power is. The words say which were not taken and which were taken slowly.
fn demand(subject: &Subject, name: &str, mut asked: Vec<Asked>) -> Option<FactRow> {
    asked.sort_by(|a, b| (a.bytes, &a.name).cmp(&(b.bytes, &b.name)));
    // What hung, was mistrusted or never timed shows neither.
    asked.retain(|one| one.word != UNDECIDED || one.timed);
    let taken = |word: &str| word != REFUSED && word != WRONG;
    let multiples = |of: usize| asked.iter().filter(move |one| one.bytes.is_multiple_of(of));
    let powers = || (0..=12).map(|power| 1_usize << power);
    let fits = |of: usize| multiples(of).all(|one| taken(one.word)) && multiples(of).count() > 0;
    let least = powers().find(|&of| fits(of))?;
    let enough = powers().rfind(|&of| multiples(of).count() == multiples(least).count())?;
    let listed = |which: &dyn Fn(&str) -> bool| {
        let names: Vec<&str> = asked.iter().filter(|one| which(one.word)).map(|one| one.name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    let words = format!(
        "refused or wrong at {}; slow at {}; taken at {}",
        listed(&|word| !taken(word)),
        listed(&|word| word == SLOW),
        listed(&|word| taken(word))
    );
    let cells: Vec<CellId> = asked.iter().map(|one| one.cell).collect();
    Some(subject.number(name, (enough as f64, "B"), None, words, &cells))
}
