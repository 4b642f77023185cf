//! What does a run say of the order in which products are added?

use crate::columns::Columns;
use crate::source::Source;
use crate::text::{markdown, seen};
use rigel_ledger::units::{Claim, OrderRecord, UnitRecord};
use std::fmt::Write as _;

/// The heads of the table of orders.
pub(crate) const HEADS: [&str; 6] =
    ["path", "types", "batch × columns × K", "launch tile", "row 0 in a batch", "order of the sum"];

/// The orders of a run, by path, types and K.
pub(crate) fn orders<'a>(source: Source<'a>) -> Vec<&'a OrderRecord> {
    let of = |record: &'a UnitRecord| match record {
        UnitRecord::Order(order) => Some(&**order),
        _ => None,
    };
    let mut all: Vec<&OrderRecord> = source.units.iter().filter_map(of).collect();
    let place = |record: &OrderRecord| (record.unit.path.clone(), record.unit.triple, record.unit.shape.k);
    all.sort_by_key(|record| place(record));
    all
}

/// One line of the table.
pub(crate) fn line(record: &OrderRecord) -> [String; 6] {
    let unit = &record.unit;
    let shape = format!("{}×{}×{}", unit.shape.m, unit.shape.n, unit.shape.k);
    let order = match record.claim {
        Claim::Exact => record.words.clone(),
        Claim::Inexact => format!("none found: {}", record.why),
    };
    let batch = match record.dependence() {
        None => String::new(),
        Some(("independent", _)) => "independent".to_owned(),
        Some((_, words)) => words,
    };
    [unit.path.clone(), unit.triple.pretty(), shape, unit.name.clone(), batch, order]
}

/// The table as aligned text; `None` for a run that asked no order.
pub fn orders_text(source: Source<'_>) -> Option<Columns> {
    let orders = orders(source);
    let mut table = Columns::new(HEADS);
    orders.iter().for_each(|record| table.row(line(record).map(|cell| seen(&cell))));
    (!orders.is_empty()).then_some(table)
}

/// The table in Markdown; empty for a run that asked no order.
pub(crate) fn markdown_table(source: Source<'_>) -> String {
    let orders = orders(source);
    if orders.is_empty() {
        return String::new();
    }
    let mut out = format!("\n| {} |\n|{}\n", HEADS.join(" | "), " --- |".repeat(HEADS.len()));
    for record in orders {
        let cells = line(record).map(|cell| markdown(&cell));
        writeln!(out, "| {} |", cells.join(" | ")).unwrap_or(());
    }
    out
}
