//! Which paths and triples does a plan take?

use crate::plan::Select;
use rigel_numerics::Triple;

impl Select {
    /// Whether lists and filter take something of a path and triple; `name` is that of a unit or conversion, empty for products.
    pub fn takes(&self, path: &str, triple: Triple, name: &str) -> bool {
        (self.paths.is_empty() || self.paths.iter().any(|known| known == path))
            && (self.triples.is_empty() || self.triples.contains(&triple))
            && self.keeps(path, triple, name)
    }

    /// Keeps what every word of the filter begins something of in `path name triple`; an empty filter keeps all.
    fn keeps(&self, path: &str, triple: Triple, name: &str) -> bool {
        let text = format!("{path} {name} {triple}").to_lowercase();
        self.filter.to_lowercase().split_whitespace().all(|word| begins(&text, word))
    }
}

/// Whether `word` occurs in `text` where no letter or digit stands before it: `f16` does in `f16,f16->f32` and does not in
/// `bf16,bf16->f32`.
pub fn begins(text: &str, word: &str) -> bool {
    let before = |at: usize| text[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(word).any(|(at, _)| before(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_keeps_when_every_word_occurs() {
        let keeps = |filter: &str, path: &str, triple: &str| {
            let select = Select { paths: vec![], triples: vec![], filter: filter.to_owned() };
            select.takes(path, triple.parse().unwrap(), "")
        };
        assert!(keeps("", "wgmma", "e4m3,e4m3->f32") && keeps("WGMMA e4m3", "wgmma", "e4m3,e4m3->f32"));
        assert!(!keeps("wgmma e5m2", "wgmma", "e4m3,e4m3->f32"));
        let half = "f16,f16->f32";
        assert!(keeps("f16", "tiled", half) && keeps("f32", "tiled", half) && keeps("fma 512", "avx-512-fma", half));
        assert!(!keeps("f16", "tiled", "bf16,bf16->f32"));
    }

    #[test]
    fn lists_and_names_take_part() {
        let half: Triple = "f16,f16->f32".parse().unwrap();
        let of = |paths: &[&str], triples: &[Triple], filter: &str| Select {
            paths: paths.iter().map(|&path| path.to_owned()).collect(),
            triples: triples.to_vec(),
            filter: filter.to_owned(),
        };
        assert!(of(&["a"], &[half], "").takes("a", half, "") && !of(&["a"], &[], "").takes("b", half, ""));
        assert!(!of(&[], &["f32,f32->f32".parse().unwrap()], "").takes("a", half, ""));
        assert!(
            of(&[], &[], "well f16").takes("a", half, "well: one") && !of(&[], &[], "ill").takes("a", half, "well")
        );
    }
}
