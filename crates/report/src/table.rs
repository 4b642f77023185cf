//! How do the rows behind a figure travel to a page, bounded and counted?

use crate::text::markup;
use std::fmt::Write as _;

/// Rows of text under named columns. Long tables keep their first rows and say how many there were.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// Column names, units included.
    pub columns: Vec<&'static str>,
    /// Columns that hold numbers and are set flush right.
    pub numeric: Vec<bool>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
    /// Rows that were left out.
    pub left_out: usize,
}

impl Table {
    /// Rows that a page shows of one table.
    pub const MOST: usize = 400;

    /// A table without rows. A column whose name starts with `#` holds numbers; the sign is dropped.
    pub fn new(columns: &[&'static str]) -> Self {
        Table {
            columns: columns.iter().map(|c| c.strip_prefix('#').unwrap_or(c)).collect(),
            numeric: columns.iter().map(|c| c.starts_with('#')).collect(),
            rows: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds a row, or counts it when the table is full. The row is made only when it is kept.
    pub fn push(&mut self, row: impl FnOnce() -> Vec<String>) {
        if self.rows.len() < Self::MOST {
            self.rows.push(row());
        } else {
            self.left_out += 1;
        }
    }

    /// Rows there were in all.
    pub fn total(&self) -> usize {
        self.rows.len() + self.left_out
    }

    /// As an HTML table; on narrow screens every row becomes a card whose lines carry the column's name.
    pub(crate) fn html(&self, file: &str) -> String {
        // Many columns do not fit beside the text's margins.
        let broad = if self.columns.len() > 6 { " broad" } else { "" };
        let mut out = format!("<div class=\"scroll{broad}\"><table class=\"rows\"><thead><tr>");
        for (name, numeric) in self.columns.iter().zip(&self.numeric) {
            write!(out, "<th scope=\"col\"{}>{}</th>", class_of(*numeric), markup(name)).unwrap_or(());
        }
        out.push_str("</tr></thead><tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for ((text, name), numeric) in row.iter().zip(&self.columns).zip(&self.numeric) {
                let (class, name, text) = (class_of(*numeric), markup(name), markup(text));
                write!(out, "<td{class} data-column=\"{name}\">{text}</td>").unwrap_or(());
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        if self.left_out > 0 {
            let (shown, total) = (crate::numbers::count(self.rows.len()), crate::numbers::count(self.total()));
            writeln!(
                out,
                "<p class=\"note\">The first {shown} of {total} rows; all of them stand in {}.</p>",
                markup(file)
            )
            .unwrap_or(());
        }
        out
    }
}

fn class_of(numeric: bool) -> &'static str {
    if numeric { " class=\"number\"" } else { "" }
}
