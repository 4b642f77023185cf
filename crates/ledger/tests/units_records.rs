//! Do records of units survive their files, and do their own numbers speak against every edit?

use rigel_ledger::plan::{OrderAxes, Plan, UnitsAxes};
use rigel_ledger::provenance::{OfferRecord, RunKind};
use rigel_ledger::rows::{CacheState, CellId, CellRow, Identity, Outcome, Probe, Work};
use rigel_ledger::store::{Run, RunWriter, StoreError, merge};
use rigel_ledger::units::{
    ArithmeticRecord, Claim, Code, Codes, ConversionRecord, LaunchCounts, LayoutRecord, OrderRecord, Origin, RowZero,
    SAMPLED, SCHEMA, SampledLaunch, Tested, Tiles, UnitIdentity, UnitRecord, VECTORS, Validation, Vector, drawn_inputs,
    drawn_launch, drawn_pairs, drawn_row, files_of, flaws, sampled_codes,
};
use rigel_ledger::verify::verify;
use rigel_ledger::{Provenance, facts};
use rigel_numerics::arithmetic::{Distribution, Evaluator, library};
use rigel_numerics::conversion::NamedConversion;
use rigel_numerics::layout::{csv, fragments};
use rigel_numerics::{Format, Overflow, Rounding, Shape, Triple};
use serde_json::Value;
use std::path::Path;

const SEED: u64 = 5;

fn origin() -> Origin {
    let empty = String::new;
    Origin { kind: RunKind::Simulated, device: empty(), driver: empty(), toolchain: empty() }
}

fn cell(probe: Probe, work: Work, unit: &UnitIdentity) -> Identity {
    Identity {
        probe,
        work,
        path: unit.path.clone(),
        triple: unit.triple,
        shape: Some(unit.shape),
        tile: unit.name.clone(),
        recipe: None,
        seed: SEED,
        cache: CacheState::None,
    }
}

/// The published model of a name, as a perfect recovery of it would be recorded.
fn arithmetic(published: &str, path: &str) -> UnitRecord {
    let published = library().iter().find(|p| p.name == published).unwrap();
    let model = published.model.clone();
    let k = model.k * 2;
    let unit = UnitIdentity {
        name: published.name.clone(),
        path: path.to_owned(),
        triple: model.triple,
        shape: Shape::new(2, 2, k),
        scales: model.scales.map(|s| (s.a, s.group)),
        source: published.source.clone(),
    };
    let evaluator = Evaluator::new(&model, k).unwrap();
    let vector = |(distribution, index): (Distribution, u64)| {
        let inputs = drawn_inputs(&unit, SEED, distribution, index);
        let d = Code(evaluator.dot(&mut evaluator.scratch(), inputs.inputs().codes()));
        Vector { distribution, index, inputs, d, model: None }
    };
    let all = Distribution::ALL.into_iter().flat_map(|d| (0..VECTORS).map(move |index| (d, index)));
    let tested = |distribution| Tested { distribution, asked: 1000, mismatches: 0, bound: 3.0 / 1000.0 };
    let vectors = all.map(vector).collect();
    UnitRecord::Arithmetic(Box::new(ArithmeticRecord {
        schema: SCHEMA,
        cell: CellId::of(&cell(Probe::Arithmetic, Work::Unit, &unit)),
        origin: origin(),
        unit,
        claim: Claim::Exact,
        why: String::new(),
        beyond: Vec::new(),
        words: model.to_string(),
        model: Some(model),
        class: Vec::new(),
        validation: Some(Validation {
            seed: 9,
            distributions: Distribution::ALL.map(tested).to_vec(),
            rows: 500,
            columns: 500,
            at_each_element: 1500,
            element_bound: 3.0 / 1500.0,
            elements: Vec::new(),
        }),
        contradiction: None,
        counterexample: None,
        operands: Vec::new(),
        tiles: Tiles::default(),
        seed: SEED,
        published: vec![published.name.clone()],
        vectors,
    }))
}

fn layout() -> UnitRecord {
    let published = fragments().iter().find(|p| p.name == "mma.sync.m16n8k16.f16").unwrap();
    let fragment = published.fragment.clone();
    let unit = UnitIdentity {
        name: published.name.clone(),
        path: "mma.sync".into(),
        triple: Triple::new(Format::F16, Format::F16, Format::F32),
        shape: fragment.shape(),
        scales: None,
        source: published.sources[0].clone(),
    };
    let launch = |index| {
        let drawn = drawn_launch(&fragment, &fragment.c, &unit, SEED, index);
        let d: Vec<f64> = drawn.d.iter().map(|value| value.map_or(0.0, f64::from)).collect();
        SampledLaunch::new(&drawn, &d)
    };
    let record = LayoutRecord {
        schema: SCHEMA,
        cell: CellId::of(&cell(Probe::Layout, Work::Unit, &unit)),
        origin: origin(),
        lanes: fragment.lanes(),
        slots: [fragment.a.slots(), fragment.b.slots(), fragment.c.slots()],
        claim: Claim::Exact,
        why: String::new(),
        convention: "as published".into(),
        published: vec![published.name.clone()],
        parts: 1,
        launches: LaunchCounts::default(),
        seed: SEED,
        sample: (0..SAMPLED).map(launch).collect(),
        unit,
    };
    UnitRecord::Layout { record: Box::new(record), table: csv::write(&fragment) }
}

fn conversion() -> UnitRecord {
    let (from, to) = (Format::F16, Format::E4m3);
    let rule = NamedConversion {
        from,
        to,
        rounding: Rounding::NearestEven,
        overflow: Overflow::Saturate,
        flushes_in: false,
        flushes_out: false,
    };
    let unit = UnitIdentity {
        name: "convert".into(),
        path: "conversions".into(),
        triple: Triple::new(from, from, to),
        shape: Shape::cube(1),
        scales: None,
        source: "a test".into(),
    };
    let sample = sampled_codes(from, SEED);
    UnitRecord::Conversion(Box::new(ConversionRecord {
        schema: SCHEMA,
        cell: CellId::of(&cell(Probe::Specials, Work::Conversion, &unit)),
        origin: origin(),
        unit,
        from,
        to,
        claim: Claim::Exact,
        why: String::new(),
        rule,
        words: rule.to_string(),
        alike: Vec::new(),
        nan_words: Codes(vec![0x7f]),
        codes: 1 << 16,
        all: true,
        deviating: 0,
        deviations: Vec::new(),
        seed: SEED,
        converted: Codes(sample.iter().map(|&code| rule.of(code)).collect()),
        sample: Codes(sample),
    }))
}

/// An order of sums: of floats by a tree, of integers without one.
fn order(triple: &str, tree: Option<&str>) -> UnitRecord {
    let triple: Triple = triple.parse().unwrap();
    let unit = UnitIdentity {
        name: "32x64".into(),
        path: "tiled".into(),
        triple,
        shape: Shape::new(4, 3, 16),
        scales: None,
        source: "a test".into(),
    };
    let tree = tree.map(|text| text.parse::<rigel_numerics::order::Tree>().unwrap());
    let met = tree.as_ref().map(|tree| {
        let meetings = tree.meetings();
        drawn_pairs(16, SEED).into_iter().map(|(i, j)| meetings.size(i, j) as u64).collect()
    });
    let a = drawn_row(triple, 16, SEED, true, 0);
    let dot = |j| {
        let b = drawn_row(triple, 16, SEED, false, j);
        let sum: f64 = a.iter().zip(b).map(|(&a, b)| triple.a.decode(a) * triple.b.decode(b)).sum();
        if triple.is_integer() { sum as i64 as u64 & 0xffff_ffff } else { u64::from((sum as f32).to_bits()) }
    };
    let mut record = OrderRecord {
        schema: SCHEMA,
        cell: CellId::of(&cell(Probe::Order, Work::Product, &unit)),
        origin: origin(),
        unit,
        claim: Claim::Exact,
        why: String::new(),
        words: String::new(),
        tree,
        by: Some(Shape::new(32, 32, 16)),
        dots: 600,
        seed: SEED,
        met: met.unwrap_or_default(),
        row_zero: vec![RowZero { from: 1, d: Codes((0..3).map(dot).collect()) }],
    };
    record.words = record.described();
    UnitRecord::Order(Box::new(record))
}

fn row(record: &UnitRecord, provenance: &Provenance) -> CellRow {
    let (probe, work) = match record {
        UnitRecord::Arithmetic(_) => (Probe::Arithmetic, Work::Unit),
        UnitRecord::Layout { .. } => (Probe::Layout, Work::Unit),
        UnitRecord::Conversion(_) => (Probe::Specials, Work::Conversion),
        UnitRecord::Order(_) => (Probe::Order, Work::Product),
    };
    let mut row = CellRow::blank(&cell(probe, work, record.unit()), 0);
    (row.device, row.driver) = (provenance.device.id.clone(), provenance.device.driver.clone());
    (row.run, row.outcome) = (provenance.run.clone(), record.claim().outcome());
    row.block = rigel_ledger::block_name::of_row(&plan(), &row).unwrap();
    row
}

fn all() -> Vec<UnitRecord> {
    vec![
        arithmetic("hopper mma f16 to f32", "mma.sync"),
        arithmetic("f32 fma ascending", "fma"),
        layout(),
        conversion(),
        order(ORDERS[0], Some("0..3 +4 4..7 +5 8..11 +5 12..15 +5")),
        order(ORDERS[1], None),
    ]
}

fn plan() -> Plan {
    let order = OrderAxes { shapes: vec![Shape::new(4, 3, 16)] };
    let probes = vec![Probe::Arithmetic, Probe::Layout, Probe::Specials, Probe::Order];
    Plan { seed: SEED, probes, units: Some(UnitsAxes::default()), order: Some(order), ..Plan::planted("units") }
}

/// Type triples of the path whose orders are asked.
const ORDERS: [&str; 2] = ["f32,f32->f32", "u8,i8->i32"];

fn offer(triple: &str) -> OfferRecord {
    let empty = String::new;
    OfferRecord {
        path: "tiled".into(),
        triple: triple.parse().unwrap(),
        advertised: true,
        source: empty(),
        absent: empty(),
        stated_operations_per_cycle_per_core: None,
        stated_source: empty(),
        conversion: empty(),
    }
}

/// A sealed run of these records.
fn sealed(dir: &Path, records: Vec<UnitRecord>, run: &str) -> Result<(), StoreError> {
    let plan = plan();
    let mut provenance = Provenance { kind: RunKind::Simulated, ..Provenance::planted(&plan, run) };
    provenance.device.offers = ORDERS.map(offer).to_vec();
    let mut writer = RunWriter::open(dir, &plan, &provenance)?;
    for record in records {
        let row = row(&record, &provenance);
        if !writer.has(row.cell, 0) {
            writer.append_unit(row, record)?;
        }
    }
    writer.seal_with(facts::derive).map(drop)
}

#[test]
fn what_is_written_is_read_verified_and_merged() {
    let dir = tempfile::tempdir().unwrap();
    let [whole, one, two, joined] = ["whole", "one", "two", "joined"].map(|name| dir.path().join(name));
    sealed(&whole, all(), "run").unwrap();
    let run = Run::open(&whole).unwrap();
    assert_eq!(run.units().len(), 6);
    for (record, row) in run.units().iter().zip(run.cells()) {
        assert_eq!(flaws(record), Vec::<String>::new());
        assert_eq!(UnitRecord::read(&whole, row).unwrap().as_ref(), Some(record));
        assert_eq!(record.origin().device, run.provenance()[0].device.id);
    }
    let report = verify(&whole).unwrap();
    assert!(report.passed(), "{report:?}");
    assert!(
        run.facts().iter().any(|fact| fact.name == "layout.published" && fact.path == "mma.sync/mma.sync.m16n8k16.f16")
    );

    let mut halves = all();
    let rest = halves.split_off(2);
    sealed(&one, halves, "run").unwrap();
    sealed(&two, rest, "run").unwrap();
    let merged = merge(&joined, &[&two, &one]).unwrap();
    assert_eq!((merged.cells(), merged.facts(), merged.units()), (run.cells(), run.facts(), run.units()));
}

#[test]
fn a_resume_asks_again_for_a_lost_record_and_refuses_a_changed_one() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    sealed(&out, all(), "run").unwrap();
    let run = Run::open(&out).unwrap();
    let file = out.join(files_of(&run.cells()[0]).pop().unwrap());
    std::fs::remove_file(out.join("MANIFEST")).unwrap();
    let kept = std::fs::read(&file).unwrap();
    // A record that no row names is what a kill leaves between file and row.
    std::fs::write(out.join("models/orphan.json"), b"{}").unwrap();

    std::fs::remove_file(&file).unwrap();
    let unsealed = Run::open(&out).unwrap();
    assert_eq!((unsealed.cells().len(), unsealed.torn().len()), (5, 1));
    sealed(&out, all(), "run").unwrap();
    assert!(!out.join("models/orphan.json").exists());
    assert_eq!(std::fs::read(&file).unwrap(), kept);
    assert!(verify(&out).unwrap().passed());

    std::fs::remove_file(out.join("MANIFEST")).unwrap();
    let mut changed = kept.clone();
    let at = changed.iter().rposition(|&byte| byte == b'1').unwrap();
    changed[at] = b'2';
    std::fs::write(&file, changed).unwrap();
    assert!(sealed(&out, all(), "run").is_err());
}

/// Everything that anybody might change in a record's JSON, without touching what only a device knows.
#[test]
fn every_edited_value_is_refused_by_the_rest_of_its_record() {
    let free = [
        "published",
        "source",
        "convention",
        "beyond",
        "class",
        "tiles",
        "launches",
        "parts",
        "alike",
        "nan_words",
        "elements",
        "rows",
        "columns",
    ];
    // What makes the record's identity is held against the row, and origin against provenance.
    let row = ["cell", "schema", "origin", "name", "path", "shape"];
    for record in all() {
        let value = match &record {
            UnitRecord::Arithmetic(record) => serde_json::to_value(record),
            UnitRecord::Layout { record, .. } => serde_json::to_value(record),
            UnitRecord::Conversion(record) => serde_json::to_value(record),
            UnitRecord::Order(record) => serde_json::to_value(record),
        };
        let value = value.unwrap();
        let mut tried = 0;
        for path in leaves(&value) {
            if path.iter().any(|step| free.contains(&step.as_str()) || row.contains(&step.as_str())) {
                continue;
            }
            // The validation's seed is a device's word, as its counts are; the model's own k only fills rows up.
            // So are the dot products of an order, and row 0 of floats.
            let floats = !record.unit().triple.is_integer();
            let told = ["validation.seed", "model.k", "dots", "by"].iter().any(|t| path.join(".") == *t)
                || floats && path.join(".") == "row_zero.0.d";
            let Some(edited) = edit(&value, &path).filter(|_| !told) else { continue };
            let said = match &record {
                UnitRecord::Arithmetic(_) => serde_json::from_value(edited).map(UnitRecord::Arithmetic),
                UnitRecord::Conversion(_) => serde_json::from_value(edited).map(UnitRecord::Conversion),
                UnitRecord::Order(_) => serde_json::from_value(edited).map(UnitRecord::Order),
                UnitRecord::Layout { table, .. } => {
                    serde_json::from_value(edited).map(|record| UnitRecord::Layout { record, table: table.clone() })
                }
            };
            let Ok(changed) = said else { continue };
            tried += 1;
            assert!(!flaws(&changed).is_empty(), "{} of {} was edited unseen", path.join("."), record.unit().name);
        }
        assert!(tried > 3, "{tried} edits of {}", record.unit().name);
    }
}

/// The paths of all scalars, of long lists the first ones.
fn leaves(value: &Value) -> Vec<Vec<String>> {
    let below = |key: String, value: &Value| {
        leaves(value)
            .into_iter()
            .map(move |rest| std::iter::once(key.clone()).chain(rest).collect())
            .collect::<Vec<_>>()
    };
    match value {
        Value::Object(map) => map.iter().flat_map(|(key, value)| below(key.clone(), value)).collect(),
        Value::Array(list) => list.iter().enumerate().take(2).flat_map(|(i, v)| below(i.to_string(), v)).collect(),
        _ => vec![Vec::new()],
    }
}

/// The same with one scalar changed: numbers by one, words to one of another kind, hexadecimal codes in their last digit.
fn edit(value: &Value, path: &[String]) -> Option<Value> {
    let mut changed = value.clone();
    let mut at = &mut changed;
    for step in path {
        at = match at {
            Value::Object(map) => map.get_mut(step)?,
            Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    *at = match &*at {
        Value::Number(n) if n.is_u64() => Value::from(n.as_u64()? + 1),
        Value::Number(n) => Value::from(n.as_f64()? * 1.5),
        Value::Bool(b) => Value::from(!b),
        Value::String(text) => {
            let last = text.chars().last()?;
            let other = if last == '1' { '2' } else { '1' };
            let known = ["exact", "nearest_even", "saturate"].iter().zip(["inexact", "toward_zero", "ieee"]);
            let swapped = known.into_iter().find(|(word, _)| *word == text).map(|(_, other)| other.to_owned());
            Value::from(swapped.unwrap_or_else(|| format!("{}{other}", &text[..text.len() - last.len_utf8()])))
        }
        _ => return None,
    };
    Some(changed)
}

#[test]
fn an_edited_map_is_refused() {
    let UnitRecord::Layout { record, table } = layout() else { unreachable!() };
    let mut rows: Vec<&str> = table.lines().collect();
    let (first, second) = (rows[1].replace("a,0,0,", ""), rows[2].replace("a,0,1,", ""));
    let swapped = [format!("a,0,0,{second}"), format!("a,0,1,{first}")];
    (rows[1], rows[2]) = (&swapped[0], &swapped[1]);
    let table = rows.join("\n") + "\n";
    assert!(!flaws(&UnitRecord::Layout { record, table }).is_empty());
}

#[test]
fn a_claim_that_its_own_vectors_contradict_is_refused() {
    let UnitRecord::Arithmetic(mut record) = arithmetic("hopper mma f16 to f32", "mma.sync") else { unreachable!() };
    record.model = library().iter().find(|p| p.name == "ampere f16 to f32").map(|p| p.model.clone());
    record.words = record.model.as_ref().map(ToString::to_string).unwrap();
    assert!(!flaws(&UnitRecord::Arithmetic(record)).is_empty());
    assert_eq!(Outcome::ALL.iter().filter(|outcome| outcome.counts()).count(), 2, "exact is no timing that counts");
}
