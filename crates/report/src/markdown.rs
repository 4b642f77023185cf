//! What does the project's README say of a run?

use crate::source::Source;
use crate::text::markdown;
use crate::verdicts::VerdictTable;

/// The verdict table and the units of a run as Markdown, with one line above it that says what the numbers are and where they come
/// from. The binary writes it between the README's markers; equal files give equal bytes.
pub fn findings_markdown(source: Source<'_>) -> String {
    let plan = source.provenance.first().map_or(source.plan.name.as_str(), |p| p.plan.as_str());
    let intro = format!(
        "{}: {}, plan {}, code {}. Written by the tool from the files in {}; intervals are 95 %.",
        source.kind(),
        source.devices(),
        plan,
        source.commits(),
        source.directory()
    );
    let mut intro = markdown(&intro);
    if let Some(first) = intro.get(..1) {
        intro = format!("{}{}", first.to_uppercase(), &intro[1..]);
    }
    let verdicts = if source.asks_products() { VerdictTable::new(source).markdown() } else { String::new() };
    let units = crate::units::markdown_tables(source);
    let (orders, costs) = (crate::orders::markdown_table(source), crate::costs::markdown_tables(source));
    let tables = [verdicts.as_str(), units.as_str(), orders.as_str(), costs.as_str()];
    let tables: Vec<&str> = tables.into_iter().filter(|table| !table.is_empty()).collect();
    format!("{intro}\n\n{}", tables.join("\n"))
}
