//! The section that says in which order each path adds.

use crate::orders::{HEADS, line, orders};
use crate::source::Source;
use crate::text::markup;

/// The section; empty for a run that asked no order.
pub(super) fn section(source: Source<'_>) -> String {
    let orders = orders(source);
    if orders.is_empty() {
        return String::new();
    }
    let heads: String = HEADS.map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let mut out = format!(
        "<section id=\"orders\">\n<h2>Orders of sums</h2>\n<p class=\"note\">In which order a product adds the terms of one element, as a tree that every answer agrees with, by one launch tile and one K; and whether the bits of row 0 change with the number of rows that it is multiplied together with. Of sums that lose nothing no order can be seen.</p>\n<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>\n"
    );
    for record in orders {
        let cells: String = HEADS
            .iter()
            .zip(line(record))
            .map(|(head, text)| format!("<td data-column=\"{head}\"><span>{}</span></td>", markup(&text)))
            .collect();
        out.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    out.push_str("</tbody></table></div>\n</section>\n");
    out
}
