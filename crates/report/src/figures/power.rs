//! What does each energy meter read at idle and under one steady load a path?

use super::rows::{Frame, heading};
use crate::figure::{Drawing, Entry, NARROW, Plot, Symbol, WIDE, fit};
use crate::kind::Kind;
use crate::numbers::significant;
use crate::reading::Reading;
use crate::scale::Scale;
use crate::svg::{Anchor, Canvas, Letters};
use crate::table::Table;
use rigel_ledger::CellId;
use rigel_ledger::facts::phase_powers;
use std::collections::BTreeMap;

const NAME: &str = "power.svg";
const TITLE: &str = "Power by meter, at idle and under one steady load a path";
const COLUMNS: [&str; 5] = ["meter", "load", "type triple", "cell", "#power (W)"];
const STEP: f64 = 20.0;

/// One meter and its loads: name, triple, cell, W; no power where the counter stood still all the time.
struct Meter {
    name: String,
    loads: Vec<(String, String, String, Option<f64>)>,
}

/// The figure, or none for a run without readings: whether a meter is missing is told among what did not count.
pub(crate) fn drawing(reading: &Reading<'_>) -> Option<Drawing> {
    let meters = meters(reading);
    if meters.is_empty() {
        return None;
    }
    let own = Kind::of_run(reading.source.simulated());
    let still = meters.iter().flat_map(|meter| &meter.loads).any(|load| load.3.is_none());
    let still = if still { " A counter that never moved reads nothing, which is not 0 W." } else { "" };
    let scale = Scale::from_zero(meters.iter().flat_map(|meter| &meter.loads).filter_map(|load| load.3));
    Some(Drawing {
        name: NAME,
        title: TITLE.to_owned(),
        caption: format!(
            "Energy over time between the first and the last reading of a window, or the mean of power readings. A load is a path’s ceiling loop.{still}"
        ),
        key: vec![Entry::new(Symbol::Mark(Kind::Derived), format!("derived from {} readings", own.word()))],
        origin: "rows of power.csv".to_owned(),
        rows: table(&meters),
        wide: plot(&meters, scale, WIDE),
        narrow: plot(&meters, scale, NARROW),
    })
}

fn meters(reading: &Reading<'_>) -> Vec<Meter> {
    let cells: BTreeMap<CellId, _> = reading.source.cells.iter().map(|row| (row.cell, row)).collect();
    let mut meters: Vec<Meter> = Vec::new();
    for power in phase_powers(reading.source.power) {
        let row = power.phase.parse::<CellId>().ok().and_then(|id| cells.get(&id));
        let load = row.map_or_else(|| power.phase.clone(), |row| row.path.clone());
        let triple = row.map(|row| row.triple.pretty()).unwrap_or_default();
        let cell = if row.is_some() { power.phase } else { String::new() };
        let line = (load, triple, cell, power.watts);
        match meters.last_mut().filter(|meter| meter.name == power.meter) {
            Some(meter) => meter.loads.push(line),
            None => meters.push(Meter { name: power.meter, loads: vec![line] }),
        }
    }
    meters
}

fn plot(meters: &[Meter], scale: Scale, width: f64) -> Plot {
    let wide = width == WIDE;
    let left = if wide { 204.0 } else { 132.0 };
    let frame = Frame { width, wide, left, right: width - 64.0 };
    let ticks = scale.ticks(frame.most_ticks());
    let mut canvas = Canvas::new();
    let mut y = 0.0;
    for meter in meters {
        y = heading(&mut canvas, &frame, &meter.name, y);
        let end = y + STEP * meter.loads.len() as f64;
        frame.grid(&mut canvas, scale, &ticks, y, end);
        for (load, triple, _, watts) in &meter.loads {
            let base = y + 13.0;
            let name = if triple.is_empty() { load.clone() } else { format!("{load} {triple}") };
            canvas.text(0.0, base, Anchor::Start, Letters::Plain, &fit(&name, Letters::Plain, left - 12.0));
            let number = match watts {
                Some(watts) => {
                    Kind::Derived.mark(&mut canvas, frame.x(scale, *watts), base - 4.0, 3.4);
                    format!("{} W", significant(*watts, 3))
                }
                None => "no move".to_owned(),
            };
            canvas.text(width, base, Anchor::End, Letters::Number, &number);
            y += STEP;
        }
        y += 4.0;
    }
    frame.labels(&mut canvas, scale, &ticks, y + 12.0);
    canvas.text(width, y + 12.0, Anchor::End, Letters::Small, "W");
    Plot { canvas, height: y + 18.0 }
}

fn table(meters: &[Meter]) -> Table {
    let mut table = Table::new(&COLUMNS);
    for (meter, load) in meters.iter().flat_map(|meter| meter.loads.iter().map(move |load| (meter, load))) {
        let (name, triple, cell, watts) = load;
        table.push(|| {
            let watts = watts.map(|watts| significant(watts, 4)).unwrap_or_default();
            vec![meter.name.clone(), name.clone(), triple.clone(), cell.clone(), watts]
        });
    }
    table
}
