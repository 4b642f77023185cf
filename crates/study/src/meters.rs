//! What do the device's meters read at idle and under steady loads?
//!
//! Loads are ceiling loops, which keep one unit busy and touch no memory, and products that were gated before. Meters update every
//! millisecond (RAPL) to every hundred (NVML), so each phase is a window much longer than that and is read [`READINGS`] times; a reading's
//! phase is `idle` or the id of the cell that ran. Neighbouring readings of one phase give power. Where energy is asked, operations
//! done so far stand beside each reading, and a phase `period` has one reading each time that a meter's value had changed. A meter that
//! fails, or a load that does not run, leaves a cell row that says why.

use crate::climb::{Compiled, Prepared, Stopped};
use crate::gate::Gatekeeper;
use crate::protocol::{Event, Measured, MeterReading, Stage};
use crate::spent::Spent;
use rigel_device::{Cache, Device, Meter};
use rigel_ledger::facts::power::{IDLE, OPERATIONS, PERIOD};
use rigel_ledger::rows::{CellId, CellRow, Identity, Work};
use rigel_ledger::{Outcome, Probe};
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
    let mut board = Board {
        meters,
        readings: Vec::new(),
        operations: loads.energy.then_some(0.0),
        load: cells.first().map(|cell| (0, cell)),
    };
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
        board.load = Some((index, cell));
        say(Event::At { cell: index, stage: Stage::Meters });
        if let Err(stopped) = load(loads, (index, cell), slice, &mut board, spent, say) {
            if stopped.outcome == Outcome::DeviceLost {
                return Err((index, stopped));
            }
            let reason = format!("no meter was read under this load: {}", stopped.reason);
            say(failed(index, cell, &cell.tile, Stopped::new(stopped.outcome, reason)));
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
    board: &mut Board<'_>,
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

/// The row of a meter, or of a load, that left no readings.
fn failed(index: usize, load: &Identity, name: &str, stopped: Stopped) -> Event {
    let identity = row_of(load, name);
    let mut row = CellRow::blank(&identity, 0);
    (row.outcome, row.reason) = (stopped.outcome, stopped.reason);
    Event::Cell(Box::new(Measured { cell: index, row, samples: vec![], witness: vec![] }))
}

/// The identity of such a row: the load's path and triple, and what failed.
pub fn row_of(load: &Identity, name: &str) -> Identity {
    let probe = if load.probe == Probe::Power { Probe::Power } else { Probe::Dispatch };
    Identity { probe, work: Work::Meter, tile: name.to_owned(), ..load.clone() }
}

/// The meters that still answer, with what they said.
struct Board<'a> {
    meters: Vec<Box<dyn Meter>>,
    readings: Vec<MeterReading>,
    /// Operations so far, where they are counted.
    operations: Option<f64>,
    /// The load that runs or, at idle, the one to come; a meter that fails has its row beside it.
    load: Option<(usize, &'a Identity)>,
}

impl Board<'_> {
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
        let (readings, load) = (&mut self.readings, self.load);
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
                let when = if phase == IDLE { "at idle" } else { "under this load" };
                let stopped = Stopped::new(Outcome::Failed, format!("it cannot be read any more {when}: {why}"));
                if let Some((index, cell)) = load {
                    say(failed(index, cell, meter.name(), stopped));
                }
                false
            }
        });
        if let (Some(value), Some(time)) = (self.operations, time) {
            let (meter, unit, phase) = (OPERATIONS.to_owned(), "op".to_owned(), phase.to_owned());
            readings.push(MeterReading { meter, unit, time, value, phase });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_device::sim::{SimDevice, Truth};
    use rigel_ledger::rows::CacheState;
    use rigel_numerics::{Format, Triple};

    const TRUTH: &str = r#"
name = "Meters"
id = "sim-meters"
version = "1"
note = "invented"
cores = 1
memory_bytes = 1073741824
[clock]
reference_mhz = 1000
[[path]]
name = "tiled"
[[path.triple]]
triple = "f32,f32->f32"
advertised = true
source = "invented"
rate = 1e12
launch_ns = "2000"
arithmetic = "chain"
ceiling = { rate = 1e12, variants = [{ name = "ilp1x1", factor = 1.0 }] }
[[meter]]
name = "steady"
reads = { energy = { idle_w = 20.0, load_w = 120.0 } }
[[meter]]
name = "falls"
fails_after = 14
reads = { energy = { idle_w = 20.0, load_w = 120.0 } }
"#;

    fn load(variant: &str) -> Identity {
        Identity {
            probe: Probe::Throughput,
            work: Work::Ceiling,
            path: "tiled".into(),
            triple: Triple::new(Format::F32, Format::F32, Format::F32),
            shape: None,
            tile: variant.into(),
            recipe: None,
            seed: 1,
            cache: CacheState::None,
        }
    }

    #[test]
    fn a_meter_that_fails_and_a_load_that_does_not_compile_leave_rows_with_their_reasons() {
        let mut device = SimDevice::new(Truth::parse(TRUTH).unwrap()).unwrap();
        let thresholds = rigel_ledger::Plan::planted("meters").thresholds;
        let gatekeeper = Gatekeeper::new(1, thresholds);
        let mut on = Loads { device: &mut device, gatekeeper, energy: false };
        let (mut rows, mut readings) = (Vec::new(), Vec::new());
        let loads = [load("ilp1x1"), load("ilp9x9")];
        let mut hear = |event| match event {
            Event::Cell(measured) => rows.push((measured.cell, measured.row)),
            Event::Readings(all) => readings = all,
            _ => {}
        };
        let window = Time::from_seconds(1.0);
        assert!(read(&mut on, &loads, window, &mut Spent::default(), &mut hear).is_ok());
        let of = |name: &str| readings.iter().filter(|reading| reading.meter == name).count();
        assert_eq!((of("steady"), of("falls")), (22, 14));
        let told: Vec<(usize, &str, Outcome)> =
            rows.iter().map(|(cell, row)| (*cell, row.tile.as_str(), row.outcome)).collect();
        assert_eq!(told, [(0, "falls", Outcome::Failed), (1, "ilp9x9", Outcome::RefusedCompile)]);
        let (falls, refused) = (&rows[0].1, &rows[1].1);
        assert!(
            falls.reason.contains("under this load") && falls.reason.contains("after 14 readings"),
            "{}",
            falls.reason
        );
        assert!(refused.reason.contains("no meter was read under this load"), "{}", refused.reason);
        assert!(rows.iter().all(|(_, row)| row.work == Work::Meter && row.probe == Probe::Dispatch));
    }
}
