//! Do classes of registers make up the rows and columns of a product, or of several independent ones?
//!
//! A unit whose copies of A or B are each read by some registers of D falls into parts that share no register: beside each
//! other, below each other, in a rectangle, or as copies of the whole. Where D has copies as well, a part has more rows or columns
//! than the product. Products cannot show how parts lie to each other, nor which of such rows are copies.

/// D's registers as elements.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    /// Row and column of every used register, numbered over all parts.
    pub element: Vec<Option<(u32, u32)>>,
    /// The parts, in the order of their first registers.
    pub parts: Vec<Part>,
    /// Rows over all parts.
    pub rows: usize,
    /// Columns over all parts.
    pub cols: usize,
}

/// A product that stands alone.
#[derive(Debug, Clone)]
pub(super) struct Part {
    /// Its rows, by their number in the grid.
    pub rows: Vec<u32>,
    /// Its columns.
    pub cols: Vec<u32>,
    /// One register of D for each of its elements, row by row.
    pub registers: Vec<usize>,
}

/// What keeps classes from being a grid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misfit {
    /// The row of the first register and the column of the second have no register in common.
    Gap(usize, usize),
    /// A row of its own, in a grid that has too many.
    Row(usize),
    /// A column of its own, in a grid that has too many.
    Col(usize),
    /// Two registers that nothing told apart, in a grid that has too few rows or columns.
    Few(usize),
}

impl Misfit {
    pub fn words(&self, place: impl Fn(usize) -> (usize, usize)) -> String {
        let named = |register| {
            let (lane, slot) = place(register);
            format!("lane {lane}, slot {slot}")
        };
        match *self {
            Misfit::Gap(row, col) => {
                format!("no register holds the element in the row of {} and the column of {}", named(row), named(col))
            }
            Misfit::Row(register) => format!("{} lies in a row of its own", named(register)),
            Misfit::Col(register) => format!("{} lies in a column of its own", named(register)),
            Misfit::Few(register) => format!("{} answers as registers of other elements do", named(register)),
        }
    }
}

impl Grid {
    /// A grid of m × n elements from the classes of every used register.
    pub fn new(rows: &[Option<u32>], cols: &[Option<u32>], (m, n): (usize, usize)) -> Result<Grid, Misfit> {
        let (row_of, first_of_row) = renumber(rows);
        let (col_of, first_of_col) = renumber(cols);
        let element: Vec<Option<(u32, u32)>> = row_of.iter().zip(&col_of).map(|(r, c)| r.zip(*c)).collect();
        let part_of = components(&element, first_of_row.len(), first_of_col.len());
        let mut parts: Vec<Part> = Vec::new();
        let mut number: Vec<Option<usize>> = vec![None; first_of_row.len()];
        for (row, &root) in part_of.rows.iter().enumerate() {
            let at = *number[root].get_or_insert_with(|| {
                parts.push(Part { rows: Vec::new(), cols: Vec::new(), registers: Vec::new() });
                parts.len() - 1
            });
            parts[at].rows.push(row as u32);
        }
        for (col, &root) in part_of.cols.iter().enumerate() {
            if let Some(at) = number[root] {
                parts[at].cols.push(col as u32);
            }
        }
        let held = holders(&element, first_of_row.len(), first_of_col.len());
        for part in &mut parts {
            for &row in &part.rows {
                for &col in &part.cols {
                    let Some(register) = held[row as usize * first_of_col.len() + col as usize] else {
                        return Err(Misfit::Gap(first_of_row[row as usize], first_of_col[col as usize]));
                    };
                    part.registers.push(register);
                }
            }
        }
        if origins(&parts, (m, n)).is_some() {
            return Ok(Grid { element, parts, rows: first_of_row.len(), cols: first_of_col.len() });
        }
        Err(match (first_of_row.get(m), first_of_col.get(n)) {
            (Some(&register), _) => Misfit::Row(register),
            (_, Some(&register)) => Misfit::Col(register),
            _ => Misfit::Few(first_of_row[0]),
        })
    }
}

/// Where the parts lie by convention, as the row and column of their first elements: in the order of their first registers, along
/// the rows of the product, then down, then again for copies. A part with more rows or columns than the product holds copies of
/// them, so numbers go on modulo m and n. `None` when the parts do not make up m × n.
pub(super) fn origins(parts: &[Part], (m, n): (usize, usize)) -> Option<Vec<(u32, u32)>> {
    let (rows, cols) = (parts.first()?.rows.len(), parts.first()?.cols.len());
    let alike = parts.iter().all(|part| (part.rows.len(), part.cols.len()) == (rows, cols));
    let fits = |of: usize, whole: usize| whole.is_multiple_of(of) || of.is_multiple_of(whole);
    let (down, across) = ((m / rows).max(1), (n / cols).max(1));
    if alike && fits(rows, m) && fits(cols, n) && parts.len().is_multiple_of(down * across) {
        let origin = |i: usize| ((i / across % down * rows) as u32, (i % across * cols) as u32);
        return Some((0..parts.len()).map(origin).collect());
    }
    let mut next = (0, 0);
    let beside = parts.iter().all(|part| part.rows.len() == m);
    let below = parts.iter().all(|part| part.cols.len() == n);
    let mut origins = Vec::new();
    for part in parts {
        origins.push((next.0 as u32, next.1 as u32));
        next = if beside { (0, next.1 + part.cols.len()) } else { (next.0 + part.rows.len(), 0) };
    }
    (beside && next.1 == n || below && next.0 == m).then_some(origins)
}

impl Part {
    /// The register that stands for the element in the i-th row and j-th column of the part.
    pub fn register(&self, i: usize, j: usize) -> usize {
        self.registers[i * self.cols.len() + j]
    }
}

/// Classes by first appearance, and the register in which each appears.
fn renumber(classes: &[Option<u32>]) -> (Vec<Option<u32>>, Vec<usize>) {
    let mut number = std::collections::HashMap::new();
    let mut first = Vec::new();
    let of = classes.iter().enumerate().map(|(register, class)| {
        class.map(|class| {
            *number.entry(class).or_insert_with(|| {
                first.push(register);
                first.len() as u32 - 1
            })
        })
    });
    let of = of.collect();
    (of, first)
}

/// For every row and column the smallest row that it is joined with by registers.
struct Components {
    rows: Vec<usize>,
    cols: Vec<usize>,
}

fn components(element: &[Option<(u32, u32)>], rows: usize, cols: usize) -> Components {
    let mut parent: Vec<usize> = (0..rows + cols).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for &(row, col) in element.iter().flatten() {
        let (one, other) = (root(&mut parent, row as usize), root(&mut parent, rows + col as usize));
        parent[one.max(other)] = one.min(other);
    }
    let roots: Vec<usize> = (0..rows + cols).map(|i| root(&mut parent, i)).collect();
    Components { rows: roots[..rows].to_vec(), cols: roots[rows..].to_vec() }
}

/// The first register of every (row, column).
fn holders(element: &[Option<(u32, u32)>], rows: usize, cols: usize) -> Vec<Option<usize>> {
    let mut held = vec![None; rows * cols];
    for (register, element) in element.iter().enumerate() {
        if let Some((row, col)) = element {
            held[*row as usize * cols + *col as usize].get_or_insert(register);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(list: &[u32]) -> Vec<Option<u32>> {
        list.iter().map(|&class| Some(class)).collect()
    }

    #[test]
    fn classes_become_rows_and_columns_in_the_order_of_registers() {
        let grid = Grid::new(&classes(&[7, 7, 3, 3]), &classes(&[5, 2, 5, 2]), (2, 2)).unwrap();
        assert_eq!(grid.element, [Some((0, 0)), Some((0, 1)), Some((1, 0)), Some((1, 1))]);
        assert_eq!(grid.parts.len(), 1);
        assert_eq!(grid.parts[0].registers, [0, 1, 2, 3]);
    }

    #[test]
    fn registers_that_share_nothing_are_parts() {
        // Rows 0 and 1 with columns of their own each: two products of 1 × 2 below each other.
        let grid = Grid::new(&classes(&[0, 0, 1, 1]), &classes(&[0, 1, 2, 3]), (2, 2)).unwrap();
        assert_eq!(grid.parts.len(), 2);
        assert_eq!((&grid.parts[1].rows[..], &grid.parts[1].cols[..]), (&[1][..], &[2, 3][..]));
    }

    #[test]
    fn parts_lie_beside_each_other_below_in_a_rectangle_or_twice() {
        let part =
            |rows: u32, cols: u32| Part { rows: (0..rows).collect(), cols: (0..cols).collect(), registers: Vec::new() };
        let lie = |parts: &[Part], m, n| origins(parts, (m, n));
        assert_eq!(lie(&[part(2, 3), part(2, 1)], 2, 4), Some(vec![(0, 0), (0, 3)]));
        assert_eq!(lie(&[part(2, 3), part(1, 3)], 3, 3), Some(vec![(0, 0), (2, 0)]));
        let four = [part(2, 3), part(2, 3), part(2, 3), part(2, 3)];
        assert_eq!(lie(&four, 4, 6), Some(vec![(0, 0), (0, 3), (2, 0), (2, 3)]));
        assert_eq!(lie(&four, 2, 6), Some(vec![(0, 0), (0, 3), (0, 0), (0, 3)]));
        assert_eq!(lie(&four, 4, 4), None);
        assert_eq!(lie(&four[..3], 4, 6), None);
        assert_eq!(lie(&[part(2, 3)], 4, 3), None);
        assert_eq!(lie(&[part(4, 3)], 2, 3), Some(vec![(0, 0)]));
    }

    #[test]
    fn what_is_no_grid_is_named() {
        assert_eq!(Grid::new(&classes(&[0, 0, 1]), &classes(&[0, 1, 0]), (2, 2)).unwrap_err(), Misfit::Gap(2, 1));
        assert_eq!(Grid::new(&classes(&[0, 1, 2]), &classes(&[0, 0, 0]), (2, 1)).unwrap_err(), Misfit::Row(2));
        assert_eq!(Grid::new(&classes(&[0, 0, 0]), &classes(&[0, 1, 2]), (1, 2)).unwrap_err(), Misfit::Col(2));
        assert_eq!(Grid::new(&classes(&[0, 0]), &classes(&[0, 0]), (2, 1)).unwrap_err(), Misfit::Few(0));
    }
}
