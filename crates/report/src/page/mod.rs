//! How does one HTML file tell a whole run?

mod cells;
mod findings;
mod orders;
mod provenance;
mod study;
mod units;
mod words;

use crate::figure::Drawing;
use crate::figures::drawings;
use crate::numbers::counted;
use crate::reading::Reading;
use crate::rules::{Answer, rules};
use crate::source::Source;
use crate::text::markup;
use crate::theme;
use crate::verdicts::{HEADS, VerdictTable};
use rigel_ledger::provenance::{Provenance, RunKind};
use rigel_ledger::units::UnitRecord;

/// What a browser may do with the page: apply its own style sheet, and nothing else. No script, no request, no form.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// One self-contained HTML page: verdicts first, then findings, figures with their rows, what did not count, the twelve
/// rules, and provenance at the foot.
///
/// A run of an Apple GPU also shows what the study of the M4 Max published beside its own rows.
///
/// The bytes depend on the source alone. Nothing is fetched, no script runs, every text from the files is escaped, and
/// long tables are cut with a count, so that a run of 10⁵ cells stays a page that opens.
pub fn page(source: Source<'_>) -> String {
    let apple = source.provenance.iter().any(|record| record.device.backend == "metal");
    written(source, apple)
}

/// The same page with the study of the M4 Max beside the run, whatever its device: for a simulated one.
pub fn page_with_study(source: Source<'_>) -> String {
    written(source, true)
}

fn written(source: Source<'_>, with_study: bool) -> String {
    let reading = Reading::new(source);
    let table = VerdictTable::of(&reading);
    let title = format!("{}: {} run", source.devices(), source.kind());
    let mut out = String::with_capacity(1 << 19);
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"generator\" content=\"rigel\">\n");
    out.push_str(&format!("<title>{}</title>\n", markup(&title)));
    let lanes = units::style(source);
    let style = include_str!("style.css");
    out.push_str(&format!("<style>\n{}{style}{lanes}</style>\n</head>\n<body>\n", theme::page_css()));
    out.push_str(&head(source, with_study));
    out.push_str("<main>\n");
    if source.asks_products() {
        out.push_str(&verdicts(&table));
        out.push_str(&findings::section(&reading, &table));
    }
    out.push_str(&figures(&reading));
    out.push_str(&crate::costs::sections(source));
    if with_study {
        out.push_str(&study::section(&reading));
    }
    out.push_str(&units::section(source));
    out.push_str(&orders::section(source));
    out.push_str(&cells::section(&reading, &table));
    out.push_str(&self_check(&reading));
    out.push_str(&words::section());
    out.push_str("</main>\n");
    out.push_str(&provenance::section(source));
    out.push_str("</body>\n</html>\n");
    out
}

fn head(source: Source<'_>, with_study: bool) -> String {
    let first = source.provenance.first();
    let started = first.map_or("at an unknown time", |p| p.started.as_str());
    let cells: std::collections::BTreeSet<_> = source.cells.iter().map(|c| c.cell).collect();
    let plan = first.map_or(source.plan.name.as_str(), |p| p.plan.as_str());
    let mut out = format!(
        "<header>\n<p class=\"over\">Rigel report</p>\n<h1>{}</h1>\n<p class=\"about\"><b>{}</b>, plan <b>{}</b>, {} in {}, started {}.</p>\n",
        markup(&source.devices()),
        source.kind(),
        markup(plan),
        counted(cells.len(), "cell"),
        counted(source.cells.len(), "row"),
        markup(started),
    );
    if source.simulated() {
        out.push_str("<p class=\"warning\"><b>Simulated.</b> These rows come from a software device with planted facts. They say nothing about any physical processor.</p>\n");
    }
    let incomplete = source.incomplete();
    if !incomplete.is_empty() {
        let missing = markup(&incomplete.join(", "));
        out.push_str(&format!(
            "<p class=\"warning\"><b>Incomplete.</b> Provenance lacks {missing}, so no verdict is given.</p>\n"
        ));
    }
    let busy =
        |record: &&Provenance| record.kind == RunKind::Measured && source.plan.times() && record.host.busy().is_some();
    if let Some(host) = source.provenance.iter().find(busy).map(|record| &record.host) {
        out.push_str(&format!(
            "<p class=\"warning\"><b>Not alone.</b> The load of the host was {} on {} when the run began. What computes beside a run widens intervals and makes modes.</p>\n",
            host.load.unwrap_or_default(),
            counted(host.logical_cpus as usize, "logical processor"),
        ));
    }
    out.push_str("<nav aria-label=\"Sections\">");
    if source.asks_products() {
        out.push_str(
            "<a href=\"#verdicts\">Verdicts</a><a href=\"#findings\">Findings</a><a href=\"#figures\">Figures</a>",
        );
    } else if source.facts.iter().any(|fact| fact.name.starts_with("fusion.gain.")) {
        out.push_str("<a href=\"#figures\">Figures</a>");
    }
    for costs in crate::costs::all(source) {
        out.push_str(&format!("<a href=\"#{}\">{}</a>", costs.id, costs.title));
    }
    if with_study {
        out.push_str("<a href=\"#study\">Beside the study</a>");
    }
    if source.units.iter().any(|record| !matches!(record, UnitRecord::Order(_))) {
        out.push_str("<a href=\"#units\">Units</a>");
    }
    if source.units.iter().any(|record| matches!(record, UnitRecord::Order(_))) {
        out.push_str("<a href=\"#orders\">Orders</a>");
    }
    out.push_str("<a href=\"#uncounted\">What did not count</a><a href=\"#cells\">Cells</a><a href=\"#rules\">Self-check</a><a href=\"#words\">Words</a><a href=\"#provenance\">Provenance</a></nav>\n</header>\n");
    out
}

fn verdicts(table: &VerdictTable) -> String {
    let matched = markup(&table.matched.pretty());
    let mut out = format!(
        "<section id=\"verdicts\">\n<h2>Verdicts</h2>\n<p class=\"note\">By rules fixed in the plan before the run. Rates are those of the best launch tile at the largest size; ratios are to {matched} on the same path, and on the path where it is fastest; brackets hold 95 % intervals. Each verdict leads to its finding and from there to its cells; what the words mean stands under <a href=\"#words\">Words</a>.</p>\n"
    );
    let tried: Vec<(usize, &crate::VerdictRow)> = table.rows.iter().enumerate().filter(|(_, r)| r.tried).collect();
    if tried.is_empty() {
        out.push_str("<p>No path and type triple of this run was tried.</p>\n");
    } else {
        out.push_str("<table class=\"verdicts\"><thead><tr>");
        HEADS[1..].iter().for_each(|head| out.push_str(&format!("<th scope=\"col\">{}</th>", markup(head))));
        out.push_str("</tr></thead><tbody>\n");
        let mut path = None;
        for (index, row) in tried.iter().take(crate::Table::MOST) {
            if path != Some(&row.path) {
                let span = HEADS.len() - 1;
                out.push_str(&format!(
                    "<tr class=\"group\"><th colspan=\"{span}\" scope=\"rowgroup\">{}</th></tr>\n",
                    markup(&row.path)
                ));
                path = Some(&row.path);
            }
            out.push_str(&verdict_row(*index, row));
        }
        out.push_str("</tbody></table>\n");
    }
    if tried.len() > crate::Table::MOST {
        let (shown, all) = (crate::numbers::count(crate::Table::MOST), crate::numbers::count(tried.len()));
        out.push_str(&format!(
            "<p class=\"note\">The first {shown} of {all} lines; all of them follow from facts.csv.</p>\n"
        ));
    }
    table.notes().iter().for_each(|note| out.push_str(&format!("<p class=\"note\">{}</p>\n", markup(note))));
    out.push_str("</section>\n");
    out
}

fn verdict_row(index: usize, row: &crate::VerdictRow) -> String {
    let mut out = String::from("<tr>");
    for (text, head) in row.columns().iter().zip(HEADS).skip(1) {
        let (class, cell) = match (head, text.split_once(" [")) {
            ("verdict", _) if row.words.is_empty() => (" class=\"verdict\"", markup(text)),
            ("verdict", _) => {
                let word = if row.verdict.is_empty() { "no verdict" } else { text.as_str() };
                (" class=\"verdict\"", format!("<a href=\"#finding-{index}\">{}</a>", markup(word)))
            }
            ("gate", _) => ("", markup(text)),
            (_, Some((value, interval))) => {
                (" class=\"whole\"", format!("{} <span class=\"interval\">[{}</span>", markup(value), markup(interval)))
            }
            _ => (" class=\"whole\"", markup(text)),
        };
        out.push_str(&format!("<td{class} data-column=\"{}\"><span>{cell}</span></td>", markup(head)));
    }
    out.push_str("</tr>\n");
    out
}

fn figures(reading: &Reading<'_>) -> String {
    let drawings = drawings(reading);
    if drawings.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"figures\">\n<h2>Figures</h2>\n");
    drawings.iter().for_each(|drawing| out.push_str(&figure(reading, drawing)));
    out.push_str("</section>\n");
    out
}

fn figure(reading: &Reading<'_>, drawing: &Drawing) -> String {
    let anchor = drawing.name.trim_end_matches(".svg");
    let mut out = format!(
        "<figure id=\"figure-{anchor}\">\n<h3>{}</h3>\n<figcaption><p>{}</p></figcaption>\n{}{}",
        markup(&drawing.title),
        markup(&drawing.caption),
        drawing.inline(reading, true),
        drawing.inline(reading, false),
    );
    out.push_str(&format!(
        "<p class=\"note from\">Drawn from {}, code {}; again by <code>{}</code></p>\n",
        ticks_to_code(&markup(&drawing.origin)),
        markup(&reading.source.commits()),
        markup(&reading.source.figures_command())
    ));
    if !drawing.rows.rows.is_empty() {
        let rows = counted(drawing.rows.total(), "row");
        out.push_str(&format!("<details><summary>{rows} behind this figure</summary>\n"));
        out.push_str(&drawing.rows.html("the run's files"));
        out.push_str("</details>\n");
    }
    out.push_str("</figure>\n");
    out
}

/// Words between backquotes as code; for texts of ours, already escaped.
fn ticks_to_code(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        out.push_str(match (i, i % 2) {
            (0, _) => "",
            (_, 1) => "<code>",
            _ => "</code>",
        });
        out.push_str(part);
    }
    out
}

fn self_check(reading: &Reading<'_>) -> String {
    let rules = rules(reading);
    let counted = |answer: Answer| rules.iter().filter(|r| r.answer == answer).count();
    let mut out = format!(
        "<section id=\"rules\">\n<h2>Self-check: the twelve rules</h2>\n<p class=\"note\">Rules for reporting performance by Hoefler and Belli (SC ’15), in our words, each answered from the files of this run: {} pass, {} fail, {} not applicable.</p>\n<ol class=\"rules\">\n",
        counted(Answer::Pass),
        counted(Answer::Fail),
        counted(Answer::NotApplicable)
    );
    for rule in &rules {
        let (answer, class) = match rule.answer {
            Answer::Pass => ("✓ pass", "pass"),
            Answer::Fail => ("✗ fail", "fail"),
            Answer::NotApplicable => (Answer::NotApplicable.word(), "none"),
        };
        out.push_str(&format!(
            "<li><span>{}</span><span class=\"answer {class}\">{answer}</span><span class=\"asks\">{}</span><span class=\"why\">{}</span></li>\n",
            rule.number,
            markup(rule.asks),
            markup(&rule.reason)
        ));
    }
    out.push_str("</ol>\n</section>\n");
    out
}
