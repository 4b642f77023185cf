//! Which arithmetic have others published for which hardware?

use super::{Model, ModelError};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// A model that somebody has published, with its source. None of these is a measurement of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// A name, unique in the library.
    pub name: String,
    /// The hardware.
    pub device: String,
    /// The instructions.
    pub path: String,
    /// Where it was published.
    pub source: String,
    /// How sure one may be.
    pub confidence: Confidence,
    /// What is open, disputed or assumed; empty where nothing is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The model.
    pub model: Model,
}

/// How sure one may be of a published model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A vendor's document says so.
    Stated,
    /// A paper or its code says so, from measurements.
    Published,
    /// Published sources contradict each other: one of several models.
    Disputed,
    /// Derived from published facts; nobody has shown it.
    Inferred,
}

static FILES: [(&str, &str); 5] = [
    ("nvidia.json", include_str!("library/nvidia.json")),
    ("nvidia_scaled.json", include_str!("library/nvidia_scaled.json")),
    ("amd.json", include_str!("library/amd.json")),
    ("x86.json", include_str!("library/x86.json")),
    ("ieee.json", include_str!("library/ieee.json")),
];

static LIBRARY: LazyLock<Vec<Published>> = LazyLock::new(|| {
    // The files are part of the program: a test reads and checks every one.
    FILES.iter().flat_map(|(name, text)| read(name, text).unwrap_or_default()).collect()
});

/// All published models.
pub fn library() -> &'static [Published] {
    &LIBRARY
}

/// Reads a file of published models and checks each.
///
/// # Errors
/// [`ModelError::Json`] with the file's name and what is wrong at which line; the flaw of a model that cannot be evaluated.
fn read(name: &str, text: &str) -> Result<Vec<Published>, ModelError> {
    let models: Vec<Published> = serde_json::from_str(text).map_err(|e| ModelError::Json(format!("{name}: {e}")))?;
    models.iter().try_for_each(|published| published.model.check())?;
    Ok(models)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_every_model_can_be_evaluated() {
        let mut count = 0;
        for (name, text) in FILES {
            let models = read(name, text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(!models.is_empty(), "{name}");
            count += models.len();
        }
        assert_eq!(library().len(), count);
    }
}
