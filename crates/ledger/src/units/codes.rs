//! How do bit patterns stand in JSON?

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// One code: lower-case hexadecimal digits in a string, without leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, schemars::JsonSchema)]
#[schemars(with = "String")]
pub struct Code(pub u64);

/// Codes in order, parted by single spaces in one string; an empty string holds none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, schemars::JsonSchema)]
#[schemars(with = "String")]
pub struct Codes(pub Vec<u64>);

impl Codes {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        read(&text).map(Code).ok_or_else(|| D::Error::custom(refusal(&text)))
    }
}

impl Serialize for Codes {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let codes: Vec<String> = self.0.iter().map(|code| format!("{code:x}")).collect();
        s.serialize_str(&codes.join(" "))
    }
}

impl<'de> Deserialize<'de> for Codes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if text.is_empty() {
            return Ok(Codes(Vec::new()));
        }
        let one = |text: &str| read(text).ok_or_else(|| D::Error::custom(refusal(text)));
        text.split(' ').map(one).collect::<Result<_, _>>().map(Codes)
    }
}

fn read(text: &str) -> Option<u64> {
    let hex = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let plain = text == "0" || !text.starts_with('0');
    (hex && plain).then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

fn refusal(text: &str) -> String {
    let start: String = text.chars().take(20).collect();
    format!("`{start}` is no code: 1 to 16 lower-case hexadecimal digits without leading zeros")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_and_have_one_spelling() {
        let codes = Codes(vec![0, 0x3f80, u64::MAX]);
        let text = serde_json::to_string(&codes).unwrap();
        assert_eq!(text, r#""0 3f80 ffffffffffffffff""#);
        assert_eq!(serde_json::from_str::<Codes>(&text).unwrap(), codes);
        assert_eq!(serde_json::from_str::<Codes>(r#""""#).unwrap(), Codes::default());
        for bad in [r#""00""#, r#""3F80""#, r#""1  2""#, r#"" 1""#, r#""0x1""#, r#""11112222333344445""#, "1"] {
            assert!(serde_json::from_str::<Codes>(bad).is_err(), "{bad}");
            assert!(serde_json::from_str::<Code>(bad).is_err(), "{bad}");
        }
    }
}
