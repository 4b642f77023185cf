//! Probe `layout`: which lane holds which element of each unit's operands, and in which slot?

use super::{ProbeEntry, arithmetic};
use crate::climb::Stopped;
use crate::instruction::{identity, refused, unwritten};
use crate::layouts::{Numbering, Recovered, Unrecovered, recover};
use crate::pieces::{Expansion, Piece};
use rigel_device::unit::{Operands, Unit, UnitError, UnitSpec, execute_fragments};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CellId, Identity, Outcome};
use rigel_ledger::units::{Claim, LaunchCounts, LayoutRecord, Registers, SAMPLED, SCHEMA, SampledLaunch, drawn_launch};
use rigel_numerics::layout::{Agreement, Fragment, FragmentOperand, csv, fragments};
use rigel_numerics::{Format, Matrix, Overflow, Rounding};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Layout,
    summary: "which lane and slot holds which element, seen through registers alone and confirmed slot by slot",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    arithmetic::of_units(expansion, Probe::Layout, |spec| spec.fragments.is_some())
}

/// Recovers the layouts of a unit and samples launches through them. The table is empty where there is no map.
///
/// # Errors
/// The unit failed or broke its declaration. A unit that no map describes is no error but an inexact record.
pub(crate) fn find(unit: &mut dyn Unit, cell: &Identity) -> Result<(LayoutRecord, String), Stopped> {
    let spec = unit.spec().clone();
    let Some(registers) = spec.fragments else {
        return Err(Stopped::new(Outcome::Absent, format!("unit {} cannot be reached by registers", spec.name)));
    };
    let mut record = LayoutRecord {
        schema: SCHEMA,
        cell: CellId::of(cell),
        origin: unwritten(),
        unit: identity(&spec),
        lanes: registers.lanes,
        slots: [registers.a, registers.b, registers.c],
        claim: Claim::Inexact,
        why: String::new(),
        convention: String::new(),
        published: Vec::new(),
        parts: 0,
        launches: LaunchCounts::default(),
        seed: cell.seed,
        sample: Vec::new(),
    };
    match numbered(unit, &spec, cell.seed) {
        Ok(found) => {
            let table = csv::write_with_addend(&found.fragment, &found.addend);
            record.claim = Claim::Exact;
            record.convention = found.convention();
            record.published = agreeing(&found.fragment);
            record.parts = found.parts;
            let l = found.launches;
            record.launches = LaunchCounts { d: l.d, a: l.a, b: l.b, c: l.c, confirmation: l.confirmation };
            for index in 0..SAMPLED {
                let drawn = drawn_launch(&found.fragment, &found.addend, &record.unit, cell.seed, index);
                let d = launch(unit, &spec, &drawn).map_err(refused)?;
                record.sample.push(SampledLaunch::new(&drawn, &d));
                let flaw = record.sample.last().and_then(|launch| launch.flaw(&drawn, registers.c));
                if let Some(flaw) = flaw {
                    return Ok((doubted(record, format!("a launch after confirmation: {flaw}")), String::new()));
                }
            }
            Ok((record, table))
        }
        Err(Unrecovered::Unit(error)) => Err(refused(error)),
        Err(why) => Ok((doubted(record, why.to_string()), String::new())),
    }
}

/// Never a map beside a doubt.
fn doubted(record: LayoutRecord, why: String) -> LayoutRecord {
    let (claim, convention, published, sample) = (Claim::Inexact, String::new(), Vec::new(), Vec::new());
    LayoutRecord { claim, why, convention, published, sample, parts: 0, ..record }
}

/// Layouts with the numbers of the first published layout that they equal, else by appearance.
fn numbered(unit: &mut dyn Unit, spec: &UnitSpec, seed: u64) -> Result<Recovered, Unrecovered> {
    let found = recover(unit, Numbering::Appearance, seed)?;
    let candidates = fragments().iter().map(|published| &published.fragment);
    for published in candidates.filter(|published| extents(published) == extents(&found.fragment)) {
        let alike = !matches!(found.agreement(published), Agreement::Different(_));
        if spec.shape != published.shape() || !(alike || found.parts > 1) {
            continue;
        }
        let again = recover(unit, Numbering::Published(published), seed)?;
        if again.published == Some(true) {
            return Ok(again);
        }
    }
    Ok(found)
}

fn extents(fragment: &Fragment) -> [(usize, usize); 3] {
    FragmentOperand::ALL.map(|operand| (fragment.of(operand).lanes(), fragment.of(operand).slots()))
}

/// Published layouts that a map equals, by name.
fn agreeing(fragment: &Fragment) -> Vec<String> {
    let agrees = |published: &Fragment| {
        extents(published) == extents(fragment)
            && published.shape() == fragment.shape()
            && !matches!(fragment.agreement(published), Agreement::Different(_))
    };
    fragments().iter().filter(|published| agrees(&published.fragment)).map(|published| published.name.clone()).collect()
}

/// D's registers for one launch, as numbers.
fn launch(unit: &mut dyn Unit, spec: &UnitSpec, drawn: &Registers) -> Result<Vec<f64>, UnitError> {
    let lanes = spec.fragments.map_or(1, |fragments| fragments.lanes);
    let matrix = |format: Format, values: &[u32]| {
        let slots = values.len() / lanes;
        let mut matrix = Matrix::zeroed(format, lanes, slots);
        for (at, &value) in values.iter().enumerate() {
            let code = format.encode(f64::from(value), Rounding::NearestEven, Overflow::Saturate);
            matrix.set(at / slots, at % slots, code);
        }
        matrix
    };
    let t = spec.triple;
    let (a, b, c) = (matrix(t.a, &drawn.a), matrix(t.b, &drawn.b), matrix(t.c, &drawn.c));
    let d = execute_fragments(unit, Operands { a: &a, b: &b, c: &c, scales: None })?;
    Ok((0..d.rows * d.cols).map(|at| t.c.decode(d.get(at / d.cols, at % d.cols))).collect())
}
