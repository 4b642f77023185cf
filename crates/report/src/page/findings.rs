//! What was found, in plain words, and by which cells?

use crate::numbers::count;
use crate::reading::Reading;
use crate::text::markup;
use crate::verdicts::VerdictTable;
use rigel_ledger::FactRow;
use std::collections::BTreeMap;

/// Findings on a page before the rest is only counted.
const MOST: usize = 400;
/// Clauses of one finding.
const CLAUSES: usize = 40;
/// Cells named under one finding.
const NAMED: usize = 6;

pub(super) fn section(reading: &Reading<'_>, table: &VerdictTable) -> String {
    let mut out = String::from("<section id=\"findings\">\n<h2>Findings</h2>\n");
    let with_words: Vec<_> = table.rows.iter().enumerate().filter(|(_, r)| r.tried && !r.words.is_empty()).collect();
    let signals: Vec<&FactRow> = ["verdict.where", "signal.ceiling", "signal.shootout", "signal.energy"]
        .iter()
        .flat_map(|n| reading.path_facts(n))
        .collect();
    if with_words.is_empty() && signals.is_empty() {
        out.push_str("<p>No fact of this run carries a verdict.</p>\n</section>\n");
        return out;
    }
    let verdicts: Vec<&str> = with_words.iter().map(|(_, row)| word(&row.verdict)).collect();
    out.push_str(&summary(&verdicts));
    let mut path = "";
    for (index, row) in with_words.iter().take(MOST) {
        if row.path != path {
            if !path.is_empty() {
                out.push_str("</ul>\n");
            }
            path = &row.path;
            out.push_str(&format!("<h3>{}</h3>\n<ul class=\"findings\">\n", markup(path)));
        }
        out.push_str(&format!(
            "<li id=\"finding-{index}\"><b>{}: {}</b>{}{}</li>\n",
            markup(&row.triple.pretty()),
            markup(word(&row.verdict)),
            clauses(&row.words),
            evidence(&row.evidence)
        ));
    }
    if !path.is_empty() {
        out.push_str("</ul>\n");
    }
    if with_words.len() > MOST {
        let (shown, all) = (count(MOST), count(with_words.len()));
        out.push_str(&format!(
            "<p class=\"note\">The first {shown} of {all} findings; all of them stand in facts.csv.</p>\n"
        ));
    }
    out.push_str(&where_it_runs(&signals));
    out.push_str("</section>\n");
    out
}

fn word(verdict: &str) -> &str {
    if verdict.is_empty() { "no verdict" } else { verdict }
}

/// How often each verdict was given, the most frequent first: what a reader wants to know before any number.
fn summary(verdicts: &[&str]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    verdicts.iter().for_each(|verdict| *counts.entry(verdict).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let told: Vec<String> =
        counts.iter().map(|(verdict, n)| format!("{} <b>{}</b>", count(*n), markup(verdict))).collect();
    match verdicts.len() {
        0 => String::new(),
        1 => "<p>One pair of path and type triple was judged; the numbers behind its verdict stand below.</p>\n".into(),
        all => format!(
            "<p>{} pairs of path and type triple were judged: {}. The numbers behind each verdict stand below.</p>\n",
            count(all),
            told.join(", ")
        ),
    }
}

/// The dispatch signals of each path, and what each could not see.
fn where_it_runs(signals: &[&FactRow]) -> String {
    if signals.is_empty() {
        return String::new();
    }
    let mut out = String::from("<h3>Where it runs</h3>\n<ul class=\"findings\">\n");
    let mut sorted = signals.to_vec();
    sorted.sort_by_key(|f| (f.path.as_str(), !f.name.starts_with("verdict"), f.name.as_str()));
    for fact in sorted.iter().take(MOST) {
        let name = match fact.name.as_str() {
            "verdict.where" => String::new(),
            name => format!(", signal {}", name.trim_start_matches("signal.")),
        };
        let ids: Vec<String> = fact.evidence.split_whitespace().map(str::to_owned).collect();
        let (path, value, words) = (markup(&fact.path), markup(&fact.value), clauses(&fact.words));
        out.push_str(&format!("<li><b>{path}{name}: {value}</b>{words}{}</li>\n", evidence(&ids)));
    }
    out.push_str("</ul>\n");
    out
}

/// The clauses of a sentence, each on a line of its own: a comparison of several sizes is read line by line.
fn clauses(words: &str) -> String {
    let all = crate::columns::clauses(words);
    let mut lines: Vec<String> =
        all.iter().take(CLAUSES).map(|clause| format!("<li>{}</li>", markup(clause))).collect();
    if all.len() > CLAUSES {
        lines.push(format!("<li>and {} more, in facts.csv</li>", count(all.len() - CLAUSES)));
    }
    if lines.is_empty() { String::new() } else { format!("<ul class=\"clauses\">{}</ul>", lines.concat()) }
}

/// Links to the first few cells of a finding, and a count of the rest.
fn evidence(ids: &[String]) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let link = |id: &String| match id.parse::<rigel_ledger::CellId>() {
        Ok(id) => format!("<a href=\"#cell-{id}\"><code>{id}</code></a>"),
        Err(_) => markup(id),
    };
    let named: Vec<String> = ids.iter().take(NAMED).map(link).collect();
    let rest = ids.len().saturating_sub(NAMED);
    let rest = if rest > 0 { format!(" and {} more", count(rest)) } else { String::new() };
    let noun = if ids.len() == 1 { "cell" } else { "cells" };
    format!("<span class=\"evidence\">Evidence: {noun} {}{rest}</span>", named.join(", "))
}
