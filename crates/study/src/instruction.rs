//! What does a worker do with one matrix instruction, conversion, or order of sums?

use crate::climb::Stopped;
use crate::probes::{arithmetic, layout, order, specials};
use rigel_device::unit::{Operands, Unit, UnitError, UnitSpec};
use rigel_device::{Device, Fault};
use rigel_ledger::provenance::RunKind;
use rigel_ledger::rows::{Identity, Outcome, Probe};
use rigel_ledger::units::{Origin, UnitIdentity, UnitRecord};
use rigel_numerics::Matrix;

/// Asks the unit of a cell what its probe wants to know; `ask` is told before every batch, which may kill or hang the process.
///
/// # Errors
/// [`Stopped`] with the outcome for the cell's row: the unit is not here, failed, or broke its declaration.
pub fn find(
    device: &mut dyn Device,
    cell: &Identity,
    validation: u64,
    ask: &mut dyn FnMut(),
) -> Result<UnitRecord, Stopped> {
    ask();
    if cell.probe == Probe::Specials {
        return specials::find(device, cell, ask).map(|record| UnitRecord::Conversion(Box::new(record)));
    }
    if cell.probe == Probe::Order {
        return order::find(device, cell, ask).map(|record| UnitRecord::Order(Box::new(record)));
    }
    let mut unit = open(device, &cell.tile, ask)?;
    match cell.probe {
        Probe::Arithmetic => {
            let record = arithmetic::find(&mut unit, cell, validation)?;
            Ok(UnitRecord::Arithmetic(Box::new(record)))
        }
        Probe::Layout => {
            let (record, table) = layout::find(&mut unit, cell)?;
            Ok(UnitRecord::Layout { record: Box::new(record), table })
        }
        other => Err(Stopped::new(Outcome::Failed, format!("probe {other:?} asks no unit"))),
    }
}

/// A unit of a device, watched.
pub(crate) fn open<'a>(device: &mut dyn Device, name: &str, ask: &'a mut dyn FnMut()) -> Result<Watched<'a>, Stopped> {
    let unit = device.unit(name).map_err(|absent| Stopped::new(Outcome::Absent, absent.0))?;
    unit.spec().check().map_err(refused)?;
    Ok(Watched { unit, ask })
}

/// What a unit's error means for its cell.
pub(crate) fn refused(error: UnitError) -> Stopped {
    match error {
        UnitError::Fault(fault) => fault.into(),
        other => Stopped::new(Outcome::Failed, other.to_string()),
    }
}

/// A unit that says when it is asked.
pub(crate) struct Watched<'a> {
    unit: Box<dyn Unit>,
    ask: &'a mut dyn FnMut(),
}

impl Unit for Watched<'_> {
    fn spec(&self) -> &UnitSpec {
        self.unit.spec()
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        (self.ask)();
        self.unit.tiles(operands)
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        (self.ask)();
        self.unit.fragments(operands)
    }
}

/// A unit's declaration as records keep it.
pub(crate) fn identity(spec: &UnitSpec) -> UnitIdentity {
    UnitIdentity {
        name: spec.name.clone(),
        path: spec.path.clone(),
        triple: spec.triple,
        shape: spec.shape,
        scales: spec.scales.map(|scales| (scales.format, scales.group)),
        source: spec.source.clone(),
    }
}

/// An origin to be filled in by whoever writes the run.
pub(crate) fn unwritten() -> Origin {
    let empty = String::new;
    Origin { kind: RunKind::Simulated, device: empty(), driver: empty(), toolchain: empty() }
}
