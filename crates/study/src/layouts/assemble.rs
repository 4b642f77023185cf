//! How do rows, columns and lines get their numbers, and become layouts?

use super::addend::Addends;
use super::ask::Asker;
use super::grid::{Grid, origins};
use super::lines::{Line, Owners};
use rigel_numerics::layout::{Fragment, FragmentOperand, Layout, LayoutError};

/// Everything that was seen of a unit, before it is numbered.
pub(super) struct Seen {
    pub grid: Grid,
    /// Lines of every part.
    pub lines: Vec<Vec<Line>>,
    pub owners: Owners,
    pub addends: Addends,
}

/// Numbers of m, n and k.
pub(super) struct Numbers {
    /// m of every row of the grid.
    rows: Vec<u32>,
    /// n of every column of the grid.
    cols: Vec<u32>,
    /// k of every line of every part.
    lines: Vec<Vec<u32>>,
}

impl Numbers {
    /// By first appearance: m and n in the order of D's registers, k in the order of A's. Where the unit falls into parts, each is
    /// numbered so from where it lies by convention.
    pub fn by_appearance(seen: &Seen, (m, n): (usize, usize)) -> Numbers {
        let mut rows = vec![0; seen.grid.rows];
        let mut cols = vec![0; seen.grid.cols];
        let origins = origins(&seen.grid.parts, (m, n)).unwrap_or_default();
        for (part, origin) in seen.grid.parts.iter().zip(origins) {
            part.rows.iter().zip(origin.0..).for_each(|(&row, i)| rows[row as usize] = i % m as u32);
            part.cols.iter().zip(origin.1..).for_each(|(&col, j)| cols[col as usize] = j % n as u32);
        }
        let mut lines: Vec<Vec<Option<u32>>> = seen.lines.iter().map(|lines| vec![None; lines.len()]).collect();
        let mut next = vec![0; lines.len()];
        for &(part, line, _) in seen.owners.a.iter().flatten() {
            if lines[part][line].is_none() {
                lines[part][line] = Some(next[part]);
                next[part] += 1;
            }
        }
        let lines = lines.into_iter().map(|part| part.into_iter().map(Option::unwrap_or_default).collect()).collect();
        Numbers { rows, cols, lines }
    }

    /// By a published fragment: m and n as its C has them, k as its A has it. `None` unless every register that is read then holds
    /// what the published fragment says: the layout is another one.
    pub fn by_published(asker: &Asker<'_>, seen: &Seen, published: &Fragment) -> Option<Numbers> {
        let mut rows = vec![None; seen.grid.rows];
        let mut cols = vec![None; seen.grid.cols];
        let mut lines: Vec<Vec<Option<u32>>> = seen.lines.iter().map(|lines| vec![None; lines.len()]).collect();
        for (register, element) in seen.grid.element.iter().enumerate() {
            if let Some((row, col)) = *element {
                let (lane, slot) = asker.place(FragmentOperand::C, register);
                let (m, n) = published.c.at(lane, slot)?;
                agree(&mut rows[row as usize], m)?;
                agree(&mut cols[col as usize], n)?;
            }
        }
        for (register, owner) in seen.owners.a.iter().enumerate() {
            if let Some((part, line, _)) = *owner {
                let (lane, slot) = asker.place(FragmentOperand::A, register);
                let (_, k) = published.a.at(lane, slot)?;
                agree(&mut lines[part][line], k)?;
            }
        }
        let whole = |list: Vec<Option<u32>>| list.into_iter().collect::<Option<Vec<u32>>>();
        let numbers = Numbers {
            rows: whole(rows)?,
            cols: whole(cols)?,
            lines: lines.into_iter().map(whole).collect::<Option<_>>()?,
        };
        let lines_differ = numbers.lines.iter().all(|lines| distinct(lines.clone(), published.shape().k));
        let (fragment, _) = numbers.layouts(asker, seen).ok()?;
        let same = FragmentOperand::ALL.into_iter().all(|operand| {
            let mut entries = fragment.of(operand).entries();
            entries.all(|(lane, slot, element)| element.is_none() || element == published.of(operand).at(lane, slot))
        });
        (lines_differ && same).then_some(numbers)
    }

    /// The layouts of A, B and D, and the one of C, which may have slots that nothing adds.
    ///
    /// # Errors
    /// [`LayoutError`], which would be a mistake of ours: numbers lie inside the declared extents.
    pub fn layouts(&self, asker: &Asker<'_>, seen: &Seen) -> Result<(Fragment, Layout), LayoutError> {
        let (shape, lanes) = (asker.spec.shape, asker.fragments.lanes);
        let layout = |operand, rows, cols, table: Vec<Option<(u32, u32)>>| {
            Layout::from_table(rows, cols, lanes, asker.registers(operand) / lanes, table)
        };
        let row = |part: usize, i: usize| self.rows[seen.grid.parts[part].rows[i] as usize];
        let col = |part: usize, j: usize| self.cols[seen.grid.parts[part].cols[j] as usize];
        let a = seen.owners.a.iter().map(|o| o.map(|(part, line, i)| (row(part, i), self.lines[part][line])));
        let b = seen.owners.b.iter().map(|o| o.map(|(part, line, j)| (self.lines[part][line], col(part, j))));
        let element = |e: &Option<(u32, u32)>| e.map(|(row, col)| (self.rows[row as usize], self.cols[col as usize]));
        let d = seen.grid.element.iter().map(element);
        let c = seen.addends.held.iter().map(element);
        let fragment = Fragment::new(
            layout(FragmentOperand::A, shape.m, shape.k, a.collect())?,
            layout(FragmentOperand::B, shape.k, shape.n, b.collect())?,
            layout(FragmentOperand::C, shape.m, shape.n, d.collect())?,
        )?;
        Ok((fragment, layout(FragmentOperand::C, shape.m, shape.n, c.collect())?))
    }
}

/// Sets a number, or says whether it is the one that is set.
fn agree(number: &mut Option<u32>, to: u32) -> Option<()> {
    (*number.get_or_insert(to) == to).then_some(())
}

/// Whether numbers lie inside an extent and none is there twice.
fn distinct(mut list: Vec<u32>, extent: usize) -> bool {
    let count = list.len();
    list.sort_unstable();
    list.dedup();
    list.len() == count && list.last().is_none_or(|&last| (last as usize) < extent)
}
