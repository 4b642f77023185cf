//! How far up the ladder does each path and type triple get?

use super::rows::{Frame, cut_note, heading, shown};
use crate::figure::{Drawing, NARROW, Plot, WIDE, cross, fit};
use crate::reading::{Reading, Subject};
use crate::svg::{Anchor, Canvas, Fill, Letters, Stroke};
use crate::table::Table;
use rigel_ledger::FactRow;

const NAME: &str = "ladder.svg";
const TITLE: &str = "The capability ladder: what is advertised, and what holds";
const COLUMNS: [&str; 5] = ["path", "triple", "rung", "answer", "reason"];
/// Rungs from the bottom: the part of the fact's name after `rung.`, and how the column is headed.
const RUNGS: [(&str, &str); 6] = [
    ("rung.advertised", "advertised"),
    ("rung.compiles", "compiles"),
    ("rung.loads", "loads"),
    ("rung.runs", "runs"),
    ("rung.right", "right"),
    ("rung.faster", "faster"),
];

type Rungs<'a> = [Option<&'a FactRow>; 6];

pub(crate) fn drawing(reading: &Reading<'_>) -> Drawing {
    let (rows, total) = shown(&reading.subjects, |subject| {
        let rungs: Rungs<'_> = RUNGS.map(|(name, _)| reading.fact(name, subject));
        rungs.iter().any(Option::is_some).then_some(rungs)
    });
    let origin = "facts `rung.*` of facts.csv";
    if rows.is_empty() {
        let reason = "Nothing to draw: the probe `types` left no rung in this run.";
        return Drawing::missing(NAME, TITLE, reason, origin, &COLUMNS);
    }
    Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption: format!(
            "Each rung is answered on its own: yes, no, undecided or not tried, with the reason in the rows. Right: every shape of the fixed set. Faster: the whole interval against the match above 1.{}",
            cut_note(rows.len(), total)
        ),
        key: Vec::new(),
        origin: origin.to_owned(),
        rows: table(reading),
        wide: plot(&rows, WIDE),
        narrow: plot(&rows, NARROW),
    }
}

fn plot(rows: &[(Subject<'_>, Rungs<'_>)], width: f64) -> Plot {
    let wide = width == WIDE;
    let frame = Frame { width, wide, left: if wide { 132.0 } else { 0.0 }, right: width };
    let step = (frame.right - frame.left) / RUNGS.len() as f64;
    let mut canvas = Canvas::new();
    let center = |i: usize| frame.left + step * (i as f64 + 0.5);
    for (i, (_, head)) in RUNGS.iter().enumerate() {
        let raised = !wide && i % 2 == 0;
        canvas.text(center(i), if raised || wide { 12.0 } else { 25.0 }, Anchor::Middle, Letters::Small, head);
    }
    let mut y = if wide { 14.0 } else { 27.0 };
    let mut path = None;
    for (subject, rungs) in rows {
        if path != Some(subject.path) {
            y = heading(&mut canvas, &frame, subject.path, y);
            path = Some(subject.path);
        }
        let triple = subject.triple.pretty();
        if wide {
            canvas.text(0.0, y + 15.0, Anchor::Start, Letters::Plain, &fit(&triple, Letters::Plain, 124.0));
        } else {
            canvas.text(0.0, y + 12.0, Anchor::Start, Letters::Plain, &fit(&triple, Letters::Plain, width));
            y += 17.0;
        }
        let height = if wide { 20.0 } else { 32.0 };
        for (i, fact) in rungs.iter().enumerate() {
            field(&mut canvas, *subject, RUNGS[i].1, *fact, (center(i), y + 1.0), (step - 3.0, height), wide);
        }
        y += height + if wide { 4.0 } else { 6.0 };
    }
    Plot { canvas, height: y + 4.0 }
}

fn field(
    canvas: &mut Canvas,
    subject: Subject<'_>,
    rung: &str,
    fact: Option<&FactRow>,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    wide: bool,
) {
    let answer = fact.map_or("not tried", |f| f.value.as_str());
    let reason = fact.map_or("no row", |f| f.words.as_str());
    canvas.open(&format!("{}, {}: {rung}: {answer}. {reason}", subject.path, subject.triple.pretty()));
    let known = matches!(answer, "yes" | "no");
    if known {
        canvas.rect(x - width / 2.0, y, width, height, Fill::Field);
    }
    let (sign, word) = if wide { ((x - 26.0, y + 10.0), (x - 12.0, y + 14.0)) } else { ((x, y + 10.0), (x, y + 27.0)) };
    match answer {
        "yes" => canvas.polyline(
            &[(sign.0 - 4.0, sign.1), (sign.0 - 1.0, sign.1 + 3.5), (sign.0 + 4.5, sign.1 - 4.0)],
            Stroke::Measured,
        ),
        "no" => cross(canvas, sign.0, sign.1, 3.4),
        _ => canvas.line((sign.0 - 3.0, sign.1), (sign.0 + 3.0, sign.1), Stroke::Axis),
    }
    let letters = if known { Letters::Plain } else { Letters::Small };
    let anchor = if wide { Anchor::Start } else { Anchor::Middle };
    canvas.text(
        word.0,
        word.1,
        anchor,
        letters,
        &fit(answer, letters, if wide { width / 2.0 + 12.0 } else { width + 8.0 }),
    );
    canvas.close();
}

fn table(reading: &Reading<'_>) -> Table {
    let mut table = Table::new(&COLUMNS);
    for subject in &reading.subjects {
        for (name, rung) in RUNGS {
            if let Some(fact) = reading.fact(name, *subject) {
                let (path, triple) = (subject.path.to_owned(), subject.triple.to_string());
                table.push(|| vec![path, triple, rung.to_owned(), fact.value.clone(), fact.words.clone()]);
            }
        }
    }
    table
}
