//! Which registers of D lie in one row, and which in one column?

use super::ask::{Answer, Asker, Fill, Launch};
use super::error::Unrecovered;
use super::grid::Grid;
use super::sight::Sight;
use rigel_numerics::layout::FragmentOperand::{A, B, C};
use std::collections::HashMap;

/// Launches of each side between two looks at the classes.
pub(super) const BATCH: usize = 4;
/// Most launches of each side: with k = 1 every launch tells two rows apart with probability 1/2, so 60 leave two of 65536 rows
/// together once in 10^9.
pub(super) const MOST: usize = 60;

/// Classes of D's registers that answered alike so far; `None` for unused ones.
struct Classes {
    of: Vec<Option<u32>>,
    count: usize,
}

impl Classes {
    fn refine(&mut self, answer: &Answer) {
        let mut names: HashMap<(u32, u64), u32> = HashMap::new();
        for (class, value) in self.of.iter_mut().zip(answer) {
            if let Some(class) = class {
                let next = names.len() as u32;
                *class = *names.entry((*class, value.to_bits())).or_insert(next);
            }
        }
        self.count = names.len();
    }
}

/// Rows and columns of D's used registers, numbered by first appearance, after at least `least` launches of each side.
///
/// # Errors
/// `Outputs`, when the registers do not make up the declared extents.
pub(super) fn grid(asker: &mut Asker<'_>, sight: &Sight, least: usize) -> Result<Grid, Unrecovered> {
    let start = || Classes { of: sight.used.iter().map(|&used| used.then_some(0)).collect(), count: 1 };
    let (mut rows, mut cols) = (start(), start());
    let shape = asker.spec.shape;
    let (mut spent, mut asked) = (0, 0);
    loop {
        if spent >= least {
            match Grid::new(&rows.of, &cols.of, (shape.m, shape.n)) {
                Ok(grid) => return Ok(grid),
                Err(example) if spent >= MOST => {
                    let example = example.words(|register| asker.place(C, register));
                    let (rows, cols) = (rows.count, cols.count);
                    return Err(Unrecovered::Outputs { rows, cols, launches: asked, m: shape.m, n: shape.n, example });
                }
                Err(_) => {}
            }
        }
        // A side that is told apart already is asked again only when the other one is too and the grid still has gaps.
        let apart = (rows.count >= shape.m, cols.count >= shape.n);
        let both = spent < least || apart == (true, true);
        let (ask_rows, ask_cols) = (both || !apart.0, both || !apart.1);
        let mut launches = Vec::new();
        for _ in 0..BATCH {
            if ask_rows {
                launches.push(Launch::product(asker.random_bits(A, 2), Fill::All(1)));
            }
            if ask_cols {
                launches.push(Launch::product(Fill::All(1), asker.random_bits(B, 2)));
            }
        }
        let answers = asker.ask(&launches)?;
        let mut answers = answers.iter();
        for _ in 0..BATCH {
            if ask_rows {
                answers.next().into_iter().for_each(|answer| rows.refine(answer));
            }
            if ask_cols {
                answers.next().into_iter().for_each(|answer| cols.refine(answer));
            }
        }
        spent += BATCH;
        asked += launches.len();
    }
}
