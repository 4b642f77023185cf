//! Which lane holds which element, as a picture?
//!
//! Every element of the operand is a field, coloured by its lane and, where there is room, named `lane:slot`. Where there is none,
//! the upper left corner is drawn again below, large enough to be named. A field with several holders is divided between them.

use super::lane_colour::{colour_rules, of_lane};
use crate::figure::{WIDE, wrap};
use crate::kind::Kind;
use crate::numbers::coordinate;
use crate::svg::{Anchor, Canvas, Fill, Letters, Stroke};
use crate::theme;
use rigel_numerics::layout::{FragmentOperand, Layout};
use std::fmt::Write as _;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub struct LayoutPicture<'a> {
    /// The layout.
    pub layout: &'a Layout,
    /// Of which operand.
    pub operand: FragmentOperand,
    /// The unit or instruction.
    pub name: &'a str,
    /// Where it comes from: measured, simulated, published, …
    pub kind: Kind,
    /// Source, driver and convention, in words.
    pub origin: &'a str,
}

const MARGIN: f64 = 20.0;
/// Room for row numbers.
const LEFT: f64 = 34.0;
/// Height of a field that is named.
const NAMED: f64 = 20.0;
/// Widest field.
const WIDEST: f64 = 48.0;
/// Rows and columns of the corner that is drawn again.
const CORNER: (usize, usize) = (16, 16);
/// Holders of one field that are named; more are counted.
const HOLDERS: usize = 2;

/// The holders of every element: (lane, slot), row by row.
type Holders = Vec<Vec<(usize, usize)>>;

/// The picture as a whole SVG document; the same bytes on every machine.
pub fn layout_picture(picture: LayoutPicture<'_>) -> String {
    let (canvas, height, title) = draw(&picture);
    let style = format!("{}{}", theme::drawing_css(), colour_rules(picture.layout.lanes()));
    canvas.finish(WIDE + 2.0 * MARGIN, height, &title, "", &style)
}

/// The picture for a page, which brings the style.
pub(crate) fn inline(picture: LayoutPicture<'_>) -> String {
    let (canvas, height, title) = draw(&picture);
    canvas.finish(WIDE + 2.0 * MARGIN, height, &title, "drawing", "")
}

/// The style of the lanes of pictures in a page.
pub(crate) fn style(lanes: usize) -> String {
    colour_rules(lanes)
}

/// Everything that is drawn, how high it is and its title.
fn draw(picture: &LayoutPicture<'_>) -> (Canvas, f64, String) {
    let layout = picture.layout;
    let (rows, cols) = (layout.rows(), layout.cols());
    let (lanes, slots) = (layout.lanes(), layout.slots());
    let title = format!("{}: {} ({rows} × {cols}) in {lanes} lanes of {slots} slots", picture.name, picture.operand);
    let mut canvas = Canvas::new();
    let mut y = MARGIN;
    for line in wrap(&title, Letters::Head, WIDE) {
        y += 20.0;
        canvas.text(MARGIN, y, Anchor::Start, Letters::Head, &line);
    }
    let holders = holders(layout);
    let map = Map::new((rows, cols), &holders);
    let key = if map.named { "Fields are named lane:slot" } else { "Fields are coloured by lane" };
    let about = [format!("{} · {}", picture.kind.word(), picture.origin), describe(layout), key.to_owned()];
    for line in about.iter().flat_map(|text| wrap(text, Letters::Quiet, WIDE)) {
        y += 18.0;
        canvas.text(MARGIN, y, Anchor::Start, Letters::Quiet, &line);
    }
    y += 14.0;
    let top = y;
    y = map.draw(&mut canvas, layout, &holders, y);
    if !map.named {
        let corner = Map { rows: rows.min(CORNER.0), cols: cols.min(CORNER.1), ..map.enlarged(&holders, cols) };
        y += 26.0;
        let words = format!("The upper left {} × {} again, fields named lane:slot", corner.rows, corner.cols);
        canvas.text(MARGIN, y, Anchor::Start, Letters::Strong, &words);
        y = corner.draw(&mut canvas, layout, &holders, y + 10.0);
    }
    if picture.kind == Kind::Simulated {
        canvas.watermark(MARGIN + WIDE / 2.0, (top + y) / 2.0 + 14.0);
    }
    (canvas, y + MARGIN, title)
}

/// How it covers the operand, and its formula where it has one.
fn describe(layout: &Layout) -> String {
    let coverage = layout.coverage().words();
    match (layout.mixed_radix(), layout.affine()) {
        (Ok(digits), _) => format!("{coverage}; {digits}"),
        (_, Ok(map)) => format!("{coverage}; over F2: {map}"),
        (Err(place), _) => format!("{coverage}; no formula: {place}"),
    }
}

fn holders(layout: &Layout) -> Holders {
    let mut holders = vec![Vec::new(); layout.rows() * layout.cols()];
    for (lane, slot, element) in layout.entries() {
        if let Some((row, col)) = element {
            holders[row as usize * layout.cols() + col as usize].push((lane, slot));
        }
    }
    holders
}

/// A drawn part of the operand, from its upper left corner.
#[derive(Clone, Copy)]
struct Map {
    rows: usize,
    cols: usize,
    /// Size of a field.
    field: (f64, f64),
    /// Whether fields carry `lane:slot`.
    named: bool,
}

impl Map {
    fn new((rows, cols): (usize, usize), holders: &Holders) -> Map {
        let width = (WIDE - LEFT) / cols as f64;
        let named = rows <= 64 && width >= widest_name(holders, cols, (rows, cols));
        let field = if named {
            (width.min(WIDEST), NAMED * named_lines(holders))
        } else {
            (width.min(NAMED), (400.0 / rows as f64).clamp(1.5, 12.0))
        };
        Map { rows, cols, field, named }
    }

    /// The same with fields large enough for names.
    fn enlarged(&self, holders: &Holders, cols: usize) -> Map {
        let (rows, shown) = (self.rows.min(CORNER.0), self.cols.min(CORNER.1));
        let width = widest_name(holders, cols, (rows, shown)).min((WIDE - LEFT) / shown as f64);
        Map { field: (width, NAMED * named_lines(holders)), named: true, ..*self }
    }

    /// Draws it below `top`; returns where it ends.
    fn draw(&self, canvas: &mut Canvas, layout: &Layout, holders: &Holders, top: f64) -> f64 {
        let (left, top) = (MARGIN + LEFT, top + 16.0);
        let (width, height) = (self.cols as f64 * self.field.0, self.rows as f64 * self.field.1);
        canvas.rect(left, top, width, height, Fill::Field);
        for lane in 0..layout.lanes() {
            self.lane(canvas, layout, holders, lane, (left, top));
        }
        self.axes(canvas, (left, top));
        if self.named {
            self.names(canvas, layout, holders, (left, top));
        }
        top + height
    }

    /// All fields of a lane as one path, with a tooltip.
    fn lane(&self, canvas: &mut Canvas, layout: &Layout, holders: &Holders, lane: usize, (left, top): (f64, f64)) {
        let mut path = String::new();
        let mut count = 0;
        let (w, h) = self.field;
        for row in 0..self.rows {
            let mut col = 0;
            while col < self.cols {
                let of = &holders[row * layout.cols() + col];
                let share = of.iter().filter(|holder| holder.0 == lane).count();
                count += share;
                if share == 0 {
                    col += 1;
                    continue;
                }
                // Neighbours that this lane holds alone are one rectangle.
                let alone = |c: usize| holders[row * layout.cols() + c].iter().all(|holder| holder.0 == lane);
                let mut run = 1;
                if share == of.len() {
                    while col + run < self.cols
                        && !holders[row * layout.cols() + col + run].is_empty()
                        && alone(col + run)
                    {
                        count += holders[row * layout.cols() + col + run].len();
                        run += 1;
                    }
                }
                let part = w / of.len() as f64;
                let first = of.iter().position(|holder| holder.0 == lane).unwrap_or(0);
                let (x, y) = (left + col as f64 * w, top + row as f64 * h);
                let (x, wide) = if share == of.len() {
                    (x, w * run as f64)
                } else {
                    (x + first as f64 * part, part * share as f64)
                };
                let (x, y, wide, h) = (coordinate(x), coordinate(y), coordinate(wide), coordinate(h));
                write!(path, "M{x} {y}h{wide}v{h}h-{wide}z").unwrap_or(());
                col += run;
            }
        }
        if !path.is_empty() {
            canvas.open(&format!("lane {lane}: {count} elements here"));
            canvas.path(&path, &of_lane(lane));
            canvas.close();
        }
    }

    /// Numbers of rows and columns, and lines between fields, or between blocks of 8 where fields are small.
    fn axes(&self, canvas: &mut Canvas, (left, top): (f64, f64)) {
        let (w, h) = self.field;
        let (width, height) = (self.cols as f64 * w, self.rows as f64 * h);
        let lines = |field: f64| if field >= 8.0 { 1 } else { 8 };
        for row in (0..=self.rows).step_by(lines(h)) {
            let y = top + row as f64 * h;
            canvas.line((left, y), (left + width, y), Stroke::Grid);
        }
        for col in (0..=self.cols).step_by(lines(w)) {
            let x = left + col as f64 * w;
            canvas.line((x, top), (x, top + height), Stroke::Grid);
        }
        for row in (0..self.rows).step_by(step(h, 13.0)) {
            let y = top + (row as f64 + 0.5) * h + 4.0;
            canvas.text(left - 6.0, y, Anchor::End, Letters::Tick, &row.to_string());
        }
        for col in (0..self.cols).step_by(step(w, 26.0)) {
            canvas.text(left + (col as f64 + 0.5) * w, top - 5.0, Anchor::Middle, Letters::Tick, &col.to_string());
        }
    }

    fn names(&self, canvas: &mut Canvas, layout: &Layout, holders: &Holders, (left, top): (f64, f64)) {
        for row in 0..self.rows {
            for col in 0..self.cols {
                let of = &holders[row * layout.cols() + col];
                let x = left + (col as f64 + 0.5) * self.field.0;
                let lines = names(of);
                let height = self.field.1 / lines.len() as f64;
                for (i, line) in lines.iter().enumerate() {
                    let y = top + row as f64 * self.field.1 + (i as f64 + 0.5) * height + 4.0;
                    canvas.text(x, y, Anchor::Middle, Letters::Number, line);
                }
            }
        }
    }
}

/// What stands in a field, line by line.
fn names(of: &[(usize, usize)]) -> Vec<String> {
    let mut lines: Vec<String> = of.iter().take(HOLDERS).map(|(lane, slot)| format!("{lane}:{slot}")).collect();
    if of.is_empty() {
        lines.push("–".to_owned());
    }
    if of.len() > HOLDERS {
        lines.push(format!("+{}", of.len() - HOLDERS));
    }
    lines
}

/// Lines of the fullest field, in units of a field with one.
fn named_lines(holders: &Holders) -> f64 {
    match holders.iter().map(Vec::len).max().unwrap_or(1).min(HOLDERS + 1) {
        0 | 1 => 1.0,
        2 => 1.6,
        _ => 2.3,
    }
}

fn widest_name(holders: &Holders, cols: usize, shown: (usize, usize)) -> f64 {
    let fields = (0..shown.0).flat_map(|row| (0..shown.1).map(move |col| row * cols + col));
    let widths = fields.flat_map(|i| names(&holders[i])).map(|line| Letters::Number.width(&line) + 6.0);
    widths.fold(20.0, f64::max)
}

/// Every how many rows or columns a number stands, so that numbers keep a distance: 1, 2, 4, 8, …
fn step(field: f64, distance: f64) -> usize {
    let mut step = 1;
    while (step as f64) * field < distance {
        step *= 2;
    }
    step
}
