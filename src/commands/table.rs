//! How do rows become aligned text for people on standard output?

use rigel_ledger::FactRow;
use rigel_ledger::compare::number;
use rigel_report::Columns;
use std::io::Write;

/// A table of words under named columns, as wide as the terminal.
pub struct Table(Columns);

impl From<Columns> for Table {
    fn from(columns: Columns) -> Table {
        Table(columns)
    }
}

impl Table {
    /// An empty table.
    pub fn new(head: &[&'static str]) -> Self {
        Table(Columns::new(head.iter().copied()))
    }

    /// Adds a row, as wide as the head.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.row(cells.into_iter().map(|cell| rigel_report::seen(&cell)));
    }

    /// Prints to standard output.
    pub fn print(&self) -> anyhow::Result<()> {
        let text = self.0.text(crate::terminal::width(), crate::terminal::bold);
        Ok(crate::terminal::output().write_all(text.as_bytes())?)
    }
}

/// The value of a fact for people, with its interval: `12.3 Gop/s [12.1 G, 12.6 G]`, `1.93 [1.91, 1.96]`, `accelerated`.
pub fn value(fact: &FactRow) -> String {
    let Some(value) = number(fact) else { return fact.value.clone() };
    let shown = format!("{}{}", engineering(value), fact.unit);
    match (fact.low, fact.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", shown.trim_end(), engineering(low).trim_end(), engineering(high).trim_end())
        }
        _ => shown.trim_end().to_owned(),
    }
}

/// A number with a unit prefix, three significant digits from 1 on: `12.3 G`, `0.713 `.
pub fn engineering(value: f64) -> String {
    let scales = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    let (scale, prefix) = scales.into_iter().find(|(s, _)| value.abs() >= *s).unwrap_or((1.0, ""));
    let scaled = value / scale;
    let decimals = if scaled.abs() >= 100.0 {
        0
    } else if scaled.abs() >= 10.0 {
        1
    } else if scaled.abs() >= 1.0 {
        2
    } else {
        3
    };
    format!("{scaled:.decimals$} {prefix}")
}

/// Seconds for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Bytes for people, in powers of 1024 as memory is sold: `3.0 GiB`.
pub fn memory(bytes: u64) -> String {
    let scales = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1_u64 << 10, "KiB")];
    match scales.into_iter().find(|(scale, _)| bytes >= *scale) {
        Some((scale, unit)) => format!("{:.1} {unit}", bytes as f64 / scale as f64),
        None => format!("{bytes} B"),
    }
}
