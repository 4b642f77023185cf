//! Which addresses of operands does each path take, and which are slow?

use super::rows::{Frame, heading};
use crate::demands::{Found, Line, lines};
use crate::figure::{Drawing, NARROW, Plot, WIDE, cross, fit};
use crate::numbers::fixed;
use crate::reading::Reading;
use crate::svg::{Anchor, Canvas, Fill, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::FactRow;
use rigel_ledger::plan::AlignmentAxes;
use rigel_numerics::placement::Placement;

const NAME: &str = "addresses.svg";
const TITLE: &str = "Addresses of operands: refused, wrong, slow or fine";
const COLUMNS: [&str; 8] =
    ["path", "types", "M×N×K", "launch tile", "offset/distance", "word", "time over aligned", "words"];
/// Lines that are drawn before the rest is only counted.
const MOST: usize = 48;

/// The drawing; nothing for a run that placed no operands.
pub(crate) fn drawing(reading: &Reading<'_>) -> Option<Drawing> {
    let axes = reading.source.plan.alignment.as_ref()?;
    let all = lines(reading.source);
    if all.is_empty() {
        return None;
    }
    let drawn: Vec<(&Line<'_>, &Found<'_>)> = all.iter().take(MOST).collect();
    let cut = match all.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" {more} further lines are not drawn."),
    };
    let mut rows = Table::new(&COLUMNS);
    for (line, found) in &all {
        for (place, fact) in &found.words {
            let ratio = found.ratios.get(place).map_or_else(String::new, |ratio| ratio.value.clone());
            let (types, shape) = (line.triple.map(|t| t.pretty()), line.shape.map(|s| s.to_string()));
            rows.push(|| {
                let who = [line.path.to_owned(), types.unwrap_or_default(), shape.unwrap_or_default()];
                let what = [line.tile.clone(), place.to_string(), fact.value.clone(), ratio, fact.words.clone()];
                who.into_iter().chain(what).collect()
            });
        }
    }
    Some(Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption: format!(
            "Both operands begin so many bytes past an aligned address (across); their rows lie so far apart (down): +N, N bytes more than a row has, *N, the next multiple of N. A number is the time over that of {}, the aligned placement. Slow: its whole interval at or above {}.{cut}",
            axes.aligned(),
            fixed(axes.slow, 2)
        ),
        key: Vec::new(),
        origin: "facts `alignment.*` of facts.csv".to_owned(),
        rows,
        wide: plot(&drawn, axes, WIDE),
        narrow: plot(&drawn, axes, NARROW),
    })
}

fn plot(lines: &[(&Line<'_>, &Found<'_>)], axes: &AlignmentAxes, width: f64) -> Plot {
    let wide = width == WIDE;
    let left = if wide { 132.0 } else { 52.0 };
    let frame = Frame { width, wide, left, right: width };
    let step = (frame.right - frame.left) / axes.offsets.len().max(1) as f64;
    let center = |i: usize| frame.left + step * (i as f64 + 0.5);
    let mut canvas = Canvas::new();
    for (i, offset) in axes.offsets.iter().enumerate() {
        let head = if wide { format!("offset {offset} B") } else { format!("{offset} B") };
        canvas.text(center(i), 12.0, Anchor::Middle, Letters::Small, &head);
    }
    let mut y = 14.0;
    for (line, found) in lines {
        let shape = line.shape.map(|shape| shape.to_string()).unwrap_or_default();
        y = heading(&mut canvas, &frame, &format!("{}, {shape}", line.name()), y);
        for &stride in &axes.strides {
            let label = stride.to_string();
            canvas.text(frame.left - 8.0, y + 15.0, Anchor::End, Letters::Small, &label);
            for (i, &offset) in axes.offsets.iter().enumerate() {
                let place = Placement { offset, stride };
                let fact = found.words.get(&place).copied();
                let ratio = found.ratios.get(&place).copied();
                let about = format!("{}, {place}", line.name());
                field(&mut canvas, &about, fact, ratio, (center(i), y + 1.0), step - 3.0);
            }
            y += 23.0;
        }
    }
    Plot { canvas, height: y + 4.0 }
}

fn field(
    canvas: &mut Canvas,
    about: &str,
    fact: Option<&FactRow>,
    ratio: Option<&FactRow>,
    (x, y): (f64, f64),
    width: f64,
) {
    let word = fact.map_or("not tried", |fact| fact.value.as_str());
    canvas.open(&format!("{about}: {word}. {}", fact.map_or("no row", |fact| fact.words.as_str())));
    if matches!(word, "slow" | "fine") {
        let fill = if word == "slow" { Fill::PaleDerived } else { Fill::Field };
        canvas.rect(x - width / 2.0, y, width, 20.0, fill);
    }
    let sign = x - width / 2.0 + 10.0;
    match word {
        "fine" => {
            canvas.polyline(&[(sign - 4.0, y + 10.0), (sign - 1.0, y + 13.5), (sign + 4.5, y + 6.0)], Stroke::Measured)
        }
        "refused" | "wrong" => cross(canvas, sign, y + 10.0, 3.4),
        "slow" => canvas.line((sign - 3.5, y + 10.0), (sign + 3.5, y + 10.0), Stroke::Derived),
        _ => canvas.line((sign - 3.0, y + 10.0), (sign + 3.0, y + 10.0), Stroke::Axis),
    }
    let times = ratio.and_then(|ratio| ratio.value.parse::<f64>().ok());
    let said = match times {
        Some(times) => format!("{word} {}", fixed(times, 2)),
        None => word.to_owned(),
    };
    let letters = if matches!(word, "slow" | "fine") { Letters::Plain } else { Letters::Small };
    canvas.text(sign + 9.0, y + 14.0, Anchor::Start, letters, &fit(&said, letters, width - 20.0));
    canvas.close();
}
