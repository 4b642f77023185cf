//! How do rows become CSV or JSON Lines that a program reads?
//!
//! Values are raw: numbers in base units, with the unit in the column's name where there is one; words as files of a run
//! spell them; missing is empty in CSV and `null` in JSON Lines, never 0. No colour. People get a
//! [`Table`](super::table::Table) instead.

use crate::args::Format;
use serde_json::Value;
use std::io::Write;

/// One value of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    /// A word or sentence.
    Text(String),
    /// A count.
    Count(u64),
    /// A measured or derived number; not finite is missing.
    Number(f64),
    /// Nothing there.
    Missing,
}

impl Field {
    /// `yes` or `no`.
    pub fn yes_or_no(yes: bool) -> Field {
        Field::Text(if yes { "yes" } else { "no" }.to_owned())
    }

    /// A number where the text is one, else the text; empty is missing.
    pub fn read(text: &str) -> Field {
        match text.parse::<f64>() {
            _ if text.is_empty() => Field::Missing,
            Ok(number) if number.is_finite() => Field::Number(number),
            _ => Field::Text(text.to_owned()),
        }
    }

    fn csv(&self) -> String {
        match self {
            Field::Text(text) => quoted(text),
            Field::Count(count) => count.to_string(),
            Field::Number(number) if number.is_finite() => number.to_string(),
            Field::Number(_) | Field::Missing => String::new(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Field::Text(text) => Value::from(text.as_str()),
            Field::Count(count) => Value::from(*count),
            // A float that is not finite has no JSON number and becomes null.
            Field::Number(number) => Value::from(*number),
            Field::Missing => Value::Null,
        }
    }
}

impl From<String> for Field {
    fn from(text: String) -> Field {
        if text.is_empty() { Field::Missing } else { Field::Text(text) }
    }
}

impl From<&str> for Field {
    fn from(text: &str) -> Field {
        Field::from(text.to_owned())
    }
}

impl From<usize> for Field {
    fn from(count: usize) -> Field {
        Field::Count(count as u64)
    }
}

impl From<u64> for Field {
    fn from(count: u64) -> Field {
        Field::Count(count)
    }
}

impl From<u32> for Field {
    fn from(count: u32) -> Field {
        Field::Count(count.into())
    }
}

impl From<f64> for Field {
    fn from(number: f64) -> Field {
        Field::Number(number)
    }
}

impl<T: Into<Field>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Field {
        value.map_or(Field::Missing, Into::into)
    }
}

/// Rows of as many fields as there are columns.
pub struct Records<const N: usize> {
    columns: [&'static str; N],
    rows: Vec<[Field; N]>,
}

impl<const N: usize> Records<N> {
    /// No rows yet.
    pub fn new(columns: [&'static str; N]) -> Self {
        Records { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, fields: [Field; N]) {
        self.rows.push(fields);
    }

    /// Prints to standard output.
    pub fn print(&self, form: Form) -> anyhow::Result<()> {
        Ok(crate::terminal::output().write_all(self.text(form).as_bytes())?)
    }

    /// All rows as they are printed.
    pub fn text(&self, form: Form) -> String {
        let mut text = String::new();
        if form == Form::Csv {
            text.push_str(&self.columns.join(","));
            text.push('\n');
        }
        for row in &self.rows {
            let line = match form {
                Form::Csv => row.iter().map(Field::csv).collect::<Vec<_>>().join(","),
                Form::Jsonl => {
                    // In the order of the columns, which a JSON map of the library would sort.
                    let pair = |(column, field): (&&str, &Field)| format!("{}:{}", Value::from(*column), field.json());
                    format!("{{{}}}", self.columns.iter().zip(row).map(pair).collect::<Vec<_>>().join(","))
                }
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

/// How records are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values under a line of column names.
    Csv,
    /// One JSON object a line.
    Jsonl,
}

impl Form {
    /// The form that a format asks for; none for the table, which is for people.
    pub fn of(format: Format) -> Option<Form> {
        match format {
            Format::Table => None,
            Format::Csv => Some(Form::Csv),
            Format::Jsonl => Some(Form::Jsonl),
        }
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_raw_and_missing_ones_are_not_zero() {
        let mut records = Records::new(["name", "time_ns", "n", "note"]);
        records.row(["a,\"b\"".into(), 1.5e9.into(), 0_u32.into(), Field::Missing]);
        records.row(["".into(), f64::NAN.into(), None::<u32>.into(), Field::read("12")]);
        assert_eq!(records.text(Form::Csv), "name,time_ns,n,note\n\"a,\"\"b\"\"\",1500000000,0,\n,,,12\n");
        let lines = records.text(Form::Jsonl);
        let read: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read[0]["time_ns"], Value::from(1.5e9));
        assert_eq!((&read[0]["n"], &read[0]["note"]), (&Value::from(0), &Value::Null));
        assert_eq!((&read[1]["time_ns"], &read[1]["note"]), (&Value::Null, &Value::from(12.0)));
    }
}
