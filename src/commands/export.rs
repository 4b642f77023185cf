//! How does a run look to other systems?

use crate::args::{ExportArgs, ExportTo};
use crate::exit::{Exit, failure};
use rigel_ledger::compare::{Key, number};
use rigel_ledger::store::Run;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

/// Converts a run.
pub fn export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let run = super::opening::open(&args.run)?;
    match args.to {
        ExportTo::Jsonl => write(args.out.as_deref(), &jsonl(&run)?)?,
        ExportTo::Bmf => write(args.out.as_deref(), &bmf(&run)?)?,
        ExportTo::Parquet => parquet(&run, args.out.as_deref())?,
    }
    Ok(Exit::Fine)
}

fn write(out: Option<&Path>, bytes: &[u8]) -> anyhow::Result<()> {
    match out {
        Some(path) => super::writing::put(path, bytes, false).map(drop),
        None => Ok(crate::terminal::output().write_all(bytes)?),
    }
}

/// One object a cell row, in the order of the file, each with the kind of its run: what leaves the directory keeps its mark.
fn jsonl(run: &Run) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let kind = if super::opening::is_simulated(run) { "simulated" } else { "measured" };
    for row in run.cells() {
        let mut object = serde_json::to_value(row)?;
        object["kind"] = json!(kind);
        serde_json::to_writer(&mut text, &object)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Bencher Metric Format: `{benchmark: {measure: {value, lower_value, upper_value}}}`, from facts that are numbers.
fn bmf(run: &Run) -> anyhow::Result<Vec<u8>> {
    let mut benchmarks: Map<String, Value> = Map::new();
    let mark = if super::opening::is_simulated(run) { "simulated: " } else { "" };
    for fact in run.facts() {
        let Some(value) = number(fact) else { continue };
        let mut metric = json!({ "value": value });
        if let (Some(low), Some(high)) = (fact.low, fact.high) {
            metric["lower_value"] = json!(low);
            metric["upper_value"] = json!(high);
        }
        let subject = format!("{mark}{}", Key::of(fact).subject());
        let measures = benchmarks.entry(subject).or_insert_with(|| json!({}));
        let unit = if fact.unit.is_empty() { String::new() } else { format!(" ({})", fact.unit) };
        measures[format!("{}{unit}", fact.name)] = metric;
    }
    let mut text = serde_json::to_vec_pretty(&Value::Object(benchmarks))?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(not(feature = "parquet"))]
fn parquet(_: &Run, _: Option<&Path>) -> anyhow::Result<()> {
    Err(failure(Exit::Usage, "this build has no Parquet; build it with `cargo build --release --features parquet`"))
}

/// One row a repetition: cell, process, index, time_ns, clock_mhz.
#[cfg(feature = "parquet")]
fn parquet(run: &Run, out: Option<&Path>) -> anyhow::Result<()> {
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
    use ::parquet::file::metadata::KeyValue;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;
    use anyhow::Context;
    use std::sync::Arc;

    let Some(out) = out else {
        return Err(failure(Exit::Usage, "Parquet needs a file: add `--out samples.parquet`"));
    };
    let schema = "message samples { required binary cell (UTF8); required binary path (UTF8); required binary triple (UTF8);
        optional binary shape (UTF8); required int32 process; required int32 index; required double time_ns; optional int32 clock_mhz; }";
    let schema = Arc::new(parse_message_type(schema)?);
    let file = std::fs::File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    let kind = if super::opening::is_simulated(run) { "simulated" } else { "measured" };
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![KeyValue::new("kind".to_owned(), kind.to_owned())]))
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let samples = run.samples().map_err(|e| failure(Exit::Usage, e))?;
    for rows in run.cells().chunks(1024) {
        let mut texts: [Vec<ByteArray>; 4] = Default::default();
        let mut shape_levels = Vec::new();
        let (mut processes, mut indices, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let (mut clocks, mut clock_levels) = (Vec::new(), Vec::new());
        for row in rows {
            let Some(slice) = samples.of(row.cell, row.process) else { continue };
            for ((index, time), clock) in slice.times.iter().enumerate().zip(slice.each_clock()) {
                texts[0].push(row.cell.to_string().into_bytes().into());
                texts[1].push(row.path.clone().into_bytes().into());
                texts[2].push(row.triple.to_string().into_bytes().into());
                shape_levels.push(i16::from(row.shape.is_some()));
                texts[3].extend(row.shape.map(|s| ByteArray::from(s.to_string().into_bytes())));
                processes.push(row.process as i32);
                indices.push(index as i32);
                times.push(time.ns());
                clock_levels.push(i16::from(clock.is_some()));
                clocks.extend(clock.map(|c| c.0 as i32));
            }
        }
        let mut group = writer.next_row_group()?;
        let mut column = 0;
        while let Some(mut next) = group.next_column()? {
            match column {
                0..=2 => next.typed::<ByteArrayType>().write_batch(&texts[column], None, None)?,
                3 => next.typed::<ByteArrayType>().write_batch(&texts[3], Some(&shape_levels), None)?,
                4 => next.typed::<Int32Type>().write_batch(&processes, None, None)?,
                5 => next.typed::<Int32Type>().write_batch(&indices, None, None)?,
                6 => next.typed::<DoubleType>().write_batch(&times, None, None)?,
                _ => next.typed::<Int32Type>().write_batch(&clocks, Some(&clock_levels), None)?,
            };
            next.close()?;
            column += 1;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}
