//! Which cells do the verdicts rest on, and which cells did not count, and why?

use crate::numbers::{count, counted_as, significant};
use crate::reading::{Order, Reading, shape_words};
use crate::table::Table;
use crate::text::markup;
use crate::verdicts::VerdictTable;
use rigel_ledger::rows::{Work, name_of};
use rigel_ledger::{CellId, CellRow, Outcome};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn section(reading: &Reading<'_>, table: &VerdictTable) -> String {
    let mut out = String::from("<section id=\"uncounted\">\n<h2>What did not count</h2>\n");
    out.push_str(&uncounted(reading));
    out.push_str(&absent(reading));
    out.push_str("</section>\n<section id=\"cells\">\n<h2>Cells behind the verdicts</h2>\n");
    out.push_str(&cited(reading, table));
    out.push_str("</section>\n");
    out
}

/// Rows that enter no mean, no figure line and no verdict, grouped by outcome, path and reason.
fn uncounted(reading: &Reading<'_>) -> String {
    type Group<'a> = (Order<Outcome>, &'a str, &'a str, Work);
    let mut groups: BTreeMap<Group<'_>, (usize, BTreeSet<String>, CellId)> = BTreeMap::new();
    for row in reading.source.cells.iter().filter(|r| !r.outcome.counts() && !r.outcome.answers()) {
        let group = groups
            .entry((Order(row.outcome), &row.path, &row.reason, row.work))
            .or_insert_with(|| (0, BTreeSet::new(), row.cell));
        group.0 += 1;
        group.2 = group.2.min(row.cell);
        group.1.insert(row.triple.pretty());
    }
    if groups.is_empty() {
        return "<p>Every row of this run counts.</p>\n".to_owned();
    }
    let rows: usize = groups.values().map(|g| g.0).sum();
    let mut table = Table::new(&["outcome", "path", "work", "type triples", "#rows", "reason", "for example"]);
    for ((outcome, path, reason, work), (n, triples, example)) in &groups {
        table.push(|| {
            let reason = if reason.is_empty() { "no reason was written" } else { reason };
            vec![
                name_of(&outcome.0).replace('-', " "),
                (*path).to_owned(),
                name_of(work),
                some_of(triples),
                count(*n),
                reason.to_owned(),
                example.to_string(),
            ]
        });
    }
    let intro = format!(
        "<p class=\"note\">{} in the file and {} no mean, no line of a figure and no verdict.</p>\n",
        counted_as(rows, "row stays", "rows stay"),
        if rows == 1 { "enters" } else { "enter" }
    );
    format!("{intro}{}", table.html("cells.csv"))
}

/// Up to six names, then a count.
fn some_of(names: &BTreeSet<String>) -> String {
    let first: Vec<&str> = names.iter().take(6).map(String::as_str).collect();
    let rest = names.len().saturating_sub(first.len());
    if rest > 0 { format!("{} and {} more", first.join(", "), count(rest)) } else { first.join(", ") }
}

/// Offers that the device would have were something present, and meters that a user would expect.
fn absent(reading: &Reading<'_>) -> String {
    let mut out = String::new();
    let mut offers: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    let mut meters: BTreeSet<(&str, &str)> = BTreeSet::new();
    for record in reading.source.provenance {
        for offer in record.device.offers.iter().filter(|o| !o.absent.is_empty()) {
            offers.entry((&offer.path, &offer.absent)).or_default().insert(offer.triple.pretty());
        }
        meters.extend(record.device.missing_meters.iter().map(|m| (m.name.as_str(), m.reason.as_str())));
    }
    if !offers.is_empty() {
        let mut table = Table::new(&["path", "type triples", "why it is absent here"]);
        for ((path, reason), triples) in &offers {
            table.push(|| vec![(*path).to_owned(), some_of(triples), (*reason).to_owned()]);
        }
        out.push_str("<h3>Absent on this device</h3>\n");
        out.push_str(&table.html("run.json"));
    }
    out.push_str(&rules(reading));
    if !meters.is_empty() {
        let mut table = Table::new(&["meter", "why it is unavailable"]);
        for (name, reason) in &meters {
            table.push(|| vec![(*name).to_owned(), (*reason).to_owned()]);
        }
        out.push_str("<h3>Meters that read nothing</h3>\n");
        out.push_str(&table.html("run.json"));
    }
    out
}

/// What the device answered about rules that no product shows.
fn rules(reading: &Reading<'_>) -> String {
    let mut table = Table::new(&["rule", "asked", "answer", "in its words"]);
    for rule in reading.source.provenance.iter().flat_map(|record| &record.device.rules) {
        table.push(|| vec![rule.rule.clone(), rule.asked.clone(), rule.answer.clone(), rule.words.clone()]);
    }
    if table.rows.is_empty() {
        return String::new();
    }
    format!("<h3>Rules that no product shows</h3>\n{}", table.html("run.json"))
}

/// One line per cell that a verdict names.
fn cited(reading: &Reading<'_>, table: &VerdictTable) -> String {
    let ids: BTreeSet<CellId> = table.rows.iter().flat_map(|r| &r.evidence).filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() {
        return "<p>No verdict of this run names a cell.</p>\n".to_owned();
    }
    let mut by_cell: BTreeMap<CellId, Vec<&CellRow>> = BTreeMap::new();
    for row in reading.source.cells.iter().filter(|r| ids.contains(&r.cell)) {
        by_cell.entry(row.cell).or_default().push(row);
    }
    let columns =
        ["cell", "path", "type triple", "shape", "tile", "inputs", "processes", "repetitions", "median", "outcome"];
    let mut sorted: Vec<(&CellId, &Vec<&CellRow>)> = by_cell.iter().collect();
    sorted.sort_by_key(|(id, rows)| (&rows[0].path, rows[0].triple.pretty(), rows[0].shape, &rows[0].tile, **id));
    let mut out = String::from("<div class=\"scroll broad\"><table class=\"rows cells\"><thead><tr>");
    columns.iter().for_each(|c| out.push_str(&format!("<th scope=\"col\">{c}</th>")));
    out.push_str("</tr></thead><tbody>\n");
    for (id, rows) in sorted.into_iter().take(Table::MOST) {
        let first = rows[0];
        let cells = [
            id.to_string(),
            first.path.clone(),
            first.triple.pretty(),
            first.shape.map(shape_words).unwrap_or_default(),
            first.tile.clone(),
            first.recipe.map(|r| r.name().to_owned()).unwrap_or_default(),
            rows.len().to_string(),
            count(rows.iter().map(|r| r.repetitions.unwrap_or(0) as usize).sum()),
            medians(rows),
            outcomes(rows),
        ];
        out.push_str(&format!("<tr id=\"cell-{id}\">"));
        for (text, column) in cells.iter().zip(columns) {
            let class = if text.is_empty() { " class=\"empty\"" } else { "" };
            out.push_str(&format!("<td{class} data-column=\"{column}\">{}</td>", markup(text)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    if by_cell.len() > Table::MOST {
        let (shown, all) = (count(Table::MOST), count(by_cell.len()));
        out.push_str(&format!(
            "<p class=\"note\">The first {shown} of {all} cells; all of them stand in cells.csv.</p>\n"
        ));
    }
    out
}

/// The medians of the processes from the fastest to the slowest: `57.73 … 58.11 µs`.
fn medians(rows: &[&CellRow]) -> String {
    let mut all: Vec<f64> = rows.iter().filter_map(|r| r.median_ns).filter(|m| m.is_finite()).collect();
    all.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high)) = (all.first(), all.last()) else { return String::new() };
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| high >= factor).unwrap_or((1.0, "ns"));
    let print = |ns: f64| significant(ns / factor, 4);
    if low == high { format!("{} {unit}", print(*low)) } else { format!("{} … {} {unit}", print(*low), print(*high)) }
}

fn outcomes(rows: &[&CellRow]) -> String {
    let words: BTreeSet<String> = rows.iter().map(|r| name_of(&r.outcome).replace('-', " ")).collect();
    words.into_iter().collect::<Vec<_>>().join(", ")
}
