//! Which columns does a row type have?

use serde::de::{DeserializeOwned, Deserializer, Error, Visitor, value};

/// The serde field names of a struct in declaration order: the header of its file.
pub(crate) fn columns<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    // The struct's own `Deserialize` hands its field names over; then the capture ends with an error on purpose.
    let _ = T::deserialize(Capture(&mut fields));
    fields
}

struct Capture<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Capture<'_> {
    type Error = value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, value::Error> {
        Err(value::Error::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, value::Error> {
        *self.0 = fields;
        Err(value::Error::custom("captured"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
