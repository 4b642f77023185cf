//! How does a page show what the study of the M4 Max published beside what the run found?

use crate::reading::Reading;
use crate::study::{StudyRow, StudyTable};
use crate::text::markup;
use rigel_ledger::rows::Work;
use rigel_numerics::Shape;

pub(super) fn section(reading: &Reading<'_>) -> String {
    let table = StudyTable::of(Some(reading));
    let mut out = format!(
        "<section id=\"study\">\n<h2>Beside the study of the M4 Max</h2>\n<p class=\"note\">{}</p>\n",
        markup(&table.intro())
    );
    let class = if table.simulated { "warning" } else { "note" };
    out.push_str(&format!("<p class=\"{class}\">{}</p>\n", markup(&table.about_ours())));
    for (heading, rows) in [("Headlines", &table.headlines), ("Table 1, a reconstruction", &table.findings)] {
        out.push_str(&format!("<h3>{heading}</h3>\n<table class=\"study\"><thead><tr>"));
        let heads = ["claim", "the study", table.ours_head(), "answer"];
        heads.iter().for_each(|head| out.push_str(&format!("<th scope=\"col\">{head}</th>")));
        out.push_str("</tr></thead><tbody>\n");
        rows.iter().for_each(|row| out.push_str(&line(row, heads)));
        out.push_str("</tbody></table>\n");
    }
    out.push_str(&counterparts(reading));
    out.push_str("</section>\n");
    out
}

fn line(row: &StudyRow, heads: [&str; 4]) -> String {
    let quiet = |text: &str| match text {
        "" => String::new(),
        text => format!("<span class=\"interval\">{}</span>", markup(text)),
    };
    let class = [row.class.as_str(), row.note.as_str()].iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>();
    let cells = [
        format!("{}{}", markup(&row.claim), quiet(&class.join("; "))),
        markup(&row.theirs),
        markup(&row.ours),
        format!("<b>{}</b>{}", row.answer.word(), quiet(row.answer.why())),
    ];
    let mut out = String::from("<tr>");
    for (cell, head) in cells.iter().zip(heads) {
        let class = if cell.is_empty() { " class=\"empty\"" } else { "" };
        out.push_str(&format!("<td{class} data-column=\"{head}\"><span>{cell}</span></td>"));
    }
    out.push_str("</tr>\n");
    out
}

/// The study's own figures, and where on this page the same is drawn from this run's rows, or why it is not.
fn counterparts(reading: &Reading<'_>) -> String {
    let source = reading.source;
    let counts = |path: &str, triple: &str, size: Option<usize>| {
        source.cells.iter().any(|row| {
            row.work == Work::Gemm
                && row.outcome.counts()
                && row.path == path
                && row.triple.to_string() == triple
                && size.is_none_or(|size| row.shape == Some(Shape::cube(size)))
        })
    };
    let half = "f16,f16->f32";
    let drawn = |there: bool, anchor: &str, what: &str| match there {
        true => format!("<a href=\"#{anchor}\">{what}</a>, from this run’s rows"),
        false => format!("no rows of it in this run; they would stand under <a href=\"#{anchor}\">{what}</a>"),
    };
    let older = counts("simdgroup_matrix", half, None) && counts("tiled", half, None);
    let layouts = source.facts.iter().any(|fact| fact.name == "layout" && fact.path.starts_with("matmul2d"));
    let fused =
        source.facts.iter().any(|fact| fact.name.starts_with("fusion.gain.") && fact.path.starts_with("matmul2d"));
    let rows = [
        (
            "clock states of f16 at 512³",
            drawn(counts("matmul2d", half, Some(512)), "figure-distribution", "repetitions"),
        ),
        ("roofline", drawn(counts("matmul2d", half, None), "figure-throughput", "rates against ceilings")),
        ("power", drawn(!source.power.is_empty(), "figure-power", "power by meter")),
        ("fp8 against f16", drawn(counts("matmul2d", "e4m3,e4m3->f32", None), "figure-ratios", "ratios to the match")),
        ("four-way comparison", drawn(older, "figure-ratios", "ratios to the baselines")),
        ("layout of cooperative tensors", drawn(layouts, "units", "layouts of units")),
        (
            "attention",
            drawn(source.facts.iter().any(|f| f.name.starts_with("attention.")), "attention", "times of attention"),
        ),
        ("gains of fused kernels", drawn(fused, "figure-gains", "gains of fused kernels")),
    ];
    let mut out = String::from("<h3>Its figures and their counterparts here</h3>\n<dl>\n");
    rows.iter().for_each(|(what, where_)| out.push_str(&format!("<dt>{what}</dt><dd>{where_}</dd>\n")));
    out.push_str("</dl>\n");
    out
}
