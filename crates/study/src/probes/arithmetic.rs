//! Probe `arithmetic`: which function of raw bits does each unit compute, down to the last output bit?

use super::ProbeEntry;
use crate::climb::Stopped;
use crate::instruction::{identity, refused, unwritten};
use crate::pieces::{Expansion, Piece};
use crate::recovery::{self, Asker, Effort, KeptBits, Recovered, Recovery, RecoveryError, operand_bits, recover};
use rigel_device::unit::{Unit, UnitSpec};
use rigel_ledger::Probe;
use rigel_ledger::rows::{CacheState, CellId, Identity, Outcome, Work};
use rigel_ledger::units::{
    ArithmeticRecord, Claim, Code, Codes, Contradiction, Counterexample, KeptOperand, Question, SCHEMA, Tiles,
    UnitIdentity, VECTORS, Vector, drawn_inputs,
};
use rigel_numerics::arithmetic::{Distribution, Evaluator};

/// The probe's line in the list.
pub(super) const ENTRY: ProbeEntry = ProbeEntry {
    probe: Probe::Arithmetic,
    summary: "exact arithmetic models of single instructions, recovered and validated bit by bit",
    pieces,
};

fn pieces(expansion: &Expansion) -> Vec<Piece> {
    of_units(expansion, Probe::Arithmetic, |_| true)
}

/// A cell for each unit that the plan selects and that can be asked.
pub(super) fn of_units(expansion: &Expansion, probe: Probe, wanted: impl Fn(&UnitSpec) -> bool) -> Vec<Piece> {
    let specs = expansion.device.units().into_iter();
    let selected = specs.filter(|spec| expansion.selects(&spec.path, spec.triple, &spec.name) && wanted(spec));
    selected
        .map(|spec| Piece::Instruction { cell: cell(expansion, probe, Work::Unit, &spec, spec.name.clone()) })
        .collect()
}

/// The cell of a unit under a name.
pub(super) fn cell(expansion: &Expansion, probe: Probe, work: Work, spec: &UnitSpec, name: String) -> Identity {
    Identity {
        probe,
        work,
        path: spec.path.clone(),
        triple: spec.triple,
        shape: Some(spec.shape),
        tile: name,
        recipe: None,
        seed: expansion.plan.seed,
        cache: CacheState::None,
    }
}

/// Recovers the arithmetic of a unit, asks what it keeps of its operands, and samples vectors.
///
/// # Errors
/// The unit failed, broke its declaration, or has formats that no model of the family has.
pub(crate) fn find(unit: &mut dyn Unit, cell: &Identity, validation: u64) -> Result<ArithmeticRecord, Stopped> {
    let effort = Effort { validation, ..Effort::full(cell.seed) };
    let recovery = recover(unit, &effort).map_err(|error| match error {
        RecoveryError::Unit(error) => refused(error),
        formats @ RecoveryError::Formats { .. } => Stopped::new(Outcome::Absent, formats.to_string()),
    })?;
    let spec = unit.spec().clone();
    let unit_identity = identity(&spec);
    let unsteady = matches!(recovery.recovered, Recovered::Inexact { why: recovery::Why::Unsteady(_), .. });
    let mut asker = Asker::new(unit);
    let kept = if unsteady { None } else { operand_bits(&mut asker).map_err(refused)? };
    let drawn: Vec<(Distribution, u64, Question)> = Distribution::ALL
        .into_iter()
        .flat_map(|distribution| (0..VECTORS).map(move |index| (distribution, index)))
        .map(|(d, index)| (d, index, drawn_inputs(&unit_identity, cell.seed, d, index)))
        .collect();
    let asked: Vec<recovery::Question> = drawn.iter().map(|(.., question)| asked(question)).collect();
    let answers = asker.ask(&asked).map_err(refused)?;
    let others = asker.probes();
    let others = others.before_validation() + others.validation;

    let mut record = recorded(recovery, cell, unit_identity, others);
    let evaluator = record.model.as_ref().and_then(|model| Evaluator::new(model, spec.shape.k).ok());
    let vector = |((distribution, index, inputs), d): ((Distribution, u64, Question), u64)| {
        let says = evaluator.as_ref().map(|e| e.dot(&mut e.scratch(), inputs.inputs().codes()));
        let model = says.filter(|&says| says != d).map(Code);
        Vector { distribution, index, inputs, d: Code(d), model }
    };
    record.vectors = drawn.into_iter().zip(answers).map(vector).collect();
    record.published = record.predicting();
    record.operands = kept.into_iter().flat_map(|kept| ["a", "b"].into_iter().zip(kept).map(operand)).collect();
    // The sample is fresh as well: a model that it refutes is not exact, whatever the validation said.
    if record.claim == Claim::Exact && record.vectors.iter().any(|vector| vector.model.is_some()) {
        record.claim = Claim::Inexact;
        record.why =
            "the model that predicted the whole validation is wrong about a vector asked afterwards".to_owned();
    }
    Ok(record)
}

fn asked(question: &Question) -> recovery::Question {
    let [a, b, a_scales, b_scales] =
        [&question.a, &question.b, &question.a_scales, &question.b_scales].map(|codes| codes.0.clone());
    recovery::Question { a, b, c: question.c.0, a_scales, b_scales }
}

fn question(question: recovery::Question) -> Question {
    let recovery::Question { a, b, c, a_scales, b_scales } = question;
    Question { a: Codes(a), b: Codes(b), c: Code(c), a_scales: Codes(a_scales), b_scales: Codes(b_scales) }
}

fn operand((operand, kept): (&str, KeptBits)) -> KeptOperand {
    let KeptBits { format, significand, shown, roundings, exponents, tried } = kept;
    KeptOperand { operand: operand.to_owned(), format, significand, shown, roundings, exponents, tried }
}

/// A recovery as records keep it; operands and vectors are still to come.
fn recorded(recovery: Recovery, cell: &Identity, unit: UnitIdentity, others: u64) -> ArithmeticRecord {
    let probes = recovery.probes;
    let mut record = ArithmeticRecord {
        schema: SCHEMA,
        cell: CellId::of(cell),
        origin: unwritten(),
        unit,
        claim: Claim::Exact,
        why: String::new(),
        beyond: Vec::new(),
        words: String::new(),
        model: None,
        class: Vec::new(),
        validation: None,
        contradiction: None,
        counterexample: None,
        operands: Vec::new(),
        tiles: Tiles {
            steadiness: probes.steadiness,
            structure: probes.structure,
            parameters: probes.parameters,
            elimination: probes.elimination,
            validation: probes.validation,
            others,
        },
        seed: recovery.seed,
        published: Vec::new(),
        vectors: Vec::new(),
    };
    match recovery.recovered {
        Recovered::Exact { model, class, validation } => {
            record.model = Some(*model);
            record.class = class;
            record.validation = Some(*validation);
        }
        Recovered::Inexact { why, nearest, validation, counterexample, beyond } => {
            record.claim = Claim::Inexact;
            record.why = why.to_string();
            record.beyond = beyond;
            record.model = nearest.map(|model| *model);
            record.validation = validation.map(|validation| *validation);
            record.counterexample = counterexample.map(|c| Counterexample {
                question: question(c.question),
                model: Code(c.model),
                unit: Code(c.unit),
            });
            if let recovery::Why::Unsteady(unsteady) = why {
                record.contradiction = Some(Contradiction {
                    words: unsteady.on.to_string(),
                    question: question(unsteady.question),
                    first: Code(unsteady.first),
                    other: Code(unsteady.other),
                    element: unsteady.element,
                });
            }
        }
    }
    record.words = record.model.as_ref().map(ToString::to_string).unwrap_or_default();
    record
}
