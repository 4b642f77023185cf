//! How is a record's JSON broken into lines?
//!
//! One line for every member of the record, and for every member or element of that; what lies deeper stays on its line. A model with its
//! class and vectors takes half the bytes of one that is indented throughout, and lines still differ where records do.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Depth of brackets from which on nothing is broken.
const DEEPEST: usize = 2;

/// The bytes of a record, a line feed behind them.
pub(super) fn shallow<T: Serialize>(record: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Records hold numbers, texts and lists of them: nothing that JSON cannot.
    if record.serialize(&mut Serializer::with_formatter(&mut bytes, Shallow::default())).is_err() {
        bytes.clear();
    }
    bytes.push(b'\n');
    bytes
}

#[derive(Default)]
struct Shallow {
    depth: usize,
    filled: bool,
}

impl Shallow {
    fn open<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        to.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled && self.depth < DEEPEST {
            self.line(to)?;
        }
        self.filled = true;
        to.write_all(bracket)
    }

    fn next<W: ?Sized + Write>(&self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        match self.depth <= DEEPEST {
            true => self.line(to),
            false if first => Ok(()),
            false => to.write_all(b" "),
        }
    }

    fn line<W: ?Sized + Write>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| to.write_all(b"  "))
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn two_levels_are_broken() {
        let record = json!({"a": [], "b": {}, "c": [[1, 2], {"x": [3], "y": {}}], "d": {"e": [1, [2]], "f": "g"}});
        let text = String::from_utf8(shallow(&record)).unwrap();
        let expected = r#"{
  "a": [],
  "b": {},
  "c": [
    [1, 2],
    {"x": [3], "y": {}}
  ],
  "d": {
    "e": [1, [2]],
    "f": "g"
  }
}
"#;
        assert_eq!(text, expected);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(5, 64, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(".{0,3}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in value()) {
            let bytes = shallow(&value);
            prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
        }
    }
}
