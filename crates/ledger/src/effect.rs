//! What does the row of a product by a toolchain say beside its judgement: what took effect, and which output came out?
//!
//! Behind the judgement's reason, if there is one, stands `took effect: WORDS; output DIGEST`. The digest is the first sixteen hexadecimal
//! digits of BLAKE3 over the codes of the whole output, row by row, eight bytes each, the lowest first; the output stands in the witness.

/// Before what took effect.
const TOOK: &str = "took effect: ";
/// Before the digest.
const OUTPUT: &str = "; output ";
/// Hexadecimal digits of the digest.
const DIGITS: usize = 16;

/// What stands in a row's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect<'a> {
    /// The judgement's reason; empty where there is none.
    pub judgement: &'a str,
    /// What took effect, in the backend's words.
    pub took: &'a str,
    /// Digest of the output.
    pub output: &'a str,
}

/// The digest of an output.
pub fn digest(codes: impl IntoIterator<Item = u64>) -> String {
    let mut hasher = blake3::Hasher::new();
    codes.into_iter().for_each(|code| {
        hasher.update(&code.to_le_bytes());
    });
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

/// The reason of a row. Words are taken as one line.
pub fn written(judgement: &str, took: &str, codes: impl IntoIterator<Item = u64>) -> String {
    let took = took.split_whitespace().collect::<Vec<_>>().join(" ");
    let joint = if judgement.is_empty() { "" } else { "; " };
    format!("{judgement}{joint}{TOOK}{took}{OUTPUT}{}", digest(codes))
}

impl Effect<'_> {
    /// Reads the reason of a row; none where it tells no effect.
    pub fn of(reason: &str) -> Option<Effect<'_>> {
        let (rest, output) = reason.rsplit_once(OUTPUT)?;
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let whole = output.len() == DIGITS && output.bytes().all(hex);
        let (judgement, took) = match rest.strip_prefix(TOOK) {
            Some(took) => ("", took),
            None => rest.rsplit_once(&format!("; {TOOK}"))?,
        };
        whole.then_some(Effect { judgement, took, output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back() {
        for judgement in ["", "|error| 1e-3 above 1e-6; took it", "x; output 12"] {
            for took in ["", "PTX 9.0 for sm_90a", "a; b"] {
                let reason = written(judgement, took, [1, 2, 3]);
                let output = digest([1, 2, 3]);
                assert_eq!(Effect::of(&reason), Some(Effect { judgement, took, output: &output }), "{reason}");
            }
        }
        assert_ne!(digest([1, 2]), digest([2, 1]));
        assert_eq!(digest([]), &blake3::hash(b"").to_hex()[..16]);
        for other in ["", "took effect: x", "took effect: x; output 12", "x; output 0123456789abcdef"] {
            assert_eq!(Effect::of(other), None, "{other}");
        }
        assert_eq!(Effect::of(&written("", "two\nlines", [])).map(|effect| effect.took), Some("two lines"));
    }
}
