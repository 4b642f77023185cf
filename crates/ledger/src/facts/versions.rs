//! Which toolchains, languages and targets are accepted, and do they all give the same output?

use super::cells::{Index, Product};
use super::row::Subject;
use crate::effect::Effect;
use crate::rows::{CellId, CellRow, FactRow, Outcome, Probe, name_of};
use std::collections::BTreeMap;

/// Every fact of the probe `versions`.
pub(super) fn facts(index: &Index<'_>) -> Vec<FactRow> {
    let mut facts = Vec::new();
    for (product, rows) in &index.versions {
        let Product { path, triple, shape, recipe, cache } = *product;
        let subject =
            Subject { product: Some((shape, recipe, cache)), ..Subject::triple(Probe::Versions, path, triple) };
        facts.extend(rows.iter().map(|row| {
            let (word, words) = said(row);
            subject.word(&format!("version.{}", row.tile), word, words, &[row.cell])
        }));
        facts.extend(bits(&subject, rows));
    }
    facts
}

/// The word of a toolchain, and what took effect or why not.
fn said(row: &CellRow) -> (String, String) {
    let effect = Effect::of(&row.reason);
    let took = effect.map_or("", |effect| effect.took);
    match row.outcome {
        Outcome::Right => ("accepted".into(), took.to_owned()),
        // It ran; what the gate cannot tell is no refusal.
        other @ (Outcome::Imprecise | Outcome::Mistrusted) => {
            let judgement = effect.map_or("", |effect| effect.judgement);
            ("accepted".into(), format!("{took}; {}: {judgement}", name_of(&other)))
        }
        Outcome::RefusedCompile | Outcome::RefusedLoad => {
            let rung = if row.outcome == Outcome::RefusedCompile { "compile" } else { "load" };
            (format!("refused: {rung}"), format!("{}: {}", class(&row.reason), row.reason))
        }
        other => (name_of(&other), row.reason.clone()),
    }
}

/// Phrases of compilers, assemblers, loaders and drivers, in lower case, with what they come to. The first that is found counts.
const CLASSES: [(&str, &str); 24] = [
    ("invalid value for --gpu-architecture", "the compiler knows no such target"),
    ("is not defined for option 'gpu-architecture'", "the compiler knows no such target"),
    ("unsupported gpu architecture", "the compiler knows no such target"),
    ("unsupported .version", "the assembler knows no such PTX version"),
    ("unsupported_ptx_version", "the driver knows no such PTX version"),
    ("requires ptx isa .version", "an instruction needs a later PTX version"),
    ("unexpected instruction types", "the assembler knows no such types of an instruction"),
    ("requires .target", "an instruction needs another target"),
    ("does not support .target", "that PTX version knows no such target"),
    ("not supported on .target", "an instruction needs another target"),
    ("cannot be compiled to future architecture", "an instruction needs another target"),
    ("for sm_90a alone", "the kernel is for another target"),
    ("and later", "the kernel is for another target"),
    ("higher than default sm version", "the target is newer than this device"),
    ("no_binary_for_gpu", "no code for this device"),
    ("no kernel image", "no code for this device"),
    ("device kernel image is invalid", "no code for this device"),
    ("invalid_image", "no code for this device"),
    ("language version", "no such language here"),
    ("invalid value 'metal", "no such language here"),
    ("not compatible with", "compiled for another system"),
    ("target os", "compiled for another system"),
    ("does not offer", "the processor has not what it needs"),
    ("no such file", "a part of the toolchain is missing"),
];

/// What a refusal comes to.
fn class(words: &str) -> &'static str {
    let words = words.to_lowercase();
    CLASSES.iter().find(|(phrase, _)| words.contains(phrase)).map_or("of no known class", |(_, class)| class)
}

/// Whether every toolchain that is accepted gives the same output; none where fewer than two are.
fn bits(subject: &Subject, rows: &[&CellRow]) -> Option<FactRow> {
    let mut outputs: BTreeMap<&str, Vec<&CellRow>> = BTreeMap::new();
    // A wrong product says nothing of the toolchains that are accepted.
    let accepted = [Outcome::Right, Outcome::Imprecise, Outcome::Mistrusted];
    for row in rows.iter().filter(|row| accepted.contains(&row.outcome)) {
        if let Some(effect) = Effect::of(&row.reason) {
            outputs.entry(effect.output).or_default().push(row);
        }
    }
    let cells: Vec<CellId> = outputs.values().flatten().map(|row| row.cell).collect();
    if cells.len() < 2 {
        return None;
    }
    let mut groups: Vec<(&str, Vec<&str>)> =
        outputs.iter().map(|(output, rows)| (*output, rows.iter().map(|row| row.tile.as_str()).collect())).collect();
    groups.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then_with(|| a.cmp(b)));
    let (value, words) = match groups.len() {
        1 => ("same", format!("{} toolchains give output {}", cells.len(), groups[0].0)),
        _ => {
            let each = |(output, names): &(&str, Vec<&str>)| format!("output {output} by {}", names.join(", "));
            ("differ", groups.iter().map(each).collect::<Vec<_>>().join("; "))
        }
    };
    Some(subject.word("version.bits", value, words, &cells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart_by_their_words() {
        let cases = [
            ("nvrtc: error: invalid value for --gpu-architecture (-arch)", "the compiler knows no such target"),
            (
                "ptxas fatal: Unsupported .version 9.9; current version is '9.0'",
                "the assembler knows no such PTX version",
            ),
            (
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the provided PTX was compiled with an unsupported toolchain.)",
                "the driver knows no such PTX version",
            ),
            ("Instruction 'wgmma.fence' not supported on .target 'sm_100a'", "an instruction needs another target"),
            (
                "CUDA_ERROR_NO_BINARY_FOR_GPU (no kernel image is available for execution on the device)",
                "no code for this device",
            ),
            (
                "ptxas fatal   : SM version specified by .target is higher than default SM version assumed",
                "the target is newer than this device",
            ),
            (
                "ptxas fatal   : PTX .version 7.0 does not support .target sm_90a",
                "that PTX version knows no such target",
            ),
            (
                "ptxas application ptx input, line 1369; error   : Unexpected instruction types specified for 'mma'",
                "the assembler knows no such types of an instruction",
            ),
            ("error: something else", "of no known class"),
        ];
        for (words, expected) in cases {
            assert_eq!(class(words), expected, "{words}");
        }
    }

    #[test]
    fn a_wrong_product_says_nothing_of_the_bits_of_accepted_toolchains() {
        let triple: rigel_numerics::Triple = "f32,f32->f32".parse().unwrap();
        let row = |toolchain: &str, outcome: Outcome, code: u64| {
            let identity = crate::rows::Identity {
                probe: Probe::Versions,
                work: crate::rows::Work::Version,
                path: "tiled".into(),
                triple,
                shape: None,
                recipe: None,
                cache: crate::rows::CacheState::Warm,
                tile: toolchain.into(),
                seed: 1,
            };
            let mut row = CellRow::blank(&identity, 0);
            (row.outcome, row.reason) = (outcome, crate::effect::written("", "all of it", [code]));
            row
        };
        let found = |rows: &[CellRow]| {
            let subject = Subject::triple(Probe::Versions, "tiled", triple);
            bits(&subject, &rows.iter().collect::<Vec<_>>()).map(|fact| fact.value)
        };
        let same = [row("a", Outcome::Right, 7), row("b", Outcome::Mistrusted, 7), row("c", Outcome::Wrong, 8)];
        assert_eq!(found(&same).as_deref(), Some("same"));
        let differ = [row("a", Outcome::Right, 7), row("b", Outcome::Imprecise, 9)];
        assert_eq!(found(&differ).as_deref(), Some("differ"));
        assert_eq!(found(&[row("a", Outcome::Right, 7), row("c", Outcome::Wrong, 7)]), None, "one was accepted");
    }
}
