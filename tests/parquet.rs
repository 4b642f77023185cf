//! Does an exported Parquet file hold the repetitions of the run, as another reader of the format sees them?
#![cfg(feature = "parquet")]

mod rig;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use rig::{SMALL, file, rigel, stderr};
use std::collections::BTreeSet;

#[test]
fn every_repetition_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let (out, to) = (dir.path().join("run"), dir.path().join("samples.parquet"));
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    rigel().arg("export").arg(&out).args(["--to", "parquet", "--out"]).arg(&to).assert().success();
    let reader = SerializedFileReader::new(std::fs::File::open(&to).unwrap()).unwrap();
    let text = |row: &Row, name: &str| {
        let (_, field) = row.get_column_iter().find(|(column, _)| *column == name).unwrap();
        match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::Double(number) => number.to_string(),
            other => other.to_string(),
        }
    };
    let mut exported = BTreeSet::new();
    for row in reader.get_row_iter(None).unwrap().map(Result::unwrap) {
        assert!(!text(&row, "path").is_empty() && !text(&row, "triple").is_empty());
        let time: f64 = text(&row, "time_ns").parse().unwrap();
        let columns = ["cell", "process", "index", "clock_mhz"].map(|name| text(&row, name));
        assert!(exported.insert((columns, time.to_bits())), "a repetition twice: {row}");
    }
    let samples = file(&out, "samples.csv");
    let stored: BTreeSet<_> = samples
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let columns = [fields[0], fields[1], fields[2], fields[4]].map(str::to_owned);
            (columns, fields[3].parse::<f64>().unwrap().to_bits())
        })
        .collect();
    assert!(!stored.is_empty() && exported == stored);
    let nowhere = rigel().arg("export").arg(&out).args(["--to", "parquet"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("--out"));
}
