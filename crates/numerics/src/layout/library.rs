//! Which layouts have others published for which instruction?

mod windows;

use super::{Fragment, FragmentOperand, Layout, LayoutError, MixedRadix, Mode};
use serde::Deserialize;
use std::sync::LazyLock;

/// A published layout of one operand, with its source. None of these is a measurement of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedLayout {
    /// A name, unique in the library: `mma.sync.m16n8k16.f16.a`.
    pub name: String,
    /// The hardware it was published for.
    pub device: String,
    /// The instruction, in the vendor's words.
    pub instruction: String,
    /// Which operand.
    pub operand: FragmentOperand,
    /// Where it was published.
    pub source: String,
    /// The layout.
    pub layout: Layout,
}

/// The published layouts of all three operands of one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFragment {
    /// A name, unique in the library: `mma.sync.m16n8k16.f16`.
    pub name: String,
    /// Where the layouts of A, B and C were published.
    pub sources: [String; 3],
    /// The layouts.
    pub fragment: Fragment,
}

/// A layout as it stands in a file: digits [extent, row stride, column stride], lowest first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutEntry {
    name: String,
    device: String,
    instruction: String,
    operand: FragmentOperand,
    rows: usize,
    cols: usize,
    lanes: Vec<Mode>,
    slots: Vec<Mode>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FragmentEntry {
    name: String,
    a: String,
    b: String,
    c: String,
}

static FILES: [(&str, &str); 4] = [
    ("mma_sync.json", include_str!("library/mma_sync.json")),
    ("wgmma.json", include_str!("library/wgmma.json")),
    ("amd.json", include_str!("library/amd.json")),
    ("apple.json", include_str!("library/apple.json")),
];
const FRAGMENTS: (&str, &str) = ("fragments.json", include_str!("library/fragments.json"));

static LIBRARY: LazyLock<Vec<PublishedLayout>> = LazyLock::new(|| {
    // The files are part of the program: a test reads and checks every one.
    let files = FILES.iter().flat_map(|(name, text)| read(name, text).unwrap_or_default());
    files.chain(windows::all().unwrap_or_default()).collect()
});
static INSTRUCTIONS: LazyLock<Vec<PublishedFragment>> =
    LazyLock::new(|| read_fragments(FRAGMENTS.0, FRAGMENTS.1, library()).unwrap_or_default());

/// All published layouts.
pub fn library() -> &'static [PublishedLayout] {
    &LIBRARY
}

/// All instructions whose three layouts are in the library.
pub fn fragments() -> &'static [PublishedFragment] {
    &INSTRUCTIONS
}

fn read(file: &'static str, text: &str) -> Result<Vec<PublishedLayout>, LayoutError> {
    let entries: Vec<LayoutEntry> =
        serde_json::from_str(text).map_err(|e| LayoutError::Library { file, what: e.to_string() })?;
    entries.into_iter().map(LayoutEntry::build).collect()
}

impl LayoutEntry {
    fn build(self) -> Result<PublishedLayout, LayoutError> {
        let count = |modes: &[Mode]| modes.iter().fold(1usize, |n, mode| n.saturating_mul(mode.extent));
        let (lanes, slots) = (count(&self.lanes), count(&self.slots));
        let digits = MixedRadix { offset: (0, 0), lanes: self.lanes, slots: self.slots };
        let layout = Layout::from_digits((self.rows, self.cols), (lanes, slots), &digits)?;
        let LayoutEntry { name, device, instruction, operand, source, .. } = self;
        Ok(PublishedLayout { name, device, instruction, operand, source, layout })
    }
}

fn read_fragments(
    file: &'static str,
    text: &str,
    layouts: &[PublishedLayout],
) -> Result<Vec<PublishedFragment>, LayoutError> {
    let entries: Vec<FragmentEntry> =
        serde_json::from_str(text).map_err(|e| LayoutError::Library { file, what: e.to_string() })?;
    let find = |name: &str| {
        let what = format!("no layout is called `{name}`");
        layouts.iter().find(|l| l.name == name).ok_or(LayoutError::Library { file, what })
    };
    let build = |entry: FragmentEntry| {
        let [a, b, c] = [find(&entry.a)?, find(&entry.b)?, find(&entry.c)?];
        let fragment = Fragment::new(a.layout.clone(), b.layout.clone(), c.layout.clone())?;
        let sources = [a, b, c].map(|layout| layout.source.clone());
        Ok(PublishedFragment { name: entry.name, sources, fragment })
    };
    entries.into_iter().map(build).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_file_is_read_and_no_name_is_there_twice() {
        let count: usize =
            FILES.iter().map(|(name, text)| read(name, text).unwrap_or_else(|e| panic!("{e}")).len()).sum();
        let count = count + windows::all().unwrap_or_else(|e| panic!("{e}")).len();
        assert_eq!(library().len(), count);
        let names: HashSet<_> = library().iter().map(|l| &l.name).collect();
        assert_eq!(names.len(), count);
        let fragments = read_fragments(FRAGMENTS.0, FRAGMENTS.1, library()).unwrap_or_else(|e| panic!("{e}"));
        assert!(!fragments.is_empty());
        let names: HashSet<_> = fragments.iter().map(|f| &f.name).collect();
        assert_eq!(names.len(), fragments.len());
    }

    #[test]
    fn a_file_that_says_nonsense_is_refused() {
        let entry = |lanes: &str| {
            format!(
                r#"[{{"name":"x","device":"x","instruction":"x","operand":"a","rows":4,"cols":1,"lanes":{lanes},"slots":[],"source":"x"}}]"#
            )
        };
        assert!(read("x", &entry("[[4,1,0]]")).is_ok());
        assert!(matches!(read("x", &entry("[[4,2,0]]")), Err(LayoutError::Outside { lane: 2, .. })));
        assert!(matches!(read("x", &entry("[[0,1,0]]")), Err(LayoutError::Extent { .. })));
        assert!(matches!(read("x", "[{}]"), Err(LayoutError::Library { .. })));
    }
}
