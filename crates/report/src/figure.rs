//! What is around every figure: title, key, watermark, the rows it was drawn from and the command that redraws it?

use crate::kind::Kind;
use crate::reading::Reading;
use crate::source::Source;
use crate::svg::{Anchor, Canvas, Letters, Stroke};
use crate::table::Table;
use crate::theme;

/// A finished figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// File name: `throughput.svg`.
    pub name: String,
    /// What it shows, in one sentence.
    pub title: String,
    /// The whole SVG document; the same bytes on every machine.
    pub svg: String,
    /// The rows it was drawn from.
    pub rows: Table,
    /// The command that draws it again.
    pub command: String,
}

/// Width in CSS pixels of a figure's plot on paper and on wide screens.
pub(crate) const WIDE: f64 = 720.0;
/// The same on a phone: 360 pixels less the page's margins.
pub(crate) const NARROW: f64 = 328.0;
const MARGIN: f64 = 20.0;

/// A plot at one width.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plot {
    pub canvas: Canvas,
    pub height: f64,
}

/// What a symbol of the key looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Symbol {
    /// A mark of one of the five kinds.
    Mark(Kind),
    /// An upright line.
    Upright(Stroke),
    /// A cross: a row that does not count.
    Cross,
}

/// One line of the key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub symbol: Symbol,
    pub words: String,
}

impl Entry {
    pub fn new(symbol: Symbol, words: impl Into<String>) -> Self {
        Entry { symbol, words: words.into() }
    }
}

/// A figure before it is framed: for a file of its own or for a place in a page.
#[derive(Debug, Clone)]
pub(crate) struct Drawing {
    pub name: &'static str,
    pub title: String,
    /// How to read it and what was left out.
    pub caption: String,
    pub key: Vec<Entry>,
    /// Which rows it was drawn from, in words.
    pub origin: String,
    pub rows: Table,
    pub wide: Plot,
    pub narrow: Plot,
}

impl Drawing {
    /// A drawing that says what is missing.
    pub fn missing(name: &'static str, title: &str, reason: &str, origin: &str, columns: &[&'static str]) -> Self {
        let plot = |width: f64| {
            let mut canvas = Canvas::new();
            canvas.line((0.0, 0.5), (width, 0.5), Stroke::Grid);
            let mut y = 24.0;
            for line in wrap(reason, Letters::Plain, width) {
                canvas.text(0.0, y, Anchor::Start, Letters::Plain, &line);
                y += 18.0;
            }
            canvas.line((0.0, y - 6.5), (width, y - 6.5), Stroke::Grid);
            Plot { canvas, height: y }
        };
        Drawing {
            name,
            title: title.to_owned(),
            caption: String::new(),
            key: Vec::new(),
            origin: origin.to_owned(),
            rows: Table::new(columns),
            wide: plot(WIDE),
            narrow: plot(NARROW),
        }
    }

    /// The SVG for a page, at one width: no title (the page has it) and no style (the page brings it).
    pub fn inline(&self, reading: &Reading<'_>, wide: bool) -> String {
        let (plot, width, class) =
            if wide { (&self.wide, WIDE, "drawing wide") } else { (&self.narrow, NARROW, "drawing narrow") };
        let mut canvas = Canvas::new();
        let top = draw_key(&mut canvas, &self.key, 0.0, 0.0, width);
        let height = top + plot.height;
        watermark(&mut canvas, reading.source, 0.0, top, width, plot.height);
        canvas.place(&plot.canvas, 0.0, top);
        canvas.finish(width, height, &self.label(reading.source), class, "")
    }

    /// The finished figure with everything it needs to travel alone.
    pub fn finish(self, reading: &Reading<'_>) -> Figure {
        let source = reading.source;
        let mut canvas = Canvas::new();
        let mut y = MARGIN;
        for line in wrap(&self.title, Letters::Head, WIDE) {
            y += 20.0;
            canvas.text(MARGIN, y, Anchor::Start, Letters::Head, &line);
        }
        let sealed = if source.sealed() { "" } else { " · not sealed" };
        let about = format!("{} · {} · run {}{sealed}", source.kind(), source.devices(), source.runs());
        for line in wrap(&about, Letters::Quiet, WIDE).into_iter().chain(wrap(&self.caption, Letters::Quiet, WIDE)) {
            y += 18.0;
            canvas.text(MARGIN, y, Anchor::Start, Letters::Quiet, &line);
        }
        y = draw_key(&mut canvas, &self.key, MARGIN, y + 12.0, WIDE);
        watermark(&mut canvas, source, MARGIN, y, WIDE, self.wide.height);
        canvas.place(&self.wide.canvas, MARGIN, y);
        y += self.wide.height + 10.0;
        let command = source.figures_command();
        let footer = [format!("Rows: {} · code {}", self.origin, source.commits()), format!("Redraw: {command}")];
        for line in footer.iter().flat_map(|text| wrap(text, Letters::Small, WIDE)) {
            y += 15.0;
            canvas.text(MARGIN, y, Anchor::Start, Letters::Small, &line);
        }
        let label = self.label(source);
        let svg = canvas.finish(WIDE + 2.0 * MARGIN, y + MARGIN, &label, "", &theme::drawing_css());
        Figure { name: self.name.to_owned(), title: self.title, svg, rows: self.rows, command }
    }

    fn label(&self, source: Source<'_>) -> String {
        if source.simulated() { format!("{} (simulated)", self.title) } else { self.title.clone() }
    }
}

/// Marks a drawing of simulated rows over its whole area, behind the data.
fn watermark(canvas: &mut Canvas, source: Source<'_>, left: f64, top: f64, width: f64, height: f64) {
    if !source.simulated() {
        return;
    }
    let step = 300.0;
    let n = (height / step).ceil().max(1.0);
    let mut i = 0.0;
    while i < n {
        canvas.watermark(left + width / 2.0, top + (i + 0.5) * height / n + 14.0);
        i += 1.0;
    }
}

/// Draws the key in as many lines as it needs; returns where the plot may start.
fn draw_key(canvas: &mut Canvas, key: &[Entry], left: f64, top: f64, width: f64) -> f64 {
    if key.is_empty() {
        return top;
    }
    let (mut x, mut y) = (0.0, top + 10.0);
    for entry in key {
        let room = 18.0 + Letters::Quiet.width(&entry.words);
        if x > 0.0 && x + room > width {
            x = 0.0;
            y += 18.0;
        }
        let (cx, cy) = (left + x + 6.0, y - 4.0);
        match entry.symbol {
            Symbol::Mark(Kind::Stated) => canvas.line((cx, cy - 7.0), (cx, cy + 7.0), Stroke::Stated),
            Symbol::Mark(kind) => kind.mark(canvas, cx, cy, 3.4),
            Symbol::Upright(stroke) => canvas.line((cx, cy - 7.0), (cx, cy + 7.0), stroke),
            Symbol::Cross => cross(canvas, cx, cy, 3.4),
        }
        let mut first = true;
        for line in wrap(&entry.words, Letters::Quiet, width - x - 18.0) {
            if !first {
                y += 16.0;
            }
            canvas.text(left + x + 16.0, y, Anchor::Start, Letters::Quiet, &line);
            first = false;
        }
        x += room + 14.0;
    }
    y + 14.0
}

/// A cross: something that was tried and does not count.
pub(crate) fn cross(canvas: &mut Canvas, x: f64, y: f64, size: f64) {
    canvas.line((x - size, y - size), (x + size, y + size), Stroke::Bad);
    canvas.line((x - size, y + size), (x + size, y - size), Stroke::Bad);
}

/// Breaks a text into lines that fit a width, at spaces; a longer word stands alone on its line.
pub(crate) fn wrap(text: &str, letters: Letters, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let text = crate::text::visible(text);
    for word in text.split(' ').filter(|w| !w.is_empty()) {
        match lines.last_mut() {
            Some(line) if letters.width(line) + letters.width(word) + 4.0 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Shortens a text until it fits a width, with an ellipsis.
pub(crate) fn fit(text: &str, letters: Letters, width: f64) -> String {
    let text = crate::text::visible(text);
    if letters.width(&text) <= width {
        return text;
    }
    let mut kept: String = text;
    while !kept.is_empty() && letters.width(&kept) + letters.width("…") > width {
        kept.pop();
    }
    kept.push('…');
    kept
}
