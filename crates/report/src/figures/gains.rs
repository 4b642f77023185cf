//! What does an epilogue gain by size, in the product's own registers and by the vendor's library?

use super::rows::{Frame, heading};
use super::throughput::fact_row;
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, fit};
use crate::kind::Kind;
use crate::numbers::{fixed, ratio};
use crate::reading::{Measure, Reading, shape_words, size_of};
use crate::scale::Scale;
use crate::svg::{Anchor, Canvas, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::{FactRow, Probe};

const NAME: &str = "gains.svg";
const TITLE: &str = "What bias and GELU gain when they are fused into the product";
const COLUMNS: [&str; 11] =
    ["path", "triple", "what", "shape", "recipe", "cache", "#value", "#low", "#high", "unit", "evidence"];
const STEP: f64 = 17.0;
/// Lines that are drawn before the rest is only counted.
const MOST: usize = 96;

struct Line<'a> {
    fact: &'a FactRow,
    activation: &'a str,
    measure: Measure,
}

impl Line<'_> {
    fn group(&self) -> String {
        let types = self.fact.triple.map_or_else(String::new, |triple| triple.pretty());
        format!("{types}, {}, {}", self.fact.path, self.activation)
    }

    fn word(&self) -> &str {
        self.fact.words.split(':').next().unwrap_or_default()
    }
}

/// The drawing; nothing for a run without gains.
pub(crate) fn drawing(reading: &Reading<'_>) -> Option<Drawing> {
    let facts = reading.source.facts.iter().filter(|fact| fact.probe == Probe::Fusion);
    let line = |fact| {
        let activation = fact_name(fact)?;
        Some(Line { fact, activation, measure: Measure::of(fact)? })
    };
    let mut lines: Vec<Line<'_>> = facts.filter_map(line).collect();
    lines.sort_by_key(|line| (line.group(), size_of(line.fact.shape)));
    if lines.is_empty() {
        return None;
    }
    let left_out = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    let win = reading.source.plan.thresholds.win;
    let ends = lines.iter().flat_map(|line| line.measure.ends()).filter(|end| *end > 0.0);
    let scale = Scale::log_around(ends.chain([1.0, win]).map(|end| end.clamp(0.25, 16.0)));
    let cut = if left_out > 0 { format!(" {left_out} further lines are not drawn.") } else { String::new() };
    let caption = format!(
        "Time of the fastest decomposed product over that of the fused one, 95 % interval over fresh processes, logarithmic. Solid line: 1. Dashed: a win, {}.{cut}",
        fixed(win, 2)
    );
    let mut rows = Table::new(&COLUMNS);
    lines.iter().for_each(|line| rows.push(|| fact_row(line.fact)));
    Some(Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption,
        key: vec![
            Entry::new(Symbol::Mark(Kind::Derived), format!("derived from {} rows", reading.source.kind())),
            Entry::new(Symbol::Upright(Stroke::Limit), "threshold of the plan"),
        ],
        origin: "facts `fusion.gain.*` of facts.csv".to_owned(),
        rows,
        wide: plot(&lines, scale, win, WIDE),
        narrow: plot(&lines, scale, win, NARROW),
    })
}

fn fact_name(fact: &FactRow) -> Option<&str> {
    fact.name.strip_prefix("fusion.gain.")
}

fn plot(lines: &[Line<'_>], scale: Scale, win: f64, width: f64) -> Plot {
    let wide = width == WIDE;
    let frame = if wide {
        Frame { width, wide, left: 150.0, right: 470.0 }
    } else {
        Frame { width, wide, left: 4.0, right: width - 4.0 }
    };
    let ticks = scale.ticks(frame.most_ticks() + 2);
    let mut canvas = Canvas::new();
    let mut y = 0.0;
    let mut group = String::new();
    for line in lines {
        if group != line.group() {
            group = line.group();
            y = heading(&mut canvas, &frame, &group, y);
        }
        let shape = line.fact.shape.map(shape_words).unwrap_or_default();
        let value = line.measure.words(ratio);
        canvas.open(&format!("{group}, {shape}: {value}; {}", line.fact.words));
        let at = if wide {
            canvas.text(140.0, y + 13.0, Anchor::End, Letters::Small, &fit(&shape, Letters::Small, 136.0));
            canvas.text(612.0, y + 13.0, Anchor::End, Letters::Number, &value);
            canvas.text(628.0, y + 13.0, Anchor::Start, Letters::Plain, &fit(line.word(), Letters::Plain, 92.0));
            y
        } else {
            canvas.text(0.0, y + 11.0, Anchor::Start, Letters::Small, &fit(&shape, Letters::Small, 120.0));
            canvas.text(width, y + 11.0, Anchor::End, Letters::Number, &format!("{value} {}", line.word()));
            y + 13.0
        };
        frame.grid(&mut canvas, scale, &ticks, at, at + STEP);
        for (value, stroke) in [(1.0, Stroke::Axis), (win, Stroke::Limit)] {
            let x = frame.x(scale, value);
            canvas.line((x, at), (x, at + STEP), stroke);
        }
        let middle = at + STEP / 2.0;
        if let (Some(low), Some(high)) = (line.measure.low, line.measure.high) {
            canvas.line((frame.x(scale, low), middle), (frame.x(scale, high), middle), Stroke::Derived);
        }
        match scale.place(line.measure.value) {
            low if low < 0.0 => canvas.text(frame.left, middle + 4.0, Anchor::Start, Letters::Strong, "‹"),
            high if high > 1.0 => canvas.text(frame.right, middle + 4.0, Anchor::End, Letters::Strong, "›"),
            _ => Kind::Derived.mark(&mut canvas, frame.x(scale, line.measure.value), middle, 3.2),
        }
        canvas.close();
        y = at + STEP;
    }
    canvas.line((frame.left, y + 2.0), (frame.right, y + 2.0), Stroke::Axis);
    frame.labels(&mut canvas, scale, &ticks, y + 17.0);
    Plot { canvas, height: y + 26.0 }
}
