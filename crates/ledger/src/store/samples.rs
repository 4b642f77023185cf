//! Which repetitions and which witness elements does a cell have?

use crate::facts::SampleSource;
use crate::rows::{CellId, SampleRow, WitnessRow};
use crate::store::grouped::Key;
use rigel_numerics::{Megahertz, Time};
use std::collections::HashMap;
use std::ops::Range;

/// Every repetition of a run, 12 bytes each, found by cell and process.
#[derive(Debug, Default)]
pub struct Samples {
    times: Vec<Time>,
    /// 0 where the clock was not read; no file may hold 0.
    clocks: Vec<Megahertz>,
    places: HashMap<Key, Range<usize>>,
}

/// The repetitions of one cell in one process, in the order taken, warm-up included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleSlice<'a> {
    /// Device times.
    pub times: &'a [Time],
    /// Core clocks around them; `None` unless every repetition has one.
    pub clocks: Option<&'a [Megahertz]>,
    /// As many; 0 where the clock was not read.
    each: &'a [Megahertz],
}

impl<'a> SampleSlice<'a> {
    /// The core clock around each repetition, where it was read.
    pub fn each_clock(self) -> impl Iterator<Item = Option<Megahertz>> + 'a {
        self.each.iter().map(|&clock| Some(clock).filter(|clock| clock.0 != 0))
    }
}

impl Samples {
    /// Takes further rows; those of one cell and process must come together.
    pub(crate) fn extend(&mut self, rows: &[SampleRow]) {
        let Some(first) = rows.first() else { return };
        let start = self.times.len();
        self.times.extend(rows.iter().map(|row| row.time_ns));
        self.clocks.extend(rows.iter().map(|row| row.clock_mhz.unwrap_or(Megahertz(0))));
        let key = Key { cell: first.cell, process: first.process };
        self.places.entry(key).or_insert(start..start).end = self.times.len();
    }

    pub(crate) fn shrink(&mut self) {
        self.times.shrink_to_fit();
        self.clocks.shrink_to_fit();
    }

    /// The repetitions of a cell in a process; `None` where it has none.
    pub fn of(&self, cell: CellId, process: u32) -> Option<SampleSlice<'_>> {
        let place = self.places.get(&Key { cell, process })?.clone();
        let each = &self.clocks[place.clone()];
        let clocks = Some(each).filter(|clocks| clocks.iter().all(|clock| clock.0 != 0));
        Some(SampleSlice { times: &self.times[place], clocks, each })
    }

    /// Repetitions of all cells.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether no cell has any.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

impl SampleSource for Samples {
    fn times(&self, cell: CellId, process: u32) -> Option<&[Time]> {
        self.of(cell, process).map(|slice| slice.times)
    }

    fn clocks(&self, cell: CellId, process: u32) -> Option<&[Megahertz]> {
        self.of(cell, process).and_then(|slice| slice.clocks)
    }
}

/// Every witness element of a run, found by cell and process.
#[derive(Debug, Default)]
pub struct Witness {
    rows: Vec<WitnessRow>,
    places: HashMap<Key, Range<usize>>,
}

impl Witness {
    pub(crate) fn extend(&mut self, rows: &[WitnessRow]) {
        let Some(first) = rows.first() else { return };
        let start = self.rows.len();
        self.rows.extend_from_slice(rows);
        let key = Key { cell: first.cell, process: first.process };
        self.places.entry(key).or_insert(start..start).end = self.rows.len();
    }

    /// The witness of a cell in a process, sorted by row and column; empty where it has none.
    pub fn of(&self, cell: CellId, process: u32) -> &[WitnessRow] {
        self.places.get(&Key { cell, process }).map_or(&[], |place| &self.rows[place.clone()])
    }

    /// Elements of all cells.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no cell has any.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
