//! How do the single repetitions of a cell spread, and do they fall into clock states?

use super::pooled::{Pooled, ids, pooled};
use super::rows::Frame;
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, fit};
use crate::kind::Kind;
use crate::numbers::{Prefixed, count, counted, counted_as, fixed, jitter, percent, significant};
use crate::reading::{Reading, Subject, shape_words, size_of};
use crate::scale::Scale;
use crate::svg::{Anchor, Canvas, Fill, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::rows::Work;
use rigel_ledger::statistics::Kind as ModesKind;
use rigel_ledger::{CellId, CellRow};
use std::collections::{BTreeMap, BTreeSet};

const NAME: &str = "distribution.svg";
const TITLE: &str = "Every repetition of a cell, and the clock states they fall into";
const COLUMNS: [&str; 11] = [
    "cell",
    "path",
    "triple",
    "shape",
    "#processes",
    "#repetitions",
    "#warm-up",
    "mode",
    "#share",
    "#median rate (op/s)",
    "#clock (MHz)",
];
/// Cells that are drawn.
const MOST: usize = 8;
/// Cells whose repetitions are looked at for the choice.
const CANDIDATES: usize = 64;
/// Repetitions of one cell that are drawn as points.
const POINTS: usize = 600;
const BARS: f64 = 40.0;
const STRIP: f64 = 22.0;

pub(crate) fn drawing(reading: &Reading<'_>) -> Drawing {
    let origin = "rows of samples.csv, modes by the rule of the ledger";
    let (cells, total) = chosen(reading);
    if cells.is_empty() {
        let reason = "Nothing to draw: no counted product of this run has repetitions.";
        return Drawing::missing(NAME, TITLE, reason, origin, &COLUMNS);
    }
    let thinned = cells.iter().any(|c| c.repetitions.len() > POINTS);
    let points = if thinned {
        format!(" Of a longer cell, {POINTS} evenly spaced repetitions are drawn as points.")
    } else {
        String::new()
    };
    let chosen = if cells.len() < total {
        format!(
            " Drawn: {} of {}, the most telling: several modes first (those furthest apart), then tails, then cells behind an undecided verdict, then the widest.",
            cells.len(),
            counted(total, "cell")
        )
    } else {
        String::new()
    };
    let own = Kind::of_run(reading.source.simulated());
    let mut key = vec![Entry::new(Symbol::Mark(own), format!("one {} repetition (height has no meaning)", own.word()))];
    key.push(Entry::new(Symbol::Upright(Stroke::Text), "median of a mode, with its share and clock"));
    Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption: format!(
            "Rate of each repetition, warm-up left out; bars count them. Every cell has its own axis.{chosen}{points}"
        ),
        key,
        origin: origin.to_owned(),
        rows: table(&cells),
        wide: plot(&cells, WIDE),
        narrow: plot(&cells, NARROW),
    }
}

/// The cells to draw, and how many there were to choose from: those behind rates, or every counted product.
fn chosen<'a>(reading: &Reading<'a>) -> (Vec<Pooled<'a>>, usize) {
    let behind: BTreeSet<CellId> =
        reading.source.facts.iter().filter(|f| f.name == "rate").flat_map(|f| ids(&f.evidence)).collect();
    let mut by_cell: BTreeMap<CellId, Vec<&'a CellRow>> = BTreeMap::new();
    for row in reading.source.cells {
        let wanted =
            row.work == Work::Gemm && row.outcome.counts() && row.operations.is_some() && row.median_ns.is_some();
        if wanted && (behind.is_empty() || behind.contains(&row.cell)) {
            by_cell.entry(row.cell).or_default().push(row);
        }
    }
    let open = |f: &&rigel_ledger::FactRow| f.name.starts_with("verdict.") && f.value.starts_with("undecided");
    let undecided: BTreeSet<CellId> = reading.source.facts.iter().filter(open).flat_map(|f| ids(&f.evidence)).collect();
    let rank: BTreeMap<Subject<'_>, usize> = reading.subjects.iter().enumerate().map(|(i, s)| (*s, i)).collect();
    // The rows alone say which cells may tell something; repetitions are read of the first of them.
    let mut order: Vec<(bool, bool, bool, i64, u64, usize, CellId)> = by_cell
        .iter()
        .map(|(id, rows)| {
            let one = rows.iter().all(|r| r.modes.is_empty());
            let subject = Subject { path: &rows[0].path, triple: rows[0].triple };
            let place = rank.get(&subject).copied().unwrap_or(usize::MAX);
            let size = u64::MAX - size_of(rows[0].shape);
            (one, !undecided.contains(id), !reading.leads(rows[0]), -permille(rows), size, place, *id)
        })
        .collect();
    order.sort_unstable();
    let looked = order.iter().take(CANDIDATES).filter_map(|o| {
        let cell = pooled(by_cell.get(&o.6)?, reading.source.samples)?;
        let (class, distance) = telling(&cell, !o.1);
        Some(((class, -((distance * 1e6) as i64), o.4, o.5, o.6), cell))
    });
    let mut cells: Vec<_> = looked.collect();
    cells.sort_by_key(|(order, _)| *order);
    (cells.into_iter().map(|(_, cell)| cell).take(MOST).collect(), by_cell.len())
}

/// How far the medians of a cell's processes lie apart, in thousandths.
fn permille(rows: &[&CellRow]) -> i64 {
    let medians = || rows.iter().filter_map(|r| r.median_ns).filter(|m| m.is_finite() && *m > 0.0);
    let (low, high) = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    if high > low { ((high / low - 1.0) * 1e3).min(1e9) as i64 } else { 0 }
}

/// What a cell tells: its class, the most telling first, and how much of it. Several modes and tails count by how far their
/// slowest and fastest modes lie apart, the others by the width of their middle 90 %.
fn telling(cell: &Pooled<'_>, undecided: bool) -> (u8, f64) {
    let medians = || cell.modality.modes.iter().map(|mode| mode.median_ns);
    let apart = medians().fold(0.0, f64::max) / medians().fold(f64::INFINITY, f64::min).max(1.0) - 1.0;
    let mut times: Vec<u64> = cell.repetitions.iter().map(|r| r.time.0).collect();
    times.sort_unstable();
    let at = |share: f64| times.get(((times.len() - 1) as f64 * share) as usize).copied().unwrap_or(0) as f64;
    let width = (at(0.95) - at(0.05)) / at(0.5).max(1.0);
    match cell.modality.kind {
        ModesKind::Several => (0, apart),
        ModesKind::Tail { .. } => (1, apart),
        ModesKind::One if undecided => (2, width),
        ModesKind::One => (3, width),
    }
}

fn plot(cells: &[Pooled<'_>], width: f64) -> Plot {
    let frame = Frame { width, wide: width == WIDE, left: 4.0, right: width - 4.0 };
    let mut canvas = Canvas::new();
    let mut y = 0.0;
    for cell in cells {
        y = draw_cell(&mut canvas, &frame, cell, y);
    }
    Plot { canvas, height: y - 12.0 }
}

/// The ends of a cell's axis: all repetitions, unless a few lie far outside the middle 98 %.
fn ends(rates: &[f64]) -> (f64, f64) {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| sorted.get(((sorted.len() - 1) as f64 * share) as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(0.01), at(0.99));
    let reach = (high - low).max(high.abs() * 1e-3);
    (at(0.0).max(low - reach), at(1.0).min(high + reach))
}

fn draw_cell(canvas: &mut Canvas, frame: &Frame, cell: &Pooled<'_>, top: f64) -> f64 {
    let rates: Vec<(f64, u64)> = cell.rates().collect();
    let values: Vec<f64> = rates.iter().map(|r| r.0).collect();
    if values.is_empty() {
        return top;
    }
    let (low, high) = ends(&values);
    let unit = Prefixed::rate(high);
    let scale = Scale::around(low / unit.factor, high / unit.factor);
    let x = |rate: f64| frame.x(scale, rate / unit.factor);
    let row = cell.row;
    let shape = row.shape.map(shape_words).unwrap_or_default();
    let name = format!("{} · {} · {shape}", row.path, row.triple.pretty());
    let mut size =
        format!("{} in {}", counted(values.len(), "repetition"), counted_as(cell.processes, "process", "processes"));
    let outside = values.iter().filter(|r| **r < low || **r > high).count();
    if outside > 0 {
        size.push_str(&format!(", {} beyond the axis", count(outside)));
    }
    if cell.warmup > 0 {
        size.push_str(&format!(", {} warm-up left out", count(cell.warmup)));
    }
    size.push_str(&format!(" · {}", unit.symbol));
    let mut y = top + 14.0;
    canvas.text(
        0.0,
        y,
        Anchor::Start,
        Letters::Strong,
        &fit(&name, Letters::Plain, frame.width * if frame.wide { 0.6 } else { 1.0 }),
    );
    if frame.wide {
        canvas.text(frame.width, y, Anchor::End, Letters::Small, &size);
    } else {
        y += 15.0;
        canvas.text(0.0, y, Anchor::Start, Letters::Small, &fit(&size, Letters::Small, frame.width));
    }
    y += 6.0;
    let modes = labelled(cell, frame, unit, x);
    let labels = y + 4.0;
    y = labels + 15.0 * modes.iter().map(|m| m.line + 1).max().unwrap_or(0) as f64 + 3.0;
    let base = y + BARS;
    histogram(canvas, frame, &values, scale, unit, base);
    canvas.line((frame.left, base), (frame.right, base), Stroke::Axis);
    let stride = values.len().div_ceil(POINTS);
    let dots = rates.iter().step_by(stride).filter(|(r, _)| *r >= low && *r <= high);
    canvas.dots(dots.map(|(rate, index)| (x(*rate), base + 5.0 + jitter(*index) * (STRIP - 8.0))));
    for mode in &modes {
        let text_y = labels + 15.0 * mode.line as f64 + 9.0;
        canvas.line((mode.at, text_y + 4.0), (mode.at, base + STRIP), Stroke::Text);
        canvas.text(mode.center, text_y, Anchor::Middle, Letters::Number, &mode.words);
    }
    y = base + STRIP;
    let ticks = scale.ticks(frame.most_ticks().min(9));
    for tick in &ticks {
        let at = frame.x(scale, tick.value);
        canvas.line((at, y), (at, y + 4.0), Stroke::Axis);
    }
    canvas.line((frame.left, y), (frame.right, y), Stroke::Grid);
    frame.labels(canvas, scale, &ticks, y + 15.0);
    y + 34.0
}

/// A mode's label: where its line stands, where its words are centred, and in which line of labels.
struct Labelled {
    at: f64,
    center: f64,
    line: usize,
    words: String,
}

/// Labels of a cell's modes by rising rate, in as few lines as keep them apart.
fn labelled(cell: &Pooled<'_>, frame: &Frame, unit: Prefixed, x: impl Fn(f64) -> f64) -> Vec<Labelled> {
    let modes = cell.modes();
    let mut ends: Vec<f64> = Vec::new();
    let label = |mode: &super::pooled::ModeWords| {
        let at = x(mode.rate);
        let share = if modes.len() > 1 { format!("{} · ", percent(mode.weight)) } else { "median ".to_owned() };
        let clock = mode.clock_mhz.map(|c| format!(" · {} GHz", fixed(c / 1000.0, 2))).unwrap_or_default();
        let words = format!("{share}{} {}{clock}", unit.bare(mode.rate), unit.symbol);
        let half = Letters::Number.width(&words) / 2.0;
        let center = at.clamp(frame.left + half, (frame.right - half).max(frame.left + half));
        let line = ends.iter().position(|end| end + 8.0 <= center - half).unwrap_or(ends.len());
        if line == ends.len() {
            ends.push(f64::NEG_INFINITY);
        }
        ends[line] = center + half;
        Labelled { at, center, line, words }
    };
    modes.iter().map(label).collect()
}

fn histogram(canvas: &mut Canvas, frame: &Frame, values: &[f64], scale: Scale, unit: Prefixed, base: f64) {
    let bins = if frame.wide { 60 } else { 36 };
    let mut counts = vec![0usize; bins];
    for value in values {
        let place = scale.place(value / unit.factor);
        if (0.0..1.0).contains(&place) {
            counts[(place * bins as f64) as usize] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = (frame.right - frame.left) / bins as f64;
    let bar = |(i, n): (usize, &usize)| {
        let height = BARS * *n as f64 / most;
        (frame.left + step * i as f64 + 0.5, base - height, step - 1.0, height)
    };
    let bars: Vec<_> = counts.iter().enumerate().filter(|(_, n)| **n > 0).map(bar).collect();
    canvas.rects(&bars, Fill::PaleMeasured);
}

fn table(cells: &[Pooled<'_>]) -> Table {
    let mut table = Table::new(&COLUMNS);
    for cell in cells {
        let modes = cell.modes();
        for (i, mode) in modes.iter().enumerate() {
            table.push(|| {
                vec![
                    cell.row.cell.to_string(),
                    cell.row.path.clone(),
                    cell.row.triple.to_string(),
                    cell.row.shape.map(|s| s.to_string()).unwrap_or_default(),
                    cell.processes.to_string(),
                    cell.repetitions.len().to_string(),
                    cell.warmup.to_string(),
                    format!("{} of {}", i + 1, modes.len()),
                    percent(mode.weight),
                    significant(mode.rate, 4),
                    mode.clock_mhz.map(|c| fixed(c, 0)).unwrap_or_default(),
                ]
            });
        }
    }
    table
}
