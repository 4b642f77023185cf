//! Where do two lists of rows differ, and in which columns?

use serde::Serialize;
use serde_json::Value;

/// Differences of stored rows from derived ones, each with the index of the stored row (or where it would stand).
pub(super) fn of<T: Serialize + PartialEq>(stored: &[T], derived: &[T]) -> Vec<(usize, String)> {
    let mut differences = Vec::new();
    let (mut s, mut d) = (0, 0);
    while s < stored.len() || d < derived.len() {
        match (stored.get(s), derived.get(d)) {
            (Some(a), Some(b)) if a == b => (s, d) = (s + 1, d + 1),
            (Some(_), Some(b)) if stored.get(s + 1) == Some(b) => {
                differences.push((s, "an added row: it does not follow from the run".to_owned()));
                s += 1;
            }
            (Some(a), Some(b)) if derived.get(d + 1) == Some(a) => {
                differences.push((s, format!("a row is missing here: {}", text(b))));
                d += 1;
            }
            (Some(a), Some(b)) => {
                differences.push((s, columns(a, b)));
                (s, d) = (s + 1, d + 1);
            }
            (Some(_), None) => {
                differences.push((s, "an added row: it does not follow from the run".to_owned()));
                s += 1;
            }
            (None, Some(b)) => {
                differences.push((s, format!("a row is missing here: {}", text(b))));
                d += 1;
            }
            (None, None) => {}
        }
    }
    differences
}

/// The columns in which two rows differ, with both values.
pub(super) fn columns<T: Serialize>(stored: &T, derived: &T) -> String {
    let (Ok(Value::Object(a)), Ok(Value::Object(b))) = (serde_json::to_value(stored), serde_json::to_value(derived))
    else {
        return "differs from what follows from the run".to_owned();
    };
    let differs = a.iter().filter(|(name, value)| b.get(*name) != Some(value));
    let each = differs.map(|(name, value)| {
        format!("{name} is `{}`, derived is `{}`", plain(value), plain(b.get(name).unwrap_or(&Value::Null)))
    });
    each.collect::<Vec<_>>().join("; ")
}

fn text<T: Serialize>(row: &T) -> String {
    match serde_json::to_value(row) {
        Ok(Value::Object(fields)) => fields.values().map(plain).collect::<Vec<_>>().join(","),
        _ => String::new(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
