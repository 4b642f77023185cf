//! Which named plans exist, and what do they become on a given backend?

use rigel_ledger::Plan;
use rigel_ledger::plan::{Baselines, Match};
use rigel_numerics::Triple;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The presets by name, smallest first.
pub const PRESETS: &[(&str, &str)] = &[
    ("quick", include_str!("presets/quick.toml")),
    ("units", include_str!("presets/units.toml")),
    ("orders", include_str!("presets/orders.toml")),
    ("paper", include_str!("presets/paper.toml")),
    ("study", include_str!("presets/study.toml")),
    ("fusion", include_str!("presets/fusion.toml")),
    ("power", include_str!("presets/power.toml")),
    ("attention", include_str!("presets/attention.toml")),
    ("alignment", include_str!("presets/alignment.toml")),
    ("versions", include_str!("presets/versions.toml")),
    ("full", include_str!("presets/full.toml")),
];

const RIVALS: &str = include_str!("presets/rivals.toml");

/// Match and baselines of a backend, and what some presets time of its many type triples.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rivals {
    #[serde(rename = "match")]
    matches: Match,
    baselines: Baselines,
    #[serde(default)]
    few: Vec<Few>,
}

/// Presets of the study's sizes take these triples alone, so that a run of one stays small enough to be committed.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Few {
    presets: Vec<String>,
    triples: Vec<Triple>,
}

/// A preset that cannot be resolved.
#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    /// No preset of that name.
    #[error(
        "no preset `{0}`; known: quick, units, orders, paper, study, fusion, power, attention, alignment, versions, full"
    )]
    Unknown(String),
    /// No match and baselines are named for that backend.
    #[error("presets name no match and baselines for backend `{0}`; give a plan file that does (`--plan`)")]
    Backend(String),
    /// A preset file of this binary does not read: a bug of the build, never of the user.
    #[error("built-in preset `{name}` does not read: {error}")]
    Broken {
        /// Preset.
        name: String,
        /// Why.
        error: String,
    },
}

/// The resolved plan of a preset on a backend.
pub fn preset(name: &str, backend: &str) -> Result<Plan, PresetError> {
    let (name, text) = PRESETS.iter().find(|(n, _)| *n == name).ok_or_else(|| PresetError::Unknown(name.to_owned()))?;
    let broken = |error: String| PresetError::Broken { name: (*name).to_owned(), error };
    let rivals: BTreeMap<String, Rivals> = toml::from_str(RIVALS).map_err(|e| broken(e.to_string()))?;
    let rivals = rivals.get(backend).ok_or_else(|| PresetError::Backend(backend.to_owned()))?;
    let mut table: toml::Table = toml::from_str(text).map_err(|e| broken(e.to_string()))?;
    let value = |v: Result<toml::Value, toml::ser::Error>| v.map_err(|e| broken(e.to_string()));
    table.insert("match".into(), value(toml::Value::try_from(&rivals.matches))?);
    table.insert("baselines".into(), value(toml::Value::try_from(&rivals.baselines))?);
    let mut plan: Plan = table.try_into().map_err(|e: toml::de::Error| broken(e.to_string()))?;
    let few = rivals.few.iter().find(|few| few.presets.iter().any(|preset| preset == name));
    if let Some(few) = few.filter(|_| plan.select.triples.is_empty()) {
        plan.select.triples.clone_from(&few.triples);
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_ledger::Probe;

    #[test]
    fn every_preset_resolves_on_every_backend() {
        for (name, _) in PRESETS {
            for backend in rigel_device::backends::BACKENDS {
                let plan = preset(name, backend.name).unwrap();
                assert_eq!(plan.name, *name);
                let compares = plan.probes.iter().any(|probe| !matches!(probe, Probe::Power | Probe::Versions));
                assert!(!compares || plan.sampling.processes >= 6, "{name}: verdicts need six processes");
                let read = Plan::parse(&plan.to_toml(), "plan.toml").unwrap();
                assert_eq!(read, plan, "{name} survives its own file");
            }
        }
    }

    #[test]
    fn presets_of_the_studys_sizes_take_few_of_metals_triples_and_small_ones_take_all() {
        let triples = |name: &str, backend: &str| preset(name, backend).unwrap().select.triples;
        for backend in ["metal", "metal-sim"] {
            let paper = triples("paper", backend);
            assert!(paper.contains(&preset("paper", backend).unwrap().matches.triple));
            let study = triples("study", backend);
            assert!(study.len() < paper.len() && study.iter().all(|triple| paper.contains(triple)), "{study:?}");
            assert!(triples("full", backend).is_empty() && triples("units", backend).is_empty());
            assert_eq!(triples("attention", backend).len(), 1, "its own list stands");
        }
        assert!(triples("paper", "cpu").is_empty());
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let said = preset("huge", "cpu").unwrap_err().to_string();
        assert!(
            said.contains("quick, units, orders, paper, study, fusion, power, attention, alignment, versions, full"),
            "{said}"
        );
        assert!(preset("quick", "abacus").unwrap_err().to_string().contains("--plan"));
    }
}
