//! Which of the five kinds of number is a mark, and how is that seen?

use crate::numbers::coordinate;
use crate::svg::Canvas;

/// Where a number comes from. The kinds are never mixed and always told apart by shape, not by colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A run on a physical processor: a filled circle.
    Measured,
    /// A run on a device with planted facts: a hollow circle.
    Simulated,
    /// From measured or simulated rows by a shown formula: a diamond.
    Derived,
    /// A vendor's document: a dashed upright line.
    Stated,
    /// Somebody else's publication: a hollow triangle.
    Published,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 5] = [Kind::Measured, Kind::Simulated, Kind::Derived, Kind::Stated, Kind::Published];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Simulated => "simulated",
            Kind::Derived => "derived",
            Kind::Stated => "stated",
            Kind::Published => "published",
        }
    }

    /// The kind of a run's own rows.
    pub const fn of_run(simulated: bool) -> Self {
        if simulated { Kind::Simulated } else { Kind::Measured }
    }

    /// Draws its mark, centred on a point; `size` is the radius of a circle, others look equally large.
    pub fn mark(self, canvas: &mut Canvas, x: f64, y: f64, size: f64) {
        let c = coordinate;
        match self {
            Kind::Measured | Kind::Simulated => {
                let class = if self == Kind::Measured { "fill-measured" } else { "hollow measured" };
                let (r, d) = (c(size), c(2.0 * size));
                let path = format!("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z", c(x - size), c(y));
                canvas.path(&path, class);
            }
            Kind::Derived => {
                let s = size * 1.3;
                let (s, s2) = (c(s), c(y - s));
                canvas.path(&format!("M{} {s2}l{s} {s}l-{s} {s}l-{s}-{s}z", c(x)), "fill-derived");
            }
            Kind::Stated => {
                let h = size * 2.0;
                canvas.path(&format!("M{} {}v{}", c(x), c(y - h), c(2.0 * h)), "line stated");
            }
            Kind::Published => {
                let (w, h) = (size * 1.25, size * 2.1);
                let path = format!("M{} {}l{} {}h-{}z", c(x), c(y - h * 0.6), c(w), c(h), c(2.0 * w));
                canvas.path(&path, "hollow published");
            }
        }
    }
}
