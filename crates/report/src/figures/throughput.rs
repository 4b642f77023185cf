//! How fast is each path and type triple, against its measured ceiling and the stated one?

use super::rows::{Frame, cut_note, heading, shown};
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, fit};
use crate::kind::Kind;
use crate::numbers::{Prefixed, percent, rate};
use crate::published::Published;
use crate::reading::{Measure, Reading, Subject, ordered, shape_words};
use crate::scale::Scale;
use crate::svg::{Anchor, Canvas, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::{FactRow, Outcome};
use rigel_numerics::Shape;

const NAME: &str = "throughput.svg";
const TITLE: &str = "Throughput of each path and type triple, with its ceilings";
const COLUMNS: [&str; 11] =
    ["path", "triple", "what", "shape", "recipe", "cache", "#value", "#low", "#high", "unit", "evidence"];
/// Sizes of one line before the smaller ones are left to the table.
const SIZES: usize = 8;
/// Distance of two sizes of one line.
const STEP: f64 = 7.0;

struct Row<'a> {
    /// Rates by rising size.
    points: Vec<(Option<Shape>, Measure)>,
    ceiling: Option<Measure>,
    stated: Option<f64>,
    published: Vec<&'a Published>,
    share: Option<f64>,
    /// `imprecise` where it is, else empty.
    flag: &'static str,
}

impl Row<'_> {
    fn values(&self) -> impl Iterator<Item = f64> {
        let points = self.points.iter().flat_map(|(_, m)| m.ends());
        points
            .chain(self.ceiling.into_iter().flat_map(Measure::ends))
            .chain(self.stated)
            .chain(self.published.iter().map(|p| p.rate))
    }

    fn height(&self) -> f64 {
        STEP * self.points.len().max(1) as f64 + 10.0
    }
}

pub(crate) fn drawing(reading: &Reading<'_>) -> Drawing {
    let (rows, total) = shown(&reading.subjects, |subject| row(reading, subject));
    let facts = "facts `rate`, `ceiling`, `ceiling.of_stated` of facts.csv";
    let cited = rows.iter().any(|(_, row)| !row.published.is_empty());
    let origin = if cited { format!("{facts}; published/*/rates.csv") } else { facts.to_owned() };
    if rows.is_empty() {
        let reason = "Nothing to draw: no cell of this run has a rate or an accepted ceiling.";
        return Drawing::missing(NAME, TITLE, reason, &origin, &COLUMNS);
    }
    let largest = rows.iter().flat_map(|(_, r)| r.values()).fold(0.0, f64::max);
    let least = rows.iter().flat_map(|(_, r)| r.values()).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    let log = largest > 15.0 * least;
    let values = rows.iter().flat_map(|(_, r)| r.values());
    let scale = if log { Scale::log_around(values) } else { Scale::from_zero(values) };
    let unit = Prefixed::rate(largest);
    let caption = format!(
        "Operations per second of the best launch tile; 95 % interval of the median ({}). {}Numbers: largest size, and its share of the measured ceiling.{}",
        reading.lead_words(),
        sizes_words(&rows),
        cut_note(rows.len(), total)
    );
    Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption,
        key: key(reading, &rows),
        origin,
        rows: table(reading),
        wide: plot(&rows, scale, log, unit, WIDE, reading.source.simulated()),
        narrow: plot(&rows, scale, log, unit, NARROW, reading.source.simulated()),
    }
}

fn row<'a>(reading: &Reading<'a>, subject: Subject<'_>) -> Option<Row<'a>> {
    let mut points: Vec<(Option<Shape>, Measure)> =
        reading.lead_facts("rate", subject).filter_map(|f| Measure::of(f).map(|m| (f.shape, m))).collect();
    let drop = points.len().saturating_sub(SIZES);
    points.drain(..drop);
    let ceiling = reading.fact("ceiling", subject).and_then(Measure::of);
    let published: Vec<&Published> = about(reading, subject).collect();
    if points.is_empty() && ceiling.is_none() && published.is_empty() {
        return None;
    }
    let number = |f: Option<&FactRow>| f.and_then(Measure::of).map(|m| m.value).filter(|v| *v > 0.0);
    let of_stated = number(reading.fact("ceiling.of_stated", subject));
    let stated = ceiling.zip(of_stated).map(|(c, share)| c.value / share);
    let share = reading.largest("rate.of_ceiling", subject).and_then(Measure::of).map(|m| m.value);
    let imprecise = reading
        .tallies
        .get(&subject)
        .is_some_and(|t| t.outcomes.contains_key(&crate::reading::Order(Outcome::Imprecise)));
    Some(Row { points, ceiling, stated, published, share, flag: if imprecise { "imprecise" } else { "" } })
}

fn sizes_words(rows: &[(Subject<'_>, Row<'_>)]) -> String {
    let longest = rows.iter().map(|(_, r)| &r.points).max_by_key(|p| p.len());
    match longest.filter(|p| p.len() > 1) {
        Some(points) => {
            let names: Vec<String> = points.iter().filter_map(|(s, _)| s.map(shape_words)).collect();
            format!("Sizes from top to bottom: {}. ", names.join(", "))
        }
        None => String::new(),
    }
}

fn key(reading: &Reading<'_>, rows: &[(Subject<'_>, Row<'_>)]) -> Vec<Entry> {
    let own = Kind::of_run(reading.source.simulated());
    let mut key = vec![Entry::new(Symbol::Mark(own), format!("{} rate with interval", own.word()))];
    if rows.iter().any(|(_, r)| r.ceiling.is_some()) {
        key.push(Entry::new(Symbol::Upright(Stroke::Ceiling), format!("{} ceiling", own.word())));
    }
    if rows.iter().any(|(_, r)| r.stated.is_some()) {
        key.push(Entry::new(Symbol::Mark(Kind::Stated), "stated by the vendor, at the measured clock"));
    }
    if rows.iter().any(|(_, r)| !r.published.is_empty()) {
        key.push(Entry::new(Symbol::Mark(Kind::Published), "published by others, with source in the table"));
    }
    key
}

fn plot(rows: &[(Subject<'_>, Row<'_>)], scale: Scale, log: bool, unit: Prefixed, width: f64, simulated: bool) -> Plot {
    let wide = width == WIDE;
    let frame = if wide {
        Frame { width, wide, left: 112.0, right: 500.0 }
    } else {
        Frame { width, wide, left: 4.0, right: width - 4.0 }
    };
    let in_unit = |t: crate::scale::Tick| crate::scale::Tick { value: t.value * unit.factor, ..t };
    let shrunk = match scale {
        Scale::Linear { low, high } => Scale::Linear { low: low / unit.factor, high: high / unit.factor },
        Scale::Log { low, high } => Scale::Log { low: low / unit.factor, high: high / unit.factor },
    };
    let ticks: Vec<_> = shrunk.ticks(frame.most_ticks()).into_iter().map(in_unit).collect();
    let mut canvas = Canvas::new();
    let axis = format!("{}{}", unit.symbol, if log { ", logarithmic" } else { "" });
    let mut y = 12.0;
    if wide {
        canvas.text(frame.right + 120.0, y, Anchor::End, Letters::Small, unit.symbol);
        canvas.text(width, y, Anchor::End, Letters::Small, "of ceiling");
    }
    frame.labels(&mut canvas, scale, &ticks, y);
    y += 4.0;
    let mut path = None;
    for (subject, row) in rows {
        if path != Some(subject.path) {
            y = heading(&mut canvas, &frame, subject.path, y);
            path = Some(subject.path);
        }
        y = draw_row(&mut canvas, &frame, scale, &ticks, unit, *subject, row, y, simulated);
    }
    canvas.line((frame.left, y + 2.0), (frame.right, y + 2.0), Stroke::Axis);
    frame.labels(&mut canvas, scale, &ticks, y + 17.0);
    canvas.text((frame.left + frame.right) / 2.0, y + 34.0, Anchor::Middle, Letters::Small, &axis);
    Plot { canvas, height: y + 42.0 }
}

#[allow(clippy::too_many_arguments)]
fn draw_row(
    canvas: &mut Canvas,
    frame: &Frame,
    scale: Scale,
    ticks: &[crate::scale::Tick],
    unit: Prefixed,
    subject: Subject<'_>,
    row: &Row<'_>,
    top: f64,
    simulated: bool,
) -> f64 {
    let (mut y, height) = (top, row.height());
    let value = row.points.last().map(|(_, m)| m.words(|v| unit.bare(v))).unwrap_or_else(|| "no rate".to_owned());
    let share = row.share.map(percent).unwrap_or_default();
    canvas.open(&tooltip(subject, row));
    if frame.wide {
        let middle = y + height / 2.0 + if row.flag.is_empty() { 4.0 } else { -2.0 };
        canvas.text(0.0, middle, Anchor::Start, Letters::Plain, &fit(&subject.triple.pretty(), Letters::Plain, 106.0));
        canvas.text(frame.right + 120.0, middle, Anchor::End, Letters::Number, &value);
        canvas.text(frame.width, middle, Anchor::End, Letters::Number, &share);
        if !row.flag.is_empty() {
            canvas.text(frame.width, middle + 12.0, Anchor::End, Letters::Small, row.flag);
        }
    } else {
        canvas.text(
            0.0,
            y + 11.0,
            Anchor::Start,
            Letters::Plain,
            &fit(&subject.triple.pretty(), Letters::Plain, 110.0),
        );
        let tail = [value, share, row.flag.to_owned()].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>();
        canvas.text(frame.width, y + 11.0, Anchor::End, Letters::Number, &tail.join(" · "));
        y += 15.0;
    }
    frame.grid(canvas, scale, ticks, y, y + height);
    let upright = |canvas: &mut Canvas, v: f64, stroke, inset: f64| {
        let x = frame.x(scale, v);
        canvas.line((x, y + inset), (x, y + height - inset), stroke);
    };
    if let Some(stated) = row.stated {
        upright(canvas, stated, Stroke::Stated, 0.0);
    }
    if let Some(ceiling) = row.ceiling {
        upright(canvas, ceiling.value, Stroke::Ceiling, 6.0);
    }
    let place = |i: usize| y + 5.0 + STEP * (i as f64 + 0.5);
    let shapes: Vec<Shape> = row.points.iter().filter_map(|(s, _)| *s).collect();
    if shapes.len() == row.points.len() && ordered(&shapes) {
        let line: Vec<_> =
            row.points.iter().enumerate().map(|(i, (_, m))| (frame.x(scale, m.value), place(i))).collect();
        canvas.polyline(&line, Stroke::Trend);
    }
    for (i, (_, measure)) in row.points.iter().enumerate() {
        if let (Some(low), Some(high)) = (measure.low, measure.high) {
            canvas.line((frame.x(scale, low), place(i)), (frame.x(scale, high), place(i)), Stroke::Measured);
        }
        Kind::of_run(simulated).mark(canvas, frame.x(scale, measure.value), place(i), 2.7);
    }
    for published in &row.published {
        Kind::Published.mark(canvas, frame.x(scale, published.rate), y + height / 2.0, 3.0);
    }
    canvas.close();
    y + height + if frame.wide { 0.0 } else { 4.0 }
}

fn tooltip(subject: Subject<'_>, row: &Row<'_>) -> String {
    let mut text = format!("{}, {}", subject.path, subject.triple.pretty());
    for (shape, measure) in &row.points {
        let shape = shape.map(shape_words).unwrap_or_default();
        text.push_str(&format!("; {shape}: {}", measure.words(rate)));
    }
    if let Some(ceiling) = row.ceiling {
        text.push_str(&format!("; ceiling {}", ceiling.words(rate)));
    }
    if let Some(stated) = row.stated {
        text.push_str(&format!("; stated {}", rate(stated)));
    }
    for p in &row.published {
        let shape = p.shape.map(|s| format!(" at {}", shape_words(s))).unwrap_or_default();
        text.push_str(&format!("; published {}{shape}: {} ({})", rate(p.rate), p.what, p.source));
    }
    text
}

/// What others published about a path and type triple of this device.
fn about<'a>(reading: &Reading<'a>, subject: Subject<'_>) -> impl Iterator<Item = &'a Published> {
    let same = move |p: &&Published| p.path == subject.path && p.triple == subject.triple;
    reading.source.published.iter().filter(same)
}

fn table(reading: &Reading<'_>) -> Table {
    let mut table = Table::new(&COLUMNS);
    for subject in &reading.subjects {
        for name in ["rate", "rate.of_ceiling", "ceiling", "ceiling.of_stated"] {
            for fact in reading.facts(name, *subject) {
                table.push(|| fact_row(fact));
            }
        }
        for published in about(reading, *subject) {
            table.push(|| published_row(published));
        }
    }
    table
}

/// What others published, under the same columns; its evidence is the publication.
fn published_row(published: &Published) -> Vec<String> {
    let (low, high) = published.interval.map(|(l, h)| (l.to_string(), h.to_string())).unwrap_or_default();
    vec![
        published.path.clone(),
        published.triple.to_string(),
        format!("published: {}", published.what),
        published.shape.map(|s| s.to_string()).unwrap_or_default(),
        String::new(),
        String::new(),
        published.rate.to_string(),
        low,
        high,
        "op/s".to_owned(),
        published.source.clone(),
    ]
}

/// A fact under the columns `path triple what shape recipe cache value low high unit evidence`.
pub(super) fn fact_row(fact: &FactRow) -> Vec<String> {
    let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
    vec![
        fact.path.clone(),
        fact.triple.map(|t| t.to_string()).unwrap_or_default(),
        fact.name.clone(),
        fact.shape.map(|s| s.to_string()).unwrap_or_default(),
        fact.recipe.map(|r| r.name().to_owned()).unwrap_or_default(),
        fact.cache.map(|c| rigel_ledger::rows::name_of(&c)).unwrap_or_default(),
        fact.value.clone(),
        number(fact.low),
        number(fact.high),
        fact.unit.clone(),
        fact.evidence.clone(),
    ]
}
