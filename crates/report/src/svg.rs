//! How is a drawing written as SVG, escaped and with the same bytes everywhere?

use crate::numbers::coordinate;
use crate::text::markup;
use std::fmt::Write as _;

/// Where a text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its start is at the point.
    Start,
    /// Its middle is.
    Middle,
    /// Its end is.
    End,
}

/// How a text is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    /// Running text.
    Plain,
    /// Axis labels and asides.
    Quiet,
    /// Small asides.
    Small,
    /// Numbers in columns.
    Number,
    /// Small numbers of an axis.
    Tick,
    /// Group headings.
    Strong,
    /// The figure's title.
    Head,
    /// The word `simulated` beside a title.
    Stamp,
}

impl Letters {
    const fn class(self) -> &'static str {
        match self {
            Letters::Plain => "",
            Letters::Quiet => "quiet",
            Letters::Small => "quiet small",
            Letters::Number => "number",
            Letters::Tick => "quiet small number",
            Letters::Strong => "strong",
            Letters::Head => "head",
            Letters::Stamp => "stamp small",
        }
    }

    /// Rough width of a text in these letters, in user units; errs on the wide side.
    pub fn width(self, text: &str) -> f64 {
        let size = match self {
            Letters::Head => 16.0,
            Letters::Small | Letters::Tick | Letters::Stamp => 11.0,
            _ => 12.0,
        };
        text.chars()
            .map(|c| if matches!(c, 'i' | 'l' | '.' | ',' | ' ' | '·' | '|' | ':' | '1') { 0.38 } else { 0.6 })
            .sum::<f64>()
            * size
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Grid line.
    Grid,
    /// Axis.
    Axis,
    /// Ink, for neutral emphasis.
    Text,
    /// A measured ceiling.
    Ceiling,
    /// A threshold of the plan.
    Limit,
    /// A vendor's stated figure.
    Stated,
    /// Measured.
    Measured,
    /// Derived.
    Derived,
    /// Published by others.
    Published,
    /// A check that said no.
    Bad,
    /// Joins measurements of ordered sizes.
    Trend,
}

impl Stroke {
    const fn class(self) -> &'static str {
        match self {
            Stroke::Grid => "grid",
            Stroke::Axis => "axis",
            Stroke::Text => "ink",
            Stroke::Ceiling => "ceiling",
            Stroke::Limit => "limit",
            Stroke::Stated => "stated",
            Stroke::Measured => "measured",
            Stroke::Derived => "derived",
            Stroke::Published => "published",
            Stroke::Bad => "bad",
            Stroke::Trend => "trend",
        }
    }
}

/// How an area is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Field of a matrix, band of a range.
    Field,
    /// The ground.
    Paper,
    /// Bars of a histogram.
    PaleMeasured,
    /// Band of an interval.
    PaleDerived,
}

impl Fill {
    const fn class(self) -> &'static str {
        match self {
            Fill::Field => "fill-field",
            Fill::Paper => "fill-paper",
            Fill::PaleMeasured => "pale-measured",
            Fill::PaleDerived => "pale-derived",
        }
    }
}

/// A drawing in the making: elements in the order in which they are painted. Lengths are CSS pixels.
#[derive(Debug, Clone, Default)]
pub struct Canvas {
    body: String,
}

impl Canvas {
    /// Nothing drawn yet.
    pub fn new() -> Self {
        Canvas::default()
    }

    /// A straight line.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: Stroke) {
        let path = format!("M{} {}L{} {}", coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2));
        self.path(&path, &format!("line {}", stroke.class()));
    }

    /// A line through several points.
    pub fn polyline(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        if points.len() < 2 {
            return;
        }
        let mut path = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            write!(path, "{}{} {}", if i == 0 { 'M' } else { 'L' }, coordinate(*x), coordinate(*y)).unwrap_or(());
        }
        self.path(&path, &format!("line {}", stroke.class()));
    }

    /// Many small dots as one path: the strip of a distribution.
    pub fn dots(&mut self, points: impl Iterator<Item = (f64, f64)>) {
        let mut path = String::new();
        for (x, y) in points {
            write!(path, "M{} {}h0", crate::numbers::fixed(x, 1), crate::numbers::fixed(y, 1)).unwrap_or(());
        }
        if !path.is_empty() {
            self.path(&path, "strip");
        }
    }

    /// A rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Fill) {
        self.rects(&[(x, y, width, height)], fill);
    }

    /// Rectangles (x, y, width, height) as one path: the bars of a histogram.
    pub fn rects(&mut self, all: &[(f64, f64, f64, f64)], fill: Fill) {
        let mut path = String::new();
        for (x, y, width, height) in all {
            let (x, y, width, height) = (coordinate(*x), coordinate(*y), coordinate(*width), coordinate(*height));
            write!(path, "M{x} {y}h{width}v{height}h-{width}z").unwrap_or(());
        }
        if !path.is_empty() {
            self.path(&path, fill.class());
        }
    }

    /// A closed or open shape given as SVG path data made of [`coordinate`]s.
    pub(crate) fn path(&mut self, data: &str, class: &str) {
        writeln!(self.body, "<path class=\"{class}\" d=\"{data}\"/>").unwrap_or(());
    }

    /// A text. It is escaped here; callers pass it as it stands in the file.
    pub fn text(&mut self, x: f64, y: f64, anchor: Anchor, letters: Letters, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let class = match letters.class() {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let (x, y, text) = (coordinate(x), coordinate(y), markup(text));
        writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{anchor}{class}>{text}</text>").unwrap_or(());
    }

    /// The word `simulated`, large, pale and slanted, centred on a point.
    pub fn watermark(&mut self, x: f64, y: f64) {
        let (x, y) = (coordinate(x), coordinate(y));
        writeln!(
            self.body,
            "<text class=\"watermark\" text-anchor=\"middle\" x=\"{x}\" y=\"{y}\" transform=\"rotate(-14 {x} {y})\">simulated</text>"
        )
        .unwrap_or(());
    }

    /// Paints another drawing on top of this one, moved right and down.
    pub fn place(&mut self, other: &Canvas, right: f64, down: f64) {
        let (right, down) = (coordinate(right), coordinate(down));
        writeln!(self.body, "<g transform=\"translate({right} {down})\">\n{}</g>", other.body).unwrap_or(());
    }

    /// Starts a group whose tooltip is a text; every group is closed by [`Canvas::close`].
    pub fn open(&mut self, tooltip: &str) {
        writeln!(self.body, "<g><title>{}</title>", markup(tooltip)).unwrap_or(());
    }

    /// Ends a group.
    pub fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// The whole document. `style` is put inside; empty where a page brings it.
    pub fn finish(&self, width: f64, height: f64, label: &str, class: &str, style: &str) -> String {
        let (width, height, label) = (coordinate(width), coordinate(height), markup(label));
        let (style, ground) = if style.is_empty() {
            (String::new(), String::new())
        } else {
            let ground = format!("<path class=\"fill-paper\" d=\"M0 0h{width}v{height}h-{width}z\"/>\n");
            (format!("<style>\n{style}</style>\n"), ground)
        };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"{class} width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">\n{style}{ground}{}</svg>\n",
            self.body
        )
    }
}
