//! Probe `specials`: what does each conversion, and each operand of a unit, make of every code?

use super::{ProbeEntry, arithmetic};
use crate::climb::Stopped;
use crate::instruction::{Watched, identity, open, unwritten};
use crate::pieces::{Expansion, Piece};
use crate::recovery::{Asker, Converted, Question, name_conversion};
use rigel_device::unit::{Conversion, ConversionSpec, Unit, UnitError, UnitSpec};
use rigel_device::{Device, Fault};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, CellId, Identity, Work};
use rigel_ledger::units::{Claim, Code, Codes, ConversionRecord, Deviation, SCHEMA, UnitIdentity, sampled_codes};
use rigel_numerics::{Format, Overflow, Rounding, Shape, Triple};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Specials,
    summary: "formats and conversions by every code: which format, which rounding, saturation, NaN words",
    pieces,
};

/// The path of conversions, which serve no product by themselves.
const PATH: &str = "conversions";
/// The operands of a unit that are asked, by the ending of the cell's name.
const OPERANDS: [(&str, bool); 2] = [(".a", true), (".b", false)];

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    let conversions = expansion.device.conversions().into_iter();
    let conversion = |spec: ConversionSpec| {
        let triple = Triple::new(spec.from, spec.from, spec.to);
        expansion.selects(PATH, triple, &spec.name).then(|| Piece::Instruction {
            cell: Identity {
                probe: Probe::Specials,
                work: Work::Conversion,
                path: PATH.to_owned(),
                triple,
                shape: Some(Shape::cube(1)),
                tile: spec.name,
                recipe: None,
                seed: expansion.plan.seed,
                cache: CacheState::None,
            },
        })
    };
    let operands = |spec: &UnitSpec| {
        let cell = |(ending, _): (&str, bool)| {
            let name = format!("{}{ending}", spec.name);
            let cell = arithmetic::cell(expansion, Probe::Specials, Work::Conversion, spec, name);
            expansion.selects(&spec.path, spec.triple, &spec.name).then_some(Piece::Instruction { cell })
        };
        OPERANDS.into_iter().filter_map(cell).collect::<Vec<_>>()
    };
    let specs = expansion.device.units();
    conversions.filter_map(conversion).chain(specs.iter().flat_map(operands)).collect()
}

/// Converts every code and names the rule.
///
/// # Errors
/// The conversion or the unit is not here or failed.
pub(crate) fn find(
    device: &mut dyn Device,
    cell: &Identity,
    ask: &mut dyn FnMut(),
) -> Result<ConversionRecord, Stopped> {
    let declared = device.conversions().into_iter().find(|spec| spec.name == cell.tile && cell.path == PATH);
    if let Some(spec) = declared {
        let mut conversion =
            device.conversion(&spec.name).map_err(|absent| Stopped::new(rigel_ledger::Outcome::Absent, absent.0))?;
        let unit = UnitIdentity {
            name: spec.name,
            path: PATH.to_owned(),
            triple: cell.triple,
            shape: Shape::cube(1),
            scales: None,
            source: spec.source,
        };
        return record(conversion.as_mut(), cell, unit);
    }
    let part = OPERANDS.into_iter().find_map(|(ending, a)| Some((cell.tile.strip_suffix(ending)?, a)));
    let (name, of_a) = part.unwrap_or((&cell.tile, true));
    let unit = open(device, name, ask)?;
    let spec = unit.spec().clone();
    let identity = UnitIdentity { name: cell.tile.clone(), ..identity(&spec) };
    let from = if of_a { spec.triple.a } else { spec.triple.b };
    let declared = ConversionSpec { name: cell.tile.clone(), from, to: spec.triple.c, source: spec.source };
    record(&mut OperandOf { unit, of_a, spec: declared }, cell, identity)
}

fn record(conversion: &mut dyn Conversion, cell: &Identity, unit: UnitIdentity) -> Result<ConversionRecord, Stopped> {
    let spec = conversion.spec().clone();
    let Converted { rule, alike, nan_words, codes, all, deviating, deviations, .. } = name_conversion(conversion)?;
    let sample = sampled_codes(spec.from, cell.seed);
    let converted = conversion.convert(&sample)?;
    let deviation =
        |d: crate::recovery::Deviation| Deviation { code: Code(d.code), rule: Code(d.rule), found: Code(d.found) };
    let why = match deviating {
        0 => String::new(),
        n => format!("{n} of {codes} codes deviate from the rule that explains most: {rule}"),
    };
    Ok(ConversionRecord {
        schema: SCHEMA,
        cell: CellId::of(cell),
        origin: unwritten(),
        unit,
        from: spec.from,
        to: spec.to,
        claim: if deviating == 0 { Claim::Exact } else { Claim::Inexact },
        why,
        words: rule.to_string(),
        rule,
        alike: alike.iter().map(ToString::to_string).collect(),
        nan_words: Codes(nan_words),
        codes,
        all,
        deviating,
        deviations: deviations.into_iter().map(deviation).collect(),
        seed: cell.seed,
        sample: Codes(sample),
        converted: Codes(converted),
    })
}

/// An operand of a unit as a conversion to the format of D: each code times 1, every other term −0 where the formats have one.
struct OperandOf<'a> {
    unit: Watched<'a>,
    of_a: bool,
    spec: ConversionSpec,
}

impl Conversion for OperandOf<'_> {
    fn spec(&self) -> &ConversionSpec {
        &self.spec
    }

    fn convert(&mut self, codes: &[u64]) -> Result<Vec<u64>, Fault> {
        let triple = self.unit.spec().triple;
        let code = |format: Format, value: f64| format.encode(value, Rounding::NearestEven, Overflow::Saturate);
        let mut asker = Asker::new(&mut self.unit);
        let mut plain = Question::zero(asker.spec());
        plain.c = code(triple.c, -0.0);
        plain.a.fill(code(triple.a, if self.of_a { -0.0 } else { 1.0 }));
        plain.b.fill(code(triple.b, if self.of_a { 1.0 } else { -0.0 }));
        let mut answers = Vec::with_capacity(codes.len());
        for part in codes.chunks(1 << 14) {
            let ask = |&code: &u64| {
                let mut question = plain.clone();
                if self.of_a {
                    question.a[0] = code
                } else {
                    question.b[0] = code
                }
                question
            };
            let questions: Vec<Question> = part.iter().map(ask).collect();
            answers.extend(asker.ask(&questions).map_err(|error| match error {
                UnitError::Fault(fault) => fault,
                other => Fault::Failed(other.to_string()),
            })?);
        }
        Ok(answers)
    }
}
