//! How are the rows of `samples.csv` and `witness.csv` written and read, tens of millions at a time?
//!
//! By hand, byte by byte: the two files are nearly all of a run's bytes, and their rows hold digits and commas only. Every
//! value has one spelling (no leading zeros, no signs, no trailing zeros), which reading enforces.

use crate::rows::{Bits, CellId, SampleRow, WitnessRow};
use crate::store::error::RowFault;
use rigel_numerics::{Megahertz, Time};
use std::io::Write;

/// What the rows of a cell in one process are found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) cell: CellId,
    pub(crate) process: u32,
}

/// A row that stands in a group of rows with the same key.
pub(crate) trait GroupedRow: Copy + Send + Sync + serde::de::DeserializeOwned {
    /// Most bytes of a line.
    const LIMIT: usize = 128;
    fn key(&self) -> Key;
    /// Reads a line without its line feed.
    fn parse(line: &[u8]) -> Result<Self, RowFault>;
    fn write(&self, out: &mut Vec<u8>);
    /// Whether this row may open a group, or follow `previous` in it.
    fn follows(&self, previous: Option<&Self>) -> Result<(), RowFault>;
}

impl GroupedRow for SampleRow {
    fn key(&self) -> Key {
        Key { cell: self.cell, process: self.process }
    }

    fn parse(line: &[u8]) -> Result<Self, RowFault> {
        let mut fields = Fields { line, columns: 5, taken: 0 };
        let (cell, process, index) = (fields.cell()?, fields.whole("process")?, fields.whole("index")?);
        let time_ns = fields.time()?;
        let clock = fields.next()?;
        let clock_mhz = match clock {
            b"" => None,
            b"0" => return Err(fault("clock_mhz", clock, "whole megahertz from 1, or empty where it cannot be read")),
            read => Some(Megahertz(whole(read, "clock_mhz")?)),
        };
        fields.end()?;
        Ok(SampleRow { cell, process, index, time_ns, clock_mhz })
    }

    fn write(&self, out: &mut Vec<u8>) {
        // Writing to a `Vec` cannot fail.
        let _ = write!(out, "{},{},{},{},", self.cell, self.process, self.index, self.time_ns);
        if let Some(clock) = self.clock_mhz {
            let _ = write!(out, "{clock}");
        }
        out.push(b'\n');
    }

    fn follows(&self, previous: Option<&Self>) -> Result<(), RowFault> {
        let expected = previous.map_or(0, |row| row.index.saturating_add(1));
        match self.index.cmp(&expected) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(RowFault::Gap { expected }),
            std::cmp::Ordering::Less if self.index + 1 == expected => Err(RowFault::Duplicate),
            std::cmp::Ordering::Less => Err(RowFault::Unsorted),
        }
    }
}

impl GroupedRow for WitnessRow {
    fn key(&self) -> Key {
        Key { cell: self.cell, process: self.process }
    }

    fn parse(line: &[u8]) -> Result<Self, RowFault> {
        let mut fields = Fields { line, columns: 5, taken: 0 };
        let (cell, process) = (fields.cell()?, fields.whole("process")?);
        let (row, column) = (fields.whole("row")?, fields.whole("column")?);
        let bits = bits(fields.next()?)?;
        fields.end()?;
        Ok(WitnessRow { cell, process, row, column, bits })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let (code, width) = (self.bits.code, usize::from(self.bits.digits));
        // Writing to a `Vec` cannot fail.
        let _ = writeln!(out, "{},{},{},{},{code:0width$x}", self.cell, self.process, self.row, self.column);
    }

    fn follows(&self, previous: Option<&Self>) -> Result<(), RowFault> {
        let place = |row: &Self| (row.row, row.column);
        match previous.map(|row| place(row).cmp(&place(self))) {
            None | Some(std::cmp::Ordering::Less) => Ok(()),
            Some(std::cmp::Ordering::Equal) => Err(RowFault::Duplicate),
            Some(std::cmp::Ordering::Greater) => Err(RowFault::Unsorted),
        }
    }
}

/// The fields of a line, one after the other.
struct Fields<'a> {
    line: &'a [u8],
    columns: usize,
    taken: usize,
}

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<&'a [u8], RowFault> {
        if self.taken == self.columns {
            return Err(RowFault::Fields { expected: self.columns, found: self.columns + 1 });
        }
        if self.taken > 0 && self.line.is_empty() {
            return Err(RowFault::Fields { expected: self.columns, found: self.taken });
        }
        let start = usize::from(self.taken > 0);
        let rest = &self.line[start..];
        let end = rest.iter().position(|&b| b == b',').unwrap_or(rest.len());
        self.taken += 1;
        self.line = &rest[end..];
        Ok(&rest[..end])
    }

    fn end(&self) -> Result<(), RowFault> {
        if self.line.is_empty() {
            return Ok(());
        }
        let more = self.line.iter().filter(|&&b| b == b',').count();
        Err(RowFault::Fields { expected: self.columns, found: self.columns + more })
    }

    fn cell(&mut self) -> Result<CellId, RowFault> {
        let field = self.next()?;
        match (field.len(), hex(field)) {
            (12, Some(word)) => Ok(CellId(word)),
            _ => Err(fault("cell", field, "12 lower-case hex digits")),
        }
    }

    fn whole(&mut self, column: &'static str) -> Result<u32, RowFault> {
        whole(self.next()?, column)
    }

    fn time(&mut self) -> Result<Time, RowFault> {
        let field = self.next()?;
        time(field)
            .ok_or_else(|| fault("time_ns", field, "nanoseconds with at most three decimals, without trailing zeros"))
    }
}

fn fault(column: &'static str, field: &[u8], allowed: &str) -> RowFault {
    match field.iter().find(|&&b| b < 0x20 || b == 0x7f) {
        Some(&byte) => RowFault::Byte(byte),
        None => {
            let found = String::from_utf8_lossy(&field[..field.len().min(60)]).into_owned();
            RowFault::Field { column, found, allowed: allowed.to_owned() }
        }
    }
}

fn digits(field: &[u8]) -> Option<u64> {
    let fine = (1..=19).contains(&field.len()) && (field.len() == 1 || field[0] != b'0');
    let mut value = 0u64;
    for &byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    fine.then_some(value)
}

fn whole(field: &[u8], column: &'static str) -> Result<u32, RowFault> {
    let value = digits(field).and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| fault(column, field, "a whole number from 0 to 4294967295, without leading zeros"))
}

fn time(field: &[u8]) -> Option<Time> {
    let Some(point) = field.iter().position(|&b| b == b'.') else {
        return digits(field)?.checked_mul(1000).map(Time);
    };
    let (whole, part) = (&field[..point], &field[point + 1..]);
    let scale = match part.len() {
        1 => 100,
        2 => 10,
        3 => 1,
        _ => return None,
    };
    let mut picoseconds = 0u64;
    for &byte in part {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        picoseconds = picoseconds * 10 + u64::from(digit);
    }
    if picoseconds.is_multiple_of(10) {
        return None;
    }
    digits(whole)?.checked_mul(1000)?.checked_add(picoseconds * scale).map(Time)
}

fn hex(field: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for &byte in field {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}

fn bits(field: &[u8]) -> Result<Bits, RowFault> {
    match hex(field) {
        Some(code) if (1..=16).contains(&field.len()) => Ok(Bits { code, digits: field.len() as u8 }),
        _ => Err(fault("bits", field, "1 to 16 lower-case hex digits")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::row_text::write_line;
    use proptest::prelude::*;

    /// A row reads back from its line, and the line is the one that serde and the csv crate write.
    fn comes_back<T: GroupedRow + serde::Serialize + PartialEq + std::fmt::Debug>(row: T) {
        let (mut line, mut other) = (Vec::new(), Vec::new());
        row.write(&mut line);
        write_line(&row, &mut other).unwrap();
        assert_eq!(String::from_utf8_lossy(&line), String::from_utf8_lossy(&other));
        assert!(line.len() <= T::LIMIT);
        assert_eq!(T::parse(line.strip_suffix(b"\n").unwrap()), Ok(row));
    }

    proptest! {
        #[test]
        fn rows_come_back(cell in 0..1u64 << 48, [process, index, clock] in any::<[u32; 3]>(), time in 0..u64::MAX / 10) {
            let (cell, clock_mhz) = (CellId(cell), (clock > 0).then_some(Megahertz(clock)));
            comes_back(SampleRow { cell, process, index, time_ns: Time(time), clock_mhz });
            let digits = 1 + (clock % 16) as u8;
            let code = time & (u64::MAX >> (64 - 4 * u32::from(digits)));
            comes_back(WitnessRow { cell, process, row: index, column: clock, bits: Bits { code, digits } });
        }

        #[test]
        fn a_line_that_reads_is_the_one_spelling_of_its_row(line in "[0-9a-f]{12},[0-9]{1,3},[0-9]{1,3},[0-9]{1,4}(\\.[0-9]{1,4})?,[0-9]{0,3}") {
            if let Ok(row) = SampleRow::parse(line.as_bytes()) {
                let mut written = Vec::new();
                row.write(&mut written);
                prop_assert_eq!(written, (line + "\n").into_bytes());
            }
        }

        #[test]
        fn no_bytes_make_a_parser_panic(line in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = (SampleRow::parse(&line), WitnessRow::parse(&line));
        }
    }
}
