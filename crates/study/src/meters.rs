//! What do the device's meters read at idle and under steady loads?
//!
//! Loads are ceiling loops, which keep one unit busy and touch no memory, and products that were gated before. Meters update every
//! millisecond (RAPL) to every hundred (NVML), so each phase is a window much longer than that and is read [`READINGS`] times; a reading's
//! phase is `idle` or the id of the cell that ran. Neighbouring readings of one phase give power. Where energy is asked, operations
//! done so far stand beside each reading, and a phase `period` has one reading each time that a meter's value had changed.

use crate::climb::{Compiled, Prepared, Stopped};
use crate::gate::Gatekeeper;
use crate::order::{Event, MeterReading, Stage};
use crate::spent::Spent;
use rigel_device::{Cache, Device, Meter};
use rigel_ledger::facts::power::{IDLE, OPERATIONS, PERIOD};
use rigel_ledger::rows::{CellId, Identity};
use rigel_numerics::Time;

/// Readings of a window, besides the one at its begin.
const READINGS: u32 = 10;
/// Repetitions of a load between two readings, at most.
const MOST_REPETITIONS: u64 = 1 << 20;
/// How often a meter is asked whether it changed: every so long, so many times.
const LOOK: Time = Time(500_000_000);
const LOOKS: u32 = 4000;
/// Changes of one meter that are kept.
const CHANGES: usize = 100;

/// What loads run on.
pub struct Loads<'a> {
    /// The device.
    pub device: &'a mut dyn Device,
    /// Who makes operands.
    pub gatekeeper: Gatekeeper,
    /// Whether operations are counted and update periods measured.
    pub energy: bool,
}

/// Reads all meters over one window of idling and one of each cell's load. Without a meter nothing is run.
///
/// # Errors
/// The index of the cell whose load stopped, when the device does not answer any more.
pub fn read(
    loads: &mut Loads<'_>,
    cells: &[Identity],
    window: Time,
    spent: &mut Spent,
    say: &mut dyn FnMut(Event),
) -> Result<(), (usize, Stopped)> {
    let (meters, _) = loads.device.meters();
    let mut board = Board { meters, readings: Vec::new(), operations: loads.energy.then_some(0.0) };
    if board.meters.is_empty() {
        return Ok(());
    }
    let slice = Time(window.0 / u64::from(READINGS));
    board.take(IDLE, say);
    for _ in 0..READINGS {
        say(Event::At { cell: 0, stage: Stage::Meters });
        spent.wait(|| loads.device.idle(slice));
        board.take(IDLE, say);
    }
    if loads.energy {
        say(Event::At { cell: 0, stage: Stage::Meters });
        spent.wait(|| board.periods(loads.device));
    }
    for (index, cell) in cells.iter().enumerate() {
        say(Event::At { cell: index, stage: Stage::Meters });
        if let Err(stopped) = load(loads, (index, cell), slice, &mut board, spent, say) {
            if stopped.outcome == rigel_ledger::Outcome::DeviceLost {
                return Err((index, stopped));
            }
            say(Event::Note(format!("no meter was read under {} {}: {}", cell.path, cell.triple, stopped.reason)));
        }
        loads.gatekeeper.forget();
    }
    say(Event::Readings(board.readings));
    Ok(())
}

/// One window of a cell's load.
fn load(
    loads: &mut Loads<'_>,
    (index, cell): (usize, &Identity),
    slice: Time,
    board: &mut Board,
    spent: &mut Spent,
    say: &mut dyn FnMut(Event),
) -> Result<(), Stopped> {
    let at = &mut |cell, stage| say(Event::At { cell, stage });
    let mut prepared = Prepared::new(loads.device, &mut loads.gatekeeper, index, cell, at, spent)?;
    let operations = prepared.operations().unwrap_or_default() as f64;
    let phase = CellId::of(cell).to_string();
    // The first run warms up and tells how many repetitions fill a slice.
    let samples = spent.run(|| match &mut prepared.compiled {
        Compiled::Ceiling(ceiling) => ceiling.run(2),
        Compiled::Product { gemm, .. } => gemm.run(2, Cache::Warm),
    })?;
    let each = samples.iter().map(|sample| sample.time.0).max().unwrap_or(0).max(1);
    let repetitions = (slice.0 / each).clamp(1, MOST_REPETITIONS) as usize;
    let mut run = || match &mut prepared.compiled {
        Compiled::Ceiling(ceiling) => ceiling.repeat(repetitions),
        Compiled::Product { gemm, .. } => gemm.repeat(repetitions),
    };
    spent.load(&mut run)?;
    board.take(&phase, say);
    for _ in 0..READINGS {
        say(Event::At { cell: index, stage: Stage::Meters });
        spent.load(&mut run)?;
        board.did(operations * repetitions as f64);
        board.take(&phase, say);
    }
    Ok(())
}

/// The meters that still answer, with what they said.
struct Board {
    meters: Vec<Box<dyn Meter>>,
    readings: Vec<MeterReading>,
    /// Operations so far, where they are counted.
    operations: Option<f64>,
}

impl Board {
    fn did(&mut self, operations: f64) {
        self.operations = self.operations.map(|before| before + operations);
    }

    /// Looks at one meter after another, often, and keeps a reading each time that its value had changed.
    fn periods(&mut self, device: &mut dyn Device) {
        for meter in &mut self.meters {
            let (mut last, mut changes) = (None, 0);
            for _ in 0..LOOKS {
                device.idle(LOOK);
                let Ok(reading) = meter.read() else { break };
                if last.replace(reading.value).is_some_and(|last: f64| last != reading.value) {
                    changes += 1;
                    self.readings.push(MeterReading {
                        meter: meter.name().to_owned(),
                        unit: meter.unit().to_owned(),
                        time: reading.time.0,
                        value: reading.value,
                        phase: PERIOD.to_owned(),
                    });
                }
                if changes == CHANGES {
                    break;
                }
            }
        }
    }

    /// Reads every meter once; one that cannot be read is not asked again.
    fn take(&mut self, phase: &str, say: &mut dyn FnMut(Event)) {
        let readings = &mut self.readings;
        let mut time = None;
        self.meters.retain_mut(|meter| match meter.read() {
            Ok(reading) => {
                // Operations are counted at the time of the energy that they took.
                if time.is_none() || meter.unit() == "J" {
                    time = Some(reading.time.0);
                }
                readings.push(MeterReading {
                    meter: meter.name().to_owned(),
                    unit: meter.unit().to_owned(),
                    time: reading.time.0,
                    value: reading.value,
                    phase: phase.to_owned(),
                });
                true
            }
            Err(why) => {
                say(Event::Note(format!("the meter {} cannot be read any more: {why}", meter.name())));
                false
            }
        });
        if let (Some(value), Some(time)) = (self.operations, time) {
            let (meter, unit, phase) = (OPERATIONS.to_owned(), "op".to_owned(), phase.to_owned());
            readings.push(MeterReading { meter, unit, time, value, phase });
        }
    }
}
