//! Which JSON Schema does each file of a run have?
//!
//! Generated from the Rust types, committed under `schema/`, and compared by a test. For the CSV files a schema describes
//! one row as an object: its properties are the columns, an empty field is null. Column order is not part of a JSON
//! Schema; it is the order of the struct's fields, which the header of every file repeats.

use crate::store::ManifestRow;
use crate::units::{ArithmeticRecord, ConversionRecord, LayoutRecord, OrderRecord};
use crate::{CellRow, FactRow, Plan, PowerRow, Provenance, SampleRow, WitnessRow};
use schemars::{Schema, schema_for};

/// The schema of every file, by the name it is committed under.
pub fn all() -> [(&'static str, Schema); 12] {
    [
        ("cells.json", schema_for!(CellRow)),
        ("conversion.json", schema_for!(ConversionRecord)),
        ("facts.json", schema_for!(FactRow)),
        ("layout.json", schema_for!(LayoutRecord)),
        ("manifest.json", schema_for!(ManifestRow)),
        ("model.json", schema_for!(ArithmeticRecord)),
        ("order.json", schema_for!(OrderRecord)),
        ("plan.json", schema_for!(Plan)),
        ("power.json", schema_for!(PowerRow)),
        ("run.json", schema_for!(Provenance)),
        ("samples.json", schema_for!(SampleRow)),
        ("witness.json", schema_for!(WitnessRow)),
    ]
}

/// A schema as it is committed: pretty JSON with a line feed at its end.
pub fn text(schema: &Schema) -> String {
    format!("{:#}\n", schema.as_value())
}
