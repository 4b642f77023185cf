//! Which units are found to be compositions of others' steps, and which are not?

use rigel_numerics::arithmetic::{Model, library};
use rigel_study::recovery::{Part, compositions};

fn published(name: &str) -> Model {
    library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`")).model.clone()
}

fn found(names: &[&str]) -> Vec<(String, String, String)> {
    let models: Vec<(&str, Model)> = names.iter().map(|&name| (name, published(name))).collect();
    let parts: Vec<Part<'_>> = models.iter().map(|(unit, model)| Part { unit, model }).collect();
    compositions(&parts, 3, 3_000).into_iter().map(|c| (c.unit, c.of, c.words)).collect()
}

/// On Hopper fp8 `mma.sync` is two half-precision steps over k mod 4, with c added apart.
#[test]
fn an_emulated_instruction_is_recognised_and_said_in_words() {
    let all = found(&["hopper mma e4m3 to f16, emulated", "hopper mma f16 to f16"]);
    let [(unit, of, words)] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((unit.as_str(), of.as_str()), ("hopper mma e4m3 to f16, emulated", "hopper mma f16 to f16"));
    assert_eq!(words, "2 steps of f16 → f16 over k mod 4 in {0,1} then {2,3}, then c added apart");
}

#[test]
fn a_native_instruction_is_none() {
    assert_eq!(found(&["hopper wgmma e4m3 to f16", "hopper mma f16 to f16"]), []);
    assert_eq!(found(&["hopper wgmma e4m3 to f32", "hopper mma f16 to f32"]), []);
}

/// Exact sums would be the same on any hardware.
#[test]
fn exact_arithmetic_proves_nothing() {
    assert_eq!(found(&["e4m3 rounded once", "f16 rounded once", "bf16 rounded once", "f32 rounded once"]), []);
    assert_eq!(found(&["cdna2 f16 to f32, 4 products", "f32 fma ascending"]), []);
}
