//! How does the error of the gate grow with K, against its tolerance?

use super::rows::Frame;
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, cross, fit};
use crate::kind::Kind;
use crate::numbers::significant;
use crate::reading::Reading;
use crate::scale::{Scale, Tick};
use crate::svg::{Anchor, Canvas, Letters, Stroke};
use crate::table::Table;
use rigel_numerics::Triple;
use std::collections::BTreeMap;

const NAME: &str = "error.svg";
const TITLE: &str = "Error of every checked product against its tolerance";
const COLUMNS: [&str; 7] = ["triple", "#K", "path", "outcome", "#worst error", "#tolerance", "#rows"];
/// Facets before the rest is only counted.
const MOST: usize = 12;
/// Marks of one facet before paths and K are thinned.
const MARKS: usize = 60;
const HEIGHT: f64 = 118.0;

/// The worst error of one path and outcome at one K.
#[derive(Debug, Clone, Copy)]
struct Worst {
    error: f64,
    tolerance: Option<f64>,
    rows: usize,
}

/// Worst errors of one triple, by (K, path, whether the outcome counts).
type Facet<'a> = BTreeMap<(usize, &'a str, bool), Worst>;

pub(crate) fn drawing(reading: &Reading<'_>) -> Drawing {
    let facets = facets(reading);
    let origin = "gate columns of cells.csv";
    if facets.is_empty() {
        let reason = "Nothing to draw: no product of this run passed through the gate.";
        return Drawing::missing(NAME, TITLE, reason, origin, &COLUMNS);
    }
    let total = facets.len();
    let thinned: Vec<(Triple, Facet<'_>)> = facets.iter().take(MOST).map(|(t, f)| (*t, thin(f))).collect();
    let drawn: Vec<_> = thinned.iter().collect();
    let errors = facets.iter().flat_map(|(_, f)| f.values()).flat_map(|w| [Some(w.error), w.tolerance]).flatten();
    let scale = Scale::log_around(errors);
    let ks = facets.iter().flat_map(|(_, f)| f.keys().map(|k| k.0 as f64));
    let across = Scale::log_around(ks);
    let cut = if total > MOST { format!(" The first {MOST} of {total} triples are drawn.") } else { String::new() };
    let crowded = facets.iter().any(|(_, f)| f.len() > MARKS);
    let thin =
        if crowded { " In crowded panels only the worst path at each K is drawn, at up to 60 of the K." } else { "" };
    let own = Kind::of_run(reading.source.simulated());
    let mut key = vec![
        Entry::new(Symbol::Mark(own), format!("{}, one mark a path: worst over shapes and processes", own.word())),
        Entry::new(Symbol::Upright(Stroke::Limit), "tolerance"),
    ];
    if facets.iter().any(|(_, f)| f.keys().any(|k| !k.2)) {
        key.push(Entry::new(Symbol::Cross, "wrong or mistrusted: counts for nothing"));
    }
    Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption: format!(
            "Worst |ĉ − c| ÷ Σ|a||b| at each K, both axes logarithmic; errors of exactly zero stand on the floor.{cut}{thin}"
        ),
        key,
        origin: origin.to_owned(),
        rows: table(&facets),
        wide: plot(&drawn, across, scale, WIDE, 3, own),
        narrow: plot(&drawn, across, scale, NARROW, 2, own),
    }
}

/// A facet as it is drawn: as it is up to [`MARKS`] marks, else the worst path at each K, at evenly spaced K.
fn thin<'a>(facet: &Facet<'a>) -> Facet<'a> {
    if facet.len() <= MARKS {
        return facet.clone();
    }
    let mut worst: BTreeMap<(usize, bool), (&'a str, Worst)> = BTreeMap::new();
    for ((k, path, counts), found) in facet {
        let held = worst.entry((*k, *counts)).or_insert((path, *found));
        if found.error > held.1.error {
            *held = (path, *found);
        }
    }
    let stride = worst.len().div_ceil(MARKS);
    worst.into_iter().step_by(stride).map(|((k, counts), (path, found))| ((k, path, counts), found)).collect()
}

/// Facets in the order in which the triples first appear among the subjects.
fn facets<'a>(reading: &Reading<'a>) -> Vec<(Triple, Facet<'a>)> {
    let mut by_triple: BTreeMap<Triple, Facet<'a>> = BTreeMap::new();
    for cell in reading.source.cells {
        let (Some(shape), Some(error)) = (cell.shape, cell.gate_error.filter(|e| e.is_finite() && *e >= 0.0)) else {
            continue;
        };
        let tolerance = cell.gate_tolerance.filter(|t| t.is_finite() && *t > 0.0);
        let key = (shape.k, cell.path.as_str(), cell.outcome.counts());
        let worst = by_triple.entry(cell.triple).or_default().entry(key).or_insert(Worst { error, tolerance, rows: 0 });
        worst.error = worst.error.max(error);
        worst.tolerance = match (worst.tolerance, tolerance) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        worst.rows += 1;
    }
    let mut order: Vec<Triple> = Vec::new();
    for subject in &reading.subjects {
        if by_triple.contains_key(&subject.triple) && !order.contains(&subject.triple) {
            order.push(subject.triple);
        }
    }
    order.into_iter().filter_map(|t| by_triple.remove(&t).map(|f| (t, f))).collect()
}

fn plot(facets: &[&(Triple, Facet<'_>)], across: Scale, scale: Scale, width: f64, columns: usize, own: Kind) -> Plot {
    let wide = width == WIDE;
    let mut canvas = Canvas::new();
    let gutter = if wide { 44.0 } else { 38.0 };
    let step = (width + 14.0) / columns as f64;
    let ticks = scale.ticks(4);
    let rows = facets.len().div_ceil(columns);
    for (i, (triple, facet)) in facets.iter().enumerate() {
        let left = (i % columns) as f64 * step;
        let frame = Frame { width: step - 14.0, wide, left: left + gutter, right: left + step - 28.0 };
        let top = (i / columns) as f64 * (HEIGHT + 56.0);
        draw_facet(&mut canvas, &frame, *triple, facet, (across, scale), &ticks, top, own);
    }
    Plot { canvas, height: rows as f64 * (HEIGHT + 56.0) }
}

#[allow(clippy::too_many_arguments)]
fn draw_facet(
    canvas: &mut Canvas,
    frame: &Frame,
    triple: Triple,
    facet: &Facet<'_>,
    (across, scale): (Scale, Scale),
    ticks: &[Tick],
    top: f64,
    own: Kind,
) {
    let name = fit(&triple.pretty(), Letters::Plain, frame.right - frame.left);
    canvas.text(frame.left, top + 14.0, Anchor::Start, Letters::Strong, &name);
    let (ceil, floor) = (top + 24.0, top + 24.0 + HEIGHT);
    let base = floor - 12.0;
    let y = |v: f64| if v > 0.0 { base - scale.place(v) * (base - ceil) } else { floor };
    for tick in ticks {
        canvas.line((frame.left, y(tick.value)), (frame.right, y(tick.value)), Stroke::Grid);
        canvas.text(frame.left - 6.0, y(tick.value) + 4.0, Anchor::End, Letters::Tick, &tick.label);
    }
    canvas.line((frame.left, floor), (frame.right, floor), Stroke::Axis);
    canvas.text(frame.left - 6.0, floor + 4.0, Anchor::End, Letters::Tick, "0");
    let x = |k: usize| frame.x(across, k as f64);
    let mut last = f64::NEG_INFINITY;
    let mut limits: BTreeMap<usize, f64> = BTreeMap::new();
    for ((k, ..), worst) in facet {
        if let Some(tolerance) = worst.tolerance {
            let limit = limits.entry(*k).or_insert(tolerance);
            *limit = limit.min(tolerance);
        }
    }
    let line: Vec<(f64, f64)> = limits.iter().map(|(k, t)| (x(*k), y(*t))).collect();
    match line[..] {
        [(x, y)] => canvas.line((x - 8.0, y), (x + 8.0, y), Stroke::Limit),
        _ => canvas.polyline(&line, Stroke::Limit),
    }
    let ks: std::collections::BTreeSet<usize> = facet.keys().map(|k| k.0).collect();
    for k in &ks {
        if x(*k) - last > 30.0 {
            canvas.text(x(*k), floor + 15.0, Anchor::Middle, Letters::Tick, &k.to_string());
            last = x(*k);
        }
    }
    canvas.text(frame.left - 6.0, floor + 15.0, Anchor::End, Letters::Small, "K");
    for ((k, path, counts), worst) in facet {
        let tolerance = worst.tolerance.map(|t| format!(", tolerance {}", significant(t, 3))).unwrap_or_default();
        canvas.open(&format!("{path}, K = {k}: worst error {}{tolerance}", significant(worst.error, 3)));
        let (x, y) = (x(*k), y(worst.error));
        if *counts {
            own.mark(canvas, x, y, 2.4)
        } else {
            cross(canvas, x, y, 3.0)
        }
        canvas.close();
    }
}

fn table(facets: &[(Triple, Facet<'_>)]) -> Table {
    let mut table = Table::new(&COLUMNS);
    for (triple, facet) in facets {
        for ((k, path, counts), worst) in facet {
            table.push(|| {
                vec![
                    triple.to_string(),
                    k.to_string(),
                    (*path).to_owned(),
                    if *counts { "counts" } else { "does not count" }.to_owned(),
                    significant(worst.error, 3),
                    worst.tolerance.map(|t| significant(t, 3)).unwrap_or_default(),
                    worst.rows.to_string(),
                ]
            });
        }
    }
    table
}
