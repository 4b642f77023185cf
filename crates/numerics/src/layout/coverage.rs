//! Is every element held, how often, and which lanes are copies of others?

use super::Layout;

/// How the slots of a layout cover its operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// Elements that nobody holds.
    pub unheld: usize,
    /// The first of them, row by row.
    pub first_unheld: Option<(u32, u32)>,
    /// Slots, over all lanes, that hold nothing.
    pub unused: usize,
    /// Fewest holders of an element.
    pub fewest: usize,
    /// Most holders of an element.
    pub most: usize,
    /// Lanes that hold, slot for slot, what an earlier lane holds: (lane, the first such lane).
    pub copied_lanes: Vec<(usize, usize)>,
}

impl Coverage {
    /// Whether every element has a holder.
    pub fn is_onto(&self) -> bool {
        self.unheld == 0
    }

    /// Whether no element has two.
    pub fn is_one_to_one(&self) -> bool {
        self.most <= 1
    }

    /// The finding in words: `one-to-one and onto`, `broadcast: 2 holders of every element`, …
    pub fn words(&self) -> String {
        let spare = if self.unused == 0 { String::new() } else { format!(", {} unused slots", self.unused) };
        let onto = match self.first_unheld {
            None => String::new(),
            Some((row, col)) => format!(", not onto: {} elements without a holder, first ({row}, {col})", self.unheld),
        };
        let held = match (self.fewest, self.most) {
            (_, 0 | 1) if self.unheld == 0 => "one-to-one and onto".to_owned(),
            (_, 0 | 1) => "one-to-one".to_owned(),
            (fewest, most) if fewest == most => format!("broadcast: {most} holders of every element"),
            (fewest, most) => format!("broadcast: {fewest} to {most} holders of an element"),
        };
        format!("{held}{onto}{spare}")
    }
}

impl Layout {
    /// How the slots cover the operand.
    pub fn coverage(&self) -> Coverage {
        let mut holders = vec![0usize; self.rows() * self.cols()];
        let mut unused = 0;
        for (_, _, element) in self.entries() {
            match element {
                Some((row, col)) => holders[row as usize * self.cols() + col as usize] += 1,
                None => unused += 1,
            }
        }
        let first = holders.iter().position(|&n| n == 0);
        let mut seen = std::collections::HashMap::new();
        let copied_lanes = self
            .table()
            .chunks(self.slots())
            .enumerate()
            .filter(|(_, held)| held.iter().any(Option::is_some))
            .filter_map(|(lane, held)| {
                let first = *seen.entry(held).or_insert(lane);
                (first != lane).then_some((lane, first))
            })
            .collect();
        Coverage {
            unheld: holders.iter().filter(|&&n| n == 0).count(),
            first_unheld: first.map(|i| ((i / self.cols()) as u32, (i % self.cols()) as u32)),
            unused,
            fewest: holders.iter().copied().min().unwrap_or(0),
            most: holders.iter().copied().max().unwrap_or(0),
            copied_lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_counts_holders_copies_and_gaps() {
        let layout = |table: &[Option<(u32, u32)>]| Layout::from_table(1, 2, 2, 2, table.to_vec()).unwrap().coverage();
        let (x, y) = (Some((0, 0)), Some((0, 1)));
        let copies = layout(&[x, y, x, y]);
        assert!(copies.is_onto() && !copies.is_one_to_one());
        assert_eq!(copies.copied_lanes, [(1, 0)]);
        assert_eq!(copies.words(), "broadcast: 2 holders of every element");
        let spare = layout(&[x, None, None, y]);
        assert_eq!(spare.words(), "one-to-one and onto, 2 unused slots");
        assert!(spare.copied_lanes.is_empty());
        let gap = layout(&[x, None, None, None]);
        assert!(!gap.is_onto() && gap.is_one_to_one());
        assert_eq!(gap.words(), "one-to-one, not onto: 1 elements without a holder, first (0, 1), 3 unused slots");
    }
}
