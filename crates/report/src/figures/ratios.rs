//! What does a type triple gain over its match, and over the dull explanations?

use super::rows::{Frame, cut_note, heading, shown};
use super::throughput::fact_row;
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, fit, wrap};
use crate::kind::Kind;
use crate::numbers::{fixed, ratio};
use crate::reading::{Measure, Reading, Subject, shape_words};
use crate::scale::{Scale, Tick};
use crate::svg::{Anchor, Canvas, Fill, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::plan::Thresholds;

const NAME: &str = "ratios.svg";
const TITLE: &str = "What each type triple gains over its match and over the baselines";
const COLUMNS: [&str; 11] =
    ["path", "triple", "what", "shape", "recipe", "cache", "#value", "#low", "#high", "unit", "evidence"];
const STEP: f64 = 17.0;
/// Ratios between which the axis may reach: further out, the thresholds would be squeezed together.
const AXIS: [f64; 2] = [0.25, 16.0];

/// One comparison: what is divided by what, as a fact's name and in words.
type Comparison = (&'static str, String);

/// One of the two panels.
struct Panel<'a> {
    head: String,
    threshold: f64,
    rows: Vec<(Subject<'a>, Row)>,
    total: usize,
}

struct Row {
    lines: Vec<(String, Measure)>,
    shape: String,
    verdict: String,
}

pub(crate) fn drawing(reading: &Reading<'_>) -> Drawing {
    let plan = reading.source.plan;
    let (thresholds, baselines) = (&plan.thresholds, &plan.baselines);
    let named = |letter: &str, path: &str| format!("{letter} {}", if path.is_empty() { "(unnamed)" } else { path });
    let matches: [Comparison; 2] =
        [("ratio.match_path", "same path".to_owned()), ("ratio.match_device", "fastest path".to_owned())];
    let rivals: [Comparison; 3] = [
        ("ratio.baseline_b", named("B", &baselines.b)),
        ("ratio.baseline_c", named("C", &baselines.c)),
        ("ratio.baseline_d", named("D", &baselines.d)),
    ];
    let head = format!("Rate ÷ match ({})", plan.matches.triple.pretty());
    let panels = [
        panel(reading, &matches, "verdict.acceleration", head, thresholds.accelerated),
        panel(reading, &rivals, "verdict.win", "Rate ÷ baseline".to_owned(), thresholds.win),
    ];
    let origin = "facts `ratio.*` and `verdict.*` of facts.csv";
    if panels.iter().all(|p| p.rows.is_empty()) {
        let reason = "Nothing to draw: no cell of this run was compared with a match or a baseline.";
        return Drawing::missing(NAME, TITLE, reason, origin, &COLUMNS);
    }
    let lines = panels.iter().flat_map(|p| &p.rows).flat_map(|(_, row)| &row.lines);
    let mut values: Vec<f64> = lines.flat_map(|(_, measure)| measure.ends()).collect();
    values.extend([1.0, thresholds.accelerated, thresholds.win]);
    let scale = Scale::log_around(values.iter().map(|v| v.clamp(AXIS[0], AXIS[1])));
    let beyond = values.iter().any(|v| *v < AXIS[0] || *v > AXIS[1]);
    let beyond = if beyond { " ‹ and ›: beyond the axis." } else { "" };
    let cut = panels.iter().max_by_key(|p| p.total).map_or_else(String::new, |p| cut_note(p.rows.len(), p.total));
    let caption = format!(
        "Ratios at the largest size ({}), 95 % interval over fresh processes, logarithmic. Solid line: 1. Dashed: what the whole interval must reach, {} to be called accelerated and {} to be called a win. Band: same rate, {} to {}.{beyond}{cut}",
        reading.lead_words(),
        fixed(thresholds.accelerated, 2),
        fixed(thresholds.win, 2),
        fixed(thresholds.same[0], 2),
        fixed(thresholds.same[1], 2),
    );
    let key = vec![
        Entry::new(Symbol::Mark(Kind::Derived), format!("derived from {} rows", reading.source.kind())),
        Entry::new(Symbol::Upright(Stroke::Limit), "threshold of the plan"),
    ];
    Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption,
        key,
        origin: origin.to_owned(),
        rows: table(reading),
        wide: plot(&panels, scale, thresholds, WIDE),
        narrow: plot(&panels, scale, thresholds, NARROW),
    }
}

fn panel<'a>(
    reading: &Reading<'a>,
    comparisons: &[Comparison],
    verdict: &str,
    head: String,
    threshold: f64,
) -> Panel<'a> {
    let row = |subject: Subject<'a>| {
        let mut shape = None;
        let mut lines = Vec::new();
        for (name, words) in comparisons {
            if let Some((fact, measure)) = reading.largest(name, subject).and_then(|f| Some((f, Measure::of(f)?))) {
                shape = shape.max(fact.shape);
                lines.push((words.clone(), measure));
            }
        }
        lines.retain(|(_, m)| m.value > 0.0);
        let verdict = reading.fact(verdict, subject).map(|f| f.value.clone()).unwrap_or_default();
        (!lines.is_empty()).then(|| Row { lines, shape: shape.map(shape_words).unwrap_or_default(), verdict })
    };
    let (rows, total) = shown(&reading.subjects, row);
    Panel { head, threshold, rows, total }
}

fn plot(panels: &[Panel<'_>], scale: Scale, thresholds: &Thresholds, width: f64) -> Plot {
    let wide = width == WIDE;
    let frame = if wide {
        Frame { width, wide, left: 204.0, right: 430.0 }
    } else {
        Frame { width, wide, left: 4.0, right: width - 4.0 }
    };
    let ticks = scale.ticks(frame.most_ticks() + 2);
    let mut canvas = Canvas::new();
    let mut y = 0.0;
    for panel in panels.iter().filter(|p| !p.rows.is_empty()) {
        canvas.text(0.0, y + 14.0, Anchor::Start, Letters::Strong, &fit(&panel.head, Letters::Plain, 210.0));
        if wide {
            canvas.text(556.0, y + 14.0, Anchor::End, Letters::Small, "ratio [95 %]");
            canvas.text(572.0, y + 14.0, Anchor::Start, Letters::Small, "verdict");
            frame.labels(&mut canvas, scale, &ticks, y + 14.0);
        }
        y += 18.0;
        let mut path = None;
        for (subject, row) in &panel.rows {
            if path != Some(subject.path) {
                y = heading(&mut canvas, &frame, subject.path, y);
                path = Some(subject.path);
            }
            y = draw_row(&mut canvas, &frame, scale, &ticks, (panel.threshold, thresholds.same), *subject, row, y);
        }
        canvas.line((frame.left, y + 2.0), (frame.right, y + 2.0), Stroke::Axis);
        frame.labels(&mut canvas, scale, &ticks, y + 17.0);
        y += 44.0;
    }
    Plot { canvas, height: (y - 18.0).max(0.0) }
}

#[allow(clippy::too_many_arguments)]
fn draw_row(
    canvas: &mut Canvas,
    frame: &Frame,
    scale: Scale,
    ticks: &[Tick],
    (threshold, same): (f64, [f64; 2]),
    subject: Subject<'_>,
    row: &Row,
    top: f64,
) -> f64 {
    let mut y = top;
    let name = subject.triple.pretty();
    let verdict: Vec<String> = wrap(&row.verdict, Letters::Plain, frame.width - 560.0).into_iter().take(3).collect();
    let spoken: Vec<String> = row.lines.iter().map(|(w, m)| format!("{w} {}", m.words(ratio))).collect();
    canvas.open(&format!("{}, {name}, {}: {}. {}", subject.path, row.shape, spoken.join("; "), row.verdict));
    if frame.wide {
        canvas.text(0.0, y + 13.0, Anchor::Start, Letters::Plain, &fit(&name, Letters::Plain, 108.0));
        for (i, line) in verdict.iter().enumerate() {
            canvas.text(572.0, y + 13.0 + 14.0 * i as f64, Anchor::Start, Letters::Plain, line);
        }
    } else {
        canvas.text(0.0, y + 12.0, Anchor::Start, Letters::Plain, &fit(&name, Letters::Plain, 130.0));
        canvas.text(frame.width, y + 12.0, Anchor::End, Letters::Plain, &fit(&row.verdict, Letters::Plain, 190.0));
        y += 18.0;
    }
    for (words, measure) in &row.lines {
        let value = measure.words(ratio);
        let mut line = y;
        if frame.wide {
            canvas.text(frame.left - 10.0, y + 13.0, Anchor::End, Letters::Small, &fit(words, Letters::Small, 104.0));
            canvas.text(556.0, y + 13.0, Anchor::End, Letters::Number, &value);
        } else {
            canvas.text(0.0, y + 11.0, Anchor::Start, Letters::Small, &fit(words, Letters::Small, 160.0));
            canvas.text(frame.width, y + 11.0, Anchor::End, Letters::Number, &value);
            line += 13.0;
        }
        let (low, high) = (frame.x(scale, same[0]), frame.x(scale, same[1]));
        canvas.rect(low, line, (high - low).max(0.0), STEP, Fill::Field);
        frame.grid(canvas, scale, ticks, line, line + STEP);
        let one = frame.x(scale, 1.0);
        canvas.line((one, line), (one, line + STEP), Stroke::Axis);
        let limit = frame.x(scale, threshold);
        canvas.line((limit, line), (limit, line + STEP), Stroke::Limit);
        let middle = line + STEP / 2.0;
        if let (Some(low), Some(high)) = (measure.low, measure.high) {
            canvas.line((frame.x(scale, low), middle), (frame.x(scale, high), middle), Stroke::Derived);
        }
        match scale.place(measure.value) {
            low if low < 0.0 => canvas.text(frame.left, middle + 4.0, Anchor::Start, Letters::Strong, "‹"),
            high if high > 1.0 => canvas.text(frame.right, middle + 4.0, Anchor::End, Letters::Strong, "›"),
            _ => Kind::Derived.mark(canvas, frame.x(scale, measure.value), middle, 3.2),
        }
        y = line + STEP;
    }
    canvas.close();
    let words = if frame.wide { top + 14.0 * verdict.len() as f64 + 4.0 } else { y };
    y.max(words) + 6.0
}

fn table(reading: &Reading<'_>) -> Table {
    let mut table = Table::new(&COLUMNS);
    let names = [
        "ratio.match_path",
        "ratio.match_device",
        "ratio.baseline_b",
        "ratio.baseline_c",
        "ratio.baseline_d",
        "ratio.ceiling_match",
        "verdict.acceleration",
        "verdict.win",
    ];
    for subject in &reading.subjects {
        for name in names {
            for fact in reading.facts(name, *subject) {
                table.push(|| fact_row(fact));
            }
        }
    }
    table
}
