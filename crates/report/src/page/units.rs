//! What does a page say of each unit: what it computes, by which tests, and where its elements lie?

use crate::figures::layout::{LayoutPicture, inline, style as lane_style};
use crate::kind::Kind;
use crate::numbers::counted;
use crate::source::Source;
use crate::text::markup;
use crate::units::{
    UnitView, conversion_words, conversions, lines, operand_name, origin, question, unfinished, views, word,
};
use rigel_ledger::rows::name_of;
use rigel_ledger::units::{ArithmeticRecord, Claim};
use rigel_numerics::layout::{FragmentOperand, Layout};

/// Registers above which a picture is named and left to its file.
const DRAWN: usize = 4096;

/// The style that pictures of layouts need; empty for a run without them.
pub(super) fn style(source: Source<'_>) -> String {
    let lanes = views(source).iter().filter_map(|view| view.layout.map(|(record, _)| record.lanes)).max();
    lanes.map_or(String::new(), lane_style)
}

/// The section; empty for a run that asked no unit.
pub(super) fn section(source: Source<'_>) -> String {
    let (views, conversions, unfinished) = (views(source), conversions(source), unfinished(source));
    if views.is_empty() && conversions.is_empty() && unfinished.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section id=\"units\">\n<h2>Units</h2>\n<p class=\"note\">Single matrix instructions as black boxes on raw bits. <b>exact</b> says that a model predicted every output of a validation on fresh inputs, or that a map was confirmed slot by slot; what was not asked is not claimed, and the bounds stand beside it.</p>\n",
    );
    if !views.is_empty() {
        out.push_str("<div class=\"scroll\"><table><thead><tr><th scope=\"col\">unit</th><th scope=\"col\">types</th><th scope=\"col\">tile</th><th scope=\"col\">arithmetic</th><th scope=\"col\">layout</th></tr></thead><tbody>\n");
        for (index, view) in views.iter().enumerate() {
            let columns = [
                ("types", view.unit.triple.pretty()),
                ("tile", tile(view)),
                ("arithmetic", word(view.arithmetic.map(|record| record.claim))),
                ("layout", word(view.layout.map(|(record, _)| record.claim))),
            ];
            let columns: String = columns.iter().map(|(name, text)| cell(name, &markup(text))).collect();
            let name = cell("unit", &format!("<a href=\"#unit-{index}\">{}</a>", markup(view.name())));
            out.push_str(&format!("<tr>{name}{columns}</tr>\n"));
        }
        out.push_str("</tbody></table></div>\n");
    }
    let mut drawn: Vec<(Layout, String)> = Vec::new();
    for (index, view) in views.iter().enumerate() {
        out.push_str(&unit(source, index, view, &mut drawn));
    }
    if !conversions.is_empty() {
        out.push_str("<h3>Conversions</h3>\n<div class=\"scroll\"><table><thead><tr><th scope=\"col\">conversion</th><th scope=\"col\">rule that explains most codes</th><th scope=\"col\">codes</th><th scope=\"col\">deviating</th><th scope=\"col\">NaN words</th></tr></thead><tbody>\n");
        for conversion in conversions {
            let nan: Vec<String> = conversion.nan_words.0.iter().map(|word| format!("{word:x}")).collect();
            let all = if conversion.all { "all " } else { "" };
            let columns = [
                ("conversion", markup(&conversion.unit.name)),
                ("rule", markup(&conversion_words(conversion))),
                ("codes", format!("{all}{}", conversion.codes)),
                ("deviating", conversion.deviating.to_string()),
                ("NaN words", markup(&nan.join(" "))),
            ];
            let columns: String = columns.iter().map(|(name, text)| cell(name, text)).collect();
            out.push_str(&format!("<tr>{columns}</tr>\n"));
        }
        out.push_str("</tbody></table></div>\n");
    }
    if !unfinished.is_empty() {
        out.push_str("<h3>Asked without an answer</h3>\n<ul class=\"findings\">\n");
        for row in unfinished {
            let (probe, outcome) = (name_of(&row.probe), name_of(&row.outcome).replace('-', " "));
            let (tile, reason) = (markup(&row.tile), markup(&row.reason));
            out.push_str(&format!("<li><b>{probe}</b> of {tile}: {outcome}: {reason}</li>\n"));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
    out
}

fn cell(name: &str, text: &str) -> String {
    format!("<td data-column=\"{}\"><span>{text}</span></td>", markup(name))
}

fn tile(view: &UnitView<'_>) -> String {
    let shape = view.unit.shape;
    format!("{}×{}×{}", shape.m, shape.n, shape.k)
}

fn unit(source: Source<'_>, index: usize, view: &UnitView<'_>, drawn: &mut Vec<(Layout, String)>) -> String {
    let mut out = format!(
        "<article id=\"unit-{index}\">\n<h3>{}</h3>\n<p class=\"note\">{} in tiles of {}, path {}; {}</p>\n",
        markup(view.name()),
        markup(&view.unit.triple.pretty()),
        tile(view),
        markup(&view.unit.path),
        markup(&view.unit.source),
    );
    if let Some(record) = view.arithmetic {
        out.push_str(&arithmetic(record));
    }
    let rest = lines(source, view);
    if !rest.is_empty() || !view.operands.is_empty() {
        out.push_str("<dl>\n");
        for (name, text) in rest {
            out.push_str(&format!("<dt>{}</dt><dd>{}</dd>\n", markup(&name), markup(&text)));
        }
        for operand in &view.operands {
            let name = operand_name(operand).to_uppercase();
            out.push_str(&format!("<dt>codes of {name}</dt><dd>{}</dd>\n", markup(&conversion_words(operand))));
        }
        out.push_str("</dl>\n");
    }
    out.push_str(&layouts(source, view, drawn));
    out.push_str("</article>\n");
    out
}

/// Claim, model, validation and what speaks against it.
fn arithmetic(record: &ArithmeticRecord) -> String {
    let mut out = match record.claim {
        Claim::Exact => format!("<p><b>exact</b>: {}</p>\n", markup(&record.words)),
        Claim::Inexact => {
            let nearest = match record.words.is_empty() {
                true => String::new(),
                false => format!(" The nearest model that was reached: {}.", markup(&record.words)),
            };
            let beyond = markup(&record.beyond.join("; "));
            format!("<p><b>inexact</b>: {}. Outside the family: {beyond}.{nearest}</p>\n", markup(&record.why))
        }
    };
    if let Some(validation) = &record.validation {
        out.push_str("<div class=\"scroll\"><table class=\"rows\"><thead><tr><th scope=\"col\">distribution</th><th scope=\"col\" class=\"number\">fresh dot products</th><th scope=\"col\" class=\"number\">not predicted</th><th scope=\"col\" class=\"number\">95 % bound where none</th></tr></thead><tbody>\n");
        for tested in &validation.distributions {
            let bound = if tested.mismatches == 0 { format!("{:.1e}", tested.bound) } else { String::new() };
            let name = tested.distribution.name().replace('_', " ");
            out.push_str(&format!("<tr><td>{name}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{bound}</td></tr>\n", tested.asked, tested.mismatches));
        }
        out.push_str("</tbody></table></div>\n");
        out.push_str(&format!(
            "<p class=\"note\">Seed {}, {} distinct rows of A and {} distinct columns of B; {} dot products at each element of the tile.</p>\n",
            validation.seed, validation.rows, validation.columns, validation.at_each_element
        ));
    }
    if let Some(contradiction) = &record.contradiction {
        let (row, column) = contradiction.element;
        out.push_str(&format!(
            "<p>Two answers, {:x} and {:x} at ({row}, {column}), to one question: <code>{}</code></p>\n",
            contradiction.first.0,
            contradiction.other.0,
            question(&contradiction.question)
        ));
    }
    if let Some(counterexample) = &record.counterexample {
        out.push_str(&format!(
            "<p>First counterexample: the model gives {:x}, the unit {:x} for <code>{}</code></p>\n",
            counterexample.model.0,
            counterexample.unit.0,
            question(&counterexample.question)
        ));
    }
    out
}

/// The claim and the pictures; a layout that was drawn before is named instead.
fn layouts(source: Source<'_>, view: &UnitView<'_>, drawn: &mut Vec<(Layout, String)>) -> String {
    let Some((record, _)) = view.layout else { return String::new() };
    if record.claim == Claim::Inexact {
        return format!("<p>No layout: {}</p>\n", markup(&record.why));
    }
    let kind = Kind::of_run(source.simulated());
    let (mut out, origin) = (format!("<p class=\"note\">{}</p>\n", markup(&record.convention)), origin(record));
    for (name, operand, layout) in view.layouts() {
        let title = format!("{} {}", view.name(), name.to_uppercase());
        if let Some((_, first)) = drawn.iter().find(|(known, _)| *known == layout) {
            out.push_str(&format!("<p class=\"note\">{} lies as {}.</p>\n", markup(&title), markup(first)));
            continue;
        }
        if layout.lanes() * layout.slots() > DRAWN {
            let registers = counted(layout.lanes() * layout.slots(), "register");
            out.push_str(&format!(
                "<p class=\"note\">{} has {registers}: its picture is among the figures, not here.</p>\n",
                markup(&title)
            ));
            continue;
        }
        let of = if operand == FragmentOperand::C && name == "d" {
            format!("{} (D)", view.name())
        } else {
            view.name().to_owned()
        };
        let picture = LayoutPicture { layout: &layout, operand, name: &of, kind, origin: &origin };
        out.push_str(&format!("<figure>\n{}</figure>\n", inline(picture)));
        drawn.push((layout, title));
    }
    out
}
