//! How do figures of one line per path and type triple share their columns, headings and axes?

use crate::figure::fit;
use crate::reading::Subject;
use crate::scale::{Scale, Tick};
use crate::svg::{Anchor, Canvas, Letters, Stroke};

/// Lines of one kind of figure before the rest is only counted.
pub(crate) const MOST: usize = 48;

/// Left and right edges of the plot inside a drawing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    /// Width of the whole drawing.
    pub width: f64,
    /// Whether names stand left of the plot; otherwise above it.
    pub wide: bool,
    /// Left edge of the plot.
    pub left: f64,
    /// Right edge.
    pub right: f64,
}

impl Frame {
    /// The x coordinate of a value.
    pub fn x(&self, scale: Scale, value: f64) -> f64 {
        self.left + scale.place(value).clamp(-0.02, 1.02) * (self.right - self.left)
    }

    /// Most ticks that leave room for their labels.
    pub fn most_ticks(&self) -> usize {
        ((self.right - self.left) / 44.0) as usize
    }

    /// Upright grid lines from y to y.
    pub fn grid(&self, canvas: &mut Canvas, scale: Scale, ticks: &[Tick], from: f64, to: f64) {
        for tick in ticks {
            let x = self.x(scale, tick.value);
            canvas.line((x, from), (x, to), Stroke::Grid);
        }
    }

    /// Labels of the axis, baseline at y.
    pub fn labels(&self, canvas: &mut Canvas, scale: Scale, ticks: &[Tick], y: f64) {
        for tick in ticks {
            let (x, half) = (self.x(scale, tick.value), Letters::Tick.width(&tick.label) / 2.0);
            let (x, anchor) = match x {
                x if x < half => (0.0, Anchor::Start),
                x if x + half > self.width => (self.width, Anchor::End),
                x => (x, Anchor::Middle),
            };
            canvas.text(x, y, anchor, Letters::Tick, &tick.label);
        }
    }
}

/// Heading of a path, with a rule over the whole width; returns the y below it.
pub(crate) fn heading(canvas: &mut Canvas, frame: &Frame, path: &str, y: f64) -> f64 {
    canvas.line((0.0, y + 6.0), (frame.width, y + 6.0), Stroke::Grid);
    canvas.text(0.0, y + 22.0, Anchor::Start, Letters::Strong, &fit(path, Letters::Plain, frame.width));
    y + 28.0
}

/// Subjects that have something to show, cut to [`MOST`]; also how many there were.
pub(crate) fn shown<'a, T>(
    subjects: &[Subject<'a>],
    row: impl Fn(Subject<'a>) -> Option<T>,
) -> (Vec<(Subject<'a>, T)>, usize) {
    let mut kept = Vec::new();
    let mut total = 0;
    for subject in subjects {
        if let Some(row) = row(*subject) {
            total += 1;
            if kept.len() < MOST {
                kept.push((*subject, row));
            }
        }
    }
    (kept, total)
}

/// ` The first 48 of 812 pairs of path and type triple are drawn.`, or nothing when all are.
pub(crate) fn cut_note(drawn: usize, total: usize) -> String {
    if drawn == total {
        return String::new();
    }
    let (drawn, total) = (crate::numbers::count(drawn), crate::numbers::count(total));
    format!(" The first {drawn} of {total} pairs of path and type triple are drawn.")
}
