//! Which toolchains does a planted device list, and which of them does it take?

use super::arithmetic::Arithmetic;
use super::fault::Effect;
use rigel_numerics::Triple;
use serde::{Deserialize, Serialize};

/// A toolchain that the device lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedToolchain {
    /// Its name (required).
    pub name: String,
    /// Only on this path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only for this triple.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triple: Option<Triple>,
    /// What takes effect, in words.
    #[serde(default)]
    pub took: String,
    /// What goes wrong; nothing without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// How products sum that it compiles, where it is not as the device does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<Arithmetic>,
}

impl PlantedToolchain {
    /// Whether it compiles products of a path and triple.
    pub fn is_for(&self, path: &str, triple: Triple) -> bool {
        self.path.as_ref().is_none_or(|own| own == path) && self.triple.is_none_or(|own| own == triple)
    }
}
